"""Mean and covariance of numbers with missing cells, by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument
from plausible.inference.gaussian_rows import same_rows

__all__ = ["GaussianFit", "NumberPattern", "fit_gaussian", "number_patterns"]

Floats = NDArray[np.float64]

#: Added to the diagonal of covariances, relative to the variances, so that copies of a column can be conditioned on.
_RIDGE = 1e-10


class NumberPattern(NamedTuple):
    """Rows with the same cells observed: which variables these are, and the rows' numbers of them."""

    observed: NDArray[np.bool_]
    numbers: Floats


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFit:
    """A Gaussian of maximum likelihood.

    Attributes
    ----------
    mean, covariance
        Its moments.
    iterations
        How many steps were made.
    converged
        Whether they ended before the limit.
    """

    mean: Floats
    covariance: Floats
    iterations: int
    converged: bool


def number_patterns(numbers: Floats) -> list[NumberPattern]:
    """Rows (each a row of `numbers`) in groups with the same cells observed; rows without any are left out."""
    observed = ~np.isnan(numbers)
    first, places = same_rows(np.ascontiguousarray(observed))
    groups = [(observed[row], numbers[places == group]) for group, row in enumerate(first.tolist())]
    return [NumberPattern(seen, rows[:, seen]) for seen, rows in groups if seen.any()]


def fit_gaussian(numbers: Floats, *, tolerance: float = 1e-7, max_iterations: int = 1000) -> GaussianFit:
    """The Gaussian under which the observed cells are most likely, missing ones being ignorable.

    The E-step fills each missing cell with its conditional mean and adds the conditional covariance to the scatter
    (Little & Rubin 2019, section 11.2).

    Parameters
    ----------
    numbers
        Shape (rows, variables), NaN where missing; each variable must be observed twice.
    tolerance
        Ends where no moment changes by more, measured in standard deviations.
    max_iterations
        The limit.

    Notes
    -----
    An iteration takes a matrix inversion for each pattern of missing cells, and one product with its rows.

    Examples
    --------
    >>> fit = fit_gaussian(np.array([[1.0, 2.0], [2.0, 4.1], [3.0, np.nan], [4.0, 8.2]]))
    >>> fit.mean.round(2)
    array([2.5 , 5.11])
    """
    if (np.count_nonzero(~np.isnan(numbers), axis=0) < 2).any():
        raise InvalidArgument("A Gaussian is fitted to variables that are each observed in two rows at least.")
    center, scale = np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    patterns = number_patterns((numbers - center) / scale)
    size = numbers.shape[1]
    mean, covariance = np.zeros(size), np.eye(size)
    iteration, change = 0, np.inf
    while iteration < max_iterations and change >= tolerance:
        before, iteration = (mean, covariance), iteration + 1
        mean, covariance = _step(patterns, mean, covariance)
        change = max(np.abs(mean - before[0]).max(), np.abs(covariance - before[1]).max())
    return GaussianFit(
        mean * scale + center, covariance * np.outer(scale, scale), iteration, converged=bool(change < tolerance)
    )


def _step(patterns: list[NumberPattern], mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """One step of EM."""
    size = len(mean)
    sums, products, num_rows = np.zeros(size), np.zeros((size, size)), 0
    regular = covariance + _RIDGE * np.eye(size)
    for seen, rows in patterns:
        slopes = np.linalg.solve(regular[np.ix_(seen, seen)], covariance[np.ix_(seen, ~seen)])
        filled = np.empty((len(rows), size))
        filled[:, seen] = rows
        filled[:, ~seen] = mean[~seen] + (rows - mean[seen]) @ slopes
        sums += filled.sum(axis=0)
        products += filled.T @ filled
        rest = covariance[np.ix_(~seen, ~seen)] - covariance[np.ix_(~seen, seen)] @ slopes
        products[np.ix_(~seen, ~seen)] += len(rows) * rest
        num_rows += len(rows)
    new_mean = sums / num_rows
    return new_mean, products / num_rows - np.outer(new_mean, new_mean)
