"""The best graph by best-first branch and bound over sets of variables, with a gap at any time."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from plausible.base.options import check_count, check_seconds
from plausible.base.tolerances import score_noise
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.orders import OrderSearch, usual_method
from plausible.learn.structures.exact.parent_sets import MAX_FAMILIES, ParentSets, find_parent_sets
from plausible.learn.structures.exact.pattern_bounds import PatternBounds
from plausible.learn.structures.exact.result import BoundedResult, Outcome, bounded_result
from plausible.learn.structures.exact.superset_bounds import SupersetBound
from plausible.learn.structures.knowledge import Knowledge

__all__ = ["optimal_by_orders"]

#: Told the best score so far and the bound; an answer that is true stops the search.
Progress: TypeAlias = Callable[[float, float], object]

#: So many nodes are opened between two looks at the clock.
_NODES_PER_LOOK = 64


def optimal_by_orders(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    max_nodes: int = 2_000_000,
    max_families: int = MAX_FAMILIES,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> BoundedResult:
    """The graph with the largest score, or a good one and how far from the best it is.

    The order graph has a node for each set S of variables; a path from nothing to all variables is an order, and its
    step from S to S + v earns the best family of v within S. A* opens the node with the largest sum of what was earned
    and of an upper bound of what is left (`PatternBounds`), which no graph exceeds. A search over orders comes first:
    nodes that can't beat its graph are dropped. At worst 2^n nodes, but few where bounds are good.

    Parameters
    ----------
    scores
        Scores of families.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    bound
        Of the score; see `find_parent_sets`.
    parent_sets
        Found before, with the same scores and knowledge.
    max_nodes
        The search stops when so many nodes were met, which take some 300 bytes each.
    max_families
        Larger parent sets are left out where there are more families to score, and the bound allows for them.
    time_limit
        The search stops after so many seconds; half of them go to parent sets at most.
    progress
        Told the best score and the bound from time to time; an answer that is true stops the search.

    References
    ----------
    Yuan & Malone (2013), Learning optimal Bayesian networks: a shortest path perspective, JAIR 48.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> found = optimal_by_orders(Pairs())
    >>> found.graph.edges, found.score, found.gap, found.stopped
    ((('A', 'B'), ('A', 'C')), -1.0, 0.0, 'optimal')
    """
    began = time.monotonic()
    check_count("max_nodes", max_nodes)
    check_seconds("time_limit", time_limit)
    seconds = math.inf if time_limit is None else float(time_limit)
    half = None if seconds == math.inf else seconds / 2
    sets = parent_sets or find_parent_sets(
        scores, knowledge, bound=bound, max_families=max_families, may_miss=True, time_limit=half
    )
    problem = OrderSearch(sets)
    left = None if seconds == math.inf else max(0.0, began + seconds - time.monotonic()) / 2
    first = usual_method(len(sets.names)).run(problem, problem.start, time_limit=left)
    search = _OrderGraph(sets, first.best, first.best_score)
    stopped = search.run(began + seconds, max_nodes, progress)
    if not sets.is_complete and stopped == "optimal":
        stopped = sets.stopped
    upper = search.upper if sets.is_complete else sets.bound
    families = sets.families(search.best) if search.score > -math.inf else sets.constraints.required_families
    outcome = Outcome(families, upper, stopped, search.num_opened, time.monotonic() - began)
    return bounded_result(scores, sets.names, sets.constraints, outcome)


@dataclass(slots=True)
class _OrderGraph:
    """A* from no variables to all: sets of variables are bits of whole numbers."""

    sets: ParentSets
    best: Sequence[int]
    score: float
    num_opened: int = 0
    _earned: dict[int, float] = field(default_factory=lambda: {0: 0.0})
    _last: dict[int, int] = field(default_factory=dict)
    _waiting: list[tuple[float, int]] = field(default_factory=list)
    _bounds: PatternBounds = field(init=False)

    def __post_init__(self) -> None:
        self._bounds = PatternBounds.of(self.sets)
        self._waiting.append((-self._bounds.upper(0), 0))

    @property
    def upper(self) -> float:
        """No graph scores more."""
        return max(self.score, -self._waiting[0][0]) if self._waiting else self.score

    def run(self, deadline: float, max_nodes: int, progress: Progress | None) -> str:
        """Open nodes until none can be better than the best order; why it stopped."""
        while self._waiting and self.upper > self.score + score_noise(self.score):
            if self.num_opened % _NODES_PER_LOOK == 0:
                if time.monotonic() >= deadline:
                    return "time limit"
                if progress is not None and progress(self.score, self.upper):
                    return "interrupted"
            if len(self._earned) > max_nodes:
                return "node limit"
            self._open(heapq.heappop(self._waiting))
        return "optimal"

    def _open(self, entry: tuple[float, int]) -> None:
        """Put each variable that is left behind those of a node."""
        chosen, earned = entry[1], self._earned[entry[1]]
        if -entry[0] < earned + self._bounds.upper(chosen) - score_noise(earned):
            return  # a better way to this node was found later, and is in the heap too
        self.num_opened += 1
        left = [v for v in range(len(self.sets.names)) if not chosen >> v & 1]
        if not left:
            self.best, self.score = self._path(chosen), earned
            return
        gains = self.sets.best(left, self.sets.words([chosen] * len(left)))[1].tolist()
        for v, gain in zip(left, gains, strict=True):
            after, total = chosen | 1 << v, earned + gain
            if total > self._earned.get(after, -math.inf):
                upper = min(-entry[0], total + self._bounds.upper(after))
                if upper > self.score:
                    self._earned[after], self._last[after] = total, v
                    heapq.heappush(self._waiting, (-upper, after))

    def _path(self, chosen: int) -> list[int]:
        order: list[int] = []
        while chosen:
            order.append(self._last[chosen])
            chosen ^= 1 << order[-1]
        return order[::-1]
