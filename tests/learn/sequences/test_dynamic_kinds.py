"""Networks over time with numbers, inputs and kinds that are no tables, against sums over all that is hidden."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import ConditionalGaussianCPD, DynamicBayesianNetwork, LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import InvalidGraph, UnknownVariable
from plausible.models.sequences import joint_chains, step_joints
from plausible.variables import Variable


def regime(seed):
    """Two hidden regimes; what is measured hangs on the regime, on the one before and on what was measured before."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet([2, 2], size=2)
    slopes = {"x[-1]": rng.normal(size=(2, 2)) * 0.4}
    first = ConditionalGaussianCPD("x", rng.normal(size=2), {}, rng.random(2) + 0.5, ["s"])
    later = ConditionalGaussianCPD(
        "x", rng.normal(size=(2, 2)), slopes, rng.random((2, 2)) + 0.5, ["s[-1]", "s", "x[-1]"]
    )
    return DynamicBayesianNetwork(
        [TableCPD("s", rng.dirichlet([2, 2])), first], [TableCPD("s", moves, ["s[-1]"]), later]
    )


def completions(model, frames):
    """Every course of the regimes of each sequence, with its share: by enumeration."""
    found, total = [], 0.0
    initial, moves = model.initial[0]["s"].values, model.transition["s"].values
    first, later = model.initial[0]["x"], model.transition["x"]
    for frame in frames:
        x = frame["x"].to_numpy()
        weights = []
        for path in itertools.product(range(2), repeat=len(x)):
            log = math.log(initial[path[0]]) + float(first.log_probability({"s": path[0], "x": x[0]}))
            for t in range(1, len(x)):
                now = {"s[-1]": path[t - 1], "s": path[t], "x[-1]": x[t - 1], "x": x[t]}
                log += math.log(moves[path[t - 1], path[t]]) + float(later.log_probability(now))
            weights.append((path, math.exp(log)))
        mass = sum(weight for _, weight in weights)
        total += math.log(mass)
        found += [(x, path, weight / mass) for path, weight in weights]
    return found, total


def regression(rows):
    """Intercept, slope and variance of greatest weighted likelihood."""
    design = np.array([[1.0, before] for before, _, _ in rows])
    target, weights = np.array([now for _, now, _ in rows]), np.array([weight for *_, weight in rows])
    solution = np.linalg.solve(design.T * weights @ design, design.T * weights @ target)
    return *solution, weights @ (target - design @ solution) ** 2 / weights.sum()


@pytest.fixture(params=["as one chain", "on trees", "pairs on trees"])
def _way(request, monkeypatch):
    """What is hidden is told by one chain of joint states, or by trees."""
    if request.param == "on trees":
        monkeypatch.setattr(joint_chains, "_MOST_STATES", 0)
    if request.param == "pairs on trees":
        monkeypatch.setattr(step_joints, "_MOST_PAIRS", 0)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_the_weighted_regression_over_all_courses_of_what_is_hidden(seed):
    """Expected moves and weighted least squares by enumeration, sequences of several lengths."""
    model = regime(seed)
    frames = [model.sample(length, seed=number)[["x"]] for number, length in enumerate((7, 1, 6, 5, 7))]
    courses, total = completions(model, frames)
    fit = pb.learn.dynamic(model, frames, max_steps=1, tolerance=0.0)
    assert fit.trace[0] == pytest.approx(total, abs=1e-10)
    moves, rows = np.zeros((2, 2)), {pair: [] for pair in itertools.product(range(2), repeat=2)}
    for x, path, share in courses:
        for t in range(1, len(x)):
            moves[path[t - 1], path[t]] += share
            rows[path[t - 1], path[t]].append((x[t - 1], x[t], share))
    found = fit.model.transition
    np.testing.assert_allclose(found["s"].values, moves / moves.sum(axis=1, keepdims=True), atol=1e-10)
    for pair, own in rows.items():
        intercept, slope, variance = regression(own)
        assert found["x"].intercept[pair] == pytest.approx(intercept, abs=1e-8)
        assert found["x"].coefficients["x[-1]"][pair] == pytest.approx(slope, abs=1e-8)
        assert found["x"].variance[pair] == pytest.approx(variance, rel=1e-7)


