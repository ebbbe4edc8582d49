"""From nodes and edges to a picture: laid out, with marks at the ends of edges, a title and notes below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.graphs.marks import Edge, Mark
from plausible.plotting.free import kept, lay_out_at
from plausible.plotting.geometry import Curve, Point, Size
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout, lay_out
from plausible.plotting.measuring import text_width
from plausible.plotting.palette import Colour
from plausible.plotting.parts import Box, Item, Part, Path, Text, moved
from plausible.plotting.picture import Picture
from plausible.plotting.slices import Slices, slices_of

_MARGIN = 16.0
_NOTE_SIZE, _NOTE_LINE, _LEAST_NOTE = 11.0, 16.0, 360.0
#: The length and half the width of an arrow's head, and the radius of a circle at an end.
_HEAD, _HALF_HEAD, _CIRCLE = 9.0, 3.8, 3.4
#: How far the plate of a slice reaches beyond its boxes, and the room for its label.
_PLATE, _LABEL = 14.0, 22.0


@dataclass(frozen=True, slots=True)
class Node:
    """What is drawn for a node, into a box whose upper left corner is the origin."""

    name: str
    size: Size
    items: tuple[Item, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Look:
    """How an edge looks."""

    colour: Colour = "line"
    thickness: float = 1.3
    is_dashed: bool = False
    says: str = ""  # What its tooltip adds


class Arc(NamedTuple):
    """An edge between nodes by their numbers."""

    tail: int
    head: int
    marks: tuple[Mark, Mark] = (Mark.TAIL, Mark.ARROW)
    look: Look = Look()

    @property
    def link(self) -> Link:
        """What the layout needs to know."""
        goes_down = self.marks[1] is Mark.ARROW and self.marks[0] is not Mark.ARROW
        return Link(self.tail, self.head, goes_down)


def arc_of(edge: Edge, number: Mapping[object, int], look: Look) -> Arc:
    """The edge of a graph, its head where its arrow is."""
    if edge.left_mark is Mark.ARROW and edge.right_mark is not Mark.ARROW:
        edge = edge.flipped()
    return Arc(number[edge.left], number[edge.right], (edge.left_mark, edge.right_mark), look)


def drawn(
    nodes: Sequence[Node],
    arcs: Sequence[Arc],
    title: str = "",
    notes: Sequence[str] = (),
    places: Mapping[str, tuple[float, float]] | None = None,
) -> Picture:
    """The picture of some nodes and edges.

    Where each node has a place, places are kept; names with times, such as "rain[3]", stand in slices side by side; all
    else is laid out in layers.
    """
    sizes, links = [node.size for node in nodes], [arc.link for arc in arcs]
    layout, slices = _laid_out(nodes, sizes, links, places or {})
    plates = _plates(layout, sizes, slices) if slices else []
    room = _PLATE + _LABEL if plates else 0.0
    layout = layout.moved(_MARGIN + room / 2, _MARGIN + room)
    plates = [
        Part("plate", part.name, part.title, moved(part.items, _MARGIN + room / 2, _MARGIN + room)) for part in plates
    ]
    width, bottom = layout.width + 2 * _MARGIN + room, layout.height + 2 * _MARGIN + room + bool(plates) * _PLATE
    lines = [line for note in notes for line in _wrapped(note, max(width - 2 * _MARGIN, _LEAST_NOTE))]
    width = max([width, *(text_width(line, _NOTE_SIZE) + 2 * _MARGIN for line in lines)])
    texts = tuple(
        Text(_MARGIN, round(bottom + _NOTE_LINE * (row + 0.5), 1), line, _NOTE_SIZE, "muted")
        for row, line in enumerate(lines)
    )
    below = [Part("note", "note", "\n".join(notes), texts)] if texts else []
    boxes = [
        Part("node", node.name, node.title, moved(node.items, x - node.size.width / 2, y - node.size.height / 2))
        for node, (x, y) in zip(nodes, layout.centres.tolist(), strict=True)
    ]
    edges = [_edge(arc, curve, nodes) for arc, curve in zip(arcs, layout.curves, strict=True)]
    # What stands out lies above what does not.
    edges.sort(key=lambda part: max(item.thickness for item in part.items if isinstance(item, Path)))
    height = bottom + _NOTE_LINE * len(lines) + (_MARGIN / 2 if lines else 0.0)
    return Picture(title, round(width, 1), round(height, 1), (*plates, *edges, *boxes, *below))


def _laid_out(
    nodes: Sequence[Node], sizes: Sequence[Size], links: Sequence[Link], places: Mapping[str, tuple[float, float]]
) -> tuple[Layout, Slices | None]:
    names = [node.name for node in nodes]
    if names and all(name in places for name in names):
        centres = kept(sizes, [places[name] for name in names])
        if centres is not None:
            return lay_out_at(centres, sizes, links), None
    if slices := slices_of(names, sizes, links):
        return lay_out_at(slices.centres, sizes, links), slices
    return lay_out(sizes, links), None


def _plates(layout: Layout, sizes: Sequence[Size], slices: Slices) -> list[Part]:
    """A frame round the boxes of each time, all of one height."""
    half = np.array([size[:2] for size in sizes]) / 2
    top, bottom = (layout.centres - half)[:, 1].min() - _PLATE - _LABEL, (layout.centres + half)[:, 1].max() + _PLATE
    parts = []
    for time, members in slices.times.items():
        left = float((layout.centres - half)[members, 0].min()) - _PLATE
        right = float((layout.centres + half)[members, 0].max()) + _PLATE
        frame = Box(left, float(top), right - left, float(bottom - top), "panel", "track", radius=10.0)
        label = Text(left + 12, float(top) + 18, time, 11.5, "muted")
        parts.append(Part("plate", time, f"slice {time}", (frame, label)))
    return parts


def _wrapped(note: str, most: float) -> list[str]:
    """The words of a note in lines."""
    lines = [""]
    for word in note.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, _NOTE_SIZE) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# --- edges ---


def _edge(arc: Arc, curve: Curve, nodes: Sequence[Node]) -> Part:
    """A line with a mark at each end; it is shorter by the marks, in the direction that it has there."""
    points, look = [np.array(point) for point in curve], arc.look
    ends: list[Item] = []
    for mark, end, inner in ((arc.marks[0], 0, 1), (arc.marks[1], -1, -2)):
        back = points[inner] - points[end]
        back = back / max(float(np.hypot(*back)), 1e-9)
        ends += _mark(mark, points[end], back, look)
        # The piece next to the end is moved as a whole, so that the line meets its mark straight on.
        step = back * {Mark.ARROW: _HEAD - 1.0, Mark.CIRCLE: 2 * _CIRCLE, Mark.TAIL: 0.0}[mark]
        points[end], points[inner] = points[end] + step, points[inner] + step / 2
    line = Path(tuple(map(_rounded, points)), look.colour, None, look.thickness, True, look.is_dashed)
    symbol = Edge("tail", "head", *arc.marks).symbol
    name = f"{nodes[arc.tail].name} {symbol} {nodes[arc.head].name}"
    return Part("edge", name, f"{name}: {look.says}" if look.says else name, (line, *ends))


def _mark(mark: Mark, end: np.ndarray, back: np.ndarray, look: Look) -> list[Item]:
    if mark is Mark.TAIL:
        return []
    if mark is Mark.CIRCLE:
        x, y = end + back * _CIRCLE
        size = 2 * _CIRCLE
        return [
            Box(round(x - _CIRCLE, 2), round(y - _CIRCLE, 2), size, size, "paper", look.colour, "oval", look.thickness)
        ]
    larger = 1.0 + max(look.thickness - 1.3, 0.0) * 0.22
    across = np.array([-back[1], back[0]]) * _HALF_HEAD * larger
    root = end + back * _HEAD * larger
    return [Path(tuple(map(_rounded, (end, root + across, root - across))), None, look.colour)]


def _rounded(point: np.ndarray) -> Point:
    return round(float(point[0]), 1), round(float(point[1]), 1)
