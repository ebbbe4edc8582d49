"""Conditioning a Gaussian on some of its variables, one after the other, with a bound on the rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.factors.definite import Matrix, Vector

_LOG_2PI = math.log(2 * math.pi)
#: The relative error of one rounding.
_UNIT = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Conditioned:
    """The moments of the variables that are left, and the log-density of those that were seen."""

    mean: Vector
    covariance: Matrix
    log_density: float


def condition_definite(
    mean: Vector, covariance: Matrix, seen: Sequence[int], kept: Sequence[int], point: Vector
) -> Conditioned | None:
    """The Gaussian of `kept` given values of `seen`; None where the covariance of `seen` is singular.

    Each observed variable e in turn takes Σ_ie Σ_ej / Σ_ee off Σ_ij, the one with the largest share of its variance
    left going first. Along goes a bound on what rounding, that of the given entries included, may have done to each
    entry. A variance within its bound is zero; one above it is real, however small it is beside the variance before:
    under the prior N(0, 1e15) an observation with noise 1 leaves a variance of 1. Costs O(|seen| n²).
    """
    order = [*seen, *kept]
    left, moved = np.array(covariance[np.ix_(order, order)]), np.array(mean[order])
    bound = _UNIT * np.abs(left)
    before = left.diagonal().copy()
    log_density, open_axes = 0.0, list(range(len(seen)))
    while open_axes:
        pivot = max(open_axes, key=lambda axis: left[axis, axis] / before[axis] if before[axis] > 0 else 0.0)
        variance = float(left[pivot, pivot])
        if variance <= bound[pivot, pivot]:
            return None
        open_axes.remove(pivot)
        surprise = float(point[pivot] - moved[pivot])
        log_density -= 0.5 * (_LOG_2PI + math.log(variance) + surprise * surprise / variance)
        gain = left[:, pivot] / variance
        moved += gain * surprise
        bound = _grown(bound, np.abs(gain), np.abs(left[pivot]), pivot)
        left -= np.outer(gain, left[pivot])
    tail = slice(len(seen), None)
    return Conditioned(moved[tail], settled(left[tail, tail], bound[tail, tail].diagonal()), log_density)


def _grown(bound: Matrix, gain: Vector, row: Vector, pivot: int) -> Matrix:
    """The bound after a step: errors of the pivot's row carried along by the gain, and three new roundings."""
    carried = np.outer(gain, bound[pivot])
    return np.asarray(
        bound + carried + carried.T + np.outer(gain, gain) * bound[pivot, pivot] + 3 * _UNIT * np.outer(gain, row)
    )


def settled(covariance: Matrix, noise: Vector) -> Matrix:
    """A conditional covariance, exactly symmetric, with zeros where variances are within the noise of rounding."""
    covariance = (covariance + covariance.T) / 2
    certain = covariance.diagonal() <= noise
    covariance[certain, :] = covariance[:, certain] = 0.0
    return covariance
