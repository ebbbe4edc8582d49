"""Graphs with indicators: what they license, what they recover, and weights that do it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import joint_of_bayesian_network, random_rows
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported, UnknownVariable
from plausible.learn.missingness.missingness_graph import MissingnessGraph
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: Graph -> kind, criterion for the joint distribution.
CASES = {
    "X -> Y; R_Y": ("MCAR", "MCAR"),
    "X -> Y; X -> R_Y": ("MAR", "MAR"),
    "X -> Y; X -> R_Y; X -> R_Z; R_Y -> R_Z; Y -> Z": ("MAR", "MAR"),
    "X -> Y; X -> R_Y; Y -> R_X": ("MNAR", "separate indicators"),
    "X -> Y; Y -> R_X; R_Y": ("MNAR", "separate indicators"),
    "X -> Y; X -> R_Y; R_X -> R_Y": ("MNAR", "ordered factorization"),
    "X -> Y; Y -> R_Y": ("MNAR", "none"),
    "X -> Y; Y <-> R_Y": ("MNAR", "none"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_kinds_and_criteria_of_known_graphs(text, expected):
    """Rubin's three kinds by separation; likelihood inference is licensed by the first two."""
    graph = MissingnessGraph(text)
    assert (graph.kind, graph.recover_joint().criterion) == expected
    verdict = graph.ignorability()
    assert verdict.licensed == (expected[0] != "MNAR")
    assert verdict.reason
    assert ("may be ignored" in str(verdict)) == verdict.licensed


def test_formulas_and_obstacles_are_told():
    """The estimand as text, and what stands in the way."""
    joint = MissingnessGraph("X -> Y; X -> R_Y; Y -> R_X").recover_joint()
    assert str(joint) == (
        "P(X, Y) = P(X, Y, R_X=1, R_Y=1) / (P(R_X=1 | Y, R_Y=1) P(R_Y=1 | X, R_X=1)), by separate indicators"
    )
    chain = MissingnessGraph("X -> Y; X -> R_Y; R_X -> R_Y").recover_joint()
    assert chain.formula == "P(X, Y) = P(X | R_X=1) P(Y | X, R_X=1, R_Y=1)"
    masked = MissingnessGraph("X -> Y; Y -> R_Y")
    assert "not shown to be recoverable" in str(masked.recover_joint())
    assert "'Y' causes its own indicator" in masked.recover_joint().note
    assert masked.recover_joint().formula == ""
    assert str(MissingnessGraph("X -> Y; X -> R_X").recover("Y", "X")) == "P(Y | X) = P(Y | X, R_X=1), by direct"
    assert not masked.recover("Y", "X").recoverable
    assert masked.recover("X").recoverable
    through = MissingnessGraph("X -> Y; X -> R_Y").recover("Y")
    assert str(through) == "P(Y) follows from P(X, Y) = P(X) P(Y | X, R_Y=1), by MAR"


def _world(rng, text, num_states=2):
    """A network over the variables and indicators of a graph, with random tables without small numbers."""
    graph = MissingnessGraph(text)
    cpds = []
    names = [*graph.variables, *graph.indicators]
    for name in graph.graph.directed_part().topological_order:
        parents = [parent for parent in names if parent in graph.graph.parents(name)]
        sizes = [2 if p in graph.indicators else num_states for p in parents]
        size = 2 if name in graph.indicators else num_states
        values = 0.75 * random_rows(rng, (*sizes, size), 0.0) + 0.25 / size
        cpds.append(
            TableCPD(Variable(name, size), values, [Variable(p, s) for p, s in zip(parents, sizes, strict=True)])
        )
    return graph, BayesianNetwork(cpds)


def _all_rows(graph, network):
    """Every joint state with its probability as a weight, cells missing where indicators are zero."""
    rows, weights = {name: [] for name in graph.variables}, []
    truth = {}
    for assignment, probability in joint_of_bayesian_network(network):
        for name in graph.variables:
            hidden = name in graph.partial and assignment[f"R_{name}"] == 0
            rows[name].append(None if hidden else assignment[name])
        weights.append(probability)
        key = tuple(assignment[name] for name in graph.variables)
        truth[key] = truth.get(key, 0.0) + probability
    variables = [network.variables[name] for name in graph.variables]
    return Table.read(rows, variables, weights=weights), truth


