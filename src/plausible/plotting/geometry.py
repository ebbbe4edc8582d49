"""Points, curves, and the outlines of boxes."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats

Point: TypeAlias = tuple[float, float]
#: A smooth curve of cubic pieces: where it begins, then for each piece two points that bend it and its end (Bézier).
Curve: TypeAlias = tuple[Point, ...]

#: The shares of their widths that edges may touch, by which outlines are told apart: from the first on rectangles, up
#: to the second rhombuses, between them ovals.
_RECTANGLE, _RHOMBUS = 0.6, 0.2


class Size(NamedTuple):
    """The width and height of a box, and how much of its width edges may touch."""

    width: float
    height: float
    port: float = 0.7


def below_centre(size: Size, aside: float) -> float:
    """How far below its centre the outline of a box is, so far aside.

    >>> below_centre(Size(40, 20), 10), below_centre(Size(40, 20, 0.1), 10)
    (10.0, 5.0)
    """
    share = min(abs(aside) / (size.width / 2), 1.0)
    if size.port >= _RECTANGLE:
        return size.height / 2
    return size.height / 2 * (1.0 - share if size.port <= _RHOMBUS else (1.0 - share**2) ** 0.5)


def towards(size: Size, direction: Floats) -> Floats:
    """Where the line from the centre of a box in a direction meets its outline.

    >>> towards(Size(40, 20), np.array([5.0, 5.0])).tolist()
    [10.0, 10.0]
    """
    share = np.abs(direction) / (size.width / 2, size.height / 2)
    reach = float(np.hypot(*share))
    if size.port >= _RECTANGLE:
        reach = float(share.max())
    elif size.port <= _RHOMBUS:
        reach = float(share.sum())
    return np.asarray(direction / max(reach, 1e-9))
