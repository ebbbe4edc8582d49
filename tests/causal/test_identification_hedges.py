"""Identification on random graphs is right and refusals are justified: hedges, bows and edges."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations, product

import numpy as np
import pytest

from latent_model_oracle import LatentModel, random_causal_graph
from plausible.causal.identification.algorithm import (
    blocking_bows,
    edge_sensitivity,
    find_hedge,
    identify,
    is_identifiable,
)
from plausible.causal.identification.question import MaskGraph
from plausible.errors import NotIdentifiable, PositivityViolation
from plausible.factors import Factor
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


def is_living_district(graph, nodes, roots):
    """Whether latent causes among these nodes join them all, and each leads to a root through others of them."""
    joined, living = {min(roots)}, set(roots)
    for _ in nodes:
        for edge in graph.edges:
            left, right = edge.ends
            if edge.is_bidirected and {left, right} & joined and {left, right} <= nodes:
                joined |= {left, right}
            if edge.is_directed and edge.right in living and edge.left in nodes:
                living.add(edge.left)
    return joined == nodes == living


def has_smaller_hedge(hedge, graph, treatment):
    """Whether some nodes of F can be spared and a hedge for the same roots is left."""
    roots, free = set(hedge.roots), set(hedge.outer.nodes) - set(hedge.roots)
    for size in range(len(free)):
        for chosen in combinations(sorted(free), size):
            nodes = roots | set(chosen)
            if not nodes & set(treatment) or not is_living_district(graph, nodes, roots):
                continue
            untreated = nodes - roots - set(treatment)
            for inner in range(len(untreated) + 1):
                if any(
                    is_living_district(graph, roots | set(c), roots) for c in combinations(sorted(untreated), inner)
                ):
                    return True
    return False


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
        assert not has_smaller_hedge(hedge, graph, treatment), (graph, hedge)
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


def test_an_edge_whose_removal_helps_is_told_apart_from_one_whose_removal_does_not():
    """Of the bow either edge may go; a cause of Y beside it changes nothing."""
    answer = edge_sensitivity("X -> Y; X <-> Y; Z -> Y", "Y", "X")
    assert not answer.identifiable
    assert set(answer.repairing) == {Edge.of("X", "->", "Y"), Edge.of("X", "<->", "Y")}
    assert answer.stubborn == (Edge.of("Z", "->", "Y"),)
    assert (answer.breaking, answer.harmless) == ((), ())
    assert not answer.is_minimal_non_identifiable


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


def three_node_graphs():
    """All causal graphs over X, Y and Z."""
    pairs = list(combinations("XYZ", 2))
    for arrows, arcs in product(product(["->", "<-", None], repeat=3), product([True, False], repeat=3)):
        edges = [(a, arrow, b) for (a, b), arrow in zip(pairs, arrows, strict=True) if arrow]
        if arrows not in [("->", "<-", "->"), ("<-", "->", "<-")]:  # the two cycles
            edges += [(a, "<->", b) for (a, b), arc in zip(pairs, arcs, strict=True) if arc]
            yield CausalGraph(edges, nodes=["X", "Y", "Z"])


def random_roles(rng, nodes, treatments=2, conditions=1):
    """Disjoint random outcomes (one or two), treatments and conditions (any number up to these)."""
    counts = [rng.integers(1, 3), rng.integers(0, treatments + 1), rng.integers(0, conditions + 1)]
    names = [str(name) for name in rng.permutation(list(nodes))]
    starts = np.cumsum([0, *counts])
    return [names[start : start + count] for start, count in zip(starts, counts, strict=False)]


def answer_or_places(estimand, joint, setting):
    """The effect of an intervention, or the places where it has no value."""
    try:
        return estimand.evaluate(joint, do=setting)
    except PositivityViolation as error:
        return error.undefined


def test_all_three_node_graphs_are_decided_as_their_derivatives_decide():
    """200 graphs, 42 of them not identified: where the effect moves and P(X, Y, Z) does not (every second)."""
    rng = np.random.default_rng(0)
    graphs = list(three_node_graphs())
    decided = [is_identifiable(graph, "Y", "X") for graph in graphs]
    assert (len(graphs), decided.count(False)) == (200, 42)
    for graph, answer in list(zip(graphs, decided, strict=True))[::2]:
        model = LatentModel(graph, rng, latent_states=3, sizes=[2, 2, 2])
        assert answer is not model.moves_unseen("Y", "X"), graph
        if answer:
            estimate = identify(graph, "Y", "X").evaluate(model.joint())
            assert np.abs(estimate.values - model.effect("Y", "X")).max() < 1e-10


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 25))])
def test_estimands_equal_the_mutilated_model_on_random_graphs(seed):
    """Graphs of 3 to 6 nodes with ternary latents, one or two outcomes, up to two treatments, conditions."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(60):
        num_nodes = int(rng.integers(3, 7))
        graph = random_causal_graph(rng, num_nodes, rng.uniform(0.2, 0.8), rng.uniform(0.0, 0.5))
        outcome, treatment, given = random_roles(rng, graph.nodes, conditions=int(rng.random() < 0.4))
        if not is_identifiable(graph, outcome, treatment, given):
            with pytest.raises(NotIdentifiable):
                identify(graph, outcome, treatment, given)
            continue
        found += 1
        estimand = identify(graph, outcome, treatment, given)
        model = LatentModel(graph, rng, max_states=3 if num_nodes < 6 else 2)
        answer = estimand.evaluate(model.joint())
        assert answer.names == (*treatment, *given, *outcome)
        assert np.abs(answer.values - model.effect(outcome, treatment, given)).max() < 1e-10, (graph, str(estimand))
        assert set(estimand.variables) <= set(graph.nodes)
    assert found > 30


