"""Engines inside engines: collapsed particles, and proposals made of another engine's beliefs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from network_oracle import random_markov_network, random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.engines import Enumeration, JunctionTree, VariableElimination
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.sampling.collapsed_particles import CollapsedGibbs
from plausible.inference.sampling.importance_sampling import ImportanceSampling
from plausible.inference.sampling.metropolis import (
    Metropolis,
    accepted_places,
    drawn_independently,
    independent_guide,
    log_density,
)
from plausible.inference.variational.mean_field import MeanField
from plausible.variables import Evidence, Variable, likelihood

NONE = Evidence.read({}, {})
RING = [Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CD", "DA")]
A, B, C, D = RING[0].scope + RING[2].scope


def truth(factors, group, evidence=NONE):
    return Enumeration().query(factors, group, evidence).values


# --- collapsed particles ---


@pytest.mark.parametrize("inner", [LoopyBP(), JunctionTree(), VariableElimination()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("sampled", [["A"], ["A", "C"], ["A", "B", "C", "D"], ["unknown", "B"]], ids="".join)
def test_a_cut_of_all_cycles_leaves_sampling_errors_only(inner, sampled):
    """A ring without one of its variables is a tree: messages inside are exact, and the error is stated."""
    engine = CollapsedGibbs(sampled, inner, num_samples=1000, burn_in=20)
    groups = ([A], [C, D], [B, C])
    for group, answer in zip(groups, engine.joints(RING, groups, NONE), strict=True):
        assert np.abs(answer.values - truth(RING, group)).max() < 1.6 * answer.info.error
        assert answer.info.error < 0.085
        assert answer.info.converged
        assert answer.info.effective_samples > 100


def test_messages_on_what_is_still_a_cycle_are_not_called_exact():
    """With nothing sampled, or too little, the answer is that of the engine inside and has no error bar."""
    info = CollapsedGibbs([], LoopyBP(), num_samples=8).query(RING, [A], NONE).info
    assert info.error is None
    assert not info.exact
    np.testing.assert_allclose(
        CollapsedGibbs([], LoopyBP(), num_samples=8).query(RING, [A], NONE).values,
        LoopyBP().query(RING, [A], NONE).values,
    )
    assert CollapsedGibbs([], JunctionTree(), num_samples=8).query(RING, [A], NONE).info.exact


def test_sampling_a_cut_corrects_loopy_propagation():
    """On a tight ring belief propagation is off by more than the collapsed sampler ever says it may be."""
    tight = [Factor(f.scope, np.asarray(f.values) ** 2) for f in RING[:3]] + [Factor((D, A), [[1, 6], [6, 1]])]
    exact = truth(tight, [B, C])
    assert np.abs(LoopyBP(damping=0.5).query(tight, [B, C], NONE).values - exact).max() > 0.03
    answer = CollapsedGibbs(["A"], LoopyBP()).query(tight, [B, C], NONE)
    assert np.abs(answer.values - exact).max() < 1.6 * answer.info.error < 0.03


@pytest.mark.parametrize("seed", range(6))
def test_random_networks_with_zeros_and_evidence(seed):
    """Any sampled set with exact inference inside agrees with enumeration, or says that chains do not mix."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0.3) if seed % 2 else random_markov_network(rng, zeros=0.3)
    factors = [cpd.to_factor() for cpd in net.cpds.values()] if seed % 2 else list(net.factors)
    variables = list({v.name: v for f in factors for v in f.scope}.values())
    evidence = Evidence.read({variables[0].name: variables[0].states[0]}, {v.name: v for v in variables})
    engine = CollapsedGibbs([v.name for v in variables[1:3]], VariableElimination(), num_samples=1000, seed=seed)
    if Enumeration().log_total(factors, evidence) == -math.inf:
        with pytest.raises(ImpossibleEvidence):
            engine.query(factors, variables[-1:], evidence)
        return
    answer = engine.query(factors, variables[-1:], evidence)
    close = np.abs(answer.values - truth(factors, variables[-1:], evidence)).max() <= 2 * answer.info.error + 1e-9
    assert close or not answer.info.converged


@pytest.mark.slow
def test_intervals_of_collapsed_particles_cover_the_truth():
    """95 % intervals hold the truth in 90-99 % of 100 runs."""
    exact = truth(RING, [B, C])[1, 1]
    inside = 0
    for seed in range(100):
        answer = CollapsedGibbs(["A", "C"], VariableElimination(), num_samples=400, burn_in=5, seed=seed).query(
            RING, [B, C], NONE
        )
        inside += abs(answer.values[1, 1] - exact) <= answer.info.error
    assert 90 <= inside <= 99


