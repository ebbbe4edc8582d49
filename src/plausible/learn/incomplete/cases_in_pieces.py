"""Incomplete rows in pieces: each stretch of rows is completed where it lies, and what is expected of it added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np

from plausible.data import PartitionedStatistics, Piece
from plausible.errors import NotSupported
from plausible.learn.incomplete.cases import Cases, IncompleteRows, Visibility
from plausible.learn.incomplete.expectations import Expectations, ExpectationStep
from plausible.models import BayesianNetwork
from plausible.variables import Variable

Answer = TypeVar("Answer")

#: Rows of a piece are completed so many cells at a time, which bounds what that takes in memory.
_CELLS_AT_ONCE = 2**22
#: What cases take, and what is made ready of them, in bytes: for each cell, and for each row.
_BYTES_OF_CELL, _BYTES_OF_ROW = 12, 40


@dataclass(frozen=True, eq=False)
class CasesInPieces(IncompleteRows):
    """The rows of statistics in pieces, over some variables; those without a column are hidden.

    Each pass makes the different rows of one stretch after the other; they are kept where whoever holds the pieces has
    room for them. Stretches are fixed by the data, and sums are made in their order: so the same bits come out wherever
    the pieces are.
    """

    variables: Mapping[str, Variable]
    continuous: Mapping[str, Variable]
    statistics: PartitionedStatistics  # the rows

    @classmethod
    def of(cls, variables: Mapping[str, Variable], statistics: PartitionedStatistics) -> CasesInPieces:
        """The rows over these variables."""
        discrete = {name: variable for name, variable in variables.items() if not variable.is_continuous}
        continuous = {name: variable for name, variable in variables.items() if variable.is_continuous}
        return cls(discrete, continuous, statistics)

    @property
    def total(self) -> float:
        return self.statistics.total

    @property
    def visibility(self) -> dict[str, Visibility]:
        """Name -> "observed" in all rows, "partly", or "hidden" in all."""
        there, missing = self.statistics.variables, self.statistics.missing
        lost = {
            name: missing.get(name, 0) if name in there else self.statistics.num_rows
            for name in (*self.variables, *self.continuous)
        }
        return {
            name: "hidden" if number == self.statistics.num_rows else "partly" if number else "observed"
            for name, number in lost.items()
        }

    def summed(self, work: Callable[[Cases], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        known = {**self.variables, **self.continuous}
        total: Answer = reduce(add, self.statistics.each(partial(_summed, variables=known, work=work, add=add)))
        return total

    def in_memory(self, method: str) -> Cases:
        raise NotSupported(
            f"{method} goes through rows that are all in memory, and these come in pieces. Take a method that does not "
            "(of learn.em 'em', 'squared', 'hybrid', 'annealed', ...), or give it some of the rows: a few of the files."
        )

    def completed_by(self, make: Callable[[Cases], Any]) -> Any:
        return PiecewiseExpectations(self, make)

    def __repr__(self) -> str:
        return f"<CasesInPieces: {len(self.variables) + len(self.continuous)} variables>"


@dataclass(frozen=True, slots=True, eq=False)
class PiecewiseExpectations:
    """The E-step of rows in pieces: that of each stretch of cases, and the sums; see `CasesInPieces`."""

    cases: CasesInPieces  # what is completed
    make: Callable[[Cases], ExpectationStep]  # the E-step of some cases

    def at(self, network: BayesianNetwork, **options: Any) -> Expectations:
        """The expectations under a network, by one pass; it does not hold log P of each case."""
        return self.cases.summed(partial(_expected, make=self.make, network=network, options=options), _added)


def _expected(
    cases: Cases, make: Callable[[Cases], ExpectationStep], network: BayesianNetwork, options: Mapping[str, Any]
) -> Expectations:
    return replace(cases.ready(make).at(network, **options), case_log_likelihoods=None)


def _added(first: Expectations, second: Expectations) -> Expectations:
    return replace(
        first,
        log_likelihood=first.log_likelihood + second.log_likelihood,
        counts={name: table + second.counts[name] for name, table in first.counts.items()},
        num_impossible=first.num_impossible + second.num_impossible,
        is_exact=first.is_exact and second.is_exact,
    )


def _summed(
    piece: Piece,
    variables: Mapping[str, Variable],
    work: Callable[[Cases], Answer],
    add: Callable[[Answer, Answer], Answer],
) -> Answer:
    """What some work gives for the stretches of a piece, together."""
    return reduce(add, map(work, stretches(piece, variables)))


def stretches(piece: Piece, variables: Mapping[str, Variable]) -> Iterator[Cases]:
    """The cases of a piece, some rows at a time."""
    num_rows = piece.table.num_rows
    num_bytes = num_rows * (_BYTES_OF_CELL * len(variables) + _BYTES_OF_ROW)
    are_kept = piece.room_for("cases", num_bytes)

    def made() -> Iterator[Cases]:
        size = max(_CELLS_AT_ONCE // max(len(variables), 1), 1)
        for start in range(0, max(num_rows, 1), size):
            rows = piece.table if size >= num_rows else piece.table.take(np.arange(start, min(start + size, num_rows)))
            cases = Cases.of(variables, rows, has_numbers=True, start=piece.first_row + start)
            yield cases
            if not are_kept:
                cases.forget()

    return piece.made("cases", variables, made, num_bytes)