@pytest.mark.parametrize("seed", range(2))
def test_random_graphs_are_decided_as_their_derivatives_decide(seed):
    """Completeness: what is refused can move unseen, what is not can't; with conditions too."""
    rng = np.random.default_rng(100 + seed)
    refused = 0
    for _ in range(50):
        graph = random_causal_graph(rng, int(rng.integers(3, 6)), rng.uniform(0.3, 0.8), rng.uniform(0.2, 0.6))
        if sum(edge.is_bidirected for edge in graph.edges) > 4:
            continue
        outcome, treatment, given = random_roles(rng, graph.nodes)
        answer = is_identifiable(graph, outcome, treatment, given)
        model = LatentModel(graph, rng, latent_states=3, sizes=[2] * len(graph))
        assert answer is not model.moves_unseen(outcome, treatment, given), (graph, outcome, treatment, given)
        refused += not answer
    assert refused > 3


@pytest.mark.parametrize("seed", range(3))
def test_the_python_text_computes_the_effect(seed):
    """Pasted and run, it gives what `evaluate` gives."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        graph = random_causal_graph(rng, 5, bidirected=0.25)
        if not is_identifiable(graph, "A", ["B", "C"], "D"):
            continue
        estimand, model = identify(graph, "A", ["B", "C"], "D"), LatentModel(graph, rng)
        code = {}
        exec(estimand.python, code)
        found = code["effect"](model.joint().marginal(list(estimand.variables)).values)
        axes = [name for name in ("B", "C", "D", "A") if name in {s.variable for s in estimand.expression.free}]
        idle = {name: 0 for name in "BCD" if name not in axes}
        assert np.abs(found - estimand.evaluate(model.joint()).reduce(idle).values).max() < 1e-10


@pytest.mark.parametrize("seed", range(2))
def test_zeros_give_the_truth_or_a_positivity_violation(seed):
    """Where the estimand has a value it is right; where not, the states are named and nothing is NaN."""
    rng = np.random.default_rng(seed)
    answers = violations = 0
    for _ in range(40):
        graph = random_causal_graph(rng, int(rng.integers(3, 6)), rng.uniform(0.3, 0.8), rng.uniform(0.0, 0.5))
        outcome, treatment, _ = random_roles(rng, graph.nodes, conditions=0)
        if not is_identifiable(graph, outcome, treatment):
            continue
        estimand = identify(graph, outcome, treatment)
        model = LatentModel(graph, rng, latent_states=2, zeros=0.5)
        truth = model.effect(outcome, treatment)
        for states in product(*(range(model.sizes[model.nodes.index(name)]) for name in treatment)):
            setting = dict(zip(treatment, states, strict=True))
            found = answer_or_places(estimand, model.joint(), setting)
            if isinstance(found, Factor):
                assert np.abs(found.values - truth[states]).max() < 1e-10
                answers += 1
            else:
                assert found
                assert all(setting.items() <= place.items() for place in found)
                violations += 1
    assert answers > 30
    assert violations > 3


@pytest.mark.parametrize("seed", range(3))
def test_graphs_of_500_nodes_are_no_burden(seed):
    """Decisions, estimands or hedges, with and without conditions, for several treatments."""
    rng = np.random.default_rng(seed)
    names = [f"V{i}" for i in range(500)]
    pairs = (sorted(rng.choice(500, 2, replace=False)) for _ in range(1000 + 500 * seed))
    edges = [(names[a], "->", names[b]) for a, b in pairs]
    edges += [(names[a], "<->", names[b]) for a, b in (rng.choice(500, 2, replace=False) for _ in range(400))]
    graph = CausalGraph(edges, nodes=names)
    for outcome, treatment, given in (
        ("V499", "V250", ()),
        ("V480", ["V5", "V100", "V200"], ()),
        ("V490", "V9", "V30"),
    ):
        if is_identifiable(graph, outcome, treatment, given):
            assert identify(graph, outcome, treatment, given).formula
        else:
            assert find_hedge(graph, outcome, treatment, given) is not None


@pytest.mark.parametrize("seed", range(3))
def test_separation_on_bit_sets_is_m_separation_of_the_cut_graph(seed):
    """The same answers as the graph class gives, which searches walks, for random cuts and random sets."""
    rng = np.random.default_rng(seed)
    separations = 0
    for _ in range(150):
        graph = random_causal_graph(rng, 7, rng.uniform(0.1, 0.5), rng.uniform(0.0, 0.3))
        roles, cuts = rng.integers(5, size=7), rng.integers(6, size=7)
        x, y, given = ([n for n, role in zip(graph.nodes, roles, strict=True) if role == k] for k in range(3))
        incoming, outgoing = ([n for n, cut in zip(graph.nodes, cuts, strict=True) if cut == k] for k in range(2))
        cut = graph.without_incoming(incoming).without_outgoing(outgoing)
        masks = MaskGraph.of(graph)
        answer = masks.separated(*(masks.mask(nodes) for nodes in (x, y, given, incoming, outgoing)))
        assert answer is cut.m_separated(x, y, given=given)
        separations += answer
    assert 30 < separations < 150
