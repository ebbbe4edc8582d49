"""Linear Gaussian distributions by least squares, one for each state of the discrete parents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Positions
from plausible.base.tolerances import DETERMINED
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.data.statistics import FamilyRows
from plausible.errors import InvalidArgument
from plausible.learn.estimation.families import FamilyFit, FamilyTask
from plausible.variables import Variable

#: Residuals below this, relative to the numbers themselves, are rounding.
_ROUNDING = 1e-13


class _Regression(NamedTuple):
    """For each context: how many cases, its coefficients, the variance, and the rank of the parents.

    A row that weighs more than one is as many cases; rows that weigh less still are one each.
    """

    num_cases: Floats
    intercept: Floats
    coefficients: Floats
    variance: Floats
    rank: Positions


@dataclass(frozen=True, slots=True)
class GaussianLearner:
    """The linear Gaussian CPD of greatest likelihood: least squares, and the mean square of what is left.

    β = S_zz^-1 s_zy and σ² = S_yy - β s_zy, with empirical covariances (divided by the number of cases) in each state
    a of the discrete parents. Where a context has no cases, or too few for its variance (at most one more than
    continuous parents), or collinear parents, it is flagged; what the data leave open is taken from all contexts
    together, and N(0, 1) where there are no cases at all. Of collinear parents the shortest solution is taken.
    Cost: O(rows · parents²), whatever the number of contexts.

    Examples
    --------
    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"slope": [0.0, 1.5, 3.0], "speed": [1.5, 4.5, 7.5]}
    >>> print(GaussianLearner().fit(FamilyTask(read_families("slope -> speed", rows), "speed")).cpd)
    speed ~ N(1.5 + 2 slope, 0)
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a continuous variable given its parents."""
        if not task.child.is_continuous:
            raise InvalidArgument(f"{task.name!r} has states: a Gaussian distribution is one of a number.")
        discrete = [parent for parent in task.parents if not parent.is_continuous]
        continuous = [parent for parent in task.parents if parent.is_continuous]
        rows, shape = task.rows(), tuple(parent.num_states for parent in discrete)
        context = np.zeros(len(rows.weights), dtype=np.intp)
        if discrete:
            context = np.ravel_multi_index(tuple(rows.columns[parent.name] for parent in discrete), shape)
        fits = _regress(rows, task.name, continuous, context, math.prod(shape))
        pooled = fits if not discrete else _regress(rows, task.name, continuous, np.zeros_like(context), 1)
        filled, unidentified = _filled(fits, pooled, len(continuous))
        cpd = gaussian_cpd(task.child, task.parents, filled.intercept, filled.coefficients, filled.variance)
        return FamilyFit(cpd, unidentified.reshape(shape))


def _regress(
    rows: FamilyRows, name: str, continuous: list[Variable], context: Positions, num_contexts: int
) -> _Regression:
    """Weighted least squares in each context, from centred moments."""

    def sums(values: Floats) -> Floats:
        return np.bincount(context, values * rows.weights, num_contexts).astype(np.float64)

    weight = sums(np.ones(len(rows.weights)))
    divisor = np.where(weight > 0, weight, 1.0)
    numbers = [np.asarray(rows.columns[v.name], dtype=np.float64) for v in continuous]
    numbers.append(np.asarray(rows.columns[name], dtype=np.float64))
    means = [sums(column) / divisor for column in numbers]
    centred = [column - mean[context] for column, mean in zip(numbers, means, strict=True)]
    moments = np.empty((num_contexts, len(centred), len(centred)))
    for i, first in enumerate(centred):
        for j, second in enumerate(centred[: i + 1]):
            moments[:, i, j] = moments[:, j, i] = sums(first * second) / divisor
    coefficients, rank = regress_covariances(moments)
    fitted = sum((c[context] * z for c, z in zip(coefficients.T, centred, strict=False)), np.zeros(len(context)))
    residuals = centred[-1] - fitted
    variance = sums(residuals**2) / divisor
    scale = np.sqrt(sums(numbers[-1] ** 2) / divisor)
    variance = np.where(np.sqrt(variance) <= _ROUNDING * scale, 0.0, variance)
    intercept = means[-1] - sum((c * m for c, m in zip(coefficients.T, means, strict=False)), np.zeros(num_contexts))
    num_cases = np.maximum(weight, np.bincount(context, minlength=num_contexts))
    return _Regression(num_cases, intercept, coefficients, variance, rank)


def regress_covariances(moments: Floats) -> tuple[Floats, Positions]:
    """Coefficients from the covariances of (parents..., child) in each context, on the scale of correlations."""
    inner, cross = moments[:, :-1, :-1], moments[:, :-1, -1]
    if not inner.shape[1]:
        return np.zeros((len(moments), 0)), np.zeros(len(moments), dtype=np.intp)
    scale = np.sqrt(np.diagonal(inner, axis1=1, axis2=2))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    correlations = inner * inverse[:, :, None] * inverse[:, None, :]
    solved = np.linalg.pinv(correlations, rcond=DETERMINED, hermitian=True) @ (cross * inverse)[:, :, None]
    rank = np.linalg.matrix_rank(correlations, tol=DETERMINED * inner.shape[1], hermitian=True)
    return solved[:, :, 0] * inverse, np.asarray(rank)


def _filled(fits: _Regression, pooled: _Regression, num_continuous: int) -> tuple[_Regression, Flags]:
    """What the contexts leave open from all together, and which these are."""
    nothing = pooled.num_cases[0] == 0
    empty, short = fits.num_cases == 0, fits.num_cases <= num_continuous + 1
    common = 1.0 if nothing else pooled.variance[0]
    filled = fits._replace(
        intercept=np.where(empty, pooled.intercept[0], fits.intercept),
        coefficients=np.where(empty[:, None], pooled.coefficients[0], fits.coefficients),
        variance=np.where(short, common, fits.variance),
    )
    return filled, short | (fits.rank < num_continuous)


def gaussian_cpd(
    variable: Variable, parents: tuple[Variable, ...], intercept: Floats, coefficients: Floats, variance: Floats
) -> CPD:
    """The distribution with a line for each joint state of the discrete parents, the last one's changing fastest."""
    continuous = [parent.name for parent in parents if parent.is_continuous]
    if len(continuous) == len(parents):
        return LinearGaussianCPD(variable, float(intercept[0]), coefficients[0].tolist(), float(variance[0]), parents)
    shape = tuple(parent.num_states for parent in parents if not parent.is_continuous)
    arrays = {name: coefficients[:, place].reshape(shape) for place, name in enumerate(continuous)}
    return ConditionalGaussianCPD(variable, intercept.reshape(shape), arrays, variance.reshape(shape), parents)
