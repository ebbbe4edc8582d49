"""What all graphs share: their nodes, equality, and how they are shown: as arrow text, as HTML, as Graphviz text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from plausible.base import GRAPH_HINTS, Hinted, html_of, html_with_picture, picture_by, shown
from plausible.errors import counted
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.text import dot_quoted, quote

if TYPE_CHECKING:
    from plausible.base.pictured import Picture

#: So many characters of a graph's text are shown in a notebook.
_MAX_SHOWN = 4000
#: Graphs with more edges are shown by their size.
_MAX_EDGES = 12

_HEADS = {Mark.ARROW: "normal", Mark.CIRCLE: "odot", Mark.TAIL: "none"}


class BaseGraph(Hinted, ABC):
    """Nodes in order, and edges between them: an immutable value; edits return new graphs of the same kind."""

    __slots__ = ("_index",)

    _hints = GRAPH_HINTS

    #: How edges are written in text, "->" or "-", where all are of one kind.
    _symbol: ClassVar[str | None] = None

    _index: NodeIndex

    @abstractmethod
    def __init__(self, edges: str | Iterable[Any] = (), nodes: Iterable[Node] = ()) -> None:
        """From edges, and nodes that come first in the node order."""

    @property
    @abstractmethod
    def edges(self) -> tuple[Any, ...]:
        """The edges."""

    @property
    @abstractmethod
    def num_edges(self) -> int:
        """The number of edges."""

    @abstractmethod
    def _triples(self) -> list[tuple[Node, str, Node]]:
        """The edges as they are written: left node, symbol, right node."""

    @property
    def marked_edges(self) -> tuple[Edge, ...]:
        """The edges with the mark at each end, whatever the kind of graph.

        >>> from plausible.graphs import DAG
        >>> DAG("A -> B").marked_edges
        (Edge.of('A', '->', 'B'),)
        """
        return tuple(Edge.of(*triple) for triple in self._triples())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in the order given."""
        return self._index.nodes

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, node: object) -> bool:
        return node in self._index

    @abstractmethod
    def subgraph(self, nodes: Nodes) -> Self:
        """The induced subgraph, in this graph's node order."""

    def with_node(self, node: Node) -> Self:
        """This graph and one more node."""
        return type(self)(self.edges, nodes=(*self.nodes, node))

    def without_node(self, node: Node) -> Self:
        """This graph without a node and its edges."""
        self._index.position(node)
        return self.subgraph([other for other in self.nodes if other != node])

    def _edge_set(self) -> frozenset[Any]:
        """The edges, equal where the graphs are."""
        return frozenset(self.edges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseGraph) or type(self) is not type(other):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and self._edge_set() == other._edge_set()

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.nodes), self._edge_set()))

    def __str__(self) -> str:
        """Arrow text for the edges, followed by the nodes that no edge touches."""
        edges = self._triples()
        touched = {node for left, _, right in edges for node in (left, right)}
        statements = [f"{quote(left)} {edge} {quote(right)}" for left, edge, right in edges]
        return "; ".join([*statements, *(quote(node) for node in self.nodes if node not in touched)])

    def __repr__(self) -> str:
        if self.num_edges > _MAX_EDGES:
            return f"<{self._size()}>"
        if all(isinstance(node, str) for node in self.nodes):
            return f"{type(self).__name__}({str(self)!r})"
        edges = self.edges if self._symbol else self._triples()
        return f"{type(self).__name__}([{', '.join(map(shown, edges))}], nodes={shown(list(self.nodes))})"

    def _repr_html_(self) -> str:
        """The picture of a graph, its size, and its arrow text; the end of a long text is left out."""
        text = str(self)
        short = text if len(text) <= _MAX_SHOWN else f"{text[: text.rindex(';', 0, _MAX_SHOWN)]}; ..."
        return html_with_picture(self.picture(), self._size(), html_of(short))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def _size(self) -> str:
        return f"{type(self).__name__}: {counted(len(self), 'node')}, {counted(self.num_edges, 'edge')}"

    def picture(
        self,
        highlight: Any = None,
        *,
        focus: Any = "auto",
        strengths: Any = None,
        groups: Mapping[str, Nodes] | None = None,
    ) -> Picture:
        """The picture of this graph: a notebook shows it, `save("graph.svg")` writes it.

        Arrows go down; `<->` is dashed, a circle is an open dot.

        Parameters
        ----------
        highlight
            What to bring out: a trail, such as one of `active_trails`, or a node or several, such as a Markov blanket.
        focus
            A node or several: only what is around them is shown, and what is hidden counted. By default all of a graph
            of up to 60 nodes, and of larger ones what is around the highlight or the busiest node; `None` for all.
        strengths
            How wide edges are drawn: `{(parent, child): number}`, or the strengths of a bootstrap.
        groups
            What stands together in a frame with a name: `{name: [node, ...]}`.

        Examples
        --------
        >>> from plausible.graphs import DAG
        >>> print(DAG("D -> G <- I -> S; G -> L").picture(highlight=["D", "I"]))
        5 nodes, 4 edges
        D
        G
        I
        S
        L
        """
        return picture_by("picture_of_graph", self, highlight, focus, strengths, groups=groups)

    def to_dot(self) -> str:
        """This graph in Graphviz' DOT language: `<->` is dashed with two heads, a circle is an open dot.

        Draw it with `dot -Tsvg`.
        """
        nodes = [f"  {dot_quoted(node)};" for node in self.nodes]
        arrows = [f"  {dot_quoted(edge.left)} -> {dot_quoted(edge.right)}{_style(edge)};" for edge in self.marked_edges]
        return "\n".join(["digraph {", *nodes, *arrows, "}"])


def _style(edge: Edge) -> str:
    if edge.is_directed and edge.right_mark is Mark.ARROW:
        return ""
    if edge.is_undirected:
        return " [dir=none]"
    dashed = ", style=dashed" if edge.is_bidirected else ""
    return f" [dir=both, arrowtail={_HEADS[edge.left_mark]}, arrowhead={_HEADS[edge.right_mark]}{dashed}]"
