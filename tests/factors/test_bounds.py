"""Convergence bounds: worked numbers, and every bound against exact binomial tails."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product as cartesian

import numpy as np
import pytest
from scipy import stats

from plausible.errors import InvalidArgument
from plausible.factors import (
    BernoulliTrials,
    chebyshev_bound,
    chernoff_bound,
    confidence_interval,
    estimator_diagnostics,
    hoeffding_bound,
    hoeffding_epsilon,
    k_sigma_bound,
    normal_approximation,
    repetition_error,
    repetitions_for_error,
    samples_for_absolute_error,
    samples_for_relative_error,
)
from refusals import refuses

SIZES = (1, 5, 20, 100)
PROBABILITIES = (0.01, 0.1, 0.3, 0.5, 0.8)
ERRORS = (0.05, 0.1, 0.2, 0.4)
GRID = list(cartesian(SIZES, PROBABILITIES, ERRORS))
SLACK = 1e-12


def tail(M, p, belongs) -> float:
    """P(T in a set) of the frequency T of M trials: binomial terms added one by one, frequencies exact."""
    exact = Fraction(str(p))
    terms = (math.comb(M, k) * p**k * (1 - p) ** (M - k) for k in range(M + 1) if belongs(Fraction(k, M), exact))
    return math.fsum(terms)


# --- worked numbers ---


def test_bounds_for_a_hundred_fair_tosses():
    """M = 100, p = ½: the exact tail and each bound on it."""
    assert tail(100, 0.5, lambda t, p: t > p + Fraction(1, 10)) == pytest.approx(0.017600, abs=1e-6)
    assert hoeffding_bound(0.1, 100) == pytest.approx(0.135335, abs=1e-6)
    assert chernoff_bound(0.5, 0.2, 100) == pytest.approx(0.513417, abs=1e-6)
    assert chernoff_bound(0.5, 0.2, 100, side="lower") == pytest.approx(0.367879, abs=1e-6)
    assert chebyshev_bound(0.5, 0.1, 100) == pytest.approx(0.25)


def test_sample_sizes():
    """Absolute and relative planners."""
    assert samples_for_absolute_error(0.01, 0.05) == 18445
    assert samples_for_absolute_error(0.05, 0.05) == 738
    assert samples_for_absolute_error(0.1, 0.01) == 265
    assert samples_for_relative_error(0.1, 0.05, 0.5) == 2214
    assert samples_for_relative_error(0.1, 0.05, 0.01) == 110667


# --- bounds hold ---


@pytest.mark.parametrize(("M", "p", "epsilon"), GRID)
def test_bounds_are_never_below_the_exact_tail(M, p, epsilon):
    """Hoeffding on both sides and either, Chernoff on both sides, Chebyshev: all above the binomial tails."""
    e = Fraction(str(epsilon))
    above = tail(M, p, lambda t, p: t > p + e)
    below = tail(M, p, lambda t, p: t < p - e)
    assert above <= hoeffding_bound(epsilon, M) + SLACK
    assert below <= hoeffding_bound(epsilon, M) + SLACK
    assert above + below <= hoeffding_bound(epsilon, M, sides=2) + SLACK
    assert tail(M, p, lambda t, p: abs(t - p) >= e) <= chebyshev_bound(p, epsilon, M) + SLACK
    assert tail(M, p, lambda t, p: t > p * (1 + e)) <= chernoff_bound(p, epsilon, M) + SLACK
    assert tail(M, p, lambda t, p: t < p * (1 - e)) <= chernoff_bound(p, epsilon, M, side="lower") + SLACK


@pytest.mark.parametrize("k", [0.5, 1.0, 2.0, 3.0, 5.0, 31.0])
@pytest.mark.parametrize("M", SIZES)
@pytest.mark.parametrize("p", [0.001, *PROBABILITIES, 0.999])
def test_the_k_sigma_bound_holds_for_every_k(k, M, p):
    """Inside kσ ≤ min(p, 1-p) by the formula, outside because it is one."""
    sigma = math.sqrt(p * (1 - p) / M)
    exact = math.fsum(math.comb(M, j) * p**j * (1 - p) ** (M - j) for j in range(M + 1) if abs(j / M - p) >= k * sigma)
    assert exact <= k_sigma_bound(k, p, M) + SLACK
    if k * sigma <= min(p, 1 - p):
        assert k_sigma_bound(k, p, M) == pytest.approx(min(1.0, 2 * math.exp(-(k**2) / 6)))
    else:
        assert k_sigma_bound(k, p, M) == 1.0


def test_formulas_outside_their_range_would_be_wrong_and_are_not_used():
    """Chernoff above: true .01, formula .00024; k sigma: true .001, formula 5.5e-70; zero variance: always 0σ off."""
    assert math.exp(-1 * 0.01 * 50**2 / 3) == pytest.approx(0.00024, abs=1e-5)
    assert tail(1, 0.01, lambda t, p: t > p * 51) == pytest.approx(0.01)
    refuses(InvalidArgument, "relative errors of at most one", chernoff_bound, 0.01, 50, 1)
    assert chernoff_bound(0.01, 1.0, 1) < 1
    assert 2 * math.exp(-(31**2) / 6) < 1e-69
    assert k_sigma_bound(31, 0.001, 1) == 1.0
    assert k_sigma_bound(3, 0.0, 10) == k_sigma_bound(3, 1.0, 10) == 1.0


@pytest.mark.parametrize("epsilon", [0.013, 0.05, 0.1, 0.37])
@pytest.mark.parametrize("delta", [0.3, 0.05, 0.001])
def test_planned_samples_are_the_least_that_keep_the_promise(epsilon, delta):
    """The bound at M is within δ, at M - 1 it is not; ε and M are inverse to each other."""
    for sides in (1, 2):
        M = samples_for_absolute_error(epsilon, delta, sides)
        assert hoeffding_bound(epsilon, M, sides) <= delta
        assert M == 1 or hoeffding_bound(epsilon, M - 1, sides) > delta
        assert hoeffding_epsilon(M, delta, sides) <= epsilon
    for p in (0.5, 0.01):
        M = samples_for_relative_error(epsilon, delta, p)
        assert 2 * math.exp(-M * p * epsilon**2 / 3) <= delta * (1 + 1e-12)
        assert 2 * math.exp(-(M - 1) * p * epsilon**2 / 3) > delta


def test_repetition_drives_the_error_of_a_one_sided_algorithm_down():
    """k runs leave at most 2^-k; the planner returns the least k."""
    assert [repetition_error(k) for k in (1, 2, 10)] == [0.5, 0.25, 2**-10]
    for acceptance in (0.5, 0.9, 0.01, 1.0):
        for delta in (0.5, 0.25, 0.1, 1e-6, 0.01**3):
            k = repetitions_for_error(delta, acceptance)
            assert (1 - acceptance) ** k <= delta
            assert k == 1 or (1 - acceptance) ** (k - 1) > delta


# --- moments, normal approximation, estimators ---


@pytest.mark.parametrize(("M", "p"), list(cartesian(SIZES, (0.0, 0.3, 1.0))))
def test_moments_of_bernoulli_trials_equal_their_binomial_sums(M, p):
    """E and Var of one trial, of the sum and of the frequency."""
    trials = BernoulliTrials(p, M)
    weights = [math.comb(M, k) * p**k * (1 - p) ** (M - k) for k in range(M + 1)]
    mean = math.fsum(w * k for k, w in enumerate(weights))
    variance = math.fsum(w * (k - mean) ** 2 for k, w in enumerate(weights))
    assert (trials.sum_mean, trials.sum_variance) == (pytest.approx(mean), pytest.approx(variance))
    assert trials.frequency_mean == pytest.approx(mean / M)
    assert trials.frequency_variance == pytest.approx(variance / M**2)
    assert trials.variance == pytest.approx(p * (1 - p))


def test_the_normal_approximation_meets_the_binomial():
    """With a continuity correction P(S ≤ 60) is off by less than 1e-3 at M = 100; the error falls as M grows."""
    errors = []
    for M in (25, 100, 400):
        k = M // 2 + math.isqrt(M)
        approximation = normal_approximation(0.5, 0.25, M)
        errors.append(abs(approximation.sum.cdf(k + 0.5) - stats.binom(M, 0.5).cdf(k)))
        assert approximation.average.cdf((k + 0.5) / M) == pytest.approx(approximation.sum.cdf(k + 0.5))
    assert errors[1] < 1e-3
    assert errors == sorted(errors, reverse=True)


def test_confidence_intervals_are_symmetric_and_cover():
    """The normal distribution puts the stated mass between the ends; more confidence is wider."""
    interval = confidence_interval(0.4, 0.24, 150, confidence=0.9)
    normal = stats.norm(0.4, math.sqrt(0.24 / 150))
    assert normal.cdf(interval.high) - normal.cdf(interval.low) == pytest.approx(0.9)
    assert interval.high - 0.4 == pytest.approx(0.4 - interval.low)
    assert confidence_interval(0.4, 0.24, 150, confidence=0.99).low < interval.low


def test_estimators_are_judged_by_bias_and_spread():
    """The frequency is unbiased; the 1/M variance is not; error² = bias² + variance."""
    rng = np.random.default_rng(7)
    samples = rng.normal(size=(4000, 5))
    fair = estimator_diagnostics(samples.mean(axis=1), target=0.0)
    assert fair.is_unbiased()
    assert fair.variance == pytest.approx(1 / 5, rel=0.1)
    biased = estimator_diagnostics(samples.var(axis=1), target=1.0)
    assert not biased.is_unbiased()
    assert biased.bias == pytest.approx(-1 / 5, abs=0.05)
    for found, values, target in ((fair, samples.mean(axis=1), 0.0), (biased, samples.var(axis=1), 1.0)):
        assert found.mean_squared_error == pytest.approx(float(np.mean((values - target) ** 2)))
        assert found.bias_standard_error == pytest.approx(float(np.std(values)) / math.sqrt(4000))
    exact = estimator_diagnostics([2.0, 2.0], target=2.0)
    assert (exact.bias, exact.variance, exact.is_unbiased()) == (0.0, 0.0, True)


# --- refusals ---


@pytest.mark.parametrize(
    "call",
    [
        lambda: BernoulliTrials(1.5, 10),
        lambda: BernoulliTrials(0.5, 0),
        lambda: BernoulliTrials(0.5, 2.5),
        lambda: hoeffding_bound(0.0, 10),
        lambda: hoeffding_bound(math.nan, 10),
        lambda: hoeffding_bound(0.1, 10, sides=3),
        lambda: chernoff_bound(0.5, 0.1, 10, side="both"),
        lambda: chernoff_bound(0.5, -0.1, 10),
        lambda: samples_for_absolute_error(0.1, 0.0),
        lambda: samples_for_relative_error(1.5, 0.1, 0.5),
        lambda: samples_for_relative_error(0.5, 0.1, 0.0),
        lambda: hoeffding_epsilon(10, 1.0),
        lambda: normal_approximation(0.0, 0.0, 10),
        lambda: normal_approximation(0.0, math.inf, 10),
        lambda: confidence_interval(0.5, 0.25, 10, confidence=1.0),
        lambda: estimator_diagnostics([], 0.0),
        lambda: repetitions_for_error(0.1, acceptance=0.0),
        lambda: repetitions_for_error(1.0),
        lambda: repetitions_for_error(-0.1),
        lambda: samples_for_relative_error(0.5, math.nan, 0.5),
        lambda: samples_for_relative_error(0.0, 0.1, 0.5),
        lambda: samples_for_absolute_error(0.0, 0.1),
        lambda: k_sigma_bound(0.0, 0.5, 10),
    ],
)
def test_arguments_out_of_range_are_refused(call):
    """A bound for nonsense would be nonsense."""
    with pytest.raises(InvalidArgument):
        call()


@pytest.mark.parametrize("count", [math.nan, math.inf, -math.inf, 10**400, 0, 1.5])
def test_counts_are_positive_whole_numbers(count):
    """nan, inf and what no float holds are none."""
    questions = (
        lambda m: hoeffding_bound(0.1, m),
        lambda m: hoeffding_epsilon(m, 0.1),
        lambda m: normal_approximation(0.0, 1.0, m),
        lambda m: BernoulliTrials(0.5, m),
        repetition_error,
    )
    for question in questions:
        refuses(InvalidArgument, "positive whole number", question, count)


def test_sample_sizes_may_be_larger_than_floats():
    """ε = 1e-200 takes some 1.84e400 samples: 400 digits and no overflow; large ε don't overflow either."""
    size = samples_for_absolute_error(1e-200, 0.05)
    assert abs(size - Fraction(math.log(40)) / (2 * Fraction(1e-200) ** 2)) <= Fraction(size, 10**14)
    assert len(str(samples_for_relative_error(1e-200, 0.05, 1e-10))) == 412
    assert samples_for_absolute_error(1e200, 0.05) == 1
    assert hoeffding_bound(1e200, 1) == chernoff_bound(0.5, 1e200, 10, side="lower") == 0.0


def test_rare_acceptance_takes_many_runs():
    """(1 - a)^k ≤ δ at k = ln δ / ln(1 - a), also where 1 - a is one in floats."""
    assert repetitions_for_error(0.1, 1e-17) == pytest.approx(math.log(10) / 1e-17)
    assert repetition_error(10**17, 1e-17) == pytest.approx(math.exp(-1))
    for exponent in range(1, 40):
        assert repetitions_for_error(2.0**-exponent) == exponent
    assert repetitions_for_error(0.1, 1.0) == 1


def test_an_average_is_finite():
    """A mean of nan has no approximation."""
    refuses(InvalidArgument, "mean of a term", normal_approximation, math.nan, 1.0, 10)
