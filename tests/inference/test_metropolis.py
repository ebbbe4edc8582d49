"""Metropolis-Hastings: detailed balance of its kernels, and answers within their stated errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.engines import Enumeration
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.directed_sampling import LikelihoodWeighting
from plausible.inference.sampling.metropolis import Metropolis
from plausible.kernels.gibbs import ChainArrays, metropolis_sweeps
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
A, B, C = Variable("A", 2), Variable("B", 3), Variable("C", 2)
FACTORS = [
    Factor((A, B), [[3, 1, 2], [1, 2, 1]]),
    Factor((B, C), [[1, 4], [2, 1], [1, 1]]),
    Factor((A, C), [[1, 2], [2, 1]]),
]


def flip_anything(problem, states, rng):
    """A new assignment, all equally likely."""
    return rng.integers(0, problem.sizes, size=states.shape), np.zeros(len(states))


def mostly_up(problem, states, rng):
    """A is set to 1 with probability 0.9, else to 0: not symmetric, so the ratio matters; others at random."""
    new = rng.integers(0, problem.sizes, size=states.shape)
    place = [variable.name for variable in problem.variables].index("A")
    new[:, place] = rng.random(len(states)) < 0.9
    log_q = np.log(np.array([0.1, 0.9]))
    return new, log_q[states[:, place]] - log_q[new[:, place]]


ENGINES = [
    Metropolis(num_samples=40_000, burn_in=200),
    Metropolis("block", num_samples=40_000, burn_in=200, blocks=[["A", "B"]]),
    Metropolis(num_samples=40_000, burn_in=200, collapsed=["B"]),
    Metropolis(flip_anything, num_samples=4_000, burn_in=50, num_chains=40),
    Metropolis(mostly_up, num_samples=16_000, burn_in=50, num_chains=40),
]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: getattr(e.proposal, "__name__", e.proposal))
def test_answers_agree_with_enumeration_within_their_error(engine):
    """Marginals and joints, whatever the proposal."""
    for group in ([A], [B], [C, A], [A, B, C]):
        answer = engine.query(FACTORS, group, NONE)
        truth = Enumeration().query(FACTORS, group, NONE).values
        assert 0 < answer.info.error < 0.07
        assert np.abs(answer.values - truth).max() < 1.5 * answer.info.error
        assert answer.info.engine == "Metropolis-Hastings sampling"
        assert 0.1 < answer.info.acceptance < 1
        assert answer.info.effective_samples > 100


@pytest.mark.parametrize("blocks", [[], [[0, 1]]])
def test_the_kernel_makes_the_transitions_of_the_definition(blocks):
    """One sweep of a model with two blocks that move: T = K' K, built entry by entry; P stays stationary.

    K' may propose the present state.
    """
    problem = Problem.of([FACTORS[0]] if not blocks else FACTORS[:2], NONE)
    layout = ChainLayout.of(problem, blocks)
    states = np.indices(problem.sizes.tolist()).reshape(len(problem.sizes), -1).T
    weights = np.exp(problem.log_product(states))
    kernel, lazy = np.zeros((2, len(states), len(states)))
    num_blocks = len(layout.blocks)
    for i, x in enumerate(states):
        for block in layout.blocks:
            same = [v for v in range(len(x)) if v not in block]
            others = [j for j, y in enumerate(states) if j != i and (x[same] == y[same]).all()]
            for j in others:
                kernel[i, j] += min(1, weights[j] / weights[i]) / len(others) / num_blocks
                lazy[i, j] += min(1, weights[j] / weights[i]) / (len(others) + 1) / num_blocks
        kernel[i, i], lazy[i, i] = 1 - kernel[i].sum(), 1 - lazy[i].sum()
    for one in (kernel, lazy):
        balance = weights[:, None] * one
        np.testing.assert_allclose(balance, balance.T, atol=1e-14)
    expected = lazy @ np.linalg.matrix_power(kernel, num_blocks - 1)
    repeats = 4000
    codes = layout.codes(np.repeat(states, repeats, axis=0))
    words = np.random.SeedSequence(3).generate_state(len(codes), np.uint64)
    chains = ChainArrays.unwatched(codes, layout.places(codes), words)
    metropolis_sweeps(1, problem.logs, layout.links, chains)
    assert chains.accepted.sum() / (num_blocks * len(codes)) > 0.2
    ends = np.ravel_multi_index(layout.states(codes).T, problem.sizes).reshape(len(states), repeats)
    got = np.stack([np.bincount(row, minlength=len(states)) / repeats for row in ends])
    assert np.abs(got - expected).max() < 4.5 * 0.5 / math.sqrt(repeats)


@pytest.mark.parametrize("num_variables", [1, 2, 3, 4])
def test_chains_that_take_every_proposal_reach_every_assignment(num_variables):
    """Uniform potentials over bits: n forced flips a sweep would keep parity, or turn it round each time."""
    bits = [Variable(f"U{place}", 2) for place in range(num_variables)]
    factors = [Factor(bits, np.ones((2,) * num_variables))]
    answer = Metropolis(num_chains=1, num_samples=4_000).query(factors, bits, NONE)
    assert np.abs(answer.values - 0.5**num_variables).max() < 1.5 * answer.info.error < 0.06
    assert answer.info.acceptance == 1
    states = Metropolis(num_chains=1, num_samples=4_000).draws(Problem.of(factors, NONE))
    parity = sum(states.values())[0] % 2
    assert 0.4 < (parity[1:] == parity[:-1]).mean() < 0.6


def test_a_wrong_ratio_gives_a_wrong_answer():
    """The correction for the proposal is not idle: left out, the answer moves towards what is proposed."""

    def biased(problem, states, rng):
        return mostly_up(problem, states, rng)[0], np.zeros(len(states))

    truth = Enumeration().query(FACTORS, [A], NONE).values
    wrong = Metropolis(biased, num_samples=4_000, burn_in=50, num_chains=40).query(FACTORS, [A], NONE)
    assert wrong.values[1] - truth[1] > 0.1


def test_intervals_cover_the_truth_at_their_nominal_rate():
    """95 % intervals hold the truth in 90-99 % of 100 runs."""
    truth = Enumeration().query(FACTORS, [A], NONE).values[0]
    inside = 0
    for seed in range(100):
        answer = Metropolis(num_samples=2_000, burn_in=50, seed=seed).query(FACTORS, [A], NONE)
        inside += abs(answer.values[0] - truth) <= answer.info.error
    assert 90 <= inside <= 99


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    """Chains have random numbers of their own; threads are used however little there is to do."""
    monkeypatch.setattr("plausible.inference.sampling.chain_layout._FEWEST_UPDATES", 0)
    answers = {
        Metropolis(num_samples=3_000, burn_in=5, num_threads=n).query(FACTORS, [A, C], NONE).values.tobytes()
        for n in (1, 2, None)
    }
    assert len(answers) == 1


def test_zeros_are_never_entered_and_trap_single_moves_only():
    """Two variables that must be equal: named where moves are single, no matter for a function that moves both."""
    factors = [Factor((A, C), [[1, 0], [0, 1]]), Factor((A,), [0.7, 0.3])]
    stuck = Metropolis(num_samples=400).query(factors, [A], NONE).info
    assert not stuck.converged
    assert "A, C" in stuck.advice
    both = Metropolis(flip_anything, num_samples=8_000, num_chains=40, burn_in=20).query(factors, [A, C], NONE)
    assert both.values[0, 1] == both.values[1, 0] == 0
    assert both.values[0, 0] == pytest.approx(0.7, abs=1.5 * both.info.error)
    assert "blocks=" not in both.info.advice or "R-hat" in both.info.advice


def test_one_state_variables_and_no_free_variables():
    """Nothing to propose."""
    one = Factor({"only": 1}, [2.0])
    assert Metropolis(num_samples=4).query([one], one.scope, NONE).values.tolist() == [1.0]
    known = Evidence.read({"A": 1, "B": 2, "C": 0}, {"A": A, "B": B, "C": C})
    assert Metropolis(num_samples=4).query(FACTORS, [B], known).values.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda p, x, r: None, "logarithm"),
        (lambda p, x, r: (x[:1], np.zeros(len(x))), "shape"),
        (lambda p, x, r: (x + 0.5, np.zeros(len(x))), "whole numbers"),
        (lambda p, x, r: (x + 5, np.zeros(len(x))), "'A' does not have"),
        (lambda p, x, r: (x, np.full(len(x), np.nan)), "no number"),
    ],
)
def test_proposals_that_return_something_else_are_refused(answer, words):
    """Naming what was wrong."""
    with pytest.raises(NotSupported, match=words):
        Metropolis(answer, num_samples=40, num_chains=3).query(FACTORS, [A], NONE)


@pytest.mark.parametrize(
    "options",
    [
        {"proposal": "gauss"},
        {"proposal": LikelihoodWeighting()},
        {"proposal": "block"},
        {"blocks": [["A"]]},
        {"seed": 0.5},
    ],
)
def test_options_out_of_range_are_refused(options):
    """By name."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        Metropolis(**options)
