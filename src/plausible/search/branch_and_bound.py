"""Branch and bound over any tree of partial solutions: the part that bounds, the stack, and a step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial as bound_to
from typing import Generic, TypeVar

from plausible.search.run import CONVERGED, Run, Stops, iterate

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
    """How far a search is."""

    #: The best full solution so far; `None` and -inf as long as there is none.
    best: PartialT | None
    score: float
    floor: float  # The best solution of all scores at least this
    #: The partial solutions that wait, with their upper bounds; the last one is next, and may lead to better ones.
    stack: tuple[tuple[float, PartialT], ...]
    num_steps: int = 0  # The partial and full solutions that were looked at

    @property
    def is_finished(self) -> bool:
        """Whether no solution is better."""
        return not self.stack

    @property
    def upper(self) -> float:
        """No solution scores more."""
        return max((upper for upper, _ in self.stack if _is_open(upper, self.score, self.floor)), default=self.score)


def branch_step(problem: Branches[PartialT], state: BranchingState[PartialT]) -> BranchingState[PartialT]:
    """Take one node from the stack: keep it as the best solution, or put its branches in its place."""
    (upper, partial), best, score, floor = state.stack[-1], state.best, state.score, state.floor
    stack = list(state.stack[:-1])
    branches = problem.branches(partial)
    if branches:
        floor = max([floor, *map(problem.lower, branches)])
        bounded = [(min(upper, problem.upper(branch)), branch) for branch in branches]
        bounded.reverse()  # of equal ones the first is followed first
        stack += sorted((entry for entry in bounded if _is_open(entry[0], score, floor)), key=lambda entry: entry[0])
    else:
        best, score, floor = partial, upper, max(floor, upper)
    return _stacked(best, score, floor, stack, state.num_steps + 1)


def branch_and_bound(
    problem: Branches[PartialT],
    root: PartialT,
    *,
    start: tuple[float, PartialT] | None = None,
    run: Run[BranchingState[PartialT]] | None = None,
    max_steps: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[BranchingState[PartialT]], object] | None = None,
) -> Run[BranchingState[PartialT]]:
    """The full solution with the largest score, depth first, best branch first (Koller & Friedman 2009, alg. A.9).

    A branch is not followed if its upper bound does not exceed the best score, or is below a lower bound found
    elsewhere. Exact if finished; the tighter the bounds the sooner it is. A step looks at one node.

    Parameters
    ----------
    problem, root
        What branches and bounds, and the partial solution that all others extend.
    start
        The score of a full solution, and that solution: a good one saves work.
    run
        An earlier search to go on with; `root` and `start` are then not looked at.

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
    >>> run = branch_and_bound(Pack(), ())
    >>> run.state.best, run.state.score, run.state.upper, run.converged
    ((0, 4, 6), 10, 10, True)
    """
    stops = Stops(0.0, max_steps, time_limit, progress)
    if run is None:
        score, best = start or (-math.inf, None)
        floor = max(score, problem.lower(root))
        run = Run(_stacked(best, score, floor, [(problem.upper(root), root)], 0))
    return iterate(bound_to(branch_step, problem), run, stops, ends=lambda state: "" if state.stack else CONVERGED)


def _is_open(upper: float, score: float, floor: float) -> bool:
    """Whether something better may lie below a node with this bound."""
    return upper > score and upper >= floor


def _stacked(
    best: PartialT | None, score: float, floor: float, stack: list[tuple[float, PartialT]], num_steps: int
) -> BranchingState[PartialT]:
    """The state without the nodes on top below which nothing is better."""
    while stack and not _is_open(stack[-1][0], score, floor):
        stack.pop()
    return BranchingState(best, score, floor, tuple(stack), num_steps)
