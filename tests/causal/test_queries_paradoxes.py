"""Simpson's paradox, and associations that are no effects."""

from __future__ import annotations

from itertools import pairwise, product
from typing import get_args

import numpy as np
import pytest

from calculus_oracle import causal_graph, random_causes
from marked_graph_oracles import is_active, simple_paths
from plausible.causal.estimation.simpson import simpson
from plausible.causal.queries.association import compare_effect
from plausible.causal.queries.explanation import SpuriousKind, explain_association, spurious_association
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from refusals import refuses

CONFOUNDED = DAG("gender -> drug; gender -> cured; drug -> cured")
MEDIATED = DAG("drug -> gender; gender -> cured; drug -> cured")


def drug_network():
    """Example 21.9."""
    return BayesianNetwork(
        TableCPD("gender", [0.5, 0.5], states=["male", "female"]),
        TableCPD("drug", {"male": [0.25, 0.75], "female": [0.75, 0.25]}, ["gender"], states=["no", "yes"]),
        TableCPD(
            "cured", [[[0.2, 0.8], [0.3, 0.7]], [[0.6, 0.4], [0.8, 0.2]]], ["gender", "drug"], states=["no", "yes"]
        ),
    )


def drug_rows():
    """400 rows with exactly the proportions of example 21.9."""
    counts = {
        ("male", "yes"): (105, 45),
        ("male", "no"): (40, 10),
        ("female", "yes"): (10, 40),
        ("female", "no"): (60, 90),
    }
    rows = [
        (gender, drug, cured)
        for (gender, drug), numbers in counts.items()
        for cured, number in zip(("yes", "no"), numbers, strict=True)
        for _ in range(number)
    ]
    return dict(zip(("gender", "drug", "cured"), map(list, zip(*rows, strict=True)), strict=True))


def test_the_paradox_is_found_and_resolved_in_the_network():
    """57.5 % against 50 % over all, reversed in both genders; 45 % against 60 % is the effect."""
    report = simpson(drug_network(), "cured", "drug", "gender")
    overall, by_gender = report.comparisons
    assert (overall.baseline[()], overall.treated[()]) == pytest.approx((0.5, 0.575))
    np.testing.assert_allclose(by_gender.difference, [-0.1, -0.2], atol=1e-12)
    assert report.reversals == (1,)
    assert report.is_paradox
    assert report.effect == pytest.approx((0.6, 0.45))
    assert report.admissible == (by_gender,)
    assert by_gender.adjusted == pytest.approx(report.effect)


@pytest.mark.parametrize("as_statistics", [False, True])
def test_the_paradox_is_found_in_data_and_resolved_by_a_graph(as_statistics):
    """The same numbers from counts; without a graph they stay unresolved, and each graph resolves them its own way."""
    data = TableStatistics(Table.read(drug_rows())) if as_statistics else drug_rows()
    options = {"event": "yes", "states": ("no", "yes")}
    unresolved = simpson(data, "cured", "drug", "gender", **options)
    assert unresolved.reversals == (1,)
    assert unresolved.effect is None
    assert unresolved.admissible == ()
    assert "give a graph=" in str(unresolved)
    confounded = simpson(data, "cured", "drug", "gender", graph=CONFOUNDED, **options)
    assert confounded.effect == pytest.approx((0.6, 0.45))
    assert [comparison.is_admissible for comparison in confounded.comparisons] == [False, True]
    mediated = simpson(data, "cured", "drug", "gender", graph=MEDIATED, **options)
    assert mediated.effect == pytest.approx((0.5, 0.575))
    assert [comparison.is_admissible for comparison in mediated.comparisons] == [True, False]


def test_latent_causes_leave_the_adjustment_or_nothing():
    """Over a graph with `<->` the effect is an adjustment where the strata are admissible, else unknown."""
    options = {"event": "yes", "states": ("no", "yes")}
    blocked = CausalGraph("gender -> drug -> cured; gender -> cured; gender <-> cured")
    assert simpson(drug_rows(), "cured", "drug", "gender", graph=blocked, **options).effect == pytest.approx(
        (0.6, 0.45)
    )
    opened = CausalGraph("gender -> drug -> cured; gender -> cured; drug <-> cured")
    assert simpson(drug_rows(), "cured", "drug", "gender", graph=opened, **options).effect is None
    assert simpson(drug_network(), "cured", "drug", "gender", graph=opened).effect is None
    assert simpson(drug_network(), "cured", "drug", "gender", graph=MEDIATED).effect == pytest.approx((0.5, 0.575))


def _twice_reversed():
    """Within each (A, B) the treatment lowers Y by 0.01; B hides that within each A, and A hides that again."""
    treated = np.array([[0.02, 0.2], [0.8, 0.98]])
    a, b, x = np.ix_(range(2), range(2), range(2))
    cured = 0.62 + 0.3 * b - 0.6 * a - 0.01 * x
    return BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        TableCPD("B", [0.5, 0.5]),
        TableCPD("X", np.stack([1 - treated, treated], axis=-1), ["A", "B"]),
        TableCPD("Y", np.stack([1 - cured, cured], axis=-1), ["A", "B", "X"]),
    )


