"""Counts and moments of a table in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.base.remedies import Call, Remedy
from plausible.data.moments import FamilyMoments, Moments, grouped_moments
from plausible.data.row_counts import RowCounts, in_threads
from plausible.data.statistics import Counts, FamilyRows, Request, RequestCost, Stack, Statistics
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.variables import Variable

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


def read_statistics(data: DataLike) -> Statistics:
    """Statistics as they are, and those of anything that `Table.read` takes."""
    return data if isinstance(data, Statistics) else TableStatistics(data)


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

    __slots__ = ("_cache", "_cached", "_has_missing", "_lock", "_moments", "_names", "_num_threads", "_rows", "_table")

    def __init__(self, table: TableLike, *, num_threads: int = 2) -> None:
        self._table = Table.read(table)
        self._names = {name: place for place, name in enumerate(self._table.discrete)}
        self._rows = RowCounts(self._table)
        self._cache: OrderedDict[tuple[str | None, tuple[int, ...]], Counts] = OrderedDict()
        self._cached = 0
        self._moments: dict[str | None, Moments] = {}
        has_missing = self._table.codes.min(axis=1, initial=0) < 0
        self._has_missing = {name for name, place in self._names.items() if has_missing[place]}
        self._lock = Lock()
        self._num_threads = num_threads

    @property
    def table(self) -> Table:
        """The rows."""
        return self._table

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order of the columns."""
        return self._table.variables

    @property
    def total(self) -> float:
        """How much all rows weigh."""
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
        return self._table.missing

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
        for name in scope:
            if name not in self.variables:
                raise UnknownVariable.named(name, self.variables, "this data")
        with_states = [name for name in scope if name in self._names]
        numbers = [place for place, name in enumerate(self._table.continuous) if name in scope]
        for place in numbers:
            if number := int(np.isnan(self._table.numbers[place]).sum()):
                raise InvalidArgument(
                    f"{self._table.continuous[place]!r} is missing in {number} of {self._table.num_rows} rows; moments "
                    "need complete columns. Leave these rows out."
                )
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
        if self._has_missing:
            for name in names:
                if name in self._has_missing:
                    raise InvalidArgument(
                        f"{name!r} is missing in {self._table.missing[name]} of {self.num_rows} rows; counts need "
                        "complete columns.",
                        remedies=[
                            Remedy("leave these rows out"),
                            Remedy("learn with expected counts: ", Call("learn.em")),
                        ],
                    )
        return self._places(names)

    def _places(self, names: Sequence[str]) -> tuple[int, ...]:
        if len(set(names)) < len(names):
            raise InvalidArgument(f"Each variable counts once, but {', '.join(map(repr, names))} has one twice.")
        places = []
        for name in names:
            if name not in self._names:
                if name in self._table.variables:
                    raise NotSupported(f"{name!r} is continuous: it has no counts. Discretise it, or ask for moments.")
                raise UnknownVariable.named(name, self._names, "this data")
            places.append(self._names[name])
        return tuple(places)

    def _remembered(self, key: tuple[str | None, tuple[int, ...]]) -> Counts | None:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
            return self._cache.get(key)
