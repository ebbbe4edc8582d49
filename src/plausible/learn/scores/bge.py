"""BGe: the marginal likelihood of Gaussian data under a normal-Wishart prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.data.moments import Moments
from plausible.errors import InvalidArgument
from plausible.learn.scores.gaussian import GaussianFit, GaussianScore

__all__ = ["BGe"]


@dataclass(frozen=True, slots=True)
class BGe(GaussianScore):
    """ln p(D | G) where means and precisions have a normal-Wishart prior: score equivalent.

    A family's score is ln p(D of child and parents) - ln p(D of parents), each a ratio of multivariate gamma functions
    and determinants of T and R = T + S + N α_μ / (N + α_μ) (ν - x̄)(ν - x̄)ᵀ, with T = t I and
    t = α_μ (α_w - n - 1) / (α_μ + 1). The variances expected beforehand are near 1/2, so bring variables to comparable
    units first.

    Parameters
    ----------
    mean_weight
        α_μ: how many rows the prior mean is worth.
    wishart_degrees
        α_w > n + 1; by default n + α_μ + 1.
    mean
        ν: the prior mean of each variable, in the order of the data; by default that of the data.

    References
    ----------
    Geiger & Heckerman (2002), Parameter priors for directed acyclic graphical models, Annals of Statistics 30;
    corrected by Kuipers, Moffa & Heckerman (2014), Addendum on the scoring of Gaussian directed acyclic graphical
    models, Annals of Statistics 42.

    Examples
    --------
    >>> data = {"dose": [0.5, 1.0, 1.5, 2.0], "effect": [1.25, 1.75, 3.25, 3.75]}
    >>> scores = BGe().on_data(data)
    >>> scores.family("effect", ["dose"]) > scores.family("effect", [])
    True
    """

    mean_weight: float = 1.0
    wishart_degrees: float | None = None
    mean: Sequence[float] | None = None
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.mean_weight < math.inf:
            raise InvalidArgument(f"mean_weight is a positive number, not {self.mean_weight}.")

    def matrix(self, moments: Moments) -> Floats:
        """R, the posterior's parameter matrix."""
        num_variables = moments.mean.size
        apart = np.zeros(num_variables) if self.mean is None else self._mean(num_variables) - moments.mean
        share = moments.weight * self.mean_weight / (moments.weight + self.mean_weight)
        return self._scale(num_variables) * np.eye(num_variables) + moments.scatter + share * np.outer(apart, apart)

    def of_fit(self, fit: GaussianFit) -> Floats:
        """The ratio of the marginal likelihoods of child with parents and of the parents."""
        from scipy.special import gammaln

        weight, num_variables, num_parents = fit.moments.weight, fit.moments.mean.size, fit.num_parents
        before = self._degrees(num_variables) - num_variables + num_parents
        after = before + weight
        scale = self._scale(num_variables)
        residuals = np.maximum(fit.residuals, scale)  # which is so but for rounding, as R - T has no negative direction
        constant = (
            0.5 * math.log(self.mean_weight / (weight + self.mean_weight))
            + float(gammaln((after + 1) / 2) - gammaln((before + 1) / 2))
            - weight / 2 * math.log(math.pi)
            + (before / 2 + (num_parents + 1) / 2) * math.log(scale)
        )
        return constant - (after + 1) / 2 * np.log(residuals) - 0.5 * fit.log_determinants

    def _degrees(self, num_variables: int) -> float:
        degrees = num_variables + self.mean_weight + 1 if self.wishart_degrees is None else self.wishart_degrees
        if not num_variables + 1 < degrees < math.inf:
            raise InvalidArgument(
                f"wishart_degrees is {degrees}; with {num_variables} variables it must be above {num_variables + 1}."
            )
        return degrees

    def _scale(self, num_variables: int) -> float:
        return self.mean_weight * (self._degrees(num_variables) - num_variables - 1) / (self.mean_weight + 1)

    def _mean(self, num_variables: int) -> Floats:
        mean = np.array(self.mean, dtype=np.float64)
        if mean.shape != (num_variables,):
            raise InvalidArgument(f"mean has {mean.size} numbers for {num_variables} variables. Give one for each.")
        return mean
