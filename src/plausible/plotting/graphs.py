"""Pictures of graphs: nodes and marked edges, with trails, sets and strengths brought out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.marks import Edge
from plausible.graphs.trails import SeparationExplanation, Trail
from plausible.plotting.drawing import Look, Node, arc_of, drawn
from plausible.plotting.focus import FocusLike, View, read_groups, view_of
from plausible.plotting.nodes import BAD, FOCUS, PLAIN, SEEN, Style, name_node
from plausible.plotting.picture import Picture

#: The thinnest and the thickest edge where widths tell strengths.
_THIN, _THICK = 0.7, 4.5
_ON_TRAIL = Look("bar", 3.0)
_ON_BLOCKED = Look("bad", 2.2, True)
#: Trails whose text stands below a picture.
_MOST_TRAILS = 3


def picture_of_graph(
    graph: BaseGraph,
    highlight: Any = None,
    focus: FocusLike = "auto",
    strengths: Any = None,
    places: Mapping[Any, tuple[float, float]] | None = None,
    titles: Mapping[Any, str] | None = None,
    groups: Any = None,
) -> Picture:
    """The picture of a graph; see `BaseGraph.picture`."""
    chosen, looks, notes = _brought_out(graph, highlight)
    view = view_of(graph.nodes, graph.marked_edges, focus, chosen)
    if strengths is not None:
        looks = strength_looks(view.edges, strengths)
    framed = read_groups(view, graph.nodes, groups, "this graph")
    return named_picture(view, chosen, looks, notes, places, titles, framed)


def picture_of_separation(explanation: SeparationExplanation) -> Picture:
    """The trails between two sets: the active one, or what blocks each."""
    graph = explanation.graph
    if graph is None:
        raise InvalidArgument("This explanation has lost its graph: ask graph.explain_separation(...) again.")
    styles: dict[Any, Style] = dict.fromkeys((*explanation.x, *explanation.y), FOCUS)
    styles |= dict.fromkeys(explanation.given, replace(SEEN, tag="given"))
    looks: dict[Any, Look] = {}
    for trail in reversed(explanation.trails):
        styles |= {junction.node: _blocking(styles.get(junction.node)) for junction in trail.blockers}
        looks |= _trail_looks(trail)
    notes = str(explanation).splitlines()
    more = len(explanation.trails) - _MOST_TRAILS
    if more > 0:
        first_hidden = str(explanation.trails[_MOST_TRAILS])
        last = next(row for row, line in enumerate(notes) if line.strip().startswith(first_hidden))
        notes = [*notes[:last], f"... {more} more"]
    view = view_of(graph.nodes, graph.marked_edges, "auto", list(styles))
    return named_picture(view, styles, looks, notes)


def named_picture(
    view: View,
    styles: Mapping[Any, Style],
    looks: Mapping[Any, Look],
    notes: Iterable[str] = (),
    places: Mapping[Any, tuple[float, float]] | None = None,
    titles: Mapping[Any, str] | None = None,
    groups: Mapping[str, list[int]] | None = None,
) -> Picture:
    """Boxes with names, and edges in their looks, by their pairs of ends."""
    number = {node: place for place, node in enumerate(view.nodes)}
    boxes = [_named(node, view, styles.get(node, PLAIN), (titles or {}).get(node, "")) for node in view.nodes]
    arcs = [arc_of(edge, number, look_of(edge, looks)) for edge in view.edges]
    kept = {str(node): place for node, place in (places or {}).items()}
    return drawn(boxes, arcs, "", (*notes, *view.notes), kept, groups)


def look_of(edge: Edge, looks: Mapping[Any, Look]) -> Look:
    """How an edge looks: dashed where it stands for a hidden common cause."""
    look = looks.get(frozenset(edge.ends), Look())
    return replace(look, is_dashed=True) if edge.is_bidirected else look


def _named(node: Any, view: View, style: Style, title: str) -> Node:
    hidden = view.hidden.get(node, 0)
    tag = " ".join([style.tag, *([f"+{hidden}"] if hidden else [])]).strip()
    return name_node(str(node), title, style=replace(style, tag=tag))


def _blocking(style: Style | None) -> Style:
    """What blocks stands out; what blocks because it is given says so too."""
    return replace(BAD, tag="given, blocks" if style is not None and style.tag.startswith("given") else "blocks")


def _brought_out(graph: BaseGraph, highlight: Any) -> tuple[dict[Any, Style], dict[Any, Look], list[str]]:
    """Styles of nodes and looks of edges for a trail, or for a node or a set of them."""
    if highlight is None:
        return {}, {}, []
    if isinstance(highlight, Trail):
        styles: dict[Any, Style] = dict.fromkeys(highlight.nodes, FOCUS)
        styles |= {junction.node: BAD for junction in highlight.blockers}
        told = f"{highlight} is {'active' if highlight.is_active else 'blocked'}"
        return styles, _trail_looks(highlight), [told]
    is_node = isinstance(highlight, str) or (isinstance(highlight, Hashable) and highlight in graph)
    listed = [highlight] if is_node or not isinstance(highlight, Iterable) else list(highlight)
    for node in listed:
        if node not in graph:
            raise UnknownVariable.named(node, graph.nodes, "this graph")
    return dict.fromkeys(listed, FOCUS), {}, []


def _trail_looks(trail: Trail) -> dict[Any, Look]:
    look = _ON_TRAIL if trail.is_active else _ON_BLOCKED
    return {frozenset(pair): look for pair in zip(trail.nodes, trail.nodes[1:], strict=False)}


def strength_looks(edges: Collection[Edge], strengths: Any) -> dict[Any, Look]:
    """Edges as wide as they are strong, relative to the strongest."""
    tell = strength_of(strengths)
    found = {edge.ends: float(tell(*edge.ends)) for edge in edges}
    for pair, strength in found.items():
        if not 0 <= strength < float("inf"):
            raise InvalidArgument(
                f"The strength of {' - '.join(map(str, pair))} is {strength}; give numbers from 0 on."
            )
    largest = max(found.values(), default=0.0) or 1.0
    return {
        frozenset(pair): Look(thickness=width_of(strength / largest), says=f"strength {strength:.3g}")
        for pair, strength in found.items()
    }


def width_of(share: float) -> float:
    """How wide an edge is that has this share of the greatest strength."""
    return round(_THIN + (_THICK - _THIN) * share, 2)


def strength_of(strengths: Any) -> Callable[[Any, Any], float]:
    """What tells the strength of an edge: a mapping of pairs, or what bootstraps and posteriors of graphs give."""
    if not isinstance(strengths, Mapping):
        if not callable(getattr(strengths, "strength", None)):
            raise InvalidArgument(
                "strengths= takes a mapping {(parent, child): number}, the strengths of a bootstrap, or, of a model, "
                '"mutual-information".'
            )
        tell: Callable[[Any, Any], float] = strengths.strength
        return tell
    by_pair = {frozenset(pair): strength for pair, strength in strengths.items()}
    return lambda first, second: by_pair.get(frozenset((first, second)), 0.0)
