"""Statistics of a DuckDB relation by SQL alone: a query for each family."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.data.batches import NUMBERS
from plausible.data.column_types import doubt_by, read_interventions
from plausible.data.gathered import MOST_VALUES
from plausible.data.moments import FamilyMoments, joined_moments
from plausible.data.statistics import (
    Counts,
    Request,
    Stack,
    Statistics,
    counted_each,
    refuse_uncounted,
    refuse_unmeasured,
)
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import FormatError, InvalidArgument
from plausible.scale.duckdb_rows import PLACE, DuckDBRows, number, quoted
from plausible.variables import Variable


class _Facts(NamedTuple):
    """What is known of all rows."""

    num_rows: int
    total: float
    missing: Mapping[str, int]  # name -> how many cells of it are missing, if any


class _Mark(NamedTuple):
    """When a variable was set from outside: in rows where a column has some of its states."""

    column: Variable
    says_so: Flags  # by position of the state; what a missing cell says comes last


class SQLStatistics(Statistics):
    """Counts and moments of a relation: the different rows of each family, and how many there are of each.

    Parameters
    ----------
    rows
        The relation.
    stream
        The same rows, whose columns are chosen and named.
    weights, interventions
        Columns that say how often a row counts, and what was set from outside in it.
    progress
        Called with the number of families counted by now; an answer that is true ends it, like Ctrl-C.
    """

    def __init__(
        self,
        rows: DuckDBRows,
        stream: Stream,
        weights: str | None,
        interventions: str | Mapping[str, str] | None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._rows, self._stream, self._progress = rows, stream, progress
        self._weights, self._interventions = weights, interventions

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable; of columns that nobody named by their different values."""
        given, kinds = self._stream.given, self._stream.parts[0].kinds
        numbers = [name for name in self._stream.names if name not in given and kinds[name] == NUMBERS]
        has_fraction = self._rows.totals([f"bool_or({quoted(name)} <> round({quoted(name)}))" for name in numbers])
        found = {name: Variable(name) for name, has in zip(numbers, has_fraction, strict=True) if has} | given
        return {name: found.get(name) or self._values(name).variables[name] for name in self._stream.names}

    def doubts(self, named: Container[str]) -> dict[str, str]:
        """Name -> why a column that nobody named is hardly a variable; see `Table.doubtful`."""
        if self._stream.are_named:
            return {}
        told: dict[str, str] = {}
        for name, variable in self.variables.items():
            num_known = int(self.num_rows) - self.missing.get(name, 0)
            if name not in self._stream.given and name not in named:
                told[name] = doubt_by(name, variable, partial(self._num_values, variable, num_known))
        return {name: why for name, why in told.items() if why}

    def _num_values(self, variable: Variable, num_known: int) -> tuple[int, int]:
        """How many different values, in how many cells; of numbers all, if they number the rows, else none."""
        if not variable.is_continuous:
            return variable.num_states, num_known
        x = quoted(variable.name)
        low, high, is_whole = self._rows.totals([f"min({x})", f"max({x})", f"bool_and({x} = round({x}))"])
        return (num_known if is_whole and high - low == num_known - 1 else 0), num_known

    @property
    def total(self) -> float:
        return self._facts.total

    @property
    def num_rows(self) -> float:
        """How many rows there are, whatever they weigh."""
        return self._facts.num_rows

    @property
    def missing(self) -> Mapping[str, int]:
        """Name -> how many cells of it are missing."""
        return self._facts.missing

    @cached_property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many rows it was set from outside in."""
        told: dict[str, float] = {}
        for name, mark in self._marks.items():
            table = self._encoded(self._rows.counted([mark.column.name]), {mark.column.name: mark.column})
            told[name] = int(table.row_weights[mark.says_so[table.codes[0]]].sum())
        return told

    def num_seen(self, requests: Sequence[Request]) -> float:
        """How many cells of each row queries look at to count families."""
        return sum(1 + len(parents) for request in requests for _, parents in request.families)

    def num_multiplied(self, requests: Sequence[Request]) -> float:
        """The same for moments, which take products of numbers; they are not had so where rows have weights."""
        if self._weights is not None:
            return math.inf
        scopes = [(*request.parents, request.child) for request in requests]
        numbers = [sum(name in self.continuous for name in scope) for scope in scopes]
        return sum(len(scope) + num * (num + 1) for scope, num in zip(scopes, numbers, strict=True))

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """For each request the counts of its families, by shape: a query for each family."""
        num_counted = 0

        def count(child: str, parents: Sequence[str]) -> Counts:
            nonlocal num_counted
            counts = self._count(child, parents)
            num_counted += 1
            if self._progress is not None and self._progress(num_counted):
                raise KeyboardInterrupt
            return counts

        return counted_each(count, requests)

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request, by its joint states that occur: of rows that all weigh one."""
        return [self._moments(request) for request in requests]

    def _count(self, child: str, parents: Sequence[str]) -> Counts:
        scope = (*parents, child)
        refuse_uncounted(self, scope)
        columns = self._with_mark(child, scope)
        table = self._encoded(self._rows.counted(list(columns), self._weights), columns)
        counts = TableStatistics(table.take(self._telling(child, table)), num_threads=1).counts(child, parents)
        return counts if self._weights is not None else np.rint(counts).astype(np.int64)

    def _moments(self, request: Request) -> FamilyMoments:
        child, scope = request.child, (*request.parents, request.child)
        refuse_unmeasured(self, scope)
        states = [name for name in scope if not self.variables[name].is_continuous]
        numbers = [name for name in self.continuous if name in scope]
        columns = self._with_mark(child, states)
        answer = self._rows.moments(numbers, list(columns))
        sums = [answer.column(self._rows.sum_name(place)) for place in range(answer.num_columns - len(columns))]
        weight, means, scatter = _as_moments(np.array([one.to_numpy() for one in sums], dtype=np.float64), len(numbers))
        codes: Ints = np.empty((len(weight), 0), dtype=np.int64)
        telling = weight > 0
        if columns:
            table = self._encoded(answer, columns)
            telling &= self._telling(child, table)
            codes = np.stack([table.column(name) for name in states], axis=1).astype(np.int64) if states else codes
        weight = weight[telling]
        found = FamilyMoments(codes[telling], weight, weight, means[telling], scatter[telling])
        return joined_moments([found], [1.0])

    def _with_mark(self, child: str, names: Sequence[str]) -> dict[str, Variable]:
        """Columns, and the one that tells when the child was set from outside."""
        mark = self._marks.get(child)
        columns = {name: self.variables[name] for name in names}
        return columns if mark is None else {**columns, mark.column.name: mark.column}

    def _telling(self, child: str, table: Table) -> Flags:
        """The rows in which the child was not set from outside."""
        mark = self._marks.get(child)
        if mark is None:
            return np.ones(table.num_rows, dtype=np.bool_)
        return np.asarray(~mark.says_so[table.column(mark.column.name)])

    def _encoded(self, answer: Any, columns: Mapping[str, Variable]) -> Table:
        """The different rows of some columns, which weigh what they weigh together."""
        return Table.read(answer.to_reader(), columns, columns=list(columns), weights=self._rows.sum_name(0))

    def _values(self, name: str) -> Stream:
        """The different values of a column."""
        return Stream(self._rows.different(name, MOST_VALUES + 1).to_reader())

    @cached_property
    def _facts(self) -> _Facts:
        rows, names, weights = self._rows, list(self.variables), self._weights
        weight = "" if weights is None else number(weights)
        total = "count(*)" if weights is None else f"fsum({weight})"
        infinite = [name for name in rows.fractional if name in names]
        bad = [f"count(*) FILTER (WHERE isinf({quoted(name)}))" for name in infinite]
        bad += [f"count(*) FILTER (WHERE NOT coalesce(isfinite({weight}) AND {weight} >= 0, false))"] if weight else []
        told = rows.totals(["count(*)", total, *bad, *(f"count({quoted(name)})" for name in names)])
        num_rows, num_bad = told[0], told[2 : 2 + len(bad)]
        if weights is not None and num_bad[-1]:
            raise InvalidArgument(f"{PLACE}: weights in {weights!r} are missing, infinite or negative.")
        for name, has in zip(infinite, num_bad, strict=False):
            if has:
                raise FormatError(f"The column {name!r} holds an infinite number.", file=PLACE)
        missing = {name: num_rows - known for name, known in zip(names, told[2 + len(bad) :], strict=True)}
        return _Facts(num_rows, float(told[1] or 0), {name: gaps for name, gaps in missing.items() if gaps})

    @cached_property
    def _marks(self) -> Mapping[str, _Mark]:
        """Name -> when it was set from outside; of those that ever were."""
        given, names = self._interventions or {}, dict.fromkeys(self._stream.names)
        marks: dict[str, _Mark] = {}
        for target, name in [("", given)] if isinstance(given, str) else given.items():
            column = self._values(name).first_pass.columns[name].variable
            if column is not None:
                cells: Any = {target: [*column.states, False]} if target else [*column.states, None]
                told = read_interventions(cells, names, column.num_states + 1)
                marks |= {each: _Mark(column, says_so) for each, says_so in told.items()}
        return marks


def _as_moments(sums: Floats, num: int) -> tuple[Floats, Floats, Floats]:
    """Of sums of distances from values close to the means: how many rows there are, their means, their scatter."""
    weight, centres, away = sums[0], sums[1 : 1 + num].T, sums[1 + num : 1 + 2 * num].T
    off = away / np.where(weight > 0, weight, 1.0)[:, None]
    scatter = np.empty((len(weight), num, num))
    for (a, b), products in zip(combinations_with_replacement(range(num), 2), sums[1 + 2 * num :], strict=True):
        scatter[:, a, b] = scatter[:, b, a] = products - away[:, a] * off[:, b]
    return weight, centres + off, scatter
