"""Held-out losses, learning curves and recovery of a known network."""

import math

import numpy as np
import pytest

from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.priors import BDeu
from plausible.learn.evaluation.cross_validation import (
    compare_generative_discriminative,
    compare_learners,
    cross_validate,
    learning_curve,
)
from plausible.learn.evaluation.measures import mean_loss, recovery, recovery_curve, row_losses
from plausible.learn.learned_parameters import learn_parameters
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses


def _network(seed=0):
    rng = np.random.default_rng(seed)
    return BayesianNetwork(
        TableCPD("a", rng.dirichlet(np.ones(3))),
        TableCPD("b", rng.dirichlet(np.ones(2), size=3), parents=["a"]),
        TableCPD("c", rng.dirichlet(np.ones(3), size=(2, 3)), parents=["b", "a"]),
        TableCPD("d", rng.dirichlet(np.ones(2), size=3), parents=["c"]),
    )


def _parameters(graph, table):
    return learn_parameters(graph, table, BDeu(2))


def _joint(network):
    return network.joint().reorder(["a", "b", "c", "d"]).values


@pytest.mark.parametrize("target", [None, "a", "b", "c", "d"])
def test_losses_of_rows_are_those_of_the_joint_table(target):
    network, joint = _network(), _joint(_network())
    frame = network.sample(50, seed=1)
    losses = row_losses(network, frame, target)
    for row, loss in zip(frame[["a", "b", "c", "d"]].itertuples(index=False), losses, strict=True):
        p = joint[tuple(row)]
        if target is not None:
            axis = "abcd".index(target)
            p /= joint[tuple(slice(None) if place == axis else state for place, state in enumerate(row))].sum()
        assert loss == pytest.approx(-math.log(p))


def test_losses_of_weighted_impossible_and_intervened_rows():
    network = BayesianNetwork(TableCPD("x", [1.0, 0.0]), TableCPD("y", [[0.5, 0.5], [0.1, 0.9]], parents=["x"]))
    rows = {"x": [0, 1], "y": [1, 1]}
    assert row_losses(network, rows).tolist() == [pytest.approx(math.log(2)), math.inf]
    assert row_losses(network, rows, "x").tolist() == [0.0, math.inf]
    table = Table.read(rows, network.variables, weights=[3.0, 0.0])
    assert mean_loss(network, table) == pytest.approx(math.log(2))
    forced = Table.read(rows, network.variables, interventions={"x": [False, True]})
    assert row_losses(network, forced)[1] == pytest.approx(-math.log(0.9))
    density = BayesianNetwork(LinearGaussianCPD("z", 1.0, variance=4.0))
    expected = 0.5 * math.log(2 * math.pi * 4) + 0.5 * (3 - 1) ** 2 / 4
    assert row_losses(density, {"z": [3.0]}) == pytest.approx([expected])
    refuses(NotSupported, "continuous", row_losses, density, {"z": [3.0]}, "z")
    with pytest.raises(UnknownVariable):
        row_losses(network, rows, "q")
    with pytest.raises(InvalidArgument, match="missing"):
        row_losses(network, Table.read({"x": [0, None], "y": [0, 1]}, network.variables))


def test_leave_one_out_loss_of_a_coin_is_laplace():
    """Without a row of its state, BDeu(2) predicts it with (n - 1 + 1) / (N - 1 + 2)."""
    rows = {"coin": [0, 0, 0, 1, 1]}
    found = cross_validate(rows, lambda table: _parameters(DAG("coin"), table), 5)
    expected = -(3 * math.log(3 / 6) + 2 * math.log(2 / 6)) / 5
    assert found.loss == pytest.approx(expected)
    assert found.fold_losses.shape == (5,)
    assert found.standard_error == pytest.approx(np.std(found.losses, ddof=1) / math.sqrt(5))


def test_folds_never_learn_from_the_rows_they_predict():
    seen = []

    def learner(table):
        seen.append(table.num_rows)
        return _parameters(DAG("x"), table)

    found = cross_validate({"x": [0, 1] * 10 + [1]}, learner, 4, seed=3)
    assert seen == [21 - int((found.folds == fold).sum()) for fold in range(4)]
    assert sorted(np.bincount(found.folds)) == [5, 5, 5, 6]
    again = cross_validate({"x": [0, 1] * 10 + [1]}, learner, 4, seed=3)
    assert np.array_equal(found.losses, again.losses)


