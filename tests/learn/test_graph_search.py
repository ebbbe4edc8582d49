"""Moves over graphs: legal ones only, with the gains that scoring anew would find."""

from itertools import product

import networkx as nx
import numpy as np
import pytest

from plausible.errors import CyclicGraph, InvalidArgument, UnknownVariable
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.graph_search import GraphSearch, Move, SearchGraph
from plausible.learn.structures.knowledge import Knowledge
from plausible.search.local_search import GreedyAscent, TabuSearch
from refusals import refuses


class RandomScores(FamilyScores):
    """A random number for each family."""

    def __init__(self, num, seed):
        self._names, self._seed = [f"v{place}" for place in range(num)], seed

    @property
    def names(self):
        return self._names

    def family(self, child, parents):
        return float(np.random.default_rng([self._seed, *map(ord, "|".join([child, *sorted(parents)]))]).normal())


def _legal(state, constraints):
    """All moves that keep the graph acyclic and within its constraints, by trying each."""
    num = len(state)
    edges = {(parent, child) for child, parents in enumerate(state) for parent in parents}
    for kind, parent, child in product(("add", "delete", "reverse"), range(num), range(num)):
        after = set(edges)
        if (kind == "add") == ((parent, child) in edges) or parent == child:
            continue
        if kind == "add":
            after.add((parent, child))
        else:
            after.remove((parent, child))
        if kind == "reverse":
            after.add((child, parent))
        graph = nx.DiGraph(sorted(after))
        graph.add_nodes_from(range(num))
        within = all(constraints.allowed[edge] for edge in after) and all(
            edge in after for edge in map(tuple, np.argwhere(constraints.required).tolist())
        )
        few = max(dict(graph.in_degree()).values()) <= constraints.max_parents
        if nx.is_directed_acyclic_graph(graph) and within and few:
            yield Move(kind, parent, child)


KNOWN = [
    Knowledge(),
    Knowledge(max_parents=2),
    Knowledge(required=[("v1", "v0")], forbidden=[("v2", "v3")], tiers=[["v1", "v2"], ["v3"]]),
]


@pytest.mark.parametrize("knowledge", KNOWN, ids=["nothing", "few parents", "much"])
@pytest.mark.parametrize("seed", range(4))
def test_operators_are_the_legal_moves_and_deltas_what_scoring_anew_finds(knowledge, seed):
    rng = np.random.default_rng(seed)
    problem = GraphSearch(RandomScores(5, seed), knowledge)
    constraints, state = knowledge.on(problem.names), problem.start
    for _ in range(12):
        moves = problem.operators(state)
        assert set(moves) == set(_legal(state, constraints))
        for move, delta in zip(moves, problem.deltas(state, moves), strict=True):
            assert delta == pytest.approx(problem.score(problem.apply(state, move)) - problem.score(state), abs=1e-9)
        best = problem.best_operator(state)
        assert best is not None
        assert best[1] == pytest.approx(max(problem.deltas(state, moves)))
        state = problem.apply(state, moves[rng.integers(len(moves))])


@pytest.mark.parametrize("seed", range(5))
def test_a_climb_ends_where_no_legal_move_improves(seed):
    problem = GraphSearch(RandomScores(6, seed), Knowledge(max_parents=3))
    found = GreedyAscent().run(problem, problem.start)
    assert found.best_score == pytest.approx(problem.score(found.best))
    assert max(problem.deltas(found.best, problem.operators(found.best))) <= 1e-9
    assert problem.state(problem.graph(found.best)) == found.best


def test_a_tabu_search_undoes_none_of_its_last_moves():
    problem = GraphSearch(RandomScores(4, 1))
    search, recent = TabuSearch(length=3, patience=30), []
    state = search.init(problem, problem.start)
    while not state.stopped_by:
        after = search.step(problem, state)
        applied = [m for m in problem.operators(state.current) if problem.apply(state.current, m) == after.current]
        if applied and not after.stopped_by:
            assert not any(problem.reverses(applied[0], other) for other in recent[-3:])
            recent.append(applied[0])
        state = after
    assert len(recent) > 30


def test_paths_kept_up_to_date_are_those_found_anew():
    rng = np.random.default_rng(0)
    problem, kept = GraphSearch(RandomScores(7, 0)), SearchGraph(7)
    state = before = problem.start
    for _ in range(60):
        moves = problem.operators(state)
        state = problem.apply(state, moves[rng.integers(len(moves))])
        assert kept.look_at(state) == {child for child in range(7) if state[child] != before[child]}
        graph = nx.DiGraph([(parent, child) for child, parents in enumerate(state) for parent in parents])
        graph.add_nodes_from(range(7))
        assert kept.reaches.tolist() == [
            [other in nx.descendants(graph, node) for other in range(7)] for node in range(7)
        ]
        assert {(int(p), int(c)) for c, p in np.argwhere(kept.adjacency)} == set(graph.edges)
        before = state


@pytest.mark.parametrize("knowledge", KNOWN, ids=["nothing", "few parents", "much"])
def test_proposals_and_random_graphs_are_legal(knowledge):
    rng = np.random.default_rng(3)
    problem = GraphSearch(RandomScores(5, 0), knowledge)
    constraints = knowledge.on(problem.names)
    for _ in range(20):
        state = problem.random_state(rng)
        assert problem.state(problem.graph(state)) == state  # refuses what contradicts the knowledge
        assert problem.propose(state, rng) in set(_legal(state, constraints))


def test_few_moves_are_scored_as_many_are():
    problem = GraphSearch(RandomScores(5, 2))
    state = problem.random_state(np.random.default_rng(1))
    moves = problem.operators(state)
    assert [problem.deltas(state, [move])[0] for move in moves] == pytest.approx(problem.deltas(state, moves))


def test_a_best_move_is_the_best_that_undoes_no_recent_one():
    rng = np.random.default_rng(5)
    problem = GraphSearch(RandomScores(5, 5))
    state, recent = problem.start, []
    for _ in range(30):
        moves = [m for m in problem.operators(state) if not any(problem.reverses(m, other) for other in recent[-4:])]
        best = problem.best_operator(state, recent[-4:])
        assert best is not None
        assert best[0] in moves
        assert best[1] == pytest.approx(max(problem.deltas(state, moves) if len(moves) > 2 else [best[1]]))
        recent.append(moves[rng.integers(len(moves))])
        state = problem.apply(state, recent[-1])


def test_an_additive_search_takes_nothing_back():
    problem = GraphSearch(RandomScores(4, 0), only_additions=True)
    state = problem.random_state(np.random.default_rng(2))
    assert {move.kind for move in problem.operators(state)} <= {"add"}
    best = problem.best_operator(state)
    assert best is None or best[0].kind == "add"


def test_knowledge_that_contradicts_itself_is_refused():
    with pytest.raises(InvalidArgument, match="A -> B is both required and forbidden"):
        Knowledge(required="A -> B", forbidden=[("A", "B")])
    refuses(UnknownVariable, "'Z'", Knowledge(required="A -> Z").on, ["A", "B"])
    refuses(InvalidArgument, "against the tiers", Knowledge(required="B -> A", tiers=[["A"], ["B"]]).on, ["A", "B"])
    refuses(InvalidArgument, "two tiers", Knowledge(tiers=[["A"], ["A", "B"]]).on, ["A", "B"])
    with pytest.raises(InvalidArgument, match="2 required parents"):
        Knowledge(required="A -> C; B -> C", max_parents=1).on(["A", "B", "C"])
    with pytest.raises(CyclicGraph):
        Knowledge(required=[("A", "B"), ("B", "C"), ("C", "A")]).on(["A", "B", "C"])