def test_steps_are_those_of_a_hidden_markov_model():
    """Where it is one, learn.hmm has the same objectives, all the way."""
    emission = ConditionalGaussianCPD("x", [0.0, 3.0], {}, [1.0, 0.5], ["s"])
    chain = TableCPD("s", [[0.95, 0.05], [0.1, 0.9]], ["s[-1]"])
    model = DynamicBayesianNetwork([TableCPD("s", [0.5, 0.5])], [chain, emission])
    rows = model.sample(300, seed=1)[["x"]]
    rows.loc[::9, "x"] = np.nan
    seen = pb.GaussianEmission([0.0, 3.0], [1.0, 0.5])
    hmm = pb.HiddenMarkovModel([0.5, 0.5], chain.values, seen)
    other = pb.learn.hmm(rows.rename(columns={"x": "observation"}), start=hmm, max_steps=5, tolerance=0.0)
    fit = pb.learn.dynamic(model, rows, max_steps=5, tolerance=0.0)
    np.testing.assert_allclose(fit.trace, other.trace, rtol=1e-9)


def test_complete_numbers_are_regressions():
    """Two numbers that hang on each other and on themselves before: least squares, in one step."""
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame(rng.normal(size=(length, 2)), columns=["x", "y"]) for length in (40, 25, 1)]
    fit = pb.learn.dynamic("x[-1] -> x; y[-1] -> y; x[-1] -> y; x -> y", frames)
    before, now = (np.concatenate([f.to_numpy()[part] for f in frames]) for part in (slice(-1), slice(1, None)))
    named = {"x[-1]": before[:, 0], "y[-1]": before[:, 1], "x": now[:, 0]}
    design = np.column_stack([np.ones(len(now)), *(named[name] for name in fit.model.transition["y"].parent_names)])
    solution = np.linalg.lstsq(design, now[:, 1], rcond=None)[0]
    found = fit.model.transition["y"]
    np.testing.assert_allclose([found.intercept, *found.coefficients], solution, rtol=1e-9)
    assert found.variance == pytest.approx(np.mean((now[:, 1] - design @ solution) ** 2))
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(frames), rel=1e-12)
    assert fit.converged


def test_numbers_of_first_steps_that_are_too_few_keep_to_the_whole_column():
    """One sequence has one first row, whose variance would run to zero: all rows tell where a sequence begins."""
    rows = pd.DataFrame({"x": np.random.default_rng(1).normal(5.0, 2.0, size=200)})
    first = pb.learn.dynamic("x[-1] -> x", rows).model.initial[0]["x"]
    assert first.intercept == pytest.approx(rows["x"].mean())
    assert first.variance == pytest.approx(rows["x"].var(ddof=0))


def test_inputs_have_no_distribution():
    """Moves given an input are counted; a network that has inputs keeps them, and hidden states go with them."""
    rng = np.random.default_rng(2)
    frames = [pd.DataFrame({"u": rng.integers(2, size=n), "x": rng.integers(3, size=n)}) for n in (50, 30)]
    fit = pb.learn.dynamic("u -> x; x[-1] -> x", frames, inputs="u")
    counts = np.zeros((2, 3, 3))
    for frame in frames:
        np.add.at(counts, (frame.u[1:], frame.x[:-1], frame.x[1:]), 1)
    found = fit.model.transition["x"].to_factor().reorder(["u", "x[-1]", "x"]).values
    np.testing.assert_allclose(found, counts / counts.sum(axis=-1, keepdims=True))
    assert fit.model.inputs == ("u",)
    hidden = DynamicBayesianNetwork(
        [TableCPD("h", [0.5, 0.5])],
        [
            TableCPD("h", rng.dirichlet([3, 3], size=(2, 2)), ["u", "h[-1]"]),
            TableCPD("x", rng.dirichlet([1] * 3, 2), ["h"]),
        ],
        inputs=[Variable("u", 2)],
    )
    fit = pb.learn.dynamic(hidden, frames, max_steps=10, tolerance=0.0)
    assert np.diff(fit.trace).min() >= -1e-9
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(frames), rel=1e-10)