def test_the_true_graph_beats_no_edges_and_is_the_best_of_several():
    network = _network()
    frame = network.sample(400, seed=2)
    found = compare_learners(frame, {"empty": DAG("", nodes=list("abcd")), "true": network.graph}, 4)
    assert found.best == "true"
    table = found.to_frame()
    assert table.excess[0] == 0.0
    assert table.excess[1] > 3 * table.standard_error[1] > 0


def test_learning_curves_fall_towards_the_loss_of_the_truth():
    network, joint = _network(), _joint(_network())
    entropy = -float((joint[joint > 0] * np.log(joint[joint > 0])).sum())
    curve = learning_curve(network.sample(3000, seed=3), {"graph": network.graph}, [30, 2000], repeats=3)
    few, many = curve.held_out["graph"].mean(axis=1)
    assert few > many
    assert many == pytest.approx(entropy, abs=0.06)
    assert curve.training["graph"].mean(axis=1)[0] < few
    assert curve.to_frame().columns.tolist() == ["learner", "rows", "training", "held_out", "spread"]


def test_logistic_regression_overtakes_naive_bayes_where_features_are_not_independent():
    """Six copies of one noisy feature: naive Bayes counts them as independent and grows too sure."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1200)
    feature = np.where(rng.random(1200) < 0.7, label, 1 - label)
    rows = {"label": label, **{f"f{copy}": feature for copy in range(6)}}
    curve = compare_generative_discriminative(rows, "label", [800], repeats=2)
    assert curve.held_out["generative"].mean() > curve.held_out["discriminative"].mean() + 0.2
    best = -(0.7 * math.log(0.7) + 0.3 * math.log(0.3))
    assert curve.held_out["discriminative"].mean() == pytest.approx(best, abs=0.05)


def test_recovery_of_the_truth_itself_is_perfect_and_of_an_equivalent_graph_up_to_its_class():
    network = _network()
    same = recovery(network, network)
    assert same.measures() == {
        "divergence": pytest.approx(0, abs=1e-12),
        "largest_difference": 0,
        "shd": 0,
        "class_shd": 0,
        **dict.fromkeys(["skeleton_precision", "skeleton_recall", "arrow_precision", "arrow_recall"], 1.0),
    }
    x, y = Variable("x", 2), Variable("y", 2)
    forward = BayesianNetwork(TableCPD(x, [0.5, 0.5]), TableCPD(y, [[0.9, 0.1], [0.1, 0.9]], parents=[x]))
    backward = BayesianNetwork(TableCPD(x, [[0.9, 0.1], [0.1, 0.9]], parents=[y]), TableCPD(y, [0.5, 0.5]))
    turned = recovery(forward, backward)
    assert (turned.networks.structure.shd, turned.classes.shd) == (1, 0)
    assert turned.divergence == pytest.approx(0, abs=1e-12)
    apart = recovery(forward, BayesianNetwork(TableCPD(x, [0.5, 0.5]), TableCPD(y, [0.5, 0.5])))
    assert apart.divergence == pytest.approx(0.9 * math.log(1.8) + 0.1 * math.log(0.2))
    assert apart.classes.skeleton.recall == 0.0


def test_a_sparser_wrong_graph_is_the_better_density_where_rows_are_few():
    """Five weak causes of one effect: with 30 rows no edges at all do better, with 20000 the true graph does."""
    rng = np.random.default_rng(1)
    causes = [TableCPD(f"x{place}", [0.5, 0.5]) for place in range(5)]
    table = np.stack([(p := rng.uniform(0.35, 0.65, size=(2,) * 5)), 1 - p], axis=-1)
    truth = BayesianNetwork(*causes, TableCPD("y", table, parents=[f"x{place}" for place in range(5)]))
    sparse = DAG("", nodes=list(truth.variables))
    loss = {
        name: recovery_curve(truth, graph, [30, 20000], repeats=2).groupby("rows")["divergence"].mean()
        for name, graph in (("true", truth.graph), ("sparse", sparse))
    }
    assert loss["sparse"][30] < loss["true"][30]
    assert loss["true"][20000] < loss["sparse"][20000]


def test_errors_name_the_fix():
    refuses(InvalidArgument, "5 folds need", cross_validate, {"x": [0, 1]}, DAG("x"), 5)
    refuses(InvalidArgument, "too many", learning_curve, {"x": [0, 1] * 5}, {"x": DAG("x")}, [9])
    refuses(InvalidArgument, "no learners", compare_learners, {"x": [0, 1]}, {})
    refuses(UnknownVariable, "label", compare_generative_discriminative, {"label": [0, 1] * 5}, "lable", [3])
