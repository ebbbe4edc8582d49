"""From nodes and edges to a picture: laid out, with marks at the ends of edges, a title and notes below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.graphs.marks import Edge, Mark
from plausible.plotting.free import kept, lay_out_at
from plausible.plotting.geometry import Curve, Point, Size
from plausible.plotting.groups import lay_out_groups, plate
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout, lay_out
from plausible.plotting.measuring import fitted, text_width
from plausible.plotting.palette import Colour
from plausible.plotting.parts import Box, Item, Part, Path, Text, moved
from plausible.plotting.picture import Picture
from plausible.plotting.rows import lay_out_row
from plausible.plotting.slices import slices_of

_MARGIN = 16.0
_NOTE_SIZE, _NOTE_LINE, _LEAST_NOTE, _INDENT = 11.0, 16.0, 360.0, 5.0
#: The length and half the width of an arrow's head, and the radius of a circle at an end.
_HEAD, _HALF_HEAD, _CIRCLE = 9.0, 3.8, 3.4


Form: TypeAlias = Literal["down", "right", "row"]


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
    label: str = ""  # What stands in its middle
    is_gone: bool = False  # It is there no longer: the layout need not let it go down


class Arc(NamedTuple):
    """An edge between nodes by their numbers."""

    tail: int
    head: int
    marks: tuple[Mark, Mark] = (Mark.TAIL, Mark.ARROW)
    look: Look = Look()

    @property
    def link(self) -> Link:
        """What the layout needs to know."""
        goes_down = self.marks[1] is Mark.ARROW and self.marks[0] is not Mark.ARROW and not self.look.is_gone
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
    groups: Mapping[str, Sequence[int]] | None = None,
    form: Form = "down",
) -> Picture:
    """The picture of some nodes and edges.

    Groups of nodes have frames. Where each node has a place, places are kept; names with times, such as "rain[3]",
    stand in slices side by side; all else is laid out in layers, also where edges have labels, or by its `form`: with
    edges to the right, or in a row, where all edges have labels.
    """
    layout, plates = _laid_out(nodes, arcs, places or {}, groups or {}, form)
    frames = [item for part in plates for item in part.items if isinstance(item, Box)]
    left, top = min([0.0, *(box.x for box in frames)]), min([0.0, *(box.y for box in frames)])
    width = max([layout.width, *(box.x + box.width for box in frames)]) - left + 2 * _MARGIN
    height = max([layout.height, *(box.y + box.height for box in frames)]) - top + 2 * _MARGIN
    right, down = _MARGIN - left, _MARGIN - top
    layout = layout.moved(right, down)
    boxes = [
        Part("node", node.name, node.title, moved(node.items, x - node.size.width / 2, y - node.size.height / 2))
        for node, (x, y) in zip(nodes, layout.centres.tolist(), strict=False)
    ]
    parts = [*(replace(part, items=moved(part.items, right, down)) for part in plates)]
    parts += [*_edges(arcs, layout, nodes), *boxes]
    lines = [line for note in notes for line in _wrapped(note, max(width - 2 * _MARGIN, _LEAST_NOTE))]
    if lines:
        texts = [
            Text(_MARGIN + indent, round(height + _NOTE_LINE * (row + 0.5), 1), line, _NOTE_SIZE, "muted")
            for row, (indent, line) in enumerate(lines)
        ]
        parts.append(Part("note", "note", "\n".join(notes), tuple(texts)))
        width = max([width, *(indent + text_width(line, _NOTE_SIZE) + 2 * _MARGIN for indent, line in lines)])
        height += _NOTE_LINE * len(lines) + _MARGIN / 2
    return Picture(title, round(width, 1), round(height, 1), tuple(parts))


def _laid_out(
    nodes: Sequence[Node],
    arcs: Sequence[Arc],
    places: Mapping[str, tuple[float, float]],
    groups: Mapping[str, Sequence[int]],
    form: Form,
) -> tuple[Layout, list[Part]]:
    """Where all stands, nodes and behind them the labels of edges; and the frames of groups."""
    names, sizes = [node.name for node in nodes], [node.size for node in nodes]
    boxes, links = _with_labels(sizes, arcs)
    if form == "row":
        return lay_out_row(sizes, [arc.link for arc in arcs], boxes[len(nodes) :]), []
    if form == "right":
        return lay_out([Size(box.height, box.width, box.port) for box in boxes], links).turned(), []
    if len(boxes) > len(nodes):
        return lay_out(boxes, links), []
    if groups:
        layout = lay_out_groups(sizes, links, groups)
        return layout, [plate(name, layout, sizes, members) for name, members in groups.items()]
    if names and all(name in places for name in names):
        centres = kept(sizes, [places[name] for name in names])
        if centres is not None:
            return lay_out_at(centres, sizes, links), []
    if slices := slices_of(names, sizes, links):
        layout = lay_out_at(slices.centres, sizes, links)
        every = range(len(nodes))
        return layout, [plate(time, layout, sizes, members, every) for time, members in slices.times.items()]
    return lay_out(sizes, links), []


def _with_labels(sizes: Sequence[Size], arcs: Sequence[Arc]) -> tuple[list[Size], list[Link]]:
    """The boxes with those of labels behind them, and the pieces of edges: two of one with a label, else one."""
    boxes, pieces = list(sizes), list[Link]()
    for arc in arcs:
        tail, head, goes_down = arc.link
        if arc.look.label:
            pieces.append(Link(tail, len(boxes), goes_down))
            tail = len(boxes)
            boxes.append(Size(text_width(arc.look.label, _NOTE_SIZE) + 8.0, _NOTE_LINE))
        pieces.append(Link(tail, head, goes_down))
    return boxes, pieces


def _wrapped(note: str, most: float) -> list[tuple[float, str]]:
    """The words of a note in lines, each as far in as the note begins with blanks."""
    lines, indent = [""], _INDENT * (len(note) - len(note.lstrip(" ")))
    for word in (fitted(word, _NOTE_SIZE, most - indent) for word in note.split()):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and indent + text_width(longer, _NOTE_SIZE) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return [(indent, line) for line in lines]


# --- edges ---


def _edges(arcs: Sequence[Arc], layout: Layout, nodes: Sequence[Node]) -> list[Part]:
    """The parts of all edges; what stands out lies above what does not."""
    curves, labels = iter(layout.curves), iter(layout.centres[len(nodes) :].tolist())
    parts = []
    for arc in arcs:
        look = arc.look
        items: list[Item] = []
        if look.label:
            x, y = next(labels)
            items = _line(next(curves), (arc.marks[0], Mark.TAIL), look)
            items += _line(next(curves), (Mark.TAIL, arc.marks[1]), look)
            items.append(Text(round(x, 1), round(y + 3.8, 1), look.label, _NOTE_SIZE, "muted", "middle"))
        else:
            items = _line(next(curves), arc.marks, look)
        name = f"{nodes[arc.tail].name} {Edge('tail', 'head', *arc.marks).symbol} {nodes[arc.head].name}"
        parts.append(Part("edge", name, f"{name}: {look.says}" if look.says else name, tuple(items)))
    return sorted(parts, key=lambda part: max(item.thickness for item in part.items if isinstance(item, Path)))


def _line(curve: Curve, marks: tuple[Mark, Mark], look: Look) -> list[Item]:
    """A line with a mark at each end; it is shorter by the marks, in the direction that it has there."""
    points = [np.array(point) for point in curve]
    ends: list[Item] = []
    for mark, end, inner in ((marks[0], 0, 1), (marks[1], -1, -2)):
        back = points[inner] - points[end]
        back = back / max(float(np.hypot(*back)), 1e-9)
        ends += _mark(mark, points[end], back, look)
        # The piece next to the end is moved as a whole, so that the line meets its mark straight on.
        step = back * {Mark.ARROW: _HEAD - 1.0, Mark.CIRCLE: 2 * _CIRCLE, Mark.TAIL: 0.0}[mark]
        points[end], points[inner] = points[end] + step, points[inner] + step / 2
    return [Path(tuple(map(_rounded, points)), look.colour, None, look.thickness, True, look.is_dashed), *ends]


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
