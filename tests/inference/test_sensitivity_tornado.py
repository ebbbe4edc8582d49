"""Which parameters are examined, and how far they move a posterior."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import random_network
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.inference.compiled import CompiledFactors
from plausible.inference.sensitivity.derivatives import FamilyProduct
from plausible.inference.sensitivity.functions import event_sensitivity, tornado, varied
from plausible.inference.sensitivity.parameters import Event, sensitivity_set
from plausible.variables import Evidence, Variable
from refusals import refuses
from sensitivity_oracle import covaried, random_findings, sizes_of, tables_of, total, with_event

SEEDS = st.integers(0, 10**6)


def _expected_ends(theta, vary, amount):
    if vary == "relative":
        ends = theta * (1 - amount), theta * (1 + amount)
    elif vary == "absolute":
        ends = theta - amount, theta + amount
    elif theta in (0.0, 1.0):
        ends = theta, theta
    else:
        odds = theta / (1 - theta)
        ends = tuple(some / (1 + some) for some in (odds / (1 + amount), odds * (1 + amount)))
    return [min(max(end, 0.0), 1.0) for end in ends]


@pytest.mark.parametrize(("vary", "amount"), [("relative", 0.2), ("absolute", 0.15), ("odds", 1.0)])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_swings_equal_enumeration_with_each_parameter_changed(vary, amount, seed):
    """Every parameter of every family with two states or more, sorted by its swing."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4)
    evidence, weights = random_findings(rng, net, share=0.3)
    tables, sizes = tables_of(net), sizes_of(net)
    if total(tables, sizes, weights) == 0:
        return
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    target = next(iter(net.variables.values()))
    event = Event(target, target.states[-1])
    both = with_event(weights, sizes, target.name, target.num_states - 1)
    table = tornado(event_sensitivity(product, Evidence.read(evidence, net.variables), event), vary, amount, limit=None)
    assert len(table) == sum(array.size for _, array in tables.values() if array.shape[-1] > 1)
    assert np.all(np.diff(table["swing"]) <= 1e-6)
    for row in table.itertuples():
        theta = tables[row.parameter.child][1][row.parameter.place]
        assert row.value == theta
        assert [row.low, row.high] == pytest.approx(_expected_ends(theta, vary, amount), abs=1e-12)
        for value, posterior in ((row.low, row.at_low), (row.high, row.at_high)):
            other = covaried(tables, row.parameter.child, row.parameter.place, value)
            whole = total(other, sizes, weights)
            if whole > 1e-12:
                assert posterior == pytest.approx(total(other, sizes, both) / whole, abs=1e-9)
        assert row.swing == pytest.approx(abs(row.at_high - row.at_low), abs=1e-15)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_parameters_outside_the_sensitivity_set_do_not_matter(seed):
    """Their functions are constant, whatever the numbers; with hard, soft and one-of evidence."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, max_states=2, edge_probability=0.35, zeros=0.0)
    evidence, _ = random_findings(rng, net, share=0.3)
    found = Evidence.read(evidence, net.variables)
    target = net.variables["X3"]
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    answer = event_sensitivity(product, found, Event(target, 0))
    kept = sensitivity_set(net.graph, "X3", found)
    for name, family in answer.families.items():
        moves = float(np.abs(family.posteriors(np.full(family.table.shape, 0.35)) - answer.probability).max())
        if name not in kept:
            assert moves <= 1e-10


def test_the_sensitivity_set_is_what_the_graph_leaves():
    """Barren variables and those cut off by evidence go; an observed variable stays where its parents matter."""
    graph = DAG("A -> B -> C -> D; E -> C; B -> F")
    variables = {name: Variable(name, 2) for name in "ABCDEF"}

    def found(**evidence):
        return Evidence.read(evidence, variables)

    assert sensitivity_set(graph, "C", found()) == ["A", "B", "C", "E"]
    assert sensitivity_set(graph, "C", found(B=0)) == ["C", "E"]
    assert sensitivity_set(graph, "C", found(F=0)) == ["A", "B", "C", "E", "F"]
    assert sensitivity_set(graph, "C", found(F=[0, 1])) == ["A", "B", "C", "E", "F"]
    assert sensitivity_set(graph, "E", found(D=1)) == ["A", "B", "C", "D", "E"]
    assert sensitivity_set(graph, "E", found(B=1)) == ["E"]
    assert sensitivity_set(graph, "C", found(C=1)) == []


def test_two_calibrations_make_the_whole_table(monkeypatch):
    """However many parameters it has."""
    calls = []
    joints = CompiledFactors.joints
    monkeypatch.setattr(CompiledFactors, "joints", lambda *given: calls.append(1) or joints(*given))
    net = random_network(np.random.default_rng(2), num_variables=12, max_states=3, edge_probability=0.2)
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    target = net.variables["X7"]
    state = net.mpe()["X7"]
    table = tornado(event_sensitivity(product, Evidence({}, {}, {}), Event(target, state)))
    assert len(calls) == 2
    assert len(table) == 20


def test_the_two_states_of_a_binary_variable_tie_in_table_order():
    """Odds of θ and of 1 - θ vary alike: rounding does not decide who is first."""
    rows = [[0.95, 0.05], [0.1, 0.9]]
    product = FamilyProduct({"A": Factor({"A": 2}, [0.99, 0.01]), "B": Factor({"A": 2, "B": 2}, rows)})
    answer = event_sensitivity(product, Evidence.read({"B": 1}, product.variables), Event(Variable("A", 2), 1))
    for amount in (0.1, 0.5, 1.0, 2.0):
        names = [str(parameter) for parameter in tornado(answer, "odds", amount)["parameter"]]
        assert names[:4] == ["P(A=0)", "P(A=1)", "P(B=0 | A=0)", "P(B=1 | A=0)"]


def test_an_empty_table_has_all_columns():
    """Nothing to vary, or a limit of none."""
    product = FamilyProduct({"A": Factor({"A": 1}, [1.0])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("A", 1), 0))
    empty = tornado(answer)
    assert len(empty) == 0
    assert list(empty.columns) == [
        "parameter",
        "value",
        "low",
        "high",
        "at_low",
        "at_high",
        "swing",
        "derivative",
    ]


def test_wrong_options_are_refused():
    """By name, also where there is nothing to vary."""
    product = FamilyProduct({"A": Factor({"A": 1}, [1.0])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("A", 1), 0))
    for amount in (0, -1, math.inf, math.nan, "much"):
        refuses(InvalidArgument, "positive and finite", tornado, answer, amount=amount)
    refuses(InvalidArgument, "'relative', 'absolute' or by 'odds', not 'logit'", tornado, answer, vary="logit")
    for limit in (-1, 2.5):
        refuses(InvalidArgument, "The limit", tornado, answer, limit=limit)


def test_variations_stay_probabilities():
    """Zero and one under odds, and what would leave the interval."""
    for vary in ("relative", "absolute", "odds"):
        low, high = varied(np.array([0.0, 0.5, 1.0]), vary, 3.0)
        assert np.all((low >= 0) & (low <= high) & (high <= 1))
