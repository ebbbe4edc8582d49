"""How much a hidden variable tells, and how many states it should have."""

import math

import numpy as np
import pytest

from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.priors import K2
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_scores.cardinality import (
    choose_cardinality,
    cluster_cardinality,
    grow_cardinality,
    split_state,
)
from plausible.learn.incomplete_scores.information_content import information_content, parameter_budget
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.models import BayesianNetwork

QUICK = ScoreOptions(restarts=1, tolerance=1e-6, num_draws=50, burn_in=20)
NAIVE = "H -> x0; H -> x1; H -> x2; H -> x3"


def clusters(seed, num_rows=150, num_clusters=3, num_states=3, num_features=4):
    """Rows of clusters that are well apart: each feature is that of its cluster nine times out of ten."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, num_clusters, num_rows)
    noise = rng.integers(0, num_states, (num_features, num_rows))
    keep = rng.random((num_features, num_rows)) < 0.9
    return {f"x{i}": np.where(keep[i], cluster % num_states, noise[i]).tolist() for i in range(num_features)}


def random_naive(rng, num_states, num_features):
    """Naive Bayes with random tables."""
    rows = rng.dirichlet(np.ones(2), (num_features, num_states))
    return BayesianNetwork(
        TableCPD("H", rng.dirichlet(np.ones(num_states))),
        *(TableCPD(f"x{i}", rows[i], ["H"]) for i in range(num_features)),
    )


def entropy(shares):
    shares = np.ravel(shares)
    return -(shares[shares > 0] * np.log(shares[shares > 0])).sum()


def test_the_best_start_alone_is_taken_to_the_end():
    """Runs that will not win are not worth the slow last steps; what wins is as high as if all had made them."""
    rows = clusters(0, 300, num_clusters=2)
    found = ScoreTask.of(NAIVE, rows, hidden={"H": 4}).fit
    thorough = learn_em(NAIVE, rows, K2(), hidden={"H": 4}, restarts=4, tolerance=1e-9, max_steps=20_000)
    assert found.converged
    assert found.objective >= thorough.objective - 1e-6
    assert sum(run.num_steps for run in found.runs) < sum(run.num_steps for run in thorough.runs) / 2


@pytest.mark.parametrize("seed", range(10))
def test_the_functional_lies_between_the_likelihoods_and_is_made_of_information(seed):
    """ℓ(θ)/M ≤ Σ I(X; H) - I(H; X₁...Xₙ) - Σ H(X) ≤ ℓ(θ')/M; without the middle term the upper bound fails (W9)."""
    rng = np.random.default_rng(seed)
    size = 2 + seed % 2
    net, bits = random_naive(rng, size, 4), rng.integers(0, 2, (60, 4))
    found = information_content(net, {f"x{i}": bits[:, i].tolist() for i in range(4)}, "H")
    own = net.cpd("H").to_factor().values
    joint = np.array(
        [own * np.prod([net.cpd(f"x{i}").to_factor().values[:, b] for i, b in enumerate(row)], axis=0) for row in bits]
    )
    chances = joint / joint.sum(axis=1, keepdims=True)
    told = entropy(chances.mean(axis=0)) - np.mean([entropy(row) for row in chances])
    middle = -told
    for i in range(4):
        table = np.array([chances[bits[:, i] == b].sum(axis=0) for b in (0, 1)]) / 60
        information = entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table)
        assert found.information[f"x{i}"] == pytest.approx(information, abs=1e-9)
        assert found.entropies[f"x{i}"] == pytest.approx(entropy(table.sum(axis=1)), abs=1e-9)
        middle += information - entropy(table.sum(axis=1))
    assert found.lower == pytest.approx(np.log(joint.sum(axis=1)).mean(), abs=1e-9)
    assert found.joint_information == pytest.approx(told, abs=1e-9)
    assert found.functional == pytest.approx(middle, abs=1e-9)
    assert found.lower <= found.functional + 1e-12 <= found.upper + 2e-12
    assert sum(found.information.values()) - sum(found.entropies.values()) > found.functional
    assert len(found.left) == 6
    assert min(found.left.values()) >= 0