def test_collapsed_options_are_checked_and_totals_are_those_of_the_engine_inside():
    for wrong in ({"sampled": "A"}, {"inner": LoopyBP}, {"num_samples": 0}, {"burn_in": -1}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            CollapsedGibbs(**{"sampled": ["A"], **wrong})
    assert CollapsedGibbs(["A"]).mentioned == ("A",)
    total = CollapsedGibbs(["A"], JunctionTree()).log_total(RING, NONE)
    assert total == pytest.approx(Enumeration().log_total(RING, NONE))
    assert CollapsedGibbs(["A"]).log_total(RING, NONE) == pytest.approx(float(LoopyBP().log_total(RING, NONE)))
    everything = Evidence.read(dict.fromkeys("ABCD", 1), {v.name: v for v in (A, B, C, D)})
    assert CollapsedGibbs(["A"], num_samples=4).query(RING, [A, C], everything).values[1, 1] == 1


# --- proposals for Markov chains ---


@pytest.mark.parametrize("engine", [LoopyBP(), MeanField()], ids=lambda e: type(e).__name__)
def test_chains_that_propose_another_engines_beliefs_are_right(engine):
    """However wrong the beliefs are: marginals and joints within their error, with zeros and one-state variables."""
    one = Variable("one", 1)
    for factors in (RING, [*RING, Factor((A, C), [[1, 0], [1, 1]]), Factor((one, D), [[1.0, 3.0]])]):
        sampler = Metropolis(engine, num_samples=40_000)
        for group in ([A], [C, D]):
            answer = sampler.query(factors, group, NONE)
            assert np.abs(answer.values - truth(factors, group)).max() < 2 * answer.info.error
            assert answer.info.error < 0.05 or not answer.info.converged
            assert 0.1 < answer.info.acceptance < 1


def test_right_and_independent_beliefs_are_nearly_always_accepted():
    """For independent variables messages are exact: only the uniform share is ever rejected."""
    alone = [Factor((A,), [1, 3]), Factor((B,), [2, 1])]
    assert Metropolis(LoopyBP(), num_samples=8000).query(alone, [A, B], NONE).info.acceptance > 0.95


def test_independent_draws_have_the_density_that_is_said():
    """Frequencies of whole assignments equal exp(log q); impossible states are never drawn."""
    factors = [Factor((A, B), [[1, 2], [0, 0]]), Factor((B, C), [[1, 3], [2, 2]])]
    problem = Problem.of(factors, NONE)
    guide = independent_guide(problem, LoopyBP())
    states = drawn_independently(problem, guide, (4, 50_000), np.random.default_rng(0)).reshape(-1, 3)
    every = np.indices((2, 2, 2)).reshape(3, -1).T
    density = np.exp(log_density(problem, guide, every))
    counted = np.bincount(np.ravel_multi_index(states.T, (2, 2, 2)), minlength=8) / len(states)
    assert density.sum() == pytest.approx(1)
    np.testing.assert_allclose(counted, density, atol=0.006)
    assert (density[4:] == 0).all()


def test_acceptance_follows_the_rule_of_metropolis():
    """Against the rule written out for one chain at a time."""
    rng = np.random.default_rng(1)
    weights, levels = rng.normal(size=(3, 50)), np.log(rng.random((3, 49)))
    got = accepted_places(weights, levels)
    for chain in range(3):
        at = 0
        for number in range(49):
            if levels[chain, number] < weights[chain, number + 1] - weights[chain, at]:
                at = number + 1
            assert got[chain, number] == at


# --- proposals for importance sampling ---


def test_importance_sampling_from_exact_beliefs_has_equal_weights():
    """On a tree messages are right, so that q(x) = P(x | e) and no weight differs; P(e) comes out at once."""
    a, b, c, d = (Variable(name, 3) for name in "ABCD")
    rng = np.random.default_rng(0)
    factors = [
        Factor((a,), [0.9, 0.08, 0.02]),
        Factor((a, b), rng.dirichlet(np.ones(3), size=3)),
        Factor((a, c), rng.dirichlet(np.ones(3), size=3)),
        Factor((c, d), rng.dirichlet(np.ones(3), size=3)),
    ]
    evidence = Evidence.read({"D": 2, "C": likelihood([0.1, 1.0, 0.3])}, {"C": c, "D": d})
    engine = ImportanceSampling(1000, proposal=LoopyBP(), adapt=0, prior_share=1e-12)
    assert engine.query(factors, [a, b], evidence).info.effective_samples == pytest.approx(1000, rel=1e-6)
    assert engine.log_total(factors, evidence) == pytest.approx(Enumeration().log_total(factors, evidence))


@pytest.mark.parametrize("engine", [LoopyBP(), MeanField()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("seed", range(5))
def test_importance_sampling_from_any_beliefs_is_right(engine, seed):
    """Beliefs may be wrong, weights make up for it."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.0)
    factors = [cpd.to_factor() for cpd in net.cpds.values()]
    names = list(net.variables)
    evidence = Evidence.read({names[-1]: net.variables[names[-1]].states[-1]}, net.variables)
    target = net.variables[names[0]]
    answer = ImportanceSampling(20_000, proposal=engine, adapt=seed % 2, seed=seed).query(factors, [target], evidence)
    assert np.abs(answer.values - truth(factors, [target], evidence)).max() <= 2 * answer.info.error
