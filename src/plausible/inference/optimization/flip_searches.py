"""Searches of flips in compiled code: the same methods as for any problem, many flips a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plausible.base.arrays import Ints
from plausible.inference.optimization.flips import FlipProblem, States
from plausible.kernels.local_moves import Attempts, FlipFields, Moves, Tabu, Tally, climb, wander
from plausible.search.annealing import CoolingSchedule, ExponentialCooling, SimulatedAnnealing
from plausible.search.local_search import FirstAscent, GreedyAscent, SearchMethod
from plausible.search.restarts import Restarts
from plausible.search.search_state import SearchState, StopReason, improves
from plausible.search.tabu_search import TabuSearch

__all__ = ["compiled"]

#: The flips between two looks at the clock, the step limit and the one who wants to know.
_CHUNK = 2**16

_REASONS: tuple[StopReason, ...] = ("", "local maximum", "no operator", "no progress")


def compiled(method: SearchMethod) -> SearchMethod:
    """The same search of flips by kernels, where there are any for it.

    >>> compiled(TabuSearch(length=3, patience=9))
    _BestFlips(max_steps=None, length=3, patience=9)
    """
    match method:
        case Restarts():
            return replace(method, inner=compiled(method.inner))
        case GreedyAscent():
            return _BestFlips(max_steps=method.max_steps)
        case TabuSearch():
            return _BestFlips(method.length, method.patience, max_steps=method.max_steps)
        case SimulatedAnnealing():
            return _AnnealedFlips(method.schedule, max_steps=method.max_steps)
        case FirstAscent():
            return _FirstFlips(max_steps=method.max_steps)
        case _:
            return method


@dataclass(frozen=True, slots=True)
class _FlipSearch(SearchMethod):
    """A search of flips whose steps are many flips each."""

    def move(self, problem: Any, state: SearchState[Any]) -> SearchState[Any]:
        num = _CHUNK if self.max_steps is None else min(_CHUNK, self.max_steps - state.num_steps)
        return self._flipped(problem, state, num) if len(problem.movable) else state.halted("no operator")

    @abstractmethod
    def _flipped(self, problem: FlipProblem, state: SearchState[States], num: int) -> SearchState[States]:
        """After so many flips, or attempts at them."""


@dataclass(frozen=True, slots=True)
class _BestFlips(_FlipSearch):
    """Steepest ascent, or tabu search where there is a length."""

    length: int | None = None
    patience: int = 1

    def _flipped(self, problem: FlipProblem, state: SearchState[States], num: int) -> SearchState[States]:

        fields, best = problem.fields(state.current), np.array(state.best, dtype=np.int64)
        memory: _Barred = state.memory or _Barred.nothing(problem, 0 if self.length is None else self.length + 1)
        moves = _moves(problem.num_variables, 1 if self.length is None else 2)
        tabu = Tabu(memory.until.copy(), memory.ring.copy(), self.patience, moves)
        code, tally = climb(problem.layout, fields, tabu, num, _tally(state), best)
        after = _after(problem, state, fields, tally, best)
        return replace(after, memory=_Barred(tabu.barred, tabu.ring)).halted(_REASONS[code])


@dataclass(frozen=True, slots=True, eq=False)
class _Barred:
    """Until which step each state is barred, and the variables of the last flips, each looked at again in its turn."""

    until: Ints
    ring: Ints

    @classmethod
    def nothing(cls, problem: FlipProblem, size: int) -> _Barred:
        return cls(np.full(int(problem.starts[-1]), -1), np.full(size, -1))


@dataclass(frozen=True, slots=True)
class _AnnealedFlips(_FlipSearch):
    """Simulated annealing; every attempt is a step."""

    schedule: CoolingSchedule = field(default_factory=ExponentialCooling)

    def _flipped(self, problem: FlipProblem, state: SearchState[States], num: int) -> SearchState[States]:

        num = min(num, self.schedule.num_attempts - state.num_steps)
        if num <= 0:
            return state.halted("schedule over")
        fields, best = problem.fields(state.current), np.array(state.best, dtype=np.int64)
        seed = state.generator().integers(2**63, size=1).astype(np.uint64)
        attempts = Attempts(problem.movable, self.schedule.temperatures(state.num_steps, num), seed)
        _, tally = wander(problem.layout, fields, attempts, _tally(state), best)
        return _after(problem, state, fields, tally, best)


@dataclass(frozen=True, slots=True)
class _FirstFlips(_FlipSearch):
    """First ascent: annealing at temperature zero, where only the attempts that succeed are steps."""

    def _flipped(self, problem: FlipProblem, state: SearchState[States], num: int) -> SearchState[States]:

        fields, best = problem.fields(state.current), np.array(state.best, dtype=np.int64)
        if _is_maximum(problem, fields, state.score):
            return state.halted("local maximum")
        num_before: int = state.memory or 0  # attempts, not steps: some make none, and random numbers must go on
        seed = state.generator().integers(2**63, size=1).astype(np.uint64) + np.uint64(num_before)
        made, tally = wander(
            problem.layout, fields, Attempts(problem.movable, np.zeros(num), seed), _tally(state), best
        )
        steps = tally._replace(steps=state.num_steps + made, idle=0 if made else state.idle)
        return replace(_after(problem, state, fields, steps, best), memory=num_before + num)


def _moves(num_variables: int, num_rows: int) -> Moves:
    """Room for the best flip of each variable and a tournament with as many places as the next power of two."""

    targets = np.zeros((num_rows, num_variables), dtype=np.int64)
    nodes = np.empty((num_rows, 2 << (num_variables - 1).bit_length()), dtype=np.int64)
    return Moves(np.empty((num_rows, num_variables)), targets, nodes)


def _tally(state: SearchState[States]) -> Tally:

    return Tally(state.score, state.best_score, state.num_steps, state.idle)


def _after(
    problem: FlipProblem, state: SearchState[States], fields: FlipFields, tally: Tally, best: Ints
) -> SearchState[States]:
    """The state after some flips, its scores summed anew so that rounding does not pile up."""
    current, found = tuple(fields.states.tolist()), tuple(best.tolist())
    moved = replace(state, current=current, score=problem.score(current), num_steps=tally.steps, operator=None)
    return replace(moved.seen(found, problem.score(found), 0), idle=tally.idle)


def _is_maximum(problem: FlipProblem, fields: FlipFields, score: float) -> bool:
    """Whether no flip improves."""
    scores = fields.sums - problem.penalty * fields.counts
    own = np.repeat(scores[problem.starts[:-1] + fields.states], np.diff(problem.starts))
    return not improves(float((scores - own).max()), score)
