"""What samplers say of themselves: nothing that was drawn is certain, and chains that can't move are not trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.base.query_info import QueryInfo
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.approximate_counts import expected_counts
from plausible.inference.buckets.mini_buckets import MiniBuckets
from plausible.inference.engines import JunctionTree
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.sampling.annealed_importance import AnnealedImportance
from plausible.inference.sampling.chain_diagnostics import told_r_hat
from plausible.inference.sampling.chains import Gibbs
from plausible.inference.sampling.collapsed_particles import CollapsedGibbs
from plausible.inference.sampling.directed_sampling import EvidenceNotSeen, LikelihoodWeighting, RejectionSampling
from plausible.inference.sampling.metropolis import Metropolis
from plausible.inference.sampling.sample_sums import importance_log_partition
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
A, B, C = (Variable(name, 2) for name in "ABC")
RARE = [Factor((A,), [0.999, 0.001])]
PAIR = [Factor((A, B), [[3, 1], [1, 2]])]
#: Products 1e-200, 1e-200, 1e-600 and 1: the total is one.
FAR_APART = [
    Factor((A, B), [[1e300, 1e-300], [1e-300, 1e-300]]),
    Factor((B,), [1e-300, 1e300]),
    Factor((A,), [1e-200, 1.0]),
]


def grid(width, coupling, seed=0):
    """A spin glass: a grid of couplings of either sign, with random fields."""
    rng = np.random.default_rng(seed)
    spin = {(i, j): Variable(f"{i},{j}", 2) for i in range(width) for j in range(width)}
    spins = np.array([[1, -1], [-1, 1]])
    pairs = [(one, (one[0] + di, one[1] + dj)) for one in spin for di, dj in ((0, 1), (1, 0))]
    edges = [Factor((spin[a], spin[b]), np.exp(coupling * rng.normal() * spins)) for a, b in pairs if b in spin]
    return edges + [Factor((v,), np.exp(rng.normal(0, 0.3, 2))) for v in spin.values()], spin[0, 0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("engine", [Metropolis, AnnealedImportance], ids=lambda e: e.__name__)
def test_a_state_that_was_never_drawn_is_not_called_impossible(engine, seed):
    """The error is at least three over the number of draws, and covers the truth; sizes don't exceed the draws."""
    options = {"num_samples": 200} if engine is Metropolis else {"num_particles": 200, "num_temperatures": 2}
    info = (answer := engine(seed=seed, **options).query(RARE, [A], NONE)).info
    assert abs(answer.values[1] - 0.001) <= info.error
    assert info.error >= 3 / info.num_steps
    assert info.effective_samples <= info.num_steps * (1 + 1e-9)


def test_one_state_and_observed_variables_stay_certain():
    """There is nothing to draw, so there is no error."""
    one = Variable("one", 1)
    factors = [*PAIR, Factor((one, A), [[1.0, 2.0]])]
    for engine in (Gibbs(), Metropolis(), CollapsedGibbs(["A"], JunctionTree(), num_samples=100)):
        assert engine.query(factors, [one], NONE).info.error == 0
        assert engine.query(factors, [A], Evidence({"A": 1}, {}, {})).info.error == 0


def test_probabilities_that_never_varied_are_certain_only_where_nothing_could_vary_them():
    """P(A | others) is constant for a variable alone; for one of a pair it may be so because the chains stand still."""
    alone = Gibbs(num_samples=1000).query([*RARE, *[Factor((B, C), [[3, 1], [1, 2]])]], [A], NONE)
    assert 1e-16 < alone.info.error < 1e-9
    assert alone.info.effective_samples <= alone.info.num_steps
    stuck = [Factor((A, B), [[1.0, 1e-9], [1e-9, 1e-3]])]
    answer = Gibbs(num_samples=1000, burn_in=10_000).query(stuck, [A], NONE)
    assert answer.info.error >= 3 / answer.info.num_steps
    assert answer.info.effective_samples <= answer.info.num_steps


def test_chains_that_refuse_nearly_all_proposals_say_so():
    """Whole assignments of a grid are hardly ever taken: the chains repeat themselves, and are worth as little."""
    factors, corner = grid(10, 1.0)
    info = Metropolis(LoopyBP(damping=0.5)).query(factors, [corner], NONE).info
    assert info.acceptance < 0.02
    assert not info.converged
    assert "proposal=" in info.advice
    assert info.effective_samples <= max(1, info.acceptance * info.num_steps)
    assert info.error > 0


