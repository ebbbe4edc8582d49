"""Graphs with any marks."""

from __future__ import annotations

from typing import final

from plausible.base.method_names import own_methods
from plausible.errors import CyclicGraph, NotSupported
from plausible.graphs.m_separation import SeparationGraph
from plausible.graphs.marks import Mark
from plausible.graphs.nodes import Node, Nodes

__all__ = ["MixedGraph"]


@final
@own_methods
class MixedGraph(SeparationGraph):
    """A graph with any kinds of edges; two nodes may be joined by several edges with different marks.

    Parameters
    ----------
    edges
        A string of edges such as "A -> B <-> C", `Edge` records or triples `(a, "->", b)`, a networkx graph, or any
        graph of this package.
    nodes
        Nodes that come first in the node order. Use this to add nodes without edges.

    Examples
    --------
    >>> graph = MixedGraph("A -> B <-> C; D - E; F o-> A")
    >>> graph.siblings("C")
    ('B',)
    >>> graph.edges_between("A", "F")
    (Edge.of('A', '<-o', 'F'),)
    >>> graph.without_incoming("B")
    MixedGraph('D - E; F o-> A; B; C')
    """

    __slots__ = ()

    def _check(self) -> None:
        """Everything is allowed."""

    def m_separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether no path between `x` and `y` is active given `given`.

        See `CausalGraph.m_separated`. It needs marks that are known, and no undirected edge may meet an arrowhead,
        since kinds of graphs differ in what they mean by that. Nor may edges `->` form a cycle: with feedback, nodes
        that are separated can depend on each other (Spirtes 1995).
        """
        self._refuse_unclear()
        return super().m_separated(x, y, given)

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The nodes that paths with colliders only join to `node`; see `CausalGraph.markov_blanket`."""
        self._refuse_unclear()
        return super().markov_blanket(node)

    def _refuse_unclear(self) -> None:
        try:
            self.directed_part()
        except CyclicGraph as error:
            path = " -> ".join(map(str, (*error.cycle, error.cycle[0])))
            raise NotSupported(
                f"m-separation says nothing about a graph with the directed cycle {path}: with feedback, nodes that "
                "are separated can depend on each other."
            ) from None
        pointed_at = {end for edge in self.edges for end in edge.ends if edge.mark_at(end) is Mark.ARROW}
        for edge in self.edges:
            if Mark.CIRCLE in (edge.left_mark, edge.right_mark):
                raise NotSupported(f"m-separation needs tails and arrowheads, but '{edge}' has a circle.")
            met = [end for end in edge.ends if edge.is_undirected and end in pointed_at]
            if met:
                raise NotSupported(
                    f"m-separation is not defined here: the undirected edge '{edge}' meets an arrowhead at {met[0]!r}. "
                    "For a PDAG, ask a DAG of its class: consistent_extension(graph).d_separated(...)."
                )
