"""The likelihood-ratio test for discrete and continuous variables together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.data.table import TableLike
from plausible.learn.independence.count_tests import observed_table
from plausible.learn.independence.fisher_z import refuse_missing
from plausible.learn.independence.independence_test import Answers, IndependenceResult, IndependenceTest, Question

__all__ = ["ConditionalGaussianTest"]


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
    are left the test is not reliable. Where what is given determines x or y it has no degrees of freedom.

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
        self._weights = table.row_weights

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
        if not rows.size:
            return IndependenceResult.not_made()
        parts = ((x, y, *given), (x, *given), (y, *given), given)
        both, left, right, base = (self._fit(names, rows) for names in parts)
        if self._adds_nothing(x, left, base) or self._adds_nothing(y, right, base):
            return IndependenceResult.nothing_left()
        statistic = 2.0 * (both.log_likelihood - left.log_likelihood - right.log_likelihood + base.log_likelihood)
        degrees = both.num_parameters - left.num_parameters - right.num_parameters + base.num_parameters
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

    def _adds_nothing(self, name: str, fit: _Fit, base: _Fit) -> bool:
        """Whether a variable never varies in a joint state of the others, their numbers being known."""
        if name in self._codes:
            return fit.log_determinants.size == base.log_determinants.size
        return bool((fit.log_determinants - base.log_determinants < np.log(_NOTHING_LEFT)).all())

    def _fit(self, names: Sequence[str], rows: Ints) -> _Fit:
        cells, weights = self._cells(names, rows), self._weights[rows]
        numbers = [self._numbers[name][rows] for name in names if name in self._numbers]
        sizes = np.bincount(cells, weights=weights)
        sizes, num = np.maximum(sizes, np.finfo(float).tiny), len(numbers)
        log_determinants = np.zeros(sizes.size)
        if num:
            means = np.array([np.bincount(cells, weights=weights * column) / sizes for column in numbers])
            centred = [column - mean[cells] for column, mean in zip(numbers, means, strict=True)]
            covariances = np.empty((sizes.size, num, num))
            for a in range(num):
                for b in range(a, num):
                    product = np.bincount(cells, weights=weights * centred[a] * centred[b]) / sizes
                    covariances[:, a, b] = covariances[:, b, a] = product
            covariances += _RIDGE * np.eye(num)
            log_determinants = np.linalg.slogdet(covariances)[1]
        likelihood = float(sizes @ (np.log(sizes) - 0.5 * log_determinants))
        return _Fit(likelihood, int(sizes.size) * (1 + num + num * (num + 1) // 2), log_determinants)

    def _unseen(self, x: str, y: str, given: Sequence[str], rows: Ints) -> int:
        """How many joint states of x and y did not occur though each did in the same stratum: probabilities to fit."""
        strata = self._cells(given, rows)

        def seen(*names: str) -> Ints:
            cells = self._cells(names, rows)
            width = int(cells.max(initial=0)) + 1
            return np.bincount(np.unique(strata * width + cells) // width)

        return int((seen(x) * seen(y) - seen(x, y)).sum())


class _Fit(NamedTuple):
    """The largest log-likelihood of some variables, up to a term that depends on the number of rows alone.

    Besides: how many parameters it takes, and the logarithm of the determinant of each joint state's covariances.
    """

    log_likelihood: float
    num_parameters: int
    log_determinants: Floats
