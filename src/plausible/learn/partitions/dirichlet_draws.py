"""Draws of Dirichlet distributions, by gammas."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument

__all__ = ["sample_dirichlet"]


def sample_dirichlet(pseudo_counts: ArrayLike, size: int = 1, *, seed: Seed = 0) -> Floats:
    """Draw probabilities θ ~ Dirichlet(α): independent gammas γ_i ~ Gamma(α_i, 1) over their sum.

    A gamma of shape one is -ln U, so Dirichlet(1, ..., 1) takes k uniform numbers. Others come from the gamma of shape
    α + 1, by rejection, times U^{1/α}; logarithms keep α near zero from losing all its digits. Koller & Friedman 2009,
    box 19.E and theorem 19.7.

    Parameters
    ----------
    pseudo_counts
        α, positive, one for each of k states.
    size
        How many to draw.
    seed
        Of the draws.

    Returns
    -------
    Rows (size, k) that sum to one. Costs O(size k).

    Examples
    --------
    >>> sample_dirichlet([3.0, 1.0, 1.0], 10_000).mean(axis=0).round(1)
    array([0.6, 0.2, 0.2])
    """
    alpha = np.asarray(pseudo_counts, dtype=np.float64)
    if alpha.ndim != 1 or not alpha.size or not (np.isfinite(alpha) & (alpha > 0)).all():
        raise InvalidArgument(
            f"Pseudo-counts are a list of positive numbers, one for each state; not {pseudo_counts!r}."
        )
    rng = generator_of(seed)
    uniforms = np.log1p(-rng.random((size, alpha.size)))
    if (alpha == 1).all():
        logs = np.log(np.maximum(-uniforms, 1e-300))
    else:
        logs = np.log(rng.standard_gamma(alpha + 1.0, (size, alpha.size))) + uniforms / alpha
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
