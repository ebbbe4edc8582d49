"""Questions to networks with continuous variables, against enumeration of discrete configurations with NumPy."""

from __future__ import annotations

import json
import math
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_networks import benchmark_path
from hybrid_oracle import Enumerated, condition, gaussian_given, random_evidence, random_hybrid
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidModel,
    NotSupported,
    TooLarge,
    UnknownVariable,
)
from plausible.factors import Factor, MomentGaussian
from plausible.factors.gaussian_mixture import GaussianMixture
from plausible.models import BayesianNetwork, HybridEngine
from plausible.variables import Variable, jeffrey, likelihood


@st.composite
def problems(draw, zero_variances=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    net = random_hybrid(rng, draw(st.integers(0, 4)), draw(st.integers(1, 5)), zero_variances)
    return net, random_evidence(rng, net), rng


def ask(function, net, *arguments):
    return function(HybridEngine(net.cpds, net.variables), *arguments)


def hybrid_query(engine, targets, *evidence):
    """A table of discrete targets, the moments of continuous ones, a mixture of both."""
    listed = [targets] if isinstance(targets, str) else targets
    numbers = [name for name in listed if name in engine.variables and engine.variables[name].is_continuous]
    if numbers and len(numbers) < len(listed):
        return engine.mixture(listed, *evidence).marginal(listed)
    return engine.moments(targets, *evidence) if numbers else engine.query(targets, *evidence)


def hybrid_marginals(engine, *evidence):
    """The tables of discrete variables and the moments of continuous ones."""
    is_discrete = any(not variable.is_continuous for variable in engine.variables.values())
    answers = {**(engine.marginals(*evidence) if is_discrete else {}), **engine.continuous_marginals(*evidence)}
    return {name: answers[name] for name in engine.variables}


hybrid_log_probability, hybrid_mpe = HybridEngine.log_probability, HybridEngine.mpe
hybrid_mixture, hybrid_sample = HybridEngine.mixture, HybridEngine.sample


def check_everything(net, evidence, rng, soft=None):
    """Every kind of question against the enumeration."""
    truth = Enumerated(net, evidence, soft)
    findings = {**evidence, **{name: likelihood(weights) for name, weights in (soft or {}).items()}}
    log_probability = ask(hybrid_log_probability, net, findings)
    if truth.masses:
        assert log_probability == math.inf
    else:
        assert log_probability == pytest.approx(truth.log_total, abs=1e-8)
    marginals = ask(hybrid_marginals, net, findings)
    assert list(marginals) == list(net.variables)
    for name, variable in net.variables.items():
        alone = ask(hybrid_query, net, name, findings)
        if variable.is_continuous:
            _, mean, covariance = truth.moments([name])
            for answer in (alone, marginals[name]):
                assert isinstance(answer, MomentGaussian)
                np.testing.assert_allclose(answer.mean, mean, atol=1e-7)
                np.testing.assert_allclose(answer.covariance, covariance, atol=1e-7)
        else:
            expected = truth.table([name], [variable.num_states])
            np.testing.assert_allclose(alone.values, expected, atol=1e-9)
            np.testing.assert_allclose(marginals[name].values, expected, atol=1e-9)
    check_joint(net, findings, truth, rng)


def check_joint(net, findings, truth, rng):
    """Some variables of both kinds together."""
    targets = [name for name in net.variables if rng.random() < 0.6]
    rng.shuffle(targets)
    discrete = [name for name in targets if name in truth.discrete]
    continuous = [name for name in targets if name in truth.order]
    sizes = [net.variables[name].num_states for name in discrete]
    answer = ask(hybrid_query, net, targets, findings)
    if not continuous:
        np.testing.assert_allclose(answer.values, truth.table(discrete, sizes), atol=1e-9)
        return
    if not discrete:
        _, mean, covariance = truth.moments(continuous)
        np.testing.assert_allclose(answer.mean, mean, atol=1e-7)
        np.testing.assert_allclose(answer.covariance, covariance, atol=1e-7)
        assert answer.names == tuple(continuous)
        return
    assert answer.names == (*discrete, *continuous)
    np.testing.assert_allclose(answer.weights.values, truth.table(discrete, sizes), atol=1e-9)
    for positions in cartesian(*map(range, sizes)):
        if answer.weights.values[positions] > 1e-12:
            _, mean, covariance = truth.moments(continuous, dict(zip(discrete, positions, strict=True)))
            np.testing.assert_allclose(answer.means[positions], mean, atol=1e-6)
            np.testing.assert_allclose(answer.covariances[positions], covariance, atol=1e-6)
    full = ask(hybrid_mixture, net, targets, findings)
    assert full.is_exact
    assert full.marginal(answer.names).is_close(answer)


@settings(max_examples=16, deadline=None)
@given(problem=problems())
def test_answers_equal_enumeration_of_discrete_configurations(problem):
    """Every posterior, moment and log-density is that of the weighted Gaussians of all configurations."""
    net, evidence, rng = problem
    check_everything(net, evidence, rng)


@settings(max_examples=32, deadline=None)
@given(problem=problems(zero_variances=True))
def test_variances_of_zero_are_exact(problem):
    """Deterministic variables, anywhere and observed or not: what is certain beats what is merely likely."""
    net, evidence, rng = problem
    check_everything(net, evidence, rng)


@settings(max_examples=12, deadline=None)
@given(problem=problems())
def test_likelihoods_weigh_discrete_variables(problem):
    """Soft evidence multiplies the weights of configurations."""
    net, evidence, rng = problem
    evidence = {name: value for name, value in evidence.items() if net.variables[name].is_continuous}
    names = [name for name, variable in net.variables.items() if not variable.is_continuous]
    soft = {name: rng.random(net.variables[name].num_states) + 0.1 for name in names if rng.random() < 0.5}
    check_everything(net, evidence, rng, soft)


def test_the_mixture_is_exact_in_density():
    """The density of the full mixture is the sum over configurations; a collapsed one refuses to give any."""
    net = random_hybrid(np.random.default_rng(5), 3, 3, zero_variances=False)
    truth = Enumerated(net, {})
    full = ask(hybrid_mixture, net, ["x2"])
    grid = np.linspace(-6, 6, 5)
    expected = np.zeros(5)
    axis = truth.order.index("x2")
    for (_, _, mean, covariance, _), weight in zip(truth.found, truth.weights, strict=True):
        variance = covariance[axis, axis]
        expected += weight * np.exp(-0.5 * (grid - mean[axis]) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    np.testing.assert_allclose(full.density({"x2": grid}), expected, rtol=1e-9)
    assert len(full.weights.scope) > 0
    with pytest.raises(NotSupported, match="Ask about these variables too"):
        full.marginal("x2").density({"x2": grid})


# --- worked numbers ---


def sensor():
    return BayesianNetwork(LinearGaussianCPD("x", 1.0, variance=4.0), LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0))


def test_a_linear_sensor_by_hand():
    """N(1, 4) seen through N(-3.5 + x/2, 4) at 2: mean 3, variance 3.2, density N(2; -3, 5)."""
    net = sensor()
    answer = ask(hybrid_query, net, "x", {"y": 2.0})
    assert answer.mean[0] == pytest.approx(3.0)
    assert answer.covariance[0, 0] == pytest.approx(3.2)
    expected = -0.5 * (math.log(2 * math.pi * 5) + 25 / 5)
    assert ask(hybrid_log_probability, net, {"y": 2.0}) == pytest.approx(expected)
    both = ask(hybrid_query, net, ["y", "x"])
    np.testing.assert_allclose(both.covariance, [[5, 2], [2, 4]])


def test_a_chain_of_three_by_hand():
    """X1 ~ N(1, 4), X2 | x1 ~ N(0.5 x1 - 3.5, 4), X3 | x2 ~ N(1 - x2, 3): the joint that textbooks print."""
    net = BayesianNetwork(
        LinearGaussianCPD("X1", 1.0, variance=4.0),
        LinearGaussianCPD("X2", -3.5, {"X1": 0.5}, 4.0),
        LinearGaussianCPD("X3", 1.0, {"X2": -1.0}, 3.0),
    )
    joint = ask(hybrid_query, net, ["X1", "X2", "X3"])
    np.testing.assert_allclose(joint.mean, [1, -3, 4])
    np.testing.assert_allclose(joint.covariance, [[4, 2, -2], [2, 5, -5], [-2, -5, 8]])


def test_two_classes_seen_through_a_measurement():
    """Two classes with means 10 and 12 and variance 1: at 12 the log-odds are 2."""
    kind = TableCPD("kind", [0.5, 0.5], states=["small", "large"])
    net = BayesianNetwork(kind, ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, ["kind"]))
    posterior = ask(hybrid_query, net, "kind", {"height": 12.0})
    assert posterior["large"] == pytest.approx(1 / (1 + math.exp(-2)))
    assert posterior.info.exact
    assert posterior.info.engine == "strong elimination"
    moments = ask(hybrid_query, net, "height")
    assert (moments.mean[0], moments.covariance[0, 0]) == (11.0, 2.0)
    mixed = ask(hybrid_query, net, ["height", "kind"])
    assert isinstance(mixed, GaussianMixture)
    assert mixed.names == ("kind", "height")
    assert mixed.given({"kind": "large"}).means == {"height": 12.0}


