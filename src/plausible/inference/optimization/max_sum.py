"""The largest sum of log factors: the layout that dual methods share, their bound, and coordinate ascent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.inference.problem import Problem
from plausible.kernels.max_sum import SumLayout, ascend

__all__ = ["MaxSum"]


@dataclass(frozen=True, slots=True, eq=False)
class MaxSum:
    """max Σ_f log φ_f(x_f), with the places of everything; an *entry* is a variable of a factor, in scope order.

    Attributes
    ----------
    problem
        What it was made from.
    logs
        The logarithms of the tables; for zero, a number below what all the others can add up to.
    least
        No assignment without a zero has a sum below this.
    owners, strides
        The factor of each entry, and the step of its variable in the factor's table.
    belief_starts
        Where a vector with a number for each state of each variable has those of each variable.
    message_starts
        Where a vector with a number for each state of each entry has those of each entry.
    entry_starts, entries
        The entries of variable v are `entries[entry_starts[v]:entry_starts[v + 1]]`.
    """

    problem: Problem
    logs: Floats
    least: float
    owners: Ints
    strides: Ints
    belief_starts: Ints
    message_starts: Ints
    entry_starts: Ints
    entries: Ints

    @classmethod
    def of(cls, problem: Problem) -> MaxSum:
        """Lay out a problem, none of whose factors is zero everywhere."""
        logs = problem.logs.copy()
        is_zero = np.isinf(logs)
        lowest = np.minimum.reduceat(np.where(is_zero, 0.0, logs), problem.table_starts[:-1]) if len(logs) else logs
        least = float(lowest.sum())
        logs[is_zero] = 2 * least - 10.0
        counts = np.bincount(problem.scopes, minlength=len(problem.variables))
        return cls(
            problem,
            logs,
            least,
            np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts)),
            problem.strides,
            _starts(problem.sizes),
            _starts(problem.sizes[problem.scopes]),
            _starts(counts),
            np.argsort(problem.scopes, kind="stable"),
        )

    @property
    def digits(self) -> tuple[Ints, Ints]:
        """For each cell of each table and each entry of its factor: the cell, and its place in a vector of messages."""
        sizes = np.diff(self.problem.table_starts)[self.owners]
        entries = np.repeat(np.arange(len(self.owners)), sizes)
        inside = np.arange(len(entries)) - np.repeat(_starts(sizes)[:-1], sizes)
        states = inside // self.strides[entries] % self.problem.sizes[self.problem.scopes[entries]]
        return self.problem.table_starts[self.owners[entries]] + inside, self.message_starts[entries] + states

    def beliefs(self, messages: Floats) -> Floats:
        """The sum of what each state of each variable was sent."""
        sizes = self.problem.sizes[self.problem.scopes]
        entries = np.repeat(np.arange(len(sizes)), sizes)
        states = np.arange(len(entries)) - self.message_starts[entries]
        places = self.belief_starts[self.problem.scopes[entries]] + states
        sums: Floats = np.bincount(places, weights=messages, minlength=int(self.belief_starts[-1])).astype(np.float64)
        return sums

    def bound(self, messages: Floats, digits: tuple[Ints, Ints]) -> float:
        """Σ_i max Σ_f δ_fi + Σ_f max (log φ_f - Σ_i δ_fi), which no assignment exceeds, whatever the messages δ are."""
        if not len(self.logs):
            return 0.0
        cells, places = digits
        left = self.logs - np.bincount(cells, weights=messages[places], minlength=len(self.logs))
        return float(
            np.maximum.reduceat(left, self.problem.table_starts[:-1]).sum()
            + np.maximum.reduceat(self.beliefs(messages), self.belief_starts[:-1]).sum()
        )

    def favourites(self, beliefs: Floats) -> Ints:
        """The state of each variable with the largest belief, the first of several."""
        starts = self.belief_starts[:-1]
        if not len(starts):
            return starts
        tops = np.repeat(np.maximum.reduceat(beliefs, starts), self.problem.sizes)
        places = np.where(beliefs >= tops, np.arange(len(beliefs)), len(beliefs))
        return np.minimum.reduceat(places, starts) - starts

    def ascend(self, states: Ints) -> tuple[Ints, float]:
        """States that no change of a single one improves, reached from some, and their sum: below `least` for zero."""

        improved = states.astype(np.int64, copy=True)
        return improved, ascend(self.arrays, improved)

    @property
    def arrays(self) -> SumLayout:
        """What kernels take."""

        return SumLayout(
            self.logs,
            self.problem.table_starts,
            self.problem.scopes,
            self.problem.scope_starts,
            self.owners,
            self.strides,
            self.belief_starts,
            self.message_starts,
            self.entry_starts,
            self.entries,
        )

    @property
    def largest_range(self) -> float:
        """The most by which the logarithms of a factor's positive entries differ."""
        return -float(np.where(np.isneginf(self.problem.logs), 0.0, self.problem.logs).min(initial=0.0))

    def is_impossible(self, upper: float) -> bool:
        """Whether an upper bound proves that every assignment has a zero."""
        return upper < self.least - 1.0


def _starts(lengths: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
