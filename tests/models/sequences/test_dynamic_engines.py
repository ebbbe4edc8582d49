"""Approximate engines of dynamic networks: exact where they should be, and else what their recursions say."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from plausible import TableCPD
from plausible.models import BoyenKoller, ParticleFilter, Window
from slice_oracle import random_tables


def _coupled(rng):
    """Two binary chains that look at each other, each with a sign of its own."""
    tables = {name: rng.dirichlet([1, 1], size=(2, 2)) for name in ("A", "B")}
    signs = {name: rng.dirichlet([1, 1], size=2) for name in ("A", "B")}
    model = pb.DynamicBayesianNetwork(
        [TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])],
        [
            TableCPD("A", tables["A"], parents=["A[-1]", "B[-1]"]),
            TableCPD("B", tables["B"], parents=["A[-1]", "B[-1]"]),
            TableCPD("a", signs["A"], parents=["A"]),
            TableCPD("b", signs["B"], parents=["B"]),
        ],
    )
    return tables, signs, model


@pytest.mark.parametrize("seed", range(3))
def test_projected_filtering_is_the_recursion_with_products_of_marginals(seed):
    """After each step the joint of the two chains is replaced by the product of its marginals."""
    tables, signs, model = _coupled(np.random.default_rng(seed))
    rows = {"a": [0, 1, None, 1], "b": [1, 0, 1, 1]}
    found = model.filter(rows, engine=BoyenKoller())
    joint = np.full((2, 2), 0.25)
    for step in range(4):
        if step:
            product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            joint = np.einsum("ij,ijk,ijl->kl", product, tables["A"], tables["B"])
        if rows["a"][step] is not None:
            joint = joint * signs["A"][:, rows["a"][step]][:, None]
        joint = joint * signs["B"][:, rows["b"][step]]
        joint = joint / joint.sum()
        np.testing.assert_allclose(found["A"].iloc[step], joint.sum(axis=1), atol=1e-13)
        np.testing.assert_allclose(found["B"].iloc[step], joint.sum(axis=0), atol=1e-13)
    exact = model.filter(rows)
    assert np.abs(exact["A"] - found["A"]).to_numpy().max() > 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_one_cluster_is_exact(seed):
    """Where all that passes is one cluster, nothing is forgotten."""
    _, _, model = _coupled(np.random.default_rng(seed))
    rows = {"a": [0, 1, None, 1], "b": [1, 0, 1, 1]}
    engine = BoyenKoller([["A", "B"]])
    for question in (model.filter, model.smooth):
        exact, found = question(rows), question(rows, engine=engine)
        for name, frame in exact.items():
            np.testing.assert_allclose(found[name], frame, atol=1e-13)


def test_chains_that_do_not_touch_are_exact_by_themselves():
    """Independent chains are a product at all times, so that projecting them forgets nothing."""
    names = [f"X{number}" for number in range(24)]
    chain = [TableCPD(name, [[0.9, 0.1], [0.3, 0.7]], parents=[f"{name}[-1]"]) for name in names]
    model = pb.DynamicBayesianNetwork([TableCPD(name, [0.5, 0.5]) for name in names], chain)
    alone = pb.DynamicBayesianNetwork([TableCPD("X0", [0.5, 0.5])], chain[:1])
    found = model.smooth({"X0": [0, None, 1]}, engine=BoyenKoller())
    np.testing.assert_allclose(found["X0"], alone.smooth({"X0": [0, None, 1]})["X0"], atol=1e-13)
    np.testing.assert_allclose(found["X7"].iloc[2], [0.5 * 0.36 + 0.48, 1 - (0.5 * 0.36 + 0.48)], atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_particles_come_near_the_exact_beliefs(seed):
    """4000 particles are within four standard errors of a fraction; equal seeds draw alike."""
    rng = np.random.default_rng(seed)
    model = random_tables(rng, num_variables=2, zeros=0.0).model()
    rows = {"X0": [0, None, 0, {0}]}
    engine = ParticleFilter(4000, seed=1, num_trajectories=1000)
    filtered, smoothed = model.filter(rows, engine=engine), model.smooth(rows, engine=engine)
    exact, behind = model.filter(rows), model.smooth(rows)
    for name, frame in exact.items():
        assert np.abs(filtered[name] - frame).to_numpy().max() < 4 * 0.5 / np.sqrt(4000 / 4)
        assert np.abs(smoothed[name] - behind[name]).to_numpy().max() < 4 * 0.5 / np.sqrt(1000)
        assert filtered[name].equals(model.filter(rows, engine=engine)[name])


def test_particles_draw_hidden_numbers():
    """A hidden number with noise, seen by a switch that reports its sign: the switch's forecast is one half."""
    model = pb.DynamicBayesianNetwork(
        [pb.LinearGaussianCPD("x", 0.0, [], 1.0, [])],
        [
            pb.LinearGaussianCPD("x", 0.0, [1.0], 0.5, ["x[-1]"]),
            pb.LogisticCPD("s", ["x"], {"x": 20.0}, 0.0),
        ],
    )
    found = model.predict({"s": [1, 1, 1, 1]}, engine=ParticleFilter(4000, seed=0))["s"].iloc[0]
    assert found.iloc[1] > 0.8
    both = model.filter({"s": [None, None]}, engine=ParticleFilter(4000, seed=0))["s"]
    assert both.iloc[1, 1] == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(4000))
    with pytest.raises(pb.errors.NotSupported, match="ParticleFilter"):
        model.filter({"s": [1, 1]})