# --- certainty and impossibility ---


def test_a_copy_of_an_observed_number_is_known():
    """Y = 2 X exactly, Y observed: X is certain, and a second copy must agree."""
    net = BayesianNetwork(
        LinearGaussianCPD("x", 0.0, variance=9.0),
        LinearGaussianCPD("y", 0.0, {"x": 2.0}, 0.0),
        LinearGaussianCPD("z", 1.0, {"x": 2.0}, 0.0),
    )
    answer = ask(hybrid_query, net, ["x", "z"], {"y": 3.0})
    np.testing.assert_allclose(answer.mean, [1.5, 4.0])
    assert not answer.covariance.any()
    assert ask(hybrid_log_probability, net, {"y": 3.0}) == pytest.approx(-0.5 * (math.log(2 * math.pi * 36) + 9 / 36))
    assert ask(hybrid_log_probability, net, {"y": 3.0, "z": 4.0}) == math.inf
    assert ask(hybrid_log_probability, net, {"y": 3.0, "z": 4.5}) == -math.inf
    with pytest.raises(ImpossibleEvidence, match=r"y=3\.0, z=4\.5 has probability zero together"):
        ask(hybrid_query, net, "x", {"y": 3.0, "z": 4.5})
    with pytest.raises(ImpossibleEvidence, match="together"):
        ask(hybrid_marginals, net, {"y": 3.0, "z": 4.5})
    with pytest.raises(ImpossibleEvidence, match="together"):
        ask(hybrid_sample, net, 3, 0, {"y": 3.0, "z": 4.5})


