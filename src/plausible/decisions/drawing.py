"""Influence diagrams as Graphviz text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plausible.decisions.structure.recall import without_recall_edges

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["diagram_dot"]


def diagram_dot(diagram: InfluenceDiagram, hide_recall: bool = False) -> str:
    """The diagram in Graphviz' DOT language: ovals for chance, boxes for decisions, diamonds for utilities.

    Information edges are dashed. Draw it with `dot -Tsvg`.

    Parameters
    ----------
    diagram
        The influence diagram.
    hide_recall
        Leave out edges that perfect recall implies; the diagram must have it.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> print(diagram_dot(InfluenceDiagram(
    ...     [TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])],
    ...     [Utility(["rain", "umbrella"], [[1, 0], [-5, 0]], name="comfort")],
    ... )))
    digraph {
      "rain" [shape=oval];
      "umbrella" [shape=box];
      "comfort" [shape=diamond];
      "rain" -> "umbrella" [style=dashed];
      "rain" -> "comfort";
      "umbrella" -> "comfort";
    }
    """
    shown = without_recall_edges(diagram) if hide_recall else diagram
    shapes = {
        **dict.fromkeys(shown.chance, "oval"),
        **dict.fromkeys(shown.decisions, "box"),
        **dict.fromkeys(shown.utilities, "diamond"),
    }
    nodes = [f"  {_quoted(name)} [shape={shape}];" for name, shape in shapes.items()]
    edges = [
        f"  {_quoted(str(a))} -> {_quoted(str(b))}{' [style=dashed]' if b in shown.decisions else ''};"
        for a, b in shown.graph.edges
    ]
    title = f" {_quoted(diagram.notes.name)}" if diagram.notes.name else ""
    return "\n".join([f"digraph{title} {{", *nodes, *edges, "}"])


def _quoted(text: str) -> str:
    """A text as a DOT identifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
