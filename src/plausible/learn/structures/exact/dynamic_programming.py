"""The best graph of all, by the best graphs on all sets of variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import score_noise
from plausible.errors import InvalidArgument, TooLarge
from plausible.kernels.parent_sets import best_of_subsets
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.parent_sets import MAX_FAMILIES, ParentSets, find_parent_sets
from plausible.learn.structures.exact.superset_bounds import SupersetBound
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.task import FoundGraph, found_graph
from plausible.search.clock import Clock
from plausible.search.run import Run

#: Sets between two looks at the clock.
_AT_A_TIME = 2**18


def optimal_by_subsets(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    max_bytes: float = 2**30,
    max_families: int = MAX_FAMILIES,
    time_limit: float | None = None,
    progress: Callable[[float], object] | None = None,
) -> FoundGraph:
    """The graph with the largest score, by dynamic programming over sets of variables.

    Some variable of a best graph on S is a sink, and the rest is a best graph on what remains:
    value(S) = max over v in S of value(S - v) + max over U ⊆ S - v of score(v, U). O(n 2^n) steps, each a walk along
    the parent sets of v until one fits, and 8 · 2^n bytes: about a second for 20 variables, and 27 at most by default.

    Parameters
    ----------
    scores
        Scores of families.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    bound
        Of the score; see `find_parent_sets`.
    parent_sets
        Found before, with the same scores and knowledge; they are then not found again.
    max_bytes
        Refuse to take more memory.
    max_families
        Refuse to score more families.
    time_limit
        After so many seconds a graph along a greedy order is the answer, with a bound.
    progress
        Told the fraction of sets that were looked at; an answer that is true stops it in the same way.

    Raises
    ------
    TooLarge
        At once, if the table of 2^n values would not fit; or if there are too many families.

    References
    ----------
    Silander & Myllymäki (2006), A simple approach for finding the globally optimal Bayesian network structure, UAI.

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
    if 8.0 * 2.0**num > max_bytes:
        raise TooLarge(
            f"The best graphs on all sets of {num} variables would take {8.0 * 2.0**num / 2**30:.3g} GiB. Search the "
            "order graph (method 'a-star') with a time limit instead, which says how far from the best it is, or allow "
            "more memory (max_bytes, in Python)."
        )
    sets = parent_sets or find_parent_sets(
        scores, knowledge, bound=bound, max_families=max_families, time_limit=time_limit
    )
    values, stopped = _values(sets, clock, progress)
    if values[-1] == -np.inf:
        raise InvalidArgument("No acyclic graph that agrees with what is known has a finite score.")
    is_best = sets.is_complete and not stopped
    families = sets.families(_greedy_order(sets) if stopped else _order(sets, values))
    run = Run(families, 1 << num, "optimal" if is_best else stopped or sets.stopped_by, seconds=clock.seconds)
    return found_graph(scores, sets.constraints, families, run, float(values[-1]) if is_best else sets.bound)


def _values(sets: ParentSets, clock: Clock, progress: Callable[[float], object] | None) -> tuple[Floats, str]:
    """The score of the best graph on each set of variables, and what stopped the work; NaN where it did not come."""

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


def _greedy_order(sets: ParentSets) -> list[int]:
    """An order that goes on with the variable that loses least by having no parents but those before it."""
    order: list[int] = []
    placed, best = 0, sets.scores[sets.firsts[:-1]]
    while len(order) < len(sets.names):
        left = [v for v in range(len(sets.names)) if not placed >> v & 1]
        losses = best[left] - sets.best(left, sets.words([placed] * len(left)))[1]
        order.append(left[int(np.argmin(losses))])
        placed |= 1 << order[-1]
    return order


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
