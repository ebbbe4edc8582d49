"""Max-product belief propagation: a best assignment from messages, and a proof of how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import ImpossibleEvidence
from plausible.inference.optimization.graph_cuts import has_cut
from plausible.inference.optimizer import PROVED, Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import Clusters
from plausible.inference.propagation.belief_messages import (
    MessageEngine,
    MessageState,
    ReweightedEngine,
    reparametrise,
    workspace,
)
from plausible.kernels.message_decoding import decode, improve

_NAME = "max-product belief propagation"
#: Rounds between assignments, each of which takes about as long as a round.
_ROUNDS = 5
#: Assignments without news of value or bound, after which there will hardly be any.
_PATIENCE = 4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaxProductState(MessageState):
    """Messages, the best assignment that some of them have made, and what no assignment exceeds."""

    states: Ints  # the assignment, by state positions
    value: float = -math.inf  # log Π φ of it, `problem.log_scale` left out; -inf where there is none yet
    upper: float = 0.0  # the lowest bound so far: no factor exceeds one
    num_idle: int = 0  # assignments since value or bound improved by more than a hundredth of the gap


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxProduct(ReweightedEngine, Optimizer):
    r"""Find a good assignment by max-product messages, and bound the best one; exact on trees.

    Messages maximise where those of `LoopyBP` sum; then states are chosen one by one, given those chosen before. On a
    forest the assignment is a best one, even with ties. With cycles, factors are weighted by random trees (see
    `TreeReweightedBP`), and for any messages, with beliefs b whose largest entry is one,

    .. math:: \max \log \prod φ ≤ \log c + \sum_f ρ_f \max_{v ∈ f, x_v} \log \frac{\max_{x_f ∼ x_v} b_f(x_f)}{b_v(x_v)}

    bounds all assignments (Wainwright, Jaakkola & Willsky 2005b). Every few rounds an assignment is read from the
    beliefs and improved one state at a time; the best assignment and the lowest bound are kept. A run ends when the two
    meet, which proves the assignment optimal, when the messages converge, or when both stop improving; `.info.error` is
    the gap.

    Parameters
    ----------
    schedule, damping, max_steps
        As for `LoopyBP`.
    tolerance, num_trees, seed
        As for `TreeReweightedBP`.
    reweighted
        Whether to weight factors by trees. If false, each factor counts once: the plain algorithm, which often finds an
        equally good assignment but, with cycles, gives only the trivial bound that no factor exceeds its largest entry.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")] + [Factor({"A": 2}, [1, 3])]
    >>> best = MaxProduct().best(ring, Evidence.read({}, {}))
    >>> dict(best), best.info.exact
    ({'A': 1, 'B': 1, 'C': 1}, True)
    """

    tolerance: float = 1e-11
    max_steps: int = 300
    reweighted: bool = True

    @property
    def _is_max(self) -> bool:
        return True

    def _weights(self, clusters: Clusters) -> Floats:
        return ReweightedEngine._weights(self, clusters) if self.reweighted else np.ones(clusters.num_factors)

    def _first(self, problem: Problem) -> MaxProductState:
        """Messages that say nothing, and each variable in its first state."""
        start = MessageEngine._first(self, problem)
        parts = {field.name: getattr(start, field.name) for field in fields(start)}
        return MaxProductState(**parts, states=np.zeros(start.order.size, dtype=np.int64))

    def _next(self, problem: Problem, state: MessageState) -> MaxProductState:
        """One round, and every few rounds, or where the messages have settled, an assignment and a bound."""
        after = cast(MaxProductState, MessageEngine._next(self, problem, state))
        is_due = after.converged or after.num_steps % _ROUNDS == 0 or after.num_steps >= self.max_steps
        return self._judged(problem, after) if is_due and not after.is_contradictory else after

    def _judged(self, problem: Problem, state: MaxProductState) -> MaxProductState:
        """The state with a new assignment and a new bound, as far as they are better."""
        # A state for each variable in the order of the graph, given those before it, then improved one by one.
        states, space = np.zeros(state.order.size, dtype=np.int64), workspace(state.graph)
        messages = state.messages._replace(outgoing=state.messages.outgoing.copy())
        decode(state.graph, messages, state.order, space, states)
        improve(state.graph, states, space)
        upper = state.upper
        value = float(problem.log_product(states[None, :])[0])
        if self.reweighted or state.is_forest:
            found = reparametrise(state, is_max=True)
            if found.log_constant == -math.inf:
                return replace(state, converged=True, is_contradictory=True)
            upper = min(upper, found.log_constant + found.slack + found.rounding)
        gain = max(value - state.value, 0.0) + state.upper - upper
        is_idle = gain <= (1e-2 * (upper - max(value, state.value)) if self.reweighted else 0.0)
        if value <= state.value:
            states, value = state.states, state.value
        num_idle = state.num_idle + 1 if is_idle else 0
        is_over = state.converged or upper - value <= PROVED or (num_idle >= _PATIENCE and not state.is_forest)
        return replace(state, states=states, value=value, upper=upper, num_idle=num_idle, converged=is_over)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that the messages made on their way."""
        state = cast(MaxProductState, self.run(problem).state)
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        info = self._info(problem, state, _NAME, "")
        if info.exact:
            return Optimum(state.states, float(problem.log_product(state.states[None, :])[0]), info)
        is_proved = state.upper - state.value <= PROVED
        has_settled = is_proved or state.residual <= self.tolerance
        return Optimum(
            state.states,
            state.upper,
            replace(info, converged=has_settled, advice="" if is_proved else self._advice(problem)),
        )

    def _advice(self, problem: Problem) -> str:
        if has_cut(problem):
            return "There may be a better assignment. GraphCut() finds a best one of these factors, and proves it."
        damped = "" if self.damping >= 0.5 else "damping=0.5, "
        other = "reweighted=False" if self.reweighted else "reweighted=True"
        return f"There may be a better assignment. Try {damped}{other}, more max_steps or DualDecomposition()."
