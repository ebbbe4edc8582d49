"""Chordal graphs of bounded treewidth: moves, scores and optima against networkx and tables of the whole joint."""

import functools
import itertools
import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.data.table_statistics import TableStatistics
from plausible.learn.undirected_structures.chordal import ChordalSearch
from plausible.learn.undirected_structures.task import Task
from plausible.search.run import Stops


def coupled_rows(seed, num_rows=300, names="ABCD", num_states=2):
    """Rows in which each variable copies one before it or another, as often as not."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(num_states, size=num_rows)]
    while len(columns) < len(names):
        copied = columns[rng.integers(len(columns))]
        columns.append(np.where(rng.random(num_rows) < 0.5, copied, rng.integers(num_states, size=num_rows)))
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def chordal_graphs(names, max_treewidth):
    """All chordal graphs whose cliques have at most one node more, by networkx."""
    pairs = list(itertools.combinations(names, 2))
    for size in range(len(pairs) + 1):
        for edges in itertools.combinations(pairs, size):
            graph = nx.Graph(edges)
            graph.add_nodes_from(names)
            if nx.is_chordal(graph) and max(map(len, nx.find_cliques(graph))) <= max_treewidth + 1:
                yield graph


all_chordal_graphs = functools.cache(lambda names, max_treewidth: tuple(chordal_graphs(names, max_treewidth)))


def bic_of(frame, graph, num_states):
    """Of free tables on the cliques: fitted to the whole joint by proportional fitting, weights counted by ranks."""
    names, cliques = list(frame), list(nx.find_cliques(graph))
    counts = np.zeros([num_states] * len(names))
    np.add.at(counts, tuple(frame.to_numpy().T), 1)
    model = np.full(counts.shape, 1 / counts.size)
    for _ in range(30):
        for clique in cliques:
            others = tuple(axis for axis, name in enumerate(names) if name not in clique)
            wanted, had = (table.sum(others, keepdims=True) for table in (counts / counts.sum(), model))
            model = model * np.divide(wanted, had, out=np.zeros_like(wanted), where=had > 0)
    faces = {frozenset(face) for one in cliques for size in range(1, 9) for face in itertools.combinations(one, size)}
    free = sum((num_states - 1) ** len(face) for face in faces)
    live = counts > 0
    return float((counts[live] * np.log(model[live])).sum()) - 0.5 * free * math.log(len(frame))


@pytest.mark.parametrize("num_states", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_bic_and_no_chordal_graph_has_a_better_one(seed, num_states):
    """Over all chordal graphs of four variables and treewidth two: their BIC, and the best of them."""
    frame = coupled_rows(seed, num_states=num_states)
    found = pb.learn.markov_structure(frame, "chordal", max_treewidth=2)
    empty = bic_of(frame, nx.empty_graph("ABCD"), num_states)
    best = max(bic_of(frame, graph, num_states) for graph in chordal_graphs("ABCD", 2))
    assert found.score == pytest.approx(best - empty, abs=1e-8)
    assert found.fit.bic() == pytest.approx(best, abs=1e-8)
    assert found.fit.num_steps == 0
    assert list(found.trace) == sorted(found.trace)


def test_with_treewidth_one_it_is_the_tree_of_greatest_likelihood():
    """Chow and Liu's, by a spanning tree of mutual informations."""
    for seed in range(5):
        frame = coupled_rows(seed, names="ABCDEFG")
        tree, found = (
            pb.learn.markov_structure(frame, method, score="likelihood", **options)
            for method, options in (("chow-liu", {}), ("chordal", {"max_treewidth": 1}))
        )
        assert found.graph == tree.graph
        assert found.score == pytest.approx(tree.score, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_moves_are_all_edges_that_leave_the_graph_chordal(seed):
    """Edges that may be added, and that may be taken away, are those that networkx finds by trying each."""
    rng, names = np.random.default_rng(seed), "ABCDEF"
    graphs = all_chordal_graphs(names[:5], 3)
    graph = nx.Graph(graphs[rng.integers(len(graphs))])
    graph.add_node("F")
    frame = coupled_rows(seed, 20, names)
    task = Task.read(frame, None, (), (), Stops())
    pairs = frozenset(map(frozenset, itertools.combinations(names, 2)))
    search = ChordalSearch(task, 2, True, pairs)
    edges = frozenset(map(frozenset, graph.edges))
    near = search.neighbours(edges)

    def is_chordal_with(changed, width):
        made = nx.Graph([tuple(pair) for pair in edges ^ {changed}])
        made.add_nodes_from(names)
        return nx.is_chordal(made) and (width is None or all(len(c) <= width + 1 for c in nx.find_cliques(made)))

    is_narrow = all(len(clique) <= 3 for clique in nx.find_cliques(graph))
    if is_narrow:
        wanted = {pair for pair in pairs - edges if is_chordal_with(pair, 2)}
        assert {move.pair for move in search.joins(edges, near)} == wanted
    assert {move.pair for move in search.cuts(edges, near)} == {p for p in edges if is_chordal_with(p, None)}


def test_edges_that_turn_out_needless_are_taken_away():
    """D tells A and B apart from all else: the edge A - B came in first, and goes once both have their edge to D."""
    rng = np.random.default_rng(3)
    hidden = rng.integers(4, size=4000)
    frame = pd.DataFrame({"A": hidden // 2 + 2 * (rng.random(4000) < 0.02), "B": hidden % 2, "D": hidden})
    frame["A"] %= 2
    found = pb.learn.markov_structure(frame, "chordal")
    assert {frozenset(edge) for edge in found.graph.edges} == {frozenset("AD"), frozenset("BD")}
    begun = pb.learn.markov_structure(frame, "chordal", required="A - B")
    assert begun.graph.is_adjacent("A", "B")
    assert begun.score < found.score


def test_what_chordal_searches_refuse():
    """Required edges that no such graph has are named; so are options."""
    frame = coupled_rows(0)
    with pytest.raises(pb.errors.InvalidArgument, match="without a chord"):
        pb.learn.markov_structure(frame, "chordal", required="A - B - C - D - A")
    with pytest.raises(pb.errors.InvalidArgument, match="treewidth 2"):
        pb.learn.markov_structure(frame, "chordal", required="A - B - C - A", max_treewidth=1)
    with pytest.raises(pb.errors.InvalidArgument, match="score="):
        pb.learn.markov_structure(frame, "chordal", score="ebic")
    none = pb.learn.markov_structure(frame, "chordal", max_treewidth=0)
    assert none.graph.num_edges == 0
    every = pb.learn.markov_structure(frame, "chordal", score="likelihood", max_treewidth=3)
    assert every.fit.log_likelihood == pytest.approx(pb.learn.markov([list("ABCD")], frame).log_likelihood, abs=1e-9)
    statistics = TableStatistics(frame)
    assert pb.learn.markov_structure(statistics, "chordal").graph == pb.learn.markov_structure(frame, "chordal").graph
