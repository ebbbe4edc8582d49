"""What is left of exponential and logarithm after their first order, to all digits also for small numbers."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["exponential_remainder", "logarithm_remainder"]

#: Below it the series is summed, above it the difference loses two digits at most.
_SMALL = 0.1
_NUM_TERMS = 18


def exponential_remainder(x: Floats) -> Floats:
    """eˣ - 1 - x.

    >>> float(exponential_remainder(np.array([1e-20]))[0])
    5e-41
    """
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    series = np.ones_like(small)
    for k in range(_NUM_TERMS, 2, -1):
        series = 1 + series * small / k
    return np.where(np.abs(x) < _SMALL, small**2 / 2 * series, np.expm1(x) - x)


def logarithm_remainder(x: Floats) -> Floats:
    """ln(1 + x) - x, which is minus infinity at -1.

    >>> float(logarithm_remainder(np.array([1e-20]))[0])
    -5e-41
    """
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    series = np.zeros_like(small)
    for k in range(_NUM_TERMS, 1, -1):
        series = (1 if k % 2 else -1) / k + series * small
    with np.errstate(divide="ignore"):
        return np.where(np.abs(x) < _SMALL, small**2 * series, np.log1p(x) - x)
