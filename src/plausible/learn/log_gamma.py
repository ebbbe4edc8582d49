"""Logarithms of ratios of gamma functions, whose absolute error is that of rounding however large the arguments are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats

_LARGE = 10.0  # From here on Stirling's series with the terms below is exact up to rounding

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # B_{2k} / (2k (2k - 1)), of x^(1 - 2k)


def stirling_rest(values: ArrayLike) -> Floats:
    """ln Γ(x) - x ln x + x, which grows as the logarithm of x only; x > 0.

    >>> float(stirling_rest(1.0)), round(float(stirling_rest(1e15)), 6)
    (1.0, -16.35045)
    """
    from scipy.special import gammaln

    x = np.asarray(values, dtype=np.float64)
    small, large = np.minimum(x, _LARGE), np.maximum(x, _LARGE)
    inverse = 1.0 / large
    square, series = inverse * inverse, np.asarray(_SERIES[-1])
    for coefficient in _SERIES[-2::-1]:
        series = series * square + coefficient
    beyond = 0.5 * (math.log(2 * math.pi) - np.log(large)) + inverse * series
    return np.asarray(np.where(x < _LARGE, gammaln(small) - small * np.log(small) + small, beyond))


def log_rising(starts: ArrayLike, steps: ArrayLike) -> Floats:
    """ln Γ(a + n) - ln Γ(a), the logarithm of a (a + 1) ... (a + n - 1); n ≥ 0 need not be whole.

    ln Γ itself is a ln a large, and its last digit then more than the difference.
    """
    a, n = np.asarray(starts, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    rest = stirling_rest(a + n) - stirling_rest(a)
    return np.asarray(rest + a * np.log1p(n / a) + n * np.log(a + n) - n)
