"""Climbing functions, those with kinks by the orthant-wise form of L-BFGS."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plausible.learn.undirected.priors import GaussianPrior, LaplacePrior, Penalty
from plausible.search.ascent import LBFGS, OrthantWise, ascent_step, init_ascent
from plausible.search.run import Stops, iterate


def rows_of(seed, num_rows=80, num_columns=12):
    """Rows and classes ±1 of which three columns tell."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(num_rows, num_columns))
    return rows, np.where(rows[:, :3].sum(axis=1) + rng.logistic(size=num_rows) > 0, 1.0, -1.0)


def log_likelihood(rows, signs):
    """The logistic log-likelihood and its gradient."""

    def at(weights):
        margins = signs * (rows @ weights)
        return -np.logaddexp(0, -margins).sum(), rows.T @ (signs / (1 + np.exp(margins)))

    return at


def climbed_to_the_top(climbed, size, penalty, max_steps=500):
    start = init_ascent(climbed, np.zeros(size), penalty)

    def ends(state):
        return "converged" if np.abs(state.gradient).max() < 1e-6 else "stuck" if state.is_stuck else ""

    def step(state):
        return ascent_step(climbed, state, OrthantWise(penalty))

    return iterate(step, start, Stops(max_steps=max_steps), ends=ends, objective=lambda state: state.value)


def proximal_optimum(rows, signs, rate, precision):
    """The same optimum by plain proximal gradient steps."""
    weights = np.zeros(rows.shape[1])
    step = 1 / (np.linalg.eigvalsh(rows.T @ rows)[-1] / 4 + precision)
    for _ in range(20000):
        gradient = rows.T @ (signs / (1 + np.exp(signs * (rows @ weights)))) - precision * weights
        weights = weights + step * gradient
        weights = np.sign(weights) * np.maximum(np.abs(weights) - step * rate, 0)
    return weights


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("precision", [0.0, 0.5])
def test_the_orthant_wise_optimum_is_that_of_proximal_gradient_steps(seed, precision):
    """Zeros are exact and the same, the value never falls, and no derivative exceeds its rate at a zero."""
    rows, signs = rows_of(seed)
    prior = LaplacePrior(1 / 6) + GaussianPrior(1 / precision) if precision else LaplacePrior(1 / 6)
    penalty, smooth = prior.penalty(np.arange(12)), log_likelihood(rows, signs)

    def climbed(weights):
        (value, gradient), (less, pull) = smooth(weights), penalty.smooth(weights)
        return value + less, gradient + pull

    run = climbed_to_the_top(climbed, 12, penalty)
    assert run.converged
    assert (np.diff(run.trace) > 0).all()
    expected = proximal_optimum(rows, signs, 6.0, precision)
    np.testing.assert_array_equal(run.state.point == 0, expected == 0)
    assert 0 < (expected == 0).sum() < 12
    np.testing.assert_allclose(run.state.point, expected, atol=1e-6)
    gradient = climbed(run.state.point)[1]
    assert (np.abs(gradient)[expected == 0] <= 6.0).all()
    np.testing.assert_allclose(gradient[expected != 0], 6.0 * np.sign(expected[expected != 0]), atol=1e-6)


def test_the_orthant_wise_optimum_is_that_of_scikit_learn():
    """L1 logistic regression without intercept, C = 1/rate."""
    rows, signs = rows_of(9)
    run = climbed_to_the_top(log_likelihood(rows, signs), 12, LaplacePrior(0.2).penalty(np.arange(12)))
    peer = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.2, fit_intercept=False, tol=1e-10, max_iter=10000)
    np.testing.assert_allclose(run.state.point, peer.fit(rows, signs).coef_[0], atol=1e-5)


def test_a_weight_that_became_zero_comes_back():
    """From a start with the wrong sign a weight passes zero and ends on the other side; a state can be pickled."""
    penalty = LaplacePrior(1.0).penalty(np.arange(2))

    def climbed(x):
        return -0.5 * ((x - [3.0, 0.5]) ** 2).sum(), np.array([3.0, 0.5]) - x

    state, signs = init_ascent(climbed, np.array([-2.0, 4.0]), penalty), []
    for _ in range(20):
        state = pickle.loads(pickle.dumps(ascent_step(climbed, state, OrthantWise(penalty))))
        signs.append(np.sign(state.point[0]))
    assert {0.0, 1.0} <= set(signs)
    np.testing.assert_allclose(state.point, [2.0, 0.0], atol=1e-12)


def test_without_kinks_it_is_a_climb_of_the_smooth_part():
    """A penalty of nothing changes nothing at the top."""

    def climbed(x):
        return -0.5 * float(((x - 2) ** 2) @ [1.0, 30.0]), (2 - x) * [1.0, 30.0]

    run = climbed_to_the_top(climbed, 2, Penalty.none(np.arange(2)))
    np.testing.assert_allclose(run.state.point, 2.0, atol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e8])
def test_slopes_lead_on_where_values_are_all_the_same_by_rounding(offset):
    """A large constant hides the last gains; the gradient still vanishes, and no point is looked at many times."""
    rows, signs = rows_of(9)
    smooth, looked = log_likelihood(rows, signs), []

    def climbed(weights):
        looked.append(weights)
        value, gradient = smooth(weights)
        return offset + value - 0.5 * float(weights @ weights), gradient - weights

    def ends(state):
        return "converged" if np.abs(state.gradient).max() < 1e-9 else "stuck" if state.is_stuck else ""

    start = init_ascent(climbed, np.zeros(rows.shape[1]))
    run = iterate(lambda state: ascent_step(climbed, state, LBFGS()), start, Stops(max_steps=200), ends=ends)
    assert run.converged
    assert len(looked) < 3 * run.num_steps
