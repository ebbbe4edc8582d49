"""Runs of EM, whatever its steps are: when they stop, and the best of several starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from plausible.base.ranking import ranked
from plausible.base.seeds import Seed, generator_of
from plausible.base.tolerances import score_noise
from plausible.errors import InvalidArgument

__all__ = ["EMState", "EMStep", "EMStops", "best_first", "best_run", "run", "sources_of_chance"]

Run = TypeVar("Run")


class EMState(Protocol):
    """What is common to the states of all kinds of EM."""

    @property
    def trace(self) -> tuple[float, ...]:
        """The objective before each step."""

    @property
    def converged(self) -> bool:
        """Whether the last step gained less than the tolerance."""


StateT = TypeVar("StateT", bound=EMState)

#: One E-step and one M-step; the number is the gain of the objective, for each case, that counts as none.
EMStep: TypeAlias = Callable[[StateT, float], StateT]


@dataclass(frozen=True, slots=True)
class EMStops(Generic[StateT]):
    """When EM stops.

    Parameters
    ----------
    tolerance
        Least gain of the objective, for each case, that is worth another step.
    max_iterations
        Steps of a run.
    time_limit
        Seconds for all runs; `None` for no limit.
    progress
        Told the state after each step; a true answer stops everything.

    Examples
    --------
    >>> EMStops(max_iterations=50, progress=lambda state: len(state.trace) > 20)
    EMStops(tolerance=1e-06, max_iterations=50, time_limit=None, progress=<function <lambda> at ...>)
    """

    tolerance: float = 1e-6
    max_iterations: int = 1000
    time_limit: float | None = None
    progress: Callable[[StateT], object] | None = None

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise InvalidArgument(f"tolerance={self.tolerance!r} is a gain that counts as none: zero or more.")
        if self.max_iterations < 1:
            raise InvalidArgument(f"max_iterations={self.max_iterations!r}: a run has at least one step.")


def run(step: EMStep[StateT], state: StateT, stops: EMStops[Any], deadline: float = math.inf) -> tuple[StateT, bool]:
    """Steps until one gains too little; also whether the caller or the clock stopped it."""
    for _ in range(stops.max_iterations):
        state = step(state, stops.tolerance)
        is_stopped = stops.progress is not None and bool(stops.progress(state))
        is_stopped = is_stopped or time.monotonic() > deadline
        if is_stopped or state.converged:
            return state, is_stopped
    return state, False


def best_run(step: EMStep[StateT], starts: Iterable[StateT], stops: EMStops[Any]) -> tuple[StateT, tuple[float, ...]]:
    """The run with the greatest objective, the first of several; and the last objectives of all runs.

    Starts are made one at a time, so that those that the caller or the clock leaves no time for cost nothing.
    """
    deadline = math.inf if stops.time_limit is None else time.monotonic() + stops.time_limit
    ends: list[StateT] = []
    for start in starts:
        end, is_stopped = run(step, start, stops, deadline)
        ends.append(end)
        if is_stopped:
            break
    return best_first(ends, lambda end: end.trace[-1])[0], tuple(end.trace[-1] for end in ends)


def best_first(runs: Iterable[Run], objective: Callable[[Run], float]) -> list[Run]:
    """The runs by what they reached, the greatest first; those that reached the same, but for rounding, as made.

    >>> best_first([0.3, 0.1 + 0.2, 0.7], abs)
    [0.7, 0.3, 0.30000000000000004]
    """
    made = list(runs)
    return ranked(made, objective, score_noise(max(map(objective, made), default=0.0)))


def sources_of_chance(seed: Seed, restarts: int) -> list[np.random.Generator]:
    """One generator of numbers for each start."""
    if restarts < 1:
        raise InvalidArgument(f"restarts={restarts!r}: at least one run is needed.")
    return generator_of(seed).spawn(restarts)
