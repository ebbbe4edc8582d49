"""From bounds on sums, one for each state, to bounds on probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["ProbabilityBounds", "probability_bounds"]


#: More than the rounding of a sum and a quotient, and than what underflows.
_RELATIVE, _ABSOLUTE = 1e-12, 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityBounds:
    """Where the probability of each state, or joint state, lies for certain.

    Attributes
    ----------
    lower, upper
        An axis for each variable.
    estimate
        A distribution to go on: the upper bounds on the sums, normalised. They err by factors that the states have in
        common, more so than the lower ones.
    """

    lower: Floats
    upper: Floats
    estimate: Floats

    @property
    def error(self) -> float:
        """By how much `estimate` may be wrong anywhere."""
        return float(np.maximum(self.upper - self.estimate, self.estimate - self.lower).max())


def probability_bounds(log_lower: Floats, log_upper: Floats) -> ProbabilityBounds:
    """L(s) / (L(s) + Σ U of the others) ≤ P(s) ≤ U(s) / (U(s) + Σ L of the others).

    Parameters
    ----------
    log_lower, log_upper
        Logarithms of bounds on the unnormalised probability of each state; some upper one is finite.

    Examples
    --------
    >>> found = probability_bounds(np.log([1.0, 2.0]), np.log([1.0, 4.0]))
    >>> found.lower.round(4).tolist(), found.upper.round(4).tolist()
    ([0.2, 0.6667], [0.3333, 0.8])
    """
    peak = log_upper.max()
    low, high = np.exp(log_lower - peak).ravel(), np.exp(log_upper - peak).ravel()
    under, over = low + _others(high), high + _others(low)
    lower = np.divide(low, under, out=np.zeros_like(low), where=under > 0) * (1 - _RELATIVE) - _ABSOLUTE
    upper = np.divide(high, over, out=np.zeros_like(low), where=over > 0) * (1 + _RELATIVE) + _ABSOLUTE
    shape = log_upper.shape
    return ProbabilityBounds(
        np.maximum(lower, 0.0).reshape(shape),
        np.minimum(upper, 1.0).reshape(shape),
        np.asarray((high / high.sum()).reshape(shape)),
    )


def _others(values: Floats) -> Floats:
    """For each number the sum of all others, without taking differences."""
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1])[-2::-1], [0.0]])
    return np.asarray(before + after)