def test_sums_that_repeat_each_other_up_to_rounding_say_nothing_new():
    """s = 0.1 a + 0.3 b seen twice through different arithmetic: the second copy must not sharpen anything."""
    net = BayesianNetwork(
        LinearGaussianCPD("a", 0.0, variance=1.0),
        LinearGaussianCPD("b", 0.0, variance=1.0),
        LinearGaussianCPD("s", 0.0, {"a": 0.1, "b": 0.3}, 0.0),
        LinearGaussianCPD("third", 0.0, {"b": 0.3}, 0.0),
        LinearGaussianCPD("t", 0.0, {"a": 0.1, "third": 1.0}, 0.0),
    )
    twice = ask(hybrid_query, net, ["a", "b"], {"s": 0.7, "t": 0.7})
    once = ask(hybrid_query, net, ["a", "b"], {"s": 0.7})
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-12)
    np.testing.assert_allclose(twice.covariance, once.covariance, atol=1e-12)
    np.testing.assert_allclose(once.mean, [0.7, 2.1], rtol=1e-12)


def test_a_certain_value_beats_a_likely_one_only_where_it_is_possible():
    """Zero has a point mass in one class and a density in the other, which has it where the first is ruled out."""
    weather = TableCPD("weather", [0.7, 0.3], states=["dry", "wet"])
    rain = ConditionalGaussianCPD("rain", [0.0, 1.0], {}, [0.0, 4.0], ["weather"])
    alarm = TableCPD("alarm", [[1.0, 0.0], [0.5, 0.5]], parents=["weather"])
    net = BayesianNetwork(weather, rain, alarm)
    assert ask(hybrid_query, net, "weather", {"rain": 0.0})["dry"] == 1.0
    assert ask(hybrid_query, net, "weather", {"rain": 0.1})["wet"] == 1.0
    assert ask(hybrid_query, net, "weather", {"rain": 0.0, "alarm": 1})["wet"] == 1.0
    density = math.log(0.3 * 0.5) - 0.5 * (math.log(2 * math.pi * 4) + 1 / 4)
    assert ask(hybrid_log_probability, net, {"rain": 0.0, "alarm": 1}) == pytest.approx(density)
    assert ask(hybrid_log_probability, net, {"rain": 0.0}) == math.inf


def test_most_point_masses_win_among_configurations_that_are_possible():
    """One configuration explains one number for certain, another two: the second holds, whatever their order."""
    choice = Variable("choice", ["one", "two", "none"])
    numbers = [
        ConditionalGaussianCPD(name, 0.0, {}, variances, [choice])
        for name, variances in {"u": [0.0, 1.0, 1.0], "v": [1.0, 0.0, 1.0], "w": [1.0, 0.0, 1.0]}.items()
    ]
    net = BayesianNetwork(TableCPD(choice, [0.9, 0.05, 0.05]), *numbers)
    evidence = {"u": 0.0, "v": 0.0, "w": 0.0}
    assert ask(hybrid_query, net, "choice", evidence)["two"] == 1.0
    assert ask(hybrid_marginals, net, evidence)["choice"]["two"] == pytest.approx(1.0)
    assert ask(hybrid_query, net, "choice", {**evidence, "v": 0.1})["one"] == 1.0
    assert ask(hybrid_sample, net, 20, 0, evidence)["choice"].unique().tolist() == ["two"]


