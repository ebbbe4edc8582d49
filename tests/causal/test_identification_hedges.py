"""Hedges, bows and edges: why effects are not identifiable, and what would change that."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations, product

import numpy as np
import pytest

from latent_model_oracle import random_causal_graph
from plausible.causal.identification.algorithm import (
    blocking_bows,
    edge_sensitivity,
    find_hedge,
    identify,
    is_identifiable,
)
from plausible.errors import NotIdentifiable
from plausible.graphs import CausalGraph, Edge

NOT_IDENTIFIED = {
    "a": "X -> Y; X <-> Y",
    "b": "X -> Z; Z -> Y; X <-> Z",
    "c": "X -> Z; Z -> Y; X -> Y; X <-> Z",
    "d": "X -> Y; Z -> Y; X <-> Z; Z <-> Y",
    "e": "Z -> X; X -> Y; X <-> Z; Z <-> Y",
    "f": "X -> Z; Z -> Y; X <-> Y; Z <-> Y",
    "g": "X -> Z1; Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2",
    "h": "Z -> X; X -> W; W -> Y; X <-> Z; X <-> Y; W <-> Z; Z <-> Y",
}
MINIMAL = {"a", "b", "d", "e", "f", "g"}
MAXIMAL = {
    "a": "X -> Y; X -> Z; Z -> Y; Z <-> Y",
    "b": "Z -> X; Z -> Y; X -> Y; Z <-> Y",
    "c": "Z -> X; Z -> Y; X -> Y; Z <-> X",
    "d": "X -> Z; Z -> Y; X <-> Y",
    "e": "X -> Y; X -> Z1; Z1 -> Y; Z1 -> Z2; Z2 -> Y; X <-> Z2; Z1 <-> Y",
}


def random_questions(seed, count, num_nodes=(3, 6)):
    """Random graphs with random treatments (one or two) and outcomes."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size = int(rng.integers(num_nodes[0], num_nodes[1] + 1))
        graph = random_causal_graph(rng, size, rng.uniform(0.3, 0.8), rng.uniform(0.1, 0.6))
        names = [str(name) for name in rng.permutation(list(graph.nodes))]
        yield graph, names[:1], names[1 : 2 + int(rng.integers(2))]


def three_node_edges():
    """The edge sets of all causal graphs over X, Y and Z."""
    pairs = list(combinations("XYZ", 2))
    for arrows, arcs in product(product(["->", "<-", None], repeat=3), product([True, False], repeat=3)):
        edges = [Edge.of(a, arrow, b) for (a, b), arrow in zip(pairs, arrows, strict=True) if arrow]
        if arrows not in [("->", "<-", "->"), ("<-", "->", "<-")]:
            yield frozenset(edges + [Edge.of(a, "<->", b) for (a, b), arc in zip(pairs, arcs, strict=True) if arc])


def is_forest(forest, roots):
    """By the definition: one child each but the roots, which have none, and one piece by `<->`, without spare edges."""
    parents = [edge.left for edge in forest.edges if edge.is_directed]
    arcs = [edge.ends for edge in forest.edges if edge.is_bidirected]
    reached = {forest.nodes[0]}
    for _ in forest.nodes:
        reached |= {b for a, b in arcs if a in reached} | {a for a, b in arcs if b in reached}
    has_one_child = sorted(map(str, parents)) == sorted(str(node) for node in forest.nodes if node not in roots)
    return has_one_child and reached == set(forest.nodes) and len(arcs) == len(forest) - 1


def is_hedge(hedge, graph, outcome, treatment):
    """By the definition (Shpitser & Pearl 2006, definition 6)."""
    living, grown = set(outcome), True
    while grown:
        more = {e.left for e in graph.edges if e.is_directed and e.right in living and e.right not in treatment}
        grown = not more <= living
        living |= more
    return (
        is_forest(hedge.outer, hedge.roots)
        and is_forest(hedge.inner, hedge.roots)
        and set(hedge.inner.edges) <= set(hedge.outer.edges) <= set(graph.edges)
        and set(hedge.inner.nodes) < set(hedge.outer.nodes)
        and bool(set(hedge.outer.nodes) & set(treatment))
        and not set(hedge.inner.nodes) & set(treatment)
        and set(hedge.roots) <= living
    )


