"""Counts of joint states, by sets of rows, one bit a row, or by a histogram; sums over them; how far they depend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.jit import kernel, twin_of

Bits = NDArray[np.uint64]
Codes = NDArray[Any]
Counts = NDArray[np.int64]

#: Sets are gone through in pieces of so many words, so that those at work stay in the fastest cache.
_PIECE = 256
#: All sets of a family together have about so many words in one piece.
_ROOM = 2**14
#: Rows whose cells are found together, before any is counted.
_BLOCK = 1024


@kernel
def _ones(word: np.uint64) -> np.uint64:
    """How many bits of a word are set, in steps that the compiler knows to be one instruction of the processor."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _count_both(left: Bits, right: Bits) -> int:
    total = np.uint64(0)
    for word in range(left.size):
        total += _ones(left[word] & right[word])
    return int(total)


@kernel
def _split(cells: Bits, num_cells: int, states: Bits) -> int:
    """Replace each set by its intersections with the sets of a variable's states, in place; how many there are then."""
    num_states, width = states.shape
    for cell in range(num_cells - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
        for state in range(num_states - 1, -1, -1):
            target = cell * num_states + state
            for word in range(width):
                cells[target, word] = cells[cell, word] & states[state, word]
    return int(num_cells * num_states)


# --- by sets of rows ---


@kernel
def count_by_sets(bits: Bits, firsts: Ints, sizes: Ints, rows: Bits, counts: Counts) -> None:
    """How many rows are in each joint state of some variables, the last one's state changing fastest.

    `bits` has a set of rows for each state of each variable, `firsts` the place of each variable's first. Only those in
    `rows` count.
    """
    num_words, last = rows.size, sizes.size - 1
    num_cells = counts.size // sizes[last]
    width = max(8, min(_PIECE, _ROOM // num_cells))
    cells = np.empty((num_cells, width), dtype=np.uint64)
    for start in range(0, num_words, width):
        end = min(num_words, start + width)
        piece = cells[:, : end - start]
        piece[0] = rows[start:end]
        count = 1
        for place in range(last):
            count = _split(piece, count, bits[firsts[place] : firsts[place] + sizes[place], start:end])
        for state in range(sizes[last]):
            extra = bits[firsts[last] + state, start:end]
            for cell in range(num_cells):
                counts[cell * sizes[last] + state] += _count_both(piece[cell], extra)


@kernel
def count_extensions(bits: Bits, firsts: Ints, sizes: Ints, rows: Bits, candidates: Ints, counts: Ints) -> None:
    """How many rows are in each joint state of some variables and in each of the candidate sets: a line for each."""
    num_words, num_cells = rows.size, counts.shape[1]
    width = max(8, min(_PIECE, _ROOM // num_cells))
    cells = np.empty((num_cells, width), dtype=np.uint64)
    for start in range(0, num_words, width):
        end = min(num_words, start + width)
        piece = cells[:, : end - start]
        piece[0] = rows[start:end]
        count = 1
        for place in range(sizes.size):
            count = _split(piece, count, bits[firsts[place] : firsts[place] + sizes[place], start:end])
        for candidate in range(candidates.size):
            extra = bits[candidates[candidate], start:end]
            for cell in range(num_cells):
                counts[candidate, cell] += _count_both(piece[cell], extra)


# --- row by row ---


@kernel
def _find_cells(codes: Codes, columns: Ints, strides: Ints, start: int, end: int, cells: Ints) -> None:
    """The cell of the joint state of each row from start to end."""
    cells[:] = 0
    for place in range(columns.size):
        stride, column = strides[place], codes[columns[place], start:end]
        for row in range(end - start):
            cells[row] += column[row] * stride


@kernel
def count_rows(codes: Codes, columns: Ints, strides: Ints, rows: Flags, counts: Counts) -> None:
    """How many rows are in each cell; only those marked count, or all if there is no mark for any."""
    cells, num_rows, is_marked = np.empty(_BLOCK, dtype=np.int64), codes.shape[1], rows.size > 0
    for start in range(0, num_rows, _BLOCK):
        end = min(num_rows, start + _BLOCK)
        _find_cells(codes, columns, strides, start, end, cells)
        for row in range(end - start):
            if not is_marked or rows[start + row]:
                counts[cells[row]] += 1


@kernel
def weigh_rows(codes: Codes, columns: Ints, strides: Ints, weights: Floats, counts: Floats) -> None:
    """How much the rows in each cell weigh."""
    cells, num_rows = np.empty(_BLOCK, dtype=np.int64), codes.shape[1]
    for start in range(0, num_rows, _BLOCK):
        end = min(num_rows, start + _BLOCK)
        _find_cells(codes, columns, strides, start, end, cells)
        for row in range(end - start):
            counts[cells[row]] += weights[start + row]


@kernel
def weigh_extensions(
    codes: Codes, columns: Ints, strides: Ints, weights: Codes, candidates: Ints, starts: Ints, counts: Codes
) -> None:
    """How much the rows in each cell weigh that a family has with each of the candidates as its first variable.

    `strides` has one number more than the family has columns: in front, how many cells it has. The cells of each
    candidate begin at its place in `starts`. The cells of the family are found once for all candidates.
    """
    cells, num_rows, num_cells = np.empty(_BLOCK, dtype=np.int64), codes.shape[1], strides[0]
    for start in range(0, num_rows, _BLOCK):
        end = min(num_rows, start + _BLOCK)
        _find_cells(codes, columns, strides[1:], start, end, cells)
        for place in range(candidates.size):
            column, first = codes[candidates[place], start:end], starts[place]
            for row in range(end - start):
                counts[first + column[row] * num_cells + cells[row]] += weights[start + row]


# --- the same in NumPy ---

#: Numbers at work at a time.
_MANY = 2**18


def _pieces_of_cells(bits: Bits, firsts: Ints, sizes: Ints, rows: Bits) -> Iterator[tuple[slice, Bits]]:
    """Piece after piece of the words, the sets of rows in each joint state of some variables."""
    width = max(1, _MANY // int(sizes.prod()))
    for start in range(0, rows.size, width):
        words = slice(start, start + width)
        cells = rows[None, words]
        for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
            cells = (cells[:, None] & bits[first : first + size, words]).reshape(-1, cells.shape[1])
        yield words, cells


@twin_of(count_by_sets)
def _count_by_sets(bits: Bits, firsts: Ints, sizes: Ints, rows: Bits, counts: Counts) -> None:
    for _, cells in _pieces_of_cells(bits, firsts, sizes, rows):
        counts += np.bitwise_count(cells).sum(axis=1, dtype=np.int64)


@twin_of(count_extensions)
def _count_extensions(bits: Bits, firsts: Ints, sizes: Ints, rows: Bits, candidates: Ints, counts: Counts) -> None:
    for words, cells in _pieces_of_cells(bits, firsts, sizes, rows):
        for line, candidate in zip(counts, candidates.tolist(), strict=True):
            line += np.bitwise_count(cells & bits[candidate, words]).sum(axis=1, dtype=np.int64)


def _pieces_of_rows(codes: Codes, columns: Ints, strides: Ints) -> Iterator[tuple[slice, Ints]]:
    """Piece after piece of the rows, the cell of the joint state of each."""
    for start in range(0, codes.shape[1], _MANY):
        rows = slice(start, min(codes.shape[1], start + _MANY))
        cells = np.zeros(rows.stop - start, dtype=np.int64)
        for column, stride in zip(columns.tolist(), strides.tolist(), strict=True):
            cells += codes[column, rows].astype(np.int64) * stride
        yield rows, cells


@twin_of(count_rows)
def _count_rows(codes: Codes, columns: Ints, strides: Ints, rows: Flags, counts: Counts) -> None:
    for part, cells in _pieces_of_rows(codes, columns, strides):
        counts += np.bincount(cells[rows[part]] if rows.size else cells, minlength=counts.size)


@twin_of(weigh_rows)
def _weigh_rows(codes: Codes, columns: Ints, strides: Ints, weights: Floats, counts: Floats) -> None:
    for part, cells in _pieces_of_rows(codes, columns, strides):
        np.add.at(counts, cells, weights[part])


@twin_of(weigh_extensions)
def _weigh_extensions(
    codes: Codes, columns: Ints, strides: Ints, weights: Codes, candidates: Ints, starts: Ints, counts: Codes
) -> None:
    for part, cells in _pieces_of_rows(codes, columns, strides[1:]):
        for candidate, first in zip(candidates.tolist(), starts.tolist(), strict=True):
            np.add.at(counts, first + codes[candidate, part] * strides[0] + cells, weights[part])


@kernel
def sum_family_terms(counts: Ints, cell_terms: Floats, row_terms: Floats, sums: Floats) -> None:
    """For each family the terms of its cells, less the terms of its rows; axes of `counts`: family, row, cell."""
    num_families, num_rows, num_cells = counts.shape
    for family in range(num_families):
        total = 0.0
        for row in range(num_rows):
            in_row = 0
            for cell in range(num_cells):
                count = counts[family, row, cell]
                in_row += count
                total += cell_terms[count]
            total -= row_terms[in_row]
        sums[family] = total


@twin_of(sum_family_terms)
def _sum_family_terms(counts: Ints, cell_terms: Floats, row_terms: Floats, sums: Floats) -> None:
    sums[:] = cell_terms[counts].sum(axis=(1, 2)) - row_terms[counts.sum(axis=2)].sum(axis=1)


@kernel
def _measure(table: Floats, stratum: int, rows: Floats, columns: Floats, is_pearson: bool) -> tuple[float, int]:
    """The statistic of one stratum of a table with axes (row, stratum, column), and its degrees of freedom.

    Margins that are zero take no degree of freedom.
    """
    num_rows, _, num_columns = table.shape
    rows[:num_rows] = 0.0
    columns[:num_columns] = 0.0
    total, num_used_rows, num_used_columns, statistic = 0.0, 0, 0, 0.0
    for row in range(num_rows):
        for column in range(num_columns):
            rows[row] += table[row, stratum, column]
            columns[column] += table[row, stratum, column]
        total += rows[row]
        num_used_rows += rows[row] > 0
    for column in range(num_columns):
        num_used_columns += columns[column] > 0
    if num_used_rows < 2 or num_used_columns < 2:
        return 0.0, 0
    for row in range(num_rows):
        for column in range(num_columns):
            expected, count = rows[row] * columns[column] / total, table[row, stratum, column]
            if is_pearson and expected > 0:
                statistic += (count - expected) ** 2 / expected
            elif count > 0:
                statistic += 2.0 * count * np.log(count / expected)
    return statistic, (num_used_rows - 1) * (num_used_columns - 1)


@kernel
def measure_dependence(counts: Floats, shapes: Ints, is_pearson: bool, statistics: Floats, degrees: Ints) -> None:
    """For each table its statistic, G or (if `is_pearson`) chi-square, and its degrees of freedom.

    `counts` has the tables end to end, `shapes` a line (rows, strata, columns) for each.
    """
    first = 0
    rows, columns = np.empty(shapes[:, 0].max()), np.empty(shapes[:, 2].max())
    for place in range(len(shapes)):
        num_rows, num_strata, num_columns = shapes[place]
        size = num_rows * num_strata * num_columns
        table = counts[first : first + size].reshape((num_rows, num_strata, num_columns))
        first += size
        for stratum in range(num_strata):
            statistic, used = _measure(table, stratum, rows, columns, is_pearson)
            statistics[place] += statistic
            degrees[place] += used


@twin_of(measure_dependence)
def _measure_dependence(counts: Floats, shapes: Ints, is_pearson: bool, statistics: Floats, degrees: Ints) -> None:
    ends = np.cumsum(shapes.prod(axis=1)).tolist()
    for place, (shape, end) in enumerate(zip(shapes.tolist(), ends, strict=True)):
        table = counts[end - shape[0] * shape[1] * shape[2] : end].reshape(shape)
        rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=0, keepdims=True)
        used_rows, used_columns = (rows > 0).sum(axis=0)[:, 0], (columns > 0).sum(axis=2)[0]
        is_used = (used_rows > 1) & (used_columns > 1)
        expected = rows * columns / rows.sum(axis=0, keepdims=True)
        terms = (table - expected) ** 2 / expected if is_pearson else 2.0 * table * np.log(table / expected)
        has_term = (expected > 0 if is_pearson else table > 0) & is_used[:, None]
        statistics[place] += terms.sum(where=has_term)
        degrees[place] += ((used_rows - 1) * (used_columns - 1))[is_used].sum()
