"""Boxes at given places: scaled until none overlaps, with edges that go straight or bend round what is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.plotting.geometry import Curve, Size, towards
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout

#: What boxes keep free beside and below each other.
_ASIDE, _BELOW = 30.0, 44.0
#: Places that need more than so many times the area of the boxes are not kept.
_MOST_AREA = 60.0
#: Places that lie further apart than so many times what boxes need are brought nearer.
_MOST_APART = 4.0
#: What rounded places may lack of the room that boxes need, as a share.
_ROUNDING = 0.002
#: What is too little to overlap by: places are rounded to less.
_SLACK = 0.06
#: Points of a curve that are looked at, and the bends that are tried, in the order of trying.
_SAMPLES = np.linspace(0.0, 1.0, 41)
_BENDS = [0.0, *(sign * size for size in range(24, 480, 24) for sign in (1.0, -1.0))]
#: How far parallel edges bend, and what a curve keeps free of other boxes.
_PARALLEL, _CLEAR = 22.0, 5.0


def kept(sizes: Sequence[Size], places: Sequence[tuple[float, float]]) -> Floats | None:
    """The places as they are, or scaled by one number where boxes would overlap or lie far apart.

    None where the number that frees all boxes of each other is out of proportion.
    """
    points = np.array(places, dtype=float).reshape(-1, 2)
    boxes = np.array([size[:2] for size in sizes]).reshape(-1, 2)
    first, second = np.triu_indices(len(points), 1)
    needed = (boxes[first] + boxes[second]) / 2 + (_ASIDE, _BELOW)
    apart = np.abs(points[first] - points[second])
    with np.errstate(divide="ignore"):
        scale = float((needed / apart).min(axis=1).max(initial=0.0))
    if not np.isfinite(scale) or not np.isfinite(points).all():
        return None
    if scale < 1.0 + _ROUNDING:
        scale = min(1.0, _MOST_APART * scale) or 1.0
    extent = np.ptp(points * scale, axis=0) + boxes.max(axis=0)
    if extent.prod() > _MOST_AREA * boxes.prod(axis=1).sum():
        return None
    return np.round(points * scale, 1)


def free_place(sizes: Sequence[Size], places: Floats, box: int, wanted: tuple[float, float]) -> tuple[float, float]:
    """The place nearest to where a box is wanted at which it leaves all others their room."""
    extents = np.array([size[:2] for size in sizes]).reshape(-1, 2)
    others = np.arange(len(sizes)) != box
    reach = (extents[others] + extents[box]) / 2 + (_ASIDE, _BELOW)
    low, high = places[others] - reach, places[others] + reach
    # The nearest free point is the one wanted, or lies on edges of what is not free, in line with it or where two meet.
    columns, rows = (np.unique([wanted[axis], *low[:, axis], *high[:, axis]]) for axis in (0, 1))
    points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    taken = np.zeros(len(points), dtype=bool)
    for least, most in zip(low + _SLACK, high - _SLACK, strict=True):
        taken |= ((points > least) & (points < most)).all(axis=1)
    free = points[~taken]
    nearest = free[np.lexsort((free[:, 0], free[:, 1], np.hypot(*(free - wanted).T).round(6)))[0]]
    return round(float(nearest[0]), 1), round(float(nearest[1]), 1)


def lay_out_at(centres: Floats, sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """The layout of boxes whose centres are known."""
    twins = Counter(frozenset(link[:2]) for link in links)
    seen: Counter[frozenset[int]] = Counter()
    curves = []
    for link in links:
        pair = frozenset(link[:2])
        bend = _PARALLEL * (2 * seen[pair] - twins[pair] + 1) * (1 if link.tail < link.head else -1)
        seen[pair] += 1
        curves.append(curve_between(centres, sizes, link, bend))
    return framed(centres, sizes, curves)


def framed(centres: Floats, sizes: Sequence[Size], curves: Sequence[Curve]) -> Layout:
    """The layout of boxes and curves that are there, moved to where its corner is the origin."""
    half = np.array([size[:2] for size in sizes]) / 2
    reach = [point for curve in curves for point in curve]
    low = np.min([*(centres - half), *reach], axis=0)
    high = np.max([*(centres + half), *reach], axis=0)
    width, height = (high - low).tolist()
    return Layout(centres, tuple(curves), width, height, 0).moved(*(-low).tolist())


def curve_between(centres: Floats, sizes: Sequence[Size], link: Link, own: float = 0.0) -> Curve:
    """The curve that bends least of those that pass under no other box; a straight one where none does."""
    half = np.array([size[:2] for size in sizes]) / 2
    start, end = centres[link.tail], centres[link.head]
    others = [node for node in range(len(centres)) if node not in link[:2]]
    low, high = centres[others] - half[others] - _CLEAR, centres[others] + half[others] + _CLEAR
    first: Curve = ()
    for bend in _BENDS:
        curve = _bent(start, end, sizes[link.tail], sizes[link.head], own + bend)
        first = first or curve
        points = _points(np.array(curve))
        inside = (points[:, None] > low) & (points[:, None] < high)
        if not inside.all(axis=2).any():
            return curve
    return first


def _bent(start: Floats, end: Floats, tail: Size, head: Size, bend: float) -> Curve:
    """From outline to outline, by so much aside of the straight line."""
    along = end - start
    length = max(float(np.hypot(*along)), 1e-9)
    aside = np.array([-along[1], along[0]]) / length * bend * 4 / 3
    near, far = start + along / 3 + aside, end - along / 3 + aside
    begin = start + towards(tail, near - start)
    finish = end + towards(head, far - end)
    straight = (finish - begin) / 3
    points = (begin, begin + straight, finish - straight, finish) if not bend else (begin, near, far, finish)
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in points)


def _points(curve: Floats) -> Floats:
    """Points on a cubic curve, in an array with a row for each."""
    t = _SAMPLES[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
    return np.asarray((weights[:, :, None] * curve).sum(axis=1))
