"""Partially directed acyclic graphs."""

from __future__ import annotations

from typing import final

from plausible.base.method_names import own_methods
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.nodes import Node

__all__ = ["PDAG"]


@final
@own_methods
class PDAG(MarkedGraph):
    """A partially directed acyclic graph: edges `->` and `-`, at most one per pair of nodes, no directed cycle.

    It represents the DAGs you get by directing every edge `-` without creating a cycle or a new immorality.

    Parameters
    ----------
    edges
        A string of edges such as "A -> B - C", `Edge` records or triples `(a, "-", b)`, a networkx graph, or any graph
        of this package.
    nodes
        Nodes that come first in the node order. Use this to add nodes without edges.

    Examples
    --------
    >>> graph = PDAG("D -> G <- I - S; G -> L")
    >>> graph.undirected_edges
    (('I', 'S'),)
    >>> graph.with_direction("I", "S").directed_edges
    (('D', 'G'), ('I', 'G'), ('G', 'L'), ('I', 'S'))
    """

    __slots__ = ()

    def _check(self) -> None:
        self._allow_only("->", "-")
        self._allow_one_edge_per_pair()
        self.directed_part()

    @property
    def directed_edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges `->` as pairs `(parent, child)`."""
        return tuple(edge.ends for edge in self.edges if edge.is_directed)

    @property
    def undirected_edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges `-` as pairs of nodes."""
        return tuple(edge.ends for edge in self.edges if edge.is_undirected)

    def with_direction(self, source: Node, target: Node) -> PDAG:
        """This graph with its edge `source - target` directed from `source` to `target`."""
        return self.without_edge(source, target, "-").with_edge(source, target)
