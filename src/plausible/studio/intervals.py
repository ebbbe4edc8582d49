"""Columns of numbers in intervals: where a page wants them cut, and what comes of it before anything is learned."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST
from plausible.data import Discretizer, Table
from plausible.data.discretization_cuts import DiscretizedColumn
from plausible.errors import InvalidArgument
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.variables import Variable

#: No more intervals are made of a column; so many bars a histogram has.
MOST_INTERVALS: Final = 64
_BARS: Final = 24


def are_numbers(variable: Variable) -> bool:
    """Whether a column holds numbers to cut: any, or so many whole ones that people may want them in intervals."""
    if variable.is_continuous:
        return True
    return variable.num_states > 2 and all(type(state) in (int, float) for state in variable.states)


def cuts(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Where a column would be cut, how many rows fall into each interval, and how its numbers lie."""
    name = asked.text("name")
    table = desk.table(asked.text("table"))
    column = _cut(table, name, asked.inner("intervals"))
    numbers = _numbers(table, name)
    places = column.encode(numbers)
    counts = np.bincount(places[places >= 0], minlength=len(column.intervals)).tolist()
    finite = numbers[np.isfinite(numbers)]
    return {
        "intervals": [
            {"label": one.label, "count": count} for one, count in zip(column.intervals, counts, strict=True)
        ],
        "missing": int((places < 0).sum()),
        "cuts": list(column.cuts),
        "low": finite.min(),
        "high": finite.max(),
        "histogram": _histogram(finite),
    }


def in_intervals(table: Table, asked: Asked) -> Table:
    """The table with intervals for numbers, of the columns that `intervals` tells how to cut."""
    plans = Asked(asked.mapping("intervals", {}))
    columns = [_cut(table, name, plans.inner(name)) for name in plans.fields if name in table.variables]
    return Discretizer(tuple(columns)).encode(table) if columns else table


def _cut(table: Table, name: str, asked: Asked) -> DiscretizedColumn:
    """A column cut by a method into so many intervals, by what they tell about another column, or at known places."""
    if name not in table.variables or not are_numbers(table.variables[name]):
        raise InvalidArgument(f"{name!r} is no column of numbers.")
    method = asked.text("method")
    if method == "at":
        known = [asked.number("cut", cut) for cut in asked.items("cuts")]
        return Discretizer.at({name: known[: MOST_INTERVALS - 1]})[name]
    if method == "mdl":
        return Discretizer.fit(table, method, columns=[name], target=asked.text("target"))[name]
    bins = asked.whole("bins")
    if not 2 <= bins <= MOST_INTERVALS:
        raise InvalidArgument(f"A column is cut into 2 to {MOST_INTERVALS} intervals, not {bins}.")
    return Discretizer.fit(table, method, bins, columns=[name])[name]


def _numbers(table: Table, name: str) -> Floats:
    """The numbers of a column, NaN where missing."""
    variable = table.variables[name]
    if variable.is_continuous:
        return table.column(name)
    return np.asarray(np.array([*variable.states, np.nan], dtype=np.float64)[table.column(name)])


def _histogram(finite: Floats) -> list[int]:
    """How many numbers lie in each of some parts of the way from the least to the largest, all of the same width."""
    scaled = finite / max(np.abs(finite).max(), SMALLEST)  # the way itself may be longer than the largest number
    way = np.ptp(scaled)
    shares = (scaled - scaled.min()) / way if way > 0 else np.full(len(scaled), 0.5)
    bars: list[int] = np.bincount(np.minimum((shares * _BARS).astype(np.intp), _BARS - 1), minlength=_BARS).tolist()
    return bars
