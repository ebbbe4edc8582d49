"""How the parts of a graph hang together: components, forests, walks and cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Protocol

from plausible.graphs.nodes import Node
from plausible.graphs.paths import PathRules, checked_limit, simple_paths

if TYPE_CHECKING:
    from plausible.graphs.undirected import UndirectedGraph

__all__ = [
    "Linked",
    "components",
    "cycles",
    "is_connected",
    "is_cycle",
    "is_forest",
    "is_path",
    "is_tree",
    "is_walk",
]


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

    def has_edge(self, a: Node, b: Node, /) -> bool:
        """Whether one step leads from `a` to `b`."""


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


def is_walk(graph: Linked, nodes: Sequence[Node]) -> bool:
    """Whether each step from a node to the next follows an edge, in a DAG along its arrow; nodes may repeat.

    A walk is closed if it ends where it began. Its length is its number of steps.
    """
    return len(nodes) > 0 and all(graph.has_edge(a, b) for a, b in pairwise(nodes))


def is_path(graph: Linked, nodes: Sequence[Node]) -> bool:
    """Whether this is a walk that visits no node twice.

    >>> from plausible.graphs.dag import DAG
    >>> graph = DAG("A -> B <- C")
    >>> is_path(graph, ["A", "B", "C"]), is_path(graph.skeleton(), ["A", "B", "C"])
    (False, True)
    """
    return is_walk(graph, nodes) and len(set(nodes)) == len(nodes)


def is_cycle(graph: Linked, nodes: Sequence[Node]) -> bool:
    """Whether this closed walk of three or more steps visits no node twice but the first, which is also the last."""
    return len(nodes) > 3 and nodes[0] == nodes[-1] and is_path(graph, nodes[:-1]) and is_walk(graph, nodes[-2:])


def cycles(graph: UndirectedGraph, limit: int | None = 100) -> Iterator[tuple[Node, ...]]:
    """The simple cycles of an undirected graph, each once, as closed walks.

    A cycle is found from the first of its edges: it is a path between the ends of that edge over later edges.

    Parameters
    ----------
    graph
        The graph.
    limit
        Stop after this many; `None` for all, of which there can be exponentially many.

    Examples
    --------
    >>> from plausible.graphs.undirected import UndirectedGraph
    >>> list(cycles(UndirectedGraph("A - B - C - A; C - D")))
    [('A', 'C', 'B', 'A')]
    """
    return islice(_cycles(graph), checked_limit(limit))


def _cycles(graph: UndirectedGraph) -> Iterator[tuple[Node, ...]]:
    edges = [(graph.index.position(a), graph.index.position(b)) for a, b in graph.edges]
    rows: list[dict[int, None]] = [dict.fromkeys(row) for row in graph.neighbor_rows]
    nowhere = ((),) * len(rows)
    for a, b in edges:
        del rows[a][b], rows[b][a]
        rules = PathRules(up=tuple(map(tuple, rows)), down=nowhere)
        for path in simple_paths(rules, frozenset([a]), frozenset([b])):
            yield graph.index.names((*path, a))
