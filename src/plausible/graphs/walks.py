"""Walks, paths and cycles of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_plain, read_undirected
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node
from plausible.graphs.paths import PathRules, simple_paths
from plausible.graphs.undirected import UndirectedGraph


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
