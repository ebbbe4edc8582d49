"""Dynamic Bayesian networks: every exact answer is that of a list of all assignments, and of the unrolled network."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import TableCPD
from plausible.models.sequences import joint_chains, slice_passes
from slice_oracle import log, random_tables, random_weights

SEEDS = range(10)


def _case(seed, max_lag=2):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, lags=int(rng.integers(1, max_lag + 1)), num_variables=int(rng.integers(1, 3)))
    model = tables.model()
    rows, weights = random_weights(rng, tables, int(rng.integers(1, 5)), model)
    return tables, model, rows, weights


@pytest.fixture(autouse=True, params=["as one chain", "on trees", "on trees in stretches"])
def _way(request, monkeypatch):
    """Once over joint states, where these are few; once on trees with all messages, once with those of two steps."""
    if request.param != "as one chain":
        monkeypatch.setattr(joint_chains, "_MOST_STATES", 0)
    if request.param == "on trees in stretches":
        monkeypatch.setattr(slice_passes, "_STRETCH_STEPS", 2)
        monkeypatch.setattr(slice_passes, "_STRETCH_NUMBERS", 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_smoothed_beliefs_and_likelihood_are_those_of_all_assignments(seed):
    """P(X_t | o_1 ... o_T) and P(o) by the interface algorithm are sums over all trajectories."""
    tables, model, rows, weights = _case(seed)
    joint, smoothed = tables.joint(weights), model.smooth(rows)
    assert model.log_likelihood(rows) == pytest.approx(log(sum(joint.values())), abs=1e-12)
    for name in tables.sizes:
        for step in range(len(weights)):
            expected = tables.marginal(joint, step, name)
            np.testing.assert_allclose(smoothed[name].iloc[step], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_filtered_beliefs_are_those_of_the_steps_so_far(seed):
    """Filtering at step t is smoothing of the rows up to t; the likelihood of a step is a ratio of two sums."""
    tables, model, rows, weights = _case(seed)
    filtered, steps = model.filter(rows), model.step_log_likelihoods(rows)
    before = 1.0
    for step in range(len(weights)):
        joint = tables.joint(weights[: step + 1])
        total = sum(joint.values())
        assert steps.iloc[step] == pytest.approx(log(total / before), abs=1e-11)
        before = total
        for name in tables.sizes:
            expected = tables.marginal(joint, step, name)
            np.testing.assert_allclose(filtered[name].iloc[step], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_are_beliefs_of_unobserved_steps(seed):
    """P(X_T+h | o_1 ... o_T) is a sum over trajectories that are h steps longer."""
    tables, model, rows, weights = _case(seed)
    joint, predicted = tables.joint([*weights, {}]), model.predict(rows, 1)
    for name in tables.sizes:
        expected = tables.marginal(joint, len(weights), name)
        np.testing.assert_allclose(predicted[name].iloc[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_best_trajectory_has_the_largest_weight(seed):
    """No trajectory weighs more than the one found, whose weight is told."""
    tables, model, rows, weights = _case(seed)
    joint, best = tables.joint(weights), model.mpe(rows)
    assert best.log_probability == pytest.approx(log(max(joint.values())), abs=1e-12)
    path = tuple(tuple(int(state) for state in row) for row in best.states.to_numpy())
    assert joint[path] == pytest.approx(max(joint.values()), rel=1e-12)
    again = model.k_best(2, rows)
    assert [one.log_probability for one in again] == pytest.approx(
        [log(weight) for weight in sorted(joint.values(), reverse=True)[:2]], abs=1e-10
    )


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_joints_of_slices(seed, lag):
    """P(X_t-lag, Y_t | o) is a sum over trajectories, whether or not later slices depend on X."""
    tables, model, rows, weights = _case(seed)
    joint, names = tables.joint(weights), list(tables.sizes)
    found = model.joints(rows, [f"{names[0]}[-{lag}]", names[-1]])
    assert found.iloc[:lag].isna().all(axis=None)
    for step in range(lag, len(weights)):
        expected = np.zeros((tables.sizes[names[0]], tables.sizes[names[-1]]))
        for path, weight in joint.items():
            expected[path[step - lag][0], path[step][-1]] += weight
        np.testing.assert_allclose(found.iloc[step], expected.ravel() / expected.sum(), rtol=0, atol=1e-12)


def test_joints_name_variables_once_and_tell_what_is_impossible():
    """A joint of no variable, or of one twice, is no question; rows of probability zero have no beliefs."""
    model = pb.DynamicBayesianNetwork([TableCPD("X", [1.0, 0.0])], [TableCPD("X", np.eye(2), parents=["X[-1]"])])
    for names in ([], ["X", "X"]):
        with pytest.raises(pb.errors.InvalidArgument, match="each of them once"):
            model.joints({"X": [None, None]}, names)
    assert model.joints({"X": [None, None]}, "X").iloc[1].tolist() == [1.0, 0.0]
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 1"):
        model.joints({"X": [None, 1]}, ["X"])


def test_joints_of_what_a_setting_cuts_off():
    """Where X is set, X and the step before it are still told together."""
    model = pb.DynamicBayesianNetwork(
        [TableCPD("X", [0.5, 0.5])], [TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], parents=["X[-1]"])]
    )
    found = model.joints({"X": [None, None]}, ["X[-1]", "X"], do={"X[1]": 1})
    assert found.iloc[1].tolist() == pytest.approx([0, 0.5, 0, 0.5], abs=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_unrolled_network_has_the_same_beliefs(seed):
    """unroll(T) is the network over all slices: its engine gives the smoothed beliefs."""
    tables, model, _, _ = _case(seed)
    rows = model.sample(4, seed=seed).iloc[:, :1].astype(object)
    rows.iloc[1] = None
    network = model.unroll(4)
    name = rows.columns[0]
    evidence = {f"{name}[{step}]": rows[name].iloc[step] for step in (0, 2, 3)}
    beliefs, smoothed = network.marginals(evidence=evidence), model.smooth(rows)
    assert model.log_likelihood(rows) == pytest.approx(network.log_probability(evidence), abs=1e-12)
    for variable in tables.sizes:
        for step in range(4):
            expected = beliefs[f"{variable}[{step}]"].values
            np.testing.assert_allclose(smoothed[variable].iloc[step], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_several_sequences_are_answered_as_each_by_itself(seed):
    """Sequences of different lengths, rows mixed up: each has the beliefs that it has alone, at its rows."""
    rng = np.random.default_rng(seed)
    model = random_tables(rng, lags=2, num_variables=2).model()
    parts = [model.sample(length, seed=number).astype(object) for number, length in enumerate((3, 1, 5))]
    for part in parts:
        part[rng.random(part.shape) < 0.5] = None
    frame = pd.concat([part.assign(id=number, t=range(len(part))) for number, part in enumerate(parts)])
    mixed = frame.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    together = model.smooth(mixed, sequence="id", time="t")
    best = model.mpe(mixed, sequence="id", time="t")
    assert best.log_probability == pytest.approx(sum(model.mpe(part).log_probability for part in parts), abs=1e-11)
    for number, part in enumerate(parts):
        alone = model.smooth(part)
        for name, frame_ in together.items():
            there = mixed[mixed["id"] == number].sort_values("t").index
            np.testing.assert_allclose(frame_.loc[there], alone[name], rtol=0, atol=1e-13)
    totals = model.log_likelihoods(mixed, sequence="id", time="t")
    assert {key: totals[key] for key in totals.index} == pytest.approx(
        {number: model.log_likelihood(part) for number, part in enumerate(parts)}, abs=1e-12
    )


def test_draws_from_the_posterior_have_its_frequencies():
    """Trajectories drawn given the observations are as frequent as they are probable: 3 standard errors."""
    rng = np.random.default_rng(5)
    tables = random_tables(rng, num_variables=2, zeros=0.0, max_states=2)
    tables.sizes = dict(tables.sizes)
    model = tables.model()
    name = next(iter(tables.sizes))
    rows = {name: [0, None, 0]}
    joint = tables.joint([{name: np.eye(tables.sizes[name])[0]}, {}, {name: np.eye(tables.sizes[name])[0]}])
    total, num = sum(joint.values()), 600
    paths = [tuple(map(tuple, frame.to_numpy().tolist())) for frame in model.sample_posterior(rows, num, seed=0)]
    for path, weight in joint.items():
        share = weight / total
        assert abs(paths.count(path) / num - share) <= 3.5 * np.sqrt(share * (1 - share) / num) + 1e-12
    assert set(paths) <= set(joint)


def _walk(stay=0.9):
    return pb.DynamicBayesianNetwork(
        [TableCPD("X", [0.5, 0.5])],
        [
            TableCPD("X", [[stay, 1 - stay], [0.0, 1.0]], parents=["X[-1]"]),
            TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], parents=["X"]),
        ],
    )


def test_numbers_that_vanish_are_summed_as_logarithms():
    """A state left behind for thousands of steps, which the last observation shows to have been right all along."""
    leak = 1e-3
    model = pb.DynamicBayesianNetwork(
        [TableCPD("X", [leak, 1 - leak])],
        [
            TableCPD("X", [[1.0, 0.0], [0.0, 1.0]], parents=["X[-1]"]),
            TableCPD("Y", [[0.01, 0.98, 0.01], [0.98, 0.02, 0.0]], parents=["X"]),
        ],
    )
    rows = {"Y": [0] * 1000 + [2]}
    assert model.smooth(rows)["X"].iloc[:, 0].tolist() == [1.0] * 1001
    assert model.log_likelihood(rows) == pytest.approx(np.log(leak) + 1001 * np.log(0.01), rel=1e-12)
    assert model.mpe(rows)["X"].unique().tolist() == [0]
    assert set(model.sample_posterior(rows, 1, seed=0)[0]["X"]) == {0}


def test_impossible_observations_are_named_by_their_step():
    """The walk never comes back: the error and the likelihoods say at which row."""
    rows = {"X": [1, None, 0, 1]}
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 2"):
        _walk().smooth(rows)
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 2"):
        _walk().mpe(rows)
    steps = _walk().step_log_likelihoods(rows)
    assert np.isneginf(steps.iloc[2])
    assert np.isnan(steps.iloc[3])
    assert _walk().log_likelihood(rows) == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_everything_or_one_variable_observed(seed):
    """What is observed at all steps is taken out of the trees: the answers stay those of all assignments."""
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, lags=2, num_variables=2)
    model = tables.model()
    drawn = model.sample(4, seed=seed)
    for names in (["X0"], ["X1"], ["X0", "X1"]):
        rows = {name: drawn[name].tolist() for name in names}
        weights = [{name: np.eye(tables.sizes[name])[rows[name][step]] for name in names} for step in range(4)]
        joint = tables.joint(weights)
        smoothed, best = model.smooth(rows), model.mpe(rows)
        assert model.log_likelihood(rows) == pytest.approx(log(sum(joint.values())), abs=1e-12)
        assert best.log_probability == pytest.approx(log(max(joint.values())), abs=1e-12)
        assert joint[tuple(map(tuple, best.states.to_numpy().tolist()))] == pytest.approx(max(joint.values()))
        for name in tables.sizes:
            for step in range(4):
                expected = tables.marginal(joint, step, name)
                np.testing.assert_allclose(smoothed[name].iloc[step], expected, rtol=0, atol=1e-12)


def test_nothing_observed_and_no_steps():
    """Without observations beliefs are those of the network; without steps there are none."""
    blind = _walk().smooth({"Y": [None] * 3})
    assert blind["X"].iloc[:, 0].tolist() == pytest.approx([0.5, 0.45, 0.405], abs=1e-15)
    assert _walk().log_likelihood({"Y": [None] * 3}) == pytest.approx(0.0, abs=1e-15)
    assert len(_walk().filter({"Y": []})["X"]) == 0
    assert _walk().log_likelihood({"Y": []}) == 0.0


def test_slices_that_do_not_touch():
    """Without an interface each step is a network by itself."""
    model = pb.DynamicBayesianNetwork([TableCPD("X", [0.3, 0.7])], [TableCPD("Y", np.eye(2), parents=["X"])])
    assert model.interface == ()
    assert model.order == 0
    beliefs = model.smooth({"Y": [0, None, 1]})["X"].iloc[:, 0].tolist()
    assert beliefs == pytest.approx([1.0, 0.3, 0.0], abs=1e-15)
    assert model.mpe({"Y": [0, None, 1]})["X"].tolist() == [0, 1, 1]


# --- numbers, inputs, interventions ---


def _switching():
    """A hidden regime with a number that depends on it and on the number before."""
    return pb.DynamicBayesianNetwork(
        [
            TableCPD("R", [0.6, 0.4], states=["calm", "wild"]),
            pb.ConditionalGaussianCPD("y", [0.0, 1.0], {}, [1.0, 4.0], ["R"]),
        ],
        [
            TableCPD("R", [[0.9, 0.1], [0.3, 0.7]], parents=["R[-1]"], states=["calm", "wild"]),
            pb.ConditionalGaussianCPD("y", [0.0, 1.0], {"y[-1]": [0.5, -0.2]}, [1.0, 4.0], ["R", "y[-1]"]),
        ],
    )


def _normal(x, mean, variance):
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def test_observed_numbers_weigh_the_states():
    """An autoregressive model with regimes is a chain whose likelihoods come from the numbers."""
    numbers = [0.3, -1.2, 4.0, 2.5]
    likelihoods = np.array([[_normal(numbers[0], 0.0, 1.0), _normal(numbers[0], 1.0, 4.0)]])
    for before, now in pairwise(numbers):
        row = [_normal(now, 0.5 * before, 1.0), _normal(now, 1.0 - 0.2 * before, 4.0)]
        likelihoods = np.vstack([likelihoods, row])
    forward, moves = np.array([0.6, 0.4]) * likelihoods[0], np.array([[0.9, 0.1], [0.3, 0.7]])
    for row in likelihoods[1:]:
        forward = (forward @ moves) * row
    assert _switching().log_likelihood({"y": numbers}) == pytest.approx(np.log(forward.sum()), abs=1e-12)
    last = _switching().filter({"y": numbers})["R"].iloc[-1]
    np.testing.assert_allclose(last, forward / forward.sum(), atol=1e-13)


@pytest.mark.parametrize("far", [1.0, 100.0])
def test_a_number_far_from_all_that_a_state_expects_counts_where_that_state_is_certain(far):
    """Its density of e^-5000 is no zero beside that of the other state, which the next step rules out."""
    stays = TableCPD("S", [[1.0, 0.0], [0.0, 1.0]], ["S[-1]"])
    y = pb.ConditionalGaussianCPD("y", [0.0, far], {}, [1.0, 1.0], ["S"])
    model = pb.DynamicBayesianNetwork([TableCPD("S", [0.5, 0.5]), y], [stays, y])
    rows = {"S": [None, 1], "y": [0.0, far]}
    assert model.log_likelihood(rows) == pytest.approx(np.log(0.5 / (2 * np.pi)) - far**2 / 2, rel=1e-12)
    np.testing.assert_array_equal(model.smooth({"S": [None, 1], "y": [0.0, far]})["S"], [[0.0, 1.0], [0.0, 1.0]])


def test_a_number_that_others_need_must_be_observed():
    """A missing last number says nothing; one in between is needed by the next."""
    full, cut = _switching().smooth({"y": [0.3, -1.2]}), _switching().smooth({"y": [0.3, -1.2, None]})
    np.testing.assert_allclose(cut["R"].iloc[:2], full["R"], atol=1e-13)
    with pytest.raises(pb.errors.NotSupported, match="row 1"):
        _switching().smooth({"y": [0.3, None, 1.0]})


def test_inputs_choose_the_tables():
    """A pump that is on or off: an input without a distribution, given at each step."""
    pump = pb.Variable("pump", ["on", "off"])
    model = pb.DynamicBayesianNetwork(
        [TableCPD("level", [1.0, 0.0])],
        [TableCPD("level", [[[0.2, 0.8], [0.9, 0.1]], [[0.0, 1.0], [0.5, 0.5]]], parents=["level[-1]", "pump"])],
        inputs=[pump],
    )
    beliefs = model.filter({"pump": ["off", "on", "off"]})["level"]
    np.testing.assert_allclose(beliefs, [[1.0, 0.0], [0.2, 0.8], [0.2 * 0.9 + 0.8 * 0.5, 0.2 * 0.1 + 0.8 * 0.5]])
    with pytest.raises(pb.errors.InvalidModel, match="'pump' is an input"):
        model.filter({"level": [0, 1]})
    with pytest.raises(pb.errors.InvalidModel, match="row 1"):
        model.filter({"pump": ["off", None]})


@pytest.mark.parametrize("seed", range(4))
def test_doing_in_time_is_surgery_of_the_unrolled_network(seed):
    """do= of one slice, or of all, gives the beliefs of the unrolled network after the same surgery."""
    rng = np.random.default_rng(seed)
    model = random_tables(rng, lags=2, num_variables=2, zeros=0.0).model()
    rows = {"X0": [0, None, None, 0]}
    evidence = {"X0[0]": 0, "X0[3]": 0}
    network = model.unroll(4)
    for do, same in (
        ({"X1[2]": 0}, {"X1[2]": 0}),
        ({"X1": 0}, {f"X1[{step}]": 0 for step in range(4)}),
    ):
        found, expected = model.smooth(rows, do=do), network.marginals(evidence=evidence, do=same)
        for name, frame in found.items():
            for step in range(4):
                np.testing.assert_allclose(frame.iloc[step], expected[f"{name}[{step}]"].values, atol=1e-12)


# --- the model as a value ---


def test_rows_that_contradict_what_is_set_are_told_by_their_row():
    """As for ordinary networks: hard and soft cells, numbers, all slices or one; cells that agree do no harm."""
    walk = _walk()
    for do, rows, told in [
        ({"X": 0}, {"X": [None, 1]}, r"X=1 in row 1 contradicts do=\{'X': 0\}"),
        ({"X[1]": 0}, {"X": [1, 1]}, r"X=1 in row 1 contradicts do=\{'X\[1\]': 0\}"),
    ]:
        with pytest.raises(pb.errors.ImpossibleEvidence, match=told):
            walk.smooth(rows, do=do)
    rows = pd.DataFrame({"town": ["A", "A", "B", "B"], "X": [None, None, 0, {1}]})
    with pytest.raises(pb.errors.ImpossibleEvidence, match=r"X=.*1.* in row 3.*contradicts do="):
        walk.filter(rows, sequence="town", do={"X": 0})
    pd.testing.assert_frame_equal(
        walk.smooth({"X": [None, 1]}, do={"X[1]": 1})["X"], walk.smooth({"X": [None, None]}, do={"X[1]": 1})["X"]
    )
    number = pb.DynamicBayesianNetwork(
        [TableCPD("a", [0.5, 0.5]), pb.LinearGaussianCPD("x", intercept=0.0, variance=1.0)],
        [TableCPD("a", [[0.5, 0.5], [0.1, 0.9]], parents=["a[-1]"])],
    )
    with pytest.raises(pb.errors.ImpossibleEvidence, match=r"x=1.5 in row 1 contradicts do=\{'x': 2"):
        number.smooth({"x": [2.0, 1.5]}, do={"x": 2.0})


def test_kinds_of_edges_and_the_interface():
    """Edges that persist, pass to the next slice, and stay within one."""
    model = pb.DynamicBayesianNetwork(
        [
            TableCPD("A", [0.5, 0.5]),
            TableCPD("A[1]", np.eye(2), parents=["A[0]"]),
            TableCPD("B", [0.5, 0.5]),
            TableCPD("B[1]", np.eye(2), parents=["A[-1]"]),
        ],
        [
            TableCPD("A", np.full((2, 2, 2), 0.5), parents=["A[-1]", "A[-2]"]),
            TableCPD("B", np.full((2, 2, 2), 0.5), parents=["A[-1]", "A"]),
        ],
    )
    assert model.persistence_edges == (("A[-1]", "A"), ("A[-2]", "A"))
    assert model.inter_slice_edges == (("A[-1]", "A"), ("A[-2]", "A"), ("A[-1]", "B"))
    assert model.intra_slice_edges == (("A", "B"),)
    assert model.interface == ("A", "A[-1]")
    assert model.order == 2
    assert model.graph == pb.DAG("A[-2] -> A; A[-1] -> A -> B; A[-1] -> B")
    unrolled = "A[0] -> A[1] -> A[2]; A[0] -> A[2]; A[0] -> B[1]; A[1] -> B[2]; A[2] -> B[2]; B[0]"
    assert model.unroll(3).graph == pb.DAG(unrolled)


@pytest.mark.parametrize("seed", range(3))
def test_files_and_pickles_keep_the_model(seed, tmp_path):
    """What was saved is equal when it is loaded."""
    model = random_tables(np.random.default_rng(seed), lags=2).model()
    pb.save(model, tmp_path / "model.json")
    assert pb.load(tmp_path / "model.json") == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert pb.load(tmp_path / "model.json") != _walk()


@pytest.mark.parametrize(
    ("initial", "transition", "message"),
    [
        (
            [],
            [TableCPD("X", np.eye(2), parents=["X[-1]"])],
            "'X' looks back 1 step, so initial= must tell it in slice 0",
        ),
        (
            [TableCPD("X", [0.5, 0.5])],
            [TableCPD("X", np.eye(2), parents=["X[-2]"])],
            r"'X' looks back 2 steps, so initial= must tell it in slice 1: add TableCPD\('X\[1\]'",
        ),
        ([TableCPD("X", np.eye(2), parents=["X[-1]"])], [], "before the first slice"),
        ([TableCPD("X", [0.5, 0.5])], [TableCPD("X", np.eye(2), parents=["X[1]"])], "one step before"),
        (
            [TableCPD("X", [0.2, 0.3, 0.5])],
            [TableCPD("X", np.eye(2), parents=["X[-1]"])],
            "'X' has the states",
        ),
        ([TableCPD("X", [0.5, 0.5])], [TableCPD("X[-1]", [0.5, 0.5])], "call the variable 'X'"),
        ("X -> Y", [], "list of CPDs"),
        ([], [], "a variable at least"),
    ],
)
def test_parts_that_do_not_fit(initial, transition, message):
    """Errors name the variable, the slice and the remedy."""
    with pytest.raises(pb.errors.InvalidModel, match=message):
        pb.DynamicBayesianNetwork(initial, transition)


def test_unknown_parents_and_cycles():
    """A misspelt name gets a suggestion; a cycle within a slice is shown."""
    start = [TableCPD("X", [0.5, 0.5])]
    with pytest.raises(pb.errors.UnknownVariable, match=r"'Xx' is not .* Did you mean 'X'"):
        pb.DynamicBayesianNetwork(start, [TableCPD("X", np.eye(2), parents=["Xx[-1]"])])
    cycle = [TableCPD("X", np.eye(2), parents=["Y"]), TableCPD("Y", np.eye(2), parents=["X"])]
    with pytest.raises(pb.errors.CyclicGraph, match="Y -> X -> Y"):
        pb.DynamicBayesianNetwork(start, cycle)


def test_an_interface_that_is_too_large_is_named():
    """Forty hidden binary chains that meet in each slice."""
    names = [f"H{number}" for number in range(40)]
    model = pb.DynamicBayesianNetwork(
        [TableCPD(name, [0.5, 0.5]) for name in names],
        [
            TableCPD(name, np.full((2, 2, 2), 0.5), parents=[f"{name}[-1]", f"{other}[-1]"])
            for name, other in zip(names, [*names[1:], names[0]], strict=True)
        ],
    )
    with pytest.raises(pb.errors.TooLarge, match=r"What one slice hands on .*BoyenKoller"):
        model.filter({"H0": [0, 1]})


def test_sampling_follows_the_tables():
    """Frequencies of drawn transitions are their probabilities; slices come in order; equal seeds, equal rows."""
    rows = _walk(0.7).sample(3, seed=1, sequences=4000)
    assert rows.columns.tolist() == ["sequence", "time", "X", "Y"]
    first, second = rows[rows["time"] == 0]["X"].to_numpy(), rows[rows["time"] == 1]["X"].to_numpy()
    assert abs((second[first == 0] == 0).mean() - 0.7) < 3.5 * np.sqrt(0.21 / 2000)
    assert (second[first == 1] == 1).all()
    assert rows.equals(_walk(0.7).sample(3, seed=1, sequences=4000))
    wild = _switching().sample(4000, seed=3)
    calm = wild["R"].to_numpy() == "calm"
    left = wild["y"].to_numpy()[1:] - 0.5 * wild["y"].to_numpy()[:-1]
    assert abs(left[calm[1:]].mean()) < 3.5 / np.sqrt(calm.sum())
    assert (_walk().sample(5, seed=0, do={"X[2]": 1})["X"].iloc[2:] == 1).all()
