"""Whether the weights of importance sampling have a variance that samples can tell: the tail of the largest ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats

__all__ = ["MAX_TAIL_SHAPE", "tail_shape"]


#: With a heavier tail means of weights converge too slowly for their errors to be believed (Vehtari et al. 2024).
MAX_TAIL_SHAPE = 0.7

#: Fewer weights than these say nothing about a tail.
_FEWEST = 5

#: k is drawn towards ½ as if so many weights had said so, which keeps small samples from crying wolf.
_PRIOR_WEIGHTS = 10


def tail_shape(log_weights: ArrayLike) -> float:
    """The shape k of a generalised Pareto distribution fitted to the largest weights.

    Weights have 1 / k finite moments: below ½ the variance is finite and the standard error means what it says; up to
    0.7 larger samples still help; above, a mode with most of the weight may never have been met. The tail is the
    largest min(n / 5, 3 √n) weights (Vehtari, Simpson, Gelman, Yao & Gabry 2024, "Pareto smoothed importance
    sampling"). k is the profile posterior mean of Zhang & Stephens (2009), in O(n log n).

    Parameters
    ----------
    log_weights
        Logarithms of weights, -inf for zero.

    Returns
    -------
    float
        -inf where the largest weights are all the same, or there are fewer than five of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(abs(tail_shape(-0.9 * np.log(rng.random(20_000))) - 0.9) < 0.2)  # w = u^-k has a tail of shape k
    True
    >>> tail_shape(np.zeros(100))
    -inf
    """
    logs = np.sort(np.asarray(log_weights, dtype=np.float64).ravel())
    count = int(min(len(logs) / 5, 3 * math.sqrt(len(logs))))
    if count < _FEWEST or logs[-1] == -math.inf:
        return -math.inf
    weights = np.exp(logs[-count - 1 :] - logs[-1])
    excesses = weights[1:] - weights[0]
    excesses = excesses[excesses > 1e-12]  # ties with the cut-off, of which discrete weights have many
    if len(excesses) < _FEWEST or excesses[-1] - excesses[0] < 1e-12:
        return -math.inf
    return _shape(excesses)


def _shape(excesses: Floats) -> float:
    """k of sorted positive numbers with density (1 + k x / σ)^(-1/k - 1) / σ, written by θ = -k / σ."""
    count = len(excesses)
    num_points = 30 + int(math.sqrt(count))
    quartile = excesses[int(count / 4 + 0.5) - 1]
    steps = 1 - np.sqrt(num_points / (np.arange(1, num_points + 1) - 0.5))
    points = steps / (3 * quartile) + 1 / excesses[-1]
    points[points == 0] = 1e-9 / excesses[-1]  # the exponential distribution, for which the quotient below is a limit
    shapes = np.log1p(-points[:, None] * excesses).mean(axis=1)
    # The profile log-likelihood of each point, and with a flat prior its posterior weight.
    profile = count * (np.log(-points / shapes) - shapes - 1)
    posterior = np.exp(profile - profile.max())
    theta = float(points @ posterior / posterior.sum())
    shape = float(np.log1p(-theta * excesses).mean())
    return (count * shape + _PRIOR_WEIGHTS * 0.5) / (count + _PRIOR_WEIGHTS)