def test_a_point_mass_that_all_classes_share_tells_nothing_about_them():
    """Y = X + U and Z = 3 X, all but X observed: the classes differ in the density of U alone, given X = Z / 3."""
    net = BayesianNetwork(
        TableCPD("d", [0.5, 0.5]),
        LinearGaussianCPD("x"),
        ConditionalGaussianCPD("u", [0.0, 0.0], {"x": [2.0, 0.0]}, 1.0, [Variable("d", 2), Variable("x")]),
        LinearGaussianCPD("y", 0.0, {"x": 1.0, "u": 1.0}, 0.0),
        LinearGaussianCPD("z", 0.0, {"x": 3.0}, 0.0),
    )
    x, u = 0.4, 1.1
    posterior = ask(hybrid_query, net, "d", {"u": u, "y": x + u, "z": 3 * x})
    odds = math.exp(-0.5 * ((u - 2 * x) ** 2 - u**2))
    assert posterior[0] / posterior[1] == pytest.approx(odds)


def test_impossible_states_are_named():
    """A discrete finding of probability zero is impossible beside any numbers."""
    net = BayesianNetwork(
        TableCPD("A", [1.0, 0.0]), ConditionalGaussianCPD("x", [0.0, 1.0], {}, 1.0, [Variable("A", 2)])
    )
    for ask_it in (hybrid_query, hybrid_mixture):
        with pytest.raises(ImpossibleEvidence, match="The evidence A=1 has probability zero"):
            ask(ask_it, net, "x", {"A": 1})
    with pytest.raises(ImpossibleEvidence, match="A=1"):
        ask(hybrid_marginals, net, {"A": 1, "x": 0.3})
    assert ask(hybrid_log_probability, net, {"A": 1, "x": 0.3}) == -math.inf
    with pytest.raises(ImpossibleEvidence, match="A=1"):
        ask(hybrid_mpe, net, {"A": 1})


def test_densities_far_below_the_smallest_float_are_compared():
    """An outlier of 200 deviations leaves a class that is ruled out elsewhere no chance, and the other one all."""
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        TableCPD("B", [[1.0, 0.0], [0.2, 0.8]], parents=["A"]),
        ConditionalGaussianCPD("x", [0.0, 200.0], {}, 1.0, ["A"]),
    )
    assert ask(hybrid_query, net, "A", {"x": 0.0, "B": 1})[1] == 1.0
    expected = math.log(0.4) - 0.5 * (math.log(2 * math.pi) + 200.0**2)
    assert ask(hybrid_log_probability, net, {"x": 0.0, "B": 1}) == pytest.approx(expected, rel=1e-12)
    assert ask(hybrid_marginals, net, {"x": 0.0, "B": 1})["A"][1] == pytest.approx(1.0)


# --- scale ---


def kalman_smoother(slope, noise, sensor_noise, readings):
    """Means, variances and the log-density by the textbook recursions (Rauch, Tung & Striebel 1965), on floats."""
    mean, variance, log_density = 0.0, 1.0, 0.0
    filtered, predicted = [], []
    for step, reading in enumerate(readings):
        if step:
            mean, variance = slope * mean, slope**2 * variance + noise
        predicted.append((mean, variance))
        if reading is not None:
            total = variance + sensor_noise
            log_density -= 0.5 * (math.log(2 * math.pi * total) + (reading - mean) ** 2 / total)
            mean, variance = mean + variance / total * (reading - mean), variance * sensor_noise / total
        filtered.append((mean, variance))
    smoothed = [filtered[-1]]
    for step in range(len(readings) - 2, -1, -1):
        (mean, variance), (ahead, ahead_variance) = filtered[step], predicted[step + 1]
        gain = slope * variance / ahead_variance
        mean += gain * (smoothed[-1][0] - ahead)
        variance += gain**2 * (smoothed[-1][1] - ahead_variance)
        smoothed.append((mean, variance))
    return smoothed[::-1], log_density


