"""Laws of drawings, checked on the marks of a picture alone: boxes as corners, curves as many points."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from plausible.plotting import Box, Part, Path, Picture


def corners(part: Part) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a node, by its first box."""
    box = next(item for item in part.items if isinstance(item, Box))
    return box.x, box.y, box.x + box.width, box.y + box.height


def overlapping(picture: Picture) -> list[tuple[str, str]]:
    """The pairs of nodes whose boxes share more than an edge."""
    found = []
    for one, other in combinations(picture.of_kind("node"), 2):
        left, top, right, bottom = corners(one)
        left_, top_, right_, bottom_ = corners(other)
        if min(right, right_) - max(left, left_) > 0 and min(bottom, bottom_) - max(top, top_) > 0:
            found.append((one.name, other.name))
    return found


def points_of(part: Part) -> np.ndarray:
    """Many points of the lines of an edge, two where it has a label, by De Casteljau's construction."""
    share = np.linspace(0, 1, 33)[:, None]
    pieces = []
    for line in (item for item in part.items if isinstance(item, Path) and item.is_curved):
        controls = np.array(line.points)
        for start in range(0, len(controls) - 1, 3):
            rows = [np.broadcast_to(point, (33, 2)) for point in controls[start : start + 4]]
            while len(rows) > 1:
                rows = [(1 - share) * before + share * after for before, after in pairwise(rows)]
            pieces.append(rows[0])
    return np.concatenate(pieces)


def ends_of(part: Part) -> tuple[str, str]:
    """The names at the two ends of an edge."""
    for symbol in (" <-> ", " o-> ", " o-o ", " -o ", " -> ", " - "):
        tail, found, head = part.name.partition(symbol)
        if found:
            return tail, head
    raise AssertionError(part.name)


def under_foreign_boxes(picture: Picture) -> list[tuple[str, str]]:
    """The edges that pass under a box that is not at one of their ends."""
    boxes = {part.name: corners(part) for part in picture.of_kind("node")}
    found = []
    for edge in picture.of_kind("edge"):
        x, y = points_of(edge).T
        for name, (left, top, right, bottom) in boxes.items():
            if name not in ends_of(edge) and bool(((x > left) & (x < right) & (y > top) & (y < bottom)).any()):
                found.append((edge.name, name))
    return found


def rising(picture: Picture) -> list[str]:
    """The arrows whose head lies above the lower end of their tail's box."""
    boxes = {part.name: corners(part) for part in picture.of_kind("node")}
    return [
        edge.name
        for edge in picture.of_kind("edge")
        if " -> " in edge.name and boxes[ends_of(edge)[1]][1] < boxes[ends_of(edge)[0]][3]
    ]


def loose(picture: Picture, most: float = 14.0) -> list[str]:
    """The edges of which an end is further from its box than an arrow's head is long."""
    boxes = {part.name: corners(part) for part in picture.of_kind("node")}
    found = []
    for edge in picture.of_kind("edge"):
        points = points_of(edge)
        for name, (x, y) in zip(ends_of(edge), points[[0, -1]], strict=True):
            left, top, right, bottom = boxes[name]
            aside = max(left - x, 0, x - right)
            away = max(top - y, 0, y - bottom)
            if np.hypot(aside, away) > most:
                found.append(edge.name)
    return found
