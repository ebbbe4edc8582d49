"""Chains over partitions against the enumeration of all partitions."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from partition_oracle import partitions
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.partitions.base_measures import default_base
from plausible.learn.partitions.dirichlet_process_mixture import LOSSES, DirichletProcessMixture, sample_partitions
from plausible.learn.partitions.partition_chain import (
    GammaPrior,
    PartitionModel,
    PartitionMoves,
    PartitionProblem,
    Workspace,
    cluster_posteriors,
    partition_init,
    partition_step,
)
from plausible.learn.partitions.partition_priors import ChineseRestaurant, FiniteDirichlet
from plausible.search.chains import ChainLengths
from refusals import refuses

PRIORS = [ChineseRestaurant(1.3), FiniteDirichlet(1.3, 3)]


def _problem(num_rows=4, covariance="diagonal"):
    rng = np.random.default_rng(4)
    x = rng.normal(size=num_rows) + 2.5 * (np.arange(num_rows) % 2)
    if covariance == "diagonal":
        x[0] = np.nan
    data = Table.read({"x": x, "y": rng.normal(size=num_rows), "s": [None, *rng.choice(["a", "b"], num_rows - 1)]})
    return PartitionProblem.of(data, default_base(data, covariance=covariance))


def _log_joint(problem, prior):
    """log P(partition, rows) of all partitions, by closed forms that kernels don't use."""
    table, base = problem.table, problem.base
    return {
        labels: prior.log_probability(labels)
        + sum(base.log_marginal(table.take(np.array(labels) == cluster)) for cluster in set(labels))
        for labels in partitions(problem.num_rows)
    }


def _joined(labels, first, second):
    """The partition with two clusters made one."""
    merged = [first if k == second else k for k in labels]
    names = {k: i for i, k in enumerate(dict.fromkeys(merged))}
    return tuple(names[k] for k in merged)


def _log_ratio(problem, prior, labels, order, sequential):
    """What the kernel says of the split of a cluster into those of rows order[0] and order[1]."""
    from plausible.kernels.clusters import weigh_split

    space = Workspace(problem, np.array(labels), problem.num_rows + 4, 0)
    num, size = max(labels) + 1, len(order)
    space.moves.order[:size] = order
    space.moves.sides[:size] = [labels[row] != labels[order[0]] for row in order]
    slots, chosen = (num, num + 1, num + 2), (size, num - 1, sequential, True)
    pair = (prior.concentration, prior.max_clusters)
    return weigh_split(problem.rows, problem.arrays, space.clusters, space.moves, pair, slots, chosen)[0]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_merges_and_splits_are_in_detailed_balance_on_all_pairs(prior):
    """Ex 19.31: P(merged) q(split) min(1, r) = P(split) min(1, 1/r), for all partitions of four rows and all pairs.

    q is 2^-(n-2): the two rows that were chosen stay apart, so the loop over the cluster must skip them.
    """
    problem = _problem(4)
    joint = _log_joint(problem, prior)
    for labels in partitions(4):
        for m, other in ((m, k) for m in range(4) for k in range(4) if labels[m] != labels[k]):
            order = [
                m,
                other,
                *(r for r in range(4) if r not in (m, other) and labels[r] in (labels[m], labels[other])),
            ]
            merged = joint[_joined(labels, labels[m], labels[other])]
            log_proposal = -(len(order) - 2) * math.log(2)
            told = _log_ratio(problem, prior, labels, order, sequential=False)
            if joint[labels] == -math.inf:
                assert told == -math.inf
                continue
            assert told == pytest.approx(joint[labels] - merged - log_proposal, abs=1e-9)
            forth, back = merged + log_proposal + min(0, told), joint[labels] + min(0, -told)
            assert forth == pytest.approx(back, abs=1e-9)