def test_a_chain_of_hundreds_of_states_is_kalman_smoothing():
    """Long chains: exact smoothing, and a log-density far below the smallest float."""
    rng = np.random.default_rng(1)
    length = 500
    readings = [float(value) if value > -0.5 else None for value in 3 * rng.normal(size=length)]
    cpds = [LinearGaussianCPD("x0")]
    cpds += [LinearGaussianCPD(f"x{t}", 0.0, {f"x{t - 1}": 0.9}, 0.3) for t in range(1, length)]
    cpds += [LinearGaussianCPD(f"y{t}", 0.0, {f"x{t}": 1.0}, 0.5) for t in range(length)]
    net = BayesianNetwork(cpds)
    evidence = {f"y{t}": reading for t, reading in enumerate(readings) if reading is not None}
    smoothed, log_density = kalman_smoother(0.9, 0.3, 0.5, readings)
    marginals = ask(hybrid_marginals, net, evidence)
    got = np.array([(marginals[f"x{t}"].mean[0], marginals[f"x{t}"].covariance[0, 0]) for t in range(length)])
    np.testing.assert_allclose(got, smoothed, atol=1e-10)
    assert log_density < -745
    assert ask(hybrid_log_probability, net, evidence) == pytest.approx(log_density, rel=1e-12)


def test_a_prior_wider_than_rounding_keeps_the_noise_of_its_sensor():
    """Variances never come from a difference: prior 1e20, noise 1, and two readings leave variance 1/2."""
    net = BayesianNetwork(
        LinearGaussianCPD("x", 0.0, variance=1e20),
        LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0),
        LinearGaussianCPD("z", 0.0, {"x": 1.0}, 1.0),
    )
    answer = ask(hybrid_query, net, "x", {"y": 4.0, "z": 6.0})
    assert answer.mean[0] == pytest.approx(5.0)
    assert answer.covariance[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["arth150", "ecoli70", "magic-niab"])
def test_public_gaussian_networks_agree_with_their_joint(name):
    """Posterior of all variables, and density, of networks with up to 107 genes."""
    record = json.loads(benchmark_path(f"{name}.json").read_text(encoding="utf-8"))
    cpds = []
    for node, parts in record["cpds"].items():
        slopes = {parent: parts["coefficients"][parent][0] for parent in parts["parents"]}
        cpds.append(LinearGaussianCPD(node, parts["coefficients"]["(Intercept)"][0], slopes, parts["variance"][0]))
    net = BayesianNetwork(cpds)
    order = [str(node) for node in net.graph.topological_order]
    mean, covariance = gaussian_given(net, order, {})
    rng = np.random.default_rng(2)
    seen = sorted(rng.choice(len(order), 12, replace=False).tolist())
    values = rng.multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)])
    evidence = {order[i]: float(value) for i, value in zip(seen, values, strict=True)}
    expected_mean, expected_covariance, log_density, _ = condition(mean, covariance, seen, values)
    marginals = ask(hybrid_marginals, net, evidence)
    np.testing.assert_allclose([marginals[node].mean[0] for node in order], expected_mean, rtol=1e-9)
    np.testing.assert_allclose(
        [marginals[node].covariance[0, 0] for node in order], expected_covariance.diagonal(), atol=1e-9
    )
    assert ask(hybrid_log_probability, net, evidence) == pytest.approx(log_density, rel=1e-10)
    joint = ask(hybrid_query, net, order[::-1], evidence)
    np.testing.assert_allclose(joint.covariance, expected_covariance[::-1, ::-1], atol=1e-9)


def switching(length, emissions=False):
    """A chain of numbers, each with a discrete parent of its own."""
    cpds = []
    for t in range(length):
        cpds.append(TableCPD(f"d{t}", [0.5, 0.5]) if not t else TableCPD(f"d{t}", [[0.9, 0.1]] * 2, [f"d{t - 1}"]))
        slopes = {f"x{t - 1}": [1.0, 0.5]} if t else {}
        parents = [Variable(f"d{t}", 2), *([Variable(f"x{t - 1}")] if t else [])]
        cpds.append(ConditionalGaussianCPD(f"x{t}", [0.0, 1.0], slopes, 1.0, parents))
        if emissions:
            cpds.append(LinearGaussianCPD(f"y{t}", 0.0, {f"x{t}": 1.0}, 1.0))
    return BayesianNetwork(cpds)


def test_switching_chains_are_refused_before_they_explode():
    """2**60 configurations: the error names them and says why; questions about the start are still answered."""
    net = switching(60, emissions=True)
    with pytest.raises(TooLarge, match=r"discrete variables at once, \(d.*configurations.*grows exponentially"):
        ask(hybrid_query, net, "d0", {f"y{t}": 1.0 for t in range(60)})
    with pytest.raises(TooLarge, match=r"60 discrete variables .* 1\.15e\+18 configurations.*no budget allows"):
        ask(hybrid_marginals, net)
    assert ask(hybrid_query, net, "x1").mean[0] == pytest.approx(0.9 * 0.5 + 0.1 * (1 + 0.5 * 0.5))
    assert ask(hybrid_query, net, "d2", {"x1": 0.3, "x2": 0.1}).is_distribution()


