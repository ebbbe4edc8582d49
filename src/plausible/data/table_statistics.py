"""Counts and moments of a table in memory: by sets of rows with one bit a row, or row by row."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Ints
from plausible.data.moments import FamilyMoments, Moments, grouped_moments
from plausible.data.statistics import (
    Counts,
    FamilyRows,
    Request,
    RequestCost,
    Stack,
    Statistics,
    refuse_uncounted,
    refuse_unmeasured,
)
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors.alignment import MAX_ENTRIES
from plausible.kernels.counting import count_by_sets, count_extensions, count_rows, weigh_extensions, weigh_rows
from plausible.variables import Variable

#: To count the rows of one cell by sets takes about as long as to find the cells of so many words of 64 rows.
CELLS_PER_PASS = 250
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
        self._most_cells = CELLS_PER_PASS  # that are counted by sets

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
        if num_cells <= self._most_cells:
            self._pack(places)
            for rows in self._digits(child):
                counts *= 2
                count_by_sets(self._bits, self._firsts[columns], sizes, rows, counts)
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
        by_sets = [] if is_weighted else [place for place in order if sizes[place] * num_cells <= self._most_cells]
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
        places, digits = np.array(family, dtype=np.int64), self._digits(child)
        firsts, sizes, sets = self._firsts[places], self._sizes[places], np.concatenate([self._sets[o] for o in others])

        def count(start: int, end: int) -> None:
            for rows in digits:
                counts[start:end] *= 2
                count_extensions(self._bits, firsts, sizes, rows, sets[start:end], counts[start:end])

        is_small = counts.size * self._all_rows.size <= _SMALL
        in_threads(count, len(sets), 1 if is_small else num_threads)

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

    def _digits(self, child: str) -> list[NDArray[np.uint64]]:
        """How often each row counts that says something about a child: sets of rows for binary digits, the last 1."""
        return [self._counting_rows(child)]

    def _counting_rows(self, child: str) -> NDArray[np.uint64]:
        """The set of the rows that say something about a child."""
        if child not in self._table.interventions:
            return self._all_rows
        return packed(~self._table.interventions[child], self._bits.shape[1])

    def _pack(self, places: Sequence[int]) -> None:
        """Make the sets of the states of some variables, if they are not there yet."""
        if self._unpacked.isdisjoint(places):
            return
        with self._lock:
            for place in places:
                if place in self._unpacked:
                    first, codes = self._firsts[place], self._table.codes[place]
                    for state in range(self._sizes[place]):
                        self._bits[first + state] = packed(codes == state, self._bits.shape[1])
                    self._unpacked.discard(place)


def packed(mask: Flags, num_words: int) -> NDArray[np.uint64]:
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


#: Rows of data, or what was counted in them.
DataLike: TypeAlias = "TableLike | Statistics"

#: Counts of at most so many cells are kept, all together.
_MAX_CACHED = 2**24
#: With fewer rows requests are answered in one thread: threads would mostly wait for each other's turn at the
#: interpreter.
_FEW_ROWS = 2**15
#: The place of a family that is asked for by itself.
_FIRST: Ints = np.zeros(1, dtype=np.int64)
#: The cases of families with at most so many cells are counted; of larger ones, taken row by row.
_MAX_COUNTED = 2**18


class TableStatistics(Statistics):
    """Counts and moments of the rows of a table, which must be complete in the columns asked about.

    For each state there is a set of rows, one bit a row: small tables are counted by intersecting them, 64 rows at a
    time, large ones row by row. Counts are remembered, whatever the order of the variables that they were asked in.

    Parameters
    ----------
    table
        A `Table`, or what `Table.read` takes.
    num_threads
        At most this many; the counts do not depend on it.

    Examples
    --------
    >>> statistics = TableStatistics({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> statistics.counts("grass", ["rain"])
    array([[1, 1],
           [0, 1]])
    """

    __slots__ = (
        "_cache",
        "_cached",
        "_has_missing",
        "_lock",
        "_missing",
        "_moments",
        "_names",
        "_num_threads",
        "_rows",
        "_table",
    )

    def __init__(self, table: TableLike, *, num_threads: int = 2) -> None:
        self._table = Table.read(table)
        self._names = {name: place for place, name in enumerate(self._table.discrete)}
        self._rows = RowCounts(self._table)
        self._cache: OrderedDict[tuple[str | None, tuple[int, ...]], Counts] = OrderedDict()
        self._cached = 0
        self._moments: dict[str | None, Moments] = {}
        self._missing: Mapping[str, int] | None = None
        has_missing = self._table.codes.min(axis=1, initial=0) < 0
        self._has_missing = {name for name, place in self._names.items() if has_missing[place]}
        self._lock = Lock()
        self._num_threads = num_threads

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows: what was counted is counted again, and locks can't be pickled."""
        return partial(TableStatistics, num_threads=self._num_threads), (self._table,)

    @property
    def has_rows(self) -> bool:
        return True

    @property
    def table(self) -> Table:
        """The rows."""
        return self._table

    @property
    def num_threads(self) -> int:
        """At most so many count at a time."""
        return self._num_threads

    @property
    def row_counts(self) -> RowCounts:
        """What counts the rows."""
        return self._rows

    def beside(self, table: Table) -> TableStatistics:
        """Those of other rows, by as many threads."""
        return TableStatistics(table, num_threads=self._num_threads)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order of the columns."""
        return self._table.variables

    @property
    def total(self) -> float:
        return self._table.total

    @property
    def num_rows(self) -> int:
        """How many rows there are, whatever they weigh."""
        return self._table.num_rows

    @property
    def interventions(self) -> Mapping[str, int]:
        """Name -> how many rows it was set from outside in."""
        return {name: int(mask.sum()) for name, mask in self._table.interventions.items()}

    @property
    def missing(self) -> Mapping[str, int]:
        """Name -> how many cells of it are missing."""
        if self._missing is None:
            self._missing = self._table.missing
        return self._missing

    def with_variables(self, variables: Mapping[str, Variable]) -> TableStatistics:
        """The same rows, read again where they have other states."""
        known = {name: variable for name, variable in variables.items() if name in self.variables}
        if all(self.variables[name] == variable for name, variable in known.items()):
            return self
        return TableStatistics(Table.read(self._table, known), num_threads=self._num_threads)

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """For each request the counts of its families, by shape; many requests are shared out among threads."""
        if self._num_threads < 2 or len(requests) < 2 * self._num_threads or self._table.num_rows < _FEW_ROWS:
            return [self._answer(request, self._num_threads) for request in requests]
        answers: list[list[Stack]] = [[]] * len(requests)

        def answer(start: int, end: int) -> None:
            answers[start:end] = [self._answer(request, 1) for request in requests[start:end]]

        in_threads(answer, len(requests), self._num_threads, 4 * self._num_threads)
        return answers

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request, by its joint states that occur: weight, means and scatter of its numbers."""
        return [self._moments_of(request) for request in requests]

    def cost(self, requests: Sequence[Request]) -> RequestCost:
        """Each request reads its columns once; what is remembered is not read again."""
        plain = super().cost(requests)
        reads = 0
        for child, parents, candidates in requests:
            scope = (*parents, child)
            if candidates is not None or self._remembered(self._key(child, self._places(scope))) is None:
                reads += len(scope) + len(candidates or ())
        return plain._replace(num_reads=self._table.num_rows * reads)

    def rows(self, child: str, parents: Sequence[str] = ()) -> FamilyRows:
        """The rows of a family; equal ones together where it has states alone, and few enough."""
        scope = (*parents, child)
        is_counted = self._names.keys() >= set(scope) and self._num_cells(scope) <= _MAX_COUNTED
        if is_counted:
            return super().rows(child, parents)
        table = self._table.select(scope)
        for name, number in table.missing.items():
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows. learn.parameters and learn.em complete "
                "missing cells; here they have to be filled in, or these rows left out."
            )
        columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
        columns |= dict(zip(table.continuous, table.numbers, strict=True))
        weights = table.row_weights
        counting = weights > 0
        if child in table.interventions:
            counting = counting & ~table.interventions[child]
        return FamilyRows({name: column[counting] for name, column in columns.items()}, weights[counting])

    def _moments_of(self, request: Request) -> FamilyMoments:
        scope = (*request.parents, request.child)
        refuse_unmeasured(self, scope)
        with_states = [name for name in scope if name in self._names]
        numbers = [place for place, name in enumerate(self._table.continuous) if name in scope]
        if not with_states:
            return self._own_moments(request.child).part(numbers)
        codes = self._table.codes[list(self._complete_places(with_states))]
        lines, weights, set_rows = (
            self._table.numbers[numbers],
            self._table.row_weights,
            self._table.interventions.get(request.child),
        )
        if set_rows is not None:
            codes, lines, weights = codes[:, ~set_rows], lines[:, ~set_rows], weights[~set_rows]
        groups = np.zeros(codes.shape[1], dtype=np.intp)
        for name, column in zip(with_states, codes, strict=True):
            joint = groups * self.variables[name].num_states + column
            _, firsts, groups = np.unique(joint, return_index=True, return_inverse=True)
        return grouped_moments(lines, groups, weights, codes[:, firsts].T.astype(np.int64))

    def _own_moments(self, child: str) -> Moments:
        """Those of all numbers in the rows that say something about a child."""
        set_rows = self._table.interventions.get(child)
        key = None if set_rows is None else child
        if key not in self._moments:
            table = self._table if set_rows is None else self._table.take(~set_rows)
            self._moments[key] = Moments.of_rows(table.numbers, table.weights)
        return self._moments[key]

    def _key(self, child: str, places: Sequence[int]) -> tuple[str | None, tuple[int, ...]]:
        return (child if child in self._table.interventions else None, tuple(sorted(places)))

    def _answer(self, request: Request, num_threads: int) -> list[Stack]:
        asked = self._complete_places((*request.parents, request.child))
        if request.candidates is not None:
            others = self._complete_places(request.candidates)
            stacks = self._rows.extended(request.child, asked, others, num_threads)
            return [Stack(places, counts) for places, counts in stacks]
        key = self._key(request.child, asked)
        found = self._remembered(key)
        if found is None:
            found = self._rows.count(request.child, key[1])
            found.setflags(write=False)
            with self._lock:
                if key not in self._cache:
                    self._cache[key] = found
                    self._cached += found.size
                while self._cached > _MAX_CACHED:
                    self._cached -= self._cache.popitem(last=False)[1].size
        return [Stack(_FIRST, found.transpose([key[1].index(place) for place in asked])[None])]

    def _complete_places(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of variables that are observed in each row."""
        if not self._has_missing.isdisjoint(names):
            refuse_uncounted(self, names)
        return self._places(names)

    def _places(self, names: Sequence[str]) -> tuple[int, ...]:
        if len(set(names)) < len(names) or any(name not in self._names for name in names):
            refuse_uncounted(self, names)
        return tuple(self._names[name] for name in names)

    def _remembered(self, key: tuple[str | None, tuple[int, ...]]) -> Counts | None:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
            return self._cache.get(key)
