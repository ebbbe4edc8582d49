"""Best assignments by dual decomposition: factors maximised one by one, and prices that make them agree."""

from __future__ import annotations

from dataclasses import dataclass

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
from plausible.search.clock import Clock


@dataclass(frozen=True, slots=True, eq=False)
class MaxSum:
    """max Σ_f log φ_f(x_f), with the places of everything; an *entry* is a variable of a factor, in scope order."""

    problem: Problem  # what it was made from
    least: float  # no assignment without a zero has a sum below this
    #: What kernels take. The logarithm of a zero is a number below what all the others can add up to.
    arrays: SumLayout

    @classmethod
    def of(cls, problem: Problem) -> MaxSum:
        """Lay out a problem, none of whose factors is zero everywhere."""
        logs = problem.logs.copy()
        is_zero = np.isinf(logs)
        lowest = np.minimum.reduceat(np.where(is_zero, 0.0, logs), problem.table_starts[:-1]) if len(logs) else logs
        least = float(lowest.sum())
        logs[is_zero] = 2 * least - 10.0
        arrays = SumLayout(
            logs,
            problem.table_starts,
            problem.scopes,
            problem.scope_starts,
            owners=np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts)),
            strides=problem.strides,
            belief_starts=starts_of(problem.sizes),
            message_starts=starts_of(problem.sizes[problem.scopes]),
            entry_starts=starts_of(np.bincount(problem.scopes, minlength=len(problem.variables))),
            entries=np.argsort(problem.scopes, kind="stable"),
        )
        return cls(problem, least, arrays)

    @property
    def digits(self) -> tuple[Ints, Ints]:
        """For each cell of each table and each entry of its factor: the cell, and its place in a vector of messages."""
        at, owners = self.arrays, self.arrays.owners
        sizes = np.diff(at.table_starts)[owners]
        entries = np.repeat(np.arange(len(owners)), sizes)
        inside = np.arange(len(entries)) - np.repeat(starts_of(sizes)[:-1], sizes)
        states = inside // at.strides[entries] % self.problem.sizes[at.scopes[entries]]
        return at.table_starts[owners[entries]] + inside, at.message_starts[entries] + states

    @property
    def message_places(self) -> Ints:
        """For each number of a vector of messages its place in one of beliefs."""
        at, sizes = self.arrays, self.problem.sizes[self.arrays.scopes]
        return np.repeat(at.belief_starts[at.scopes] - at.message_starts[:-1], sizes) + np.arange(at.message_starts[-1])

    def beliefs(self, messages: Floats) -> Floats:
        """The sum of what each state of each variable was sent."""
        num = int(self.arrays.belief_starts[-1])
        return np.asarray(np.bincount(self.message_places, weights=messages, minlength=num), dtype=np.float64)

    def bound(self, messages: Floats, digits: tuple[Ints, Ints], logs: Floats | None = None) -> float:
        """Σ_i max Σ_f δ_fi + Σ_f max (log φ_f - Σ_i δ_fi), which no assignment exceeds, whatever the messages δ are."""
        logs = self.arrays.logs if logs is None else logs
        if not len(logs):
            return 0.0
        cells, places = digits
        left = logs - np.bincount(cells, weights=messages[places], minlength=len(logs))
        return float(
            np.maximum.reduceat(left, self.arrays.table_starts[:-1]).sum()
            + np.maximum.reduceat(self.beliefs(messages), self.arrays.belief_starts[:-1]).sum()
        )

    def shifted(self, messages: Floats) -> tuple[Floats, Floats]:
        """log φ_f - Σ_i δ_fi for each cell of each factor, and Σ_f δ_fi for each state: the same products as before."""
        cells, places = self.digits
        logs = self.problem.logs
        return logs - np.bincount(cells, weights=messages[places], minlength=len(logs)), self.beliefs(messages)

    def favourites(self, beliefs: Floats) -> Ints:
        """The state of each variable with the largest belief, the first of several."""
        starts = self.arrays.belief_starts[:-1]
        if not len(starts):
            return starts
        tops = np.repeat(np.maximum.reduceat(beliefs, starts), self.problem.sizes)
        places = np.where(beliefs >= tops, np.arange(len(beliefs)), len(beliefs))
        return np.minimum.reduceat(places, starts) - starts

    def ascend(self, states: Ints) -> tuple[Ints, float]:
        """States that no change of a single one improves, reached from some, and their sum: below `least` for zero."""
        improved = states.astype(np.int64, copy=True)
        return improved, ascend(self.arrays, improved)

    def is_impossible(self, upper: float) -> bool:
        """Whether an upper bound, or a sum, proves that there is a zero in every assignment, or in that one."""
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

    def _prepared(self, problem: Problem, clock: Clock) -> tuple[MaxSum, tuple[Ints, Ints]]:
        layout = MaxSum.of(problem)
        return layout, layout.digits

    def _first(self, prepared: tuple[MaxSum, tuple[Ints, Ints]]) -> DualState:
        """No messages: each factor at its own largest entry, which is one."""
        layout, _ = prepared
        states, value = layout.ascend(np.zeros(len(layout.problem.variables), dtype=np.int64))
        value = -np.inf if layout.is_impossible(value) else value
        messages = np.zeros(int(layout.arrays.message_starts[-1]))
        return DualState(messages, states, value, 0.0, converged=value >= -PROOF)

    def _next(self, prepared: tuple[MaxSum, tuple[Ints, Ints]], state: DualState) -> DualState:
        """A sweep over all factors and back, and the assignment that the new messages favour, if it is better."""
        layout, digits = prepared
        messages, beliefs = state.messages.copy(), layout.beliefs(state.messages)
        for backward in (False, True):
            shift_all(layout.arrays, backward, beliefs, messages)
        states, value = layout.ascend(layout.favourites(beliefs))
        value = -np.inf if layout.is_impossible(value) else value
        if value <= state.value:
            states, value = state.states, state.value
        upper = min(state.upper, layout.bound(messages, digits))
        residual, logs = state.upper - upper, layout.problem.logs
        # The most by which the logarithms of a factor's positive entries differ.
        largest_range = -float(np.where(np.isneginf(logs), 0.0, logs).min(initial=0.0))
        pace = self.tolerance * min(largest_range, 1.0)
        is_over = upper - value <= PROOF or residual < pace or layout.is_impossible(upper)
        return DualState(messages, states, value, upper, state.num_steps + 1, residual, is_over)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the last bound."""
        state = self.run(problem).state
        if MaxSum.of(problem).is_impossible(state.upper):
            raise ImpossibleEvidence.outright()
        advice = ""
        if state.upper - state.value > PROOF:
            advice = (
                "The bound has stopped above the value. LinearRelaxation(integer=True) closes the gap where the "
                "problem is small enough."
                if state.converged
                else f"Raise max_steps above {self.max_steps}: the bound was still going down."
            )
        info = QueryInfo(
            "dual decomposition",
            exact=False,
            converged=state.converged,
            num_steps=state.num_steps,
            residual=state.residual,
            advice=advice,
        )
        return Optimum(state.states, state.upper, info)