def test_observed_numbers_cut_a_switching_chain():
    """All states observed: each number is a factor of two neighbours at most, however long the chain."""
    net = switching(300)
    evidence = {f"x{t}": 0.5 * (t % 3) for t in range(300)}
    log_weights = np.zeros((300, 2))
    for t in range(300):
        before = evidence[f"x{t - 1}"] if t else 0.0
        centers = np.array([0.0 + before, 1.0 + 0.5 * before]) if t else np.array([0.0, 1.0])
        log_weights[t] = -0.5 * (np.log(2 * np.pi) + (evidence[f"x{t}"] - centers) ** 2)
    belief, log_total = np.array([0.5, 0.5]), 0.0
    for t in range(300):
        belief = (belief if not t else np.array([0.9, 0.1]) * belief.sum()) * np.exp(log_weights[t])
        log_total += math.log(belief.sum())
        belief /= belief.sum()
    assert ask(hybrid_log_probability, net, evidence) == pytest.approx(log_total, rel=1e-12)
    np.testing.assert_allclose(ask(hybrid_marginals, net, evidence)["d299"].values, belief, rtol=1e-10)


def test_many_children_with_discrete_parents_of_their_own_do_not_multiply():
    """A star of 100 numbers, each with its own class: one class at a time matters to each."""
    center = LinearGaussianCPD("c", 1.0, variance=2.0)
    classes = [TableCPD(f"d{i}", [0.25, 0.75]) for i in range(100)]
    leaves = [
        ConditionalGaussianCPD(f"x{i}", [0.0, 4.0], {"c": 1.0}, 1.0, [Variable(f"d{i}", 2), Variable("c")])
        for i in range(100)
    ]
    net = BayesianNetwork(center, *classes, *leaves)
    marginals = ask(hybrid_marginals, net)
    assert marginals["x7"].mean[0] == pytest.approx(4.0)
    assert marginals["x7"].covariance[0, 0] == pytest.approx(2 + 1 + 16 * 0.25 * 0.75)


def test_what_is_cut_off_from_the_targets_is_not_expanded():
    """An exponential part beside the question does not matter to it; but it does to the density of all findings."""
    beside = switching(60, emissions=True)
    net = BayesianNetwork(*beside.cpds.values(), *sensor().cpds.values())
    evidence = {**{f"y{t}": 1.0 for t in range(60)}, "y": 2.0}
    assert ask(hybrid_query, net, "x", evidence).mean[0] == pytest.approx(3.0)
    with pytest.raises(TooLarge):
        ask(hybrid_log_probability, net, evidence)


# --- other kinds of variables and findings ---


def with_logistic():
    return BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        ConditionalGaussianCPD("x", [0.0, 1.0], {}, 1.0, ["A"]),
        LogisticCPD("B", [Variable("x")], weights=[2.0], intercept=-1.0),
    )


def test_a_sigmoid_of_a_hidden_number_needs_an_approximate_engine():
    """Refused by name where it matters; barren or with its parent observed it is no obstacle."""
    net = with_logistic()
    for question in (lambda: ask(hybrid_query, net, "A", {"B": True}), lambda: ask(hybrid_marginals, net)):
        with pytest.raises(NotSupported, match=r"'B' is discrete and depends on 'x'.*needs an approximate engine"):
            question()
    assert ask(hybrid_query, net, "x").mean[0] == pytest.approx(0.5)
    seen = ask(hybrid_query, net, ["A", "B"], {"x": 1.0})
    sigmoid = 1 / (1 + math.exp(-1.0))
    assert seen.marginal("B")[True] == pytest.approx(sigmoid)
    expected = math.log(sigmoid) + math.log(0.5 * (math.exp(-0.5) + 1) / math.sqrt(2 * math.pi))
    assert ask(hybrid_log_probability, net, {"x": 1.0, "B": True}) == pytest.approx(expected)


def test_jeffrey_evidence_replaces_the_belief_and_keeps_what_follows():
    """P'(x) = Σ q(a) P(x | a)."""
    net = with_logistic()
    answer = ask(hybrid_query, net, "x", {"A": jeffrey([0.2, 0.8])})
    assert answer.mean[0] == pytest.approx(0.8)
    assert answer.covariance[0, 0] == pytest.approx(1 + 0.16)
    with pytest.raises(NotSupported, match="jeffrey"):
        ask(hybrid_log_probability, net, {"A": jeffrey([0.2, 0.8])})


