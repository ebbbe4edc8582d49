"""Depth-first branch and bound over the states of maximised variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from plausible.inference.map_bounds import BoundTree

__all__ = ["SearchProgress", "SearchResult", "branch_and_bound"]

#: A branch must promise more than this, relative to the best value, to be followed: values closer are rounding.
_ROUNDING = 1e-12

#: The seconds between two reports.
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search has come.

    Attributes
    ----------
    log_value
        The value of the best assignment so far; -inf as long as there is none.
    log_bound
        No assignment has a larger value.
    num_nodes
        The partial assignments looked at.
    """

    log_value: float
    log_bound: float
    num_nodes: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found: for each variable the position of its state, -1 if it is not maximised; and how far it came.

    `states` is None where no assignment with a positive value was found.
    """

    states: tuple[int, ...] | None
    progress: SearchProgress


def branch_and_bound(
    tree: BoundTree,
    *,
    start: SearchResult | None = None,
    max_nodes: float = math.inf,
    deadline: float = math.inf,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """The assignment to the maximised variables with the largest value, and a proof of that (Park & Darwiche 2003).

    At each node the tree bounds every state of every free variable. States that promise no more than the best value so
    far are struck out; the search branches on the variable whose best state stands out most, best state first. The
    first assignment found is improved one variable at a time before the search goes on.

    Parameters
    ----------
    tree
        What bounds partial assignments, and values full ones.
    start
        What an earlier search, with another tree for the same question, found.
    max_nodes
        The search stops after so many nodes.
    deadline
        The time, by `time.monotonic`, after which the search stops once it has found an assignment.
    progress
        Called at the root, after each improvement, and ten times a second.

    Returns
    -------
    SearchResult
        Finished if `log_bound` equals `log_value`.
    """
    search = _Search(tree, start, deadline, progress)
    while search.stack and search.num_nodes < max_nodes and not search.is_late:
        search.step()
    return SearchResult(None if search.best is None else tuple(search.best), search.report())


class _Search:
    """The best assignment so far, and the nodes still to be looked at: a bound and the states, -1 for free ones."""

    def __init__(
        self,
        tree: BoundTree,
        start: SearchResult | None,
        deadline: float,
        progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self.tree, self.deadline, self.progress = tree, deadline, progress
        self.best = None if start is None or start.states is None else list(start.states)
        self.log_value = -math.inf if start is None else start.progress.log_value
        self.ceiling = math.inf if start is None else start.progress.log_bound
        self.num_nodes = 0
        root = [-1] * len(tree.sizes)
        self.stack: list[tuple[float, list[int]]] = [(tree.bound(root), root)]
        self.report()

    @property
    def cutoff(self) -> float:
        """What a branch must exceed."""
        return self.log_value + _ROUNDING * max(1.0, abs(self.log_value)) if self.best is not None else -math.inf

    @property
    def is_late(self) -> bool:
        """Whether the time is up, and there is an answer to return."""
        return self.best is not None and monotonic() >= self.deadline

    def step(self) -> None:
        """Look at the node on top of the stack."""
        bound, states = self.stack.pop()
        if bound <= self.cutoff:
            return
        self.num_nodes += 1
        bound, vectors = self.tree.bounds(states)
        if bound <= self.cutoff:
            return
        if vectors:
            self.branch(states, bound, vectors)
        else:
            self.accept(states, bound)
        if self.progress is not None and monotonic() > self.reported + _PAUSE:
            self.report()

    def branch(self, states: list[int], bound: float, vectors: dict[int, NDArray[np.float64]]) -> None:
        """Push the states of one variable, or the same node with variables set that have only one state left."""
        forced = list(states)
        for variable, vector in vectors.items():
            alive = np.flatnonzero(vector > self.cutoff)
            if len(alive) == 0:
                return
            if len(alive) == 1:
                forced[variable] = int(alive[0])
                bound = min(bound, float(vector[alive[0]]))
        if forced != states:
            self.stack.append((bound, forced))
            return
        variable = max(vectors, key=lambda candidate: self.contrast(vectors[candidate]))
        vector = vectors[variable]
        for state in sorted(range(len(vector)), key=lambda state: (vector[state], -state)):  # the best on top
            if vector[state] > self.cutoff:
                self.stack.append((min(bound, float(vector[state])), _with(states, variable, state)))

    def contrast(self, vector: NDArray[np.float64]) -> float:
        """The share of the best state in all that are still to be followed."""
        alive = vector[vector > self.cutoff]
        return 1.0 / float(np.exp(alive - alive.max()).sum())

    def accept(self, states: list[int], log_value: float) -> None:
        """A full assignment that beats the best so far; the first one is improved at once."""
        is_first = self.best is None
        self.best, self.log_value = states, log_value
        if is_first:
            self.climb()
        self.report()

    def climb(self) -> None:
        """Change the state of one variable at a time as long as that helps."""
        is_improved = True
        while is_improved:
            is_improved = False
            for variable in self.tree.homes:
                for state in range(self.tree.sizes[variable]):
                    assert self.best is not None
                    if self.is_late:
                        return
                    neighbor = _with(self.best, variable, state)
                    log_value = self.tree.bound(neighbor) if neighbor != self.best else -math.inf
                    if log_value > self.cutoff:
                        self.best, self.log_value, is_improved = neighbor, log_value, True

    def report(self) -> SearchProgress:
        """How far the search is, told to who wants to know."""
        self.reported = monotonic()
        open_bound = max((bound for bound, _ in self.stack if bound > self.cutoff), default=self.log_value)
        state = SearchProgress(self.log_value, max(self.log_value, min(open_bound, self.ceiling)), self.num_nodes)
        if self.progress is not None:
            self.progress(state)
        return state


def _with(states: list[int], variable: int, state: int) -> list[int]:
    changed = list(states)
    changed[variable] = state
    return changed
