"""Local search over any space of states: what a problem tells, what a search remembers, and three ways to climb."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from plausible.errors import InvalidArgument, NotSupported

__all__ = [
    "BasinFlooding",
    "FirstAscent",
    "GreedyAscent",
    "SearchMethod",
    "SearchProblem",
    "SearchState",
    "StopReason",
    "check_count",
    "improves",
]

StateT = TypeVar("StateT", bound=Hashable)
OperatorT = TypeVar("OperatorT")

#: Why a search stopped; "" while it goes on.
StopReason: TypeAlias = Literal[
    "", "local maximum", "no operator", "no progress", "step limit", "schedule over", "restarts over", "interrupted"
]

#: Told each state after a step; an answer that is true stops the search, which can be resumed later.
Progress: TypeAlias = Callable[["SearchState[StateT]"], object]

#: A gain counts if it is larger than this, relative to the score: what is smaller is rounding.
_ROUNDING = 1e-12


def improves(gain: float, score: float) -> bool:
    """Whether a gain on a score is more than rounding.

    >>> improves(0.1, -5.0), improves(0.0, -5.0), improves(1e-9, -1e6)
    (True, False, False)
    """
    return gain > _ROUNDING * max(1.0, abs(score))


# --- what a problem tells ---


class SearchProblem(ABC, Generic[StateT, OperatorT]):
    """A space of states with a score to maximise, and the operators that lead from one state to its neighbours.

    States are immutable and hashable, scores finite. Subclasses give `score`, `operators`, `apply` and `reverses`;
    the rest has defaults that are right and slow.
    """

    __slots__ = ()

    @abstractmethod
    def score(self, state: StateT) -> float:
        """What is maximised."""

    @abstractmethod
    def operators(self, state: StateT) -> Sequence[OperatorT]:
        """The operators that are legal in a state, always in the same order."""

    @abstractmethod
    def apply(self, state: StateT, operator: OperatorT) -> StateT:
        """The neighbour that a legal operator leads to."""

    @abstractmethod
    def reverses(self, operator: OperatorT, other: OperatorT) -> bool:
        """Whether an operator undoes another one that was applied before."""

    def deltas(self, state: StateT, operators: Sequence[OperatorT]) -> Sequence[float]:
        """By how much each operator changes the score; override it where that is cheaper than to score anew."""
        score = self.score(state)
        return [self.score(self.apply(state, operator)) - score for operator in operators]

    def best_operator(self, state: StateT, recent: Sequence[OperatorT] = ()) -> tuple[OperatorT, float] | None:
        """The operator with the largest delta among those that reverse no recent one, and its delta; `None` for none.

        Of equal ones the first. Override it where all deltas are at hand as arrays.
        """
        allowed = self.operators(state)
        if recent:
            allowed = [one for one in allowed if not any(self.reverses(one, other) for other in recent)]
        if not allowed:
            return None
        deltas = self.deltas(state, allowed)
        place = int(np.argmax(deltas))
        return allowed[place], float(deltas[place])

    def propose(self, state: StateT, rng: np.random.Generator) -> OperatorT | None:
        """A random legal operator, by default each with the same probability; `None` where there is none."""
        operators = self.operators(state)
        return operators[int(rng.integers(len(operators)))] if operators else None

    def random_state(self, rng: np.random.Generator) -> StateT:
        """A state to start from, for `RandomRestarts`."""
        raise NotSupported(f"{type(self).__name__} has no random states. Give it random_state(rng).")


# --- what a search remembers ---


@dataclass(frozen=True, slots=True)
class SearchState(Generic[StateT]):
    """All that the next step needs, and the result once `stopped` says why there is none.

    Attributes
    ----------
    current, score
        Where the search is.
    best, best_score
        The best state seen, the start included.
    steps
        The steps made.
    idle
        The steps since the best score improved.
    trace
        (steps, best score) of the start and of each improvement.
    stopped
        Why the search stopped; "" while it goes on.
    seed
        What random numbers are drawn from, together with `steps`.
    memory
        What the method remembers besides.
    """

    current: StateT
    score: float
    best: StateT
    best_score: float
    steps: int = 0
    idle: int = 0
    trace: tuple[tuple[int, float], ...] = ()
    stopped: StopReason = ""
    seed: int = 0
    memory: Any = None

    def moved(self, current: StateT, score: float, memory: Any = None, num_steps: int = 1) -> SearchState[StateT]:
        """After steps to another state, or to the same one."""
        state = replace(self, current=current, score=score, memory=memory, steps=self.steps + num_steps)
        return state.seen(current, score, num_steps)

    def seen(self, candidate: StateT, score: float, num_steps: int) -> SearchState[StateT]:
        """The best of the best so far and of a state that the last steps came by."""
        if not improves(score - self.best_score, self.best_score):
            return replace(self, idle=self.idle + num_steps)
        return replace(self, best=candidate, best_score=score, idle=0, trace=(*self.trace, (self.steps, score)))

    def halted(self, reason: StopReason) -> SearchState[StateT]:
        """The same, stopped."""
        return replace(self, stopped=reason)

    def generator(self) -> np.random.Generator:
        """The random numbers of the next step."""
        return np.random.default_rng((self.seed, self.steps))


@dataclass(frozen=True, slots=True)
class SearchMethod(ABC):
    """A way to search: a frozen object that holds options; whatever changes is in the `SearchState`.

    Parameters
    ----------
    max_steps
        The search stops after so many steps; `None` for no limit.
    """

    max_steps: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.max_steps is not None:
            check_count("max_steps", self.max_steps)

    @abstractmethod
    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """One step from a state that is not stopped."""

    def init(self, problem: SearchProblem[StateT, OperatorT], start: StateT, seed: int = 0) -> SearchState[StateT]:
        """The state of a search that has made no step."""
        score = float(problem.score(start))
        return SearchState(start, score, start, score, trace=((0, score),), seed=seed)

    def step(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """One step; a search that is stopped stays where it is."""
        if state.stopped:
            return state
        if self.max_steps is not None and state.steps >= self.max_steps:
            return state.halted("step limit")
        return self.move(problem, state)

    def run(
        self,
        problem: SearchProblem[StateT, OperatorT],
        start: StateT,
        *,
        seed: int = 0,
        progress: Progress[StateT] | None = None,
    ) -> SearchState[StateT]:
        """Search from a start until the method stops: the same seed gives the same steps."""
        return self.resume(problem, self.init(problem, start, seed), progress=progress)

    def resume(
        self,
        problem: SearchProblem[StateT, OperatorT],
        state: SearchState[StateT],
        *,
        progress: Progress[StateT] | None = None,
    ) -> SearchState[StateT]:
        """Go on from a state, such as one that `progress` was told, as if the search had not been interrupted."""
        if state.stopped == "interrupted":
            state = state.halted("")
        while not state.stopped:
            state = self.step(problem, state)
            if progress is not None and progress(state) and not state.stopped:
                return state.halted("interrupted")
        return state


def check_count(name: str, number: object, least: int = 0) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InvalidArgument(f"{name}={number!r} must be a whole number of at least {least}.")


# --- three ways to climb ---


@dataclass(frozen=True, slots=True)
class GreedyAscent(SearchMethod):
    """Steepest ascent: the best of all legal operators, as long as it improves (Koller & Friedman 2009, alg. A.5).

    It ends in a local maximum or on a plateau, which it does not cross. Of equal operators the first one is taken.
    A step costs one scan of the operators.

    Examples
    --------
    >>> class Hills(SearchProblem[int, int]):
    ...     heights = (3, 1, 2, 4, 0)
    ...     def score(self, state): return self.heights[state]
    ...     def operators(self, state): return [move for move in (-1, 1) if 0 <= state + move < 5]
    ...     def apply(self, state, operator): return state + operator
    ...     def reverses(self, operator, other): return operator == -other
    >>> found = GreedyAscent().run(Hills(), 2)
    >>> found.best, found.best_score, found.stopped
    (3, 4.0, 'local maximum')
    """

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour, if it is better."""
        best = problem.best_operator(state.current)
        if best is None:
            return state.halted("no operator")
        operator, gain = best
        if not improves(gain, state.score):
            return state.halted("local maximum")
        return state.moved(problem.apply(state.current, operator), state.score + gain)


