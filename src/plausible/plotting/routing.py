"""How edges run: smooth curves that end at boxes and pass under none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.plotting.layers import Link

if TYPE_CHECKING:
    from plausible.plotting.layout import Size

Point: TypeAlias = tuple[float, float]
#: A smooth curve of cubic pieces: where it begins, then for each piece two points that bend it and its end (Bézier).
Curve: TypeAlias = tuple[Point, ...]

#: Two edges that touch the same side of a box are so far apart, where there is room.
_PORT_STEP = 20.0
#: How steeply edges leave boxes: at most so much aside for one down.
_STEEPEST_END = 0.55
#: What a bend keeps free of its neighbours.
_CLEAR = 4.0


class Rows(NamedTuple):
    """The layers of a drawing, from their upper to their lower ends: no box lies between two layers."""

    top: Floats
    bottom: Floats

    @property
    def middle(self) -> Floats:
        """Where the centres of boxes lie."""
        return (self.top + self.bottom) / 2


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

    Within layers curves keep to the slots that are theirs, between boxes; they go aside between layers, where no box is.
    """
    leaves, enters = _ports(sizes, chains, centres)
    room = _rooms(sizes, layer, place, centres)
    curves = []
    for number, (link, chain) in enumerate(zip(links, chains, strict=True)):
        top, bottom = chain[0], chain[-1]
        knots = _knots(chain, leaves[number], enters[number], layer, centres, room, rows)
        first = rows.middle[layer[top]] + _boundary(sizes[top], leaves[number] - centres[top])
        last = rows.middle[layer[bottom]] - _boundary(sizes[bottom], enters[number] - centres[bottom])
        curve = _through([Knot(leaves[number], first, 0.0), *knots, Knot(enters[number], last, 0.0)])
        curves.append(curve if link.tail == top else curve[::-1])
    return tuple(curves)


def _ports(
    sizes: Sequence[Size], chains: Sequence[Sequence[int]], centres: Floats
) -> tuple[list[float], list[float]]:
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


def _boundary(size: Size, aside: float) -> float:
    """How far below its centre the outline of a box is, so far aside: boxes with narrow ports are round."""
    share = min(abs(aside) / (size.width / 2), 1.0)
    if size.port >= ROUND:
        return size.height / 2
    return size.height / 2 * (1.0 - share if size.port <= POINTED else (1.0 - share**2) ** 0.5)


#: The shares of their widths that edges may touch, by which outlines are told apart: below the first, ovals; up to the
#: second, rhombuses.
ROUND, POINTED = 0.6, 0.2


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
    return np.maximum(room, 0.0)


def _knots(
    chain: Sequence[int], leave: float, enter: float, layer: Ints, centres: Floats, room: Floats, rows: Rows
) -> list[Knot]:
    """The points between the boxes: where a curve comes out of the first layer, through each bend, into the last."""
    x = np.array([leave, *(centres[slot] for slot in chain[1:-1]), enter])
    y = rows.middle[layer[list(chain)]]
    secants = np.diff(x) / np.diff(y)
    knots = [Knot(leave, float(rows.bottom[layer[chain[0]]]), 0.0)]
    for number, slot in enumerate(chain[1:-1]):
        top, bottom = float(rows.top[layer[slot]]), float(rows.bottom[layer[slot]])
        before, after = secants[number], secants[number + 1]
        # The harmonic mean, zero at a turn: no curve goes further aside than its points (Fritsch & Butland 1984).
        slope = 2 * before * after / (before + after) if before * after > 0 else 0.0
        most = room[slot] / max((bottom - top) / 2, 1.0)
        slope = float(np.clip(slope, -most, most))
        half = slope * (bottom - top) / 2
        knots += [Knot(float(centres[slot]) - half, top, slope), Knot(float(centres[slot]) + half, bottom, slope)]
    return [*knots, Knot(enter, float(rows.top[layer[chain[-1]]]), 0.0)]


def _through(knots: Sequence[Knot]) -> Curve:
    """The cubic pieces through the knots (Hermite); pieces without length are left out."""
    curve: list[Point] = [knots[0][:2]]
    for (x, y, slope), (end_x, end_y, end_slope) in zip(knots, knots[1:], strict=False):
        third = (end_y - y) / 3
        if third > 0.01:
            curve += [(x + slope * third, y + third), (end_x - end_slope * third, end_y - third), (end_x, end_y)]
    return tuple((round(x, 1), round(y, 1)) for x, y in curve)
