"""Search over orders of the variables, each of which stands for the best graph along it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Flags, Floats, Ints, score_noise
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.optimal_parents import SupersetBound
from plausible.learn.structures.exact.parent_sets import ParentSets, Words, find_parent_sets
from plausible.learn.structures.knowledge import FoundGraph, Knowledge, found_graph
from plausible.search import Clock, RandomRestarts, Run, SearchMethod, SearchProblem, TabuSearch

Order = tuple[int, ...]

FEW_FAMILIES = 200_000  # A search that proves nothing scores no more families unless a caller says so

_MOST_REMEMBERED = 256  # Of so many orders the changes of shifts are remembered


class Shift(NamedTuple):
    """A variable goes from one position of an order to another one, and those between move up."""

    variable: int
    source: int
    target: int


class OrderSearch(SearchProblem[Order, Shift]):
    """All orders of the variables; the score of an order is that of the best graph along it.

    A variable may go to any position, of which swaps of neighbours are the smallest case. It has other predecessors
    then, and each variable that it passes gains or loses it as a predecessor: so the gains of all n² shifts are sums of
    2n² best families, worked out in one call, and remembered: a tabu search comes back to the same orders.
    """

    def __init__(self, sets: ParentSets) -> None:
        self._sets = sets
        self._noise = score_noise(float(sets.scores[sets.firsts[:-1]].sum()))
        self._remembered: dict[Order, tuple[Flags, Floats | None]] = {}

    @property
    def start(self) -> Order:
        """Required edges lead forward; else the variable that has its best parents already, or misses them least."""
        sets = self._sets
        order: list[int] = []
        before, left = 0, list(range(len(sets.names)))
        full = sets.words([(1 << len(left)) - 1] * len(left))
        best = sets.best(left, full)[1]
        while left:
            ready = self._ready(left)
            losses = best[ready] - sets.best(ready, sets.words([before] * len(ready)))[1]
            order.append(ready[int(np.argmax(losses <= losses.min() + self._noise))])
            before |= 1 << order[-1]
            left.remove(order[-1])
        return tuple(order)

    def score(self, state: Order) -> float:
        return float(self._sets.best(state, self._sets.words(_before(state)))[1].sum())

    def operators(self, state: Order) -> list[Shift]:
        """The shifts that turn no required edge round, by positions; a swap of neighbours is there once."""
        pairs = np.argwhere(self._is_legal(state)).tolist()
        return [Shift(state[source], source, target) for source, target in pairs]

    def deltas(self, state: Order, operators: Sequence[Shift]) -> Sequence[float]:
        if self.score(state) == -np.inf:
            return super().deltas(state, operators)
        changes = self._changes(state)
        return [float(changes[shift.source, shift.target]) for shift in operators]

    def best_operator(self, state: Order, recent: Sequence[Shift] = ()) -> tuple[Shift, float] | None:
        """The shift with the largest gain, of a variable that was not moved of late."""
        is_legal, changes = self._shifts(state)
        if changes is None:
            return super().best_operator(state, recent)
        if recent:
            is_legal = is_legal.copy()
            is_legal[[state.index(shift.variable) for shift in recent]] = False
            if not is_legal.any():
                return None
        changes = np.where(is_legal, changes, -np.inf)
        first = int(np.argmax(changes >= changes.max() - self._noise))
        source, target = divmod(first, len(state))
        return Shift(state[source], source, target), float(changes[source, target])

    def apply(self, state: Order, operator: Shift) -> Order:
        rest = [v for v in state if v != operator.variable]
        return (*rest[: operator.target], operator.variable, *rest[operator.target :])

    def reverses(self, operator: Shift, other: Shift) -> bool:
        """Whether a shift moves the same variable again."""
        return operator.variable == other.variable

    def _shifts(self, state: Order) -> tuple[Flags, Floats | None]:
        """By source and target, whether a shift is legal, and what it changes; None where none is, or no graph fits."""
        found = self._remembered.get(state)
        if found is None:
            is_legal = self._is_legal(state)
            has_gains = is_legal.any() and self.score(state) > -np.inf
            found = is_legal, self._changes(state) if has_gains else None
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[state] = found
        return found

    def _is_legal(self, state: Order) -> Flags:
        """By source and target, whether a shift passes no variable joined by a required edge."""
        places = np.array(state, dtype=np.int64)
        required = self._sets.constraints.required[np.ix_(places, places)]
        right = np.logical_or.accumulate(np.triu(required), axis=1)
        left = np.logical_or.accumulate(np.tril(required.T)[:, ::-1], axis=1)[:, ::-1]
        steps = np.arange(len(state))[None, :] - np.arange(len(state))[:, None]
        return np.asarray(np.where(steps > 0, ~right, ~left) & (steps != 0) & (steps != -1), dtype=np.bool_)

    def _changes(self, state: Order) -> Floats:
        """By source and target, what a shift changes."""
        sets, num = self._sets, len(state)
        before = sets.words([*_before(state), (1 << num) - 1])
        own = sets.words([1 << v for v in state])
        now = sets.best(state, before[:-1])[1]
        # [i, j]: the variable at i goes to j, after those that it passes
        is_later = np.arange(num)[:, None] <= np.arange(num)[None, :]
        there = np.where(is_later[:, :, None], before[None, 1:] & ~own[:, None], before[None, :-1])
        moved = self._table(np.repeat(state, num), there) - now[:, None]
        # [i, j]: the variable at j has that at i as a predecessor no more, or now
        passed = self._table(np.tile(state, num), before[None, :-1] ^ own[:, None]) - now[None, :]
        np.fill_diagonal(passed, 0.0)
        right = np.cumsum(np.triu(passed), axis=1)
        left = np.cumsum(np.tril(passed)[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(moved + np.where(is_later, right, left), dtype=np.float64)

    def _table(self, children: Ints, allowed: Words) -> Floats:
        """Best scores, by two positions."""
        return self._sets.best(children, allowed.reshape(-1, allowed.shape[-1]))[1].reshape(allowed.shape[:2])

    def random_state(self, rng: np.random.Generator) -> Order:
        """A random order in which required edges lead forward."""
        order: list[int] = []
        left = list(range(len(self._sets.names)))
        while left:
            ready = self._ready(left)
            order.append(ready[int(rng.integers(len(ready)))])
            left.remove(order[-1])
        return tuple(order)

    def _ready(self, left: list[int]) -> list[int]:
        """The variables all of whose required parents are gone."""
        waiting = np.any(self._sets.constraints.required[np.ix_(left, left)], axis=0)
        return [left[place] for place in np.flatnonzero(~waiting).tolist()]


def search_orders(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    max_families: int = FEW_FAMILIES,
    method: SearchMethod | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[Any], object] | None = None,
) -> FoundGraph:
    """A good graph, by local search over orders (Teyssier & Koller 2005, with longer moves than theirs).

    There are far fewer orders than graphs, each step changes more of a graph, and no cycle can come about. The bound is
    that of each variable with its best parents. Teyssier & Koller (2005), Ordering-based search: a simple and effective
    algorithm for learning Bayesian networks, UAI.

    Parameters
    ----------
    scores, knowledge, bound, max_families
        See `find_parent_sets`; a limit of 3 or 4 parents keeps the sets few.
    parent_sets
        Found before, with the same scores and knowledge.
    method
        How to search; by default tabu search with 10 random restarts.
    time_limit
        After so many seconds the search stops. Half of them go to parent sets at most.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> found = search_orders(Pairs())
    >>> found.score, found.bound, found.is_optimal
    (-1.0, 0.0, False)
    """
    clock = Clock.of(time_limit)
    sets = parent_sets or find_parent_sets(
        scores, knowledge, bound=bound, max_families=max_families, may_miss=True, time_limit=half_of(clock)
    )
    problem = OrderSearch(sets)
    search = method or usual_method(len(sets.names))
    left = None if time_limit is None else clock.seconds_left
    found = search.run(problem, problem.start, seed=seed, time_limit=left, progress=progress)
    families = sets.families(found.best) if found.best_score > -np.inf else sets.constraints.required_families
    run = Run(found.best, found.num_steps, found.stopped_by, seconds=clock.seconds)
    return found_graph(scores, sets.constraints, families, run, sets.bound)


def half_of(clock: Clock) -> float | None:
    """Half of the seconds that are left; `None` where there is no limit."""
    return None if clock.deadline == math.inf else clock.seconds_left / 2


def usual_method(num_variables: int) -> SearchMethod:
    """Tabu search with 10 random restarts; a quarter of the variables is not to be moved again."""
    return RandomRestarts(TabuSearch(length=num_variables // 4, patience=50), num=10)


def _before(order: Order) -> list[int]:
    """The variables before each position of an order, as bits."""
    masks, mask = [], 0
    for v in order:
        masks.append(mask)
        mask |= 1 << v
    return masks
