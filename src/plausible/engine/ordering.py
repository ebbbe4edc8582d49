"""A good elimination order: several greedy heuristics, ties broken at random again and again while that pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Ints
from plausible.kernels.elimination import eliminate
from plausible.kernels.heuristics import MIN_FILL, MIN_NEIGHBORS, MIN_WEIGHT, WEIGHTED_MIN_FILL

#: The search stops when it has looked at more than this many list items for each table entry of the best order.
_WORK_PER_ENTRY = 0.1
#: ... and in any case after so many (about a tenth of a second): where tables are hopelessly large, no search helps.
_MAX_WORK = 20_000_000
#: Cliques with more entries than this are out of reach: random ties gain a factor of fifty or so, not thousands.
_HOPELESS = 1e15
#: With no more entries than this, another order could not save as much time as it takes to find.
_CHEAP = 4_000


class Elimination(NamedTuple):
    """An elimination run: the clique of step s is `cliques[clique_starts[s]:clique_starts[s + 1]]`.

    `cost` is the number of entries of all cliques, infinite where a run gave up; `work` is how long it took.
    """

    order: Ints
    cliques: Ints
    clique_starts: Ints
    cost: float
    work: int


def best_elimination(scopes: Ints, scope_starts: Ints, sizes: Ints) -> Elimination:
    """The cheapest run by weighted min-fill, min-fill and min-weight, deterministic first, then with random ties.

    The random numbers are always the same, and the search is limited by its work, not by the clock: so the order is
    always the same.
    """

    nothing = np.empty(0, dtype=np.int64)
    run = best = Elimination(*eliminate(scopes, scope_starts, sizes, WEIGHTED_MIN_FILL, nothing, 0, np.inf))
    work, seed = best.work, 0
    heuristics: tuple[int, ...] = (MIN_FILL, MIN_WEIGHT)
    is_uniform = len(np.unique(sizes)) == 1
    while best.cost > _CHEAP and work < min(best.cost * _WORK_PER_ENTRY, _MAX_WORK):
        if seed and best.cost > _HOPELESS:
            break
        for heuristic in heuristics:
            if not (is_uniform and heuristic == MIN_FILL):  # else it would repeat the run by weighted min-fill
                run = Elimination(*eliminate(scopes, scope_starts, sizes, heuristic, nothing, seed, best.cost))
            work += run.work + len(sizes)
            best = min(best, run, key=lambda one: one.cost)
        seed, heuristics = seed + 1, (WEIGHTED_MIN_FILL, MIN_FILL, MIN_WEIGHT)
    return best


def given_elimination(scopes: Ints, scope_starts: Ints, sizes: Ints, order: Ints) -> Elimination:
    """The run that eliminates in a given order."""

    return Elimination(*eliminate(scopes, scope_starts, sizes, MIN_NEIGHBORS, order, 0, np.inf))