def parity_rows(hedge, ignoring, cut):
    """All nodes of F for all values of its latent bits: each is the parity of its causes.

    With `ignoring`, nodes of F' do not listen to causes outside of F'; the nodes in `cut` are set to zero.
    """
    arcs = [edge for edge in hedge.outer.edges if edge.is_bidirected]
    rows = []
    for bits in product([0, 1], repeat=len(arcs)):
        values = {}
        for node in hedge.outer.topological_order:
            deaf = ignoring and node in hedge.inner
            causes = [values[p] for p in hedge.outer.parents(node) if not (deaf and p not in hedge.inner)]
            for edge, bit in zip(arcs, bits, strict=True):
                if node in edge.ends and not (deaf and edge not in hedge.inner.edges):
                    causes.append(bit)
            values[node] = 0 if node in cut else sum(causes) % 2
        rows.append(tuple(values[node] for node in hedge.outer.nodes))
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_every_refusal_comes_with_a_hedge_that_makes_two_models(seed):
    """F and F' fit the definition; parity over F gives two models that look alike and react differently to do."""
    refused = 0
    for graph, outcome, treatment in random_questions(seed, 150):
        hedge = find_hedge(graph, outcome, treatment)
        if hedge is None:
            continue
        refused += 1
        assert is_hedge(hedge, graph, outcome, treatment), (graph, hedge)
        listening, deaf = (parity_rows(hedge, ignoring, cut=()) for ignoring in (False, True))
        assert sorted(listening) == sorted(deaf)
        listening, deaf = (parity_rows(hedge, ignoring, cut=treatment) for ignoring in (False, True))
        places = [hedge.outer.nodes.index(root) for root in hedge.roots]
        odd = [np.mean([sum(row[place] for place in places) % 2 for row in rows]) for rows in (listening, deaf)]
        assert odd == [0.5, 0.0]
    assert refused > 15


def test_conditional_refusals_carry_a_hedge_of_the_joint_effect():
    """Where conditions stay, the hedge is one for outcome and conditions together."""
    rng = np.random.default_rng(0)
    refused = 0
    for graph, outcome, treatment in random_questions(9, 150, num_nodes=(4, 6)):
        given = [str(rng.choice([node for node in graph.nodes if node not in (*outcome, *treatment)]))]
        hedge = find_hedge(graph, outcome, treatment, given)
        if hedge is not None:
            refused += 1
            effect = hedge.effect
            assert set(effect.outcome) | set(effect.treatment) <= {*outcome, *treatment, *given}
            assert is_hedge(hedge, graph, effect.outcome, effect.treatment)
            with pytest.raises(NotIdentifiable) as caught:
                identify(graph, outcome, treatment, given)
            assert caught.value.hedge == hedge
    assert refused > 10


def test_the_refusal_names_the_effect_and_the_hedge_and_survives_copying():
    """The message, `explain`, and the hedge after a pickle."""
    with pytest.raises(
        NotIdentifiable, match=r"P\(Y \| do\(X\)\) is not identifiable: hedge with F = \{X, Y\}"
    ) as caught:
        identify("X -> Y; X <-> Y", "Y", "X")
    hedge = caught.value.hedge
    assert (set(hedge.outer.nodes), hedge.inner.nodes, hedge.roots) == ({"X", "Y"}, ("Y",), ("Y",))
    assert "agree on everything observed" in hedge.explain()
    for twin in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert (str(twin), twin.hedge) == (str(caught.value), hedge)
    assert find_hedge("X -> Y", "Y", "X") is None


