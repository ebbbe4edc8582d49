"""Networks over time that are linear Gaussian throughout: exact answers are conditioning in one joint Gaussian."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import plausible as pb
from plausible import DynamicBayesianNetwork, LinearGaussianCPD
from plausible.errors import NotSupported, UnknownVariable
from plausible.models import ParticleFilter

SEEDS = range(8)


def random_network(rng, has_input, order=1):
    """One to three numbers that hang on each other, on themselves before, and on an input of now or before."""
    names = [f"v{i}" for i in range(int(rng.integers(1, 4)))]

    def cpd(place, num_before):
        slopes = {name: rng.normal() for name in names[:place] if rng.random() < 0.6}
        for lag in range(1, num_before + 1):
            slopes |= {f"{name}[-{lag}]": 0.5 * rng.normal() for name in names if rng.random() < 0.6}
            slopes |= {f"u[-{lag}]": rng.normal()} if has_input else {}
        slopes |= {"u": rng.normal()} if has_input else {}
        return LinearGaussianCPD(names[place], rng.normal(), slopes, float(rng.random() + 0.1))

    *first, later = ([cpd(place, num_before) for place in range(len(names))] for num_before in range(order + 1))
    return DynamicBayesianNetwork(first, later, inputs=[pb.Variable("u")] if has_input else [])


class JointOracle:
    """All numbers of all steps as one Gaussian, x = M x + c + e; what is set or given has no equation."""

    def __init__(self, model, length, inputs=None, do=None):
        known = {f"u[{t}]": value for t, value in enumerate(inputs if inputs is not None else ())}
        known |= {f"{name}[{t}]": value for name, value in (do or {}).items() for t in range(length)}
        names = [name for name in model.variables if name not in model.inputs and name not in (do or {})]
        self.keys = [f"{name}[{t}]" for t in range(length) for name in names]
        places = {key: place for place, key in enumerate(self.keys)}
        gains, constant = np.zeros((len(places), len(places))), np.zeros(len(places))
        noise = np.zeros(len(places))
        for t in range(length):
            cpds = model.initial[t] if t < len(model.initial) else model.transition
            for name in names:
                here = places[f"{name}[{t}]"]
                constant[here], noise[here] = cpds[name].intercept, cpds[name].variance
                for text, slope in zip(cpds[name].parent_names, cpds[name].coefficients, strict=True):
                    name_before, _, lag = text.partition("[-")
                    key = f"{name_before}[{t - int(lag.rstrip(']') or 0)}]"
                    if key in known:
                        constant[here] += slope * known[key]
                    else:
                        gains[here, places[key]] = slope
        solved = np.linalg.inv(np.eye(len(places)) - gains)
        self.mean, self.covariance = solved @ constant, solved * noise @ solved.T

    def given(self, seen):
        """Key -> mean and deviation given what is seen, and its log-density."""
        known = [place for place, key in enumerate(self.keys) if key in seen]
        if not known:
            return dict(
                zip(self.keys, zip(self.mean, np.sqrt(self.covariance.diagonal()), strict=True), strict=True)
            ), 0.0
        values = np.array([seen[self.keys[place]] for place in known])
        inner, cross = self.covariance[np.ix_(known, known)], self.covariance[:, known]
        gain = np.linalg.solve(inner, cross.T).T
        mean = self.mean + gain @ (values - self.mean[known])
        variance = (self.covariance - gain @ cross.T).diagonal()
        log = multivariate_normal(self.mean[known], inner).logpdf(values)
        return dict(zip(self.keys, zip(mean, np.sqrt(np.maximum(variance, 0)), strict=True), strict=True)), float(log)


def random_rows(rng, model, length):
    """Rows with cells missing, at times a whole column; inputs are there."""
    inputs = rng.normal(size=length) * 3 + 5 if model.inputs else None
    given = {"inputs": pd.DataFrame({"u": inputs})} if model.inputs else {}
    rows = model.sample(length, seed=int(rng.integers(1000)), **given)
    for name in (name for name in model.variables if name != "u"):
        rows.loc[rng.random(length) < 0.4, name] = np.nan
    if rng.random() < 0.4 and "v1" in rows:
        rows = rows.drop(columns="v0")
    return rows, inputs


def cells(rows):
    """Key -> what is seen; inputs left out."""
    named = {(name, t): rows[name].iloc[t] for name in rows.columns if name != "u" for t in range(len(rows))}
    return {f"{name}[{t}]": value for (name, t), value in named.items() if not np.isnan(value)}


@pytest.mark.parametrize("has_input", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_beliefs_and_likelihoods_are_conditioning(seed, has_input, order):
    """Smoothed, filtered, and the likelihood of each step, however far slices look back; what is seen is known."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, has_input, order)
    rows, inputs = random_rows(rng, model, 5)
    oracle = JointOracle(model, 5, inputs)
    smoothed, filtered, steps = model.smooth(rows), model.filter(rows), model.step_log_likelihoods(rows)
    expected, log = oracle.given(cells(rows))
    assert model.log_likelihood(rows) == pytest.approx(log, abs=1e-10)
    before = 0.0
    for t in range(5):
        partial, so_far = oracle.given(cells(rows.iloc[: t + 1]))
        assert steps.iloc[t] == pytest.approx(so_far - before, abs=1e-10)
        before = so_far
        for name in (name for name in model.variables if name != "u"):
            np.testing.assert_allclose(smoothed[name].iloc[t], expected[f"{name}[{t}]"], atol=1e-7)
            np.testing.assert_allclose(filtered[name].iloc[t], partial[f"{name}[{t}]"], atol=1e-7)


