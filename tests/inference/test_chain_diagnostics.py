"""Diagnostics of Markov chains, against processes whose autocorrelation is known and plain loops."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest

from plausible.errors import InvalidArgument, MissingDependency
from plausible.inference.sampling.chain_diagnostics import (
    bulk_effective_sample_size,
    diagnose,
    effective_sample_size,
    monte_carlo_error,
    r_hat,
    r_hat_of_moments,
    tail_effective_sample_size,
    to_arviz,
)


def autoregressive(rng, shape, correlation):
    """Chains x_t = ρ x_{t-1} + noise, started in equilibrium: integrated time (1 + ρ) / (1 - ρ), variance one."""
    noise = rng.standard_normal(shape) * math.sqrt(1 - correlation**2)
    chains = np.empty(shape)
    chains[:, 0] = rng.standard_normal(shape[0])
    for t in range(1, shape[1]):
        chains[:, t] = correlation * chains[:, t - 1] + noise[:, t]
    return chains


def looped_effective_size(chains):
    """Vehtari et al. 2021, eqs. 10-13, term by term."""
    half = chains.shape[1] // 2
    chains = [c for chain in chains for c in (chain[:half], chain[-half:])]
    m, n = len(chains), half
    means = [sum(c) / n for c in chains]
    variances = [sum((x - mu) ** 2 for x in c) / (n - 1) for c, mu in zip(chains, means, strict=True)]
    within = sum(variances) / m
    grand = sum(means) / m
    plus = (n - 1) / n * within + sum((mu - grand) ** 2 for mu in means) / (m - 1)
    total, previous, lag = 0.0, math.inf, 0
    while 2 * lag + 1 < n:
        pair = 0.0
        for t in (2 * lag, 2 * lag + 1):
            lagged = [
                sum((c[i] - mu) * (c[i + t] - mu) for i in range(n - t)) / (n - 1)
                for c, mu in zip(chains, means, strict=True)
            ]
            pair += 1.0 if t == 0 else 1 - (within - sum(lagged) / m) / plus
        if pair <= 0:
            break
        previous = min(previous, pair)
        total += previous
        lag += 1
    return m * n / max(2 * total - 1, 1 / math.log10(m * n))


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregressive_process_is_the_known_one(correlation):
    """ESS / draws tends to (1 - ρ) / (1 + ρ)."""
    chains = autoregressive(np.random.default_rng(5), (4, 20_000), correlation)
    expected = 80_000 * (1 - correlation) / (1 + correlation)
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("shape", [(1, 4), (1, 9), (2, 30), (4, 51), (3, 64)])
def test_effective_size_equals_the_sum_written_out(shape):
    """The Fourier transform changes nothing."""
    for seed in range(5):
        chains = autoregressive(np.random.default_rng(seed), shape, 0.6)
        assert effective_sample_size(chains) == pytest.approx(looped_effective_size(chains), rel=1e-9)


def test_answers_for_many_numbers_are_those_for_each():
    """Trailing axes are independent of each other."""
    chains = np.stack([autoregressive(np.random.default_rng(s), (4, 100), r) for s, r in enumerate((0, 0.5, 0.9))], -1)
    for function in (
        effective_sample_size,
        bulk_effective_sample_size,
        tail_effective_sample_size,
        monte_carlo_error,
        r_hat,
    ):
        alone = [float(function(chains[..., place])) for place in range(3)]
        np.testing.assert_allclose(function(chains), alone, rtol=1e-12)


def test_standard_error_covers_the_mean_at_its_nominal_rate():
    """|mean| < 1.96 standard errors in about 95 % of runs."""
    rng = np.random.default_rng(11)
    chains = autoregressive(rng, (4 * 300, 400), 0.7).reshape(300, 4, 400)
    inside = sum(abs(run.mean()) < 1.96 * monte_carlo_error(run) for run in chains)
    assert 0.90 <= inside / 300 <= 0.99


def test_r_hat_is_one_for_equal_chains_and_large_for_shifted_or_scaled_ones():
    """Folding sees differences of scale that means do not show."""
    rng = np.random.default_rng(2)
    base = rng.standard_normal((4, 1000))
    assert r_hat(base) < 1.01
    assert r_hat(base + np.array([[0], [0], [0], [1]])) > 1.1
    assert r_hat(base * np.array([[1], [1], [1], [5]])) > 1.1
    assert r_hat(np.sort(base, axis=1)) > 1.5  # a trend: halves of a chain differ


def test_ranks_make_r_hat_blind_to_monotone_maps():
    """Normal scores depend on the order only, and the bulk size with them."""
    draws = np.random.default_rng(3).standard_normal((4, 200))
    assert bulk_effective_sample_size(np.exp(draws)) == pytest.approx(bulk_effective_sample_size(draws))
    assert r_hat(np.random.default_rng(4).standard_cauchy((4, 1000))) < 1.02


def test_r_hat_from_moments_is_the_ratio_of_variances():
    """√(((n - 1) / n W + B / n) / W), by hand, on half chains."""
    halves = np.random.default_rng(6).random((8, 25)) + np.arange(8)[:, None] / 10
    within = np.mean([np.var(h, ddof=1) for h in halves])
    expected = math.sqrt((24 / 25 * within + np.var([h.mean() for h in halves], ddof=1)) / within)
    got = r_hat_of_moments(halves.mean(axis=1), (halves**2).mean(axis=1), 25)
    assert got == pytest.approx(expected, rel=1e-12)
    assert r_hat_of_moments(np.array([0.1, 0.1]), np.array([0.1**2, 0.1**2]), 9) == 1
    assert r_hat_of_moments(np.array([0.1, 0.3]), np.array([0.1**2, 0.3**2]), 9) == math.inf


def test_draws_that_never_change_agree_or_disagree_outright():
    """No spread: R-hat one and no error; standing still at different values: infinite."""
    still = np.full((4, 10), 0.3)
    assert (r_hat(still), effective_sample_size(still), monte_carlo_error(still)) == (1.0, 40.0, 0.0)
    assert r_hat(np.repeat([[0.0], [1.0]], 10, axis=1)) == math.inf
    assert "disagree" in diagnose(np.repeat([[0.0], [1.0]], 10, axis=1)).advice


def test_few_draws_are_called_few():
    """Below 100 independent draws for each chain there is advice."""
    assert "Draw more" in diagnose(np.random.default_rng(0).standard_normal((4, 60))).advice


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0, math.nan]]])
def test_arrays_that_are_no_chains_are_refused(bad):
    """One axis, too few draws, NaN."""
    with pytest.raises(InvalidArgument):
        r_hat(bad)


def test_diagnose_takes_one_number():
    """A third axis is refused by name."""
    with pytest.raises(InvalidArgument, match=r"\(2, 8, 3\)"):
        diagnose(np.zeros((2, 8, 3)))


def test_arviz_is_asked_for_by_name_or_given_the_draws(monkeypatch):
    """Without ArviZ the error says what to install; with it, its `from_dict` gets the arrays."""
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingDependency, match="pip install arviz"):
        to_arviz({"A": np.zeros((2, 4))})
    monkeypatch.setitem(sys.modules, "arviz", types.SimpleNamespace(from_dict=lambda d: sorted(d)))
    assert to_arviz({"A": np.zeros((2, 4)), "B": np.zeros((2, 4))}) == ["A", "B"]


def test_arviz_takes_the_draws_and_finds_the_same_diagnostics():
    """The real library: chains and draws are its dimensions, and its R-hat and sizes are ours."""
    arviz = pytest.importorskip("arviz", reason="ArviZ is optional: draws are handed to it where it is installed")
    draws = autoregressive(np.random.default_rng(3), (4, 500), 0.5)
    data = to_arviz({"A": draws})
    assert dict(data.posterior["A"].sizes) == {"chain": 4, "draw": 500}
    assert float(arviz.rhat(data)["A"]) == pytest.approx(float(r_hat(draws)), abs=1e-6)
    assert float(arviz.ess(data, method="bulk")["A"]) == pytest.approx(
        float(bulk_effective_sample_size(draws)), rel=0.02
    )
