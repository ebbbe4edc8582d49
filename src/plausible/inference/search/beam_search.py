"""Beam search: several states go on at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from plausible.errors import InvalidArgument
from plausible.inference.search.local_search import (
    OperatorT,
    SearchMethod,
    SearchProblem,
    SearchState,
    StateT,
    check_count,
)

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
        if self.min_gain is not None and not self.min_gain >= 0:
            raise InvalidArgument(f"min_gain={self.min_gain!r} must be a number that is not negative, or None.")

    def move(self, problem: SearchProblem[StateT, OperatorT], state: SearchState[StateT]) -> SearchState[StateT]:
        """A round: all neighbours of the states that are new in the beam, and then the best."""
        memory: _Memory = state.memory or _Memory({state.current: state.score}, frozenset())
        pool = dict(memory.beam)
        for member in [member for member in memory.beam if member not in memory.expanded]:
            operators = problem.operators(member)
            for operator, delta in zip(operators, problem.deltas(member, operators), strict=True):
                neighbor = problem.apply(member, operator)
                if neighbor not in memory.expanded:
                    pool.setdefault(neighbor, memory.beam[member] + float(delta))
        expanded = memory.expanded | memory.beam.keys()
        ranked = sorted(pool, key=lambda member: -pool[member])  # stable: those of the beam win ties
        kept = {member: pool[member] for member in ranked[: int(min(self.width, len(ranked)))]}
        if kept.keys() <= expanded:
            return state.halted("local maximum")
        top = next(iter(kept))
        after = state.moved(top, kept[top], _Memory(kept, expanded))
        is_small = self.min_gain is not None and after.best_score - state.best_score < self.min_gain
        return after.halted("no progress") if is_small else after


@dataclass(frozen=True, slots=True)
class _Memory:
    """The states of the beam with their scores, and all states whose neighbours were looked at.

    What was looked at and left the beam does not come back: that makes every search end, whatever rounding does.
    """

    beam: dict[Any, float]
    expanded: frozenset[Any]
