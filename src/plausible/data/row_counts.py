"""The rows of a table, counted: by sets of rows with one bit a row, or row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Ints
from plausible.data.statistics import Counts
from plausible.data.table import Table
from plausible.errors import TooLarge
from plausible.factors.alignment import MAX_ENTRIES
from plausible.kernels.counting import count_by_sets, count_extensions, count_rows, weigh_extensions, weigh_rows

#: To count the rows of one cell by sets takes about as long as to find the cells of so many words of 64 rows.
_CELLS_PER_PASS = 250
#: Work below so many words is done in one thread: handing it out would take longer.
_SMALL = 2**20


class RowCounts:
    """Counts of the complete rows of a table; variables go by their places among those with states."""

    def __init__(self, table: Table) -> None:
        self._table, self._lock = table, Lock()
        self._num_states = [table.variables[name].num_states for name in table.discrete]
        self._sizes = np.array(self._num_states, dtype=np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._sets = [first + np.arange(size) for first, size in zip(self._firsts, self._num_states, strict=True)]
        num_words = -(-table.num_rows // 64)
        self._bits = np.zeros((int(self._sizes.sum()), num_words), dtype=np.uint64)
        self._all_rows = np.full(num_words, np.iinfo(np.uint64).max)
        self._unpacked = set(range(len(self._num_states)))
        self._ones = np.ones(table.num_rows, dtype=np.int8)

    def count(self, child: str, places: Sequence[int]) -> Counts:
        """How often each joint state of some variables occurs in the rows that say something about one of them."""
        sizes = self._sizes[list(places)]
        num_cells = math.prod(sizes.tolist())
        _refuse_large(child, num_cells)
        columns, strides = np.array(places, dtype=np.int64), np.array(_strides(sizes.tolist()), dtype=np.int64)
        set_rows = self._table.interventions.get(child)
        if self._table.weights is not None:
            weighed = np.zeros(num_cells)
            weigh_rows(self._table.codes, columns, strides, self._row_weights(child), weighed)
            return weighed.reshape(sizes)
        counts = np.zeros(num_cells, dtype=np.int64)
        if num_cells <= _CELLS_PER_PASS:
            self._pack(places)
            count_by_sets(self._bits, self._firsts[columns], sizes, self._counting_rows(child), counts)
        else:
            marks = np.empty(0, dtype=np.bool_) if set_rows is None else ~set_rows
            count_rows(self._table.codes, columns, strides, marks, counts)
        return counts.reshape(sizes)

    def extended(
        self, child: str, family: Sequence[int], others: Sequence[int], num_threads: int
    ) -> Iterator[tuple[Ints, Counts]]:
        """The counts of a family with each of some others, those of one shape together, not copied.

        Families of few cells are counted by sets, the rows of each joint state found once for all others; all others,
        and weighted rows, in one pass over the rows.
        """
        shape, sizes = [self._num_states[place] for place in family], [self._num_states[place] for place in others]
        order = sorted(range(len(others)), key=sizes.__getitem__)
        num_cells, is_weighted = math.prod(shape), self._table.weights is not None
        _refuse_large(child, num_cells * max(sizes, default=1))
        counts = np.zeros((sum(sizes), num_cells), dtype=np.float64 if is_weighted else np.int64)
        by_sets = [] if is_weighted else [place for place in order if sizes[place] * num_cells <= _CELLS_PER_PASS]
        num_sets = sum(sizes[place] for place in by_sets)
        if by_sets:
            self._count_sets(child, family, [others[place] for place in by_sets], counts[:num_sets], num_threads)
        if by_rows := order[len(by_sets) :]:
            places = np.array([others[place] for place in by_rows], dtype=np.int64)
            self._count_cells(child, family, places, counts[num_sets:].reshape(-1), num_threads)
        first = 0
        for size, alike in groupby(order, key=sizes.__getitem__):
            places = np.array(list(alike))
            end = first + size * len(places)
            yield places, counts[first:end].reshape(-1, size, *shape)
            first = end

    def _count_sets(
        self, child: str, family: Sequence[int], others: Sequence[int], counts: Counts, num_threads: int
    ) -> None:
        """Fill a line for each state of the other variables, by intersecting sets of rows."""
        self._pack((*family, *others))
        places, rows = np.array(family, dtype=np.int64), self._counting_rows(child)
        firsts, sizes, sets = self._firsts[places], self._sizes[places], np.concatenate([self._sets[o] for o in others])
        if num_threads <= 1 or counts.size * rows.size <= _SMALL:
            count_extensions(self._bits, firsts, sizes, rows, sets, counts)
            return

        def count(start: int, end: int) -> None:
            count_extensions(self._bits, firsts, sizes, rows, sets[start:end], counts[start:end])

        in_threads(count, len(sets), num_threads)

    def _count_cells(self, child: str, family: Sequence[int], others: Ints, counts: Counts, num_threads: int) -> None:
        """Fill the cells of the family with each of the other variables, row by row."""
        columns, shape = np.array(family, dtype=np.int64), self._sizes[list(family)].tolist()
        strides = np.array([math.prod(shape), *_strides(shape)], dtype=np.int64)
        sizes = self._sizes[others] * strides[0]
        starts = np.cumsum(sizes) - sizes
        weights = self._row_weights(child)

        def weigh(start: int, end: int) -> None:
            weigh_extensions(self._table.codes, columns, strides, weights, others[start:end], starts[start:end], counts)

        work = others.size * self._table.num_rows
        in_threads(weigh, len(others), min(num_threads, len(others)) if work > _SMALL else 1)

    def _row_weights(self, child: str) -> NDArray[Any]:
        """How much each row says about a child."""
        set_rows = self._table.interventions.get(child)
        if self._table.weights is None:
            return self._ones if set_rows is None else (~set_rows).astype(np.int8)
        return self._table.weights if set_rows is None else np.where(set_rows, 0.0, self._table.weights)

    def _counting_rows(self, child: str) -> NDArray[np.uint64]:
        """The set of the rows that say something about a child."""
        if child not in self._table.interventions:
            return self._all_rows
        return _packed(~self._table.interventions[child], self._bits.shape[1])

    def _pack(self, places: Sequence[int]) -> None:
        """Make the sets of the states of some variables, if they are not there yet."""
        if self._unpacked.isdisjoint(places):
            return
        with self._lock:
            for place in places:
                if place in self._unpacked:
                    first, codes = self._firsts[place], self._table.codes[place]
                    for state in range(self._sizes[place]):
                        self._bits[first + state] = _packed(codes == state, self._bits.shape[1])
                    self._unpacked.discard(place)


def _packed(mask: Flags, num_words: int) -> NDArray[np.uint64]:
    """A bit for each row, in words of 64, the first row's lowest."""
    octets = np.zeros(num_words * 8, dtype=np.uint8)
    bits = np.packbits(mask, bitorder="little")
    octets[: bits.size] = bits
    return octets.view("<u8")


def _strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]


def in_threads(work: Callable[[int, int], None], length: int, num_threads: int, num_parts: int | None = None) -> None:
    """Do some work on 0, ..., length - 1 in stretches, by default as many as there are threads."""
    if num_threads <= 1:
        work(0, length)
        return
    limits = np.linspace(0, length, (num_parts or num_threads) + 1).astype(int).tolist()
    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(work, limits[:-1], limits[1:]))


def _refuse_large(child: str, num_cells: int) -> None:
    if num_cells > MAX_ENTRIES:
        raise TooLarge(
            f"The counts of {child!r} and its parents would have {num_cells:.3g} cells. Give it fewer parents."
        )
