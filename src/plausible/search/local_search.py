"""Local search over any space of states: what all methods share, three ways to climb, tabu search and beam search."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias, cast

import numpy as np

from plausible.base import Checked, check_count, real, score_noise, unless, whole, without_noise
from plausible.search.run import Stops, iterate
from plausible.search.search_problem import (
    LIMITS,
    Grown,
    OperatorT,
    SearchProblem,
    SearchState,
    StateT,
    StopReason,
    best_gain,
    gains,
    improves,
    score_after,
    score_of,
)

#: Told each state after a step; an answer that is true stops the search, which can be resumed later.
Progress: TypeAlias = Callable[[SearchState[StateT]], object]


@dataclass(frozen=True, slots=True)
class SearchMethod(ABC, Checked, max_steps=unless(None, whole())):
    """A way to search: a frozen object that holds options; whatever changes is in the `SearchState`."""

    max_steps: int | None = field(default=None, kw_only=True)

    @abstractmethod
    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """One step from a state that is not stopped."""

    def init(self, problem: SearchProblem[StateT, OperatorT], start: StateT, seed: int = 0) -> SearchState[StateT]:
        """The state of a search that has made no step."""
        check_count("seed", seed)
        score = score_of(problem, start)
        return SearchState(start, score, start, score, history=Grown([(0, score)]), seed=seed)

    def step(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """One step; a search that is stopped stays where it is."""
        if state.stopped_by:
            return state
        if self.max_steps is not None and state.num_steps >= self.max_steps:
            return state.halted("step limit")
        return self.move(problem, state)

    def run(
        self,
        problem: SearchProblem[StateT, OperatorT],
        start: StateT,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        progress: Progress[StateT] | None = None,
    ) -> SearchState[StateT]:
        """Search from a start until the method stops: the same seed gives the same steps.

        `progress` is told each state; an answer that is true stops the search. Whoever keeps the last state it was told
        loses nothing by an exception, `KeyboardInterrupt` included: exceptions pass through, and `resume` goes on.
        """
        return self.resume(problem, self.init(problem, start, seed), time_limit=time_limit, progress=progress)

    def resume(
        self,
        problem: SearchProblem[StateT, OperatorT],
        state: SearchState[StateT],
        *,
        time_limit: float | None = None,
        progress: Progress[StateT] | None = None,
    ) -> SearchState[StateT]:
        """Go on from a state, such as one that `progress` was told, as if the search had not been interrupted.

        Limits are looked at anew: a search that one of them stopped goes on as far as those of this method allow, which
        count what was done before; the time counts from now. A search that stopped because nothing is left to do stays.
        """
        if state.stopped_by in LIMITS:
            state = state.halted("")
        stops = Stops(0.0, None, time_limit, progress)
        run = iterate(partial(self.step, problem), state, stops, ends=attrgetter("stopped_by"))
        reason = cast("StopReason", run.stopped_by)
        return replace(run.state, stopped_by=reason, seconds=state.seconds + run.seconds)


@dataclass(frozen=True, slots=True)
class GreedyAscent(SearchMethod):
    """Steepest ascent: the best of all legal operators, as long as it improves (Koller & Friedman 2009, alg. A.5).

    It ends in a local maximum or on a plateau, which it does not cross. Of equal operators the first one is taken.
    A step costs one scan of the operators.

    >>> class Hills(SearchProblem[int, int]):
    ...     heights = (3, 1, 2, 4, 0)
    ...     def score(self, state): return self.heights[state]
    ...     def operators(self, state): return [move for move in (-1, 1) if 0 <= state + move < 5]
    ...     def apply(self, state, operator): return state + operator
    ...     def reverses(self, operator, other): return operator == -other
    >>> found = GreedyAscent().run(Hills(), 2)
    >>> found.best, found.best_score, found.stopped_by
    (3, 4.0, 'local maximum')
    """

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour, if it is better."""
        best = best_gain(problem, state.current)
        if best is None:
            return state.halted("no operator")
        operator, gain = best
        if not improves(gain, state.score):
            return state.halted("local maximum")
        neighbor = problem.apply(state.current, operator)
        return state.moved(neighbor, score_after(problem, state.score, neighbor, gain), operator=operator)


@dataclass(frozen=True, slots=True)
class FirstAscent(SearchMethod):
    """First ascent: try the legal operators in random order, take the first that improves.

    Far from a maximum a step costs few trials; at one, a scan of all operators proves it. They are tried in blocks of
    1, 2, 4, ..., each one call of `deltas`.

    >>> FirstAscent(max_steps=100)
    FirstAscent(max_steps=100)
    """

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To a random one of the better neighbours."""
        operators = problem.operators(state.current)
        if not operators:
            return state.halted("no operator")
        order = state.generator().permutation(len(operators))
        tried, num = 0, 1
        while tried < len(order):
            # twice as many each time: few trials where many operators improve, few calls where none does
            trials = [operators[place] for place in order[tried : tried + num].tolist()]
            for operator, gain in zip(trials, gains(problem, state.current, trials).tolist(), strict=True):
                if improves(gain, state.score):
                    neighbor = problem.apply(state.current, operator)
                    return state.moved(neighbor, score_after(problem, state.score, neighbor, gain), operator=operator)
            tried, num = tried + num, 2 * num
        return state.halted("local maximum")


@dataclass(frozen=True, slots=True)
class BasinFlooding(SearchMethod, patience=whole(1)):
    """The best neighbour that was not visited before, even if it is worse; the best state seen is the result.

    All visited states are kept; a step costs one scan of the operators.

    Parameters
    ----------
    patience
        The search stops after so many steps in a row that did not improve the best score.

    Examples
    --------
    >>> BasinFlooding(patience=5)
    BasinFlooding(max_steps=None, patience=5)
    """

    patience: int = 100

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour that is new."""
        if state.idle >= self.patience:
            return state.halted("no progress")
        visited: Grown[StateT] = state.memory or Grown([state.current])
        operators = problem.operators(state.current)
        changes = gains(problem, state.current, operators)
        for place in np.argsort(-without_noise(changes, score_noise(state.score)), kind="stable").tolist():
            operator = operators[place]
            neighbor = problem.apply(state.current, operator)
            if neighbor not in visited:
                score = score_after(problem, state.score, neighbor, float(changes[place]))
                return state.moved(neighbor, score, visited.with_items(neighbor), operator=operator)
        return state.halted("no operator")


