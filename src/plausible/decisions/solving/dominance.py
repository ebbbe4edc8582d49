"""Sets of linear functions, without those that are nowhere larger than another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints

__all__ = ["Domain", "merged", "undominated"]

#: Whether the time is over is asked after so many comparisons of one function with all others.
_OFTEN = 64


class Domain(NamedTuple):
    """The distributions x on which functions v · x are compared: x ≥ 0 sums to a given mass on each group.

    Attributes
    ----------
    groups
        The group of each coordinate, in increasing order.
    masses
        The mass of each group.
    points
        Some of the distributions, one in each row: what is largest there is surely needed.
    """

    groups: Ints
    masses: Floats
    points: Floats

    def lead(self, vectors: Floats, other: Floats) -> Floats:
        """For each vector v the largest v · x - other · x."""
        starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        return np.asarray(np.maximum.reduceat(vectors - other, starts, axis=1) @ self.masses)


def undominated(vectors: Floats, domain: Domain, tolerance: float, is_over: Callable[[], bool] = lambda: False) -> Ints:
    """The numbers of vectors such that each other one is nowhere larger than one of them, up to a tolerance.

    Those that are largest at some of the points come first; once `is_over` more than needed may be kept.

    >>> vectors = np.array([[1.0, 0.0], [0.4, 0.4], [0.0, 1.0], [0.0, 0.9]])
    >>> undominated(vectors, Domain(np.array([0, 0]), np.ones(1), np.array([[0.5, 0.5]])), 1e-9)
    array([0, 1, 2])
    """
    worth = vectors @ domain.points.T
    winners = np.unique(worth.argmax(axis=0))
    order = [*winners.tolist(), *np.argsort(-worth.mean(axis=1), kind="stable").tolist()]
    alive = np.ones(len(vectors), dtype=bool)
    kept: list[int] = []
    for number in order:
        if alive[number]:
            if len(kept) % _OFTEN == _OFTEN - 1 and is_over():
                kept += np.flatnonzero(alive).tolist()
                break
            kept.append(number)
            left = np.flatnonzero(alive)
            alive[left] = domain.lead(vectors[left], vectors[number]) > tolerance
            alive[number] = False
    return np.array(sorted(kept))


def merged(vectors: Floats, domain: Domain, limit: int) -> tuple[Floats, Ints]:
    """No more vectors than a limit that are nowhere smaller: the others raise the one that they lead by least.

    Returns
    -------
    Floats, Ints
        The vectors, and the numbers of those that they were.
    """
    worth = vectors @ domain.points.T
    wins = np.bincount(worth.argmax(axis=0), minlength=len(vectors))
    order = np.lexsort((-worth.mean(axis=1), -wins))
    kept = np.sort(order[:limit])
    if limit == 1:
        return vectors.max(axis=0, keepdims=True), kept
    raised = vectors[kept].copy()
    for number in order[limit:].tolist():
        nearest = int(domain.lead(vectors[number] - raised, np.zeros(1)).argmin())
        raised[nearest] = np.maximum(raised[nearest], vectors[number])
    return raised, kept
