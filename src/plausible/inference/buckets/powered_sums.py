"""Powered sums of tables of logarithms, and the conditional distributions that are their gradients."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["TINY", "conditional", "magnitude", "powered_sum", "powers"]


#: Probabilities below this count as this where logarithms of them are compared; any number would do.
TINY = 1e-290


def powered_sum(product: Floats, weight: float) -> Floats:
    """w log Σ exp(ψ / w) over the first axis; the maximum for w = 0; -inf where a negative power meets a zero."""
    if weight == 0 or len(product) == 1:
        return np.asarray(product.max(axis=0))
    ends = np.maximum.reduce(product, axis=0) if weight > 0 else np.minimum.reduce(product, axis=0)
    safe = np.where(np.isneginf(ends), 0.0, ends)
    if weight > 0:
        return np.asarray(weight * np.log(np.exp((product - safe) / weight).sum(axis=0)) + safe)
    powers = np.exp(np.minimum((product - safe) / weight, 0.0))
    return np.where(np.isneginf(ends), -np.inf, weight * np.log(powers.sum(axis=0)) + safe)


def powers(product: Floats, weight: float, axis: int | None) -> Floats:
    """exp(ψ / w), the largest along an axis, or of all, being one; zeros get nothing."""
    scaled = product / weight
    if weight < 0:
        scaled = np.where(np.isinf(scaled), -np.inf, scaled)
    peaks = scaled.max(axis=axis)
    return np.asarray(np.exp(scaled - np.where(np.isneginf(peaks), 0.0, peaks)))


def conditional(product: Floats, weight: float) -> Floats:
    """exp(ψ / w) over its sum along the first axis; zeros, and what has zeros only, get nothing."""
    unscaled = powers(product, weight, axis=0)
    return np.asarray(unscaled / np.maximum(unscaled.sum(axis=0), TINY))


def magnitude(table: Floats) -> float:
    """The largest finite size of a number."""
    low, high = float(table.min()), float(table.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        return float(np.abs(table[np.isfinite(table)]).max(initial=0.0))
    return max(-low, high)
