"""Arithmetic on tables where zeros and infinities have a meaning of their own."""

from __future__ import annotations

import numpy as np

from plausible.factors.alignment import Table

__all__ = ["divide", "dot", "scaled_to_sum"]

#: Fewer than 2**64 entries up to this size have a finite sum.
_SAFE_PEAK = 2.0**959


def divide(above: Table, below: Table, out: Table) -> Table:
    """The quotient with 0/0 = 0; NaN marks any other division by zero.

    >>> divide(np.array([0.0, 6.0, 1.0]), np.array([0.0, 3.0, 0.0]), out=np.empty(3))
    array([ 0.,  2., nan])
    """
    zero = below == 0
    if not zero.any():
        return np.divide(above, below, out=out)
    np.divide(above, np.where(zero, 1.0, below), out=out)
    out[np.broadcast_to(zero, out.shape) & (out != 0)] = np.nan
    return out


def dot(weights: Table, values: Table) -> float:
    """Σ w f with 0 · ±inf = 0.

    >>> dot(np.array([0.0, 2.0]), np.array([np.inf, 3.0]))
    6.0
    """
    return float(np.sum(np.multiply(weights, values, out=np.zeros(weights.shape), where=weights != 0)))


def scaled_to_sum(table: Table, axes: tuple[int, ...]) -> Table:
    """The numbers divided by their peak along some axes, where a sum could overflow; infinities stay.

    >>> scaled_to_sum(np.array([1e308, 1e308]), (0,))
    array([1., 1.])
    """
    peaks = np.abs(table).max(axis=axes, keepdims=True, initial=0.0)
    if np.all(peaks <= _SAFE_PEAK):
        return table
    return table / np.where((peaks > _SAFE_PEAK) & np.isfinite(peaks), peaks, 1.0)
