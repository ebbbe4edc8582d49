"""Influence diagrams as Graphviz text, and for notebooks."""

from __future__ import annotations

from plausible.base.display import TextTable, html_page, num_shown
from plausible.decisions.diagram import Diagram
from plausible.decisions.structure.recall import without_recall_edges
from plausible.models.display import states_cell, title_of

__all__ = ["diagram_dot", "diagram_html"]


def diagram_dot(diagram: Diagram, hide_recall: bool = False) -> str:
    """The diagram in Graphviz' DOT language: ovals for chance, boxes for decisions, diamonds for utilities.

    Information edges are dashed. Draw it with `dot -Tsvg`.
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


def diagram_html(diagram: Diagram) -> str:
    """A row for each part of the diagram: its kind, its states or actions, and what it depends on or sees."""
    rows = [
        (name, "chance", states_cell(cpd.variable), ", ".join(cpd.parent_names)) for name, cpd in diagram.chance.items()
    ]
    rows += [
        (name, "decision", states_cell(decision.variable), ", ".join(decision.sees))
        for name, decision in diagram.decisions.items()
    ]
    rows += [(name, "utility", "", ", ".join(part.parent_names)) for name, part in diagram.utilities.items()]
    shown = tuple(rows[: num_shown(len(rows))])
    header = ("name", "kind", "states", "depends on or sees")
    return html_page(title_of(diagram), TextTable(header, shown, 1, len(rows) - len(shown)))
