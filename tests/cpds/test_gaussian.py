"""Linear and conditional linear Gaussian CPDs."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD
from plausible.errors import InvalidCPD, NotSupported, UnknownState, UnknownVariable
from plausible.variables import Variable

A, B = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"])
Z, W = Variable("Z"), Variable("W")
number = st.floats(-5, 5)


@given(
    beta=st.lists(number, min_size=3, max_size=3),
    variance=st.floats(0.01, 9),
    point=st.lists(number, min_size=3, max_size=3),
)
@settings(max_examples=16, deadline=None)
def test_density_is_normal_around_a_linear_mean(beta: list[float], variance: float, point: list[float]) -> None:
    cpd = LinearGaussianCPD("Y", beta[0], {"Z": beta[1], "W": beta[2]}, variance)
    z, w, y = point
    mean, deviation = beta[0] + beta[1] * z + beta[2] * w, math.sqrt(variance)
    expected = -0.5 * ((y - mean) / deviation) ** 2 - math.log(deviation * math.sqrt(2 * math.pi))
    columns = {"Z": np.array([z]), "W": np.array([w]), "Y": np.array([y])}
    assert cpd.log_probability(columns)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    (factor,) = cpd.to_factors()
    assert factor.names == ("Z", "W", "Y")
    assert factor.log_value(columns)[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_quantiles_are_those_of_the_normal_distribution() -> None:
    cpd = LinearGaussianCPD("Y", 1.0, {"Z": 2.0}, 9.0)
    levels = np.array([0.001, 0.25, 0.5, 0.9])
    expected = [NormalDist(1.0 + 2.0 * z, 3.0).inv_cdf(p) for z, p in zip([0, 1, 2, 3], levels, strict=True)]
    np.testing.assert_allclose(cpd.quantile({"Z": np.arange(4.0)}, levels), expected, rtol=1e-12)


def test_parents_are_the_keys_of_the_coefficients_unless_given() -> None:
    assert LinearGaussianCPD("Y", 0.0, {"W": 1.0, "Z": 2.0}).parents == (W, Z)
    assert LinearGaussianCPD("Y", 0.0, {"W": 1.0, "Z": 2.0}, parents=["Z", W]).coefficients.tolist() == [2.0, 1.0]
    assert LinearGaussianCPD("Y", 3.0).parents == ()


def test_variance_zero_is_a_function_without_a_density() -> None:
    cpd = LinearGaussianCPD("Y", 1.0, {"Z": 2.0}, variance=0.0)
    columns = {"Z": np.array([1.0, 1.0]), "Y": np.array([3.0, 3.5])}
    assert cpd.log_probability(columns).tolist() == [math.inf, -math.inf]
    assert cpd.quantile({"Z": np.array([1.0, 1.0])}, np.array([0.0, 0.7])).tolist() == [3.0, 3.0]
    with pytest.raises(NotSupported, match="'Y' has variance zero"):
        cpd.to_factors()


def test_a_parent_with_coefficient_zero_is_ignored() -> None:
    cpd = LinearGaussianCPD("Y", 0.0, {"Z": 0.0, "W": 1.0})
    assert cpd.ignores("Z")
    assert cpd.ignores("W", {"W": 2.5})
    assert not cpd.ignores(["Z", "W"])


def test_a_conditional_gaussian_is_a_linear_gaussian_for_each_discrete_assignment() -> None:
    rng = np.random.default_rng(5)
    intercept, slope, variance = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.random((2, 3)) + 0.1
    cpd = ConditionalGaussianCPD("Y", intercept, {"Z": slope, "W": 0.5}, variance, [W, A, Z, B])
    z, w, y = rng.normal(size=(3, 10))
    for (i, a), (j, b) in itertools.product(enumerate(A.states), enumerate(B.states)):
        one = cpd.given({"A": a, "B": b})
        assert one == LinearGaussianCPD("Y", intercept[i, j], {"W": 0.5, "Z": slope[i, j]}, variance[i, j])
        columns = {"A": np.full(10, i), "B": np.full(10, j), "Z": z, "W": w, "Y": y}
        np.testing.assert_array_equal(cpd.log_probability(columns), one.log_probability(columns))
        levels = rng.random(10)
        np.testing.assert_array_equal(cpd.quantile(columns, levels), one.quantile(columns, levels))
        means = [intercept[i, j] + slope[i, j] * z[row] + 0.5 * w[row] for row in range(10)]
        expected = [NormalDist(means[row], math.sqrt(variance[i, j])).pdf(y[row]) for row in range(10)]
        np.testing.assert_allclose(np.exp(cpd.log_probability(columns)), expected)


def test_a_mixture_is_refused_as_a_factor_and_a_single_component_is_not() -> None:
    cpd = ConditionalGaussianCPD("Y", [0.0, 1.0], {"Z": 1.0}, 1.0, [A, Z])
    with pytest.raises(NotSupported, match=r"a different Gaussian for each state of 'A'.*given\(...\)"):
        cpd.to_factors()
    only = ConditionalGaussianCPD("Y", [2.0], {"Z": 1.0}, 1.0, [Variable("one", ["x"]), Z])
    assert only.to_factors() == LinearGaussianCPD("Y", 2.0, {"Z": 1.0}, 1.0).to_factors()


def test_independence_in_a_context() -> None:
    """In A = a0 the slope vanishes; the intercept differs by A, and B never matters."""
    cpd = ConditionalGaussianCPD("Y", [[1.0] * 3, [2.0] * 3], {"Z": [[0.0] * 3, [5.0] * 3]}, 1.0, [Z, A, B])
    assert cpd.ignores("Z", {"A": "a0"})
    assert not cpd.ignores("Z", {"A": "a1"})
    assert not cpd.ignores("Z")
    assert cpd.ignores("B")
    assert cpd.ignores(["B", "Z"], {"A": "a0"})
    assert not cpd.ignores("A", {"Z": 1.0})


def test_without_discrete_parents_it_is_close_to_the_linear_gaussian() -> None:
    linear = LinearGaussianCPD("Y", 1.0, {"Z": 2.0, "W": 3.0}, 4.0)
    conditional = ConditionalGaussianCPD("Y", 1.0, {"W": 3.0, "Z": 2.0}, 4.0, [W, Z])
    assert linear.is_close(conditional)
    assert conditional.is_close(linear)
    assert not linear.is_close(ConditionalGaussianCPD("Y", 1.0, {"W": 3.0, "Z": 2.1}, 4.0, [W, Z]))
    assert conditional.given({}).is_close(linear)


def test_is_close_aligns_discrete_parents() -> None:
    intercept = np.arange(6.0).reshape(2, 3)
    one = ConditionalGaussianCPD("Y", intercept, {}, 1.0, [A, B])
    assert one.is_close(ConditionalGaussianCPD("Y", intercept.T, {}, 1.0, [B, A]))
    assert not one.is_close(ConditionalGaussianCPD("Y", intercept.T + 1e-3, {}, 1.0, [B, A]))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: LinearGaussianCPD("Y", variance=-1.0), InvalidCPD, "The variance of 'Y' is -1"),
        (lambda: LinearGaussianCPD("Y", variance=math.nan), InvalidCPD, "The variance of 'Y': expected finite"),
        (lambda: LinearGaussianCPD("Y", "much"), InvalidCPD, "The intercept of 'Y': expected"),
        (lambda: LinearGaussianCPD("Y", [1.0, 2.0]), InvalidCPD, "The intercept of 'Y': expected a number"),
        (lambda: LinearGaussianCPD("Y", 0.0, {"Z": math.inf}), InvalidCPD, "The coefficient of 'Z' for 'Y'"),
        (
            lambda: LinearGaussianCPD("Y", 0.0, [1.0, 2.0], parents=["Z"]),
            InvalidCPD,
            "expected 1, one for each parent in .*, not 2",
        ),
        (lambda: LinearGaussianCPD("Y", 0.0, {"V": 1.0}, parents=["Z"]), UnknownVariable, "'V' is not a variable"),
        (lambda: LinearGaussianCPD(A), InvalidCPD, "'A' has states"),
        (
            lambda: LinearGaussianCPD("Y", 0.0, [1.0], parents=[A]),
            InvalidCPD,
            "'A' of 'Y' has states.*use ConditionalGaussianCPD",
        ),
        (
            lambda: LinearGaussianCPD("Y", 0.0, [1.0], parents=["A"]).bind({"A": A}),
            InvalidCPD,
            "takes continuous parents only; use ConditionalG",
        ),
        (lambda: ConditionalGaussianCPD("Y", [0.0] * 3, {}, 1.0, [A]), InvalidCPD, r"intercept .* needs shape \(2,\)"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {}, [1.0, -1.0], [A]), InvalidCPD, "variance of 'Y' is -1"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {"Z": [1, 2, 3]}, 1.0, [A, Z]), InvalidCPD, "coefficients of 'Z'"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {"V": 1.0}, 1.0, [A]), UnknownVariable, "'V' is not a variable"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {"A": 1.0}, 1.0, [A]), InvalidCPD, "'A' of 'Y' has states and can't"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {}, 1.0, [Z]), InvalidCPD, "'Z' of 'Y' is continuous and needs"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {}, 1.0, [A]).given({}), InvalidCPD, "discrete parent 'A'"),
        (lambda: ConditionalGaussianCPD("Y", 0.0, {}, 1.0, [A]).given({"A": 7}), UnknownState, "7 is not a state"),
        (lambda: LinearGaussianCPD("Y").distribution({}), NotSupported, "'Y' is continuous"),
    ],
)
def test_wrong_arguments_are_refused_by_name(build: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_wrong_records_are_refused() -> None:
    record = {"intercept": [0.0], "coefficients": [], "variance": [1.0, 1.0]}
    with pytest.raises(InvalidCPD, match="The record of 'Y' needs 2 numbers"):
        ConditionalGaussianCPD.from_record(Variable("Y"), (A,), record)
    with pytest.raises(InvalidCPD, match="needs coefficients for"):
        ConditionalGaussianCPD.from_record(Variable("Y"), (A, Z), record)
