"""Tabu search: always to the best neighbour, never straight back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.base.options import check_count
from plausible.search.local_search import SearchMethod
from plausible.search.search_problem import OperatorT, SearchProblem, StateT, best_gain, score_after
from plausible.search.search_state import SearchState, improves

__all__ = ["TabuSearch"]


@dataclass(frozen=True, slots=True)
class TabuSearch(SearchMethod):
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
    max_steps
        Stop after this many steps; `None` for no limit.

    Examples
    --------
    >>> from plausible.search.local_search import SearchProblem
    >>> class Hills(SearchProblem[int, int]):
    ...     heights = (3, 1, 2, 0, 4)
    ...     def score(self, state): return self.heights[state]
    ...     def operators(self, state): return [move for move in (-1, 1) if 0 <= state + move < 5]
    ...     def apply(self, state, operator): return state + operator
    ...     def reverses(self, operator, other): return operator == -other
    >>> found = TabuSearch(length=2, patience=3).run(Hills(), 1)
    >>> found.best, found.best_score, found.stopped_by
    (0, 3.0, 'no operator')
    """

    length: int = 10
    patience: int = 100

    def __post_init__(self) -> None:
        SearchMethod.__post_init__(self)
        check_count("length", self.length)
        check_count("patience", self.patience, 1)

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """To the best neighbour that is allowed."""
        if state.idle >= self.patience:
            return state.halted("no progress")
        recent: tuple[OperatorT, ...] = state.memory or ()
        best = _best_allowed(problem, state, recent)
        if best is None:
            return state.halted("no operator")
        operator, gain = best
        applied = (*recent, operator)[-self.length :] if self.length else ()
        neighbor = problem.apply(state.current, operator)
        return state.moved(neighbor, score_after(problem, state.score, neighbor, gain), applied, operator=operator)


def _best_allowed(
    problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT], recent: Sequence[OperatorT]
) -> tuple[OperatorT, float] | None:
    """The best operator of all if it is allowed, as it mostly is; else the best of those that reverse nothing."""
    best = best_gain(problem, state.current)
    if best is None:
        return None
    operator, gain = best
    is_first = gain == math.inf and state.best_score == -math.inf  # the first way out of -inf
    if is_first or improves(state.score + gain - state.best_score, state.best_score):
        return best
    if any(problem.reverses(operator, other) for other in recent):
        return best_gain(problem, state.current, recent)
    return best
