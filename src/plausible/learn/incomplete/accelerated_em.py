"""EM with longer steps, which never lead down: squared extrapolation, and over-relaxation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_init, em_step
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.free_tables import free_tables, normalized_exponentials, with_tables
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["OverrelaxedEM", "SquaredEM"]

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

    Parameters
    ----------
    longest
        The largest |α|.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1, 0], "y": [0, 1, 1, 1, 0], "z": [0, 0, 1, 0, 0]}
    >>> slow, fast = (
    ...     learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=method, tolerance=1e-12)
    ...     for method in ("em", "squared")
    ... )
    >>> fast.steps < slow.steps, abs(fast.log_likelihood - slow.log_likelihood) < 1e-3
    (True, True)
    """

    longest: float = 1e3

    def __post_init__(self) -> None:
        if not self.longest >= 1:
            raise InvalidArgument(f"longest= is at least 1, which is plain EM, not {self.longest!r}.")

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """Two steps of EM and one extrapolation."""
        first = em_step(step, maximization, state)
        second, kept = maximization.network(first.expectations.counts, first.network)
        before, middle, last = (free_tables(maximization, net) for net in (state.network, first.network, second))
        tables = _squared(before, middle, last, self.longest)
        if tables is not None:
            found = _tried(step, maximization, with_tables(maximization, second, tables))
            if found is not None and found.objective >= first.objective:
                return replace(found, trace=(*state.trace, found.objective), kept_rows=kept)
        plain = em_init(step, maximization, second)
        return replace(plain, trace=(*state.trace, plain.objective), kept_rows=kept)


@dataclass(frozen=True, slots=True)
class OverrelaxedEM(EMMethod):
    """Steps longer than those of EM: log θ' ∝ log θ + η (log EM(θ) - log θ), with adaptive η.

    After Salakhutdinov & Roweis (2003): each step that leads up makes η `growth` times as large; one that would lead
    down is taken with η = 1, which is plain EM, so that the objective never falls.

    Cost of a step: one E-step, or two where the long step is refused.

    Parameters
    ----------
    growth
        By how much η grows; more than one.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=OverrelaxedEM(growth=1.2)).log_likelihood, 3)
    -2.773
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise InvalidArgument(f"growth= is more than 1, not {self.growth!r}.")

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """One long step, or a plain one."""
        rate = state.memory if isinstance(state.memory, float) else 1.0
        network, kept = maximization.network(state.expectations.counts, state.network)
        if rate > 1.0:
            before, after = free_tables(maximization, state.network), free_tables(maximization, network)
            tables = {name: _moved(before[name], after[name], rate) for name in after}
            found = _tried(step, maximization, with_tables(maximization, network, tables))
            if found is not None and found.objective >= state.objective:
                trace = (*state.trace, found.objective)
                return replace(found, trace=trace, kept_rows=kept, memory=rate * self.growth)
        plain = em_init(step, maximization, network)
        return replace(plain, trace=(*state.trace, plain.objective), kept_rows=kept, memory=self.growth)


def _tried(step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState | None:
    """The state at a network; none where it rules a case out."""
    try:
        return em_init(step, maximization, network)
    except ImpossibleEvidence:
        return None


def _moved(before: Floats, after: Floats, rate: float) -> Floats:
    is_live = (before > _SMALLEST) & (after > _SMALLEST)
    logs = _logs(after)
    logs[is_live] += (rate - 1.0) * np.log(after[is_live] / before[is_live])
    return normalized_exponentials(logs)


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
        logs, is_live = _logs(table), live[name]
        logs[is_live] = np.log(before[name][is_live]) - 2 * alpha * moves[name] + alpha**2 * turns[name]
        tables[name] = normalized_exponentials(logs)
    return tables


def _logs(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(table)
