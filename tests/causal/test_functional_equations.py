"""Linear and additive equations: interventions and counterfactuals by their definitions."""

import numpy as np
import pandas as pd
import pytest

from plausible.causal.functional.additive_equations import AdditiveEquations
from plausible.causal.functional.linear_equations import LinearEquations
from plausible.errors import (
    CyclicGraph,
    ImpossibleEvidence,
    InvalidArgument,
    InvalidFactor,
    InvalidModel,
    UnknownVariable,
)
from refusals import refuses
from seeds import few_of


def _random_equations(rng, size=5):
    names = [f"X{i}" for i in range(size)]
    draws = {n: {m: float(rng.normal()) for m in names[:i] if rng.random() < 0.6} for i, n in enumerate(names)}
    root = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.3) + np.diag(rng.random(size) + 0.2)
    noise = root @ root.T
    return (
        names,
        noise,
        LinearEquations(
            draws,
            intercepts={name: float(rng.normal()) for name in names},
            variances={name: float(noise[i, i]) for i, name in enumerate(names)},
            covariances={
                (names[i], names[j]): float(noise[i, j]) for i in range(size) for j in range(i) if noise[i, j]
            },
        ),
    )


def _solved(model, noise, do):
    """The variables, one after the other, of given noise; do sets positions."""
    values = np.zeros(len(model.names))
    for place in [model.names.index(name) for name in model.graph.topological_order]:
        values[place] = do.get(place, model.intercepts[place] + model.coefficients[place] @ values + noise[place])
    return values


def _affine(model, do):
    """W and d with X = W ε + d, found by solving for unit vectors."""
    size = len(model.names)
    constant = _solved(model, np.zeros(size), do)
    return np.array([_solved(model, unit, do) - constant for unit in np.eye(size)]).T, constant


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_linear_counterfactuals_equal_abduction_action_and_prediction(seed):
    """ε given what was seen is normal; then X_do = W' ε + d'."""
    rng = np.random.default_rng(seed)
    names, noise, model = _random_equations(rng)
    actual = {0: 0.5} if seed % 3 == 0 else {}
    do = {int(rng.integers(5)): float(rng.normal())}
    seen = [i for i in range(5) if i not in actual and rng.random() < 0.5]
    weights, constant = _affine(model, actual)
    values = constant[seen] + weights[seen] @ rng.normal(size=5)
    gain = noise @ weights[seen].T @ np.linalg.pinv(weights[seen] @ noise @ weights[seen].T)
    mean, spread = gain @ (values - constant[seen]), noise - gain @ weights[seen] @ noise
    after, fixed = _affine(model, do)
    answer = model.counterfactual(
        names,
        evidence={names[i]: float(v) for i, v in zip(seen, values, strict=True)},
        do={names[i]: v for i, v in do.items()},
        actual_do={names[i]: v for i, v in actual.items()},
    )
    np.testing.assert_allclose(answer.mean, after @ mean + fixed, atol=1e-8)
    np.testing.assert_allclose(answer.covariance, after @ spread @ after.T, atol=1e-8)


@pytest.mark.parametrize("seed", range(15))
def test_the_network_with_latent_causes_has_the_same_distribution(seed):
    """Correlated noise by explicit latent roots: questions and interventions agree with the equations."""
    rng = np.random.default_rng(seed)
    _, noise, model = _random_equations(rng)
    weights, constant = _affine(model, {})
    joint = model.distribution
    np.testing.assert_allclose(joint.mean, constant, atol=1e-9)
    np.testing.assert_allclose(joint.covariance, weights @ noise @ weights.T, atol=1e-9)
    network = model.network
    for do in ({}, {"X1": 1.5}):
        targets = ["X4", "X2"]
        found = network.moments(targets, evidence={"X3": 0.3}, do=do)
        expected = model.query(targets, evidence={"X3": 0.3}, do=do)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-8)
        np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-8)
        assert model.intervene(do).query(targets, {"X3": 0.3}).is_close(expected, 1e-8)


def test_a_unit_that_is_fully_seen_has_one_counterfactual():
    """The noise is known: the answer is a point, the same as by additive equations."""
    linear = LinearEquations({"M": {"X": 2.0}, "Y": {"X": 1.0, "M": -1.0}}, intercepts={"Y": 0.5})
    additive = AdditiveEquations({"X": lambda: 0.0, "M": lambda X: 2 * X, "Y": lambda X, M: 0.5 + X - M})
    unit = {"X": 1.0, "M": 3.0, "Y": -1.0}
    answer = linear.counterfactual(["X", "M", "Y"], evidence=unit, do={"X": 0.0})
    np.testing.assert_allclose(answer.covariance, 0.0, atol=1e-12)
    same = additive.counterfactual(["X", "M", "Y"], evidence=unit, do={"X": 0.0})
    np.testing.assert_allclose(answer.mean, same[["X", "M", "Y"]].iloc[0], atol=1e-12)
    np.testing.assert_allclose(answer.mean, [0.0, 1.0, 0.0], atol=1e-12)


