"""Greedy equivalence search: the true class from endless data, legal operators, and what it refuses."""

import numpy as np
import pytest

from class_moves import moves_of
from family_oracle import GaussianScores, PricedLikelihood, RandomScores, random_covariance, random_frame
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported
from plausible.graphs import DAG
from plausible.graphs.classes import class_members
from plausible.graphs.equivalence import essential_graph, is_essential_graph
from plausible.graphs.random import erdos_renyi_dag, uniform_dag
from plausible.learn.learned_structure import learn_structure
from plausible.learn.structures.exact.class_graph import ClassGraph, dag_of, masks_of
from plausible.learn.structures.exact.equivalence import search_classes
from plausible.learn.structures.exact.optimal_graphs import optimal_by_subsets
from plausible.learn.structures.knowledge import Knowledge
from refusals import refuses


@pytest.mark.parametrize("num", [3, 4, 5, 6, 8])
def test_endless_faithful_data_give_the_true_class(num):
    rng = np.random.default_rng(num)
    names = [f"v{place}" for place in range(num)]
    for seed in range(25):
        truth = erdos_renyi_dag(num, min(1.0, 2.5 / num), nodes=names, seed=seed)
        found = search_classes(GaussianScores(random_covariance(truth, rng)))
        assert found.equivalence_class == essential_graph(truth)
        assert found.stopped_by == "local maximum"


@pytest.mark.parametrize("seed", range(12))
def test_operators_lead_to_exactly_the_classes_next_to_one(seed):
    """Insert: the classes of members with one more edge. Delete: with one less. Gains are differences of scores."""
    names = [f"v{place}" for place in range(5)]
    graph = uniform_dag(5, nodes=names, seed=seed)
    scores = GaussianScores(
        random_covariance(uniform_dag(5, nodes=names, seed=seed + 99), np.random.default_rng(seed)), 50
    )
    state = ClassGraph.of(essential_graph(graph), names)
    members = list(class_members(graph))
    larger = {essential_graph(m.with_edge(a, b)) for m in members for a in names for b in names if _can_add(m, a, b)}
    smaller = {essential_graph(m.without_edge(a, b)) for m in members for a, b in m.edges}
    for kind, expected in (("insert", larger), ("delete", smaller)):
        reached = set()
        for move in moves_of(state, kind):
            after = dag_of(state.after(move, masks_of(graph, names)), names)
            assert is_essential_graph(essential_graph(after))
            reached.add(essential_graph(after))
            parents = (move.before | state.parents[move.y]) & ~(1 << move.x)
            base = [names[v] for v in range(5) if parents >> v & 1]
            change = scores.family(names[move.y], [*base, names[move.x]]) - scores.family(names[move.y], base)
            sign = 1 if kind == "insert" else -1
            assert scores.graph(after) - scores.graph(graph) == pytest.approx(sign * change)
        assert reached == expected


def _can_add(dag, a, b):
    return a != b and not dag.has_edge(a, b) and not dag.has_edge(b, a) and a not in dag.descendants(b)


def test_a_search_ends_where_no_neighbouring_class_is_better_and_below_the_optimum():
    for seed in range(2):
        scores = PricedLikelihood().on(TableStatistics(random_frame(5, 100, seed)))
        found = search_classes(scores)
        members = list(class_members(found.graph))
        names = scores.names
        near = [m.with_edge(a, b) for m in members for a in names for b in names if _can_add(m, a, b)]
        near += [m.without_edge(a, b) for m in members for a, b in m.edges]
        assert max(map(scores.graph, near)) <= found.score + 1e-9
        assert found.score <= optimal_by_subsets(scores).score + 1e-9


def test_a_start_with_too_many_edges_loses_them():
    names = [f"v{place}" for place in range(4)]
    truth = DAG("v0 -> v2 <- v1; v2 -> v3")
    full = DAG([(a, b) for a in names for b in names if a < b])
    scores = GaussianScores(random_covariance(truth, np.random.default_rng(1)))
    assert search_classes(scores, start=full).equivalence_class == essential_graph(truth)


