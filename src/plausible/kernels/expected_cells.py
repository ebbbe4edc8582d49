"""Expected counts of joint states where missing cells come in parts that are independent given the observed ones.

`parts` are the `PartArrays` of `learn.incomplete.missing_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import kernel


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
