"""How the parts of a graph hang together: components, forests and trees."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Protocol

from plausible.errors import CyclicGraph
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.separation import Rows


class Linked(Protocol):
    """What these functions ask of a graph, of whatever kind."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in order."""

    @property
    def num_edges(self) -> int:
        """The number of edges."""

    def neighbors(self, node: Node, /) -> tuple[Node, ...]:
        """The nodes that an edge joins to this one, in either direction."""


def components(graph: Linked) -> tuple[tuple[Node, ...], ...]:
    """The connected components, directions ignored; ordered, and each inside, by the node order. Linear.

    >>> from plausible.graphs.dag import DAG
    >>> components(DAG("A -> C; B -> D <- E"))
    (('A', 'C'), ('B', 'D', 'E'))
    """
    number: dict[Node, int] = {}
    members: list[list[Node]] = []
    for root in graph.nodes:
        if root not in number:
            number[root] = len(members)
            members.append([])
            frontier = [root]
            while frontier:
                fresh = [node for node in graph.neighbors(frontier.pop()) if node not in number]
                number.update(dict.fromkeys(fresh, number[root]))
                frontier.extend(fresh)
        members[number[root]].append(root)
    return tuple(map(tuple, members))


def is_connected(graph: Linked) -> bool:
    """Whether a path, directions ignored, joins every two nodes; so it is in a graph without nodes."""
    return len(components(graph)) <= 1


def is_forest(graph: Linked) -> bool:
    """Whether at most one path, directions ignored, joins every two nodes: there is no cycle.

    >>> from plausible.graphs.undirected import UndirectedGraph
    >>> is_forest(UndirectedGraph("A - B - C; D")), is_forest(UndirectedGraph("A - B - C - A"))
    (True, False)
    """
    return graph.num_edges == len(graph.nodes) - len(components(graph))


def is_tree(graph: Linked) -> bool:
    """Whether exactly one path, directions ignored, joins every two nodes; a graph without nodes is no tree."""
    return len(components(graph)) == 1 and graph.num_edges == len(graph.nodes) - 1


def topological_order(index: NodeIndex, parents: Rows, children: Rows) -> tuple[int, ...]:
    """Kahn's algorithm (Koller & Friedman 2009, algorithm A.1); a cycle is reported by its nodes."""
    waiting = [len(row) for row in parents]
    ready = [node for node, count in enumerate(waiting) if not count]  # increasing, hence a heap
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    if len(order) < len(index):
        raise CyclicGraph(index.names(_find_cycle(waiting, parents)))
    return tuple(order)


def _find_cycle(waiting: list[int], parents: Rows) -> list[int]:
    """Walk backwards among the nodes that never became ready until one comes round again."""
    node = next(node for node, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in parents[node] if waiting[parent])
    return path[seen[node] :][::-1]
