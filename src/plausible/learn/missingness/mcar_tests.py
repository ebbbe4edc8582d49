"""Tests of whether cells are missing completely at random; the Gaussian of numbers with missing cells, by EM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base import Flags, Floats, Result, record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.inference.gaussian.rows import same_rows
from plausible.learn.incomplete.gaussian_rows import PatternRows
from plausible.learn.independence.count_tests import ChiSquareTest, GTest
from plausible.learn.missingness.cells import Mask, table_cells
from plausible.learn.missingness.diagnosis import INDICATOR, indicators
from plausible.search.run import CONVERGED, Run, Stops, iterate
from plausible.variables import Variable

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

    def step(state: GaussianMoments) -> GaussianMoments:
        mean, covariance = state
        density = rows.density(mean[None], (covariance + _RIDGE * np.eye(size))[None])
        moments = rows.moments(density, weights[:, None], mean[None], covariance[None])[0]
        moments /= moments[0, 0]
        return GaussianMoments(moments[0, 1:], moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:]))

    def settled(run: Run[GaussianMoments]) -> str:
        pairs = zip(run.state, run.previous or run.state, strict=True)
        return CONVERGED if max(np.abs(after - before).max() for after, before in pairs) < tolerance else ""

    first = GaussianMoments(np.zeros(size), np.eye(size))
    run = iterate(step, first, Stops(tolerance, max_steps), [settled])
    mean, covariance = run.state
    return replace(run, state=GaussianMoments(mean * scale + center, covariance * np.outer(scale, scale)))


CountMethod: TypeAlias = Literal["g", "chi-square"]
_COUNT_TESTS = {"g": GTest, "chi-square": ChiSquareTest}


@record
class LittleTest(Result):
    """What `little_test` found."""

    statistic: float  # d², the distance of the patterns' means from those of all rows
    degrees_of_freedom: int  # Of its chi-square distribution
    p_value: float  # The probability of a larger distance if cells are missing completely at random
    num_patterns: int  # How many sets of variables are observed together

    def __str__(self) -> str:
        if not self.degrees_of_freedom:
            return "There is one pattern of missing cells only: nothing can be compared."
        return _sentence(self.p_value, f"means of {self.num_patterns} patterns of missing cells")


def little_test(data: TableLike, *, variables: Mapping[str, Variable] | None = None) -> LittleTest:
    """Little's test of whether numbers are missing completely at random: do means differ by pattern?

    d² = Σ_j n_j (x̄_j - μ_j)ᵀ Σ_j⁻¹ (x̄_j - μ_j) over the patterns j, with the mean μ and the covariance Σ of maximum
    likelihood (by EM, Σ times n / (n - 1)) cut to what is observed in j; chi-square with Σ_j p_j - p degrees of
    freedom (Little 1988). It sees differences of means only, not of spread; columns with states are not looked at;
    `variables` are as for `Table.read`.

    >>> print(little_test({"x": [1.5, 2.5, 3.5, 4.5], "y": [0.5, None, 2.0, None]}))
    No sign against MCAR: means of 2 patterns of missing cells differ no more than by chance (p = 0.439).
    """
    from scipy.special import chdtrc

    table = Table.read(data, variables)
    if not table.continuous:
        raise InvalidArgument("There is no column of numbers. For states, indicator_tests compares what is missing.")
    weights = table.row_weights
    numbers, weights = table.numbers.T[weights > 0], weights[weights > 0]
    fit, patterns = fit_gaussian(numbers, weights).state, number_patterns(numbers, weights)
    total = sum(float(pattern.weights.sum()) for pattern in patterns)
    covariance = fit.covariance * (total / max(total - 1, 1))
    statistic, degrees = 0.0, -len(table.continuous)
    for seen, rows, counts in patterns:
        apart = np.average(rows, axis=0, weights=counts) - fit.mean[seen]
        inverse = np.linalg.pinv(covariance[np.ix_(seen, seen)], hermitian=True)
        statistic += counts.sum() * float(apart @ inverse @ apart)
        degrees += int(seen.sum())
    p_value = float(chdtrc(degrees, statistic)) if degrees else 1.0
    return LittleTest(float(statistic), degrees, p_value, len(patterns))


class IndicatorTest(NamedTuple):
    """Whether a variable is missing, against another variable where that is observed."""

    incomplete: str  # The variable that is missing in some rows
    other: str  # What that is compared with
    statistic: float  # Of the test: G or X² for states, Welch's t for numbers
    degrees_of_freedom: float
    p_value: float
    adjusted: float  # The p-value by Holm's method: at most a share α of such tables has any below α by chance


@record
class IndicatorTests(Result):
    """What `indicator_tests` found."""

    tests: tuple[IndicatorTest, ...]  # All comparisons, the smallest p-value first

    @property
    def p_value(self) -> float:
        """The smallest p-value, adjusted for the number of tests; one without any."""
        return min((test.adjusted for test in self.tests), default=1.0)

    def dependent(self, alpha: float = 0.05) -> tuple[IndicatorTest, ...]:
        """The comparisons that speak against MCAR."""
        return tuple(test for test in self.tests if test.adjusted <= alpha)

    def __str__(self) -> str:
        if not self.tests:
            return "Nothing that is missing can be compared with anything observed."
        first = self.tests[0]
        return _sentence(self.p_value, f"the values of {first.other!r} with and without {first.incomplete!r}")


def indicator_tests(
    data: TableLike,
    method: CountMethod = "g",
    *,
    variables: Mapping[str, Variable] | None = None,
) -> IndicatorTests:
    """Test whether cells are missing completely at random: does R_x depend on any other variable y?

    Under MCAR each indicator is independent of all values, so that the rows in which y is observed have the same
    distribution of y with x and without. That x depends on its own value can't be seen in any data. P-values are
    adjusted for the number of tests by the method of Holm (1979).

    States are compared by the likelihood-ratio test "g" or Pearson's "chi-square", numbers by Welch's t-test;
    `variables` are as for `Table.read`.

    >>> rows = {"smokes": ["no", "yes"] * 20, "weight": [61.0, None] * 20}
    >>> print(indicator_tests(rows))
    Not MCAR: the values of 'smokes' with and without 'weight' differ more than by chance (p = 9.58e-14).
    """
    if method not in _COUNT_TESTS:
        raise InvalidArgument(f"method= is 'g' or 'chi-square', not {method!r}.")
    table = Table.read(data, variables)
    found = list(_comparisons(table, table_cells(table), method))
    p_values = np.array([p_value for *_, p_value in found])
    order, adjusted = np.argsort(p_values), np.empty(len(found))
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(found), 0, -1))
    adjusted[order] = np.minimum(stepped, 1.0)
    tests = [IndicatorTest(*each, value) for each, value in zip(found, adjusted.tolist(), strict=True)]
    return IndicatorTests(tuple(sorted(tests, key=lambda test: (test.p_value, test.incomplete, test.other))))


def _comparisons(
    table: Table, missing: Mapping[str, Mask], method: CountMethod
) -> Iterator[tuple[str, str, float, float, float]]:
    """Incomplete variable, the other, statistic, degrees of freedom, p-value of all that can be compared."""
    partly = [name for name, mask in missing.items() if mask.any() and not mask.all()]
    marked: Table = indicators(table, partly)
    for other, variable in table.variables.items():
        rows = marked.take(~missing[other])
        against = [n for n in partly if n != other and len(np.unique(missing[n][~missing[other]])) == 2]
        if variable.is_continuous:
            for name in against:
                welch = _welch(rows.column(other), rows.row_weights, missing[name][~missing[other]])
                if welch is not None:
                    yield name, other, *welch
            continue
        test = _COUNT_TESTS[method](rows.select([other, *(INDICATOR + name for name in against)]))
        for name in against:
            result = test.test(INDICATOR + name, other)
            if result.degrees_of_freedom:
                yield name, other, result.statistic, float(result.degrees_of_freedom), result.p_value


def _welch(numbers: Floats, weights: Floats, mask: Mask) -> tuple[float, float, float] | None:
    """Welch's t of two sides, its degrees of freedom and its p-value; none where there is too little to compare."""
    from scipy.special import stdtr

    sides = [(numbers[side], weights[side]) for side in (mask, ~mask)]
    sizes = np.array([own.sum() for _, own in sides])
    if sizes.min() < 2:
        return None
    means = np.array([np.average(values, weights=own) for values, own in sides])
    squares = np.array([own @ (values - mean) ** 2 for (values, own), mean in zip(sides, means, strict=True)])
    spreads = squares / (sizes - 1) / sizes
    if not spreads.sum() > 0:
        return None
    statistic = float((means[0] - means[1]) / np.sqrt(spreads.sum()))
    degrees = float(spreads.sum() ** 2 / (spreads**2 / (sizes - 1)).sum())
    return statistic, degrees, float(2 * stdtr(degrees, -abs(statistic)))


def _sentence(p_value: float, compared: str) -> str:
    if p_value <= 0.05:
        return f"Not MCAR: {compared} differ more than by chance (p = {p_value:.3g})."
    return f"No sign against MCAR: {compared} differ no more than by chance (p = {p_value:.3g})."
