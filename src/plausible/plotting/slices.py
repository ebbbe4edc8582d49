"""Slices of time side by side: nodes such as "rain[3]" stand in a column for each time and a row for each name.

In the template of a dynamic network "rain[-1]" is one step before "rain", which then stands for time t.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.plotting.geometry import Size
from plausible.plotting.layers import Link, downward_order

_INDEXED = re.compile(r"(.+)\[(-?\d+)\]", re.DOTALL)
#: What lies between columns and rows, and how far a plate reaches beyond its boxes and above them for its label.
_COLUMN_GAP, _ROW_GAP = 64.0, 46.0


class Slices(NamedTuple):
    """Where the boxes of each time stand."""

    centres: Floats
    times: dict[str, list[int]]  # What a time is called -> its nodes


def slices_of(names: Sequence[str], sizes: Sequence[Size], links: Sequence[Link]) -> Slices | None:
    """The slices that the names tell of; None where some name has no time, or all have the same."""
    found = [_INDEXED.fullmatch(name) for name in names]
    bases = [match[1] if match else name for match, name in zip(found, names, strict=True)]
    times = [int(match[2]) if match else 0 for match in found]
    is_template = min(times, default=0) < 0
    if len(set(times)) < 2 or len(set(zip(bases, times, strict=True))) < len(names):
        return None
    if not is_template and None in found:
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
    members = {_called(time, is_template): [node for node, own in enumerate(times) if own == time] for time in columns}
    return Slices(np.column_stack([x, y]), members)


def _called(time: int, is_template: bool) -> str:
    """What stands above a slice."""
    if not is_template:
        return f"t = {time}"
    return f"t − {-time}" if time < 0 else f"t + {time}" if time else "t"


def _middles(place: np.ndarray, extent: Floats, gap: float) -> Floats:
    """The middle of each box along one direction, where each place is as wide as its widest box."""
    widest = np.zeros(int(place.max()) + 1)
    np.maximum.at(widest, place, extent)
    return np.asarray((np.cumsum(widest + gap) - gap - widest / 2)[place])
