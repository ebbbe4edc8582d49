"""Clique trees on flat arrays: load the tables, pass messages up and down, read off marginals.

A *view* lays a small array over a table: the table's axes, adjacent ones merged, and for each the stride in the small
array, 0 where it has no such axis. View v is `views[view_starts[v]:view_starts[v + 1]]`: all sizes, then all strides.

The axes of a clique's table begin with those of its separator from the parent, so it is `rows x columns` with a row
for each separator state: the message up is the sum (or maximum) of each row, and the way down scales each row.

A row of `cliques`: table start, rows, columns, parent (-1 for a root), message start, view of the separator on the
parent's table. Children come before parents. A message takes twice its rows: as it is, then as the parent gets it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = [
    "accumulate",
    "calibrate",
    "collect",
    "draw",
    "fill",
    "load",
    "multiply",
    "observe",
    "read_marginals",
    "run_rows",
    "trace_back",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
CodeTable = NDArray[np.int32]
FloatTable = NDArray[np.float64]
IntTable = NDArray[np.int64]

# A table with many children is rescaled now and then on the way up: products of scaled messages can still underflow.
_RESCALE_EVERY = 8
_SMALL_TABLE = 1024


@kernel
def _advance(counters: Ints, view: Ints, depth: int, offset: int) -> int:
    """Step the odometer over the outer `depth` axes of a view; returns the offset in the small array."""
    axes = view.size // 2
    for axis in range(depth - 1, -1, -1):
        counters[axis] += 1
        offset += view[axes + axis]
        if counters[axis] < view[axis]:
            return offset
        offset -= counters[axis] * view[axes + axis]
        counters[axis] = 0
    return offset


@kernel
def multiply(table: Floats, small: Floats, view: Ints, counters: Ints) -> None:
    """table *= small, laid over it by `view`."""
    axes = view.size // 2
    inner, step = view[axes - 1], view[2 * axes - 1]
    middle, jump = (view[axes - 2], view[2 * axes - 2]) if axes > 1 else (1, 0)
    counters[:axes] = 0
    place, offset = 0, 0
    while place < table.size:
        for j in range(middle):
            base = offset + j * jump
            if step == 0:
                value = small[base]
                for i in range(inner):
                    table[place + i] *= value
            elif step == 1:
                for i in range(inner):
                    table[place + i] *= small[base + i]
            else:
                for i in range(inner):
                    table[place + i] *= small[base + i * step]
            place += inner
        offset = _advance(counters, view, axes - 2, offset)


@kernel
def fill(table: Floats, small: Floats, view: Ints, counters: Ints) -> None:
    """table = small, laid over it by `view`."""
    axes = view.size // 2
    inner, step = view[axes - 1], view[2 * axes - 1]
    middle, jump = (view[axes - 2], view[2 * axes - 2]) if axes > 1 else (1, 0)
    counters[:axes] = 0
    place, offset = 0, 0
    while place < table.size:
        for j in range(middle):
            base = offset + j * jump
            if step == 0:
                table[place : place + inner] = small[base]
            else:
                for i in range(inner):
                    table[place + i] = small[base + i * step]
            place += inner
        offset = _advance(counters, view, axes - 2, offset)


@kernel
def accumulate(table: Floats, small: Floats, view: Ints, counters: Ints) -> None:
    """small += the sum of the table over the axes that `small` does not have."""
    axes = view.size // 2
    inner, step = view[axes - 1], view[2 * axes - 1]
    middle, jump = (view[axes - 2], view[2 * axes - 2]) if axes > 1 else (1, 0)
    counters[:axes] = 0
    place, offset = 0, 0
    while place < table.size:
        for j in range(middle):
            base = offset + j * jump
            if step == 0:
                total = 0.0
                for i in range(inner):
                    total += table[place + i]
                small[base] += total
            elif step == 1:
                for i in range(inner):
                    small[base + i] += table[place + i]
            else:
                for i in range(inner):
                    small[base + i * step] += table[place + i]
            place += inner
        offset = _advance(counters, view, axes - 2, offset)


@kernel
def _rescale(values: Floats) -> float:
    """Divide by the largest absolute value and return it; zeros stay as they are."""
    peak = 0.0
    for value in values:
        peak = max(peak, abs(value))
    if peak > 0.0:
        for i in range(values.size):
            values[i] /= peak
    return peak


@kernel
def load(
    cliques: Ints,
    loads: Ints,
    load_starts: Ints,
    views: Ints,
    view_starts: Ints,
    sources: Floats,
    tables: Floats,
    counters: Ints,
) -> None:
    """Multiply the factors into the tables of their cliques.

    `loads[load_starts[c]:load_starts[c + 1]]` has a row (start in `sources`, size, view) for each factor of clique c.
    """
    for c in range(cliques.shape[0]):
        table = tables[cliques[c, 0] : cliques[c, 0] + cliques[c, 1] * cliques[c, 2]]
        if load_starts[c] == load_starts[c + 1]:
            table[:] = 1.0
        for k in range(load_starts[c], load_starts[c + 1]):
            source, size, view = loads[k]
            shape = views[view_starts[view] : view_starts[view + 1]]
            if k == load_starts[c]:
                fill(table, sources[source : source + size], shape, counters)
            else:
                multiply(table, sources[source : source + size], shape, counters)


@kernel
def collect(
    cliques: Ints,
    views: Ints,
    view_starts: Ints,
    tables: Floats,
    messages: Floats,
    counters: Ints,
    num_received: Ints,
    maximize: bool,
) -> float:
    """Pass messages to the roots; returns the log of the sum (or of the maximum) of the product, -inf for zero."""
    log_total = 0.0
    num_received[:] = 0
    for c in range(cliques.shape[0]):
        start, rows, columns, parent, message, view = cliques[c]
        place = start
        for row in range(rows):
            total = 0.0
            if maximize:
                for i in range(place, place + columns):
                    total = max(total, tables[i])
            else:
                for i in range(place, place + columns):
                    total += tables[i]
            messages[message + row] = total
            messages[message + rows + row] = total
            place += columns
        scaled = messages[message + rows : message + 2 * rows]
        log_total += np.log(_rescale(scaled))
        if parent >= 0:
            above = tables[cliques[parent, 0] : cliques[parent, 0] + cliques[parent, 1] * cliques[parent, 2]]
            multiply(above, scaled, views[view_starts[view] : view_starts[view + 1]], counters)
            num_received[parent] += 1
            if above.size <= _SMALL_TABLE or num_received[parent] % _RESCALE_EVERY == 0:
                log_total += np.log(_rescale(above))
    return log_total


@kernel
def calibrate(
    cliques: Ints,
    keeps: Ints,
    views: Ints,
    view_starts: Ints,
    tables: Floats,
    messages: Floats,
    column_sums: Floats,
    column_starts: Ints,
    counters: Ints,
) -> None:
    """After `collect`: pass messages from the roots; leaves each clique's marginal over its columns in `column_sums`.

    The tables of the cliques flagged in `keeps`, which must include all with children, end as normalised beliefs.
    """
    column_sums[:] = 0.0
    for c in range(cliques.shape[0] - 1, -1, -1):
        start, rows, columns, parent, message, view = cliques[c]
        ratio = messages[message + rows : message + 2 * rows]
        ratio[:] = 0.0
        if parent < 0:
            ratio[0] = 1.0
        else:
            above = tables[cliques[parent, 0] : cliques[parent, 0] + cliques[parent, 1] * cliques[parent, 2]]
            accumulate(above, ratio, views[view_starts[view] : view_starts[view + 1]], counters)
        for row in range(rows):
            total = messages[message + row]
            ratio[row] = ratio[row] / total if total != 0.0 else 0.0
        marginal = column_sums[column_starts[c] : column_starts[c] + columns]
        place = start
        for row in range(rows):
            factor = ratio[row]
            if keeps[c]:
                for i in range(columns):
                    tables[place + i] *= factor
                    marginal[i] += tables[place + i]
            elif factor != 0.0:
                for i in range(columns):
                    marginal[i] += tables[place + i] * factor
            place += columns


@kernel
def trace_back(
    cliques: Ints, axes: Ints, axis_starts: Ints, num_separator_axes: Ints, sizes: Ints, tables: Floats, states: Ints
) -> None:
    """After a maximising `collect`: the states of a best assignment, the first in each row where there are several.

    `axes[axis_starts[c]:axis_starts[c + 1]]` are the variables of clique c in axis order, its separator first.
    """
    for c in range(cliques.shape[0] - 1, -1, -1):
        start, _, columns, _, _, _ = cliques[c]
        first, last = axis_starts[c], axis_starts[c + 1]
        row = 0
        for k in range(first, first + num_separator_axes[c]):
            row = row * sizes[axes[k]] + states[axes[k]]
        place = start + row * columns
        best = np.argmax(tables[place : place + columns])
        for k in range(last - 1, first + num_separator_axes[c] - 1, -1):
            states[axes[k]] = best % sizes[axes[k]]
            best //= sizes[axes[k]]


@kernel
def read_marginals(
    cliques: Ints,
    readings: Ints,
    views: Ints,
    view_starts: Ints,
    column_sums: Floats,
    column_starts: Ints,
    state_starts: Ints,
    marginals: Floats,
    counters: Ints,
) -> None:
    """After `calibrate`: the marginal of variable v in `marginals[state_starts[v]:state_starts[v + 1]]`."""
    marginals[:] = 0.0
    for v in range(readings.shape[0]):
        clique, view = readings[v]
        sums = column_sums[column_starts[clique] : column_starts[clique] + cliques[clique, 2]]
        shape = views[view_starts[view] : view_starts[view + 1]]
        accumulate(sums, marginals[state_starts[v] : state_starts[v + 1]], shape, counters)


@kernel
def observe(
    row: Codes,
    cliques: Ints,
    findings: Ints,
    views: Ints,
    view_starts: Ints,
    tables: Floats,
    weights: Floats,
    counters: Ints,
) -> None:
    """Multiply the indicators of observed states, -1 for none, into the tables; `weights` is scratch of zeros."""
    for v in range(row.size):
        if row[v] >= 0:
            clique, view = findings[v]
            start = cliques[clique, 0]
            table = tables[start : start + cliques[clique, 1] * cliques[clique, 2]]
            weights[row[v]] = 1.0
            multiply(table, weights, views[view_starts[view] : view_starts[view + 1]], counters)
            weights[row[v]] = 0.0


@kernel
def run_rows(
    rows: CodeTable,
    cliques: Ints,
    findings: Ints,
    keeps: Ints,
    views: Ints,
    view_starts: Ints,
    loaded: Floats,
    tables: Floats,
    messages: Floats,
    column_sums: Floats,
    column_starts: Ints,
    counters: Ints,
    num_received: Ints,
    weights: Floats,
    reading: Ints,
    log_totals: Floats,
    answers: FloatTable,
    row_weights: Floats,
    totals: Floats,
) -> None:
    """One inference for each row of observed states.

    `loaded` are the tables with the factors in them. `reading` is (clique, view) of a target whose marginals go to
    the rows of `answers`, or empty. Where `totals` is not empty, the beliefs of all cliques, times the row's weight,
    are added to it. A row of probability zero leaves zeros and its log total is -inf.
    """
    for r in range(rows.shape[0]):
        tables[:] = loaded
        observe(rows[r], cliques, findings, views, view_starts, tables, weights, counters)
        log_totals[r] = collect(cliques, views, view_starts, tables, messages, counters, num_received, False)
        if log_totals[r] == -np.inf or (reading.size == 0 and totals.size == 0):
            continue
        calibrate(cliques, keeps, views, view_starts, tables, messages, column_sums, column_starts, counters)
        if reading.size:
            sums = column_sums[column_starts[reading[0]] : column_starts[reading[0]] + cliques[reading[0], 2]]
            accumulate(sums, answers[r], views[view_starts[reading[1]] : view_starts[reading[1] + 1]], counters)
        if totals.size:
            for i in range(totals.size):
                totals[i] += tables[i] * row_weights[r]


@kernel
def draw(
    cliques: Ints,
    axes: Ints,
    axis_starts: Ints,
    num_separator_axes: Ints,
    sizes: Ints,
    tables: Floats,
    messages: Floats,
    levels: FloatTable,
    states: IntTable,
) -> None:
    """After a summing `collect`: assignments drawn from the product, one for each row of `levels` in [0, 1).

    From the roots down, the columns of each clique are drawn from its row for the separator's states; the row's sum is
    its message.
    """
    for r in range(levels.shape[0]):
        for c in range(cliques.shape[0] - 1, -1, -1):
            start, _, columns, _, message, _ = cliques[c]
            first, last = axis_starts[c], axis_starts[c + 1]
            row = 0
            for k in range(first, first + num_separator_axes[c]):
                row = row * sizes[axes[k]] + states[r, axes[k]]
            place = start + row * columns
            left = levels[r, c] * messages[message + row]
            chosen = -1
            for i in range(columns):
                if tables[place + i] > 0.0:
                    chosen = i
                    left -= tables[place + i]
                    if left < 0.0:
                        break
            for k in range(last - 1, first + num_separator_axes[c] - 1, -1):
                states[r, axes[k]] = chosen % sizes[axes[k]]
                chosen //= sizes[axes[k]]
