"""Chordality, against the definition on all small graphs and against networkx on larger ones."""

from functools import cache
from itertools import combinations, permutations

import networkx as nx
import pytest

from graph_strategies import small_graphs
from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.chordal import (
    chordless_cycle,
    is_chordal,
    maximum_cardinality_search,
    minimal_triangulation,
    perfect_elimination_order,
    triangulate,
)
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import fill_edges
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses


@cache
def larger_graphs():
    """Random graphs, sparse and dense, some in pieces."""
    return [UndirectedGraph(nx.gnp_random_graph(6 + seed % 15, (1 + seed % 9) / 10, seed=seed)) for seed in range(30)]


@cache
def chordal_graphs():
    """Random graphs completed to chordal ones by networkx."""
    sparse = [nx.gnp_random_graph(5 + seed % 20, 0.15, seed=seed) for seed in range(20)]
    return [UndirectedGraph(nx.complete_to_chordal_graph(graph)[0]) for graph in sparse]


def is_chordless_cycle(graph, cycle):
    """Four or more different nodes, joined exactly where they follow each other."""
    size = len(cycle)
    following = {frozenset((cycle[i], cycle[(i + 1) % size])) for i in range(size)}
    joined = {frozenset(pair) for pair in combinations(cycle, 2) if graph.has_edge(*pair)}
    return size >= 4 and len(set(cycle)) == size and joined == following


def has_chordless_cycle(graph):
    """The definition: try all sequences of four or more nodes."""
    sizes = range(4, len(graph) + 1)
    return any(is_chordless_cycle(graph, sequence) for size in sizes for sequence in permutations(graph.nodes, size))


# --- tests of chordality ---


def test_small_graph_is_chordal_exactly_if_no_sequence_of_nodes_is_a_chordless_cycle():
    answers = [is_chordal(graph) for graph in small_graphs()]
    assert answers == [not has_chordless_cycle(graph) for graph in small_graphs()]
    assert 0 < sum(answers) < len(answers)


def test_chordality_agrees_with_networkx():
    for graph in (*larger_graphs(), *chordal_graphs()):
        assert is_chordal(graph) == nx.is_chordal(graph.to_networkx())


def test_chordless_cycle_is_a_witness_and_is_missing_only_in_chordal_graphs():
    for graph in (*small_graphs(), *larger_graphs(), *chordal_graphs()):
        cycle = chordless_cycle(graph)
        assert (cycle is None) == is_chordal(graph)
        assert cycle is None or is_chordless_cycle(graph, cycle)


def test_chordless_cycle_is_found_among_chordal_parts():
    """A ring of nine that hangs on cliques and shares a node with one of them."""
    ring = nx.cycle_graph(9)
    ring.add_edges_from(combinations([0, 20, 21, 22], 2))
    ring.add_edges_from(combinations([30, 31, 32], 2))
    assert sorted(chordless_cycle(UndirectedGraph(ring))) == list(range(9))


def test_perfect_order_adds_no_edge():
    """Overview 80: if all minimal cycles have length three, an order without fill exists."""
    for graph in (*small_graphs(), *chordal_graphs()):
        if is_chordal(graph):
            order = perfect_elimination_order(graph)
            assert sorted(order) == sorted(graph.nodes)
            assert fill_edges(graph, order) == ()


def test_no_order_of_a_graph_that_is_not_chordal_is_perfect():
    for graph in small_graphs():
        if not is_chordal(graph):
            assert all(fill_edges(graph, order) for order in permutations(graph.nodes))


def test_graph_without_perfect_order_is_refused_with_its_cycle():
    with pytest.raises(InvalidGraph, match=r"not chordal: the cycle (\w - ){4}\w has no chord.*triangulate"):
        perfect_elimination_order(UndirectedGraph("A - B - C - D - A"))


def test_maximum_cardinality_search_always_visits_a_node_with_most_visited_neighbours():
    for graph in larger_graphs():
        visited = []
        for node in maximum_cardinality_search(graph):
            counts = {
                other: len(set(graph.neighbors(other)).intersection(visited))
                for other in graph.nodes
                if other not in visited
            }
            assert counts[node] == max(counts.values())
            visited.append(node)
        assert len(visited) == len(graph)


def test_empty_graph_and_forests_are_chordal():
    assert is_chordal(UndirectedGraph())
    assert perfect_elimination_order(UndirectedGraph()) == ()
    assert is_chordal(UndirectedGraph("A - B; B - C; D; E - F"))


# --- triangulation ---


@pytest.mark.parametrize("heuristic", ["min-fill", "min-neighbors", "weighted-min-fill", "min-weight"])
def test_triangulation_is_chordal_and_keeps_all_edges(heuristic):
    for graph in larger_graphs():
        sizes = {node: 2 + node % 2 for node in graph.nodes}
        chordal = triangulate(graph, heuristic=heuristic, cardinalities=sizes)
        assert nx.is_chordal(chordal.to_networkx())
        assert chordal.nodes == graph.nodes
        assert set(graph.edges) <= set(chordal.edges)


def test_triangulation_follows_a_given_order():
    square = UndirectedGraph("A - B - C - D - A")
    assert triangulate(square, ["A", "B", "C", "D"]) == square.with_edge("B", "D")
    assert triangulate(square, ["B", "A", "C", "D"]) == square.with_edge("A", "C")
    refuses(InvalidArgument, "lacks 'D'", triangulate, square, ["A", "B", "C"])


def test_chordal_graph_is_its_own_triangulation():
    for graph in chordal_graphs():
        assert triangulate(graph) == graph
        assert minimal_triangulation(graph) == graph


def test_dag_is_moralised_before_it_is_triangulated():
    wheel = DAG("A -> B; A -> C; B -> D; C -> E; D -> F; E -> F")
    for chordal in (triangulate(wheel), minimal_triangulation(wheel)):
        assert set(wheel.moralize().edges) <= set(chordal.edges)
        assert nx.is_chordal(chordal.to_networkx())


def test_no_edge_of_a_minimal_triangulation_can_be_taken_away():
    """Rose, Tarjan & Lueker (1976): minimal exactly if no single added edge can go."""
    for graph in (*small_graphs(), *larger_graphs()):
        chordal = minimal_triangulation(graph)
        assert nx.is_chordal(chordal.to_networkx())
        assert set(graph.edges) <= set(chordal.edges)
        for a, b in set(chordal.edges) - set(graph.edges):
            assert not nx.is_chordal(chordal.without_edge(a, b).to_networkx())
