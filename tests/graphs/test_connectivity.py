"""Components, forests, paths, walks, cycles, and graphs as sets."""

from __future__ import annotations

from itertools import pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given

from graph_strategies import dags, few, undirected_graphs
from plausible.errors import CyclicGraph, InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph
from plausible.graphs.walks import cycles, is_cycle, is_path, is_walk
from refusals import refuses

# --- components and forests ---


@given(undirected_graphs(7))
@few(40)
def test_components_and_forest_tests_equal_networkx(graph):
    other = graph.to_networkx()
    assert set(map(frozenset, graph.components)) == set(map(frozenset, nx.connected_components(other)))
    assert [part[0] for part in graph.components] == sorted(part[0] for part in graph.components)
    assert all(list(part) == sorted(part) for part in graph.components)
    assert graph.is_connected == (len(graph) == 0 or nx.is_connected(other))
    assert graph.is_forest == (len(graph) == 0 or nx.is_forest(other))
    assert graph.is_tree == (len(graph) > 0 and nx.is_tree(other))
    assert set(graph.leaves) == {node for node in graph.nodes if other.degree(node) == 1}


@given(dags(7))
@few(40)
def test_dag_components_and_polytree_test_ignore_directions(graph):
    skeleton = graph.skeleton()
    assert graph.components == skeleton.components
    assert graph.is_connected == skeleton.is_connected
    assert graph.is_polytree == skeleton.is_forest
    assert graph.is_rooted_tree == (len(graph) > 0 and nx.is_arborescence(graph.to_networkx()))


def test_polytrees_may_have_several_parents_and_components_but_no_loop():
    assert DAG("A -> C <- B; C -> D; E -> F").is_polytree
    assert not DAG("A -> B -> D; A -> C -> D").is_polytree
    assert not DAG("A -> C <- B").is_rooted_tree
    assert DAG("A -> B; A -> C -> D").is_rooted_tree


def test_the_empty_graph_is_a_connected_forest_without_being_a_tree():
    for graph in (DAG(), UndirectedGraph()):
        assert graph.components == ()
        assert graph.is_connected
        assert graph.is_polytree if isinstance(graph, DAG) else graph.is_forest and not graph.is_tree
    assert UndirectedGraph("A").is_tree
    assert DAG("A").is_rooted_tree
    assert not DAG().is_rooted_tree


# --- paths ---


@given(undirected_graphs(6, min_nodes=2))
@few(24)
def test_undirected_paths_are_all_simple_ones_shortest_first(graph):
    source, target = graph.nodes[0], graph.nodes[-1]
    listed = list(graph.paths(source, target, limit=None))
    assert set(listed) == set(map(tuple, nx.all_simple_paths(graph.to_networkx(), source, target)))
    assert len(set(listed)) == len(listed)
    assert list(map(len, listed)) == sorted(map(len, listed))
    assert all(is_path(graph, path) for path in listed)


@given(dags(7, min_nodes=2))
@few(24)
def test_directed_paths_are_all_those_along_the_arrows_shortest_first(graph):
    source, target = graph.topological_order[0], graph.topological_order[-1]
    listed = list(graph.paths(source, target, limit=None))
    assert set(listed) == set(map(tuple, nx.all_simple_paths(graph.to_networkx(), source, target)))
    assert list(map(len, listed)) == sorted(map(len, listed))
    assert list(graph.paths(target, source)) == []


def test_paths_of_a_complete_graph_stop_at_the_limit():
    graph = UndirectedGraph([(a, b) for a in range(25) for b in range(a)])
    listed = list(graph.paths(0, 1, limit=30))
    assert len(listed) == 30
    assert [len(path) for path in listed] == [2] + [3] * 23 + [4] * 6
    assert list(graph.paths(0, 0)) == [(0,)]
    with pytest.raises(UnknownVariable):
        graph.paths(0, 99)
    with pytest.raises(InvalidArgument):
        graph.paths(0, 1, limit=-2)


# --- walks and cycles ---


def test_walks_paths_and_cycles_are_told_apart():
    square = UndirectedGraph("A - B - C - D - A")
    assert is_walk(square, "ABAB")
    assert not is_path(square, "ABAB")
    assert is_path(square, "ABCD")
    assert is_path(square, "A")
    assert not is_walk(square, "AC")
    assert not is_walk(square, "")
    assert is_cycle(square, "ABCDA")
    assert not is_cycle(square, "ABA")
    assert not is_cycle(square, "ABCD")
    assert not is_cycle(square.without_edge("A", "D"), "ABCDA")
    graph = DAG("A -> B <- C")
    assert is_path(graph, "AB")
    assert not is_path(graph, "BA")


@given(undirected_graphs(5))
@few(24)
def test_all_simple_cycles_are_listed_once(graph):
    def canonical(cycle):
        return frozenset(frozenset(pair) for pair in pairwise(cycle))

    orders = [order for size in range(3, 6) for order in permutations(graph.nodes, size)]
    expected = {canonical((*order, order[0])) for order in orders if is_cycle(graph, (*order, order[0]))}
    listed = list(cycles(graph, limit=None))
    assert all(is_cycle(graph, cycle) for cycle in listed)
    assert len(listed) == len(expected)
    assert set(map(canonical, listed)) == expected
    assert graph.is_forest == (not listed)


def test_cycles_stop_at_the_limit():
    graph = UndirectedGraph([(a, b) for a in range(20) for b in range(a)])
    assert len(list(cycles(graph, limit=9))) == 9


# --- graphs as sets ---


@given(dags(5), dags(5))
@few(32)
def test_union_intersection_and_inclusion_are_those_of_nodes_and_edges(first, second):
    both = first.intersection(second)
    assert set(both.nodes) == set(first.nodes) & set(second.nodes)
    assert set(both.edges) == set(first.edges) & set(second.edges)
    assert both.is_subgraph(first)
    assert both.is_subgraph(second)
    included = set(first.nodes) <= set(second.nodes) and set(first.edges) <= set(second.edges)
    assert first.is_subgraph(second) == included
    merged = nx.compose(first.to_networkx(), second.to_networkx())
    if nx.is_directed_acyclic_graph(merged):
        assert first.union(second) == DAG(merged)
    else:
        with pytest.raises(CyclicGraph):
            first.union(second)


@given(undirected_graphs(5), undirected_graphs(5))
@few(24)
def test_undirected_union_intersection_and_inclusion(first, second):
    def edges(graph):
        return set(map(frozenset, graph.edges))

    assert edges(first.union(second)) == edges(first) | edges(second)
    assert set(first.union(second).nodes) == set(first.nodes) | set(second.nodes)
    assert edges(first.intersection(second)) == edges(first) & edges(second)
    assert first.is_subgraph(second) == (set(first.nodes) <= set(second.nodes) and edges(first) <= edges(second))


def test_graphs_of_different_kinds_are_not_mixed():
    refuses(NotSupported, "DAG and a UndirectedGraph", DAG("A -> B").union, UndirectedGraph("A - B"))
