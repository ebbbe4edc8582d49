"""Exact sums over all orders of the variables, by subsets."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.confidence.parent_sets import ScoredParentSets

__all__ = ["edges_over_orders", "sums_within"]


def sums_within(sets: ScoredParentSets) -> Floats:
    """By child and set S, a number of n bits: log Σ exp(score) over the parent sets within S. O(n² 2^n)."""
    num = len(sets.names)
    sums = np.full((num, 1 << num), -np.inf)
    for child in range(num):
        sums[child, sets.masks[child]] = sets.scores[child]
    for bit in range(num):
        halves = sums.reshape(num, -1, 2, 1 << bit)
        halves[:, :, 1] = np.logaddexp(halves[:, :, 0], halves[:, :, 1])
    return sums


def edges_over_orders(sums: Floats) -> tuple[float, Floats]:
    """log Σ over orders of P(D | order), and by parent and child the probability of an edge.

    g(S) = Σ_{v in S} α_v(S - v) g(S - v) sums over the orders of S, h(S) likewise over those of what comes after, with
    α_v(S) the sum over the parent sets within S. v follows S with probability g(S) α_v(S) h(S + v) / g(V), and then has
    the parent u with probability 1 - α_v(S - u) / α_v(S). All terms are positive. Koivisto & Sood 2004, "Exact Bayesian
    structure discovery in Bayesian networks". O(n² 2^n).
    """
    num = len(sums)
    sizes = np.array([subset.bit_count() for subset in range(1 << num)])
    levels = [np.flatnonzero(sizes == size) for size in range(num + 1)]
    before, after = np.full(1 << num, -np.inf), np.full(1 << num, -np.inf)
    before[0], after[-1] = 0.0, 0.0
    for level in levels[:-1]:
        for child in range(num):
            here = level[(level >> child) & 1 == 0]
            target = here | (1 << child)
            before[target] = np.logaddexp(before[target], before[here] + sums[child, here])
    for level in reversed(levels[:-1]):
        for child in range(num):
            here = level[(level >> child) & 1 == 0]
            after[here] = np.logaddexp(after[here], after[here | (1 << child)] + sums[child, here])
    edges = np.zeros((num, num))
    for child in range(num):
        others = np.flatnonzero((np.arange(1 << num) >> child) & 1 == 0)
        others = others[sums[child, others] > -np.inf]
        shares = np.exp(before[others] + sums[child, others] + after[others | (1 << child)] - before[-1])
        for parent in set(range(num)) - {child}:
            gone = sums[child, others & ~(1 << parent)] - sums[child, others]
            edges[parent, child] = -(shares @ np.expm1(gone))
    return float(before[-1]), np.clip(edges, 0.0, 1.0)
