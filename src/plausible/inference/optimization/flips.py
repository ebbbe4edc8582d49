"""Assignments and flips of one variable at a time as a search problem, and searches of flips in compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.inference.problem import Problem
from plausible.kernels.local_moves import Attempts, FlipFields, FlipLayout, Moves, Tabu, Tally, climb, fill, wander
from plausible.search.annealing import CoolingSchedule, ExponentialCooling, SimulatedAnnealing
from plausible.search.local_search import FirstAscent, GreedyAscent, SearchMethod, TabuSearch
from plausible.search.restarts import Restarts
from plausible.search.search_problem import SearchProblem
from plausible.search.search_state import SearchState, StopReason, improves

States: TypeAlias = tuple[int, ...]


class Flip(NamedTuple):
    """Put a variable, given by its place, from one state into another."""

    variable: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, eq=False)
class FlipProblem(SearchProblem[States, Flip]):
    """log Π φ(x) over assignments x, zeros counted first; made by `FlipProblem.of`.

    The score is the sum of the logarithms that are finite, minus a penalty for each factor that is zero: so large that
    an assignment with fewer zeros always scores more. A search hence repairs what is impossible before all else.
    """

    starts: Ints  # State s of variable v has the number `starts[v] + s`
    #: The variables of each factor, and how far apart the entries of their states are.
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    tables: Ints  # The factor of each entry of `scopes`
    #: Where variable v is in `scopes`: `entries[entry_starts[v]:entry_starts[v + 1]]`.
    entry_starts: Ints
    entries: Ints
    #: The logarithms of the factors, 0 for zero, and marks of what is zero.
    table_starts: Ints
    logs: Floats
    zeros: NDArray[np.uint8]
    penalty: float  # What a zero costs

    @classmethod
    def of(cls, problem: Problem) -> FlipProblem:
        """The flips of the variables of a problem.

        >>> from plausible.factors import Factor
        >>> from plausible.variables import Evidence
        >>> either = Factor({"A": 2, "B": 2}, [[0.0, 1.0], [0.5, 0.0]])
        >>> flips = FlipProblem.of(Problem.of([either], Evidence.read({}, {})))
        >>> flips.num_zeros((0, 0)), flips.num_zeros((1, 0)), round(flips.score((1, 0)), 6)
        (1, 0, -0.693147)
        """
        zeros = np.isneginf(problem.logs)
        logs = np.where(zeros, 0.0, problem.logs)
        num = len(problem.factors)
        ranges = -np.minimum.reduceat(logs, problem.table_starts[:-1]) if num else np.zeros(0)
        return cls(
            starts=np.concatenate([[0], np.cumsum(problem.sizes)]).astype(np.int64),
            scope_starts=problem.scope_starts,
            scopes=problem.scopes,
            strides=problem.strides,
            tables=np.repeat(np.arange(num), np.diff(problem.scope_starts)),
            entry_starts=np.searchsorted(np.sort(problem.scopes), np.arange(len(problem.sizes) + 1)).astype(np.int64),
            entries=np.argsort(problem.scopes, kind="stable").astype(np.int64),
            table_starts=problem.table_starts,
            logs=logs,
            zeros=zeros.astype(np.uint8),
            penalty=1.0 + float(ranges.sum()),
        )

    @property
    def num_variables(self) -> int:
        """How many variables there are."""
        return len(self.starts) - 1

    @property
    def movable(self) -> Ints:
        """Each variable once for each of its states but one: what a random flip is drawn from."""
        return np.repeat(np.arange(self.num_variables), np.diff(self.starts) - 1)

    # --- what a search asks ---

    def score(self, state: States) -> float:
        """The sum of the logarithms, and the penalty for zeros."""
        cells = self._cells(state)
        return float(self.logs[cells].sum()) - self.penalty * int(self.zeros[cells].sum())

    def num_zeros(self, state: States) -> int:
        """How many factors are zero."""
        return int(self.zeros[self._cells(state)].sum())

    def operators(self, state: States) -> list[Flip]:
        """Every variable to every other state."""
        sizes = np.diff(self.starts).tolist()
        return [Flip(v, old, new) for v, old in enumerate(state) for new in range(sizes[v]) if new != old]

    def apply(self, state: States, operator: Flip) -> States:
        """The assignment with one variable changed."""
        return (*state[: operator.variable], operator.new, *state[operator.variable + 1 :])

    def reverses(self, operator: Flip, other: Flip) -> bool:
        """Whether a variable goes back to a state that the other flip took it out of."""
        return operator.variable == other.variable and operator.new == other.old

    def deltas(self, state: States, operators: Sequence[Flip]) -> list[float]:
        """The change of the score by each flip, from one pass over the factors."""
        fields = self.fields(state)
        scores = fields.sums - self.penalty * fields.counts
        firsts = self.starts.tolist()
        return [float(scores[firsts[v] + new] - scores[firsts[v] + old]) for v, old, new in operators]

    def propose(self, state: States, rng: np.random.Generator) -> Flip | None:
        """A random flip, each with the same probability."""
        movable = self.movable
        if not len(movable):
            return None
        variable = int(rng.choice(movable))
        new = int(rng.integers(self.starts[variable + 1] - self.starts[variable] - 1))
        return Flip(variable, state[variable], new + (new >= state[variable]))

    def random_state(self, rng: np.random.Generator) -> States:
        """Each variable in a random state."""
        return tuple(rng.integers(np.diff(self.starts)).tolist())

    # --- arrays for kernels ---

    @property
    def layout(self) -> FlipLayout:
        """What kernels are given."""

        return FlipLayout(
            self.starts,
            self.scope_starts,
            self.scopes,
            self.strides,
            self.tables,
            self.entry_starts,
            self.entries,
            self.logs,
            self.zeros,
            self.penalty,
        )

    def fields(self, states: States) -> FlipFields:
        """The arrays of a search at some states: for each state of each variable the logarithms and zeros it adds."""

        num = int(self.starts[-1])
        cells, counts = self.table_starts[:-1].copy(), np.empty(num, dtype=np.int64)
        fields = FlipFields(np.array(states, dtype=np.int64), cells, np.empty(num), counts)
        fill(self.layout, fields)
        return fields

    def _cells(self, state: States) -> Ints:
        steps = self.strides * np.array(state, dtype=np.int64)[self.scopes]
        return self.table_starts[:-1] + np.bincount(
            self.tables, weights=steps, minlength=len(self.table_starts) - 1
        ).astype(np.int64)


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
