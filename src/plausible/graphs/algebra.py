"""Graphs as sets of nodes and edges: union, intersection and inclusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from plausible.errors import NotSupported

if TYPE_CHECKING:
    from plausible.graphs.plain import PlainGraph

__all__ = ["intersection", "is_subgraph", "union"]

Graph = TypeVar("Graph", bound="PlainGraph")


def union(first: Graph, second: Graph) -> Graph:
    """The nodes and edges of either graph; a directed cycle is refused.

    >>> from plausible.graphs.dag import DAG
    >>> union(DAG("A -> B"), DAG("B -> C; D"))
    DAG('A -> B; B -> C; D')
    """
    _refuse_mixture(first, second)
    return type(first)((*first.edges, *second.edges), nodes=(*first.nodes, *second.nodes))


def intersection(first: Graph, second: Graph) -> Graph:
    """The nodes and edges that both graphs have.

    >>> from plausible.graphs.undirected import UndirectedGraph
    >>> intersection(UndirectedGraph("A - B - C"), UndirectedGraph("C - B; A - D"))
    UndirectedGraph('B - C; A')
    """
    _refuse_mixture(first, second)
    common = [node for node in first.nodes if node in second]
    edges = [(a, b) for a, b in first.edges if a in second and b in second and second.has_edge(a, b)]
    return type(first)(edges, nodes=common)


def is_subgraph(part: Graph, whole: Graph) -> bool:
    """Whether the second graph has all nodes and all edges of the first."""
    _refuse_mixture(part, whole)
    return all(node in whole for node in part.nodes) and all(whole.has_edge(a, b) for a, b in part.edges)


def _refuse_mixture(first: object, second: object) -> None:
    if type(first) is not type(second):
        raise NotSupported(
            f"A {type(first).__name__} and a {type(second).__name__} have different kinds of edges. "
            "Bring them to one kind first, such as with .skeleton()."
        )