def test_reversals_chain_over_stratifiers():
    """Down over all, up within each A, down within each A and B: only the graph tells that the last is the effect."""
    report = simpson(_twice_reversed(), "Y", "X", ["A", "B"])
    assert [np.unique(np.sign(comparison.difference)).tolist() for comparison in report.comparisons] == [
        [-1.0],
        [1.0],
        [-1.0],
    ]
    assert report.reversals == (1, 2)
    assert [comparison.is_admissible for comparison in report.comparisons] == [False, False, True]
    assert report.effect[1] - report.effect[0] == pytest.approx(-0.01)
    one = simpson(_twice_reversed(), "Y", "X", ["B"])
    assert one.reversals == ()
    assert "No reversal." in str(one)


def test_empty_strata_and_ties_are_no_reversals():
    """A stratum without one of the two states is left out of the verdict; equal rates point nowhere."""
    rows = {"s": [0, 0, 1, 1], "x": [0, 1, 1, 1], "y": [0, 1, 1, 0]}
    report = simpson(rows, "y", "x", "s", graph="s -> x -> y")
    within = report.comparisons[1]
    assert np.isnan(within.difference[1])
    assert np.isnan(within.adjusted[0])
    assert not report.is_paradox
    tied = {"s": [0, 0, 1, 1], "x": [0, 1, 0, 1], "y": [0, 0, 1, 1]}
    assert not simpson(tied, "y", "x", "s").is_paradox


def test_simpson_names_mistakes():
    """Unknown variables and states, overlapping roles, no cases."""
    refuses(UnknownVariable, "'sex'", simpson, drug_rows(), "cured", "drug", "sex")
    refuses(UnknownVariable, "'sex'", simpson, drug_network(), "cured", "drug", "sex")
    refuses(InvalidArgument, "'drug' can't be both", simpson, drug_network(), "cured", "drug", "drug")
    refuses(UnknownState, "'maybe'", simpson, drug_network(), "cured", "drug", "gender", event="maybe")
    with pytest.raises(InvalidArgument, match="no cases"):
        simpson(Table.read(drug_rows()).weighted([0.0] * 400), "cured", "drug", "gender")


# --- which trails associate ---


def _kind(path):
    """The kind of an active path, by its arrows alone."""
    symbols = [symbol for _, symbol, _ in path]
    if any(a.endswith(">") and b.startswith("<") for a, b in pairwise(symbols)):
        return "selection"
    if set(symbols) == {"->"}:
        return "causal"
    return "reverse causal" if set(symbols) == {"<-"} else "common cause"