def test_total_effects_sum_over_directed_paths():
    """0.5 · 2 along X -> M -> Y and 3 along X -> Y."""
    model = LinearEquations({"M": {"X": 0.5}, "Y": {"M": 2.0, "X": 3.0}}, covariances={("X", "Y"): 0.9})
    assert model.total_effect("Y", "X") == pytest.approx(4.0)
    assert model.total_effect("X", "Y") == 0.0
    means = [model.query("Y", do={"X": x}).mean[0] for x in (0.0, 1.0)]
    assert means[1] - means[0] == pytest.approx(4.0)


def test_evidence_about_both_worlds_is_used():
    """Y under do(X = 1) tells the noise of Y, and so Y under do(X = 0)."""
    model = LinearEquations({"Y": {"X": 2.0}})
    answer = model.counterfactual(
        "Y", evidence={"Y": 5.0}, actual_do={"X": 1.0}, do={"X": 0.0}, counterfactual_evidence={"X": 0.0}
    )
    np.testing.assert_allclose((answer.mean[0], answer.covariance[0, 0]), (3.0, 0.0), atol=1e-12)
    with pytest.raises(ImpossibleEvidence):
        model.counterfactual("Y", do={"X": 0.0}, counterfactual_evidence={"X": 1.0})


def test_linear_equations_that_are_none_are_refused():
    """Cycles, covariances that no noise has, unknown names."""
    with pytest.raises(CyclicGraph):
        LinearEquations({"X": {"Y": 1.0}, "Y": {"X": 1.0}})
    refuses(InvalidFactor, "semi-definite", LinearEquations, {"Y": {"X": 1.0}}, covariances={("X", "Y"): 2.0})
    refuses(UnknownVariable, "'Z'", LinearEquations, {"Y": {"X": 1.0}}, variances={"Z": 2.0})
    refuses(InvalidModel, "variances=", LinearEquations, {"Y": {"X": 1.0}}, covariances={("X", "X"): 2.0})
    refuses(InvalidModel, "finite", LinearEquations, {"Y": {"X": np.inf}})
    model = LinearEquations({"Y": {"X": 1.0}})
    refuses(UnknownVariable, "'x'", model.query, "x")
    refuses(UnknownVariable, "'x'", model.query, "Y", do={"x": 1.0})
    assert model == LinearEquations({"Y": {"X": 1.0}})
    assert model != LinearEquations({"Y": {"X": 2.0}})


MODEL = AdditiveEquations(
    {"X": lambda: 1.0, "Y": lambda X: np.sin(X), "Z": lambda X, Y: X * Y},
    noise={"X": 2.0, "Y": lambda generator, rows: generator.exponential(size=rows), "Z": 0.0},
)


def test_abduction_recovers_the_noise_and_prediction_the_units():
    """Noise = X - f(causes); with nothing changed every unit stays as it was."""
    units = MODEL.sample(50, seed=1)
    noise = MODEL.abduct(units)
    np.testing.assert_allclose(noise["Y"], units["Y"] - np.sin(units["X"]))
    assert (noise["Y"] > 0).all()
    np.testing.assert_allclose(noise["Z"], 0.0, atol=1e-12)
    pd.testing.assert_frame_equal(MODEL.counterfactual(list(units), evidence=units, do={}), units)


def test_the_same_seed_draws_the_same_units_in_every_world():
    """Samples under an intervention are the counterfactuals of those without."""
    units = MODEL.sample(50, seed=1)
    pd.testing.assert_frame_equal(
        MODEL.sample(50, seed=1, do={"Y": 3.0}), MODEL.counterfactual(list(units), evidence=units, do={"Y": 3.0})
    )
    changed = MODEL.intervene({"Y": 3.0}).sample(50, seed=1)
    assert (changed["Y"] == 3.0).all()
    np.testing.assert_allclose(changed["Z"], 3.0 * changed["X"])


def test_samples_have_the_moments_of_the_equations():
    """Mean and variance of the root, within five standard errors."""
    units = MODEL.sample(20_000, seed=0)
    assert abs(units["X"].mean() - 1.0) < 5 * 2 / np.sqrt(20_000)
    assert abs((units["Y"] - np.sin(units["X"])).mean() - 1.0) < 5 / np.sqrt(20_000)