def test_the_printed_upper_bound_fails_for_two_copies_of_a_coin():
    """Σ I - Σ H = 0, which is not below ℓ/M = log ½ (W9)."""
    copy = [[1.0, 0.0], [0.0, 1.0]]
    net = BayesianNetwork(TableCPD("H", [0.5, 0.5]), TableCPD("X", copy, ["H"]), TableCPD("Y", copy, ["H"]))
    found = information_content(net, {"X": [0, 1], "Y": [0, 1]}, "H")
    assert sum(found.information.values()) - sum(found.entropies.values()) == pytest.approx(0.0, abs=1e-12)
    assert found.upper == pytest.approx(math.log(0.5))
    assert found.functional == pytest.approx(math.log(0.5))
    assert "X: I = 0.6931" in str(found)


def test_what_a_hidden_variable_leaves_is_seen_in_its_children():
    """x0 and x1 are copies beyond what a constant H explains: I(x0; x1 | H) = log 2."""
    flat = [[0.5, 0.5], [0.5, 0.5]]
    net = BayesianNetwork(TableCPD("H", [0.5, 0.5]), TableCPD("x0", flat, ["H"]), TableCPD("x1", flat, ["H"]))
    found = information_content(net, {"x0": [0, 1], "x1": [0, 1]}, "H")
    assert found.left["x0", "x1"] == pytest.approx(math.log(2))
    with pytest.raises(InvalidArgument, match="observed in some rows"):
        information_content(net, {"x0": [0, 1], "H": [0, 1]}, "H")
    with pytest.raises(UnknownVariable):
        information_content(net, {"x0": [0, 1]}, "K")


@pytest.mark.parametrize("score", ["bic", "laplace", "cheeseman-stutz", "candidate", "variational", "holdout"])
def test_every_score_finds_the_number_of_clusters_that_made_the_rows(score):
    data = clusters(0, num_rows=90)
    choice = choose_cardinality(NAIVE, data, "H", range(1, 5), score, options=QUICK)
    assert choice.best == 3
    assert choice.network.variables["H"].num_states == 3
    assert [found.cardinality for found in choice.tried] == [1, 2, 3, 4]
    assert " best" in str(choice).splitlines()[3]


def test_growth_by_splitting_states_finds_the_same_number():
    seen = []
    choice = grow_cardinality(NAIVE, clusters(1), "H", options=QUICK, progress=seen.append)
    assert choice.best == 3
    assert seen == list(choice.tried)
    assert [found.cardinality for found in choice.tried] == [2, 3, 4]
    stopped = grow_cardinality(NAIVE, clusters(1), "H", options=QUICK, progress=lambda found: True)
    assert len(stopped.tried) == 1
    assert len(grow_cardinality(NAIVE, clusters(1), "H", options=QUICK, most=2).tried) == 1


def test_a_split_state_keeps_its_share_and_other_states_their_tables():
    net = random_naive(np.random.default_rng(0), 3, 2)
    wider = split_state(net, "H", 1, np.random.default_rng(0))
    before, after = net.cpd("H").to_factor().values, wider.cpd("H").to_factor().values
    assert after[[0, 2]] == pytest.approx(before[[0, 2]])
    assert after[[1, 3]] == pytest.approx([before[1] / 2] * 2)
    rows = wider.cpd("x0").to_factor().values
    assert rows[[0, 2]] == pytest.approx(net.cpd("x0").to_factor().values[[0, 2]])
    assert not np.allclose(rows[1], rows[3])


def test_clustering_of_the_markov_blanket_gives_the_number_without_the_rest_of_the_network():
    data = clusters(2) | {"far": [0, 1, 1] * 50}
    graph = NAIVE + "; x3 -> far"
    choice = cluster_cardinality(graph, data, "H", range(1, 6))
    assert choice.best == 3
    with pytest.raises(InvalidArgument, match="nothing tells of it"):
        cluster_cardinality(DAG([("H", "Z"), ("x0", "x1")]), data, "H")
    with pytest.raises(UnknownVariable):
        cluster_cardinality(graph, data, "K")