def test_the_acceptance_of_a_merge_is_that_of_the_book():
    """(n - 1)! / (α₀ (n1 - 1)! (n2 - 1)!) P(D_I∪I') / (P(D_I) P(D_I')) 2^-(n-2), its inverse for the split."""
    problem, alpha = _problem(5), 1.3
    parts = [problem.base.log_marginal(problem.table.take(np.array(rows))) for rows in ([0, 1, 2], [3, 4])]
    whole = problem.base.log_marginal(problem.table)
    merge = math.log(math.factorial(4) / (alpha * math.factorial(2) * math.factorial(1))) + whole - sum(parts)
    merge -= 3 * math.log(2)
    told = _log_ratio(problem, ChineseRestaurant(alpha), (0, 0, 0, 1, 1), [0, 3, 1, 2, 4], sequential=False)
    assert told == pytest.approx(-merge, abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_sequential_splits_propose_a_distribution(prior):
    """For a fixed order, the probabilities of all divisions sum to one: Σ exp(log joint ratio - told ratio) = 1."""
    problem, order = _problem(5), [1, 3, 4, 0, 2]
    joint, total = _log_joint(problem, prior), 0.0
    for labels in partitions(5):
        if max(labels) == 1 and labels[1] != labels[3]:
            told = _log_ratio(problem, prior, labels, order, sequential=True)
            total += math.exp(joint[labels] - joint[(0,) * 5] - told)
    assert total == pytest.approx(1.0)


MOVES = [
    PartitionMoves(1, 0),
    PartitionMoves(0, 8, "random"),
    PartitionMoves(0, 8),
    PartitionMoves(),
    PartitionMoves(1, 0, labelled=True),
]


@pytest.mark.parametrize("moves", MOVES, ids=repr)
@pytest.mark.parametrize(("covariance", "prior"), [("diagonal", PRIORS[0]), ("full", PRIORS[1])], ids=str)
def test_frequencies_of_partitions_are_those_of_the_enumerated_posterior(moves, covariance, prior):
    """P(partition | rows) within Monte Carlo error, and the tracked log posterior is the enumerated one."""
    rows, prior = _problem(4, covariance), PRIORS[1] if moves.labelled else prior
    joint = _log_joint(rows, prior)
    logs = np.array(list(joint.values()))
    posterior = np.exp(logs - np.logaddexp.reduce(logs))
    lengths = ChainLengths(num_draws=400, num_chains=2, burn_in=20, thin=1)
    found = sample_partitions(rows, PartitionModel(prior), moves, lengths=lengths, seed=7)
    draws = [tuple(labels) for chain in found.labels.tolist() for labels in chain]
    assert found.log_posteriors.ravel() == pytest.approx([joint[labels] for labels in draws], abs=1e-9)
    told = np.array([draws.count(labels) for labels in joint]) / len(draws)
    # draws of one chain depend on each other: as if a fifth of them were independent
    assert (np.abs(told - posterior) < 5 * np.sqrt(posterior / (len(draws) / 5)) + 0.004).all()
    # the number of clusters hardly depends on that before: as if half of them were independent
    numbers = np.array([max(labels) + 1 for labels in joint])
    variance = posterior @ numbers**2 - (posterior @ numbers) ** 2
    assert abs((told - posterior) @ numbers) < 4 * np.sqrt(variance / (len(draws) / 2))


def test_the_concentration_is_drawn_from_its_posterior():
    """Escobar & West: with rows that say nothing, the mean number of clusters and of α₀ are those of the prior."""
    problem = PartitionProblem.of({"k": ["one"] * 8})
    model = PartitionModel(ChineseRestaurant(1.0), GammaPrior(3.0, 2.0))
    lengths = ChainLengths(num_draws=600, num_chains=2, burn_in=20, thin=1)
    found = sample_partitions(problem, model, lengths=lengths)
    grid = np.linspace(1e-3, 15, 4000)
    weights = grid**2 * np.exp(-2 * grid)
    clusters = np.average([(a / (a + np.arange(8))).sum() for a in grid], weights=weights)
    report = found.diagnostics
    for name, expected in (("concentration", 1.5), ("number of clusters", clusters)):
        assert abs(report[name].mean - expected) < 5 * report[name].standard_error, name


def test_draws_of_the_concentration_leave_its_posterior_as_it_is():
    """Given L clusters of N rows, p(α₀ | L) ∝ p(α₀) α₀^L Γ(α₀) / Γ(α₀ + N), by quadrature."""
    law, rng, alpha, draws = GammaPrior(0.6, 1.0), np.random.default_rng(0), 1.0, []
    for _ in range(20000):
        alpha = law.draw(alpha, 3, 1, rng)
        draws.append(alpha)
    grid = np.linspace(0, 5, 200001)[1:] ** 3  # dense near zero, where the density has no bound
    weights = grid**0.6 * np.exp(-grid) / (grid * (grid + 1) * (grid + 2)) * np.gradient(grid)
    assert np.mean(draws) == pytest.approx(np.average(grid, weights=weights), rel=0.05)


def test_chains_can_be_pickled_stopped_and_taken_up_again():
    """Two runs in a row make the draws of one; a true answer of progress= and a time limit stop."""
    problem, model = _problem(6), PartitionModel(ChineseRestaurant(1.0), GammaPrior())
    whole = sample_partitions(problem, model, lengths=ChainLengths(20, 2, 0, 1), seed=3)
    first = sample_partitions(problem, model, lengths=ChainLengths(10, 2, 0, 1), seed=3)
    states = pickle.loads(pickle.dumps(first.states))
    second = sample_partitions(problem, model, lengths=ChainLengths(10, 2, 9, 1), start=states)
    assert np.array_equal(np.concatenate([first.labels, second.labels], axis=1), whole.labels)
    assert np.array_equal(second.concentrations, whole.concentrations[:, 10:])
    told = []
    stopped = sample_partitions(problem, progress=lambda p: told.append(p.num_steps) or p.num_steps == 103)
    assert told == list(range(1, 104))
    assert stopped.labels.shape == (4, 3, 6)
    assert "progress" in stopped.run.shortfall
    assert sample_partitions(problem, time_limit=0.0).stopped_by == "time limit"


def test_a_chain_that_was_stopped_in_its_burn_in_finishes_it():
    """The draws are those of a run that was never stopped."""
    problem, lengths = _problem(6), ChainLengths(10, 2, 15, 1)
    whole = sample_partitions(problem, lengths=lengths, seed=3)
    stopped = sample_partitions(problem, lengths=lengths, seed=3, progress=lambda told: told.num_steps == 6)
    again = sample_partitions(problem, lengths=lengths, start=stopped.states)
    assert np.array_equal(again.labels, whole.labels)
    assert max(len(repr(value)) for value in (whole, whole.problem, whole.states[0])) < 120


def test_a_step_finds_room_for_all_clusters():
    """From one cluster to as many as rows, beyond the slots that a step begins with."""
    problem = PartitionProblem.of({"k": ["one"] * 60})
    model = PartitionModel(ChineseRestaurant(1e6))
    state = partition_step(problem, model, PartitionMoves(1, 3), partition_init(problem, model, start="one"))
    assert state.num_clusters > 55
    expected = problem.base.log_marginal(problem.table) + model.prior.log_probability(state.labels)
    assert state.log_posterior == pytest.approx(expected)


def test_summaries_equal_their_definitions():
    """Co-clustering, point estimates and densities of new rows, from all draws by hand."""
    problem = _problem(5)
    found = sample_partitions(problem, lengths=ChainLengths(40, 2, 10, 1), seed=1)
    draws = found.labels.reshape(-1, 5)
    together = np.mean([labels[:, None] == labels for labels in draws], axis=0)
    assert found.co_clustering == pytest.approx(together)
    squares = [((labels[:, None] == labels) - together) ** 2 for labels in draws]
    best = found.point_estimate("least squares")
    assert (((best[:, None] == best) - together) ** 2).sum() == pytest.approx(min(s.sum() for s in squares))
    best = found.point_estimate("map")
    assert tuple(best) == tuple(draws[found.log_posteriors.ravel().argmax()])
    assert sum(found.cluster_probabilities.values()) == pytest.approx(1.0)
    new = Table.read({"x": [0.3, np.nan], "y": [1.0, 2.0], "s": ["a", None]}, problem.table.variables)
    densities = []
    for labels in draws:
        groups = [problem.table.take(labels == k) for k in range(labels.max() + 1)]
        laws = cluster_posteriors(problem, labels)
        terms = [g.num_rows * np.exp(law.log_predictive(new)) for g, law in zip(groups, laws, strict=True)]
        densities.append((sum(terms) + np.exp(problem.base.log_predictive(new))) / 6)
    assert found.log_density(new) == pytest.approx(np.log(np.mean(densities, axis=0)))


def test_separated_clusters_are_found_by_the_estimator():
    """Three clusters of states, numbers and missing cells; sampled rows look like the data."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 3)) + 7 * truth[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    data = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "s": np.array(["u", "v", "w"])[truth].tolist()}
    for loss in LOSSES:
        mixture = DirichletProcessMixture(loss=loss, lengths=ChainLengths(30, 2, 30, 1), seed=2).fit(data)
        pairs = (mixture.labels_[:, None] == mixture.labels_) == (truth[:, None] == truth)
        assert pairs.mean() > 0.98
    assert np.mean(mixture.predict(data) == mixture.labels_) > 0.98
    drawn = mixture.sample(400, seed=1)
    assert list(drawn.columns) == list(data)
    assert abs(drawn["a"].mean() - np.nanmean(X[:, 0])) < 2
    assert mixture.score(drawn) > mixture.score(
        {name: drawn[name].to_numpy()[::-1] if name == "s" else drawn[name] for name in data}
    )
    finite = DirichletProcessMixture(num_clusters=2, lengths=ChainLengths(10, 1, 10, 1)).fit(data)
    assert finite.posterior_.num_clusters.max() <= 2


def test_degenerate_data():
    """No rows, one row, a constant column, a row of which nothing is known."""
    short = ChainLengths(4, 1, 0, 1)
    assert sample_partitions({"a": np.empty(0)}, lengths=short).labels.shape == (1, 4, 0)
    assert sample_partitions({"a": [1.5]}, lengths=short).labels.tolist() == [[[0]] * 4]
    found = sample_partitions({"a": [2.5, 2.5, np.nan], "b": ["k", "k", None]}, lengths=short)
    assert np.isfinite(found.log_posteriors).all()


def test_errors_say_what_to_do():
    """Options that don't go together, starts that don't fit, weights."""
    problem = _problem(4)
    refuses(InvalidArgument, "merge_splits=0", PartitionMoves, labelled=True)
    with pytest.raises(InvalidArgument, match="FiniteDirichlet as the prior"):
        sample_partitions(problem, moves=PartitionMoves(1, 0, labelled=True))
    refuses(InvalidArgument, "fixed one", PartitionModel, FiniteDirichlet(1.0, 2), GammaPrior())
    with pytest.raises(InvalidArgument, match="more than the prior"):
        partition_init(problem, PartitionModel(FiniteDirichlet(1.0, 2)), start="apart")
    refuses(NotSupported, "repeat", PartitionProblem.of, problem.table.weighted([1, 2, 1, 1]))
    refuses(ValueError, "has not seen any data", DirichletProcessMixture().predict, [[1.0]])
    with pytest.raises(InvalidArgument, match="is expecting 1 features"):
        DirichletProcessMixture(lengths=ChainLengths(4, 1, 0, 1)).fit([[0.5], [1.5]]).predict([[1.0, 2.0]])


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn on purpose
def test_the_checks_of_scikit_learn_are_passed():
    """All that apply."""
    pytest.importorskip("sklearn", reason="scikit-learn, whose checks these are, is not a dependency")
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(DirichletProcessMixture(lengths=ChainLengths(4, 1, 3, 1)), on_fail=None)
    assert {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 30
