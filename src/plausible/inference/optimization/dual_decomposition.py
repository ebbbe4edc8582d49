"""Best assignments by dual decomposition: factors maximised one by one, and prices that make them agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_number
from plausible.base.tolerances import PROOF
from plausible.errors import ImpossibleEvidence
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.max_sum import MaxSum
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.kernels.max_sum import shift_all

__all__ = ["DualDecomposition", "DualState"]


@dataclass(frozen=True, slots=True, eq=False)
class DualState:
    """Where a dual decomposition is.

    Attributes
    ----------
    messages
        δ_fi(x_i), one after the other for each variable of each factor, in scope order.
    states
        The best assignment so far, by state positions.
    value
        log Π φ of it, `problem.log_scale` left out; -inf where some factor is zero.
    upper
        What no assignment exceeds.
    iterations
        How many sweeps over all factors, there and back, were made.
    residual
        By how much the last one lowered the bound.
    converged
        Whether the bound is reached, or stopped going down.
    """

    messages: Floats
    states: Ints
    value: float
    upper: float
    iterations: int = 0
    residual: float = np.inf
    converged: bool = False


@dataclass(frozen=True, slots=True)
class DualDecomposition(Optimizer):
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
    max_iterations
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

    max_iterations: int = 1000
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        check_count("max_iterations", self.max_iterations, 1)
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
        state: DualState | None = None,
        progress: Callable[[DualState], None] | None = None,
    ) -> DualState:
        """Sweeps until the bound is met or stops, or as many as `max_iterations`; goes on from a state if given one."""
        layout = MaxSum.of(problem)
        digits = layout.digits
        state = _start(layout) if state is None else state
        for _ in range(self.max_iterations):
            if state.converged:
                break
            state = self._swept(layout, digits, state)
            if progress is not None:
                progress(state)
        return state

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the last bound."""
        state = self.run(problem)
        if MaxSum.of(problem).is_impossible(state.upper):
            raise ImpossibleEvidence.outright()
        info = QueryInfo(
            "dual decomposition",
            exact=False,
            converged=state.converged,
            iterations=state.iterations,
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
        return DualState(messages, states, value, upper, state.iterations + 1, residual, is_over)

    def _advice(self, state: DualState) -> str:
        if state.upper - state.value <= PROOF:
            return ""
        if not state.converged:
            return f"Raise max_iterations above {self.max_iterations}: the bound was still going down."
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
