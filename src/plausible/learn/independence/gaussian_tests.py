"""Tests of numbers: partial correlations, conditional Gaussians; the test that a name or kinds of variables mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, final

import numpy as np

from plausible.base import DETERMINED, Flags, Floats, Ints
from plausible.data.moments import FamilyMoments
from plausible.data.statistics import Request, Statistics
from plausible.data.stream_statistics import for_learning, read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.independence.count_tests import ChiSquareTest, GTest, PermutationTest, only_observed
from plausible.learn.independence.independence_test import (
    Answers,
    IndependenceResult,
    IndependenceTest,
    Question,
    single_tests,
)


@final
class FisherZ(IndependenceTest):
    """Fisher's test of partial correlations: z = sqrt(N - |Z| - 3) artanh(r) is standard normal if r is zero.

    With normal variables no partial correlation means independence. r of x and y given Z comes from the correlation
    matrix, the part that Z explains taken off; all tests that are asked for together and have as many given are
    computed in one go. Where those given determine x or y no correlation is left, nor a degree of freedom. Fisher
    (1924), The distribution of the partial correlation coefficient.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=200); b = a + rng.normal(size=200); c = b + rng.normal(size=200)
    >>> test = FisherZ({"a": a, "b": b, "c": c})
    >>> test.test("a", "c").is_independent(), test.test("a", "c", given="b").is_independent()
    (False, True)
    """

    def __init__(self, data: DataLike) -> None:
        statistics = only_observed(read_statistics(data))
        self.names = tuple(statistics.continuous)
        refuse_missing(statistics, self.names)
        self._places = {name: place for place, name in enumerate(self.names)}
        self._total = statistics.total
        if self.names:
            scatter = statistics.moments(self.names[0]).scatter
            deviations = np.sqrt(np.diag(scatter))  # a constant column is correlated with nothing
            deviations = np.where(deviations > 0, deviations, 1.0)
            self._correlations: Floats = scatter / deviations / deviations[:, None]

    def partial_correlation(self, x: str, y: str, given: Iterable[str] = ()) -> float:
        """The correlation of what a linear regression on those given leaves of x and y."""
        places = self._places
        line = [places[x], places[y], *(places[name] for name in sorted(given))]
        return float(self._partial(np.array([line]))[0][0])

    def ask(self, questions: Sequence[Question]) -> Answers:
        from scipy.special import erfc

        lines = [
            [self._places[name] for name in (x, other, *given)] for x, given, others in questions for other in others
        ]
        sizes = np.array([len(line) for line in lines], dtype=np.int64)
        partial, is_left = np.zeros(len(lines)), np.zeros(len(lines), dtype=np.bool_)
        for size in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == size)
            partial[chosen], is_left[chosen] = self._partial(np.array([lines[place] for place in chosen.tolist()]))
        degrees: Floats = self._total - sizes.astype(np.float64) - 1.0  # N - |Z| - 3
        reliable = degrees > 0
        degrees[reliable & ~is_left] = 0.0
        bounded = np.clip(partial, -1 + 1e-15, 1 - 1e-15)
        statistics = np.where(reliable, np.sqrt(np.maximum(degrees, 0)) * np.abs(np.arctanh(bounded)), np.nan)
        return Answers(statistics, erfc(statistics / np.sqrt(2.0)), degrees, reliable)

    def _partial(self, lines: Ints) -> tuple[Floats, Flags]:
        """r for each line (x, y, given...), and whether those given leave something of x and y."""
        pair, given = lines[:, :2], lines[:, 2:]
        left = self._correlations[pair[:, :, None], pair[:, None, :]]
        if given.shape[1]:
            across = self._correlations[given[:, :, None], pair[:, None, :]]
            among = self._correlations[given[:, :, None], given[:, None, :]]
            left = left - across.swapaxes(1, 2) @ np.linalg.pinv(among, hermitian=True) @ across
        variances = np.maximum(left[:, 0, 0], 0) * np.maximum(left[:, 1, 1], 0)
        is_left = (left[:, [0, 1], [0, 1]] > DETERMINED).all(axis=1)
        partial: Floats = np.where(is_left, left[:, 0, 1], 0.0) / np.sqrt(np.where(is_left, variances, 1.0))
        return partial, np.asarray(is_left)


def refuse_missing(statistics: Statistics, names: Iterable[str]) -> None:
    """Tests on numbers need them all."""
    missing = statistics.missing
    for name in names:
        if name in missing:
            raise InvalidArgument(
                f"{name!r} is missing in {missing[name]} of {statistics.num_rows:g} rows; tests need complete columns. "
                "Leave these rows out."
            )


_RIDGE = 1e-9  # Added to variances of standardised columns, so that linear dependence gives no infinite likelihood
#: Those given determine a number if they leave less than this of its variance: ridges make up a part of it.
_NOTHING_LEFT = 1e-7


@final
class ConditionalGaussianTest(IndependenceTest):
    """A likelihood-ratio test with conditional Gaussian distributions.

    l(A) is the largest log-likelihood of the variables A with any distribution of the discrete ones and, for each joint
    state of them, a normal distribution of the continuous ones. The statistic
    2 (l(x, y, Z) - l(x, Z) - l(y, Z) + l(Z))
    has a chi-square distribution under independence and many rows. With continuous variables only it is
    -N ln(1 - r²), and with one of x and y continuous the likelihood ratio of two linear regressions in each joint
    state. For these the mean and variance with normal variables are known for any number of rows (Wilks 1932, Certain
    generalizations in the analysis of variance), and the p-value is that of the gamma distribution which has them. With
    discrete variables only the test is `GTest`; if x and y are discrete and something given is continuous it is
    approximate, since a mixture of normal distributions is none. Rows whose joint state has too few rows to fit a
    normal distribution are left out; if none are left the test is not reliable. Where what is given determines x or y
    it has no degrees of freedom.

    Andrews, Ramsey & Cooper (2018), Scoring Bayesian networks of mixed variables.

    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 300); height = 165 + 12 * (sex == "m") + rng.normal(0, 6, 300)
    >>> ConditionalGaussianTest({"sex": sex, "height": height}).test("sex", "height").is_independent()
    False
    """

    def __init__(self, data: DataLike) -> None:
        self._statistics = only_observed(read_statistics(data))
        self.names = tuple(self._statistics.variables)
        refuse_missing(self._statistics, self.names)
        self._of_states = GTest(self._statistics)
        numbers = self._statistics.continuous
        scatter = np.diag(self._statistics.moments(numbers[0]).scatter) if numbers else np.empty(0)
        spreads = np.sqrt(scatter / max(self._statistics.total, 1.0))
        self._spreads = dict(zip(numbers, np.where(spreads > 0, spreads, 1.0).tolist(), strict=True))

    def ask(self, questions: Sequence[Question]) -> Answers:
        pairs = single_tests(questions)
        has_number = np.array([any(name in self._spreads for name in (x, y, *given)) for x, y, given in pairs], bool)
        of_states, mixed = (np.flatnonzero(chosen).tolist() for chosen in (~has_number, has_number))
        counted = self._of_states.ask(
            [Question(x, given, (y,)) for x, y, given in (pairs[place] for place in of_states)]
        )
        found = self._statistics.moments_of(
            [Request(x, (*given, y)) for x, y, given in (pairs[place] for place in mixed)]
        )
        fitted = Answers.of(self._one(*pairs[place], moments) for place, moments in zip(mixed, found, strict=True))
        order = np.argsort([*of_states, *mixed])
        return Answers(*(np.concatenate(parts)[order] for parts in zip(counted, fitted, strict=True)))

    def _one(self, x: str, y: str, given: tuple[str, ...], moments: FamilyMoments) -> IndependenceResult:
        from scipy.special import gammaincc

        rows = _Rows.of(moments, (*given, y, x), self._spreads)
        if not rows.weight.size:
            return IndependenceResult(math.nan, math.nan, 0.0, False)
        parts = ((x, y, *given), (x, *given), (y, *given), given)
        both, left, right, base = (rows.fit(names) for names in parts)
        if rows.adds_nothing(x, left, base) or rows.adds_nothing(y, right, base):
            return IndependenceResult(0.0, 1.0, 0.0)
        statistic = 2.0 * (both.log_likelihood - left.log_likelihood - right.log_likelihood + base.log_likelihood)
        statistic = max(statistic, 0.0)
        degrees = both.num_parameters - left.num_parameters - right.num_parameters + base.num_parameters
        is_approximate = x in rows.states and y in rows.states
        if is_approximate:
            degrees += rows.unseen(x, y, given)
        if degrees <= 0:
            return IndependenceResult(statistic, 1.0, 0.0)
        mean, variance = both.moments - left.moments - right.moments + base.moments
        if is_approximate:
            mean, variance = float(degrees), 2.0 * degrees
        p_value = float(gammaincc(mean**2 / variance, statistic * mean / variance))
        return IndependenceResult(statistic, p_value, float(degrees))


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
            spread = apart[:, :, None] * apart[:, None, :]
            scatter = self.scatter[:, places][:, :, places] + self.weight[:, None, None] * spread
            covariances = np.zeros((sizes.size, num, num))
            np.add.at(covariances, cells, scatter)
            covariances = covariances / sizes[:, None, None] + _RIDGE * np.eye(num)
            log_determinants = np.linalg.slogdet(covariances)[1]
        likelihood = float(sizes @ (np.log(sizes) - 0.5 * log_determinants))
        num_parameters = int(sizes.size) * (1 + num + num * (num + 1) // 2)
        return _Fit(likelihood, num_parameters, log_determinants, _moments_of_fit(sizes, num))

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


class _Fit(NamedTuple):
    """The largest log-likelihood of some variables, up to a term that depends on the number of rows alone."""

    log_likelihood: float
    num_parameters: int
    log_determinants: Floats  # of the covariances in each joint state
    moments: Floats  # how far twice the likelihood is above that of the true covariances: mean and variance


def _moments_of_fit(sizes: Floats | Ints, num: int) -> Floats:
    """Of -Σ n ln |S| over joint states with n rows, S being the covariance of as many standard normal numbers as told.

    ln |S| is a sum of ln(χ² / n) with n - 1, n - 2, ... degrees of freedom, independent of each other.
    """
    from scipy.special import digamma, polygamma

    halves = (sizes[:, None] - np.arange(1, num + 1)) / 2
    mean = -sizes @ (digamma(halves) + np.log(2.0 / sizes[:, None])).sum(axis=1)
    return np.array([mean, sizes**2 @ polygamma(1, halves).sum(axis=1)])


TestName: TypeAlias = Literal["auto", "g", "chi-square", "permutation", "fisher-z", "conditional-gaussian"]

_TESTS: dict[str, Callable[[Statistics], IndependenceTest]] = {
    "g": GTest,
    "chi-square": ChiSquareTest,
    "permutation": PermutationTest,
    "fisher-z": FisherZ,
    "conditional-gaussian": ConditionalGaussianTest,
}
#: What other libraries call them.
_ELSEWHERE = {"chi2": "chi-square", "chi_square": "chi-square", "x2": "chi-square", "mi": "g", "pearsonr": "fisher-z"}


def read_test(
    source: DataLike | IndependenceTest, name: TestName = "auto", named: Iterable[str] = ()
) -> IndependenceTest:
    """A test of data, without columns that are hardly variables, unless they are named."""
    if isinstance(source, IndependenceTest):
        return source
    statistics = read_statistics(for_learning(source, named))
    if name == "auto":
        name = "g" if not statistics.continuous else "conditional-gaussian" if statistics.discrete else "fisher-z"
    if name not in _TESTS:
        raise InvalidArgument(f"There is no test {name!r}.{suggestion(_ELSEWHERE.get(name, name), ['auto', *_TESTS])}")
    for column, num_missing in statistics.missing.items():
        raise InvalidArgument(
            f"{column!r} is missing in {num_missing} of {statistics.num_rows:g} rows; tests need complete columns. "
            "Leave these rows out, as frame.dropna() does, fill them in by pb.learn.impute, or search by a score with "
            "EM, without hidden causes: pb.learn.structural_em."
        )
    test = _TESTS[name](statistics)
    left = [variable for variable in statistics.variables if variable not in test.names]
    if left:
        raise InvalidArgument(
            f"The test {name!r} can't be used for {left[0]!r}, which is of the other kind. Use "
            "'conditional-gaussian', or discretise it."
        )
    return test
