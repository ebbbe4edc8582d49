"""Tests of whether cells are missing completely at random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.learn.independence.count_tests import ChiSquareTest, GTest
from plausible.learn.missingness.cells import Mask, table_cells
from plausible.learn.missingness.gaussian_em import fit_gaussian, number_patterns
from plausible.learn.missingness.indicators import INDICATOR, indicators
from plausible.variables import Variable

CountMethod: TypeAlias = Literal["g", "chi-square"]
_COUNT_TESTS = {"g": GTest, "chi-square": ChiSquareTest}


@record
class LittleTest:
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
    freedom. It sees differences of means only, not of spread.

    Parameters
    ----------
    data
        A table; columns with states are not looked at.
    variables
        As for `Table.read`.

    References
    ----------
    Little (1988), A test of missing completely at random for multivariate data with missing values.

    Examples
    --------
    >>> print(little_test({"x": [1.0, 2.0, 3.0, 4.0], "y": [0.5, None, 2.0, None]}))
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
class IndicatorTests:
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
    distribution of y with x and without. That x depends on its own value can't be seen in any data.

    Parameters
    ----------
    data
        A table with missing cells.
    method
        For states, the likelihood-ratio test "g" or Pearson's "chi-square". Numbers are compared by Welch's t-test.
    variables
        As for `Table.read`.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> rows = {"smokes": ["no", "yes"] * 20, "weight": [61.0, None] * 20}
    >>> print(indicator_tests(rows))
    Not MCAR: the values of 'smokes' with and without 'weight' differ more than by chance (p = 9.58e-14).
    """
    if method not in _COUNT_TESTS:
        raise InvalidArgument(f"method= is 'g' or 'chi-square', not {method!r}.")
    table = Table.read(data, variables)
    missing = table_cells(table)
    found = list(_comparisons(table, missing, method))
    adjusted = _holm(np.array([p_value for *_, p_value in found]))
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
            numbers = rows.numbers[rows.continuous.index(other)]
            weights = rows.row_weights
            yield from _welch(numbers, weights, other, {name: missing[name][~missing[other]] for name in against})
            continue
        test = _COUNT_TESTS[method](rows.select([other, *(INDICATOR + name for name in against)]))
        for name in against:
            result = test.test(INDICATOR + name, other)
            if result.degrees_of_freedom:
                yield name, other, result.statistic, float(result.degrees_of_freedom), result.p_value


def _welch(
    numbers: Floats, weights: Floats, other: str, masks: Mapping[str, Mask]
) -> Iterator[tuple[str, str, float, float, float]]:
    from scipy.special import stdtr

    for name, mask in masks.items():
        sizes = [float(weights[side].sum()) for side in (mask, ~mask)]
        if min(sizes) < 2:
            continue
        means = [float(np.average(numbers[side], weights=weights[side])) for side in (mask, ~mask)]
        squares = [
            float(weights[side] @ (numbers[side] - mean) ** 2) for side, mean in zip((mask, ~mask), means, strict=True)
        ]
        spreads = [square / (size - 1) / size for square, size in zip(squares, sizes, strict=True)]
        if not sum(spreads) > 0:
            continue
        statistic = (means[0] - means[1]) / np.sqrt(sum(spreads))
        parts = [spread**2 / (size - 1) for spread, size in zip(spreads, sizes, strict=True)]
        degrees = float(sum(spreads) ** 2 / sum(parts))
        yield name, other, float(statistic), degrees, float(2 * stdtr(degrees, -abs(statistic)))


def _holm(p_values: Floats) -> Floats:
    """The p-values of Holm's method, for all tests."""
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _sentence(p_value: float, compared: str) -> str:
    if p_value <= 0.05:
        return f"Not MCAR: {compared} differ more than by chance (p = {p_value:.3g})."
    return f"No sign against MCAR: {compared} differ no more than by chance (p = {p_value:.3g})."