def test_an_input_needs_a_value():
    """A variable without a distribution conditions the others, and has no density itself."""
    line = LinearGaussianCPD("y", 1.0, {"u": 2.0}, 0.5)
    net = BayesianNetwork(line, inputs=[Variable("u")])
    assert net.moments("y", {"u": 3.0}).mean[0] == 7.0
    expected = -0.5 * (math.log(2 * math.pi * 0.5) + 1 / 0.5)
    assert net.log_probability({"u": 3.0, "y": 8.0}) == pytest.approx(expected)
    for question in (lambda: net.moments("y"), lambda: net.sample(2, 0)):
        with pytest.raises(InvalidModel, match="'u' is an input"):
            question()


def test_targets_are_checked():
    """Unknown and repeated names, and things that are no names."""
    net = sensor()
    with pytest.raises(UnknownVariable, match="'xx' is not a variable"):
        ask(hybrid_query, net, "xx")
    with pytest.raises(InvalidArgument, match="twice"):
        ask(hybrid_query, net, ["x", "x"])
    with pytest.raises(InvalidArgument, match="not 3"):
        ask(hybrid_query, net, [3])
    with pytest.raises(InvalidArgument, match="continuous target"):
        ask(hybrid_mixture, with_logistic(), "A")


def test_observed_targets_are_certain():
    """A target with a finding comes back as it was observed."""
    net = with_logistic()
    answer = ask(hybrid_query, net, ["A", "x"], {"A": 1, "x": 0.25})
    np.testing.assert_array_equal(answer.weights.values, [0.0, 1.0])
    assert answer.given({"A": 1}).means == {"x": 0.25}
    assert not answer.covariances.any()
    assert ask(hybrid_query, net, "x", {"x": 0.25}).variances == {"x": 0.0}
    assert isinstance(ask(hybrid_query, net, "A", {"A": 1}), Factor)


# --- explanations and samples ---


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_best_explanation_of_numbers_is_the_posterior_mean(seed):
    """Its density is the joint one there, and no point near it has more."""
    rng = np.random.default_rng(seed)
    net = random_hybrid(rng, 0, 4, zero_variances=False)
    evidence = random_evidence(rng, net)
    best = ask(hybrid_mpe, net, evidence)
    truth = Enumerated(net, evidence)
    assert list(best) == list(net.variables)
    np.testing.assert_allclose([best[name] for name in truth.order], truth.moments(truth.order)[1], atol=1e-8)
    log_densities = net.log_likelihood({name: [best[name]] for name in best})
    assert best.log_probability == pytest.approx(log_densities[0], abs=1e-8)
    for _ in range(5):
        moved = {n: [best[n] + (0.0 if n in evidence else 0.1 * rng.normal())] for n in best}
        assert net.log_likelihood(moved)[0] <= log_densities[0] + 1e-12


def test_best_explanations_take_the_best_states_first():
    """The states are the most probable ones whatever the units of numbers; the numbers are their modes given these."""
    for unit in (1.0, 1e-3, 1e3):
        net = BayesianNetwork(
            TableCPD("A", [0.6, 0.4]),
            ConditionalGaussianCPD("x", [0.0, unit], {}, [unit**2, 1e-4 * unit**2], [Variable("A", 2)]),
        )
        best = ask(hybrid_mpe, net)
        assert dict(best) == {"A": 0, "x": 0.0}
        assert best.log_probability == pytest.approx(math.log(0.6 / unit) - 0.5 * math.log(2 * math.pi))
        assert dict(ask(hybrid_mpe, net, {"A": 1})) == {"A": 1, "x": unit}
        assert dict(ask(hybrid_mpe, net, {"A": likelihood([1.0, 9.0])})) == {"A": 1, "x": unit}


def test_the_density_of_a_certain_explanation_is_infinite():
    """A number without variance has a point mass."""
    net = BayesianNetwork(
        TableCPD("A", [0.3, 0.7]), ConditionalGaussianCPD("x", [0.0, 1.0], {}, [1.0, 0.0], [Variable("A", 2)])
    )
    best = ask(hybrid_mpe, net, {"A": 0})
    assert dict(best) == {"A": 0, "x": 0.0}
    assert best.log_probability == pytest.approx(math.log(0.3) - 0.5 * math.log(2 * math.pi))
    assert ask(hybrid_mpe, net, {"A": 1}).log_probability == math.inf
    assert dict(ask(hybrid_mpe, net)) == {"A": 1, "x": 1.0}