def test_averages_over_the_number_of_states_are_weighted_by_its_posterior():
    """P(row) = Σ_K P(K | D) P(row | K), and P(X | e) = Σ_K P(K | D) P(X, e | K) / Σ_K P(K | D) P(e | K)."""
    data = clusters(3, num_rows=12)
    choice = choose_cardinality(NAIVE, data, "H", [1, 2, 3], options=QUICK)
    values = np.array([found.value for found in choice.tried])
    weights = np.exp(values) * [0.5, 0.25, 0.25] / (np.exp(values) @ [0.5, 0.25, 0.25])
    prior = {1: 0.5, 2: 0.25, 3: 0.25}
    assert list(choice.weights(prior).values()) == pytest.approx(weights)
    rows = {name: column[:3] for name, column in data.items()}
    each = np.array([np.exp(found.network.compile().log_likelihood(rows)) for found in choice.tried])
    assert np.exp(choice.log_likelihood(rows, prior)) == pytest.approx(weights @ each)
    joint = [found.network.query(["x0", "x1"]).reorder(["x0", "x1"]).values for found in choice.tried]
    column = sum(weight * table for weight, table in zip(weights, joint, strict=True))[:, 1]
    found = choice.query("x0", {"x1": 1}, prior)
    assert found.values == pytest.approx(column / column.sum())
    assert choice.query("x0", prior=prior).values.sum() == pytest.approx(1.0)
    assert choice.weights({2: 1.0})[2] == 1.0
    with pytest.raises(InvalidArgument, match="other states"):
        choice.query("H")
    with pytest.raises(InvalidArgument, match="not all zero"):
        choice.weights({7: 1.0})


def test_choices_refuse_what_they_can_not_do():
    data = clusters(0, num_rows=10)
    with pytest.raises(InvalidArgument, match="at least one"):
        choose_cardinality(NAIVE, data, "H", [])
    with pytest.raises(UnknownVariable):
        choose_cardinality(NAIVE, data, "K")
    with pytest.raises(InvalidArgument, match=r"network\.graph"):
        grow_cardinality(random_naive(np.random.default_rng(0), 2, 4), data, "H")
    with pytest.raises(InvalidArgument, match="folds"):
        choose_cardinality(NAIVE, data, "H", [1], "holdout", folds=11)
    held = choose_cardinality(NAIVE, data, "H", [1], "holdout", folds=2, progress=lambda found: True)
    with pytest.raises(NotSupported, match="no marginal"):
        held.weights()


def test_the_budget_counts_parameters_and_degrees_of_freedom():
    """Naive Bayes of K states over n bits has K - 1 + K n parameters; the joint of the bits 2ⁿ - 1."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (400, 8))
    data = {f"x{i}": bits[:, i].tolist() for i in range(8)}
    graph = "; ".join(f"H -> x{i}" for i in range(8))
    budget = parameter_budget(graph, data, hidden={"H": 3})
    assert budget.num_parameters == 2 + 3 * 8
    assert budget.joint_dimension == 255
    assert budget.empirical_dimension == len({tuple(row) for row in bits.tolist()}) - 1
    assert budget.is_affordable
    assert not parameter_budget(graph, data, hidden={"H": 20}).is_affordable
    assert parameter_budget("x0 -> x1", {"x0": [0], "x1": [0]}).share == math.inf


def test_numbers_that_are_too_large_for_a_score_are_told_and_the_others_kept():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 2, 60).tolist() for name in "abc"}
    found = choose_cardinality("H -> a; H -> b; H -> c", data, "H", [1, 4], "exact")
    assert [score.cardinality for score in found.tried] == [1]
    assert "tiny data" in found.refused[4]
    assert "Network" not in repr(found)
    assert (found.to_dict()["best"], list(found.to_frame()["cardinality"])) == (1, [1])
    limited = choose_cardinality("H -> a; H -> b; H -> c", data, "H", [1, 2, 3], time_limit=0.0)
    assert [score.cardinality for score in limited.tried] == [1]


def test_a_number_in_place_of_numbers_and_an_observed_variable_are_named():
    data = {name: [0, 1, 1, 0] for name in "abc"}
    with pytest.raises(InvalidArgument, match=r"range\(1, 6\), not 4"):
        choose_cardinality("H -> a; H -> b; H -> c", data, "H", 4)
    for choose in (choose_cardinality, grow_cardinality):
        with pytest.raises(InvalidArgument, match="'a' is a column of the data"):
            choose("H -> a; H -> b; H -> c", data, "a")