def test_additive_equations_that_are_none_are_refused():
    """Cycles, unknown causes, noise and shapes that don't fit, units with gaps."""
    with pytest.raises(CyclicGraph):
        AdditiveEquations({"X": lambda Y: Y, "Y": lambda X: X})
    refuses(UnknownVariable, "'Q'", AdditiveEquations, {"X": lambda Q: Q})
    refuses(InvalidModel, "noise of 'X'", AdditiveEquations, {"X": lambda: 0.0}, noise={"X": -1.0})
    refuses(InvalidModel, "shape", AdditiveEquations({"X": lambda: 0.0, "Y": lambda X: X[:2]}).sample, 5)
    with pytest.raises(InvalidModel, match="shape"):
        AdditiveEquations({"X": lambda: 0.0}, noise={"X": lambda generator, rows: 0.0}).sample(5)
    refuses(UnknownVariable, "'Z'", MODEL.abduct, pd.DataFrame({"X": [1.0], "Y": [1.0]}))
    refuses(InvalidArgument, "gaps", MODEL.abduct, pd.DataFrame({"X": [1.0], "Y": [np.nan], "Z": [0.0]}))
    refuses(UnknownVariable, "'W'", MODEL.sample, 2, do={"W": 1.0})


def test_impossible_evidence_names_the_variables_as_they_are():
    """M = X exactly: what contradicts that is told in the model's own words, of both worlds."""
    model = LinearEquations({"M": {"X": 1.0}, "Y": {"M": 1.0}}, variances={"M": 0.0})
    with pytest.raises(ImpossibleEvidence, match="equations X=1 and M=3 can't occur together"):
        model.query("Y", evidence={"X": 1.0, "M": 3.0})
    with pytest.raises(ImpossibleEvidence, match="X=1 and M=5 under the intervention"):
        model.counterfactual("Y", evidence={"X": 1.0}, do={"X": 2.0}, counterfactual_evidence={"M": 5.0})


def test_a_covariance_that_is_given_twice_must_be_one_number():
    with pytest.raises(InvalidModel, match=r"'X' and 'Y' is given twice, as 0.2 and as 0.5"):
        LinearEquations({"Y": {"X": 1.0}}, covariances={("X", "Y"): 0.2, ("Y", "X"): 0.5})
    both = LinearEquations({"Y": {"X": 1.0}}, covariances={("X", "Y"): 0.2, ("Y", "X"): 0.2})
    assert both == LinearEquations({"Y": {"X": 1.0}}, covariances={("X", "Y"): 0.2})


def test_units_may_be_any_table_of_numbers():
    """A dictionary and an arrow table are what the pandas frame is; text and negative sizes are refused."""
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"X": [1.0, 2.0], "Y": [0.5, 0.0], "Z": [0.5, 0.0]}
    expected = MODEL.counterfactual("Y", evidence=pd.DataFrame(columns), do={"X": 0.0})
    for units in (columns, pyarrow.table(columns)):
        pd.testing.assert_frame_equal(MODEL.counterfactual("Y", evidence=units, do={"X": 0.0}), expected)
    refuses(InvalidArgument, "are numbers", MODEL.abduct, {**columns, "Y": ["a", "b"]})
    refuses(InvalidArgument, "num_rows=-1", MODEL.sample, -1)


def test_counterfactuals_of_linear_and_additive_equations_are_asked_alike():
    """One unit by numbers, the outcome alone; the noise of Y is 0.5."""
    asked = {"evidence": {"X": 1.0, "Y": 2.5}, "do": {"X": 3.0}}
    linear = LinearEquations({"Y": {"X": 2.0}}).counterfactual("Y", **asked)
    additive = AdditiveEquations({"X": lambda: 0.0, "Y": lambda X: 2.0 * X}).counterfactual("Y", **asked)
    assert linear.mean[0] == pytest.approx(6.5)
    assert additive.to_dict("list") == {"Y": [6.5]}
    with pytest.raises(UnknownVariable, match="'Z'"):
        AdditiveEquations({"X": lambda: 0.0}).counterfactual("Z", evidence={"X": 1.0}, do={})


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ({("X", "Y"): -0.5, ("X", "Z"): -0.5, ("Y", "Z"): 0.5}, np.sqrt([[0.5], [0.5], [0.5]]) * [[1], [-1], [-1]]),
        (
            {("X", "Y"): -0.25, ("X", "Z"): -0.25, ("Y", "Z"): -0.25},
            [[0.5**0.5, 0.0], [-(0.125**0.5), 0.375**0.5], [-(0.125**0.5), -(0.375**0.5)]],
        ),
    ],
    ids=["a line of eigenvectors", "a plane of eigenvectors"],
)
def test_latent_causes_of_correlated_noise_are_told_by_the_correlations_alone(pairs, expected):
    """Not by the sign and the rotation that eigenvectors happen to have: worked by hand, the least noise taken off."""
    network = LinearEquations({"Y": {"X": 1.0}, "Z": {"Y": 1.0}}, covariances=pairs).network
    latent = [name for name in network.variables if name.startswith("U_")]
    told = {
        name: dict(zip(network.cpd(name).parent_names, network.cpd(name).coefficients, strict=True)) for name in "XYZ"
    }
    assert np.array([[told[name].get(cause, 0.0) for cause in latent] for name in "XYZ"]) == pytest.approx(
        np.array(expected), abs=1e-12
    )
