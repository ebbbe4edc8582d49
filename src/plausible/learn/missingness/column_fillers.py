"""Filling cells from their own column: baselines that know nothing of the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.missingness.column_cells import Mask

__all__ = ["by_default", "by_hot_deck", "by_mean", "by_median", "by_uniform", "from_column"]

#: From the observed values of a column, their weights, and the number of missing ones: values for these.
Filler = Callable[[NDArray[Any], Floats, int], Any]

#: Rows are compared with donors in blocks of at most so many pairs.
_MAX_PAIRS = 2**22


def by_default(table: Table, values: Any) -> Table:
    """One value for all cells, or name -> value; cells of variables that have none stay missing."""
    codes, numbers = table.codes.copy(), table.numbers.copy()
    for name, variable in table.variables.items():
        if isinstance(values, Mapping) and name not in values:
            continue
        value = values[name] if isinstance(values, Mapping) else values
        if variable.is_continuous:
            row = numbers[table.continuous.index(name)]
            row[np.isnan(row)] = _number(name, value)
        else:
            codes[table.discrete.index(name), table.codes[table.discrete.index(name)] < 0] = variable.index(value)
    return replace(table, codes=codes, numbers=numbers)


def by_mean(table: Table) -> Table:
    """The mean of numbers; the most frequent state, the first of several."""
    return _filled(table, _mode, lambda known, weights, num: np.full(num, np.average(known, weights=weights)))


def by_median(table: Table) -> Table:
    """The median of numbers; the most frequent state."""
    return _filled(table, _mode, lambda known, weights, num: np.full(num, _median(known, weights)))


def from_column(table: Table, generator: np.random.Generator) -> Table:
    """A value that some row has, drawn at random by the rows' weights."""

    def draw(known: NDArray[Any], weights: Floats, num: int) -> NDArray[Any]:
        return generator.choice(known, size=num, p=weights / weights.sum())

    return _filled(table, lambda _: draw, draw)


def by_uniform(table: Table, generator: np.random.Generator) -> Table:
    """Any state with the same probability; for numbers, any from the smallest to the largest."""

    def of_states(num_states: int) -> Filler:
        return lambda known, weights, num: generator.integers(num_states, size=num)

    def of_numbers(known: NDArray[Any], _: Floats, num: int) -> Floats:
        return generator.uniform(known.min(), known.max(), size=num)

    return _filled(table, of_states, of_numbers, needs_states=False)


def by_hot_deck(table: Table, generator: np.random.Generator) -> Table:
    """The cells of a donor: of the complete rows that agree best with what the row has, one at random.

    Rows differ by one for each state that differs, and by the distance of numbers in standard deviations. Columns
    without any value stay as they are.
    """
    missing = np.concatenate([table.codes < 0, np.isnan(table.numbers)])
    missing = missing[~missing.all(axis=1)]
    incomplete, donors = np.flatnonzero(missing.any(axis=0)), np.flatnonzero(~missing.any(axis=0))
    if not len(incomplete):
        return table
    if not len(donors):
        raise InvalidArgument("A hot deck needs rows without a missing cell, of which there are none.")
    scale = np.std(table.numbers[:, donors], axis=1)
    numbers = table.numbers / np.where(scale > 0, scale, 1.0)[:, None]
    chosen = np.empty(len(incomplete), dtype=np.intp)
    step = max(1, _MAX_PAIRS // len(donors))
    for start in range(0, len(incomplete), step):
        rows = incomplete[start : start + step]
        distance = _distances(table.codes, numbers, rows, donors)
        ties = distance <= distance.min(axis=1, keepdims=True) + 1e-12
        chosen[start : start + step] = donors[np.argmax(ties * generator.random(ties.shape), axis=1)]
    codes, filled = table.codes.copy(), table.numbers.copy()
    codes[:, incomplete] = np.where(codes[:, incomplete] < 0, codes[:, chosen], codes[:, incomplete])
    filled[:, incomplete] = np.where(np.isnan(filled[:, incomplete]), filled[:, chosen], filled[:, incomplete])
    return replace(table, codes=codes, numbers=filled)


def _distances(codes: NDArray[Any], numbers: Floats, rows: Positions, donors: Positions) -> Floats:
    distance = np.zeros((len(rows), len(donors)))
    for column in codes:
        distance += (column[rows, None] != column[None, donors]) & (column[rows, None] >= 0)
    for column in numbers:
        distance += np.nan_to_num(np.abs(column[rows, None] - column[None, donors]))
    return distance


def _mode(num_states: int) -> Filler:
    return lambda known, weights, num: np.full(num, np.bincount(known, weights, minlength=num_states).argmax())


def _median(known: Floats, weights: Floats) -> float:
    """The middle of the values, each repeated as often as it weighs; between two the mean of them."""
    order = np.argsort(known)
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    low, high = np.searchsorted(below, half, "left"), np.searchsorted(below, half, "right")
    return float(known[order][[low, min(high, len(known) - 1)]].mean())


def _filled(
    table: Table, of_states: Callable[[int], Filler], of_numbers: Filler, *, needs_states: bool = True
) -> Table:
    """The table with each column filled; columns in the order of names, so that draws don't depend on their order."""
    codes, numbers = table.codes.copy(), table.numbers.copy()
    weights = table.row_weights
    for name in sorted(table.variables):
        variable = table.variables[name]
        if variable.is_continuous:
            row = numbers[table.continuous.index(name)]
            _fill(row, _Column(np.isnan(row), weights, of_numbers))
        else:
            row = codes[table.discrete.index(name)]
            _fill(row, _Column(row < 0, weights, of_states(variable.num_states), needs_states))
    return replace(table, codes=codes, numbers=numbers)


class _Column(NamedTuple):
    """What is missing of a column, the rows' weights, and how it is filled."""

    missing: Mask
    weights: Floats
    fill: Filler
    needs_known: bool = True


def _fill(row: NDArray[Any], column: _Column) -> None:
    """Fill a column in place; where nothing is observed, it may say nothing of its cells, which stay missing."""
    missing, weights = column.missing, column.weights
    if not missing.any() or (column.needs_known and not weights[~missing].sum() > 0):
        return
    row[missing] = column.fill(row[~missing], weights[~missing], int(missing.sum()))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"The default of {name!r} must be a number, not {value!r}.") from None
