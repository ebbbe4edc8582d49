"""Simulated annealing: uphill always, downhill the more rarely the colder it is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count, check_number
from plausible.errors import InvalidArgument
from plausible.search.local_search import SearchMethod
from plausible.search.search_problem import OperatorT, SearchProblem, StateT, gains, score_after
from plausible.search.search_state import SearchState

#: The attempts of one step: to begin a stream of random numbers takes longer than most attempts.
_BLOCK = 64


class CoolingSchedule(ABC):
    """The temperature of each attempt."""

    __slots__ = ()

    @property
    @abstractmethod
    def num_attempts(self) -> int:
        """After so many attempts the search is over."""

    @abstractmethod
    def temperatures(self, first: int, num: int) -> Floats:
        """The temperatures, all positive, of `num` attempts from number `first` on, counted from 0."""


@dataclass(frozen=True, slots=True)
class ExponentialCooling(CoolingSchedule):
    """τ = start · factor^⌊t / every⌋ for attempt t, until it falls below `stop`.

    Parameters
    ----------
    start
        The first temperature: downhill steps of this size are accepted with probability 1/e.
    stop
        The search is over when the temperature is lower.
    factor, every
        What the temperature is multiplied by, less than one, and the attempts at one temperature.

    Examples
    --------
    >>> cooling = ExponentialCooling(start=8, stop=1, factor=0.5, every=2)
    >>> cooling.temperatures(0, cooling.num_attempts).tolist()
    [8.0, 8.0, 4.0, 4.0, 2.0, 2.0, 1.0, 1.0]
    """

    start: float = 1.0
    stop: float = 0.01
    factor: float = 0.9
    every: int = 100

    def __post_init__(self) -> None:
        check_number("start", self.start, above=0)
        check_number("stop", self.stop, above=0)
        check_number("factor", self.factor, above=0, below=1)
        if self.stop > self.start:
            raise InvalidArgument(f"Temperatures fall: stop={self.stop!r} must not be above start={self.start!r}.")
        check_count("every", self.every, 1)

    @property
    def num_attempts(self) -> int:
        """The attempts at temperatures of at least `stop`."""
        # a hair more, so that a last temperature that equals `stop` but for rounding is still had
        levels = math.floor(math.log(self.stop / self.start) / math.log(self.factor) + 1e-9) + 1
        return levels * self.every

    def temperatures(self, first: int, num: int) -> Floats:
        """The temperatures of `num` attempts from number `first` on."""
        return np.asarray(self.start * self.factor ** (np.arange(first, first + num) // self.every))


@dataclass(frozen=True, slots=True)
class SimulatedAnnealing(SearchMethod):
    """Simulated annealing: try a random step, and take it with probability min(1, exp(δ/τ)), δ its gain in score.

    With slow enough cooling it ends in a best state, but that takes too long in practice; how good it is in a given
    time depends on the schedule and on the steps the problem proposes. Near τ = 0 it is first ascent that also drifts
    along plateaus. The result is the best state seen (Kirkpatrick, Gelatt & Vecchi 1983).

    Parameters
    ----------
    schedule
        The temperature of each attempt.
    max_steps
        Stop after this many attempts; `None` for the whole schedule.

    Examples
    --------
    >>> SimulatedAnnealing(ExponentialCooling(start=2.0, every=50)).schedule.num_attempts
    2550
    """

    schedule: CoolingSchedule = field(default_factory=ExponentialCooling)

    def __post_init__(self) -> None:
        SearchMethod.__post_init__(self)
        if not isinstance(self.schedule, CoolingSchedule):
            raise InvalidArgument(
                f"schedule={self.schedule!r} must be a CoolingSchedule, such as ExponentialCooling()."
            )

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """A block of attempts; `num_steps` counts each of them."""
        last = min(self.schedule.num_attempts, math.inf if self.max_steps is None else self.max_steps)
        num = int(min(last, state.num_steps - state.num_steps % _BLOCK + _BLOCK)) - state.num_steps
        if num <= 0:
            return state.halted("schedule over")
        rng, operator = state.generator(), None
        for temperature in self.schedule.temperatures(state.num_steps, num).tolist():
            proposed = problem.propose(state.current, rng)
            if proposed is None:
                return state.halted("no operator")
            gain = float(gains(problem, state.current, [proposed])[0])
            neighbor, score = state.current, state.score
            if rng.random() < math.exp(min(0.0, gain / temperature)):
                operator, neighbor = proposed, problem.apply(state.current, proposed)
                score = score_after(problem, score, neighbor, gain)
            state = state.moved(neighbor, score, operator=operator)
        return state
