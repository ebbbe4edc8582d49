"""Probabilities of intervals and rectangles under a normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plausible.factors.definite import Matrix, Vector


def interval_probability(low: float, high: float) -> float:
    """P(low ≤ Z ≤ high) of a standard normal Z; accurate in both tails."""
    if low > 0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2)))


def rectangle_probability(mean: Vector, covariance: Matrix, limits: Matrix, tolerance: float, seed: int) -> float:
    """P(X in the box) of X ~ N(mean, covariance), which may be singular; `limits` has a row (low, high) a variable.

    Variables that are independent of each other are treated apart: constants and single variables in closed form,
    pairs through Owen's T function, larger groups by quasi-Monte Carlo integration (Genz 1992).
    """
    deviation = np.sqrt(covariance.diagonal())
    constant = deviation == 0
    if np.any((mean[constant] < limits[constant, 0]) | (mean[constant] > limits[constant, 1])):
        return 0.0
    free = np.flatnonzero(~constant)
    scale = deviation[free]
    correlation = covariance[np.ix_(free, free)] / scale[:, None] / scale
    box = (limits[free] - mean[free, None]) / scale[:, None]
    parts = (_part(correlation[np.ix_(group, group)], box[group], tolerance, seed) for group in _groups(correlation))
    return math.prod(parts)


def _groups(correlation: Matrix) -> list[list[int]]:
    """The connected components of the graph of non-zero correlations."""
    left = set(range(len(correlation)))
    groups = []
    while left:
        group, frontier = [], [left.pop()]
        while frontier:
            member = frontier.pop()
            group.append(member)
            found = left.intersection(np.flatnonzero(correlation[member]).tolist())
            left -= found
            frontier += found
        groups.append(sorted(group))
    return groups


def _part(correlation: Matrix, box: Matrix, tolerance: float, seed: int) -> float:
    if len(box) == 1:
        return interval_probability(float(box[0, 0]), float(box[0, 1]))
    if len(box) == 2:
        return _pair(float(correlation[0, 1]), box)
    from scipy.stats import multivariate_normal

    options: dict[str, Any] = {"maxpts": 10**6 * len(box), "abseps": tolerance, "releps": 0.0}
    normal = multivariate_normal(np.zeros(len(box)), correlation, allow_singular=True, seed=seed, **options)
    return float(np.clip(normal.cdf(box[:, 1], lower_limit=box[:, 0]), 0.0, 1.0))


def _pair(rho: float, box: Matrix) -> float:
    """P(low ≤ (X, Y) ≤ high) of two standard normal variables with correlation `rho`."""
    if abs(rho) >= 1 - 1e-14:
        other = box[1] if rho > 0 else -box[1, ::-1]
        low, high = max(float(box[0, 0]), float(other[0])), min(float(box[0, 1]), float(other[1]))
        return interval_probability(low, high) if low < high else 0.0
    (a, b), (c, d) = box.tolist()
    total = _quadrant(b, d, rho) - _quadrant(a, d, rho) - _quadrant(b, c, rho) + _quadrant(a, c, rho)
    return min(max(total, 0.0), 1.0)


def _quadrant(h: float, k: float, rho: float) -> float:
    """P(X ≤ h, Y ≤ k) by Owen's T function (Owen 1956, equation 2.1)."""
    from scipy.special import owens_t

    if math.isinf(h) or math.isinf(k):
        low, high = min(h, k), max(h, k)
        return 0.0 if low == -math.inf else interval_probability(-math.inf, low if high == math.inf else high)
    if h == 0 and k == 0:
        return 0.25 + math.asin(rho) / (2 * math.pi)
    root = math.sqrt((1 - rho) * (1 + rho))
    pieces = 0.5 * (interval_probability(-math.inf, h) + interval_probability(-math.inf, k))
    for near, far in ((h, k), (k, h)):
        slope = (far - rho * near) / (near * root) if near else math.copysign(math.inf, far)
        pieces -= float(owens_t(near, slope))
    return pieces - (0.5 if h * k < 0 or (h * k == 0 and h + k < 0) else 0.0)
