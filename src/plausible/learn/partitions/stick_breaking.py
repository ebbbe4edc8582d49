"""The weights of a Dirichlet process, by breaking a stick, and what cutting them off leaves out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count, check_number
from plausible.base.seeds import Seed, generator_of

__all__ = ["Sticks", "break_sticks", "expected_remainder", "sticks_needed"]


@dataclass(frozen=True, slots=True, eq=False)
class Sticks:
    """The first weights of a Dirichlet process.

    Attributes
    ----------
    weights
        λ_1, λ_2, ... of the first clusters.
    remainder
        What all others have together: weights and remainder sum to one.
    expected_remainder
        Its mean over draws.
    """

    weights: Floats
    remainder: float
    expected_remainder: float


def break_sticks(concentration: float, num_sticks: int, *, seed: Seed = 0) -> Sticks:
    """Draw λ_k = β_k Π_{l<k} (1 - β_l), β_k ~ Beta(1, α₀), for k up to `num_sticks`.

    1 - β = U^{1/α₀}, so log remainders are sums of -Exponential(1) / α₀. Sethuraman 1994; Koller & Friedman 2009,
    §19.5.2.2.

    Parameters
    ----------
    concentration
        α₀ > 0.
    num_sticks
        How many weights to draw.
    seed
        Of the draws.

    Examples
    --------
    >>> sticks = break_sticks(2.0, 50)
    >>> bool(abs(sticks.weights.sum() + sticks.remainder - 1) < 1e-12), sticks.expected_remainder < 1e-8
    (True, True)
    """
    left = expected_remainder(concentration, num_sticks)
    draws = generator_of(seed).standard_exponential(num_sticks) / concentration
    log_before = -np.concatenate([[0.0], np.cumsum(draws)])
    return Sticks(np.exp(log_before[:-1]) * -np.expm1(-draws), float(np.exp(log_before[-1])), left)


def expected_remainder(concentration: float, num_sticks: int) -> float:
    """(α₀ / (1 + α₀))^T: the probability that a row falls beyond the first T clusters.

    M rows all lie within them with probability at least 1 - M times this.

    >>> expected_remainder(1.0, 10) == 2.0**-10
    True
    """
    check_number("concentration", concentration, above=0)
    check_count("num_sticks", num_sticks, 0)
    return math.exp(-num_sticks * math.log1p(1 / concentration))


def sticks_needed(concentration: float, num_rows: int, error: float) -> int:
    """The least T for which `num_rows` rows all lie within T clusters with probability at least 1 - error.

    >>> sticks_needed(1.0, 1000, 0.01)
    17
    """
    check_number("concentration", concentration, above=0)
    check_number("error", error, above=0, below=1)
    return max(0, math.ceil(math.log(max(num_rows, 1) / error) / math.log1p(1 / concentration)))
