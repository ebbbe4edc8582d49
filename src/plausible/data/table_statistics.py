"""Family counts of a table in memory."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags
from plausible.data.statistics import Counts, Places, Statistics
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors.alignment import MAX_ENTRIES
from plausible.kernels.counting import count_by_sets, count_extensions, count_rows, weigh_extensions, weigh_rows
from plausible.variables import Variable

__all__ = ["TableStatistics"]

#: Counts of at most so many cells are kept, all together.
_MAX_CACHED = 2**24
#: To count the rows of one cell by sets takes about as long as to find the cells of so many words of 64 rows.
_CELLS_PER_PASS = 250
#: Work below so many words is done in one thread: handing it out would take longer.
_SMALL = 2**20


class TableStatistics(Statistics):
    """Counts of the rows of a table, which must be complete in the columns asked about.

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
        "_all_rows",
        "_bits",
        "_cache",
        "_cached",
        "_firsts",
        "_has_missing",
        "_lock",
        "_names",
        "_num_states",
        "_num_threads",
        "_ones",
        "_sets",
        "_sizes",
        "_unpacked",
        "table",
    )

    def __init__(self, table: TableLike, *, num_threads: int = 2) -> None:
        self.table = Table.read(table)
        self._names = {name: place for place, name in enumerate(self.table.discrete)}
        self._num_states = [self.table.variables[name].num_states for name in self._names]
        self._sizes = np.array(self._num_states, dtype=np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._sets = [first + np.arange(size) for first, size in zip(self._firsts, self._num_states, strict=True)]
        num_words = -(-self.table.num_rows // 64)
        self._bits = np.zeros((int(self._sizes.sum()), num_words), dtype=np.uint64)
        self._all_rows = np.full(num_words, np.iinfo(np.uint64).max)
        self._unpacked = set(range(len(self._names)))
        self._cache: OrderedDict[tuple[str | None, tuple[int, ...]], Counts] = OrderedDict()
        self._cached = 0
        self._ones = np.ones(self.table.num_rows, dtype=np.int8)
        has_missing = self.table.codes.min(axis=1, initial=0) < 0
        self._has_missing = {name for name, place in self._names.items() if has_missing[place]}
        self._lock = Lock()
        self._num_threads = num_threads

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> discrete variable."""
        return {name: self.table.variables[name] for name in self._names}

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return self.table.total

    def counts(self, child: str, parents: Sequence[str] = ()) -> Counts:
        """How often each joint state occurs: an axis for each parent, in the order given, then one for the child."""
        asked = self._complete_places((*parents, child))
        places = tuple(sorted(asked))
        key = (child if child in self.table.interventions else None, places)
        found = self._remembered(key)
        if found is None:
            found = self._count(child, places)
            self._remember(key, found)
        return found.transpose([places.index(place) for place in asked])

    def extensions(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> list[Counts]:
        """For each candidate the counts of the family with it as another parent, before all others.

        The rows of each joint state of the family are found once for all candidates.
        """
        family, others = self._complete_places((*parents, child)), self._complete_places(candidates)
        sizes, shape = [self._num_states[place] for place in others], [self._num_states[place] for place in family]
        num_cells = math.prod(shape)
        if self.table.weights is None and num_cells * max(sizes, default=1) <= _CELLS_PER_PASS:
            counts = np.zeros((sum(sizes), num_cells), dtype=np.int64)
            self._count_sets(child, family, others, counts)
            ends = zip(sizes, accumulate(sizes), strict=True)
            return [counts[end - size : end].reshape(size, *shape) for size, end in ends]
        found: list[Counts] = [np.empty(0)] * len(candidates)
        for places, part in self.extension_stacks(child, parents, candidates):
            for place, table in zip(places.tolist(), part, strict=True):
                found[place] = table
        return found

    def extension_stacks(
        self, child: str, parents: Sequence[str], candidates: Sequence[str]
    ) -> list[tuple[Places, Counts]]:
        """The same counts, those of candidates with equally many states together, not copied.

        Families of few cells are counted by sets, all others, and weighted rows, in one pass over the rows.
        """
        family, others = self._complete_places((*parents, child)), np.array(self._complete_places(candidates), np.int64)
        shape = tuple(self._sizes[list(family)].tolist())
        order = np.argsort(self._sizes[others], kind="stable")
        sizes = self._sizes[others[order]]
        self._refuse_large(child, math.prod(shape) * int(sizes.max(initial=1)))
        is_weighted = self.table.weights is not None
        counts = np.zeros((sizes.sum(), math.prod(shape)), dtype=np.float64 if is_weighted else np.int64)
        num_small = 0 if is_weighted else int(np.searchsorted(sizes * math.prod(shape), _CELLS_PER_PASS, side="right"))
        num_sets = int(sizes[:num_small].sum())
        self._count_sets(child, family, others[order[:num_small]].tolist(), counts[:num_sets])
        self._count_cells(child, family, others[order[num_small:]], counts[num_sets:].reshape(-1))
        ends = np.cumsum(sizes)
        starts = np.flatnonzero(np.diff(sizes, prepend=0)).tolist()
        return [
            (order[start:end], counts[ends[start] - sizes[start] : ends[end - 1]].reshape(-1, sizes[start], *shape))
            for start, end in pairwise([*starts, sizes.size])
        ]

    # --- counting ---

    def _count(self, child: str, places: tuple[int, ...]) -> Counts:

        sizes = self._sizes[list(places)]
        num_cells = math.prod(sizes.tolist())
        self._refuse_large(child, num_cells)
        columns, strides = np.array(places, dtype=np.int64), np.array(_strides(sizes.tolist()), dtype=np.int64)
        set_rows = self.table.interventions.get(child)
        if self.table.weights is not None:
            weighed = np.zeros(num_cells)
            weigh_rows(self.table.codes, columns, strides, self._row_weights(child), weighed)
            return weighed.reshape(sizes)
        counts = np.zeros(num_cells, dtype=np.int64)
        if num_cells <= _CELLS_PER_PASS:
            self._pack(places)
            count_by_sets(self._bits, self._firsts[columns], sizes, self._counting_rows(child), counts)
        else:
            marks = np.empty(0, dtype=np.bool_) if set_rows is None else ~set_rows
            count_rows(self.table.codes, columns, strides, marks, counts)
        return counts.reshape(sizes)

    def _count_sets(self, child: str, family: Sequence[int], others: Sequence[int], counts: Counts) -> None:
        """Fill a line for each state of the other variables, by intersecting sets of rows."""

        if not others:
            return
        self._pack((*family, *others))
        places, rows = np.array(family, dtype=np.int64), self._counting_rows(child)
        firsts, sizes, sets = self._firsts[places], self._sizes[places], np.concatenate([self._sets[o] for o in others])

        def count(start: int, end: int) -> None:
            count_extensions(self._bits, firsts, sizes, rows, sets[start:end], counts[start:end])

        _in_threads(count, len(sets), self._num_threads if counts.size * rows.size > _SMALL else 1)

    def _count_cells(self, child: str, family: Sequence[int], others: Places, counts: Counts) -> None:
        """Fill the cells of the family with each of the other variables, row by row."""

        if not others.size:
            return
        columns, shape = np.array(family, dtype=np.int64), self._sizes[list(family)].tolist()
        strides = np.array([math.prod(shape), *_strides(shape)], dtype=np.int64)
        sizes = self._sizes[others] * strides[0]
        starts = np.cumsum(sizes) - sizes
        weights = self._row_weights(child)

        def weigh(start: int, end: int) -> None:
            weigh_extensions(self.table.codes, columns, strides, weights, others[start:end], starts[start:end], counts)

        work = others.size * self.table.num_rows
        _in_threads(weigh, len(others), min(self._num_threads, len(others)) if work > _SMALL else 1)

    def _row_weights(self, child: str) -> NDArray[Any]:
        """How much each row says about a child."""
        set_rows = self.table.interventions.get(child)
        if self.table.weights is None:
            return self._ones if set_rows is None else (~set_rows).astype(np.int8)
        return self.table.weights if set_rows is None else np.where(set_rows, 0.0, self.table.weights)

    def _refuse_large(self, child: str, num_cells: int) -> None:
        if num_cells > MAX_ENTRIES:
            raise TooLarge(
                f"The counts of {child!r} and its parents would have {num_cells:.3g} cells. Give it fewer parents."
            )

    def _counting_rows(self, child: str) -> NDArray[np.uint64]:
        """The set of the rows that say something about a child."""
        if child not in self.table.interventions:
            return self._all_rows
        return _packed(~self.table.interventions[child], self._bits.shape[1])

    def _pack(self, places: Sequence[int]) -> None:
        """Make the sets of the states of some variables, if they are not there yet."""
        if self._unpacked.isdisjoint(places):
            return
        with self._lock:
            for place in places:
                if place in self._unpacked:
                    first, codes = self._firsts[place], self.table.codes[place]
                    for state in range(self._sizes[place]):
                        self._bits[first + state] = _packed(codes == state, self._bits.shape[1])
                    self._unpacked.discard(place)

    # --- names and memory ---

    def _complete_places(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of variables that are observed in each row."""
        if self._has_missing:
            for name in names:
                if name in self._has_missing:
                    raise InvalidArgument(
                        f"{name!r} is missing in {self.table.missing[name]} of {self.table.num_rows} rows; counts need "
                        "complete columns. Leave these rows out, or learn with expected counts: plausible.learn.em."
                    )
        return self._places(names)

    def _places(self, names: Sequence[str]) -> tuple[int, ...]:
        if len(set(names)) < len(names):
            raise InvalidArgument(f"Each variable counts once, but {', '.join(map(repr, names))} has one twice.")
        places = []
        for name in names:
            if name not in self._names:
                if name in self.table.variables:
                    raise NotSupported(f"{name!r} is continuous: it has no counts. Discretise it, or ask for moments.")
                raise UnknownVariable.named(name, self._names, "this data")
            places.append(self._names[name])
        return tuple(places)

    def _remembered(self, key: tuple[str | None, tuple[int, ...]]) -> Counts | None:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
            return self._cache.get(key)

    def _remember(self, key: tuple[str | None, tuple[int, ...]], counts: Counts) -> None:
        counts.setflags(write=False)
        with self._lock:
            if key not in self._cache:
                self._cache[key] = counts
                self._cached += counts.size
            while self._cached > _MAX_CACHED:
                self._cached -= self._cache.popitem(last=False)[1].size


def _packed(mask: Flags, num_words: int) -> NDArray[np.uint64]:
    """A bit for each row, in words of 64, the first row's lowest."""
    octets = np.zeros(num_words * 8, dtype=np.uint8)
    bits = np.packbits(mask, bitorder="little")
    octets[: bits.size] = bits
    return octets.view("<u8")


def _strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]


def _in_threads(work: Callable[[int, int], None], length: int, num_threads: int) -> None:
    """Do some work on 0, ..., length - 1 in as many stretches as there are threads."""
    if num_threads <= 1:
        work(0, length)
        return
    limits = np.linspace(0, length, num_threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(work, limits[:-1], limits[1:]))
