"""EM first, then L-BFGS: what EM does fast at first, quasi-Newton steps do fast at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.learn.gradients.ascent import AscentState, MethodLike, ascent_step, init_ascent, read_method
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_init, em_step
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.free_tables import free_tables, normalized_exponentials, with_tables
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["HybridEM"]


@dataclass(frozen=True, slots=True)
class HybridEM(EMMethod):
    """Some steps of EM, then a climb along the gradient of the same objective.

    The climb is in the coordinates θ = exp λ / Σ exp λ of each row, where the gradient is what an E-step gives:
    M̄[x, u] + e - θ_{x|u} Σ_x (M̄[x, u] + e). Entries that are zero when it begins stay zero.

    Cost of a step of the climb: one or two E-steps.

    Parameters
    ----------
    em_steps
        The steps of EM.
    ascent
        "l-bfgs", "conjugate-gradient" or "steepest", or one of these with its numbers.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=HybridEM(em_steps=2)).log_likelihood, 3)
    -2.773
    """

    em_steps: int = 10
    ascent: MethodLike = "l-bfgs"

    def __post_init__(self) -> None:
        read_method(self.ascent)
        if not self.em_steps >= 0:
            raise InvalidArgument(f"em_steps= is not negative, as {self.em_steps!r} is.")

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """The state before the first step."""
        if maximization.learners:
            raise NotSupported(
                f"The distributions of {sorted(maximization.learners)} are no tables, which the climb of "
                "method='hybrid' is in. See gradient_ascent, which has their gradients."
            )
        return em_init(step, maximization, network)

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """A step of EM, or one of the climb."""
        if state.num_steps < self.em_steps:
            return em_step(step, maximization, state)
        climbed = _Climbed(step, maximization, state.network)
        memory = state.memory
        if not isinstance(memory, _Climb):
            memory = _Climb(climbed.live, init_ascent(climbed, climbed.start))
        climbed = _Climbed(step, maximization, state.network, memory.live)
        if memory.ascent.is_stuck:
            return EMState(state.network, state.expectations, (*state.trace, state.objective), {}, memory)
        after = ascent_step(climbed, memory.ascent, read_method(self.ascent))
        reached = climbed.state_at(after.point)
        return EMState(
            reached.network, reached.expectations, (*state.trace, reached.objective), {}, _Climb(memory.live, after)
        )

    def is_settled(self, state: EMState) -> bool:
        """Not before the climb has begun: gains of EM that are small by then are what it is for."""
        return state.num_steps > self.em_steps


@dataclass(frozen=True, slots=True, eq=False)
class _Climb:
    """The entries that are climbed, and the state of the climb."""

    live: Mapping[str, Flags]
    ascent: AscentState


class _Climbed:
    """The objective and its gradient, as a function of log θ of the entries that are not zero."""

    def __init__(
        self,
        step: ExpectationStep,
        maximization: Maximization,
        network: BayesianNetwork,
        live: Mapping[str, Flags] | None = None,
    ) -> None:
        self.step, self.maximization, self.network = step, maximization, network
        self.tables = free_tables(maximization, network)
        self.live = live or {name: table > 0 for name, table in self.tables.items()}
        self._last: tuple[Floats, EMState] | None = None

    @property
    def start(self) -> Floats:
        """The point of the network."""
        return np.concatenate([np.empty(0), *(np.log(table[self.live[name]]) for name, table in self.tables.items())])

    def state_at(self, point: Floats) -> EMState:
        """The state of EM at a point."""
        if self._last is None or not np.array_equal(self._last[0], point):
            network = with_tables(self.maximization, self.network, self._tables(point))
            self._last = (point.copy(), em_init(self.step, self.maximization, network))
        return self._last[1]

    def _tables(self, point: Floats) -> dict[str, Floats]:
        tables, first = {}, 0
        for name, is_live in self.live.items():
            last = first + int(is_live.sum())
            logs = np.full(is_live.shape, -np.inf)
            logs[is_live] = point[first:last]
            tables[name], first = normalized_exponentials(logs), last
        return tables

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """The objective, and its gradient; -inf, and none, where numbers underflow so that a case is ruled out."""
        try:
            state = self.state_at(point)
        except ImpossibleEvidence:
            return -np.inf, np.zeros(point.shape)
        tables, parts = free_tables(self.maximization, state.network), [np.empty(0)]
        for name, is_live in self.live.items():
            counts = sum(
                (state.expectations.counts[user] for user in self.maximization.sharing(name)),
                np.asarray(self.maximization.exponents[name]),
            )
            slope = counts - tables[name] * counts.sum(axis=-1, keepdims=True)
            parts.append(slope[is_live])
        return state.objective, np.concatenate(parts)
