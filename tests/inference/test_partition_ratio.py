"""Partition functions from samples, and the tails of weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.inference.engines import Enumeration
from plausible.inference.problem import Problem
from plausible.inference.sampling.chains import Gibbs
from plausible.inference.sampling.sample_sums import importance_log_partition, log_partition_ratio, tail_shape
from plausible.variables import Evidence

NONE = Evidence.read({}, {})
PAIRS = ("AB", "BC", "CA")


def triangle(theta):
    """A log-linear model with one feature, that ends of an edge agree."""
    return [Factor({a: 2, b: 2}, np.exp(theta * np.eye(2))) for a, b in PAIRS]


def log_z(theta):
    """By hand: two assignments have three agreeing edges, six have one."""
    return math.log(2 * math.exp(3 * theta) + 6 * math.exp(theta))


@pytest.mark.parametrize("theta", [0.0, 0.4, 1.5, -1.0])
def test_samples_of_one_model_give_the_partition_function_of_another(theta):
    """ln Z(θ) - ln Z(θ0), for draws of Markov chains at θ0 = 0.5, within the stated interval."""
    draws = Gibbs(num_samples=20_000).draws(Problem.of(triangle(0.5), NONE))
    ratio = log_partition_ratio(draws, triangle(0.5), triangle(theta))
    assert abs(ratio - (log_z(theta) - log_z(0.5))) < 1.6 * (ratio.upper - ratio)
    assert ratio.upper - ratio.lower < 0.15
    assert ratio.info.converged


def test_the_interval_grows_with_the_distance_and_the_effective_size_falls():
    draws = Gibbs(num_samples=4_000).draws(Problem.of(triangle(0.0), NONE))
    ratios = [log_partition_ratio(draws, triangle(0.0), triangle(theta)) for theta in (0.0, 0.5, 1.0, 2.0)]
    widths = [ratio.info.error for ratio in ratios]
    sizes = [ratio.info.effective_samples for ratio in ratios]
    assert ratios[0] == 0
    assert widths == sorted(widths)
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_intervals_for_the_ratio_cover_the_truth_with_dependent_draws():
    """95 % intervals hold the truth in 90-99 % of 200 runs, though chains mix slowly at θ0 = 1."""
    problem, exact, inside = Problem.of(triangle(1.0), NONE), log_z(0.7) - log_z(1.0), 0
    for seed in range(200):
        draws = Gibbs(num_samples=2_000, burn_in=50, num_chains=2, seed=seed).draws(problem)
        ratio = log_partition_ratio(draws, triangle(1.0), triangle(0.7))
        inside += ratio.lower <= exact <= ratio.upper
    assert 180 <= inside <= 199


def test_any_proposal_gives_the_partition_function():
    """Z = E_Q[P~ / Q] with Q independent and far from uniform; weights of zero count."""
    rng = np.random.default_rng(0)
    q = {"A": np.array([0.7, 0.3]), "B": np.array([0.2, 0.8]), "C": np.array([0.5, 0.5])}
    factors = [Factor({"A": 2, "B": 2}, [[0, 2], [3, 1]]), Factor({"B": 2, "C": 2}, [[1, 4], [2, 1]])]
    exact, inside = Enumeration().log_total(factors, NONE), 0
    for _ in range(200):
        draws = {name: rng.choice(2, size=2000, p=p) for name, p in q.items()}
        log_q = sum(np.log(p[draws[name]]) for name, p in q.items())
        value = importance_log_partition(draws, log_q, factors)
        inside += value.lower <= exact <= value.upper
    assert 180 <= inside <= 199


def test_too_few_effective_samples_are_spoken_of():
    """Samples from far away; and none with any weight."""
    rng = np.random.default_rng(0)
    draws = {name: rng.integers(0, 2, 200) for name in "ABC"}
    far = log_partition_ratio(
        draws, triangle(0.0), [Factor({"A": 2, "B": 2, "C": 2}, np.eye(8)[0].reshape(2, 2, 2) + 1e-9)]
    )
    assert not far.info.converged
    assert "worth" in far.info.advice
    none = log_partition_ratio({**draws, "A": np.zeros(200, dtype=int)}, triangle(0.0), [Factor({"A": 2}, [0, 1])])
    assert none == -math.inf
    assert none.info.effective_samples == 0
    assert not none.info.converged


def test_draws_that_do_not_fit_are_refused():
    good = {"A": np.array([0, 1]), "B": np.array([0, 1]), "C": np.array([0, 1])}
    with pytest.raises(UnknownVariable, match="'C'"):
        log_partition_ratio({"A": good["A"], "B": good["B"]}, triangle(0.0), triangle(1.0))
    for wrong in (
        {"A": np.array([0, 2])},
        {"A": np.array([0.0, 1.0])},
        {"A": np.array([0, 1, 1])},
        {"A": np.array([0, -1])},
    ):
        with pytest.raises(InvalidArgument, match="draws"):
            log_partition_ratio({**good, **wrong}, triangle(0.0), triangle(1.0))
    with pytest.raises(InvalidArgument, match="before="):
        log_partition_ratio(good, [Factor({"A": 2}, [0, 1])], triangle(1.0))


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.8, 1.2])
def test_the_tail_of_pareto_weights_is_found(shape):
    """w = u^-k has k moments over k; the fit comes near for each k."""
    found = [tail_shape(-shape * np.log(np.random.default_rng(seed).random(20_000))) for seed in range(10)]
    assert np.mean(found) == pytest.approx(shape, abs=0.08)
    logs = -shape * np.log(np.random.default_rng(0).random(20_000))
    assert tail_shape(logs + 800) == pytest.approx(found[0])  # whatever the unit, also where weights overflow
    assert tail_shape(logs - 800) == pytest.approx(found[0])


def test_bounded_and_equal_weights_have_no_tail():
    assert tail_shape(np.log(np.random.default_rng(0).random(5000))) < 0
    assert tail_shape(np.zeros(1000)) == tail_shape(np.full(100, -math.inf)) == tail_shape([0.0, 1.0]) == -math.inf


def test_the_tail_is_that_of_arviz():
    """The shape that ArviZ fits while smoothing the same weights."""
    arviz = pytest.importorskip("arviz", reason="ArviZ is optional: the fit is compared with it where it is installed")
    logs = np.random.default_rng(0).standard_normal(4000) * 1.5
    assert tail_shape(logs) == pytest.approx(float(arviz.psislw(logs)[1]), abs=0.02)
