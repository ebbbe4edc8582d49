"""How far a frequency strays from a probability: moments, the normal approximation, tail bounds, sample sizes.

T is the frequency of successes in M independent trials of probability p, and σ² = p(1-p)/M its variance. A bound is a
number that the true probability never exceeds; one that would exceed one is returned as one.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class BernoulliTrials:
    """M independent trials that each succeed with probability p: moments of one, of their sum and of their frequency.

    >>> trials = BernoulliTrials(0.5, 100)
    >>> trials.sum_mean, trials.sum_variance, trials.frequency_variance
    (50.0, 25.0, 0.0025)
    """

    probability: float
    num_trials: int

    def __post_init__(self) -> None:
        _check_probability(self.probability)
        _check_count(self.num_trials)

    @property
    def variance(self) -> float:
        """p(1-p), the variance of one trial."""
        return self.probability * (1 - self.probability)

    @property
    def sum_mean(self) -> float:
        """Mp."""
        return self.num_trials * self.probability

    @property
    def sum_variance(self) -> float:
        """Mp(1-p)."""
        return self.num_trials * self.variance

    @property
    def frequency_mean(self) -> float:
        """p: the frequency is an unbiased estimator of the probability."""
        return self.probability

    @property
    def frequency_variance(self) -> float:
        """p(1-p)/M."""
        return self.variance / self.num_trials


@dataclass(frozen=True, slots=True)
class NormalApproximation:
    """What the central limit theorem says of the sum and the average of M independent terms."""

    sum: NormalDist
    average: NormalDist


def normal_approximation(mean: float, variance: float, num_terms: int) -> NormalApproximation:
    """The sum of M independent terms is close to N(Mμ, Mσ²), their average to N(μ, σ²/M); this needs 0 < σ² < ∞.

    >>> round(1 - normal_approximation(0.5, 0.25, 100).average.cdf(0.6), 4)
    0.0228
    """
    _check_count(num_terms)
    if not math.isfinite(mean):
        raise InvalidArgument(f"The mean of a term is a finite number, not {mean}.")
    if not 0 < variance < math.inf:
        raise InvalidArgument(f"The central limit theorem needs a positive, finite variance, not {variance}.")
    deviation = math.sqrt(variance)
    return NormalApproximation(
        sum=NormalDist(num_terms * mean, math.sqrt(num_terms) * deviation),
        average=NormalDist(mean, deviation / math.sqrt(num_terms)),
    )


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """The interval `low` to `high`, which covers the target in a share `confidence` of repetitions."""

    low: float
    high: float
    confidence: float


def confidence_interval(
    average: float, variance: float, num_terms: int, confidence: float = 0.95
) -> ConfidenceInterval:
    """average ± z σ/√M by the normal approximation; for a frequency T the variance is T(1-T).

    >>> interval = confidence_interval(0.5, 0.25, 100)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.402, 0.598)
    """
    if not 0 < confidence < 1:
        raise InvalidArgument(f"The confidence is between 0 and 1, not {confidence}.")
    approximation = normal_approximation(average, variance, num_terms).average
    low = approximation.inv_cdf((1 - confidence) / 2)
    return ConfidenceInterval(low, 2 * average - low, confidence)


@dataclass(frozen=True, slots=True)
class EstimatorDiagnostics:
    """How estimates of one target scatter around it."""

    mean: float  # The average estimate
    bias: float  # The average minus the target
    variance: float  # The mean squared distance of the estimates from their average
    mean_squared_error: float  # The mean squared distance from the target: bias² + variance
    #: The deviation of the bias that chance alone explains: sqrt(variance / number of estimates).
    bias_standard_error: float

    def is_unbiased(self, num_deviations: float = 3.0) -> bool:
        """Whether chance explains the bias: it is within so many standard errors of zero."""
        return abs(self.bias) <= num_deviations * self.bias_standard_error + 1e-12


def estimator_diagnostics(estimates: npt.ArrayLike, target: float) -> EstimatorDiagnostics:
    """Bias and spread of repeated estimates of a known target.

    >>> estimator_diagnostics([1.0, 3.0, 5.0], target=2.0).bias
    1.0
    """
    values = np.asarray(estimates, dtype=np.float64).ravel()
    if not values.size:
        raise InvalidArgument("There are no estimates to judge.")
    mean, variance = float(values.mean()), float(values.var())
    bias = mean - target
    return EstimatorDiagnostics(mean, bias, variance, bias**2 + variance, math.sqrt(variance / values.size))


def chebyshev_bound(probability: float, epsilon: float, num_trials: int) -> float:
    """P(|T - p| ≥ ε) ≤ p(1-p) / (Mε²): loose, but asks for nothing but a variance.

    >>> round(chebyshev_bound(0.5, 0.1, 100), 12)
    0.25
    """
    trials = BernoulliTrials(probability, num_trials)
    _check_positive("epsilon", epsilon)
    return min(1.0, trials.frequency_variance / epsilon / epsilon)


def hoeffding_bound(epsilon: float, num_trials: int, sides: Literal[1, 2] = 1) -> float:
    """P(T > p + ε) ≤ exp(-2Mε²), and the same below (Hoeffding 1963); `sides=2` bounds P(|T - p| > ε).

    >>> round(hoeffding_bound(0.1, 100), 6)
    0.135335
    """
    _check_count(num_trials)
    _check_positive("epsilon", epsilon)
    return min(1.0, _check_sides(sides) * math.exp(-2 * num_trials * epsilon * epsilon))


def hoeffding_epsilon(num_trials: int, delta: float, sides: Literal[1, 2] = 2) -> float:
    """The ε that M trials guarantee but with probability δ: sqrt(ln(sides/δ) / 2M).

    >>> round(hoeffding_epsilon(738, 0.05), 4)
    0.05
    """
    _check_count(num_trials)
    _check_delta(delta)
    return math.sqrt((math.log(_check_sides(sides)) - math.log(delta)) / (2 * num_trials))


def chernoff_bound(
    probability: float, epsilon: float, num_trials: int, side: Literal["upper", "lower"] = "upper"
) -> float:
    """P(T > p(1+ε)) ≤ exp(-Mpε²/3), or, below, P(T < p(1-ε)) ≤ exp(-Mpε²/2) (Chernoff 1952).

    The upper form holds for 0 < ε ≤ 1 only and is refused beyond: with M = 1, p = 0.01 and ε = 50 it would say 0.0002
    of an event of probability 0.01.

    >>> round(chernoff_bound(0.5, 0.2, 100), 6), round(chernoff_bound(0.5, 0.2, 100, side="lower"), 6)
    (0.513417, 0.367879)
    """
    BernoulliTrials(probability, num_trials)
    _check_positive("epsilon", epsilon)
    if side not in ("upper", "lower"):
        raise InvalidArgument(f"The side is 'upper' or 'lower', not {side!r}.")
    if side == "upper" and epsilon > 1:
        raise InvalidArgument(
            f"The upper Chernoff bound exp(-Mpε²/3) holds for relative errors of at most one, not for {epsilon}: "
            "the tail falls more slowly there. Use hoeffding_bound with the absolute error."
        )
    return math.exp(-num_trials * probability * epsilon * epsilon / (3 if side == "upper" else 2))


def k_sigma_bound(k: float, probability: float, num_trials: int) -> float:
    """P(|T - p| ≥ kσ) ≤ 2 exp(-k²/6) as long as 0 < kσ ≤ min(p, 1-p); elsewhere the formula fails and this is one.

    It is the two-sided Chernoff bound for ε = kσ/p, whose range it inherits: with M = 1, p = 0.001 and k = 31 the
    formula would say 5e-70 of an event of probability 0.001.

    >>> round(k_sigma_bound(4.0, 0.5, 100), 6), k_sigma_bound(31, 0.001, 1)
    (0.138967, 1.0)
    """
    trials = BernoulliTrials(probability, num_trials)
    _check_positive("k", k)
    sigma = math.sqrt(trials.frequency_variance)
    if sigma == 0 or k * sigma > min(probability, 1 - probability):
        return 1.0
    return min(1.0, 2 * math.exp(-k * k / 6))


def samples_for_absolute_error(epsilon: float, delta: float, sides: Literal[1, 2] = 2) -> int:
    """The least M with P(|T - p| > ε) ≤ δ by Hoeffding's bound: M ≥ ln(2/δ) / (2ε²), whatever p is.

    >>> samples_for_absolute_error(0.01, 0.05), samples_for_absolute_error(0.1, 0.01)
    (18445, 265)
    """
    _check_positive("epsilon", epsilon)
    _check_delta(delta)
    return _ceiling(math.log(_check_sides(sides)) - math.log(delta), 2, epsilon, epsilon)


def samples_for_relative_error(epsilon: float, delta: float, probability: float) -> int:
    """The least M with P(|T - p| > pε) ≤ δ by Chernoff's bound: M ≥ 3 ln(2/δ) / (pε²), so that rare events are costly.

    >>> samples_for_relative_error(0.1, 0.05, 0.5), samples_for_relative_error(0.1, 0.05, 0.01)
    (2214, 110667)
    """
    _check_positive("epsilon", epsilon)
    _check_delta(delta)
    _check_probability(probability)
    if epsilon > 1 or probability == 0:
        raise InvalidArgument(
            f"A relative error needs 0 < epsilon ≤ 1 and a positive probability, not {epsilon} and {probability}."
        )
    return _ceiling(3 * (math.log(2) - math.log(delta)), probability, epsilon, epsilon)


def repetition_error(num_runs: int, acceptance: float = 0.5) -> float:
    """The chance that k independent runs of a one-sided randomised algorithm all miss: (1 - acceptance)^k.

    An RP algorithm never accepts a no-instance and accepts a yes-instance with probability above 1/2: k runs that all
    reject are wrong with probability below 2^-k.
    """
    _check_count(num_runs)
    _check_acceptance(acceptance)
    if acceptance < 1e-3:  # 1 - acceptance would round too much of it away
        return math.exp(num_runs * math.log1p(-acceptance))
    return float((1 - acceptance) ** num_runs)


def repetitions_for_error(delta: float, acceptance: float = 0.5) -> int:
    """The least number of runs that leave an error of at most δ.

    >>> repetitions_for_error(0.001), repetitions_for_error(0.125)
    (10, 3)
    """
    _check_delta(delta)
    _check_acceptance(acceptance)
    if acceptance == 1:
        return 1
    runs = _ceiling(-math.log(delta), -math.log1p(-acceptance))
    # The quotient of two logarithms may be just above a whole number, or just below.
    if runs > 1 and repetition_error(runs - 1, acceptance) <= delta:
        return runs - 1
    return runs if repetition_error(runs, acceptance) <= delta else runs + 1


def _ceiling(above: float, *below: float) -> int:
    """The least whole number that is at least `above` over the product of `below`, too large for a float or not."""
    return max(1, math.ceil(Fraction(above) / math.prod(map(Fraction, below))))


def _check_probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        raise InvalidArgument(f"A probability is between 0 and 1, not {probability}.")


def _check_count(number: int) -> None:
    if not 1 <= number <= sys.float_info.max or number != int(number):
        raise InvalidArgument(f"The number of trials, terms or runs is a positive whole number, not {number}.")


def _check_positive(name: str, number: float) -> None:
    if not 0 < number < math.inf:
        raise InvalidArgument(f"{name} must be positive and finite, not {number}.")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InvalidArgument(f"delta, the probability of failure, is between 0 and 1, not {delta}.")


def _check_acceptance(acceptance: float) -> None:
    if not 0 < acceptance <= 1:
        raise InvalidArgument(f"The probability of acceptance is above 0 and at most 1, not {acceptance}.")


def _check_sides(sides: int) -> int:
    if sides not in (1, 2):
        raise InvalidArgument(f"sides is 1 (one tail) or 2 (both), not {sides!r}.")
    return sides