@pytest.mark.parametrize("auxiliary", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_particles_follow_slices_that_look_back_two_steps(seed, auxiliary):
    """Filtered and smoothed: a particle stands for the line that it came from."""
    model = random_tables(np.random.default_rng(seed), lags=2, num_variables=2, zeros=0.0).model()
    rows = {"X0": [0, None, 0, 1, {0}, 1]}
    engine = ParticleFilter(4000, seed=1, num_trajectories=1000, auxiliary=auxiliary)
    filtered, smoothed = model.filter(rows, engine=engine), model.smooth(rows, engine=engine)
    exact, behind = model.filter(rows), model.smooth(rows)
    for name, frame in exact.items():
        assert np.abs(filtered[name] - frame).to_numpy().max() < 4 * 0.5 / np.sqrt(4000 / 4)
        assert np.abs(smoothed[name] - behind[name]).to_numpy().max() < 4 * 0.5 / np.sqrt(1000)


@pytest.mark.parametrize("auxiliary", [False, True])
def test_the_likelihood_by_particles_has_no_bias(auxiliary):
    """The mean of 400 estimates of P(rows), whatever they are drawn anew by, is within four standard errors."""
    _, _, model = _coupled(np.random.default_rng(5))
    sequences = model._read({"a": [0, 1, None, 1, 0], "b": [1, 0, 1, 1, 0]}, None, None, "refuse")
    evidence = model._given(sequences, None)
    estimates = []
    for seed in range(400):
        engine = ParticleFilter(50, threshold=0.9, seed=seed, auxiliary=auxiliary)
        estimates.append(np.exp(engine._filter(model, evidence, None, 0.9).logs.sum()))
    exact = np.exp(model._step_log_likelihoods(sequences).sum())
    assert abs(np.mean(estimates) - exact) < 4 * np.std(estimates) / np.sqrt(len(estimates))


def test_looking_ahead_keeps_the_particles_that_the_next_row_will_ask_for():
    """A rare switch shows one step later: few particles have it, and looking ahead draws the rest of these anew."""
    seen = pb.ConditionalGaussianCPD("y", [0.0, 6.0], {"z": [1.0, 1.0]}, [0.3, 0.3], ["s[-1]", "z"])
    model = pb.DynamicBayesianNetwork(
        [TableCPD("s", [0.98, 0.02]), pb.LinearGaussianCPD("z", 0.0), pb.LinearGaussianCPD("y", 0.0)],
        [TableCPD("s", [0.98, 0.02]), pb.LinearGaussianCPD("z", 0.0, {"z[-1]": 0.9}, 0.5), seen],
    )
    rows = {"y": [0.0, 0.2, 6.3, 0.1, 0.0, 0.2, 6.1, 0.4]}
    plain, ahead = (
        [model.filter(rows, engine=ParticleFilter(200, seed=seed, auxiliary=way))["z"] for seed in range(20)]
        for way in (False, True)
    )
    sizes = [np.array([each.attrs["effective_sizes"] for each in frames]) for frames in (plain, ahead)]
    assert sizes[0][:, [2, 6]].mean() < 10 < 50 < sizes[1][:, [2, 6]].mean()
    spread = [np.std([frame["mean"] for frame in frames], axis=0)[[2, 6]].mean() for frames in (plain, ahead)]
    assert spread[1] < spread[0] / 2
    frame = ahead[0]
    assert frame.attrs["effective_size"] == min(frame.attrs["effective_sizes"])


def test_impossible_rows_and_wrong_names_are_told():
    """Particles that all weigh nothing are an error with the row; clusters of unknown variables one with the name."""
    stuck = pb.DynamicBayesianNetwork([TableCPD("X", [1.0, 0.0])], [TableCPD("X", np.eye(2), parents=["X[-1]"])])
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 1"):
        stuck.filter({"X": [0, 1]}, engine=ParticleFilter(10, seed=0))
    with pytest.raises(pb.errors.UnknownVariable, match="clusters="):
        stuck.filter({"X": [0, None]}, engine=BoyenKoller([["Y"]]))


def test_particles_tell_how_many_of_equal_weight_they_are_worth():
    """All of them where nothing is seen; (Σw)²/Σw² where one observation weighs them; exact answers tell nothing."""
    model = pb.DynamicBayesianNetwork(
        [TableCPD("X", [0.5, 0.5])],
        [TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], ["X[-1]"]), TableCPD("Y", [[1.0, 0.0], [0.0, 1.0]], ["X"])],
    )
    engine = ParticleFilter(1000, seed=0)
    nothing = model.filter({"Y": [None, None]}, engine=engine)["X"]
    assert nothing.attrs["effective_size"] == pytest.approx(1000.0)
    seen = model.filter({"Y": [1]}, engine=engine)["X"]
    assert 450 < seen.attrs["effective_size"] < 550  # those with X = 1
    assert seen.attrs["effective_size"] == pytest.approx(round(seen.attrs["effective_size"]))
    assert model.filter({"Y": [1]})["X"].attrs == {}


