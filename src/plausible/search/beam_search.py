"""Beam search: several states go on at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from plausible.base.options import check_count, check_number
from plausible.search.grown import Grown
from plausible.search.local_search import SearchMethod
from plausible.search.search_problem import OperatorT, SearchProblem, StateT, gains, score_after
from plausible.search.search_state import SearchState

__all__ = ["BeamSearch"]


@dataclass(frozen=True, slots=True)
class BeamSearch(SearchMethod):
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
    max_steps
        The search stops after so many rounds; `None` for no limit.

    Examples
    --------
    >>> BeamSearch(width=3)
    BeamSearch(max_steps=None, width=3, min_gain=None)
    """

    width: float = 10
    min_gain: float | None = None

    def __post_init__(self) -> None:
        SearchMethod.__post_init__(self)
        if self.width != math.inf:
            check_count("width", self.width, 1)
        if self.min_gain is not None:
            check_number("min_gain", self.min_gain, least=0)

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """A round: all neighbours of the states that are new in the beam, and then the best."""
        memory: _Memory = state.memory or _Memory({state.current: state.score}, Grown())
        if self.min_gain is not None and memory.gain < self.min_gain:
            return state.halted("no progress")
        unexpanded = [member for member in memory.beam if member not in memory.expanded]
        pool, ways = dict(memory.beam), dict.fromkeys(memory.beam)
        for member in unexpanded:
            _add_neighbors(problem, member, memory, pool, ways)
        expanded = memory.expanded.with_items(*unexpanded)
        ranked = sorted(pool, key=lambda member: -pool[member])  # stable: those of the beam win ties
        kept = {member: pool[member] for member in ranked[: int(min(self.width, len(ranked)))]}
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


def _add_neighbors(
    problem: SearchProblem[StateT, OperatorT],
    member: StateT,
    memory: _Memory,
    pool: dict[StateT, float],
    ways: dict[StateT, OperatorT | None],
) -> None:
    """Put the neighbours of a state that were not looked at into a pool, with their scores and the ways to them."""
    operators, score = problem.operators(member), memory.beam[member]
    for operator, gain in zip(operators, gains(problem, member, operators).tolist(), strict=True):
        neighbor = problem.apply(member, operator)
        if neighbor not in memory.expanded and neighbor not in pool:
            pool[neighbor], ways[neighbor] = score_after(problem, score, neighbor, gain), operator