def test_samples_follow_the_posterior():
    """Means and covariances of many rows, deterministic relations in each, findings in all, the same seed the same."""
    net = BayesianNetwork(
        TableCPD("A", [0.3, 0.7]),
        TableCPD("B", [[0.9, 0.1], [0.2, 0.8]], parents=["A"]),
        ConditionalGaussianCPD("x", [0.0, 3.0], {}, [1.0, 2.0], ["A"]),
        LinearGaussianCPD("double", 1.0, {"x": 2.0}, 0.0),
        LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0),
        LogisticCPD("below", ["x"], weights=[2.0], intercept=-1.0),
    )
    evidence = {"y": 1.5, "B": 1}
    rows = ask(hybrid_sample, net, 40_000, 7, evidence)
    assert list(rows) == list(net.variables)
    assert rows["y"].eq(1.5).all()
    assert rows["B"].eq(1).all()
    np.testing.assert_allclose(rows["double"], 1 + 2 * rows["x"])
    exact, classes = ask(hybrid_query, net, "x", evidence), ask(hybrid_query, net, "A", evidence)
    assert abs(rows["x"].mean() - exact.mean[0]) < 5 * math.sqrt(exact.covariance[0, 0] / len(rows))
    assert rows["x"].var() == pytest.approx(exact.covariance[0, 0], rel=0.05)
    assert abs(rows["A"].mean() - classes[1]) < 5 * math.sqrt(0.25 / len(rows))
    odds = 1 / (1 + np.exp(1.0 - 2.0 * rows["x"]))
    assert abs(rows["below"].mean() - odds.mean()) < 5 * math.sqrt(0.25 / len(rows))
    assert rows.equals(ask(hybrid_sample, net, 40_000, 7, evidence))


_TABLES = {"A": [0.3, 0.7], "B": [[0.6, 0.4], [0.1, 0.9]], "C": [[0.2, 0.8], [0.5, 0.5]]}


@pytest.mark.parametrize("hard", [{}, {"C": 1}])
@pytest.mark.parametrize("x", [None, 0.0, 5.0])
@pytest.mark.parametrize("of_a", [[0.2, 0.8], [1.0, 0.0]])
def test_states_that_numbers_settle_beside_likelihoods_of_them(hard, x, of_a):
    """X is certain given A, so that it tells A, of which there is a likelihood; B and C by enumeration, Y by its sum.

    Y ~ N(1 or -1, 1) by B is hidden, and Z ~ N(Y + C, 1) seen: Z ~ N(±1 + C, 2).
    """
    a, b, c = (
        TableCPD("A", _TABLES["A"]),
        TableCPD("B", _TABLES["B"], parents=["A"]),
        TableCPD("C", _TABLES["C"], parents=["B"]),
    )
    net = BayesianNetwork(
        a,
        b,
        c,
        ConditionalGaussianCPD("X", [0.0, 5.0], {}, 0.0, [a.variable]),
        ConditionalGaussianCPD("Y", [1.0, -1.0], {}, 1.0, [b.variable]),
        ConditionalGaussianCPD("Z", [0.0, 1.0], {"Y": 1.0}, 1.0, [c.variable, Variable("Y")]),
    )
    of_b, z = [0.9, 0.1], 0.4
    joint = np.zeros((2, 2, 2))
    for i, j, k in np.ndindex(2, 2, 2):
        if hard.get("C", k) == k and x in (None, (0.0, 5.0)[i]):
            density = np.exp(-((z - (1, -1)[j] - k) ** 2) / 4) / np.sqrt(4 * np.pi)
            joint[i, j, k] = _TABLES["A"][i] * _TABLES["B"][i][j] * _TABLES["C"][j][k] * of_a[i] * of_b[j] * density
    evidence = {"A": likelihood(of_a), "B": likelihood(of_b), "Z": z, **hard, **({} if x is None else {"X": x})}
    for model in (net, net.compile()):
        if not joint.any():
            assert model.log_probability(evidence) == -math.inf
            with pytest.raises(ImpossibleEvidence):
                model.query("B", evidence)
            continue
        np.testing.assert_allclose(model.query("B", evidence).values, joint.sum(axis=(0, 2)) / joint.sum(), rtol=1e-12)
        expected = math.log(joint.sum()) if x is None else math.inf
        assert model.log_probability(evidence) == pytest.approx(expected, rel=1e-12)


def test_what_cannot_be_has_no_probability_beside_a_point_mass():
    """-inf wins over the infinite density of a number that is certain; it was NaN."""
    state = TableCPD("A", [0.0, 1.0])
    net = BayesianNetwork(state, ConditionalGaussianCPD("X", [0.0, 5.0], {}, 0.0, [state.variable]))
    assert net.log_probability({"A": 0, "X": 0.0}) == -math.inf
    assert net.log_probability({"A": likelihood([1, 0]), "X": 5.0}) == -math.inf
    assert net.log_probability({"A": 1, "X": 5.0}) == math.inf