@pytest.mark.parametrize("has_input", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_to_come_and_numbers_that_are_set(seed, has_input):
    """Predictions are beliefs of steps without rows; a number that is set hangs on nothing."""
    rng = np.random.default_rng(100 + seed)
    model = random_network(rng, has_input)
    rows, inputs = random_rows(rng, model, 4)
    later = {"inputs": pd.DataFrame({"u": [1.0, -2.0]})} if has_input else {}
    whole = None if inputs is None else [*inputs, 1.0, -2.0]
    expected, _ = JointOracle(model, 6, whole).given(cells(rows))
    predicted, forecast = model.predict(rows, 2, **later), model.forecast(rows, 2, level=0.9, **later)
    for name in (name for name in model.variables if name != "u"):
        for step in range(2):
            mean, deviation = expected[f"{name}[{4 + step}]"]
            np.testing.assert_allclose(predicted[name].iloc[step], [mean, deviation], atol=1e-7)
            if name in rows:
                ends = [mean, mean - 1.6448536 * deviation, mean + 1.6448536 * deviation]
                np.testing.assert_allclose(forecast[name].iloc[step], ends, atol=1e-6)
    last = f"v{len(model.transition) - 1}"
    rows = rows.drop(columns=last, errors="ignore")
    if len(rows.columns):
        expected, _ = JointOracle(model, 4, inputs, {last: 1.5}).given(cells(rows))
        found = model.smooth(rows, do={last: 1.5})
        for name in (name for name in model.transition if name != last):
            np.testing.assert_allclose(found[name], [expected[f"{name}[{t}]"] for t in range(4)], atol=1e-7)
        assert found[last]["mean"].tolist() == pytest.approx([1.5] * 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_systems_and_their_networks_answer_alike(seed):
    """There and back: beliefs of states and likelihoods; noise that numbers share, and inputs."""
    rng = np.random.default_rng(seed)
    root, inputs = rng.normal(size=(2, 2)), pd.DataFrame({"u1": rng.normal(size=6)})
    gains = {"transition_input": rng.normal(size=(2, 1)), "observation_input": rng.normal(size=(2, 1))}
    noise = root @ root.T + 0.1 * np.eye(2)
    matrices = 0.5 * rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), noise, noise[::-1, ::-1]
    system = pb.LinearDynamicalSystem(*matrices, rng.normal(size=2), noise, **gains)
    rows = system.sample(6, seed=seed, inputs=inputs)[["y1", "y2", "u1"]]
    rows.loc[2, "y1"] = np.nan
    network = system.to_dynamic_network()
    assert network.log_likelihood(rows) == pytest.approx(system.log_likelihood(rows), abs=1e-9)
    beliefs, smoothed = network.smooth(rows), system.smooth(rows)
    for place, name in enumerate(("x1", "x2")):
        np.testing.assert_allclose(beliefs[name]["mean"], smoothed.mean[:, place], atol=1e-9)
        np.testing.assert_allclose(beliefs[name]["deviation"], smoothed.deviation[:, place], atol=1e-7)
    model = random_network(rng, has_input=False)
    rows = model.sample(5, seed=seed)[["v0"]]
    back = model.to_linear_system("v0")
    assert back.log_likelihood(rows) == pytest.approx(model.log_likelihood(rows), abs=1e-9)
    for name in (name for name in model.variables if name != "v0"):
        means = back.smooth(rows).to_frame()[name]["mean"]
        np.testing.assert_allclose(model.smooth(rows)[name]["mean"], means, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_probable_numbers_are_those_of_the_unrolled_network(seed, order):
    """The means given all rows, with the joint density of all numbers; several sequences, whose steps are mixed."""
    rng = np.random.default_rng(200 + seed)
    model = random_network(rng, has_input=False, order=order)
    parts = [random_rows(rng, model, length)[0].assign(who=length, t=range(length)) for length in (4, 6)]
    rows = pd.concat(parts).sample(frac=1.0, random_state=seed)
    best = model.mpe(rows, sequence="who", time="t")
    total = 0.0
    for part in parts:
        expected = model.unroll(len(part)).mpe(cells(part.drop(columns=["who", "t"])))
        total += expected.log_probability
        own = best.states[(rows["who"] == len(part)).to_numpy()].sort_index()
        for name in model.variables:
            np.testing.assert_allclose(own[name], [expected[f"{name}[{t}]"] for t in range(len(part))], atol=1e-9)
    assert best.log_probability == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_drawn_numbers_have_the_moments_of_the_unrolled_network(order):
    """Means and covariances, those of different steps too, of many paths; numbers that are seen are as they were."""
    rng = np.random.default_rng(order)
    model = random_network(rng, has_input=False, order=order)
    rows, _ = random_rows(rng, model, 4)
    drawn, count = model.sample_posterior(rows, 5_000, seed=0), 5_000
    names = [f"{name}[{t}]" for name in model.variables for t in range(4)]
    paths = np.stack([drawn.values[name][:, t] for name in model.variables for t in range(4)])
    moments = model.unroll(4).moments([name for name in names if name not in cells(rows)], cells(rows))
    hidden = [place for place, name in enumerate(names) if name not in cells(rows)]
    error = np.sqrt(moments.covariance.diagonal() / count)
    assert (np.abs(paths[hidden].mean(axis=1) - moments.mean) < 5 * error).all()
    scale = np.sqrt(np.outer(moments.covariance.diagonal(), moments.covariance.diagonal()))
    assert (np.abs(np.cov(paths[hidden]) - moments.covariance) < 8 * scale / np.sqrt(count)).all()
    for name, value in cells(rows).items():
        np.testing.assert_allclose(paths[names.index(name)], value, atol=1e-9)
    again = model.sample_posterior(rows, 2, seed=3)
    assert again[1].equals(model.sample_posterior(rows, 2, seed=3)[1])


def test_long_sequences_that_look_back_two_steps_settle():
    """Where covariances have settled, answers are those of the network with copies in place of lags."""

    def later(name, slopes, variance):
        return LinearGaussianCPD(name, 0.1, slopes, variance)

    seen = LinearGaussianCPD("y", 0.0, {"x": 1.0}, 0.5)
    first = [[later("x", {}, 2.0), seen], [later("x", {"x[-1]": 0.7}, 1.5), seen]]
    model = DynamicBayesianNetwork(first, [later("x", {"x[-1]": 0.5, "x[-2]": 0.3}, 0.4), seen])
    rows = model.sample(60, seed=0)[["y"]]
    rows.loc[[7, 30], "y"] = np.nan
    expected, log = JointOracle(model, 60).given(cells(rows))
    found = model.smooth(rows)["x"]
    np.testing.assert_allclose(found, [expected[f"x[{t}]"] for t in range(60)], atol=1e-10)
    assert model.log_likelihood(rows) == pytest.approx(log, abs=1e-9)


def test_what_is_no_linear_system_is_refused_with_a_way_out():
    """Two steps back; the copy of a number that the error speaks of does it."""
    far = DynamicBayesianNetwork(
        [[LinearGaussianCPD("x", 0.0)], [LinearGaussianCPD("x", 0.0)]], [LinearGaussianCPD("x", 0.0, {"x[-2]": 0.5})]
    )
    with pytest.raises(NotSupported, match=r'LinearGaussianCPD\("copy"'):
        far.to_linear_system("x")
    with pytest.raises(UnknownVariable, match="'y' is not a variable"):
        far.to_linear_system("y")
    assert far.log_likelihood({"x": [0.1, 0.2, 0.3]}) == pytest.approx(
        sum(-0.5 * (np.log(2 * np.pi) + gap**2) for gap in (0.1, 0.2, 0.25))
    )
    copied = DynamicBayesianNetwork(
        [LinearGaussianCPD("copy", 0.0, {}, 4.0), LinearGaussianCPD("x", 0.0)],
        [LinearGaussianCPD("copy", 0.0, {"x[-1]": 1.0}, 0.0), LinearGaussianCPD("x", 0.0, {"copy[-1]": 0.5})],
    )
    assert copied.smooth({"x": [0.1, None, 0.3]})["copy"]["mean"].tolist()[1:] == pytest.approx(
        [0.1, copied.smooth({"x": [0.1, None, 0.3]})["x"]["mean"][1]]
    )


def test_impossible_numbers_are_told_once():
    """A number that never moves and then does: minus infinity at the row, nothing after it, an error with its place."""
    still = DynamicBayesianNetwork([LinearGaussianCPD("x", 0.0)], [LinearGaussianCPD("x", 0.0, {"x[-1]": 1.0}, 0.0)])
    steps = still.step_log_likelihoods({"x": [1.0, 1.0, 2.0, 2.0]})
    assert np.isfinite(steps[:2]).all()
    assert np.isneginf(steps[2])
    assert np.isnan(steps[3])
    with pytest.raises(pb.errors.ImpossibleEvidence, match="row 2"):
        still.filter({"x": [1.0, 1.0, 2.0]})


@pytest.mark.parametrize("auxiliary", [False, True])
def test_particles_tell_numbers(auxiliary):
    """Means within five standard errors of the exact ones, deviations and quantiles of forecasts near them."""
    walk = LinearGaussianCPD("x", 0.2, {"x[-1]": 0.9}, 0.5)
    model = DynamicBayesianNetwork([LinearGaussianCPD("x", 0.0)], [walk, LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0)])
    rows = {"y": [0.5, 1.0, None, 2.0, 1.5]}
    engine = ParticleFilter(4000, num_trajectories=1000, seed=0, auxiliary=auxiliary)
    for question, count in ((model.filter, 4000 / 3), (model.smooth, 1000 / 2)):
        exact, found = question(rows)["x"], question(rows, engine=engine)["x"]
        assert (np.abs(found["mean"] - exact["mean"]) < 5 * exact["deviation"] / np.sqrt(count)).all()
        np.testing.assert_allclose(found["deviation"], exact["deviation"], rtol=0.15)
    exact, found = model.forecast(rows, 2), model.forecast(rows, 2, engine=engine)
    np.testing.assert_allclose(found["y"], exact["y"], atol=0.2)
