"""EM with longer steps, which are faster at the end: squared extrapolation, over-relaxation, and quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Flags, Floats, check_count, logarithms
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.learn.incomplete.maximization import normalized_exponentials
from plausible.learn.incomplete.problem import EMMethod, EMProblem, EMState
from plausible.models import BayesianNetwork
from plausible.search.ascent import AscentLike, AscentState, ascent_step, init_ascent, read_ascent

Tables: TypeAlias = Mapping[str, Floats]

#: log θ is moved where all of the tables have more than this; smaller entries are as plain EM leaves them.
_SMALLEST = 1e-200


@dataclass(frozen=True, slots=True)
class SquaredEM(EMMethod):
    """Two steps of EM show where they lead; one long step goes there: SQUAREM (Varadhan & Roland 2008).

    With θ0, θ1, θ2 from two steps, r = log θ1 - log θ0 and v = log θ2 - log θ1 - r, the rows of tables become
    log θ' ∝ log θ0 - 2 α r + α² v with α = -|r| / |v|, or θ2 where α would be above -1. Should the objective at θ' be
    lower than at θ1, θ2 is taken instead: it never falls. Where distributions are no tables, they are those of θ2.

    Cost of a step: two E-steps, or three where θ' is refused.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1, 0], "y": [0, 1, 1, 1, 0], "z": [0, 0, 1, 0, 0]}
    >>> slow, fast = (
    ...     learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=method, tolerance=1e-12)
    ...     for method in ("em", "squared")
    ... )
    >>> fast.num_steps < slow.num_steps, abs(fast.log_likelihood - slow.log_likelihood) < 1e-3
    (True, True)
    """

    longest: float = 1e3  # The largest |α|

    def __post_init__(self) -> None:
        if not self.longest >= 1:
            raise InvalidArgument(f"longest= is at least 1, which is plain EM, not {self.longest!r}.")

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """Two steps of EM and one extrapolation."""
        first, maximization = EMMethod.step(self, problem, state), problem.maximization
        second, kept = problem.maximized(first)
        before, middle, last = (maximization.free_tables(net) for net in (state.network, first.network, second))
        tables = _squared(before, middle, last, self.longest)
        if tables is not None:
            far = problem.tried(maximization.with_tables(second, tables), kept, state)
            if far is not None and far.objective >= first.objective:
                return far
        return problem.at(second, kept, state)


@dataclass(frozen=True, slots=True)
class OverrelaxedEM(EMMethod):
    """Steps longer than those of EM: log θ' ∝ log θ + η (log EM(θ) - log θ), with adaptive η.

    After Salakhutdinov & Roweis (2003): each step that leads up makes η `growth` times as large; one that would lead
    down is taken with η = 1, which is plain EM, so that the objective never falls.

    Cost of a step: one E-step, or two where the long step is refused.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=OverrelaxedEM(growth=1.2)).log_likelihood, 3)
    -2.773
    """

    growth: float = 1.1  # By how much η grows; more than one

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise InvalidArgument(f"growth= is more than 1, not {self.growth!r}.")

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One long step, or a plain one."""
        rate, maximization = state.memory if isinstance(state.memory, float) else 1.0, problem.maximization
        network, kept = problem.maximized(state)
        if rate > 1.0:
            before, after = maximization.free_tables(state.network), maximization.free_tables(network)
            tables = {}
            for name, table in after.items():
                is_live, logs = (before[name] > _SMALLEST) & (table > _SMALLEST), logarithms(table)
                logs[is_live] += (rate - 1.0) * np.log(table[is_live] / before[name][is_live])
                tables[name] = normalized_exponentials(logs)
            far = problem.tried(maximization.with_tables(network, tables), kept, state)
            if far is not None and far.objective >= state.objective:
                return replace(far, memory=rate * self.growth)
        return problem.at(network, kept, state, memory=self.growth)


