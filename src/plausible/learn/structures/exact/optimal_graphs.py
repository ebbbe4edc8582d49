"""The best graph of all: by the best graphs on all sets of variables, or by best-first branch and bound over them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from plausible.base import Floats, check_count, score_noise
from plausible.errors import InvalidArgument, TooLarge
from plausible.kernels.graph_moves import best_of_subsets
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.optimal_parents import SupersetBound
from plausible.learn.structures.exact.orders import OrderSearch, half_of, usual_method
from plausible.learn.structures.exact.parent_sets import MAX_FAMILIES, ParentSets, find_parent_sets
from plausible.learn.structures.knowledge import FoundGraph, Knowledge, found_graph
from plausible.search.run import Clock, Run

_AT_A_TIME = 2**18  # Sets between two looks at the clock


def optimal_by_subsets(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    floor: float = -math.inf,
    max_bytes: float = 2**30,
    max_families: int = MAX_FAMILIES,
    time_limit: float | None = None,
    progress: Callable[[float], object] | None = None,
) -> FoundGraph:
    """The graph with the largest score, by dynamic programming over sets of variables.

    Some variable of a best graph on S is a sink, and the rest is a best graph on what remains: value(S) = max over v in
    S of value(S - v) + max over U ⊆ S - v of score(v, U). O(n 2^n) steps, each a walk along the parent sets of v until
    one fits, and 8 · 2^n bytes: about a second for 20 variables, and 27 at most by default. Silander & Myllymäki
    (2006), A simple approach for finding the globally optimal Bayesian network structure, UAI.

    Parameters
    ----------
    scores, knowledge, bound, max_families
        See `find_parent_sets`.
    parent_sets
        Found before, with the same scores and knowledge; they are then not found again.
    floor
        The score of a graph that is known. Parent sets that only worse graphs have are left out.
    max_bytes
        `TooLarge` is raised at once if the table of 2^n values would take more memory.
    time_limit
        After so many seconds a graph along a greedy order is the answer, with a bound.
    progress
        Told the fraction of sets that were looked at; an answer that is true stops it in the same way.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> found = optimal_by_subsets(Pairs())
    >>> found.graph.edges, found.score, found.is_optimal
    ((('A', 'B'), ('A', 'C')), -1.0, True)
    """
    clock = Clock.of(time_limit)
    num = len(scores.names)
    refuse_many_sets(num, max_bytes)
    sets = parent_sets or find_parent_sets(
        scores, knowledge, bound=bound, max_families=max_families, time_limit=time_limit
    )
    sets = sets.above(floor)
    values, stopped = _values(sets, clock, progress)
    if values[-1] == -np.inf:
        raise InvalidArgument("No acyclic graph that agrees with what is known has a finite score.")
    is_best = sets.is_complete and not stopped
    families = sets.families(OrderSearch(sets).start if stopped else _order(sets, values))
    run = Run(families, 1 << num, "optimal" if is_best else stopped or sets.stopped_by, seconds=clock.seconds)
    return found_graph(scores, sets.constraints, families, run, float(values[-1]) if is_best else sets.bound)


def refuse_many_sets(num: int, max_bytes: float) -> None:
    """Refuse as many variables as have more sets than there is memory for their best graphs."""
    if 8.0 * 2.0**num > max_bytes:
        raise TooLarge(
            f"The best graphs on all sets of {num} variables would take {8.0 * 2.0**num / 2**30:.3g} GiB. Search the "
            "order graph (method 'a-star') with a time limit instead, which says how far from the best it is, or allow "
            "more memory (max_bytes, in Python)."
        )


def _values(sets: ParentSets, clock: Clock, progress: Callable[[float], object] | None) -> tuple[Floats, str]:
    """The score of the best graph on each set of variables, and what stopped the work; NaN where it did not come."""
    if clock.seconds_left <= 0:  # a table of many sets takes long to lay out
        return np.full(1, np.nan), "time limit"
    values = np.full(1 << len(sets.names), np.nan)
    values[0] = 0.0
    masks = np.ascontiguousarray(sets.masks[:, 0]).view(np.int64)
    for start in range(1, len(values), _AT_A_TIME):
        if clock.is_over:
            return values, "time limit"
        if progress is not None and progress(start / len(values)):
            return values, "interrupted"
        end = min(start + _AT_A_TIME, len(values))
        best_of_subsets(masks, sets.scores, sets.firsts, values, start, end)
    return values, ""


def _order(sets: ParentSets, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    """An order of a best graph, from its last sink on; of sinks that differ by rounding the last name."""
    order: list[int] = []
    chosen = len(values) - 1
    while chosen:
        inside = [v for v in reversed(range(len(sets.names))) if chosen >> v & 1]
        rests = [chosen ^ (1 << v) for v in inside]
        totals = values[rests] + sets.best(inside, sets.words(rests))[1]
        place = int(np.argmax(totals >= totals.max() - score_noise(float(totals.max()))))
        order.append(inside[place])
        chosen = rests[place]
    return order[::-1]


_NODES_PER_LOOK = 64  # So many nodes are opened between two looks at the clock


def optimal_by_orders(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    floor: float = -math.inf,
    max_nodes: int = 2_000_000,
    max_families: int = MAX_FAMILIES,
    time_limit: float | None = None,
    progress: Callable[[float, float], object] | None = None,
) -> FoundGraph:
    """The graph with the largest score, or a good one and how far from the best it is.

    The order graph has a node for each set S of variables; a path from nothing to all variables is an order, and its
    step from S to S + v earns the best family of v within S. A* opens the node with the largest sum of what was earned
    and of an upper bound of what is left (`PatternBounds`), which no graph exceeds. A search over orders comes first:
    nodes that can't beat its graph are dropped. At worst 2^n nodes, but few where bounds are good. Yuan & Malone
    (2013), Learning optimal Bayesian networks: a shortest path perspective, JAIR 48.

    Parameters
    ----------
    scores, knowledge, bound, max_families
        See `find_parent_sets`; the bound allows for parent sets that are left out.
    parent_sets
        Found before, with the same scores and knowledge.
    floor
        The score of a graph that is known. What only worse graphs have is left out; the answer may be worse than that
        graph, if none is better, while its bound holds for all.
    max_nodes
        The search stops when so many nodes were met, which take some 300 bytes each.
    time_limit
        The search stops after so many seconds; half of them go to parent sets at most.
    progress
        Told the best score and the bound from time to time; an answer that is true stops the search.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> found = optimal_by_orders(Pairs())
    >>> found.graph.edges, found.score, found.gap, found.stopped_by
    ((('A', 'B'), ('A', 'C')), -1.0, 0.0, 'optimal')
    """
    check_count("max_nodes", max_nodes)
    clock = Clock.of(time_limit)
    sets = parent_sets or find_parent_sets(
        scores, knowledge, bound=bound, max_families=max_families, may_miss=True, time_limit=half_of(clock)
    )
    sets = sets.above(floor)
    problem = OrderSearch(sets)
    first = usual_method(len(sets.names)).run(problem, problem.start, time_limit=half_of(clock))
    search = _OrderGraph(sets, first.best, max(first.best_score, floor))
    stopped = search.run(clock, max_nodes, progress)
    if not sets.is_complete and stopped == "optimal":
        stopped = sets.stopped_by
    upper = search.upper if sets.is_complete else sets.bound
    has_order = first.best_score > -math.inf or search.best is not first.best
    families = sets.families(search.best) if has_order else sets.constraints.required_families
    run = Run(families, search.num_opened, stopped, seconds=clock.seconds)
    return found_graph(scores, sets.constraints, families, run, upper)


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

    def run(self, clock: Clock, max_nodes: int, progress: Callable[[float, float], object] | None) -> str:
        """Open nodes until none can be better than the best order; why it stopped."""
        while self._waiting and self.upper > self.score + score_noise(self.score):
            if self.num_opened % _NODES_PER_LOOK == 0:
                if clock.is_over:
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
            self.score, order = earned, []
            while chosen:
                order.append(self._last[chosen])
                chosen ^= 1 << order[-1]
            self.best = order[::-1]
            return
        gains = self.sets.best(left, self.sets.words([chosen] * len(left)))[1].tolist()
        for v, gain in zip(left, gains, strict=True):
            after, total = chosen | 1 << v, earned + gain
            if total > self._earned.get(after, -math.inf):
                upper = min(-entry[0], total + self._bounds.upper(after))
                if upper > self.score:
                    self._earned[after], self._last[after] = total, v
                    heapq.heappush(self._waiting, (-upper, after))


_GROUP_SIZE = 8  # Variables in a group: its table has 2^8 entries


@dataclass(frozen=True, slots=True, eq=False)
class PatternBounds:
    """Upper bounds of what is left to earn, added up over groups of variables (Yuan & Malone 2012).

    Of a group, those left in a set U are put in the best order, where all variables outside of the group may be
    parents: entry(U) = max over v in U of best(v, all but U) + entry(U - v). With groups of one variable that is the
    best family of each, acyclic or not.
    """

    groups: tuple[tuple[int, ...], ...]  # the variables of each group
    #: for each group a number for each subset of it: bit i stands for its variable i
    entries: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, sets: ParentSets) -> PatternBounds:
        """Groups of variables that want each other as parents, and their tables."""
        groups = _groups(sets)
        return cls(groups, tuple(_entries(sets, group) for group in groups))

    def upper(self, chosen: int) -> float:
        """What the variables outside a set can earn at most, once those inside are there."""
        total = 0.0
        for group, entries in zip(self.groups, self.entries, strict=True):
            left = 0
            for bit, v in enumerate(group):
                left |= (~chosen >> v & 1) << bit
            total += entries[left]
        return total


def _entries(sets: ParentSets, group: Sequence[int]) -> tuple[float, ...]:
    everything = (1 << len(sets.names)) - 1
    lefts = [(left, bit) for left in range(1, 1 << len(group)) for bit in range(len(group)) if left >> bit & 1]
    allowed = [everything & ~sum(1 << v for b, v in enumerate(group) if left >> b & 1) for left, _ in lefts]
    scores = sets.best([group[bit] for _, bit in lefts], sets.words(allowed))[1].tolist()
    entries = [0.0] + [-float("inf")] * ((1 << len(group)) - 1)
    for (left, bit), score in zip(lefts, scores, strict=True):
        entries[left] = max(entries[left], score + entries[left ^ (1 << bit)])
    return tuple(entries)


def _groups(sets: ParentSets) -> tuple[tuple[int, ...], ...]:
    """Grow each group by the variable with the most edges to it among the best families of all."""
    num = len(sets.names)
    wanted = [set(sets.parents(v, (1 << num) - 1)) for v in range(num)]
    left = list(range(num))
    groups = []
    while left:
        group = [left.pop(0)]
        while left and len(group) < _GROUP_SIZE:
            ties = [sum((u in wanted[v]) + (v in wanted[u]) for u in group) for v in left]
            group.append(left.pop(ties.index(max(ties))))
        groups.append(tuple(group))
    return tuple(groups)
