"""How the parts of a graph hang together: components, forests and trees."""

from __future__ import annotations

from typing import Protocol

from plausible.graphs.nodes import Node

__all__ = ["Linked", "components", "is_connected", "is_forest", "is_tree"]


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
