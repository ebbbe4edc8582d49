"""Best assignments by dual decomposition: factors maximised one by one, and prices that make them agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.base.options import check_count, check_number
from plausible.base.tolerances import PROOF
from plausible.errors import ImpossibleEvidence
from plausible.inference.info import QueryInfo
from plausible.inference.iteration import IterativeEngine
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.kernels.max_sum import SumLayout, ascend, shift_all
from plausible.search.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class MaxSum:
    """max Σ_f log φ_f(x_f), with the places of everything; an *entry* is a variable of a factor, in scope order."""

    problem: Problem  # what it was made from
    logs: Floats  # the logarithms of the tables; for zero, a number below what all the others can add up to
    least: float  # no assignment without a zero has a sum below this
    owners: Ints  # the factor of each entry, and the step of its variable in the factor's table
    strides: Ints
    belief_starts: Ints  # where a vector with a number for each state of each variable has those of each variable
    message_starts: Ints  # where a vector with a number for each state of each entry has those of each entry
    entry_starts: Ints  # the entries of variable v are `entries[entry_starts[v]:entry_starts[v + 1]]`
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
            starts_of(problem.sizes),
            starts_of(problem.sizes[problem.scopes]),
            starts_of(counts),
            np.argsort(problem.scopes, kind="stable"),
        )

    @property
    def digits(self) -> tuple[Ints, Ints]:
        """For each cell of each table and each entry of its factor: the cell, and its place in a vector of messages."""
        sizes = np.diff(self.problem.table_starts)[self.owners]
        entries = np.repeat(np.arange(len(self.owners)), sizes)
        inside = np.arange(len(entries)) - np.repeat(starts_of(sizes)[:-1], sizes)
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


@dataclass(frozen=True, slots=True, eq=False)
class DualState:
    """Where a dual decomposition is."""

    messages: Floats  # δ_fi(x_i), one after the other for each variable of each factor, in scope order
    states: Ints  # the best assignment so far, by state positions
    value: float  # log Π φ of it, `problem.log_scale` left out; -inf where some factor is zero
    upper: float  # what no assignment exceeds
    num_steps: int = 0  # sweeps over all factors, there and back
    residual: float = np.inf  # by how much the last one lowered the bound
    converged: bool = False  # whether the bound is reached, or stopped going down


@dataclass(frozen=True, slots=True)
class DualDecomposition(IterativeEngine[DualState], Optimizer):
    """Find a good assignment and an ever tighter bound on the best one; if they meet, the assignment is optimal.

    Every factor is maximised by itself; messages δ_fi(x_i) shift values between factors so that

        max_x Σ_f log φ_f(x_f) ≤ Σ_i max Σ_f δ_fi(x_i) + Σ_f max (log φ_f(x_f) - Σ_i δ_fi(x_i)).

    One factor's messages after the other are set to what lowers the right side most (MPLP, Globerson & Jaakkola 2007;
    Sontag, Globerson & Jaakkola 2011, §1.5), and assignments are read off the sums of the messages and improved one
    state at a time. On a tree the bound is met; elsewhere it goes down towards that of `LinearRelaxation`, though it
    may stop earlier. Factors may have any number of variables, and zeros. A sweep takes time in proportion to the
    entries of each table times its variables.

    Parameters
    ----------
    max_steps
        The most sweeps, each there and back.
    tolerance
        The bound has stopped where a sweep lowers it by less than this times the largest logarithm of a factor's
        ratio of entries, or this if that is more than one.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> triangle = [Factor({a: 2, b: 2}, [[1, 2], [3, 5]]) for a, b in ("AB", "BC", "CA")]
    >>> best = DualDecomposition().best(triangle, Evidence.read({}, {}))
    >>> best, best.info.exact
    (Assignment(A=1, B=1, C=1), True)
    """

    max_steps: int = 1000
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        check_count("max_steps", self.max_steps, 1)
        check_number("tolerance", self.tolerance, least=0)

    def init(self, problem: Problem) -> DualState:
        """No messages: each factor at its own largest entry."""
        return _start(MaxSum.of(problem))

    def step(self, problem: Problem, state: DualState) -> DualState:
        """A sweep over all factors and back, and the assignment that the new messages favour, if it is better."""
        layout = MaxSum.of(problem)
        return self._swept(layout, layout.digits, state)

    def run(
        self,
        problem: Problem,
        start: DualState | Run[DualState] | None = None,
        progress: Callable[[DualState], object] | None = None,
    ) -> Run[DualState]:
        """Sweeps until the bound is met or stops, or `max_steps` are over."""
        layout = MaxSum.of(problem)
        sweep = partial(self._swept, layout, layout.digits)
        return self._iterate(sweep, _start(layout) if start is None else start, progress)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the last bound."""
        state = self.run(problem).state
        if MaxSum.of(problem).is_impossible(state.upper):
            raise ImpossibleEvidence.outright()
        info = QueryInfo(
            "dual decomposition",
            exact=False,
            converged=state.converged,
            num_steps=state.num_steps,
            residual=state.residual,
            advice=self._advice(state),
        )
        return Optimum(state.states, state.upper, info)

    def _swept(self, layout: MaxSum, digits: tuple[Ints, Ints], state: DualState) -> DualState:
        messages, beliefs = _shifted(layout, state.messages)
        states, value = layout.ascend(layout.favourites(beliefs))
        value = value if value >= layout.least - 1.0 else -np.inf
        if value <= state.value:
            states, value = state.states, state.value
        upper = min(state.upper, layout.bound(messages, digits))
        residual = state.upper - upper
        pace = self.tolerance * min(layout.largest_range, 1.0)
        is_over = upper - value <= PROOF or residual < pace or layout.is_impossible(upper)
        return DualState(messages, states, value, upper, state.num_steps + 1, residual, is_over)

    def _advice(self, state: DualState) -> str:
        if state.upper - state.value <= PROOF:
            return ""
        if not state.converged:
            return f"Raise max_steps above {self.max_steps}: the bound was still going down."
        return (
            "The bound has stopped above the value. LinearRelaxation(integer=True) closes the gap where the problem is "
            "small enough."
        )


def _start(layout: MaxSum) -> DualState:
    states, value = layout.ascend(np.zeros(len(layout.problem.variables), dtype=np.int64))
    value = value if value >= layout.least - 1.0 else -np.inf
    # Factors are scaled so that each has one as its largest entry.
    return DualState(np.zeros(int(layout.message_starts[-1])), states, value, 0.0, converged=value >= -PROOF)


def _shifted(layout: MaxSum, messages: Floats) -> tuple[Floats, Floats]:
    """The messages after a sweep and one back, and their sums for each variable."""

    arrays, beliefs, shifted = layout.arrays, layout.beliefs(messages), messages.copy()
    for backward in (False, True):
        shift_all(arrays, backward, beliefs, shifted)
    return shifted, beliefs