@pytest.mark.parametrize("name", NOT_IDENTIFIED)
def test_the_eight_non_identifiable_graphs_are_refused(name):
    """Spec 2.5, with the two graphs that are not minimal."""
    graph = CausalGraph(NOT_IDENTIFIED[name])
    assert is_hedge(find_hedge(graph, "Y", "X"), graph, ["Y"], ["X"])
    assert edge_sensitivity(graph, "Y", "X").is_minimal_non_identifiable is (name in MINIMAL)


@pytest.mark.parametrize("name", MAXIMAL)
def test_the_maximal_identifiable_graphs_break_with_any_edge(name):
    """Spec 2.4 a-e; f is identifiable and not maximal, by the six edges of the checklist."""
    answer = edge_sensitivity(MAXIMAL[name], "Y", "X")
    assert answer.is_maximal_identifiable
    assert not answer.is_minimal_non_identifiable
    assert answer.breaking


def test_the_sixth_figure_allows_six_more_edges():
    """Spec 2.4 f."""
    graph = "Z2 -> X; Z2 -> Z1; Z2 -> Z3; X -> Z1; Z1 -> Y; Z3 -> Y; Z2 <-> X; Z2 <-> Y; X <-> Z3; X <-> Y"
    answer = edge_sensitivity(graph, "Y", "X")
    assert not answer.is_maximal_identifiable
    listed = "Z3 -> X, Z3 -> Z1, Z1 -> Z3, Z2 -> Y, Z3 <-> Y, Z2 <-> Z3"
    assert set(answer.harmless) == {Edge.of(a, symbol, b) for a, symbol, b in map(str.split, listed.split(", "))}


def test_three_node_extremes_are_those_of_the_checklist():
    """Five minimal non-identifiable graphs; five maximal identifiable ones in which X is an ancestor of Y."""
    graphs = {edges: CausalGraph(edges, nodes=["X", "Y", "Z"]) for edges in three_node_edges()}
    answers = {edges: edge_sensitivity(graph, "Y", "X") for edges, graph in graphs.items()}
    minimal = {edges for edges, answer in answers.items() if answer.is_minimal_non_identifiable}
    assert minimal == {frozenset(CausalGraph(NOT_IDENTIFIED[name]).edges) for name in "abdef"}
    maximal = {edges for edges, answer in answers.items() if answer.is_maximal_identifiable}
    maximal = {edges for edges in maximal if "X" in graphs[edges].ancestors("Y")}
    child = "X -> Y; X -> Z; Y -> Z; X <-> Z; Y <-> Z"
    assert maximal == {frozenset(CausalGraph(text).edges) for text in (*(MAXIMAL[name] for name in "abcd"), child)}


def test_removing_edges_never_hurts_and_mediators_never_hurt():
    """Spec 23 and 24, for one or two treatments."""
    for graph, outcome, treatment in random_questions(5, 120, num_nodes=(3, 5)):
        if not is_identifiable(graph, outcome, treatment):
            continue
        for edge in graph.edges:
            less = graph.without_edge(edge.left, edge.right, edge.symbol)
            assert is_identifiable(less, outcome, treatment), (graph, edge)
            if edge.is_directed:
                mediated = less.with_edge(edge.left, "M").with_edge("M", edge.right)
                assert is_identifiable(mediated, outcome, treatment), (graph, edge)


def test_a_blocking_bow_is_enough_and_not_needed():
    """Spec 22: never identifiable with one; graph f of 2.5 has none and is not identifiable either."""
    with_bows = 0
    for graph, outcome, treatment in random_questions(6, 300):
        if bows := blocking_bows(graph, outcome, treatment):
            with_bows += 1
            assert not is_identifiable(graph, outcome, treatment)
            assert all(graph.has_edge(a, b) and graph.has_edge(a, b, "<->") for a, b in bows)
    assert with_bows > 30
    assert blocking_bows(NOT_IDENTIFIED["f"], "Y", "X") == ()
    assert blocking_bows(NOT_IDENTIFIED["c"], "Y", "X") == (("X", "Z"),)
    assert blocking_bows("X -> Z; X <-> Z; X -> Y", "Y", "X") == ()
