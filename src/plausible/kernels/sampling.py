"""Weighted samples of a directed network, many at a time: each variable's column is drawn from those before it.

A block of samples is small enough for its columns to stay in the processor's cache. The uniform number for a variable
of a sample is a hash of the seed, the variable and the number of the sample (SplitMix64), so that it matters neither
who draws which block nor in which order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.gibbs import STEP, hashed_uniform
from plausible.kernels.jit import kernel, twin_of

Columns = NDArray[np.int32]

#: Samples drawn at a time.
BLOCK = 2048

# Each variable has a stretch of 2^40 numbers of its own in the sequence of hashes.
_STRETCH = np.uint64(40)


class Lookups(NamedTuple):
    """Tables that are looked up by the states of some variables."""

    #: Table t is indexed by `variables[starts[t]:starts[t + 1]]`, the state of each times its stride.
    starts: Ints
    variables: Ints
    strides: Ints
    #: Where each table begins, and all their numbers.
    table_starts: Ints
    tables: Floats


@kernel
def _find(lookups: Lookups, t: int, states: Columns, count: int, places: Columns) -> None:
    """The place in table t of each sample."""
    places[:count] = 0
    for i in range(lookups.starts[t], lookups.starts[t + 1]):
        column, stride = states[lookups.variables[i]], np.int32(lookups.strides[i])
        for s in range(count):
            places[s] += stride * column[s]


@twin_of(_find)
def _find_in_numpy(lookups: Lookups, t: int, states: Columns, count: int, places: Columns) -> None:
    places[:count] = 0
    for i in range(lookups.starts[t], lookups.starts[t + 1]):
        places[:count] += np.int32(lookups.strides[i]) * states[lookups.variables[i], :count]


@kernel
def _draw_column(thresholds: Floats, width: int, start: np.uint64, rows: Columns, column: Columns, count: int) -> None:
    """Invert the cumulative distribution in each sample's row: state k where the number lies in [F(k - 1), F(k))."""
    for s in range(count):
        uniform = hashed_uniform(start + np.uint64(s) * STEP)
        state = 0
        for k in range(rows[s], rows[s] + width):
            state += uniform >= thresholds[k]
        column[s] = state


@twin_of(_draw_column)
def _draw_column_in_numpy(
    thresholds: Floats, width: int, start: np.uint64, rows: Columns, column: Columns, count: int
) -> None:
    words: Any = start + np.arange(count, dtype=np.uint64) * STEP
    uniforms = hashed_uniform(words)  # which takes arrays as well
    column[:count] = 0
    for k in range(width):
        column[:count] += uniforms >= thresholds[rows[:count] + k]


@kernel
def _add_entries(table: Floats, places: Columns, sums: Floats, count: int) -> None:
    for s in range(count):
        sums[s] += table[places[s]]


@twin_of(_add_entries)
def _add_entries_in_numpy(table: Floats, places: Columns, sums: Floats, count: int) -> None:
    sums[:count] += table[places[:count]]


@kernel
def draw_block(
    draws: Lookups,
    widths: Ints,
    weights: Lookups,
    key: np.uint64,
    first: int,
    count: int,
    states: Columns,
    log_weights: Floats,
    places: Columns,
) -> None:
    """Draw samples `first`, `first + 1` ..., at most `BLOCK` of them, and look up the logarithms of their weights.

    `draws` has for each variable in turn the rows of thresholds F(0), F(1) ..., `widths` of them in a row. `states`
    gets a row for each variable, a column for each sample.
    """
    for v in range(widths.size):
        _find(draws, v, states, count, places)
        start = key + ((np.uint64(v) << _STRETCH) + np.uint64(first)) * STEP
        _draw_column(draws.tables[draws.table_starts[v] :], widths[v], start, places, states[v], count)
    log_weights[:count] = 0.0
    for t in range(weights.starts.size - 1):
        _find(weights, t, states, count, places)
        _add_entries(weights.tables[weights.table_starts[t] :], places, log_weights, count)


@kernel
def _add(groups: Lookups, states: Columns, count: int, weights: Floats, places: Columns) -> None:
    """Add the weights and their squares to the cells that the samples fall into."""
    for t in range(groups.starts.size - 1):
        _find(groups, t, states, count, places)
        cells = groups.tables[groups.table_starts[t] :]
        for s in range(count):
            weight = weights[s]
            cells[places[s]] += weight
            cells[places[s] + 1] += weight * weight


@twin_of(_add)
def _add_in_numpy(groups: Lookups, states: Columns, count: int, weights: Floats, places: Columns) -> None:
    for t in range(groups.starts.size - 1):
        _find_in_numpy(groups, t, states, count, places)
        cells = groups.tables[groups.table_starts[t] :]
        np.add.at(cells, places[:count], weights[:count])
        np.add.at(cells, places[:count] + 1, weights[:count] ** 2)


@kernel
def _exponentiate(logs: Floats, peak: float) -> tuple[float, float]:
    """Replace logarithms by multiples of the largest number; their sum, and that of their squares."""
    total, squares = 0.0, 0.0
    for s in range(logs.size):
        logs[s] = np.exp(logs[s] - peak)
        total += logs[s]
        squares += logs[s] * logs[s]
    return total, squares


@twin_of(_exponentiate)
def _exponentiate_in_numpy(logs: Floats, peak: float) -> tuple[float, float]:
    logs[:] = np.exp(logs - peak)
    return float(logs.sum()), float(np.square(logs).sum())


@kernel
def sum_samples(
    draws: Lookups, widths: Ints, weights: Lookups, groups: Lookups, key: np.uint64, first: int, last: int
) -> tuple[float, float, float]:
    """Draw samples `first` to `last` and add their weights up, as multiples of the largest.

    Returns the logarithm of the largest weight (-inf if all are zero), the sum of the weights and that of their
    squares. The tables of `groups` get both sums for each cell, one after the other, so their strides are even.
    """
    states = np.empty((widths.size, BLOCK), dtype=np.int32)
    scaled, places = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32)
    peak, total, squares = -np.inf, 0.0, 0.0
    for start in range(first, last, BLOCK):
        count = min(BLOCK, last - start)
        draw_block(draws, widths, weights, key, start, count, states, scaled, places)
        highest = np.max(scaled[:count])
        if highest == -np.inf:
            continue
        if highest > peak:
            shrink = np.exp(peak - highest)
            total, squares, peak = total * shrink, squares * shrink * shrink, highest
            groups.tables[0::2] *= shrink
            groups.tables[1::2] *= shrink * shrink
        more, more_squares = _exponentiate(scaled[:count], peak)
        total, squares = total + more, squares + more_squares
        _add(groups, states, count, scaled, places)
    return peak, total, squares
