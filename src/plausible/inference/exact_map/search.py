"""Depth-first branch and bound over the states of maximised variables."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SCORE_NOISE
from plausible.inference.exact_map.bound_plan import TimeUpError
from plausible.inference.exact_map.bounds import BoundTree
from plausible.search.clock import UNLIMITED, Clock

#: The seconds between two reports.
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search has come."""

    log_value: float  # The value of the best assignment so far; -inf as long as there is none
    log_bound: float  # No assignment has a larger value
    num_nodes: int  # The partial assignments looked at


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, and how far it came."""

    #: (value, states) of the best assignments, best first: for each variable the position of its state, -1 if it is not
    #: maximised. Empty where no assignment with a positive value was found.
    best: tuple[tuple[float, tuple[int, ...]], ...]
    progress: SearchProgress  # How far the search is
    is_finished: bool  # Whether no other assignment is better than those, or fewer are possible than were wanted


def branch_and_bound(
    tree: BoundTree,
    *,
    num_best: int = 1,
    start: SearchResult | None = None,
    max_nodes: float = math.inf,
    clock: Clock = UNLIMITED,
    is_patient: bool = True,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """The assignments to the maximised variables with the largest values, and a proof of that (Park & Darwiche 2003).

    At each node the tree bounds every state of every free variable. States that promise no more than the worst of the
    best values so far are struck out; the search branches on the variable whose best state stands out most, best state
    first. A first assignment is guessed from the tree, and improved one variable at a time before the search goes on.


    """
    search = _Search(tree, num_best, start, clock, is_patient, progress)
    with suppress(TimeUpError):
        search.begin()
        while search.stack and search.num_nodes < max_nodes and not search.is_late:
            search.step()
    return SearchResult(tuple(search.best), search.report(), not search.open_bounds())


class _Search:
    """The best assignments so far, and the nodes still to be looked at: a bound and the states, -1 for free ones."""

    def __init__(
        self,
        tree: BoundTree,
        num_best: int,
        start: SearchResult | None,
        clock: Clock,
        is_patient: bool,
        progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self.tree, self.num_best, self.clock, self.progress = tree, num_best, clock, progress
        self.is_patient = is_patient
        self.best = [] if start is None else list(start.best)
        self.ceiling = math.inf if start is None else start.progress.log_bound
        self.num_nodes = 0
        self.stack: list[tuple[float, list[int]]] = [(math.inf, [-1] * len(tree.sizes))]

    @property
    def log_value(self) -> float:
        """The best value."""
        return self.best[0][0] if self.best else -math.inf

    @property
    def cutoff(self) -> float:
        """What a branch must exceed."""
        if len(self.best) < self.num_best:
            return -math.inf
        worst = self.best[-1][0]
        return worst + SCORE_NOISE * max(1.0, abs(worst))

    @property
    def limit(self) -> Clock:
        """The clock, once there is an answer to return or none is waited for."""
        return self.clock if self.best or not self.is_patient else UNLIMITED

    @property
    def is_late(self) -> bool:
        """Whether the time is up, and nothing is waited for."""
        return self.limit.is_over

    def begin(self) -> None:
        """Bound the root, and guess an assignment where none is known: it may be all that there is time for."""
        root = self.stack[0][1]
        if self.best:
            self.stack[0] = self.tree.bound(root, self.limit), root
            self.report()
        else:
            self.guess()

    def guess(self) -> None:
        """Complete the node on top of the stack at once, and keep the result if it is possible."""
        bound, states = self.tree.guess(self.stack[-1][1], self.limit)
        self.stack[-1] = bound, self.stack[-1][1]
        self.num_nodes += 1
        self.report()
        log_value = self.tree.bound(states, self.limit) if bound > -math.inf else -math.inf
        if log_value > -math.inf:
            self.accept(states, log_value)

    def step(self) -> None:
        """Look at the node on top of the stack."""
        bound, states = self.stack[-1]
        if bound > self.cutoff:
            if not self.best and self.clock.is_over:
                self.guess()
            self.num_nodes += 1
            bound, vectors = self.tree.bounds(states, self.limit)
            self.stack.pop()
            if bound > self.cutoff:
                if vectors:
                    self.branch(states, bound, vectors)
                else:
                    self.accept(states, bound)
        else:
            self.stack.pop()
        if self.progress is not None and self.reported.seconds > _PAUSE:
            self.report()

    def branch(self, states: list[int], bound: float, vectors: dict[int, Floats]) -> None:
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

    def contrast(self, vector: Floats) -> float:
        """The share of the best state in all that are still to be followed."""
        alive = vector[vector > self.cutoff]
        return 1.0 / float(np.exp(alive - alive.max()).sum())

    def accept(self, states: list[int], log_value: float) -> None:
        """A full assignment that beats the worst of the best so far; the first one is improved at once."""
        is_first = not self.best
        self.keep(states, log_value)
        if is_first:
            self.climb(states, log_value)
        self.report()

    def keep(self, states: list[int], log_value: float) -> None:
        """Put an assignment in its place among the best, behind those that are as good; once, if it comes twice."""
        entry = (log_value, tuple(states))
        if all(known != entry[1] for _, known in self.best):
            insort(self.best, entry, key=lambda kept: -kept[0])
            del self.best[self.num_best :]

    def climb(self, states: list[int], log_value: float) -> None:
        """Change the state of one variable at a time as long as that helps."""
        is_improved = True
        while is_improved:
            is_improved = False
            for variable in self.tree.homes:
                for state in range(self.tree.sizes[variable]):
                    if self.is_late:
                        return
                    neighbor = _with(states, variable, state)
                    value = self.tree.bound(neighbor, self.limit) if neighbor != states else -math.inf
                    if value > log_value + SCORE_NOISE * max(1.0, abs(log_value)):
                        states, log_value, is_improved = neighbor, value, True
                        self.keep(states, log_value)

    def open_bounds(self) -> list[float]:
        """The bounds of the nodes that might still hold something better."""
        return [bound for bound, _ in self.stack if bound > self.cutoff]

    def report(self) -> SearchProgress:
        """How far the search is, told to who wants to know."""
        self.reported = Clock.of(None)
        open_bound = max(self.open_bounds(), default=self.log_value)
        state = SearchProgress(self.log_value, max(self.log_value, min(open_bound, self.ceiling)), self.num_nodes)
        if self.progress is not None:
            self.progress(state)
        return state


def _with(states: list[int], variable: int, state: int) -> list[int]:
    changed = list(states)
    changed[variable] = state
    return changed
