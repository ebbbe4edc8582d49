"""How edges run: smooth curves that end at boxes and pass under none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.plotting.geometry import Curve, Point, Size, below_centre
from plausible.plotting.layers import Link

#: Two edges that touch the same side of a box are so far apart, where there is room.
_PORT_STEP = 20.0
#: How edges leave boxes: by so much of the straight way, and at most so much aside for one down.
_STRAIGHT, _STEEPEST_END = 0.6, 0.8
#: What a bend keeps free of its neighbours.
_CLEAR = 4.0


class Rows(NamedTuple):
    """The layers of a drawing, from their upper to their lower ends: no box lies between two layers."""

    top: Floats
    bottom: Floats

    @property
    def middle(self) -> Floats:
        """Where the centres of boxes lie."""
        return np.asarray((self.top + self.bottom) / 2)


class Knot(NamedTuple):
    """A point that a curve goes through, and how far aside it goes there for one down."""

    x: float
    y: float
    slope: float


def route(
    sizes: Sequence[Size],
    links: Sequence[Link],
    chains: Sequence[Sequence[int]],
    layer: Ints,
    place: Ints,
    centres: Floats,
    rows: Rows,
) -> tuple[Curve, ...]:
    """The curve of each link from its tail to its head.

    Within layers curves keep to the slots that are theirs, between boxes; elsewhere no box is.
    """
    leaves, enters = _ports(sizes, chains, centres)
    room = _rooms(sizes, layer, place, centres)
    curves = []
    for link, chain, leave, enter in zip(links, chains, leaves, enters, strict=True):
        top, bottom = chain[0], chain[-1]
        first = rows.middle[layer[top]] + below_centre(sizes[top], leave - centres[top])
        last = rows.middle[layer[bottom]] - below_centre(sizes[bottom], enter - centres[bottom])
        x = np.array([leave, *centres[list(chain[1:-1])], enter])
        y = np.array([first, *rows.middle[layer[list(chain[1:-1])]], last])
        slopes = _slopes(x, y)
        ends = [(top, leave, first, rows.bottom[layer[top]]), (bottom, enter, last, rows.top[layer[bottom]])]
        for at, (node, port, outline, edge) in zip((0, -1), ends, strict=True):
            free = sizes[node].width / 2 + _CLEAR - abs(port - centres[node])
            slopes[at] = _limited(slopes[at], free, edge - outline)
        knots = [*_end(leave, first, rows.bottom[layer[top]], slopes[0])]
        for slot, aside, slope in zip(chain[1:-1], x[1:-1], slopes[1:-1], strict=True):
            span = (rows.top[layer[slot]], rows.bottom[layer[slot]])
            knots += _bend(aside, *span, _limited(slope, room[slot], (span[1] - span[0]) / 2))
        knots += reversed(_end(enter, last, rows.top[layer[bottom]], slopes[-1]))
        curve = _through(knots)
        curves.append(curve if link.tail == top else curve[::-1])
    return tuple(curves)


def _slopes(x: Floats, y: Floats) -> Floats:
    """How far a curve through the points goes aside for one down, at each: no further aside than the points do.

    Between, the harmonic mean of what is before and after, zero at a turn (Fritsch & Butland 1984); at the ends less
    than straight on, so that arrows point down.
    """
    secants = np.diff(x) / np.diff(y)
    before, after = secants[:-1], secants[1:]
    turns = before * after <= 0
    between = np.where(turns, 0.0, 2 * before * after / np.where(turns, 1.0, before + after))
    ends = np.clip(_STRAIGHT * secants[[0, -1]], -_STEEPEST_END, _STEEPEST_END)
    return np.asarray(np.r_[ends[0], between, ends[1]])


def _limited(slope: float, room: float, length: float) -> float:
    """A slope that leads no further aside than there is room."""
    most = room / max(abs(float(length)), 1.0)
    return float(np.clip(slope, -most, most))


def _end(port: float, boundary: float, row_end: float, slope: float) -> list[Knot]:
    """From the outline of a box straight on to where its layer ends."""
    aside = slope * (row_end - boundary)
    return [Knot(port, float(boundary), slope), Knot(port + float(aside), float(row_end), slope)]


def _bend(x: float, top: float, bottom: float, slope: float) -> list[Knot]:
    """Straight through a layer."""
    half = slope * (bottom - top) / 2
    return [Knot(float(x - half), float(top), slope), Knot(float(x + half), float(bottom), slope)]


def _ports(sizes: Sequence[Size], chains: Sequence[Sequence[int]], centres: Floats) -> tuple[list[float], list[float]]:
    """Where each link leaves its upper box and enters its lower one, in the order in which they go aside."""
    found: tuple[list[float], list[float]] = ([0.0] * len(chains), [0.0] * len(chains))
    for side, (end, beside) in enumerate(((0, 1), (-1, -2))):
        at: dict[int, list[int]] = {}
        for number, chain in enumerate(chains):
            at.setdefault(chain[end], []).append(number)
        for node, numbers in at.items():
            numbers.sort(key=lambda number: (centres[chains[number][beside]], number))
            step = min(_PORT_STEP, sizes[node].width * sizes[node].port / max(len(numbers) - 1, 1))
            for rank, number in enumerate(numbers):
                found[side][number] = float(centres[node] + step * (rank - (len(numbers) - 1) / 2))
    return found


def _rooms(sizes: Sequence[Size], layer: Ints, place: Ints, centres: Floats) -> Floats:
    """How far a bend may go to each side without coming near its neighbours in the layer."""
    half = np.zeros(len(layer))
    half[: len(sizes)] = [size.width / 2 for size in sizes]
    order = np.lexsort((place, layer))
    left, right = order[:-1], order[1:]
    # Two bends share what lies between them; a box gives all of it.
    free = centres[right] - centres[left] - half[left] - half[right] - _CLEAR
    free = np.where(layer[left] == layer[right], free, np.inf)
    both = (left >= len(sizes)) & (right >= len(sizes))
    free = np.where(both, free / 2, free)
    room = np.full(len(layer), np.inf)
    np.minimum.at(room, left, free)
    np.minimum.at(room, right, free)
    return np.asarray(np.maximum(room, 0.0))


def _through(knots: Sequence[Knot]) -> Curve:
    """The cubic pieces through the knots (Hermite); pieces without length are left out."""
    curve: list[Point] = [knots[0][:2]]
    for (x, y, slope), (end_x, end_y, end_slope) in pairwise(knots):
        third = (end_y - y) / 3
        if third > 0.01:
            curve += [(x + slope * third, y + third), (end_x - end_slope * third, end_y - third), (end_x, end_y)]
    return tuple((round(x, 1), round(y, 1)) for x, y in curve)
