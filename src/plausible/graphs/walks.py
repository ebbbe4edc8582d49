"""Walks, paths and cycles of a graph, and graphs as matrices over the node order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument, InvalidGraph, TooLarge
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_plain, read_undirected
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.paths import PathRules, simple_paths
from plausible.graphs.undirected import UndirectedGraph

IntMatrix = NDArray[np.int64]


def is_walk(graph: GraphLike[DAG | UndirectedGraph], nodes: Sequence[Node]) -> bool:
    """Whether each step from a node to the next follows an edge, in a DAG along its arrow; nodes may repeat.

    A walk is closed if it ends where it began. Its length is its number of steps.
    """
    graph = read_plain(graph)
    return len(nodes) > 0 and all(graph.has_edge(a, b) for a, b in pairwise(nodes))


def is_path(graph: GraphLike[DAG | UndirectedGraph], nodes: Sequence[Node]) -> bool:
    """Whether this is a walk that visits no node twice.

    >>> graph = DAG("A -> B <- C")
    >>> is_path(graph, ["A", "B", "C"]), is_path(graph.skeleton(), ["A", "B", "C"])
    (False, True)
    """
    return is_walk(graph, nodes) and len(set(nodes)) == len(nodes)


def is_cycle(graph: GraphLike[DAG | UndirectedGraph], nodes: Sequence[Node]) -> bool:
    """Whether this closed walk of three or more steps visits no node twice but the first, which is also the last."""
    return len(nodes) > 3 and nodes[0] == nodes[-1] and is_path(graph, nodes[:-1]) and is_walk(graph, nodes[-2:])


def cycles(graph: GraphLike[UndirectedGraph], limit: int | None = 100) -> Listing[tuple[Node, ...]]:
    """The simple cycles of an undirected graph, each once, as closed walks.

    A cycle is found from the first of its edges: it is a path between the ends of that edge over later edges.
    There can be exponentially many; `limit=None` gives all.

    >>> cycles(UndirectedGraph("A - B - C - A; C - D"))
    [('A', 'C', 'B', 'A')]
    """
    undirected = read_undirected(graph)
    return Listing(lambda: _cycles(undirected), limit)


def _cycles(graph: UndirectedGraph) -> Iterator[tuple[Node, ...]]:
    edges = [(graph.index.position(a), graph.index.position(b)) for a, b in graph.edges]
    rows: list[dict[int, None]] = [dict.fromkeys(row) for row in graph.neighbor_rows]
    nowhere = ((),) * len(rows)
    for a, b in edges:
        del rows[a][b], rows[b][a]
        rules = PathRules(up=tuple(map(tuple, rows)), down=nowhere)
        for path in simple_paths(rules, frozenset([a]), frozenset([b])):
            yield graph.index.names((*path, a))


def adjacency_matrix(graph: GraphLike[DAG | UndirectedGraph]) -> IntMatrix:
    """The 0/1 matrix A with A[i, j] = 1 if an edge leads from node i to node j; symmetric if undirected.

    >>> adjacency_matrix(DAG("A -> B <- C"))
    array([[0, 1, 0],
           [0, 0, 0],
           [0, 1, 0]])
    """
    graph = read_plain(graph)
    matrix = np.zeros((len(graph), len(graph)), dtype=np.int64)
    for i, node in enumerate(graph.nodes):
        for other in graph.neighbors(node):
            matrix[i, graph.index.position(other)] = graph.has_edge(node, other)
    return matrix


def count_walks(graph: GraphLike[DAG | UndirectedGraph], length: int) -> IntMatrix:
    """The number of walks of `length` steps from node i to node j: (A^length)[i, j] for the adjacency matrix A.

    >>> count_walks(UndirectedGraph("A - B - C - A"), 3)
    array([[2, 3, 3],
           [3, 2, 3],
           [3, 3, 2]])
    """
    if length < 0:
        raise InvalidArgument(f"length={length} is negative; a walk has zero or more steps.")
    matrix = adjacency_matrix(graph)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.linalg.matrix_power(matrix.astype(np.float64), length).max(initial=0.0)
    if not largest < 2**62:
        raise TooLarge(f"Some {largest:.1e} walks of {length} steps join two nodes: more than a 64-bit integer counts.")
    return np.linalg.matrix_power(matrix, length)


def clique_matrix(graph: GraphLike[UndirectedGraph], cliques: Iterable[Nodes]) -> IntMatrix:
    """The 0/1 matrix C with C[i, k] = 1 if node i is in clique k; off its diagonal C Cᵀ counts shared cliques.

    >>> clique_matrix(UndirectedGraph("A - B - C - A; C - D"), [["A", "B", "C"], ["C", "D"]])
    array([[1, 0],
           [1, 0],
           [1, 1],
           [0, 1]])
    """
    graph = read_undirected(graph)
    columns = [graph.index.select(clique) for clique in cliques]
    matrix = np.zeros((len(graph), len(columns)), dtype=np.int64)
    for k, column in enumerate(columns):
        for a, b in combinations(graph.index.names(column), 2):
            if not graph.has_edge(a, b):
                raise InvalidGraph(f"Clique {k} is none: no edge joins {a!r} and {b!r}.")
        matrix[column, k] = 1
    return matrix


def incidence_matrix(graph: GraphLike[DAG | UndirectedGraph]) -> IntMatrix:
    """The 0/1 matrix with a one where a node (row) is an end of an edge (column, in the order of `graph.edges`).

    >>> incidence_matrix(UndirectedGraph("A - B - C"))
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """
    graph = read_plain(graph)
    matrix = np.zeros((len(graph), graph.num_edges), dtype=np.int64)
    for k, edge in enumerate(graph.edges):
        matrix[graph.index.select(edge), k] = 1
    return matrix
