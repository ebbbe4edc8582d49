"""Graphs as matrices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from graph_strategies import dags, few, undirected_graphs
from plausible.errors import InvalidArgument, InvalidGraph, TooLarge
from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph
from plausible.graphs.walks import adjacency_matrix, clique_matrix, count_walks, incidence_matrix, is_walk
from refusals import refuses

TRIANGLE = UndirectedGraph("A - B - C - A")


@given(dags(5), undirected_graphs(5))
@few(24)
def test_adjacency_says_where_edges_are(dag, undirected):
    for graph in (dag, undirected):
        matrix = adjacency_matrix(graph)
        assert matrix.shape == (len(graph), len(graph))
        for (i, a), (j, b) in product(enumerate(graph.nodes), repeat=2):
            assert matrix[i, j] == (a != b and graph.has_edge(a, b))
    assert (adjacency_matrix(undirected) == adjacency_matrix(undirected).T).all()
    assert (adjacency_matrix(dag) + adjacency_matrix(dag).T == adjacency_matrix(dag.skeleton())).all()


def test_walks_of_three_steps_in_a_triangle():
    walks = count_walks(TRIANGLE, 3)
    assert (np.diag(walks) == 2).all()
    assert (walks[~np.eye(3, dtype=bool)] == 3).all()


@given(undirected_graphs(4), dags(4))
@few(12)
def test_matrix_powers_count_walks(undirected, dag):
    for graph in (undirected, dag):
        for length in range(4):
            counted = np.zeros((len(graph), len(graph)), dtype=int)
            for walk in product(range(len(graph)), repeat=length + 1):
                counted[walk[0], walk[-1]] += is_walk(graph, [graph.nodes[i] for i in walk])
            assert (count_walks(graph, length) == counted).all()


def test_walk_counts_beyond_64_bits_are_refused():
    assert count_walks(TRIANGLE, 60).max() == (2**60 + 2) // 3
    refuses(TooLarge, "80 steps", count_walks, TRIANGLE, 80)
    with pytest.raises(TooLarge):
        count_walks(TRIANGLE, 10_000)
    assert not count_walks(DAG("A -> B -> C"), 10_000).any()
    refuses(InvalidArgument, "length=-1", count_walks, TRIANGLE, -1)


def test_clique_matrix_has_a_column_for_each_clique():
    graph = UndirectedGraph("A - B - C - A; C - D; E")
    matrix = clique_matrix(graph, [{"A", "B", "C"}, "D", ("C", "D"), []])
    assert matrix.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    refuses(InvalidGraph, "Clique 1 is none: no edge joins 'B' and 'D'", clique_matrix, graph, ["A", ["C", "B", "D"]])


@given(undirected_graphs(6))
@few(24)
def test_edges_as_cliques_give_incidence_and_its_square_gives_adjacency(graph):
    """M Mᵀ = A + diag(degrees) for the incidence matrix M."""
    incidence = incidence_matrix(graph)
    assert (incidence == clique_matrix(graph, graph.edges)).all()
    degrees = np.diag([graph.degree(node) for node in graph.nodes]).reshape(len(graph), len(graph))
    assert (incidence @ incidence.T == adjacency_matrix(graph) + degrees).all()


def test_incidence_of_a_dag_marks_both_ends():
    assert incidence_matrix(DAG("A -> B <- C")).tolist() == [[1, 0], [1, 1], [0, 1]]


# --- and back ---


@given(dags(5))
@few(24)
def test_a_dag_comes_back_from_its_adjacency_matrix(graph):
    matrix = adjacency_matrix(graph)
    assert DAG.from_adjacency(matrix, nodes=graph.nodes) == graph
    assert DAG.from_adjacency(matrix.astype(bool).tolist() or matrix, nodes=graph.nodes) == graph


@given(undirected_graphs(5))
@few(24)
def test_an_undirected_graph_comes_back_from_its_adjacency_matrix(graph):
    assert UndirectedGraph.from_adjacency(adjacency_matrix(graph), nodes=graph.nodes) == graph


def test_nodes_are_numbered_or_named_by_a_data_frame():
    matrix = [[0, 1], [0, 0]]
    assert DAG.from_adjacency(matrix) == DAG([(0, 1)])
    assert DAG.from_adjacency(pd.DataFrame(matrix, index=["A", "B"], columns=["A", "B"])) == DAG("A -> B")


@pytest.mark.parametrize(
    ("matrix", "nodes", "message"),
    [
        ([[0, 1, 0], [0, 0, 1]], None, "square"),
        ([0, 1], None, "square"),
        ([[0, 1], [0, 0]], ["A"], "2 rows"),
        ([[0, 1], [0, 0]], ["A", "A"], "different nodes"),
        ([[0, 0.5], [0, 0]], ["A", "B"], "from 'A' to 'B' is 0.5.*matrix != 0"),
        ([[0, float("nan")], [0, 0]], ["A", "B"], "expected 0 or 1"),
        ([[1, 0], [0, 0]], ["A", "B"], "'A' to itself"),
        ([[0, 1], [1, 0]], ["A", "B"], "cycle"),
        (pd.DataFrame([[0, 1], [0, 0]], index=["A", "B"], columns=["B", "A"]), None, "same order"),
    ],
)
def test_a_matrix_that_is_no_dag_is_refused(matrix, nodes, message):
    refuses(InvalidGraph, message, DAG.from_adjacency, matrix, nodes)


def test_an_undirected_matrix_is_symmetric():
    with pytest.raises(InvalidGraph, match="from 'A' to 'B' but none back"):
        UndirectedGraph.from_adjacency([[0, 1], [0, 0]], nodes=["A", "B"])
