"""The likelihood-ratio test for discrete and continuous variables together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.data.moments import FamilyMoments
from plausible.data.statistics import Request
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.learn.independence.count_tests import only_observed
from plausible.learn.independence.fisher_z import refuse_missing
from plausible.learn.independence.independence_test import (
    Answers,
    IndependenceResult,
    IndependenceTest,
    Question,
    single_tests,
)

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
        What `Table.read` takes, or statistics.

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

    __slots__ = ("_spreads", "_statistics")

    def __init__(self, data: DataLike) -> None:
        self._statistics = only_observed(read_statistics(data))
        refuse_missing(self._statistics, self._statistics.variables)
        numbers = self._statistics.continuous
        scatter = np.diag(self._statistics.moments(numbers[0]).scatter) if numbers else np.empty(0)
        spreads = np.sqrt(scatter / max(self._statistics.total, 1.0))
        self._spreads = dict(zip(numbers, np.where(spreads > 0, spreads, 1.0).tolist(), strict=True))

    @property
    def names(self) -> Sequence[str]:
        """The variables of the data."""
        return tuple(self._statistics.variables)

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        pairs = single_tests(questions)
        found = self._statistics.moments_of([Request(x, (*given, y)) for x, y, given in pairs])
        return Answers.of(self._one(*pair, moments) for pair, moments in zip(pairs, found, strict=True))

    def _one(self, x: str, y: str, given: tuple[str, ...], moments: FamilyMoments) -> IndependenceResult:
        from scipy.special import gammaincc

        rows = _Rows.of(moments, (*given, y, x), self._spreads)
        if not rows.weight.size:
            return IndependenceResult.not_made()
        parts = ((x, y, *given), (x, *given), (y, *given), given)
        both, left, right, base = (rows.fit(names) for names in parts)
        if rows.adds_nothing(x, left, base) or rows.adds_nothing(y, right, base):
            return IndependenceResult.nothing_left()
        statistic = 2.0 * (both.log_likelihood - left.log_likelihood - right.log_likelihood + base.log_likelihood)
        degrees = both.num_parameters - left.num_parameters - right.num_parameters + base.num_parameters
        if x in rows.states and y in rows.states:
            degrees += rows.unseen(x, y, given)
        if degrees <= 0:
            return IndependenceResult(max(statistic, 0.0), 1.0, 0.0)
        statistic = max(statistic, 0.0)
        return IndependenceResult(statistic, float(gammaincc(degrees / 2, statistic / 2)), float(degrees))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The joint states of a family with rows enough, and the moments of its numbers in units of their spreads."""

    states: dict[str, Ints]  # name -> its state in each joint state
    numbers: dict[str, int]  # name -> its place in the moments
    weight: Floats
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, moments: FamilyMoments, scope: Sequence[str], spreads: Mapping[str, float]) -> _Rows:
        """Joint states that have too few rows to fit a normal distribution are left out."""
        numbers = [name for name in spreads if name in scope]
        discrete = [name for name in scope if name not in spreads]
        enough = moments.weight > len(numbers) + 1 if numbers else moments.weight > 0
        units = np.array([spreads[name] for name in numbers])
        return cls(
            {name: moments.states[enough, place] for place, name in enumerate(discrete)},
            {name: place for place, name in enumerate(numbers)},
            moments.weight[enough],
            (moments.mean / units)[enough],
            (moments.scatter / units / units[:, None])[enough],
        )

    def fit(self, names: Sequence[str]) -> _Fit:
        """The best normal distributions of some of the variables, one for each joint state of those with states."""
        cells = self._cells(names)
        places = [self.numbers[name] for name in names if name in self.numbers]
        sizes, num = np.bincount(cells, self.weight), len(places)
        log_determinants = np.zeros(sizes.size)
        if num:
            sums = np.zeros((sizes.size, num))
            np.add.at(sums, cells, self.weight[:, None] * self.mean[:, places])
            apart = self.mean[:, places] - (sums / sizes[:, None])[cells]
            scatter = self.scatter[:, places][:, :, places] + self.weight[:, None, None] * _outer(apart)
            covariances = np.zeros((sizes.size, num, num))
            np.add.at(covariances, cells, scatter)
            covariances = covariances / sizes[:, None, None] + _RIDGE * np.eye(num)
            log_determinants = np.linalg.slogdet(covariances)[1]
        likelihood = float(sizes @ (np.log(sizes) - 0.5 * log_determinants))
        return _Fit(likelihood, int(sizes.size) * (1 + num + num * (num + 1) // 2), log_determinants)

    def adds_nothing(self, name: str, fit: _Fit, base: _Fit) -> bool:
        """Whether a variable never varies in a joint state of the others, their numbers being known."""
        if name in self.states:
            return fit.log_determinants.size == base.log_determinants.size
        return bool((fit.log_determinants - base.log_determinants < np.log(_NOTHING_LEFT)).all())

    def unseen(self, x: str, y: str, given: Sequence[str]) -> int:
        """How many joint states of x and y did not occur though each did in the same stratum: probabilities to fit."""
        strata = self._cells(given)

        def seen(*names: str) -> Ints:
            cells = self._cells(names)
            width = int(cells.max(initial=0)) + 1
            return np.bincount(np.unique(strata * width + cells) // width)

        return int((seen(x) * seen(y) - seen(x, y)).sum())

    def _cells(self, names: Sequence[str]) -> Ints:
        """The joint states of some of the variables, those that occur numbered."""
        cells = np.zeros(self.weight.size, dtype=np.int64)
        for name in names:
            if name in self.states:
                codes = self.states[name]
                cells = np.unique(cells * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        return cells.astype(np.int64)


def _outer(vectors: Floats) -> Floats:
    return np.asarray(vectors[:, :, None] * vectors[:, None, :])


class _Fit(NamedTuple):
    """The largest log-likelihood of some variables, up to a term that depends on the number of rows alone."""

    log_likelihood: float
    num_parameters: int
    log_determinants: Floats  # of the covariances in each joint state
