"""Assignments as states of a local search: an operator puts one variable into another state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.inference.problem import Problem
from plausible.kernels.local_moves import FlipFields, FlipLayout, fill
from plausible.search.search_problem import SearchProblem

__all__ = ["Flip", "FlipProblem"]

States: TypeAlias = tuple[int, ...]


class Flip(NamedTuple):
    """Put a variable, given by its place, from one state into another."""

    variable: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, eq=False)
class FlipProblem(SearchProblem[States, Flip]):
    """log Π φ(x) over assignments x, zeros counted first; made by `FlipProblem.of`.

    The score is the sum of the logarithms that are finite, minus a penalty for each factor that is zero: so large that
    an assignment with fewer zeros always scores more. A search hence repairs what is impossible before all else.

    Attributes
    ----------
    starts
        State s of variable v has the number `starts[v] + s`.
    scope_starts, scopes, strides
        The variables of each factor, and how far apart the entries of their states are.
    tables
        The factor of each entry of `scopes`.
    entry_starts, entries
        Where variable v is in `scopes`: `entries[entry_starts[v]:entry_starts[v + 1]]`.
    table_starts, logs, zeros
        The logarithms of the factors, 0 for zero, and marks of what is zero.
    penalty
        What a zero costs.
    """

    starts: Ints
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    tables: Ints
    entry_starts: Ints
    entries: Ints
    table_starts: Ints
    logs: Floats
    zeros: NDArray[np.uint8]
    penalty: float

    @classmethod
    def of(cls, problem: Problem) -> FlipProblem:
        """The flips of the variables of a problem.

        >>> from plausible.factors import Factor
        >>> from plausible.variables import Evidence
        >>> either = Factor({"A": 2, "B": 2}, [[0.0, 1.0], [0.5, 0.0]])
        >>> flips = FlipProblem.of(Problem.of([either], Evidence.read({}, {})))
        >>> flips.num_zeros((0, 0)), flips.num_zeros((1, 0)), round(flips.score((1, 0)), 6)
        (1, 0, -0.693147)
        """
        zeros = np.isneginf(problem.logs)
        logs = np.where(zeros, 0.0, problem.logs)
        num = len(problem.factors)
        ranges = -np.minimum.reduceat(logs, problem.table_starts[:-1]) if num else np.zeros(0)
        return cls(
            starts=np.concatenate([[0], np.cumsum(problem.sizes)]).astype(np.int64),
            scope_starts=problem.scope_starts,
            scopes=problem.scopes,
            strides=problem.strides,
            tables=np.repeat(np.arange(num), np.diff(problem.scope_starts)),
            entry_starts=np.searchsorted(np.sort(problem.scopes), np.arange(len(problem.sizes) + 1)).astype(np.int64),
            entries=np.argsort(problem.scopes, kind="stable").astype(np.int64),
            table_starts=problem.table_starts,
            logs=logs,
            zeros=zeros.astype(np.uint8),
            penalty=1.0 + float(ranges.sum()),
        )

    @property
    def num_variables(self) -> int:
        """How many variables there are."""
        return len(self.starts) - 1

    @property
    def movable(self) -> Ints:
        """Each variable once for each of its states but one: what a random flip is drawn from."""
        return np.repeat(np.arange(self.num_variables), np.diff(self.starts) - 1)

    # --- what a search asks ---

    def score(self, state: States) -> float:
        """The sum of the logarithms, and the penalty for zeros."""
        cells = self._cells(state)
        return float(self.logs[cells].sum()) - self.penalty * int(self.zeros[cells].sum())

    def num_zeros(self, state: States) -> int:
        """How many factors are zero."""
        return int(self.zeros[self._cells(state)].sum())

    def operators(self, state: States) -> list[Flip]:
        """Every variable to every other state."""
        sizes = np.diff(self.starts).tolist()
        return [Flip(v, old, new) for v, old in enumerate(state) for new in range(sizes[v]) if new != old]

    def apply(self, state: States, operator: Flip) -> States:
        """The assignment with one variable changed."""
        return (*state[: operator.variable], operator.new, *state[operator.variable + 1 :])

    def reverses(self, operator: Flip, other: Flip) -> bool:
        """Whether a variable goes back to a state that the other flip took it out of."""
        return operator.variable == other.variable and operator.new == other.old

    def deltas(self, state: States, operators: Sequence[Flip]) -> list[float]:
        """The change of the score by each flip, from one pass over the factors."""
        fields = self.fields(state)
        scores = fields.sums - self.penalty * fields.counts
        firsts = self.starts.tolist()
        return [float(scores[firsts[v] + new] - scores[firsts[v] + old]) for v, old, new in operators]

    def propose(self, state: States, rng: np.random.Generator) -> Flip | None:
        """A random flip, each with the same probability."""
        movable = self.movable
        if not len(movable):
            return None
        variable = int(rng.choice(movable))
        new = int(rng.integers(self.starts[variable + 1] - self.starts[variable] - 1))
        return Flip(variable, state[variable], new + (new >= state[variable]))

    def random_state(self, rng: np.random.Generator) -> States:
        """Each variable in a random state."""
        return tuple(rng.integers(np.diff(self.starts)).tolist())

    # --- arrays for kernels ---

    @property
    def layout(self) -> FlipLayout:
        """What kernels are given."""

        return FlipLayout(
            self.starts,
            self.scope_starts,
            self.scopes,
            self.strides,
            self.tables,
            self.entry_starts,
            self.entries,
            self.logs,
            self.zeros,
            self.penalty,
        )

    def fields(self, states: States) -> FlipFields:
        """The arrays of a search at some states: for each state of each variable the logarithms and zeros it adds."""

        num = int(self.starts[-1])
        cells, counts = self.table_starts[:-1].copy(), np.empty(num, dtype=np.int64)
        fields = FlipFields(np.array(states, dtype=np.int64), cells, np.empty(num), counts)
        fill(self.layout, fields)
        return fields

    def _cells(self, state: States) -> Ints:
        steps = self.strides * np.array(state, dtype=np.int64)[self.scopes]
        return self.table_starts[:-1] + np.bincount(
            self.tables, weights=steps, minlength=len(self.table_starts) - 1
        ).astype(np.int64)
