"""Searches around searches: simulated annealing, many starts, walks away from the best state so far."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plausible.base import Checked, Floats, real, whole
from plausible.errors import InvalidArgument
from plausible.search.local_search import GreedyAscent, SearchMethod
from plausible.search.search_problem import OperatorT, SearchProblem, SearchState, StateT, gains, score_after

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
class ExponentialCooling(
    CoolingSchedule, Checked, start=real(above=0), stop=real(above=0), factor=real(above=0, below=1), every=whole(1)
):
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
        Checked.__post_init__(self)
        if self.stop > self.start:
            raise InvalidArgument(f"Temperatures fall: stop={self.stop!r} must not be above start={self.start!r}.")

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


#: No walk is longer: where so many steps have not led away, more will not.
_LONGEST_WALK = 10_000


@dataclass(frozen=True, slots=True)
class _Memory:
    """The search inside, the restarts begun, and how many of the last ones in a row improved nothing."""

    inside: SearchState[Any]
    num: int
    failures: int
    score: float  # the best score when the search inside began


@dataclass(frozen=True, slots=True)
class Restarts(SearchMethod, num=whole()):
    """The base of searches that run another one, `inner`, again and again, `num` times, and keep the best state."""

    inner: SearchMethod = field(default_factory=GreedyAscent)
    num: int = 10

    def __post_init__(self) -> None:
        SearchMethod.__post_init__(self)
        if not isinstance(self.inner, SearchMethod):
            raise InvalidArgument(f"inner={self.inner!r} must be a search, such as GreedyAscent().")

    @abstractmethod
    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        """Where the next search starts, given the best state and how many searches in a row did not improve it."""

    def is_over(self, num: int, failures: int) -> bool:
        """Whether to stop after so many restarts, the last of which in a row did not improve the best state."""
        return num >= self.num

    def _failures(self, state: SearchState[Any]) -> int:
        memory: _Memory = state.memory
        return 0 if not memory.num or state.best_score > memory.score else memory.failures + 1

    def init(self, problem: SearchProblem[StateT, OperatorT], start: StateT, seed: int = 0) -> SearchState[StateT]:
        """The state of a search that has made no step."""
        inside = self.inner.init(problem, start, seed)
        return replace(inside, memory=_Memory(inside, 0, 0, inside.score))

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """A step of the search inside, or a new start of it."""
        memory: _Memory = state.memory
        if not memory.inside.stopped_by:
            inside = self.inner.step(problem, memory.inside)
            num_steps = inside.num_steps - memory.inside.num_steps
            after = replace(memory, inside=inside)
        elif not self.is_over(memory.num, failures := self._failures(state)):
            rng = np.random.default_rng((state.seed, memory.num, 1))
            start = self.next_start(problem, state.best, failures, rng)
            inside, num_steps = self.inner.init(problem, start, int(rng.integers(2**62))), 0
            after = _Memory(inside, memory.num + 1, failures, state.best_score)
        else:
            return state.halted("restarts over")
        operator, total = inside.operator if num_steps else None, state.num_steps + num_steps
        where = replace(state, current=inside.current, score=inside.score, operator=operator)
        return replace(where, num_steps=total, memory=after).seen(inside.best, inside.best_score, num_steps)


@dataclass(frozen=True, slots=True)
class RandomRestarts(Restarts):
    """Run a search from the start given, and then from random states of the problem.

    Parameters
    ----------
    inner
        The search to run; a step is one of its steps.
    num
        How many random starts follow the first one.

    Examples
    --------
    >>> RandomRestarts(num=3)
    RandomRestarts(max_steps=None, inner=GreedyAscent(max_steps=None), num=3)
    """

    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        """A random state."""
        return problem.random_state(rng)


@dataclass(frozen=True, slots=True)
class PerturbationRestarts(Restarts, length=whole(1), growth=real(least=1)):
    """Walk at random from the best state, search from there, keep what is better (Koller & Friedman 2009, alg. A.8).

    A walk of l steps applies exactly l random legal operators, fewer only where none is legal. If it is too short the
    search falls back to where it was; if it is too long what made the best state good is lost.

    Parameters
    ----------
    inner, num
        The search to run, a step being one of its steps, and how many walks there are.
    length
        The steps of a walk.
    growth
        Each walk is so many times longer than the last one if that led to nothing better, and of `length` steps again
        after success, but no longer than 10000 steps; one for walks of equal length.

    Examples
    --------
    >>> walks = PerturbationRestarts(num=4, length=2, growth=1.5)
    >>> [walks.walk_length(failures) for failures in range(4)]
    [2, 3, 4, 7]
    """

    length: int = 5
    growth: float = 1.0

    def walk_length(self, failures: int) -> int:
        """The steps of a walk after so many in a row that led to nothing better."""
        if self.growth == 1:
            return self.length
        most = math.ceil(math.log(_LONGEST_WALK) / math.log(self.growth))  # more would overflow, and be cut off anyway
        return round(min(self.length * self.growth ** min(failures, most), max(self.length, _LONGEST_WALK)))

    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        """The end of a random walk."""
        state = best
        for _ in range(self.walk_length(failures)):
            operator = problem.propose(state, rng)
            if operator is None:
                break
            state = problem.apply(state, operator)
        return state
