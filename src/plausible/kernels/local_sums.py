"""Sums over one variable at a time, the others as they are in a row: what pseudolikelihoods are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import kernel, twin_of


class Tables(NamedTuple):
    """Tables over scopes, one after the other on one array, and which of them each variable is in."""

    #: The variables of table t are `scopes[scope_starts[t]:scope_starts[t + 1]]`, their states so far apart.
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    table_starts: Ints
    #: The tables with variable v are `holders[holder_starts[v]:holder_starts[v + 1]]`, its states so far apart there.
    holder_starts: Ints
    holders: Ints
    holder_strides: Ints
    sizes: Ints  # the number of states of each variable


@kernel
def _find_places(tables: Tables, row: Codes, places: Ints) -> None:
    """The place of a row's entry in each table."""
    for table in range(len(tables.table_starts)):
        place = tables.table_starts[table]
        for at in range(tables.scope_starts[table], tables.scope_starts[table + 1]):
            place += tables.strides[at] * row[tables.scopes[at]]
        places[table] = place


@kernel
def _local_sum(tables: Tables, logs: Floats, places: Ints, variable: int, state: int, scores: Floats) -> float:
    """log Σ over the states of a variable of the product of its tables; `scores` become its distribution."""
    size = tables.sizes[variable]
    for other in range(size):
        scores[other] = 0.0
    for link in range(tables.holder_starts[variable], tables.holder_starts[variable + 1]):
        stride = tables.holder_strides[link]
        first = places[tables.holders[link]] - state * stride
        for other in range(size):
            scores[other] += logs[first + other * stride]
    peak = -np.inf
    for other in range(size):
        peak = max(peak, scores[other])
    total = 0.0
    for other in range(size):
        scores[other] = np.exp(scores[other] - peak)
        total += scores[other]
    for other in range(size):
        scores[other] /= total
    return float(peak + np.log(total))


@kernel
def add_local_sums(
    tables: Tables, rows: Codes, weights: Floats, targets: Ints, logs: Floats, expected: Floats, sums: Floats
) -> None:
    """Σ over targets v of log Σ_{x_v} Π φ(x_v, rest of the row) for each row, and its gradient, rows weighted.

    The gradient is added to `expected`; every row must be possible.
    """
    places = np.empty(len(tables.table_starts), dtype=np.int64)
    scores = np.empty(np.max(tables.sizes))
    for number in range(len(rows)):
        _find_places(tables, rows[number], places)
        sums[number] = 0.0
        for variable in targets:
            state = rows[number, variable]
            sums[number] += _local_sum(tables, logs, places, variable, state, scores)
            for link in range(tables.holder_starts[variable], tables.holder_starts[variable + 1]):
                stride = tables.holder_strides[link]
                first = places[tables.holders[link]] - state * stride
                for other in range(tables.sizes[variable]):
                    expected[first + other * stride] += weights[number] * scores[other]


@twin_of(add_local_sums)
def _add_local_sums(
    tables: Tables, rows: Codes, weights: Floats, targets: Ints, logs: Floats, expected: Floats, sums: Floats
) -> None:
    steps = rows[:, tables.scopes].astype(np.int64) * tables.strides
    places = np.add.reduceat(steps, tables.scope_starts[:-1], axis=1) + tables.table_starts
    sums[:] = 0.0
    for variable in targets.tolist():
        states = rows[:, variable].astype(np.int64)
        links = slice(tables.holder_starts[variable], tables.holder_starts[variable + 1])
        strides = tables.holder_strides[links]
        first = places[:, tables.holders[links]] - states[:, None] * strides
        cells = first[:, None, :] + np.arange(tables.sizes[variable])[:, None] * strides
        scores = logs[cells].sum(axis=2)
        peaks = scores.max(axis=1)
        shares = np.exp(scores - peaks[:, None])
        totals = shares.sum(axis=1)
        sums += peaks + np.log(totals)
        shares *= (weights / totals)[:, None]
        spread = np.broadcast_to(shares[:, :, None], cells.shape)
        expected += np.bincount(cells.ravel(), spread.ravel(), minlength=expected.size)
