"""One answer from several completed tables: Rubin's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.records import record
from plausible.errors import InvalidArgument

__all__ = ["PooledEstimate", "pool_estimates"]


@record
class PooledEstimate:
    """An estimate from several completed tables.

    Attributes
    ----------
    estimate
        The mean of the estimates.
    within
        The mean of their variances: what would be left if nothing were missing.
    between
        The variance between them: what missing cells add.
    degrees_of_freedom
        Of the t distribution of (estimate - truth) / √total_variance.
    interval
        The ends of where the truth lies, at the level asked for.
    copies
        From how many tables.
    """

    estimate: float
    within: float
    between: float
    degrees_of_freedom: float
    interval: tuple[float, float]
    copies: int

    @property
    def total_variance(self) -> float:
        """within + (1 + 1/m) between."""
        return self.within + (1 + 1 / self.copies) * self.between

    @property
    def missing_share(self) -> float:
        """The share of the variance that is due to missing cells."""
        return 1 - self.within / self.total_variance if self.total_variance > 0 else 0.0

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.estimate:.4g}, between {low:.4g} and {high:.4g}; missing cells make {self.missing_share:.0%} of it"
        )


def pool_estimates(
    estimates: Sequence[float] | NDArray[Any],
    variances: Sequence[float] | NDArray[Any],
    *,
    complete_degrees: float = math.inf,
    level: float = 0.95,
) -> PooledEstimate:
    """Pool the estimates that m completed tables give: T = W + (1 + 1/m) B.

    The degrees of freedom are (m - 1)(1 + W / ((1 + 1/m) B))², and fewer for small tables (Barnard & Rubin 1999).

    Parameters
    ----------
    estimates, variances
        A number and its squared standard error from each table.
    complete_degrees
        Those that the estimate would have from complete data.
    level
        Of the interval.

    References
    ----------
    Rubin (1987), Multiple imputation for nonresponse in surveys. Barnard & Rubin (1999), Small-sample degrees of
    freedom with multiple imputation.

    Examples
    --------
    >>> pooled = pool_estimates([1.0, 1.2, 1.1], [0.04, 0.05, 0.03])
    >>> round(pooled.total_variance, 4), round(pooled.degrees_of_freedom, 1)
    (0.0533, 32.0)
    """
    from scipy.special import stdtrit

    found, squared = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2 or squared.shape != found.shape:
        raise InvalidArgument("Give an estimate and a variance from each of two tables or more.")
    if not (np.isfinite(found).all() and np.all(squared >= 0)):
        raise InvalidArgument("Estimates are finite numbers, and their variances are not negative.")
    if not 0 < level < 1:
        raise InvalidArgument(f"level= is between 0 and 1, not {level!r}.")
    within, between = float(squared.mean()), float(found.var(ddof=1))
    degrees = _degrees(within, (1 + 1 / len(found)) * between, len(found), complete_degrees)
    center, spread = float(found.mean()), math.sqrt(within + (1 + 1 / len(found)) * between)
    # With more degrees of freedom the t distribution is the normal one; infinitely many give NaN.
    half = float(stdtrit(min(degrees, 1e12), (1 + level) / 2)) * spread
    return PooledEstimate(center, within, between, degrees, (center - half, center + half), len(found))


def _degrees(within: float, extra: float, copies: int, complete: float) -> float:
    if extra == 0:
        return complete
    share = extra / (within + extra)
    usual = (copies - 1) / share**2
    if math.isinf(complete):
        return usual
    seen = (complete + 1) / (complete + 3) * complete * (1 - share)
    return usual * seen / (usual + seen)
