"""Annealed importance sampling: unbiased totals with honest intervals, on models with and without zeros."""

from __future__ import annotations

import math

import numpy as np
import pytest

from network_oracle import random_markov_network, random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.engines import Enumeration
from plausible.inference.problem import Problem
from plausible.inference.sampling.annealed_importance import AnnealedImportance
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
V = [Variable(f"V{i}", 2 + i % 2) for i in range(5)]


def coupled(strength, seed=0):
    """All pairs of five variables, coupled at random, with factors of their own."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for i, a in enumerate(V) for b in V[:i]]
    factors = [Factor(pair, np.exp(strength * rng.normal(size=[v.num_states for v in pair]))) for pair in pairs]
    return factors + [Factor((v,), np.exp(rng.normal(size=v.num_states))) for v in V]


def test_intervals_cover_the_truth_at_their_nominal_rate():
    """95 % intervals for log Z hold it in 90-99 % of 100 runs."""
    factors = coupled(1.0)
    truth = Enumeration().log_total(factors, NONE)
    inside = 0
    for seed in range(100):
        value = AnnealedImportance(num_temperatures=15, num_particles=100, seed=seed).log_total(factors, NONE)
        inside += value.lower <= truth <= value.upper
    assert 90 <= inside <= 99


def test_the_mean_weight_is_unbiased_for_any_number_of_temperatures():
    """E[Z] = Z even with two temperatures: the mean over many runs comes near."""
    factors = coupled(0.6, seed=2)
    truth = Enumeration().log_total(factors, NONE)
    for temperatures in (1, 2, 5):
        values = [
            AnnealedImportance(temperatures, 400, seed=seed).log_total(factors, NONE) - truth for seed in range(30)
        ]
        ratios = np.exp(values)
        assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / math.sqrt(30)


def test_log_total_converges_with_more_temperatures():
    """The width of the interval falls, and so does the error."""
    factors = coupled(2.0, seed=4)
    truth = Enumeration().log_total(factors, NONE)
    values = [AnnealedImportance(t, 400).log_total(factors, NONE) for t in (5, 50, 500)]
    widths = [value.upper - value.lower for value in values]
    assert widths[0] > widths[1] > widths[2]
    assert abs(values[2] - truth) < 0.1
    assert values[2].info.converged


@pytest.mark.parametrize("seed", range(8))
def test_zeros_evidence_and_disconnected_parts(seed):
    """Random networks with zeros and observed variables; log P(e) and beliefs near those of enumeration."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0.3) if seed % 2 else random_markov_network(rng, zeros=0.3)
    factors = [cpd.to_factor() for cpd in net.cpds.values()] if seed % 2 else list(net.factors)
    variables = list({v.name: v for f in factors for v in f.scope}.values())
    evidence = Evidence.read({variables[0].name: 0}, {v.name: v for v in variables})
    truth = Enumeration().log_total(factors, evidence)
    engine = AnnealedImportance(num_temperatures=60, num_particles=500, seed=seed)
    value = engine.log_total(factors, evidence)
    if truth == -math.inf:
        assert value == -math.inf
        with pytest.raises(ImpossibleEvidence):
            engine.query(factors, variables[1:2], evidence)
        return
    assert abs(value - truth) <= 2 * (value.upper - value) + 1e-9
    target = variables[-1]
    answer = engine.query(factors, [target], evidence)
    exact = Enumeration().query(factors, [target], evidence).values
    assert np.abs(answer.values - exact).max() <= 2 * answer.info.error + 1e-9


def test_beliefs_are_weighted_frequencies_with_an_error():
    """Marginals and a joint of strongly coupled variables."""
    factors = coupled(1.0, seed=5)
    engine = AnnealedImportance(num_temperatures=50, num_particles=2000)
    for group in ([V[0]], [V[3], V[1]]):
        answer = engine.query(factors, group, NONE)
        assert 0 < answer.info.error < 0.05
        truth = Enumeration().query(factors, group, NONE).values
        assert np.abs(answer.values - truth).max() < 1.6 * answer.info.error


def test_factors_that_exclude_each_other_are_found_out_or_doubted():
    """By arc consistency for certain; otherwise no weight is left and the answer says that it is no proof."""
    a, b = V[0], Variable("W", 2)
    certain = [Factor((a, b), np.eye(2)), Factor((a,), [1, 0]), Factor((b,), [0, 1])]
    value = AnnealedImportance().log_total(certain, NONE)
    assert (value, value.is_bound) == (-math.inf, True)
    ring = [Variable(f"R{i}", 2) for i in range(5)]
    odd = [Factor((ring[i], ring[(i + 1) % 5]), 1 - np.eye(2)) for i in range(5)]
    doubted = AnnealedImportance(num_temperatures=20, num_particles=50).log_total(odd, NONE)
    assert doubted == -math.inf
    assert not doubted.is_bound
    assert not doubted.info.converged
    with pytest.raises(ImpossibleEvidence, match="particle"):
        AnnealedImportance(num_temperatures=20, num_particles=50).query(odd, ring[:1], NONE)


def test_independent_variables_and_empty_problems_are_exact():
    """Where there is nothing to anneal all weights are equal; scales of 1e-300 do not matter."""
    factors = [Factor((v,), np.arange(1.0, v.num_states + 1) * 1e-300) for v in V]
    value = AnnealedImportance(num_temperatures=3, num_particles=10).log_total(factors, NONE)
    assert value == pytest.approx(Enumeration().log_total(factors, NONE), rel=1e-12)
    assert value.upper - value.lower < 1e-6
    everything = Evidence.read({v.name: 0 for v in V}, {v.name: v for v in V})
    known = AnnealedImportance(num_temperatures=3, num_particles=10).log_total(factors, everything)
    assert known == pytest.approx(5 * math.log(1e-300))
    assert known.info.exact


def test_weights_that_are_too_unequal_are_spoken_of():
    """Few temperatures for a strong coupling."""
    info = AnnealedImportance(num_temperatures=1, num_particles=30).log_total(coupled(6.0), NONE).info
    assert not info.converged
    assert "num_temperatures" in info.advice


def test_threads_change_no_bit(monkeypatch):
    """Particles have random numbers of their own."""
    monkeypatch.setattr("plausible.inference.sampling.chain_layout._FEWEST_UPDATES", 0)
    problem = Problem.of(coupled(1.0), NONE)
    runs = [AnnealedImportance(12, 100, num_threads=n).run(problem).state for n in (1, 2, None)]
    assert len({run.log_weights.tobytes() for run in runs}) == 1


@pytest.mark.parametrize("options", [{"num_temperatures": 0}, {"num_particles": 1}, {"seed": -2}, {"num_threads": 0}])
def test_options_out_of_range_are_refused(options):
    """By name."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        AnnealedImportance(**options)