@dataclass(frozen=True, slots=True)
class HybridEM(EMMethod):
    """Some steps of EM, then a climb along the gradient of the same objective.

    The climb is in the coordinates θ = exp λ / Σ exp λ of each row, where the gradient is what an E-step gives:
    M̄[x, u] + e - θ_{x|u} Σ_x (M̄[x, u] + e). Entries that are zero when it begins stay zero.

    Cost of a step of the climb: one or two E-steps.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=HybridEM(em_steps=2)).log_likelihood, 3)
    -2.773
    """

    em_steps: int = 10  # The steps of EM
    ascent: AscentLike = "l-bfgs"  # "l-bfgs", "conjugate-gradient" or "steepest", or one of these with its numbers

    def __post_init__(self) -> None:
        read_ascent(self.ascent)
        check_count("em_steps", self.em_steps)

    @property
    def num_scheduled(self) -> int:
        """The steps of EM, and the first of the climb: small gains of EM are what that is for."""
        return self.em_steps + 1

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        if problem.maximization.learners:
            raise NotSupported(
                f"The distributions of {sorted(problem.maximization.learners)} are no tables, which the climb of "
                "method='hybrid' is in. See gradient_ascent, which has their gradients."
            )
        return problem.at(network)

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """A step of EM, or one of the climb."""
        if state.num_steps < self.em_steps:
            return EMMethod.step(self, problem, state)
        live, ascent = state.memory if isinstance(state.memory, _Climb) else (None, None)
        climbed = _Climbed(problem, state.network, live)
        if ascent is None:
            tables = problem.maximization.free_tables(state.network).values()
            start = np.concatenate([np.empty(0), *(np.log(table[table > 0]) for table in tables)])
            ascent = init_ascent(climbed, start)
        if ascent.is_stuck:
            return replace(state, num_steps=state.num_steps + 1, kept_rows={}, memory=_Climb(climbed.live, ascent))
        ascent = ascent_step(climbed, ascent, read_ascent(self.ascent))
        reached = climbed.state_at(ascent.point)
        return replace(reached, num_steps=state.num_steps + 1, memory=_Climb(climbed.live, ascent))


class _Climb(NamedTuple):
    """How far a climb is."""

    live: Mapping[str, Flags]  # the entries that are not zero
    ascent: AscentState


class _Climbed:
    """The objective and its gradient, as a function of log θ of the entries that are not zero."""

    def __init__(self, problem: EMProblem, network: BayesianNetwork, live: Mapping[str, Flags] | None = None) -> None:
        self.problem, self.network = problem, network
        free = problem.maximization.free_tables(network)
        self.live = live or {name: table > 0 for name, table in free.items()}
        self._last: tuple[Floats, EMState] | None = None

    def state_at(self, point: Floats) -> EMState:
        """The state of EM at a point."""
        if self._last is None or not np.array_equal(self._last[0], point):
            tables, first = {}, 0
            for name, is_live in self.live.items():
                last = first + int(is_live.sum())
                logs = np.full(is_live.shape, -np.inf)
                logs[is_live] = point[first:last]
                tables[name], first = normalized_exponentials(logs), last
            network = self.problem.maximization.with_tables(self.network, tables)
            self._last = (point.copy(), self.problem.at(network))
        return self._last[1]

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """The objective, and its gradient; -inf, and none, where numbers underflow so that a case is ruled out."""
        try:
            state = self.state_at(point)
        except ImpossibleEvidence:
            return -np.inf, np.zeros(point.shape)
        maximization, parts = self.problem.maximization, [np.empty(0)]
        for name, table in maximization.free_tables(state.network).items():
            shared = [state.expectations.counts[user] for user in maximization.sharing(name)]
            counts = sum(shared, np.asarray(maximization.exponents[name]))
            parts.append((counts - table * counts.sum(axis=-1, keepdims=True))[self.live[name]])
        return state.objective, np.concatenate(parts)


def _squared(before: Tables, middle: Tables, last: Tables, longest: float) -> dict[str, Floats] | None:
    """The extrapolated tables; none where they would be the last ones."""
    live, moves, turns = {}, {}, {}
    for name, table in before.items():
        live[name] = (table > _SMALLEST) & (middle[name] > _SMALLEST) & (last[name] > _SMALLEST)
        first, second, third = (np.log(some[name][live[name]]) for some in (before, middle, last))
        moves[name], turns[name] = second - first, third - 2 * second + first
    length = np.sqrt(sum(float(move @ move) for move in moves.values()))
    turn = np.sqrt(sum(float(move @ move) for move in turns.values()))
    alpha = -min(length / turn if turn > 0 else 1.0, longest)
    if alpha >= -1.0:
        return None
    tables = {}
    for name, table in last.items():
        logs, is_live = logarithms(table), live[name]
        logs[is_live] = np.log(before[name][is_live]) - 2 * alpha * moves[name] + alpha**2 * turns[name]
        tables[name] = normalized_exponentials(logs)
    return tables
