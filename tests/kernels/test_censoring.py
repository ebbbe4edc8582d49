"""The kernels that eliminate states of Markov chains against a dense twin and NumPy's solver."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.kernels.markov_chain import censor, passed_back, solve_censored


def chain(seed, size, leak):
    """Rates between states, without those of a state to itself, in rows that sum to one with the leaks."""
    rng = np.random.default_rng(seed)
    rates = rng.random((size, size)) * (rng.random((size, size)) < 0.5) + np.roll(np.eye(size), 1, axis=1)
    np.fill_diagonal(rates, 0.0)
    leaks = np.full(size, leak) * rng.random(size)
    totals = rates.sum(axis=1) + leaks + 0.1
    return rates / totals[:, None], leaks / totals


def twin(rates, leaks):
    """Grassmann, Taksar & Heyman's elimination on a full table, first state first."""
    table, leaks, totals = rates.copy(), leaks.copy(), np.empty(len(rates))
    for k in range(len(rates)):
        totals[k] = leaks[k] + table[k, k + 1 :].sum()
        if totals[k] > 0:
            table[k + 1 :, k] /= totals[k]
            leaks[k + 1 :] += table[k + 1 :, k] * leaks[k]
            table[k + 1 :, k + 1 :] += np.outer(table[k + 1 :, k], table[k, k + 1 :])
    return table, totals


def run(rates, leaks):
    """The kernel on the pattern of all pairs."""
    size = len(rates)
    upper_starts = np.r_[0, np.cumsum(np.arange(size - 1, -1, -1))]
    lower_starts = np.r_[0, np.cumsum(np.arange(size))]
    upper, lower = np.triu_indices(size, 1)[1], np.tril_indices(size, -1)[1]
    sources, targets = np.nonzero(rates)
    starts = np.r_[0, np.cumsum(np.bincount(sources, minlength=size))]
    onward, shares, totals = np.empty(upper.size), np.empty(lower.size), np.empty(size)
    pattern = (upper_starts, upper, lower_starts, lower)
    censor(starts, targets.copy(), rates[sources, targets], leaks.copy(), *pattern, onward, shares, totals)
    return pattern, onward, shares, totals


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("leak", [0.0, 1e-12, 0.5])
def test_elimination_equals_its_twin(size, leak):
    """Rates to later states, shares of earlier ones, and totals."""
    rates, leaks = chain(size, size, leak)
    _, onward, shares, totals = run(rates, leaks)
    table, expected = twin(rates, leaks)
    np.testing.assert_allclose(totals, expected, rtol=1e-13)
    np.testing.assert_allclose(onward, table[np.triu_indices(size, 1)], rtol=1e-13)
    np.testing.assert_allclose(shares, table[np.tril_indices(size, -1)], rtol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_solutions_equal_those_of_a_plain_solver(size):
    """(D - R)^-1 times two columns of rewards, D the total rates out."""
    rates, leaks = chain(size, size, 0.5)
    (upper_starts, upper, lower_starts, lower), onward, shares, totals = run(rates, leaks)
    sides = np.random.default_rng(size).random((size, 2))
    expected = np.linalg.solve(np.diag(rates.sum(axis=1) + leaks) - rates, sides)
    solve_censored(upper_starts, upper, onward, lower_starts, lower, shares, totals, sides)
    np.testing.assert_allclose(sides, expected, rtol=1e-11)


@pytest.mark.parametrize("size", [2, 5, 9])
def test_weights_passed_back_balance_the_flows(size):
    """What flows out of a state flows into it."""
    rates, leaks = chain(size, size, 0.0)
    (_, _, lower_starts, lower), _, shares, _ = run(rates, leaks)
    weights = np.empty(size)
    passed_back(lower_starts, lower, shares, size - 1, weights)
    np.testing.assert_allclose(weights @ rates, weights * rates.sum(axis=1), rtol=1e-12)
    assert (weights > 0).all()