@dataclass(frozen=True, slots=True)
class FirstAscent(SearchMethod):
    """First ascent: try the legal operators in random order, take the first that improves.

    Far from a maximum a step costs few trials; at one, a scan of all operators proves it.

    Examples
    --------
    >>> FirstAscent(max_steps=100)
    FirstAscent(max_steps=100)
    """

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To a random one of the better neighbours."""
        operators = problem.operators(state.current)
        if not operators:
            return state.halted("no operator")
        for place in state.generator().permutation(len(operators)).tolist():
            gain = float(problem.deltas(state.current, [operators[place]])[0])
            if improves(gain, state.score):
                return state.moved(problem.apply(state.current, operators[place]), state.score + gain)
        return state.halted("local maximum")


@dataclass(frozen=True, slots=True)
class BasinFlooding(SearchMethod):
    """The best neighbour that was not visited before, even if it is worse; the best state seen is the result.

    All visited states are kept, and each step copies the set of them: for searches of up to some ten thousand steps.

    Parameters
    ----------
    patience
        The search stops after so many steps in a row that did not improve the best score.
    max_steps
        The search stops after so many steps; `None` for no limit.

    Examples
    --------
    >>> BasinFlooding(patience=5)
    BasinFlooding(max_steps=None, patience=5)
    """

    patience: int = 100

    def __post_init__(self) -> None:
        SearchMethod.__post_init__(self)
        check_count("patience", self.patience, 1)

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour that is new."""
        if state.idle >= self.patience:
            return state.halted("no progress")
        visited: frozenset[StateT] = state.memory or frozenset({state.current})
        operators = problem.operators(state.current)
        deltas = np.asarray(problem.deltas(state.current, operators), dtype=np.float64)
        for place in np.argsort(-deltas, kind="stable").tolist():
            neighbor = problem.apply(state.current, operators[place])
            if neighbor not in visited:
                return state.moved(neighbor, state.score + float(deltas[place]), visited | {neighbor})
        return state.halted("no operator")
