"""Branch and bound over any tree of partial solutions: the part that bounds, the stack, and the loop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Generic, TypeVar

from plausible.base.options import check_count, check_seconds

__all__ = ["Branches", "BranchingState", "branch_and_bound", "branch_step"]

PartialT = TypeVar("PartialT")


class Branches(ABC, Generic[PartialT]):
    """A tree of partial solutions with bounds on what they can become."""

    __slots__ = ()

    @abstractmethod
    def branches(self, partial: PartialT) -> Sequence[PartialT]:
        """What a partial solution can be extended to; nothing for a full one.

        Which variable is set next is chosen here, and may differ from branch to branch.
        """

    @abstractmethod
    def upper(self, partial: PartialT) -> float:
        """No completion scores more; the score itself for a full solution."""

    def lower(self, partial: PartialT) -> float:
        """Some completion scores at least this."""
        return -math.inf


@dataclass(frozen=True, slots=True)
class BranchingState(Generic[PartialT]):
    """How far a search is; resumable.

    Attributes
    ----------
    best, score
        The best full solution so far; `None` and -inf as long as there is none.
    floor
        The best solution of all scores at least this.
    stack
        The partial solutions that wait, with their upper bounds; the next one is last.
    num_nodes
        The partial and full solutions that were looked at.
    """

    best: PartialT | None
    score: float
    floor: float
    stack: tuple[tuple[float, PartialT], ...]
    num_nodes: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether no solution is better."""
        return not any(self.is_open(upper) for upper, _ in self.stack)

    @property
    def upper(self) -> float:
        """No solution scores more."""
        return max((upper for upper, _ in self.stack if self.is_open(upper)), default=self.score)

    def is_open(self, upper: float) -> bool:
        """Whether something better may lie below a node with this bound."""
        return upper > self.score and upper >= self.floor


def branch_step(problem: Branches[PartialT], state: BranchingState[PartialT]) -> BranchingState[PartialT]:
    """Take one node from the stack: drop it, or keep it as the best solution, or put its branches in its place."""
    upper, partial = state.stack[-1]
    state = replace(state, stack=state.stack[:-1])
    if not state.is_open(upper):
        return state
    state = replace(state, num_nodes=state.num_nodes + 1)
    branches = problem.branches(partial)
    if not branches:
        return replace(state, best=partial, score=upper, floor=max(state.floor, upper))
    state = replace(state, floor=max([state.floor, *map(problem.lower, branches)]))
    bounded = [(min(upper, problem.upper(branch)), branch) for branch in branches]
    bounded.reverse()  # of equal ones the first is followed first
    kept = sorted((entry for entry in bounded if state.is_open(entry[0])), key=lambda entry: entry[0])
    return replace(state, stack=(*state.stack, *kept))


def branch_and_bound(
    problem: Branches[PartialT],
    root: PartialT,
    *,
    start: tuple[float, PartialT] | None = None,
    state: BranchingState[PartialT] | None = None,
    max_nodes: float = math.inf,
    time_limit: float = math.inf,
    progress: Callable[[BranchingState[PartialT]], object] | None = None,
) -> BranchingState[PartialT]:
    """The full solution with the largest score, depth first, best branch first (Koller & Friedman 2009, alg. A.9).

    A branch is not followed if its upper bound does not exceed the best score, or is below a lower bound found
    elsewhere. Exact if finished; the tighter the bounds the sooner it is.

    Parameters
    ----------
    problem
        What branches and bounds.
    root
        The partial solution that all others extend.
    start
        The score of a full solution, and that solution: a good one saves work.
    state
        Where an earlier search stopped; `root` and `start` are then not looked at.
    max_nodes
        The search stops when it has looked at so many nodes.
    time_limit
        The search stops after so many seconds.
    progress
        Told each state; an answer that is true stops the search.

    Examples
    --------
    The largest sum of at most two of some numbers that fit into 10:

    >>> class Pack(Branches[tuple[int, ...]]):
    ...     numbers = (7, 4, 6)
    ...     def branches(self, chosen):
    ...         rest = self.numbers[len(chosen):][:1]
    ...         return [(*chosen, take) for n in rest for take in (n, 0) if sum(chosen) + take <= 10]
    ...     def upper(self, chosen):
    ...         return sum(chosen) + sum(self.numbers[len(chosen):])
    >>> found = branch_and_bound(Pack(), ())
    >>> found.best, found.score, found.upper, found.is_finished
    ((0, 4, 6), 10, 10, True)
    """
    check_seconds("time_limit", time_limit)
    if max_nodes != math.inf:
        check_count("max_nodes", max_nodes)
    deadline = monotonic() + time_limit
    if state is None:
        score, best = start or (-math.inf, None)
        floor = max(score, problem.lower(root))
        state = BranchingState(best, score, floor, ((problem.upper(root), root),))
    while state.stack and state.num_nodes < max_nodes and monotonic() < deadline:
        state = branch_step(problem, state)
        if progress is not None and progress(state):
            break
    return state