def test_chains_with_an_engine_as_proposal_start_from_it():
    """Beliefs of 0.999 are where chains begin, not at random; zeros are kept clear of."""
    many = [Factor((Variable(f"X{i}", 2),), [0.999, 0.001]) for i in range(50)]
    zero = [*many, Factor((A, B), [[1.0, 0.0], [0.0, 1.0]])]
    for factors in (many, zero):
        problem = Problem.of(factors, NONE)
        state = Metropolis(LoopyBP(), num_chains=20).init(problem)
        assert state.codes[:, :50].mean() < 0.05
        assert np.isfinite(problem.log_product(np.asarray(state.codes))).all()


@pytest.mark.parametrize("engine", [Gibbs, Metropolis], ids=lambda e: e.__name__)
def test_one_chain_is_told_to_see_one_mode(engine):
    """Advice, without a change of what `converged` says; none with several chains."""
    one, four = (engine(num_samples=2000, num_chains=count).query(PAIR, [A], NONE).info for count in (1, 4))
    assert one.converged
    assert "num_chains" in one.advice
    assert four.converged
    assert four.advice == ""
    alone = CollapsedGibbs(["A"], JunctionTree(), num_samples=500, num_chains=1)
    assert "num_chains" in alone.query(PAIR, [B], NONE).info.advice


@pytest.mark.parametrize("value", [1.0100001, 1.0104, 1.3, math.inf])
def test_an_r_hat_that_is_too_large_reads_as_such(value):
    """The number in the sentence is larger than the limit in it."""
    words = told_r_hat(value).replace(",", "").split()
    assert float(words[2]) > float(words[-1])


class OneWorse:
    """An engine whose answer is worse the more of the variable is asked given B = 1."""

    def query(self, factors, targets, evidence):
        """Records that differ in every field."""
        worst = evidence.hard["B"] == 1
        info = QueryInfo("x", False, True, 0.5 if worst else 0.1, num_steps=7 if worst else 9, effective_samples=3.0)
        return Factor(targets, [0.5, 0.5]).with_info(info)


@pytest.mark.parametrize("rows", [[[-1, 0], [-1, 1]], [[-1, 1], [-1, 0]]], ids=str)
def test_the_record_of_expected_counts_is_that_of_one_row(rows):
    """All fields come from the row with the largest error."""
    table = np.array(rows, dtype=np.int32)
    info = expected_counts(PAIR, {"A": [A]}, [A, B], table, np.ones(2), OneWorse()).info
    assert info == QueryInfo("x", False, True, 0.5, num_steps=7, effective_samples=3.0)


def test_effective_samples_of_expected_counts_are_no_more_than_the_draws():
    """However little the chains of a row vary."""
    rows = np.array([[-1, 0], [0, -1], [-1, -1]], dtype=np.int32)
    info = expected_counts(PAIR, {"A": [A, B]}, [A, B], rows, np.ones(3), Gibbs(num_samples=1000)).info
    assert info.effective_samples <= info.num_steps
    assert info.error > 1e-6


@pytest.mark.parametrize("sampled", [["A"], ["B"], ["A", "B"]], ids="".join)
def test_entries_further_apart_than_floats_keep_their_total_with_an_engine_inside(sampled):
    """The engine inside gets the factors as they were given, not scaled to a peak of one and clipped."""
    engine = CollapsedGibbs(sampled, JunctionTree(), num_samples=200)
    assert engine.log_total(FAR_APART, NONE) == pytest.approx(0.0, abs=1e-9)
    assert engine.query(FAR_APART, [A, B], NONE).values[1, 1] == pytest.approx(1.0)


def test_variables_are_summed_out_of_entries_further_apart_than_floats():
    """Products 1e10, 1, 1e-590 and 1: B is in its first state, which scaled factors have no room to say."""
    factors = [FAR_APART[0], Factor((B,), [1e-290, 1e300])]
    answer = Metropolis(num_samples=1000, collapsed=["A"]).query(factors, [A, B], NONE)
    np.testing.assert_allclose(answer.values, [[1, 0], [0, 0]], atol=1e-6)


