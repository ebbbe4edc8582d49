"""The likelihood-ratio test for discrete and continuous variables together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from plausible.data.table import TableLike
from plausible.learn.independence.count_tests import observed_table
from plausible.learn.independence.fisher_z import refuse_missing
from plausible.learn.independence.independence_test import Answers, IndependenceResult, IndependenceTest, Question

__all__ = ["ConditionalGaussianTest"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Added to variances of standardised columns, so that linear dependence gives no infinite likelihood.
_RIDGE = 1e-9
#: Those given determine a number if they leave less than this of its variance: ridges make up a part of it.
_NOTHING_LEFT = 1e-7


@final
class ConditionalGaussianTest(IndependenceTest):
    """A likelihood-ratio test with conditional Gaussian distributions.

    l(A) is the largest log-likelihood of the variables A with any distribution of the discrete ones and, for each joint
    state of them, a normal distribution of the continuous ones. The statistic

        2 (l(x, y, Z) - l(x, Z) - l(y, Z) + l(Z))

    has a chi-square distribution under independence. With discrete variables only it is G, with continuous ones only
    -N ln(1 - r²), and with one of x and y continuous the likelihood ratio of two linear regressions in each joint
    state; if both are discrete and something given is continuous it is approximate, since a mixture of normal
    distributions is none. Rows whose joint state has too few rows to fit a normal distribution are left out; if none
    are left, or what is given determines x or y, the test is not reliable.

    Parameters
    ----------
    data
        What `Table.read` takes.

    References
    ----------
    Andrews, Ramsey & Cooper (2018), Scoring Bayesian networks of mixed variables.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 300); height = 165 + 12 * (sex == "m") + rng.normal(0, 6, 300)
    >>> ConditionalGaussianTest({"sex": sex, "height": height}).test("sex", "height").is_independent()
    False
    """

    __slots__ = ("_codes", "_names", "_numbers", "_weights")

    def __init__(self, data: TableLike) -> None:
        table = observed_table(data)
        refuse_missing(table, table.variables)
        self._names = tuple(table.variables)
        self._codes = dict(zip(table.discrete, table.codes.astype(np.int64), strict=True))
        spreads = table.numbers.std(axis=1) if table.num_rows else np.ones(len(table.numbers))
        centres = table.numbers.mean(axis=1) if table.num_rows else np.zeros(len(table.numbers))
        standard = (table.numbers - centres[:, None]) / np.where(spreads > 0, spreads, 1.0)[:, None]
        self._numbers = dict(zip(table.continuous, standard, strict=True))
        self._weights = np.ones(table.num_rows) if table.weights is None else table.weights

    @property
    def names(self) -> Sequence[str]:
        """The variables of the data."""
        return self._names

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        return Answers.of(self._one(x, other, given) for x, given, others in questions for other in others)

    def _one(self, x: str, y: str, given: tuple[str, ...]) -> IndependenceResult:
        from scipy.special import gammaincc

        x, y, given = *sorted((x, y)), tuple(sorted(given))
        num_numbers = sum(name in self._numbers for name in (x, y, *given))
        cells = self._cells((x, y, *given), np.arange(self._weights.size))
        sizes = np.bincount(cells, weights=self._weights)
        rows = np.flatnonzero(sizes[cells] > num_numbers + 1) if num_numbers else np.arange(cells.size)
        if not rows.size or any(self._is_determined(name, given, rows) for name in (x, y)):
            return IndependenceResult.not_made()
        parts = [self._fit(names, rows) for names in ((x, y, *given), (x, *given), (y, *given), given)]
        statistic = 2.0 * float(parts[0][0] - parts[1][0] - parts[2][0] + parts[3][0])
        degrees = parts[0][1] - parts[1][1] - parts[2][1] + parts[3][1]
        if x in self._codes and y in self._codes:
            degrees += self._unseen(x, y, given, rows)
        if degrees <= 0:
            return IndependenceResult(max(statistic, 0.0), 1.0, 0.0)
        statistic = max(statistic, 0.0)
        return IndependenceResult(statistic, float(gammaincc(degrees / 2, statistic / 2)), float(degrees))

    def _cells(self, names: Sequence[str], rows: Ints) -> Ints:
        """The joint state of the discrete ones in each row, those that occur numbered."""
        cells = np.zeros(rows.size, dtype=np.int64)
        for name in names:
            if name in self._codes:
                codes = self._codes[name][rows]
                cells = cells * (int(codes.max(initial=0)) + 1) + codes
                cells = np.unique(cells, return_inverse=True)[1].astype(np.int64)
        return cells

    def _is_determined(self, name: str, given: Sequence[str], rows: Ints) -> bool:
        """Whether a variable varies, but not once others are given."""
        strata = self._cells(given, rows)
        if name in self._codes:
            cells = self._cells((name,), rows)
            pairs = np.unique(strata * (int(cells.max()) + 1) + cells)
            return bool(cells.any()) and pairs.size == int(strata.max()) + 1
        if np.ptp(self._numbers[name][rows]) == 0:
            return False
        numbers = [self._numbers[other][rows] for other in given if other in self._numbers]
        return all(
            _unexplained(self._numbers[name][rows][strata == cell], [column[strata == cell] for column in numbers])
            < _NOTHING_LEFT
            for cell in range(int(strata.max()) + 1)
        )

    def _fit(self, names: Sequence[str], rows: Ints) -> tuple[float, int]:
        """The largest log-likelihood, up to a term that depends on the number of rows alone, and its parameters."""
        cells, weights = self._cells(names, rows), self._weights[rows]
        numbers = [self._numbers[name][rows] for name in names if name in self._numbers]
        sizes = np.bincount(cells, weights=weights)
        sizes, num = np.maximum(sizes, np.finfo(float).tiny), len(numbers)
        likelihood = float(sizes @ np.log(sizes))
        if num and rows.size:
            means = np.array([np.bincount(cells, weights=weights * column) / sizes for column in numbers])
            centred = [column - mean[cells] for column, mean in zip(numbers, means, strict=True)]
            covariances = np.empty((sizes.size, num, num))
            for a in range(num):
                for b in range(a, num):
                    product = np.bincount(cells, weights=weights * centred[a] * centred[b]) / sizes
                    covariances[:, a, b] = covariances[:, b, a] = product
            covariances += _RIDGE * np.eye(num)
            likelihood -= 0.5 * float(sizes @ np.linalg.slogdet(covariances)[1])
        return likelihood, int(sizes.size) * (1 + num + num * (num + 1) // 2)

    def _unseen(self, x: str, y: str, given: Sequence[str], rows: Ints) -> int:
        """How many joint states of x and y did not occur though each did in the same stratum: probabilities to fit."""
        strata = self._cells(given, rows)
        if not rows.size:
            return 0

        def seen(*names: str) -> Ints:
            cells = self._cells(names, rows)
            width = int(cells.max(initial=0)) + 1
            return np.bincount(np.unique(strata * width + cells) // width)

        return int((seen(x) * seen(y) - seen(x, y)).sum())


def _unexplained(column: Floats, others: Sequence[Floats]) -> float:
    """The variance that a linear regression on others leaves of a column."""
    design = np.column_stack([np.ones(column.size), *others])
    fitted = design @ np.linalg.lstsq(design, column, rcond=None)[0]
    return float(np.mean((column - fitted) ** 2))
