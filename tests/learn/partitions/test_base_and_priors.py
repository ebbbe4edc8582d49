"""Base measures, priors over partitions, sticks and Dirichlet draws, against densities of SciPy and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from partition_oracle import partitions
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.partitions.base_measures import (
    BaseMeasure,
    DirichletStates,
    NormalInverseWishart,
    default_base,
    normal_inverse_gamma,
)
from plausible.learn.partitions.dirichlet_process_mixture import pair_distance, variation_of_information
from plausible.learn.partitions.partition_priors import (
    ChineseRestaurant,
    FiniteDirichlet,
    break_sticks,
    canonical_labels,
    expected_remainder,
    sample_dirichlet,
    sticks_needed,
)
from refusals import refuses

PRIORS = [ChineseRestaurant(0.7), ChineseRestaurant(3.0), FiniteDirichlet(1.5, 3), FiniteDirichlet(0.4, 1)]


def test_the_worked_numbers_of_the_chinese_restaurant():
    """W11: α₀ = 1, three rows: 1/3, 1/6 each, 1/6; expected clusters of four rows."""
    prior = ChineseRestaurant(1.0)
    chances = {labels: math.exp(prior.log_probability(labels)) for labels in partitions(3)}
    assert chances[0, 0, 0] == pytest.approx(1 / 3)
    assert [chances[labels] for labels in [(0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]] == pytest.approx([1 / 6] * 4)
    assert prior.expected_clusters(4) == pytest.approx(2.083333, abs=1e-6)
    assert ChineseRestaurant(2.0).expected_clusters(4) == pytest.approx(2.566667, abs=1e-6)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_priors_are_products_of_seatings_in_any_order(prior):
    """P(partition) = Π of the weights of joining and opening, for every order of the rows; and they sum to one."""
    total, clusters = 0.0, 0.0
    share = prior.concentration / prior.max_clusters
    for labels in partitions(4):
        chance = math.exp(prior.log_probability(labels))
        total, clusters = total + chance, clusters + chance * len(set(labels))
        for order in itertools.permutations(range(4)):
            product, sizes = 1.0, {}
            for number, row in enumerate(order):
                opening = prior.concentration - len(sizes) * share
                weight = sizes[labels[row]] + share if labels[row] in sizes else opening
                product *= weight / (prior.concentration + number)
                sizes[labels[row]] = sizes.get(labels[row], 0) + 1
            assert product == pytest.approx(chance, abs=1e-12)
    assert total == pytest.approx(1.0)
    assert prior.expected_clusters(4) == pytest.approx(clusters)
    assert prior.log_probability([]) == 0.0
    assert prior.expected_clusters(0) == 0.0


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_samples_of_priors_have_their_probabilities(prior):
    """Frequencies of all partitions of three rows, within five standard errors."""
    rng = np.random.default_rng(3)
    draws = [tuple(prior.sample(3, seed=rng).tolist()) for _ in range(4000)]
    for labels in partitions(3):
        chance = math.exp(prior.log_probability(labels))
        assert abs(draws.count(labels) / 4000 - chance) <= 5 * math.sqrt(chance * (1 - chance) / 4000) + 1e-12
    assert prior.sample(0).size == 0


def test_finite_clusters_become_the_restaurant():
    """As K grows, P(partition) tends to that of the Chinese restaurant process."""
    gaps = [
        abs(
            FiniteDirichlet(1.3, K).log_probability([0, 0, 1, 2, 1])
            - ChineseRestaurant(1.3).log_probability([0, 0, 1, 2, 1])
        )
        for K in (10, 1000, 100000)
    ]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]
    assert gaps[2] < 1e-4


def test_expected_clusters_grow_as_the_logarithm():
    """The asymptotic form errs by no more than a constant."""
    prior = ChineseRestaurant(2.0)
    gaps = [prior.expected_clusters(n) - prior.asymptotic_clusters(n) for n in (10**3, 10**4, 10**5)]
    assert np.ptp(gaps) < 0.01


def test_sticks_sum_to_one_and_leave_what_is_expected():
    """Weights and remainder are one; the mean remainder is (α₀ / (1 + α₀))^T; the mean first weight 1 / (1 + α₀)."""
    rng = np.random.default_rng(0)
    draws = [break_sticks(1.5, 6, seed=rng) for _ in range(4000)]
    assert all(abs(d.weights.sum() + d.remainder - 1) < 1e-12 for d in draws)
    remainders = np.array([d.remainder for d in draws])
    assert abs(remainders.mean() - (1.5 / 2.5) ** 6) < 5 * remainders.std() / math.sqrt(4000)
    firsts = np.array([d.weights[0] for d in draws])
    assert abs(firsts.mean() - 1 / 2.5) < 5 * firsts.std() / math.sqrt(4000)
    needed = sticks_needed(1.5, 100, 0.01)
    assert 100 * expected_remainder(1.5, needed) <= 0.01 < 100 * expected_remainder(1.5, needed - 1)
    refuses(InvalidArgument, "concentration", break_sticks, 0.0, 3)


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [0.3, 2.0, 5.0], [1e-3, 1e-3]], ids=str)
def test_dirichlet_draws_have_the_moments_of_the_distribution(alpha):
    """Means and variances within Monte Carlo error, also where the gammas themselves would be zero."""
    draws, law = sample_dirichlet(alpha, 20000, seed=1), stats.dirichlet(alpha)
    assert np.allclose(draws.sum(axis=1), 1.0)
    assert np.abs(draws.mean(axis=0) - law.mean()).max() < 5 * np.sqrt(law.var().max() / 20000)
    assert np.abs(draws.var(axis=0) / law.var() - 1).max() < 0.1
    refuses(InvalidArgument, "positive", sample_dirichlet, [1.0, 0.0])


def test_the_normal_inverse_wishart_predicts_a_multivariate_t():
    """Its predictive is SciPy's multivariate t; that of one number Student's t."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    part = NormalInverseWishart(("a", "b", "c"), [1.0, 2.0, 3.0], 0.4, 5.5, root @ root.T + np.eye(3))
    rows = rng.normal(size=(4, 3))
    law = stats.multivariate_t(part.mean, part.scale * 1.4 / (0.4 * 3.5), df=3.5)
    assert part.log_predictive(rows) == pytest.approx(law.logpdf(rows))
    single = normal_inverse_gamma("a", 1.0, 0.5, 2.0, 3.0)
    law = stats.t(4.0, loc=1.0, scale=math.sqrt(3.0 * 1.5 / (2.0 * 0.5)))
    assert single.log_predictive(rows[:, :1]) == pytest.approx(law.logpdf(rows[:, 0]))