def test_a_marginal_maximum_of_entries_further_apart_than_floats_is_bracketed():
    """log max_A Σ_B Π φ = log Π φ(1, 1) = 0."""
    problem = Problem.of(FAR_APART, NONE)
    found = MiniBuckets().marginal_map(problem, [0])
    assert found.lower + problem.log_scale <= 1e-9
    assert found.upper + problem.log_scale >= -1e-9
    assert found.lower + problem.log_scale == pytest.approx(0.0, abs=1e-6)


def test_sampled_variables_that_zeros_tie_are_named():
    """A = B always, so that neither moves alone: no answer of the chains is to be trusted; with A alone it is."""
    factors = [
        Factor((A,), [0.9, 0.1]),
        Factor((A, B), [[1, 0], [0, 1.0]]),
        Factor((B, C), [[0.9, 0.1], [0.2, 0.8]]),
    ]
    tied = CollapsedGibbs(["A", "B"], JunctionTree(), num_samples=2000).query(factors, [C], NONE).info
    assert not tied.converged
    assert "A, B" in tied.advice
    assert tied.error >= 3 / 2000
    free = CollapsedGibbs(["A"], JunctionTree(), num_samples=2000).query(factors, [C], NONE)
    assert free.info.converged
    assert abs(free.values[0] - 0.83) <= 1.6 * free.info.error


@pytest.mark.parametrize(
    ("densities", "words"),
    [
        (np.full((50, 1), -1.0), "shape"),
        (np.full(49, -1.0), "shape"),
        (np.full(50, -math.inf), "finite"),
        (np.full(50, math.nan), "finite"),
        (np.full(50, 1.0), "not positive"),
        (["x"] * 50, "numbers"),
    ],
    ids=["column", "too few", "-inf", "nan", "positive", "words"],
)
def test_densities_that_are_none_are_refused(densities, words):
    """One logarithm of a probability for each sample."""
    with pytest.raises(InvalidArgument, match=words):
        importance_log_partition({"A": np.zeros(50, int), "B": np.zeros(50, int)}, densities, PAIR)


def test_intervals_of_few_weights_cover_the_truth():
    """log 7 from six uniform samples, 400 times over: Student's t is wider than the normal."""
    rng, hits = np.random.default_rng(3), 0
    for _ in range(400):
        draws = {"A": rng.integers(0, 2, 6), "B": rng.integers(0, 2, 6)}
        found = importance_log_partition(draws, np.full(6, -math.log(4)), PAIR)
        weights = np.array([[3, 1], [1, 2]])[draws["A"], draws["B"]]
        if (spread := weights.std(ddof=1) / math.sqrt(6) / weights.mean()) > 0:
            assert found.info.error > 2.2 * spread
        hits += found.lower <= math.log(7) <= found.upper
    assert hits > 340


def test_a_class_is_no_proposal():
    """The message has the fix."""
    with pytest.raises(InvalidArgument, match=r"write LoopyBP\(\)"):
        Metropolis(LoopyBP)


@pytest.mark.parametrize("sampler", [RejectionSampling, LikelihoodWeighting], ids=lambda s: s.__name__)
def test_that_no_sample_agrees_is_said_once(sampler):
    """One sentence for it, and one with what to do."""
    rare = [Factor((A,), [1.0, 1e-12]), Factor((A, B), [[1.0, 0.0], [0.0, 1.0]])]
    with pytest.raises(EvidenceNotSeen) as caught:
        sampler(1000).query(rare, [A], Evidence({"B": 1}, {}, {}))
    assert str(caught.value).startswith("None of 1000 samples agrees with the evidence. Draw more")
    assert str(caught.value).count("samples") == 1


def test_totals_of_large_models_by_chains_are_doubted_with_bounds_as_the_way_out(monkeypatch):
    """`Gibbs` leaves totals to annealing, whose weights are too unequal on a large grid; fewer particles are taken."""
    monkeypatch.setattr("plausible.inference.sampling.chains._MAX_ANNEALED", 3_000_000)  # a third of the work
    found = Gibbs().log_total(grid(18, 1.5)[0], NONE)
    assert found.info.num_steps < 200
    assert not found.info.converged
    for words in ("AnnealedImportance()", "MiniBuckets()", "TreeReweightedBP()"):
        assert words in found.info.advice