def test_limits_hold_and_directions_are_refused():
    names = [f"v{place}" for place in range(5)]
    truth = DAG([(name, "v4") for name in names[:4]])
    scores = GaussianScores(random_covariance(truth, np.random.default_rng(2)))
    found = search_classes(scores, Knowledge(max_parents=2, forbidden=[("v0", "v4"), ("v4", "v0")]))
    assert max(len(found.graph.parents(name)) for name in names) == 2
    assert not found.graph.has_edge("v0", "v4")
    assert not found.graph.has_edge("v4", "v0")
    for knowledge in (
        Knowledge(required="v0 -> v1"),
        Knowledge(forbidden=[("v0", "v1")]),
        Knowledge(tiers=[["v0"], ["v1"]]),
    ):
        refuses(NotSupported, "directions", search_classes, scores, knowledge)


def test_few_variables_and_early_ends():
    assert search_classes(RandomScores(0, 0)).score == 0
    assert search_classes(RandomScores(1, 0)).graph.num_edges == 0
    scores = GaussianScores(random_covariance(DAG("v0 -> v1 -> v2"), np.random.default_rng(0)))
    assert search_classes(scores, time_limit=0).stopped_by == "time limit"
    assert search_classes(scores, progress=lambda steps, score: steps == 1).graph.num_edges == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_search_ends_above_its_start_with_a_score_that_tells_equivalent_graphs_apart(seed):
    scores = RandomScores(5, seed)
    found = search_classes(scores)
    assert found.stopped_by == "local maximum"
    assert found.score >= scores.graph(DAG(nodes=scores.names))


@pytest.mark.parametrize("score", ["k2", "fnml"])
def test_learning_by_classes_refuses_scores_that_tell_equivalent_graphs_apart(score):
    refuses(NotSupported, "'bic' or 'bdeu'", learn_structure, random_frame(4, 50, 0), "ges", score)


def test_learning_by_classes_refuses_mixed_data():
    rng = np.random.default_rng(0)
    frame = {"u": rng.normal(size=40), "d": rng.choice(["a", "b"], 40)}
    refuses(NotSupported, r"mixed data.*'hill-climbing'", learn_structure, frame, "ges")


def test_the_clock_is_looked_at_before_the_first_step():
    found = search_classes(RandomScores(6, 0), time_limit=0)
    assert (found.stopped_by, found.num_steps) == ("time limit", 0)


@pytest.mark.parametrize("seed", range(8))
def test_bits_of_a_class_are_its_essential_graph(seed):
    num = 3 + seed
    names = [f"v{place}" for place in range(num)]
    for degree in (1.0, 2.5, 5.0):
        graph = erdos_renyi_dag(num, min(1.0, degree / num), nodes=names, seed=seed)
        assert dag_of(masks_of(graph, names), names) == graph
        assert ClassGraph.of_member(masks_of(graph, names), names) == ClassGraph.of(essential_graph(graph), names)


@pytest.mark.parametrize("seed", range(6))
def test_moves_stay_as_they_were_where_nothing_is_said_to_have_changed(seed):
    """But for paths, which are looked at when a move is chosen; and a step changes the moves of few variables."""
    names = [f"v{place}" for place in range(9)]
    graph = erdos_renyi_dag(9, 0.25, nodes=names, seed=seed)
    state = ClassGraph.of_member(masks_of(graph, names), names)
    shares = []
    for kind in ("insert", "delete"):
        for move in moves_of(state, kind):
            other = ClassGraph.of_member(state.after(move, masks_of(graph, names)), names)
            near = other.changes(state)
            for y in set(range(9)) - near:
                assert list(other.insertions(y, 511)) == list(state.insertions(y, 511))
                assert list(other.deletions(y)) == list(state.deletions(y))
            shares.append(len(near) / 9)
    assert np.mean(shares) < 0.9
