"""Graphs as Graphviz text, and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from plausible.base.display import html_page
from plausible.errors import counted
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.nodes import Node

#: So many characters of a graph's text are shown in a notebook.
_MAX_SHOWN = 4000

_HEADS = {Mark.ARROW: "normal", Mark.CIRCLE: "odot", Mark.TAIL: "none"}


def graph_dot(nodes: Iterable[Node], edges: Iterable[Edge]) -> str:
    """A graph in Graphviz' DOT language: `<->` is dashed with two heads, a circle is an open dot.

    Draw it with `dot -Tsvg`.

    Examples
    --------
    >>> print(graph_dot("ABC", [Edge.of("A", "->", "B"), Edge.of("A", "<->", "B"), Edge.of("C", "o->", "B")]))
    digraph {
      "A";
      "B";
      "C";
      "A" -> "B";
      "A" -> "B" [dir=both, arrowtail=normal, arrowhead=normal, style=dashed];
      "C" -> "B" [dir=both, arrowtail=odot, arrowhead=normal];
    }
    """
    shown = [f"  {_quoted(node)};" for node in nodes]
    arrows = [f"  {_quoted(edge.left)} -> {_quoted(edge.right)}{_style(edge)};" for edge in edges]
    return "\n".join(["digraph {", *shown, *arrows, "}"])


def _style(edge: Edge) -> str:
    if edge.is_directed and edge.right_mark is Mark.ARROW:
        return ""
    if edge.is_undirected:
        return " [dir=none]"
    dashed = ", style=dashed" if edge.is_bidirected else ""
    return f" [dir=both, arrowtail={_HEADS[edge.left_mark]}, arrowhead={_HEADS[edge.right_mark]}{dashed}]"


def _quoted(node: Node) -> str:
    """A node as a DOT identifier."""
    escaped = str(node).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Graph(Protocol):
    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int: ...


def graph_html(graph: _Graph) -> str:
    """The size of a graph and its arrow text as HTML; the end of a long text is left out."""
    text = str(graph)
    shown = text if len(text) <= _MAX_SHOWN else f"{text[: text.rindex(';', 0, _MAX_SHOWN)]}; ..."
    size = f"{type(graph).__name__}: {counted(graph.num_nodes, 'node')}, {counted(graph.num_edges, 'edge')}"
    return html_page(size, shown)