@pytest.mark.parametrize("text", [text for text, (_, criterion) in CASES.items() if criterion != "none"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_weighted_complete_rows_have_the_joint_distribution_of_all(text, seed):
    """With endless data (every row weighed by its probability) the weights recover P(V) exactly."""
    graph, network = _world(np.random.default_rng(seed), text)
    table, truth = _all_rows(graph, network)
    weighted = graph.reweight(table)
    assert not weighted.missing
    assert weighted.total == pytest.approx(1.0)
    found = dict.fromkeys(truth, 0.0)
    for row, weight in zip(weighted.codes.T.tolist(), weighted.weights.tolist(), strict=True):
        found[tuple(row)] += weight
    assert found == pytest.approx(truth, abs=1e-9)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_the_direct_criterion_gives_the_conditional_of_the_rows_that_show_it(seed):
    """P(Y | X) = P(Y | X, R = 1) where the graph says so, though X hides itself."""
    graph, network = _world(np.random.default_rng(seed), "X -> Y; X -> R_X; X -> R_Y")
    assert graph.recover("Y", "X").criterion == "direct"
    joint = joint_of_bayesian_network(network)
    for x in (0, 1):
        seen = [(a, p) for a, p in joint if a["X"] == x and a["R_X"] and a["R_Y"]]
        everyone = [(a, p) for a, p in joint if a["X"] == x]
        shares = [sum(p for a, p in some if a["Y"]) / sum(p for _, p in some) for some in (seen, everyone)]
        assert shares[0] == pytest.approx(shares[1])


def test_weights_mend_samples_that_complete_rows_get_wrong():
    """20,000 rows: the weighted share is within three hundredths of the truth, the plain one is not."""
    graph = MissingnessGraph("X -> Y; X -> R_Y; Y -> R_X")
    network = BayesianNetwork(
        TableCPD("X", [0.5, 0.5]),
        TableCPD("Y", [[0.8, 0.2], [0.2, 0.8]], parents=["X"]),
        TableCPD("R_Y", [[0.1, 0.9], [0.7, 0.3]], parents=["X"]),
        TableCPD("R_X", [[0.1, 0.9], [0.5, 0.5]], parents=["Y"]),
    )
    rows = network.sample(20000, seed=0)
    data = {n: rows[n].astype(object).where(rows[f"R_{n}"] == 1, None).tolist() for n in ("X", "Y")}
    table = graph.reweight(data)
    share = float(table.weights @ table.codes[1]) / table.total
    assert abs(share - 0.5) < 0.03
    assert abs(table.codes[1].mean() - 0.5) > 0.1


def test_indicators_are_added_and_mistakes_are_named():
    """Variables said to be incomplete have an indicator; indicators cause nothing; latent ones are not asked about."""
    graph = MissingnessGraph("X -> Y", partially_observed=["Y"])
    assert (graph.indicators, graph.complete, graph.kind) == (("R_Y",), ("X",), "MCAR")
    assert MissingnessGraph("X -> Y", partially_observed=()).ignorability().licensed
    assert MissingnessGraph("U -> X; U -> R_X; U -> Y", latent="U").kind == "MNAR"
    assert MissingnessGraph("U -> X; U -> R_X; U -> Y", latent="U").recover_joint().criterion == "none"
    with pytest.raises(InvalidGraph, match="can't be a cause"):
        MissingnessGraph("X; R_X -> Y")
    with pytest.raises(InvalidGraph, match="partially observed"):
        MissingnessGraph("X -> Y; X -> R_Y", partially_observed=["X"])
    with pytest.raises(UnknownVariable):
        MissingnessGraph("X -> Y", partially_observed=["Z"])
    with pytest.raises(InvalidArgument, match="not both"):
        MissingnessGraph("X -> R_X", latent=["X"])
    with pytest.raises(UnknownVariable):
        graph.recover("Q")
    with pytest.raises(InvalidArgument, match="not given"):
        graph.recover("X", "X")
    with pytest.raises(NotSupported, match="known to be right"):
        MissingnessGraph("X -> R_X").reweight({"X": [0, None, 1]})
    with pytest.raises(InvalidArgument, match="No row is complete"):
        MissingnessGraph("X; Y; R_X; R_Y").reweight({"X": [0, None], "Y": [None, 1]})


@pytest.mark.parametrize("text", ["x -> y; y -> R_yy", "smoke -> lung; smoke -> R_lungg"])
def test_an_indicator_of_no_variable_is_refused(text):
    with pytest.raises(InvalidGraph, match="no such variable"):
        MissingnessGraph(text)


def test_an_indicator_in_another_case_is_refused_not_taken_for_a_variable():
    with pytest.raises(InvalidGraph, match="Did you mean 'R_lung'"):
        MissingnessGraph("smoke -> lung; smoke -> r_lung")
    assert MissingnessGraph("smoke -> lung; smoke -> r_squared; smoke -> R_lung").partial == ("lung",)


def test_a_graph_that_says_nothing_of_missing_cells_licenses_and_recovers_nothing():
    """Nor does it claim a kind of missingness; that nothing is missing has to be said."""
    graph = MissingnessGraph("smoke -> lung")
    verdict = graph.ignorability()
    assert (graph.kind, verdict.kind, verdict.licensed) == (None, None, False)
    assert "says nothing of missing cells" in str(verdict)
    for recovery in (graph.recover_joint(), graph.recover("lung", "smoke")):
        assert "says nothing of missing cells" in str(recovery)
    with pytest.raises(NotSupported, match="says nothing of missing cells"):
        graph.reweight({"smoke": [0, 1], "lung": [0, None]})
    assert "ever missing" in str(MissingnessGraph("smoke -> lung", partially_observed=()).ignorability())
