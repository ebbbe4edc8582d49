"""Counts of completed data: in memory by listing or by inference, and where rows come in pieces, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from plausible.data import Piece, TableStatistics
from plausible.data.statistics import Request, Stack, Statistics
from plausible.data.stream_statistics import all_added
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.cases_in_pieces import CasesInPieces, stretches
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: So many completed rows are as soon counted as the parts of those that are not complete.
_FEW_ROWS = 2**16
#: What the parts of missing cells and their completions take, in bytes for each cell of the rows.
_BYTES_OF_CELL = 40


def completed_statistics(
    network: BayesianNetwork, rows: IncompleteRows, max_completions: int = 2**22
) -> TableStatistics | ExpectedStatistics | CompletedPieces:
    """Counts of the completed data D* under a network: all completions of all rows, each with its probability.

    They are listed where they are few, so that tests of independence can have them too; else families are counted.
    """
    if isinstance(rows, CasesInPieces):
        return CompletedPieces(rows, _Completing(network, max_completions))
    return _completed(network, rows.in_memory("Structural EM"), max_completions)


def _completed(network: BayesianNetwork, cases: Cases, max_completions: int) -> TableStatistics | ExpectedStatistics:
    few = min(_FEW_ROWS, max_completions)
    if cases.num_completions <= few:
        return TableStatistics(completed_table(network, cases, few))
    return ExpectedStatistics(network, cases, max_completions=max_completions)


@dataclass(frozen=True, slots=True)
class _Completing:
    """How some cases become counts, by draws of what is too large to be listed if there are to be any."""

    network: BayesianNetwork
    max_completions: int
    num_draws: int = 0
    seed: int = 0

    def __call__(self, cases: Cases) -> TableStatistics | ExpectedStatistics:
        found = _completed(self.network, cases, self.max_completions)
        if not self.num_draws or isinstance(found, TableStatistics):
            return found
        return found.estimated(self.num_draws, np.random.default_rng((self.seed, cases.start)))


class CompletedPieces(Statistics):
    """Counts of the completed data where rows come in pieces: each piece is completed where it lies."""

    __slots__ = ("_complete", "_rows")

    def __init__(self, rows: CasesInPieces, complete: _Completing) -> None:
        self._rows, self._complete = rows, complete

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._rows.variables

    @property
    def total(self) -> float:
        return self._rows.total

    @property
    def interventions(self) -> Mapping[str, float]:
        return self._rows.statistics.interventions

    def estimated(self, num_draws: int, generator: np.random.Generator) -> CompletedPieces:
        """With draws in place of the completions of parts that are too large; see `ExpectedStatistics`."""
        seed = int(generator.integers(2**62))
        return CompletedPieces(self._rows, replace(self._complete, num_draws=num_draws, seed=seed))

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """All of them in one pass."""
        if not requests:
            return []
        work = partial(_completed_counts, rows=self.variables, complete=self._complete, requests=list(requests))
        counts: list[list[Stack]] = reduce(all_added, self._rows.statistics.each(work))
        return counts


def _completed_counts(
    piece: Piece, rows: Mapping[str, Variable], complete: _Completing, requests: Sequence[Request]
) -> list[list[Stack]]:
    num_bytes = _BYTES_OF_CELL * piece.table.num_rows * len(rows)
    made = piece.made("completed", complete, lambda: map(complete, stretches(piece, rows)), num_bytes)
    return reduce(all_added, (statistics.counts_of(requests) for statistics in made))
