"""The best graph of all, by the best graphs on all sets of variables."""

from __future__ import annotations

import time

import numpy as np

from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.parent_sets import ParentSets, find_parent_sets
from plausible.learn.structures.exact.result import BoundedResult, Outcome, bounded_result, tolerance
from plausible.learn.structures.exact.superset_bounds import SupersetBound
from plausible.learn.structures.knowledge import Knowledge

__all__ = ["optimal_by_subsets"]


def optimal_by_subsets(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    parent_sets: ParentSets | None = None,
    max_bytes: float = 2**30,
) -> BoundedResult:
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

    Raises
    ------
    TooLarge
        At once, if the table of 2^n values would not fit.

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
    from plausible.kernels.parent_sets import best_of_subsets

    began = time.monotonic()
    num = len(scores.names)
    if 8.0 * 2.0**num > max_bytes:
        raise TooLarge(
            f"The best graphs on all sets of {num} variables would take {8.0 * 2.0**num / 2**30:.3g} GiB. Search the "
            "order graph with a time limit instead, which says how far from the best it is, or raise max_bytes=."
        )
    sets = parent_sets or find_parent_sets(scores, knowledge, bound=bound)
    values = np.empty(1 << num)
    masks = np.ascontiguousarray(sets.masks[:, 0]).view(np.int64)
    best_of_subsets(masks, sets.scores, sets.firsts, values)
    if values[-1] == -np.inf:
        raise InvalidArgument("No acyclic graph that agrees with what is known has a finite score.")
    is_best = sets.is_complete
    outcome = Outcome(
        sets.families(_order(sets, values)),
        float(values[-1]) if is_best else sets.bound,
        "optimal" if is_best else "time limit",
        1 << num,
        time.monotonic() - began,
    )
    return bounded_result(scores, sets.names, sets.constraints, outcome)


def _order(sets: ParentSets, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    """An order of a best graph, from its last sink on; of sinks that differ by rounding the last name."""
    order: list[int] = []
    chosen = len(values) - 1
    while chosen:
        inside = [v for v in reversed(range(len(sets.names))) if chosen >> v & 1]
        rests = [chosen ^ (1 << v) for v in inside]
        totals = values[rests] + sets.best(inside, sets.words(rests))[1]
        place = int(np.argmax(totals >= totals.max() - tolerance(float(totals.max()))))
        order.append(inside[place])
        chosen = rests[place]
    return order[::-1]