def test_the_explanation_lists_all_active_paths_with_their_kinds():
    """Each path that is active by definition is there once, as an effect, a common cause or selection."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        size = int(rng.integers(2, 6))
        directed, bidirected = random_causes(rng, size)
        graph = causal_graph(size, directed, bidirected)
        x, y, *others = rng.permutation(list(graph.nodes)).tolist()
        given = [node for node in others if rng.random() < 0.4]
        edges = [*((a, "->", b) for a, b in directed), *((a, "<->", b) for a, b in bidirected)]
        expected = {
            (x + "".join(f" {symbol} {node}" for _, symbol, node in path), _kind(path))
            for path in simple_paths(edges, x, y)
            if is_active(edges, path, given)
        }
        found = explain_association(graph, x, y, given)
        assert {(str(source.trail), source.kind) for source in found.sources} == expected
        assert len(found.sources) == len(expected)
        assert found.is_complete
        assert found.is_associated == (not graph.m_separated(x, y, given))
        assert found.is_causal == any(kind == "causal" for _, kind in expected)
        assert len(found.spurious) == sum(kind != "causal" for _, kind in expected)
        seen |= {kind for _, kind in expected}
    assert seen == {"selection", "causal", "reverse causal", "common cause"}


def test_sources_name_the_common_cause_and_the_selection():
    """A fork, latent or not, an edge `<->`, and the observed descendant of a collider."""
    explanation = explain_association("U -> X; U -> Y; X <-> Y; X -> C <- Y; C -> D", "X", "Y", given="D", latent="U")
    by_trail = {str(source.trail): source for source in explanation.sources}
    assert (by_trail["X <- U -> Y"].through, by_trail["X <- U -> Y"].is_latent) == (("U",), True)
    assert (by_trail["X <-> Y"].through, by_trail["X <-> Y"].is_latent) == ((), True)
    assert by_trail["X -> C <- Y"].through == ("D",)
    assert str(by_trail["X <- U -> Y"]) == "X <- U -> Y  (latent common cause U)"
    assert not explain_association("U -> X; U -> Y", "X", "Y").sources[0].is_latent
    assert "not associated given U" in str(explain_association("U -> X; U -> Y", "X", "Y", given="U"))


def test_a_limit_cuts_the_list_and_says_so():
    """With one trail asked for and two there, the list is not complete."""
    short = explain_association("X -> Y; X <-> Y", "X", "Y", limit=1)
    assert len(short.sources) == 1
    assert not short.is_complete
    assert "more trails" in str(short)
    refuses(InvalidArgument, "limit", explain_association, "X -> Y", "X", "Y", limit=0)
    refuses(InvalidArgument, "can't be both", explain_association, "X -> Y", "X", "Y", given="X")
    refuses(InvalidArgument, "one node", explain_association, "X -> Y; Z -> Y", ["X", "Z"], "Y")


# --- the four kinds, to sample from ---


@pytest.mark.parametrize("kind", get_args(SpuriousKind))
def test_each_kind_is_associated_in_samples_without_an_effect(kind):
    """The samples depend on each other, though neither variable acts on the other; the explanation finds out why."""
    simulation = spurious_association(kind)
    graph, x, y = simulation.network.graph, simulation.x, simulation.y
    assert y not in graph.descendants(x)
    assert x not in graph.descendants(y)
    expected = "selection" if kind == "selection bias" else "common cause"
    assert [source.kind for source in simulation.explanation().sources] == [expected]
    assert simulation.explanation().sources[0].is_latent == (kind != "selection bias")
    frame = simulation.sample(4000, seed=1)
    assert list(frame.columns) == [x, y]
    first, second = (simulation.network.variables[name].states for name in (x, y))
    joint = np.array([[((frame[x] == a) & (frame[y] == b)).mean() for b in second] for a in first])
    dependence = joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert np.abs(dependence).max() > 0.02
    comparison = simulation.comparison()
    truth = comparison.association * joint.sum(axis=1)[:, None]
    np.testing.assert_allclose(joint, truth, atol=0.03)
    if kind != "selection bias":
        assert comparison.max_effect < 1e-12
        assert not comparison.agrees


def test_selection_bias_explains_away():
    """P(a | s) = 0.642857 > P(a | g, s) = 0.5, though A and G are independent."""
    net = spurious_association("selection bias").network
    assert net.query("A", evidence={"S": 1}).values[1] == pytest.approx(0.642857, abs=1e-6)
    assert net.query("A", evidence={"S": 1, "G": 1}).values[1] == pytest.approx(0.5)
    for a, g in product((0, 1), repeat=2):
        assert net.query("A", evidence={"G": g}).values[a] == pytest.approx(0.5)


def test_an_unknown_kind_gets_a_suggestion():
    """A misspelt kind names the one that was meant."""
    with pytest.raises(InvalidArgument, match="selection bias"):
        spurious_association("selection")


@pytest.mark.parametrize(
    "graph", ["g -> x -> y; g -> y", "g -> x -> y; g -> y; g <-> y", "g -> x -> y; g -> y; H -> y"]
)
def test_what_no_case_tells_is_unknown_and_not_filled_in(graph):
    """The treatment copies the stratum; latent causes and unmeasured nodes in the graph change nothing."""
    g = [0] * 10 + [1] * 10
    report = simpson({"g": g, "x": g, "y": [0, 1] * 10}, "y", "x", "g", graph=graph)
    assert np.isnan(report.effect).all()
    assert report.unknown == ("x=0, g=1", "x=1, g=0")
    assert [comparison.strata[0].name for comparison in report.admissible] == ["g"]
    assert "P(1 | do(0)) is unknown" in str(report)
    assert "There are no cases with x=0, g=1; x=1, g=0." in str(report)


def test_without_admissible_strata_the_graph_may_still_give_the_effect():
    """By the front door, worked out by hand; and not at all where treatment and outcome share a latent cause."""
    rng = np.random.default_rng(1)
    g, x, m, y = rng.integers(0, 2, (4, 400))
    rows = {"g": g, "x": x, "m": m, "y": y}
    report = simpson(rows, "y", "x", "g", graph="x -> m -> y; x <-> y; g -> y; H -> y")
    expected = [
        sum(
            (m[x == level] == b).mean() * sum(y[(x == a) & (m == b)].mean() * (x == a).mean() for a in (0, 1))
            for b in (0, 1)
        )
        for level in (0, 1)
    ]
    assert report.effect == pytest.approx(expected)
    opened = simpson(rows, "y", "x", "g", graph="x -> y; x <-> y; g -> y")
    assert opened.effect is None
    assert "the graph leaves the effect open" in str(opened)
    assert "give a graph=" not in str(opened)


def test_comparisons_say_where_seeing_is_undefined():
    """A treatment that is never taken can be set, but not seen."""
    net = BayesianNetwork(TableCPD("X", [1.0, 0.0]), TableCPD("Y", [[0.3, 0.7], [0.2, 0.8]], ["X"]))
    comparison = compare_effect(net, "Y", "X")
    assert comparison.undefined == ("P(Y | X=1)",)
    assert "agree where both are defined" in str(comparison)
    assert "Not defined: P(Y | X=1)" in str(comparison)