def test_kinds_of_distributions_stay_and_the_objective_never_falls():
    """A noisy-or with a hidden cause is learned as one, not as the table it stands for."""
    model = DynamicBayesianNetwork(
        [TableCPD("a", [0.5, 0.5]), TableCPD("b", [0.5, 0.5])],
        [TableCPD("a", [[0.9, 0.1], [0.2, 0.8]], ["a[-1]"]), NoisyOr("b", ["a", "b[-1]"], [0.8, 0.5], leak=0.05)],
    )
    rows = model.sample(400, seed=0)
    complete = pb.learn.dynamic(model, rows)
    assert isinstance(complete.model.transition["b"], NoisyOr)
    assert complete.log_likelihood >= model.log_likelihood(rows)
    partly = rows.astype(object)
    partly.loc[::2, "a"] = None
    partly.loc[::7, "b"] = None
    fit = pb.learn.dynamic(model, partly, max_steps=12, tolerance=0.0)
    assert isinstance(fit.model.transition["b"], NoisyOr)
    assert np.diff(fit.trace).min() >= -1e-8
    assert fit.em is None


@pytest.mark.parametrize("seed", range(3))
def test_starts_that_are_drawn_tell_hidden_causes_apart(seed):
    """Two hidden switches whose sum is measured: some start finds four levels, and a fit never falls."""
    levels = ConditionalGaussianCPD("x", [[0.0, 2.0], [5.0, 7.0]], {}, np.full((2, 2), 0.3), ["a", "b"])
    moves = [TableCPD(name, [[0.95, 0.05], [0.05, 0.95]], [f"{name}[-1]"]) for name in "ab"]
    model = DynamicBayesianNetwork([TableCPD("a", [0.5, 0.5]), TableCPD("b", [0.5, 0.5])], [*moves, levels])
    rows = model.sample(800, seed=seed)[["x"]]
    graph = "a[-1] -> a -> x; b[-1] -> b -> x"
    fit = pb.learn.dynamic(graph, rows, hidden={"a": 2, "b": 2}, restarts=5, seed=seed)
    means = np.sort(np.ravel(fit.model.transition["x"].intercept))
    np.testing.assert_allclose(means, [0.0, 2.0, 5.0, 7.0], atol=0.3)
    assert all(np.diff(run.trace).min() >= -1e-8 for run in fit.runs)
    again = pb.learn.dynamic(graph, rows, hidden={"a": 2, "b": 2}, restarts=5, seed=seed)
    assert again.log_likelihood == fit.log_likelihood


def test_priors_and_fixed_distributions():
    """Pseudo-counts go by the names of slices, as where all are tables; what is fixed stays."""
    rows = pd.DataFrame({"s": [0, 0, 1, 1, 1], "x": [0.1, 0.3, 2.0, 2.2, 2.4]})
    fit = pb.learn.dynamic("s[-1] -> s -> x", rows, {"s[1]": pb.Dirichlet(1.0)})
    np.testing.assert_allclose(fit.model.transition["s"].values, [[2 / 4, 2 / 4], [1 / 4, 3 / 4]])
    np.testing.assert_allclose(fit.model.initial[0]["s"].values, [1.0, 0.0])
    kept = pb.learn.dynamic(regime(0), regime(0).sample(30, seed=0), fixed=["x"]).model
    assert kept.transition["x"] == regime(0).transition["x"]


def test_errors_name_the_variable():
    """Hidden numbers, inputs that are not there or depend on something."""
    gaussian = DynamicBayesianNetwork(
        [LinearGaussianCPD("x", 0.0)],
        [LinearGaussianCPD("x", 0.0, {"x[-1]": 0.5}), LinearGaussianCPD("y", 0.0, {"x": 1.0})],
    )
    with pytest.raises(UnknownVariable, match="'x' has no column: a number that is hidden"):
        pb.learn.dynamic(gaussian, {"y": [0.5, 1.5]})
    with pytest.raises(UnknownVariable, match="'v' is not a variable of this graph, though inputs= has it"):
        pb.learn.dynamic("u -> x", {"u": [0, 1], "x": [0, 1]}, inputs="v")
    with pytest.raises(InvalidGraph, match="arrow leads into 'x', which is an input"):
        pb.learn.dynamic("u -> x", {"u": [0, 1], "x": [0, 1]}, inputs=["x"])
    with pytest.raises(UnknownVariable, match="'u' has no column, and it is an input"):
        pb.learn.dynamic("u -> x", {"x": [0, 1]}, inputs=["u"])
