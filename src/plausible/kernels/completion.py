"""Gibbs draws of the missing cells of a table, one cell at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.kernels.jit import kernel


class FamilyArrays(NamedTuple):
    """The families of a network, whose tables lie one after the other; family v is that of variable v."""

    sizes: Ints  # The number of states of each variable
    #: Where the table of each family begins, and which row of all rows is its first.
    table_starts: Ints
    row_starts: Ints
    #: The variables of family f are `axes[axis_starts[f]:axis_starts[f + 1]]`, with the strides of its table.
    axis_starts: Ints
    axes: Ints
    strides: Ints
    #: The families that variable v is in, its own first.
    touch_starts: Ints
    touched: Ints
    touch_strides: Ints  # The strides of variable v in these


@kernel
def _place(families: FamilyArrays, family: int, codes: Codes) -> int:
    """Where the entry of a complete row is in the table of a family."""
    place = 0
    for axis in range(families.axis_starts[family], families.axis_starts[family + 1]):
        place += codes[families.axes[axis]] * families.strides[axis]
    return place


@kernel
def _weigh(
    families: FamilyArrays,
    tables: Floats,
    totals: Floats,
    step: float,
    codes: Codes,
    is_set: Flags,
    v: int,
    weights: Floats,
) -> float:
    """Write Π entry / total over the families of a variable for each of its states, without the row; their sum."""
    num_states, peak, old = families.sizes[v], -np.inf, codes[v]
    for state in range(num_states):
        weights[state] = 0.0
    for touch in range(families.touch_starts[v], families.touch_starts[v + 1]):
        family, stride = families.touched[touch], families.touch_strides[touch]
        if is_set[family]:
            continue
        base = _place(families, family, codes) - old * stride
        for state in range(num_states):
            place = base + state * stride
            row = families.row_starts[family] + place // families.sizes[family]
            own_row = families.row_starts[family] + (base + old * stride) // families.sizes[family]
            entry = tables[families.table_starts[family] + place] - (step if state == old else 0.0)
            weights[state] += np.log(entry) - np.log(totals[row] - (step if row == own_row else 0.0))
    for state in range(num_states):
        peak = max(peak, weights[state])
    total = 0.0
    for state in range(num_states):
        weights[state] = np.exp(weights[state] - peak)
        total += weights[state]
    return total


@kernel
def _move(
    families: FamilyArrays,
    tables: Floats,
    totals: Floats,
    step: float,
    codes: Codes,
    is_set: Flags,
    v: int,
) -> None:
    """Add `step` to the entries of a complete row in the families of a variable."""
    for touch in range(families.touch_starts[v], families.touch_starts[v + 1]):
        family = families.touched[touch]
        if not is_set[family]:
            place = _place(families, family, codes)
            tables[families.table_starts[family] + place] += step
            totals[families.row_starts[family] + place // families.sizes[family]] += step


@kernel(steps=lambda *arguments: 30 * arguments[-1].size)
def gibbs_cells(
    families: FamilyArrays,
    tables: Floats,
    totals: Floats,
    step: float,
    codes: Codes,
    is_set: Flags,
    cells: Ints,
    levels: Floats,
) -> None:
    """Draw cells (row, variable) one after the other, each given all others, into the complete rows `codes`.

    Row m counts `step` in the tables: with step one these are α + N, and a cell is drawn with all parameters summed
    out; with step zero they are probabilities, and totals are ones. `levels` are uniform numbers, one for each cell.
    Families that `is_set` marks in a row say nothing about it.
    """
    weights = np.empty(np.max(families.sizes))
    for c in range(cells.shape[0]):
        m, v = cells[c]
        total = _weigh(families, tables, totals, step, codes[m], is_set[m], v, weights)
        left, chosen = levels[c] * total, 0
        for state in range(families.sizes[v]):
            if weights[state] > 0:
                chosen = state
                if left < weights[state]:
                    break
                left -= weights[state]
        if chosen != codes[m, v]:
            if step > 0:
                _move(families, tables, totals, -step, codes[m], is_set[m], v)
            codes[m, v] = chosen
            if step > 0:
                _move(families, tables, totals, step, codes[m], is_set[m], v)
