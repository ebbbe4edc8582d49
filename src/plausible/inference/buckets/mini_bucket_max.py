"""Best assignments and a bound on them: mini-buckets that maximise, with cost shifting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Ints
from plausible.base.tolerances import PROOF
from plausible.errors import ImpossibleEvidence
from plausible.inference.buckets.bucket_sweeps import BucketOptions, Side, decoded, improved
from plausible.inference.buckets.bucket_tree import BucketTree, Limits, free_order, tree_of
from plausible.inference.iteration import IterativeEngine
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem

#: The weight that a maximum has where copies are compared: next to none.
_SOFTNESS = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class MiniBucketMaxState:
    """Mini-buckets after some sweeps; it can be pickled, and a run can go on from it."""

    tree: BucketTree
    side: Side  # the tables of the mini-buckets and the best bound
    states: Ints  # the best assignment so far, by state positions
    value: float  # log Π φ of it, `problem.log_scale` left out; -inf where some factor is zero
    num_steps: int = 0  # sweeps with shifts after the first
    converged: bool = False  # whether the bound is reached, or stopped going down

    @property
    def upper(self) -> float:
        """What no assignment exceeds."""
        return self.value if self.tree.is_exact else max(self.value, self.side.total + self.side.slack)

    @property
    def residual(self) -> float:
        """By how much the last sweep moved the bound."""
        return 0.0 if self.tree.is_exact else self.side.change


@dataclass(frozen=True, slots=True)
class MiniBucketMax(BucketOptions, IterativeEngine[MiniBucketMaxState], Optimizer):
    """A good assignment and an upper bound on the best one, from tables of limited size (Dechter & Rish 2003).

    If the table of a variable would be too large, elimination splits the variable into copies that need not agree,
    which can only raise the maximum. Shifting values until the max-marginals of the copies agree lowers it again
    (Ihler, Flerova, Dechter & Otten 2012). Assignments are read from the mini-buckets; the variables eliminated last
    are set first. If no copies are needed, the assignment is a best one. A sweep costs a few operations on each table.

    Parameters
    ----------
    bound, max_entries, max_steps, tolerance
        As for `MiniBuckets`.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> found = MiniBucketMax(bound=3).best(ring, Evidence.read({}, {}))
    >>> round(found.log_probability, 6), found.info.exact
    (3.583519, True)
    """

    def _first(self, problem: Problem) -> MiniBucketMaxState:
        """The mini-buckets after a first sweep, and what it favours."""
        tree = tree_of(problem, free_order(problem), (), Limits(self.bound, self.max_entries))
        side = self.begun(problem, tree, [0.0] * len(tree.clusters), _SOFTNESS)
        nothing = np.zeros(len(problem.variables), dtype=np.int64)
        return self._decoded(problem, MiniBucketMaxState(tree, side, nothing, -math.inf))

    def _next(self, problem: Problem, state: MiniBucketMaxState) -> MiniBucketMaxState:
        """A sweep with shifts, and the assignment that it favours, if it is better."""
        if state.converged:
            return state
        side = improved(state.tree, state.side)
        return self._decoded(problem, replace(state, side=side, num_steps=state.num_steps + 1))

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the best bound."""
        state = self.run(problem).state
        if state.upper == -math.inf:
            raise ImpossibleEvidence.outright()
        is_proved = state.upper - state.value <= PROOF
        advice = "" if is_proved else f"Raise bound above {self.bound}, or search with BranchAndBound()."
        facts = {"converged": state.converged, "num_steps": state.num_steps, "advice": advice}
        return Optimum(
            state.states, state.upper, self.told([state.tree], is_exact=is_proved, residual=state.residual, **facts)
        )

    def _decoded(self, problem: Problem, state: MiniBucketMaxState) -> MiniBucketMaxState:
        states = decoded(state.tree, state.side, state.states)
        value = float(problem.log_product(states[None, :])[0])
        if value > state.value:
            state = replace(state, states=states, value=value)
        is_over = state.upper - state.value <= PROOF if state.upper > -math.inf else True
        return replace(state, converged=is_over or state.side.change <= self.tolerance)