@dataclass(frozen=True, slots=True)
class TabuSearch(SearchMethod, length=whole(), patience=whole(1)):
    """Tabu search: take the best step that undoes no recent one, even downhill (Koller & Friedman 2009, alg. A.6).

    This escapes local maxima and crosses plateaus; the result is the best state seen. A step (an operator) that leads
    to a new best state is taken even if it reverses a recent one (the aspiration criterion of Glover 1989). If all
    legal operators reverse a recent one, the search stops.

    Parameters
    ----------
    length
        How many of the latest operators must not be reversed; 0 forbids nothing.
    patience
        Stop after this many steps in a row without a new best score.

    Examples
    --------
    >>> TabuSearch(length=2, patience=3)
    TabuSearch(max_steps=None, length=2, patience=3)
    """

    length: int = 10
    patience: int = 100

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour that is allowed: mostly the best of all, else the best that reverses nothing."""
        if state.idle >= self.patience:
            return state.halted("no progress")
        recent: tuple[OperatorT, ...] = state.memory or ()
        best = best_gain(problem, state.current)
        if best is not None:
            is_first = best[1] == math.inf and state.best_score == -math.inf  # the first way out of -inf
            is_record = is_first or improves(state.score + best[1] - state.best_score, state.best_score)
            if not is_record and any(problem.reverses(best[0], other) for other in recent):
                best = best_gain(problem, state.current, recent)
        if best is None:
            return state.halted("no operator")
        operator, gain = best
        applied = (*recent, operator)[-self.length :] if self.length else ()
        neighbor = problem.apply(state.current, operator)
        return state.moved(neighbor, score_after(problem, state.score, neighbor, gain), applied, operator=operator)


@dataclass(frozen=True, slots=True)
class BeamSearch(SearchMethod, width=unless(math.inf, whole(1)), min_gain=unless(None, real(least=0))):
    """The K best of a beam of states and of all their neighbours, round by round (Koller & Friedman 2009, alg. A.7).

    States reached in several ways count once. A state gives way to better neighbours only, so that a beam of one is
    steepest ascent; a beam without limit holds all states within as many operators of the start as there were rounds.
    The search stops when no state of the beam has neighbours that were not looked at.

    Parameters
    ----------
    width
        K; `math.inf` for breadth-first search.
    min_gain
        The search stops after a round that lifts the best score by less; `None` to go on.

    Examples
    --------
    >>> BeamSearch(width=3)
    BeamSearch(max_steps=None, width=3, min_gain=None)
    """

    width: float = 10
    min_gain: float | None = None

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """A round: all neighbours of the states that are new in the beam, and then the best."""
        memory: _Memory = state.memory or _Memory({state.current: state.score}, Grown())
        if self.min_gain is not None and memory.gain < self.min_gain:
            return state.halted("no progress")
        unexpanded = [member for member in memory.beam if member not in memory.expanded]
        pool, ways = dict(memory.beam), dict[Any, Any].fromkeys(memory.beam)
        for member in unexpanded:
            operators = problem.operators(member)
            for operator, gain in zip(operators, gains(problem, member, operators).tolist(), strict=True):
                neighbor = problem.apply(member, operator)
                if neighbor not in memory.expanded and neighbor not in pool:
                    pool[neighbor] = score_after(problem, memory.beam[member], neighbor, gain)
                    ways[neighbor] = operator
        expanded = memory.expanded.with_items(*unexpanded)
        members, scores = list(pool), np.array(list(pool.values()), dtype=np.float64)
        ranks = np.argsort(-without_noise(scores, score_noise(state.best_score)), kind="stable")  # the beam wins ties
        ranked = [members[place] for place in ranks[: int(min(self.width, len(ranks)))].tolist()]
        kept = {member: pool[member] for member in ranked}
        if all(member in expanded for member in kept):
            return state.halted("local maximum")
        top = next(iter(kept))
        after = state.moved(top, kept[top], operator=ways[top])
        gain = 0.0 if after.best_score == state.best_score else after.best_score - state.best_score
        return replace(after, memory=_Memory(kept, expanded, gain))


@dataclass(frozen=True, slots=True)
class _Memory:
    """The states of the beam with their scores, all states whose neighbours were looked at, and the last round's gain.

    What was looked at and left the beam does not come back: that makes every search end, whatever rounding does.
    """

    beam: dict[Any, float]
    expanded: Grown[Any]
    gain: float = math.inf
