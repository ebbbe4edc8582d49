"""One phase of FCI after another: what is left to ask of a skeleton, and what the phases found together."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch, SkeletonWork
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.structures.knowledge import Constraints

__all__ = ["continued", "merged", "remaining"]


def continued(test: IndependenceTest, skeleton: Skeleton, search: SkeletonSearch, known: Constraints) -> SkeletonWork:
    """The work of a phase that starts with the edges which the phase before left."""
    names = sorted(skeleton.neighbors)
    places = {name: place for place, name in enumerate(names)}
    adjacent = np.zeros((len(names), len(names)), dtype=np.bool_)
    for name, row in skeleton.neighbors.items():
        adjacent[places[name], [places[other] for other in row]] = True
    return SkeletonWork(test, replace(known, allowed=adjacent), search)


def merged(first: Skeleton, second: Skeleton) -> Skeleton:
    """What two phases found."""
    longest = max(len(first.num_tests), len(second.num_tests))
    counts = [[*phase.num_tests, *[0] * (longest - len(phase.num_tests))] for phase in (first, second)]
    pairs = {**first.p_values, **second.p_values}
    return Skeleton(
        second.neighbors,
        {**first.separating_sets, **second.separating_sets},
        {pair: max(phase.p_values.get(pair, 0.0) for phase in (first, second)) for pair in pairs},
        tuple(a + b for a, b in zip(*counts, strict=True)),
        (*first.determined, *second.determined),
        second.stopped,
    )


def remaining(search: SkeletonSearch, start: float) -> SkeletonSearch:
    """The options for what is left of the time since `start`."""
    if search.time_limit is None:
        return search
    return replace(search, time_limit=max(0.0, search.time_limit - (time.monotonic() - start)))
