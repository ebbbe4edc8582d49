"""Mean and covariance of numbers with missing cells, by EM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.errors import InvalidArgument
from plausible.inference.gaussian.rows import same_rows
from plausible.learn.incomplete.gaussian_rows import PatternRows
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: Added to the diagonal of covariances, relative to the variances, so that copies of a column can be conditioned on.
_RIDGE = 1e-10


class NumberPattern(NamedTuple):
    """Rows with the same cells observed: which variables these are, the rows' numbers of them, and their weights."""

    observed: Flags
    numbers: Floats
    weights: Floats


class GaussianMoments(NamedTuple):
    """Mean and covariance."""

    mean: Floats
    covariance: Floats


def number_patterns(numbers: Floats, weights: Floats) -> list[NumberPattern]:
    """Rows (each a row of `numbers`) in groups with the same cells observed; rows without any are left out."""
    observed = ~np.isnan(numbers)
    first, places = same_rows(np.ascontiguousarray(observed))
    groups = [(observed[row], places == group) for group, row in enumerate(first.tolist())]
    return [NumberPattern(seen, numbers[rows][:, seen], weights[rows]) for seen, rows in groups if seen.any()]


def fit_gaussian(
    numbers: Floats, weights: Floats | None = None, *, tolerance: float = 1e-7, max_steps: int = 1000
) -> Run[GaussianMoments]:
    """The Gaussian under which the observed cells are most likely, missing ones being ignorable.

    The E-step fills each missing cell with its conditional mean and adds the conditional covariance to the scatter
    (Little & Rubin 2019, section 11.2); see `PatternRows`.

    Notes
    -----
    An iteration takes a matrix inversion for each pattern of missing cells, and one product with its rows.

    Examples
    --------
    >>> run = fit_gaussian(np.array([[1.0, 2.0], [2.0, 4.1], [3.0, np.nan], [4.0, 8.2]]))
    >>> run.state.mean.round(2)
    array([2.5 , 5.11])
    """
    weights = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=np.float64)
    counted = (weights > 0) & ~np.isnan(numbers).all(axis=1)
    numbers, weights = numbers[counted], weights[counted]
    known = ~np.isnan(numbers)
    if (np.count_nonzero(known, axis=0) < 2).any():
        raise InvalidArgument("A Gaussian is fitted to variables that are each observed in two rows at least.")
    shares = np.where(known, weights[:, None], 0.0) / (weights @ known)
    center = (shares * np.where(known, numbers, 0.0)).sum(axis=0)
    scale = np.sqrt((shares * np.where(known, numbers - center, 0.0) ** 2).sum(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    rows, size = PatternRows.of((numbers - center) / scale), numbers.shape[1]

    def settled(run: Run[GaussianMoments]) -> str:
        pairs = zip(run.state, run.previous or run.state, strict=True)
        return CONVERGED if max(np.abs(after - before).max() for after, before in pairs) < tolerance else ""

    first = GaussianMoments(np.zeros(size), np.eye(size))
    run = iterate(partial(_step, rows, weights), first, Stops(tolerance, max_steps), [settled])
    mean, covariance = run.state
    return replace(run, state=GaussianMoments(mean * scale + center, covariance * np.outer(scale, scale)))


def _step(rows: PatternRows, weights: Floats, state: GaussianMoments) -> GaussianMoments:
    """One step of EM."""
    mean, covariance = state
    density = rows.density(mean[None], (covariance + _RIDGE * np.eye(len(mean)))[None])
    moments = rows.moments(density, weights[:, None], mean[None], covariance[None])[0]
    moments /= moments[0, 0]
    return GaussianMoments(moments[0, 1:], moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:]))
