"""Spanning trees and forests."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import undirected_graphs
from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.spanning import (
    maximum_spanning_forest,
    maximum_spanning_tree,
    minimum_spanning_forest,
    minimum_spanning_tree,
)
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

WEIGHTS = {("A", "B"): 4, ("A", "C"): 8, ("B", "C"): 11, ("B", "D"): 8, ("C", "D"): 7, ("C", "E"): 1, ("D", "E"): 2}
GRAPH = UndirectedGraph(WEIGHTS)


def test_the_worked_maximum_tree_has_weight_29():
    tree = maximum_spanning_tree(GRAPH, WEIGHTS)
    assert tree.graph == UndirectedGraph("A - C - B - D - E")
    assert tree.weight == 29


def test_the_minimum_tree_of_the_same_graph_has_weight_15():
    """AC and BD tie at 8; the first edge wins."""
    tree = minimum_spanning_tree(GRAPH, WEIGHTS)
    assert tree.graph == UndirectedGraph("B - A - C - E - D")
    assert tree.weight == 15


@given(undirected_graphs(5), st.data())
@settings(max_examples=32, deadline=None)
def test_forests_are_the_best_of_all_spanning_forests(graph, data):
    """Over all edge subsets that connect the same nodes without a cycle; weights negative, zero and tied."""
    weights = {edge: data.draw(st.integers(-2, 2)) for edge in graph.edges}
    size = len(graph) - len(graph.components)
    forests = [
        sum(weights[edge] for edge in edges)
        for edges in combinations(graph.edges, size)
        if UndirectedGraph(edges, nodes=graph.nodes).is_forest
    ]
    for spanning, best in ((maximum_spanning_forest, max), (minimum_spanning_forest, min)):
        forest = spanning(graph, weights)
        assert forest.graph.nodes == graph.nodes
        assert forest.graph.is_forest
        assert forest.graph.is_subgraph(graph)
        assert forest.graph.components == graph.components
        assert forest.weight == sum(weights[edge] for edge in forest.graph.edges) == best(forests)


def test_ties_fall_to_the_first_edge():
    graph = UndirectedGraph("A - B - C - D - A; B - D; A - C")
    for spanning in (maximum_spanning_tree, minimum_spanning_tree):
        assert spanning(graph, lambda a, b: 1.0).graph.edges == (("A", "B"), ("A", "C"), ("A", "D"))


def test_weights_may_be_turned_round_or_a_function():
    turned = {(b, a): weight for (a, b), weight in WEIGHTS.items()}
    by_function = maximum_spanning_tree(GRAPH, lambda a, b: WEIGHTS[min(a, b), max(a, b)])
    assert maximum_spanning_tree(GRAPH, turned) == by_function == maximum_spanning_tree(GRAPH, WEIGHTS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "'A' - 'B' has no weight"),
        ({("A", "B"): 1, ("B", "A"): 2}, "different weights"),
        ({("A", "B"): float("nan")}, "NaN"),
    ],
)
def test_missing_contradicting_and_nan_weights_are_refused(weights, message):
    refuses(InvalidArgument, message, maximum_spanning_tree, UndirectedGraph("A - B"), weights)


def test_a_disconnected_graph_has_a_forest_but_no_tree():
    graph = UndirectedGraph("A - B; C")
    refuses(InvalidGraph, "nothing joins 'A' and 'C'", minimum_spanning_tree, graph, {("A", "B"): 1})
    assert minimum_spanning_forest(graph, {("A", "B"): 1}).weight == 1
    assert maximum_spanning_forest(UndirectedGraph(), {}).weight == 0
