"""Boxes in a row, as chains of states are drawn: on to the right above, back below, loops on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.plotting.free import framed
from plausible.plotting.geometry import Curve, Size
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout

#: Between boxes there is room for a label and so much more; a line that has one back beside it lies so far from it.
_GAP, _BESIDE = 52.0, 9.0
#: Half the width of a loop, its height, and the room for a label above it.
_LOOP, _LOOP_HEIGHT, _ABOVE = 11.0, 24.0, 10.0
#: How far arcs over a box go above or below all boxes, and how much further over each box more.
_OVER, _UNDER, _STEP = 62.0, 34.0, 28.0
#: Where on its box an arc over others begins.
_ASIDE = 0.3
_SAMPLES = np.linspace(0.0, 1.0, 201)


def lay_out_row(sizes: Sequence[Size], links: Sequence[Link], labels: Sequence[Size]) -> Layout:
    """Boxes in their order and behind them the labels of all links, at which each link is parted into two curves."""
    widest = max((label.width for label in labels), default=0.0)
    widths = np.array([size.width for size in sizes])
    starts = np.r_[0.0, np.cumsum(widths + _GAP + widest)[:-1]]
    boxes = np.column_stack([starts + widths / 2, np.zeros(len(sizes))])
    height = max((size.height for size in sizes), default=0.0) / 2
    pairs = {(link.tail, link.head) for link in links}
    places, curves = [], list[Curve]()
    for (tail, head, _), label in zip(links, labels, strict=True):
        points = _points(boxes, sizes, tail, head, height, (head, tail) in pairs)
        middle = np.array(_at(points, 0.5))
        curves += _parted(points, label.width / 2 if tail != head else 0.0)
        places.append(middle - (0.0, _ABOVE) if tail == head else middle)
    centres = np.vstack([boxes, np.reshape(places, (-1, 2))])
    return framed(centres, [*sizes, *labels], curves)


def _points(boxes: Floats, sizes: Sequence[Size], tail: int, head: int, height: float, is_double: bool) -> Floats:
    """The cubic curve from one box to another."""
    (x, _), (end, _) = boxes[[tail, head]]
    if tail == head:
        top, bend = -sizes[tail].height / 2, -_LOOP_HEIGHT * 4 / 3
        return np.array([(x + aside * _LOOP, top + down) for aside, down in ((-1, 0), (-2, bend), (2, bend), (1, 0))])
    side = 1.0 if head > tail else -1.0
    over = abs(head - tail) - 1
    if not over:
        y = -side * _BESIDE if is_double else 0.0
        first, last = x + side * sizes[tail].width / 2, end - side * sizes[head].width / 2
        return np.array([(first + (last - first) * share, y) for share in (0.0, 1 / 3, 2 / 3, 1.0)])
    first, last = x + side * _ASIDE * sizes[tail].width, end - side * _ASIDE * sizes[head].width
    begin, finish = -side * sizes[tail].height / 2, -side * sizes[head].height / 2
    peak = -side * (height + (_OVER if side > 0 else _UNDER) + _STEP * (over - 1))
    bend = (8 * peak - begin - finish) / 6  # where the middle of the curve is at the peak
    near = (last - first) * 0.12
    return np.array([(first, begin), (first + near, bend), (last - near, bend), (last, finish)])


def _at(points: Floats, t: float) -> tuple[float, float]:
    weights = np.array([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
    x, y = (weights @ points).tolist()
    return x, y


def _parted(points: Floats, room: float) -> list[Curve]:
    """The curve up to its label, and on from it."""
    middle = _at(points, 0.5)[0]
    free = [t for t in _SAMPLES.tolist() if abs(_at(points, t)[0] - middle) >= room]
    before = max((t for t in free if t <= 0.5), default=0.0)
    after = min((t for t in free if t >= 0.5), default=1.0)
    return [_part(points, 0.0, before), _part(points, after, 1.0)]


def _part(points: Floats, start: float, end: float) -> Curve:
    """A part of a cubic curve, which is one itself (de Casteljau)."""

    def blossom(*shares: float) -> list[float]:
        left = points
        for share in shares:
            left = left[:-1] * (1 - share) + left[1:] * share
        found: list[float] = left[0].tolist()
        return found

    corners = ((start, start, start), (start, start, end), (start, end, end), (end, end, end))
    return tuple((round(x, 1), round(y, 1)) for x, y in (blossom(*shares) for shares in corners))
