"""Ratios of gamma functions, against sums of logarithms."""

import math

import numpy as np
import pytest

from plausible.graphs import DAG
from plausible.learn.bayesian.completion_problem import FamilyTables
from plausible.learn.estimation.priors import Dirichlet, log_rising
from plausible.learn.incomplete_scores.score import score_incomplete
from plausible.learn.incomplete_scores.task import ScoreOptions
from plausible.learn.partitions.partition_priors import ChineseRestaurant, FiniteDirichlet
from plausible.learn.scores.dirichlet import DirichletScore
from plausible.variables import Variable


@pytest.mark.parametrize("start", [1e-300, 1e-12, 0.3, 1.0, 9.99, 10.0, 50.0, 1e6, 1e12, 1e15, 1e300])
@pytest.mark.parametrize("steps", [0, 1, 2, 7, 100])
def test_a_rising_factorial_is_the_sum_of_its_logarithms_however_large(start, steps):
    want = math.fsum(math.log(start + i) for i in range(steps))
    assert float(log_rising(start, steps)) == pytest.approx(want, rel=1e-14, abs=1e-13)


@pytest.mark.parametrize("pseudo_count", [1e6, 1e12, 1e15, 1e100])
@pytest.mark.parametrize("score", ["exact", "cheeseman-stutz", "candidate", "variational"])
def test_with_huge_pseudo_counts_a_coin_is_fair(score, pseudo_count):
    """P(D) tends to 2^-M as α grows; it is never above one."""
    options = ScoreOptions(num_draws=50, burn_in=5)
    found = score_incomplete(DAG("x"), {"x": [0, 1, None, 0]}, score, Dirichlet(pseudo_count), options=options)
    assert found.value == pytest.approx(3 * math.log(0.5), abs=1e-5)


def test_partitions_and_complete_scores_keep_their_digits_with_huge_concentrations():
    assert ChineseRestaurant(1e15).log_probability([0, 1, 2, 3]) == pytest.approx(0.0, abs=1e-9)
    assert FiniteDirichlet(1.0, 10**12).log_probability([0, 1, 0]) == pytest.approx(
        ChineseRestaurant(1.0).log_probability([0, 1, 0]), abs=1e-9
    )
    scores = DirichletScore(1e15).on_data({"x": [0, 1, 0]})
    assert scores.family("x", []) == pytest.approx(3 * math.log(0.5), abs=1e-9)


def test_the_dirichlet_density_is_that_of_scipy_and_has_the_peak_of_a_gaussian_with_huge_parameters():
    """For a coin with a = b -> ∞ the density at ½ tends to √(8a / 2π), of the standard deviation 1 / √(8a)."""
    from scipy.stats import dirichlet

    tables = FamilyTables({"x": Variable("x", 3)}, {"x": ()})
    rng = np.random.default_rng(0)
    for alpha in rng.gamma(2.0, 20.0, (5, 3)):
        theta = rng.dirichlet(alpha)
        assert float(tables.log_density(alpha, theta)) == pytest.approx(dirichlet(alpha).logpdf(theta), abs=1e-9)
    coin = FamilyTables({"x": Variable("x", 2)}, {"x": ()})
    found = float(coin.log_density(np.full(2, 1e15), np.full(2, 0.5)))
    assert found == pytest.approx(0.5 * math.log(8e15 / (2 * math.pi)), abs=1e-9)