def _random_table(rng, num_rows=6):
    numbers = rng.normal(size=(num_rows, 2))
    numbers[0, 0] = np.nan
    states = rng.choice(["a", "b", "c"], num_rows).astype(object)
    states[1] = None
    return Table.read({"x": numbers[:, 0], "y": numbers[:, 1], "s": states.tolist(), "one": ["k"] * num_rows})


def test_marginal_likelihoods_are_products_of_predictives_in_any_order():
    """log P(rows) = Σ log Q(x | rows before), with missing cells and a variable of one state; zero for no rows."""
    rng = np.random.default_rng(5)
    table = _random_table(rng)
    complete = table.take(~np.isnan(table.numbers).any(axis=0))
    for rows, base in [(table, default_base(table)), (complete, default_base(complete, covariance="full"))]:
        whole = base.log_marginal(rows)
        for _ in range(4):
            order, total, law = rng.permutation(rows.num_rows), 0.0, base
            for row in order:
                one = rows.take(np.array([row]))
                total, law = total + law.log_predictive(one)[0], law.updated(one)
            assert total == pytest.approx(whole, abs=1e-9)
        assert base.log_marginal(rows.take(np.zeros(rows.num_rows, dtype=bool))) == 0.0


def test_base_measures_refuse_what_they_cannot_hold():
    """Part of a block missing, a feature twice, no positive pseudo-counts, no positive definite scale."""
    table = _random_table(np.random.default_rng(0))
    refuses(NotSupported, "diagonal", default_base(table, covariance="full").log_marginal, table)
    refuses(InvalidArgument, "2 parts", BaseMeasure, (DirichletStates("s", (1.0,)), DirichletStates("s", (1.0,))))
    refuses(InvalidArgument, "positive", DirichletStates, "s", (1.0, 0.0))
    refuses(InvalidArgument, "positive definite", NormalInverseWishart, ("a", "b"), [0, 0], 1.0, 3.0, [[1, 2], [2, 1]])
    refuses(InvalidArgument, "degrees", NormalInverseWishart, ("a", "b"), [0, 0], 1.0, 1.0, np.eye(2))


def test_distances_equal_their_definitions():
    """Variation of information and Binder's loss from all pairs and overlaps, whatever the clusters are called."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        a, b = rng.integers(0, 3, 9), rng.integers(0, 4, 9)
        pairs = (a[:, None] == a) != (b[:, None] == b)
        assert pair_distance(a, b) == pytest.approx(pairs.mean())
        joint = np.array([[np.mean((a == i) & (b == j)) for j in range(4)] for i in range(3)])
        entropy = stats.entropy
        told = 2 * entropy(joint.ravel()) - entropy(joint.sum(axis=0)) - entropy(joint.sum(axis=1))
        assert variation_of_information(a, b) == pytest.approx(told, abs=1e-12)
        assert variation_of_information(a, 7 - canonical_labels(a)) == 0.0


def test_a_column_far_from_zero_keeps_its_variance_and_equal_numbers_have_none():
    """The base measure of x + 1e12 has the variance of x; of equal numbers it is one, though their mean is rounded."""
    numbers = np.array([0.5, 1.0, 2.0, 5.0])
    parts = default_base(Table.read({"x": numbers + 1e12, "y": [0.1] * 4}), within=1.0).parts
    assert [float(part.scale[0, 0]) for part in parts] == pytest.approx([numbers.var(), 1.0])
