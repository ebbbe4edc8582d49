"""Graphs with any marks, m-separation in them, and partially directed acyclic graphs."""

from __future__ import annotations

from typing import final

from plausible.base import own_methods
from plausible.errors import CyclicGraph, NotSupported
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.marks import Mark, walk_reach
from plausible.graphs.nodes import Node, Nodes


class SeparationGraph(MarkedGraph):
    """A marked graph whose paths say what is independent of what."""

    __slots__ = ()

    def m_separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether no path between `x` and `y` is active given `given`.

        A path is active if each inner node with two arrowheads of the path (a collider) is in `given` or has a
        descendant there, and no other inner node is in `given`. Nodes of `x` and `y` that are also in `given` are
        ignored. In a graph with edges `->` only this is d-separation. Linear in the edges.

        Richardson (2003), Markov properties for acyclic directed mixed graphs, Scandinavian Journal of Statistics 30.
        """
        observed = set(self._index.select(given))
        starts = set(self._index.select(x)) - observed
        targets = set(self._index.select(y)) - observed
        is_observed = [node in observed for node in range(len(self._index))]
        # A walk passes a collider with an observed descendant by going down to that one and back.
        reached = walk_reach(self._incident, starts, is_observed, [not seen for seen in is_observed])
        return not targets & (starts | reached)

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The nodes that paths with colliders only join to `node`: given these, it is independent of the rest.

        With edges `->` and `<->` this is the district of the node and of its children, and the parents of all these.
        For a node without children it is its district and the district's parents. In a DAG it is the usual blanket.
        """
        center = self._index.position(node)
        size = len(self._index)
        reached = walk_reach(self._incident, [center], [True] * size, [False] * size)
        return self._index.names(sorted(reached - {center}))


@final
@own_methods
class MixedGraph(SeparationGraph):
    """A graph with any kinds of edges; two nodes may be joined by several edges with different marks.

    Parameters
    ----------
    edges
        Arrow text (`"A -> B <-> C; D - E; F o-> G"`), `Edge` records, triples `(a, "<->", b)` or pairs
        `(parent, child)`, another graph, a model that has one, or a networkx graph. In networkx an edge attribute
        `marks` holds the edge as written from the first node to the second, such as `"<->"`; without it edges are `->`
        in a digraph and `-` in an undirected graph. Two edges between one pair need a `MultiDiGraph`.
    nodes
        Nodes that come first in the node order; the way to add nodes without edges.

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


@final
@own_methods
class PDAG(MarkedGraph):
    """A partially directed acyclic graph: edges `->` and `-`, at most one per pair of nodes, no directed cycle.

    It represents the DAGs you get by directing every edge `-` without creating a cycle or a new immorality. It is made
    as a `MixedGraph` is.

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
