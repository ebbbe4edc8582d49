"""Slices of time side by side: nodes such as "rain[3]" stand in a column for each time and a row for each name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.plotting.geometry import Size
from plausible.plotting.layers import Link, downward_order

_INDEXED = re.compile(r"(.+)\[(\d+)\]", re.DOTALL)
#: What lies between columns and rows, and how far a plate reaches beyond its boxes and above them for its label.
_COLUMN_GAP, _ROW_GAP = 64.0, 46.0


class Slices(NamedTuple):
    """Where the boxes of each time stand."""

    centres: Floats
    times: dict[int, list[int]]  # Time -> its nodes


def slices_of(names: Sequence[str], sizes: Sequence[Size], links: Sequence[Link]) -> Slices | None:
    """The slices that the names tell of; None where some name has no time, or all have the same."""
    found = [_INDEXED.fullmatch(name) for name in names]
    if not found or None in found:
        return None
    bases = [match[1] for match in found if match]
    times = [int(match[2]) for match in found if match]
    if len(set(times)) < 2:
        return None
    rows = {base: place for place, base in enumerate(dict.fromkeys(bases))}
    inside = [Link(rows[bases[a]], rows[bases[b]], down) for a, b, down in links if times[a] == times[b]]
    across = [Link(rows[bases[a]], rows[bases[b]], down) for a, b, down in links if bases[a] != bases[b]]
    order = downward_order(len(rows), across)
    if any(order[tail] > order[head] for tail, head, goes_down in inside if goes_down):
        order = downward_order(len(rows), inside)
    columns = {time: place for place, time in enumerate(sorted(set(times)))}
    row, column = np.array([order[rows[base]] for base in bases]), np.array([columns[time] for time in times])
    x = _middles(column, np.array([size.width for size in sizes]), _COLUMN_GAP)
    y = _middles(row, np.array([size.height for size in sizes]), _ROW_GAP)
    members = {time: [node for node, own in enumerate(times) if own == time] for time in columns}
    return Slices(np.column_stack([x, y]), members)


def _middles(place: np.ndarray, extent: Floats, gap: float) -> Floats:
    """The middle of each box along one direction, where each place is as wide as its widest box."""
    widest = np.zeros(int(place.max()) + 1)
    np.maximum.at(widest, place, extent)
    return np.asarray((np.cumsum(widest + gap) - gap - widest / 2)[place])