def _apart(found, exact):
    return max(np.abs(found[name] - frame).to_numpy().max() for name, frame in exact.items())


@pytest.mark.parametrize("lags", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_windows_as_long_as_the_sequence_are_exact_and_those_of_one_slice_project(seed, lags):
    """Nothing is forgotten inside of a window; with one slice all is, as where all clusters are single variables."""
    model = random_tables(np.random.default_rng(seed), lags=lags, num_variables=2, zeros=0.0).model()
    rows = {"X0": [0, None, {0}, 1, pb.likelihood([0.2, 0.7, *[0.3] * (model.variables["X0"].num_states - 2)]), 1]}
    for question in (model.filter, model.smooth):
        assert _apart(question(rows, engine=Window(6)), question(rows)) < 1e-12
    if lags == 1:  # else BoyenKoller goes on learning of slices that it looks back on
        assert _apart(model.filter(rows, engine=Window(1)), model.filter(rows, engine=BoyenKoller())) < 1e-12


def test_longer_windows_forget_less_and_take_any_engine():
    """Errors fall with the length; loopy messages answer windows, too; what is set stays set."""
    _, _, model = _coupled(np.random.default_rng(2))
    rows = {"a": [0, 1, None, 1, 0, 0, 1], "b": [1, 0, 1, 1, None, 0, 0]}
    exact, behind = model.filter(rows), model.smooth(rows)
    errors = [_apart(model.filter(rows, engine=Window(length)), exact) for length in (1, 3, 5)]
    assert errors[0] > errors[1] > errors[2] > 0
    lags = [_apart(model.smooth(rows, engine=Window(length)), behind) for length in (1, 3, 5)]
    assert lags[0] > lags[1] > lags[2]
    loopy = model.filter(rows, engine=Window(3, pb.LoopyBP()))
    assert _apart(loopy, exact) < 0.1
    for do in ({"A": 1}, {"A[2]": 1}):
        assert _apart(model.smooth(rows, do=do, engine=Window(7)), model.smooth(rows, do=do)) < 1e-12


def test_windows_take_hidden_numbers_beside_hidden_states():
    """As particles do, within their errors; where all is Gaussian a window of all steps is exact."""
    moved = pb.ConditionalGaussianCPD("x", [-1.0, 1.0], {"x[-1]": [0.5, 0.8]}, [0.3, 0.3], ["s", "x[-1]"])
    model = pb.DynamicBayesianNetwork(
        [TableCPD("s", [0.5, 0.5]), pb.LinearGaussianCPD("x", 0.0)],
        [TableCPD("s", [[0.9, 0.1], [0.1, 0.9]], ["s[-1]"]), moved, pb.LinearGaussianCPD("y", 0.0, {"x": 1.0}, 0.4)],
    )
    rows = model.sample(10, seed=1)[["y"]]
    rows.loc[4] = np.nan
    drawn = model.smooth(rows, engine=ParticleFilter(5000, num_trajectories=1000, seed=0))
    found = model.smooth(rows, engine=Window(4))
    assert np.abs(found["s"] - drawn["s"]).to_numpy().max() < 0.06
    assert np.abs(found["x"] - drawn["x"]).to_numpy().max() < 0.1
    ahead, guess = (model.forecast(rows, 2, engine=each)["y"] for each in (Window(3), ParticleFilter(5000, seed=0)))
    np.testing.assert_allclose(ahead["mean"], guess["mean"], atol=0.1)
    walk = pb.DynamicBayesianNetwork(
        [pb.LinearGaussianCPD("x", 0.0)],
        [pb.LinearGaussianCPD("x", 0.2, {"x[-1]": 0.9}, 0.5), pb.LinearGaussianCPD("y", 0.0, {"x": 1.0})],
    )
    seen = {"y": [0.5, None, 2.0, 1.0]}
    np.testing.assert_allclose(walk.smooth(seen, engine=Window(4))["x"], walk.smooth(seen)["x"], atol=1e-9)
    set_once = walk.smooth(seen, do={"x[1]": 3.0}, engine=Window(4))["x"]
    assert set_once.iloc[1].tolist() == [3.0, 0.0]
    told = 2.9 / 0.5 + 2.0 + 0.9 * 0.8 / 1.5  # by the step before, by what is seen of it, and by the step after
    assert set_once["mean"][2] == pytest.approx(told / (1 / 0.5 + 1.0 + 0.81 / 1.5))


def test_a_window_tells_the_row_that_is_impossible():
    """The engine's error names a variable of its network; that of the question names the row."""
    stuck = pb.DynamicBayesianNetwork([TableCPD("X", [1.0, 0.0])], [TableCPD("X", np.eye(2), parents=["X[-1]"])])
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 1"):
        stuck.filter({"X": [0, 1]}, engine=Window(2))
    with pytest.raises(pb.errors.InvalidArgument, match="length=0"):
        Window(0)


@pytest.mark.parametrize("engine", ["auto", pb.LoopyBP(), ParticleFilter])
def test_engines_of_other_networks_are_refused_with_the_way_to_take_them(engine):
    """A name, an engine of ordinary networks, and a class that was meant to be called."""
    _, _, model = _coupled(np.random.default_rng(0))
    for question in (model.filter, model.smooth, model.predict, model.forecast):
        with pytest.raises(pb.errors.InvalidArgument, match=r"engine=.* as in Window\(3, LoopyBP\(\)\)"):
            question({"a": [0, 1], "b": [1, 0]}, engine=engine)


def test_engines_mind_inputs_of_now_and_of_before():
    """A window of all steps is exact, and particles are near, with what is given in slices before, too."""
    rng = np.random.default_rng(0)
    moves = TableCPD("X", rng.dirichlet([1, 1], size=(2, 2, 2)), ["U", "U[-1]", "X[-1]"])
    model = pb.DynamicBayesianNetwork(
        [TableCPD("X", [0.5, 0.5])],
        [moves, TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], ["X"])],
        inputs=[pb.Variable("U", ["a", "b"])],
    )
    rows, later = {"U": list("abbab"), "Y": [0, 1, None, 1, 1]}, {"U": ["b", "a"]}
    assert _apart(model.smooth(rows, engine=Window(5)), model.smooth(rows)) < 1e-12
    assert _apart(model.predict(rows, 2, inputs=later, engine=Window(2)), model.predict(rows, 2, inputs=later)) < 1e-12
    drawn = model.smooth(rows, engine=ParticleFilter(5000, seed=0, num_trajectories=2000))
    assert np.abs(drawn["X"] - model.smooth(rows)["X"]).to_numpy().max() < 4 * 0.5 / np.sqrt(2000)
