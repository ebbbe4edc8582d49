"""Missing cells of a table: Gibbs draws, one cell at a time, and expected counts of joint states.

Expected counts are for missing cells that come in parts which are independent given the observed ones: `parts` are the
`PartArrays` of `learn.incomplete.missing_parts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.kernels.gibbs import drawn_by_logs
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
) -> None:
    """Write log Π entry / total over the families of a variable for each of its states, without the row."""
    num_states, old = families.sizes[v], codes[v]
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
        _weigh(families, tables, totals, step, codes[m], is_set[m], v, weights)
        chosen = drawn_by_logs(weights, families.sizes[v], levels[c])
        if chosen != codes[m, v]:
            if step > 0:
                _move(families, tables, totals, -step, codes[m], is_set[m], v)
            codes[m, v] = chosen
            if step > 0:
                _move(families, tables, totals, step, codes[m], is_set[m], v)


@kernel(steps=lambda parts, *_: 20 * parts.chances.size)
def sum_pairs(parts: Any, first_cells: Ints, heads: Ints, pairs: Floats) -> None:
    """Add the chances of a part's completions by the states of each two of its cells, those of one on the diagonal.

    `heads` are the first rows of the cells' states in the square of their part; `first_cells` says for each part which
    of them are its own.
    """
    for part in range(parts.widths.size):
        width, length = parts.widths[part], parts.lengths[part]
        for completion in range(parts.firsts[part], parts.ends[part]):
            chance = parts.chances[completion]
            first = parts.offsets[part] + (completion - parts.firsts[part]) * width
            for one in range(width):
                state = heads[first_cells[part] + one] + parts.states[first + one]
                for two in range(width):
                    other = heads[first_cells[part] + two] + parts.states[first + two]
                    pairs[parts.squares[part] + state * length + other] += chance


@kernel
def _one(parts: Any, case: int, column: int, stride: int, size: int, sums: Floats, found: Ints) -> int:
    """The chances of the states of one cell, by where they are counted; how many."""
    part = parts.part_of[case, column]
    first, step = parts.squares[part], parts.lengths[part] + 1
    for state in range(size):
        found[state] = state * stride
        sums[found[state]] = parts.pairs[first + (parts.head_of[case, column] + state) * step]
    return size


@kernel
def _two(parts: Any, case: int, columns: Ints, strides: Ints, sizes: Ints, sums: Floats, found: Ints) -> int:
    """The chances of the joint states of two cells of a part, by where they are counted; how many."""
    part, num = parts.part_of[case, columns[0]], 0
    for state in range(sizes[0]):
        row = (parts.head_of[case, columns[0]] + state) * parts.lengths[part]
        first = parts.squares[part] + row + parts.head_of[case, columns[1]]
        for other in range(sizes[1]):
            found[num] = state * strides[0] + other * strides[1]
            sums[found[num]] = parts.pairs[first + other]
            num += 1
    return num


@kernel
def _many(parts: Any, case: int, columns: Ints, strides: Ints, sums: Floats, found: Ints) -> int:
    """The chances of the joint states of more cells of a part, summed over its completions."""
    part, num = parts.part_of[case, columns[0]], 0
    for completion in range(parts.firsts[part], parts.ends[part]):
        cell, first = 0, parts.offsets[part] + (completion - parts.firsts[part]) * parts.widths[part]
        for place in range(columns.size):
            cell += strides[place] * parts.states[first + parts.slot_of[case, columns[place]]]
        if sums[cell] == 0.0:
            found[num] = cell
            num += 1
        sums[cell] += parts.chances[completion]
    return num


@kernel
def _spread(cells: Ints, values: Floats, num_cells: int, found: Ints, num_found: int, sums: Floats) -> int:
    """Replace each cell by its sums with those of a part, in place, and clear the part's; how many there are then."""
    for cell in range(num_cells - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
        base, value = cells[cell], values[cell]
        for place in range(num_found - 1, -1, -1):
            cells[cell * num_found + place] = base + found[place]
            values[cell * num_found + place] = value * sums[found[place]]
    for place in range(num_found):
        sums[found[place]] = 0.0
    return num_cells * num_found


@kernel
def _alike(parts: Any, case: int, columns: Ints, place: int, chosen: Ints) -> int:
    """The places of columns whose cells are in the part of one, which comes first; none where it is not the first."""
    part, num = parts.part_of[case, columns[place]], 0
    for other in range(columns.size):
        if part >= 0 and parts.part_of[case, columns[other]] == part:
            if other < place:
                return 0
            chosen[num] = other
            num += 1
    return num


@kernel(steps=lambda codes, weights, parts, columns, *_: 20 * weights.size * columns.size)
def weigh_parts(
    codes: Codes, weights: Floats, parts: Any, columns: Ints, strides: Ints, sizes: Ints, counts: Floats
) -> None:
    """Add the expected counts of the joint states of some columns: a sum over cases, a product over parts in each."""
    cells, found = np.empty(counts.size, dtype=np.int64), np.empty(counts.size, dtype=np.int64)
    values, sums, chosen = np.empty(counts.size), np.zeros(counts.size), np.empty(columns.size, dtype=np.int64)
    for case in range(weights.size):
        if weights[case] == 0.0:
            continue
        num_cells, cells[0], values[0] = 1, 0, weights[case]
        for place in range(columns.size):
            cells[0] += strides[place] * max(codes[case, columns[place]], 0)
        for place in range(columns.size):
            num = _alike(parts, case, columns, place, chosen)
            has_pairs = num > 0 and parts.lengths[parts.part_of[case, columns[place]]] > 0
            if num == 1 and has_pairs:
                num = _one(parts, case, columns[place], strides[place], sizes[place], sums, found)
            elif num == 2 and has_pairs:
                both = chosen[:2]
                num = _two(parts, case, columns[both], strides[both], sizes[both], sums, found)
            elif num:
                some = chosen[:num]
                num = _many(parts, case, columns[some], strides[some], sums, found)
            if num:
                num_cells = _spread(cells, values, num_cells, found, num, sums)
        for cell in range(num_cells):
            counts[cells[cell]] += values[cell]
