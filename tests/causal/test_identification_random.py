"""Identification on random graphs: every estimand equals the truth, and every refusal is justified."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from latent_model_oracle import LatentModel, random_causal_graph
from plausible.causal.identification.algorithm import find_hedge, identify, is_identifiable
from plausible.causal.identification.question import MaskGraph
from plausible.errors import NotIdentifiable, PositivityViolation
from plausible.factors import Factor
from plausible.graphs import CausalGraph


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
