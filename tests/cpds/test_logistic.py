"""Logistic CPDs: worked numbers, softmax, codes, saturation, continuous parents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.cpds import LogisticCPD
from plausible.errors import InvalidCPD, NotSupported, TooLarge, UnknownVariable
from plausible.variables import Variable

A, B = Variable("A", 2), Variable("B", 2)
COLOUR = Variable("colour", ["red", "green", "blue"])
Z = Variable("Z")


def test_worked_numbers() -> None:
    """w0 = -1, w = (2, .5): P(Y=1) at (0,0), (0,1), (1,0), (1,1)."""
    cpd = LogisticCPD("Y", [A, B], [2.0, 0.5], -1.0)
    expected = [0.268941, 0.377541, 0.731059, 0.817574]
    np.testing.assert_allclose(cpd.to_factor().values[..., 1].ravel(), expected, atol=5e-7)


@given(weights=st.lists(st.floats(-5, 5), min_size=3, max_size=3), intercept=st.floats(-5, 5))
@settings(max_examples=12, deadline=None)
def test_two_states_are_the_sigmoid(weights: list[float], intercept: float) -> None:
    parents = [Variable("A", [False, True]), Variable("B", [-1, 0, 3.5]), COLOUR]
    table = LogisticCPD("Y", parents, weights, intercept).to_factor()
    for a, b, (place, colour) in itertools.product((0, 1), (-1, 0, 3.5), enumerate(COLOUR.states)):
        eta = intercept + weights[0] * a + weights[1] * b + weights[2] * place
        assert table[(bool(a), b, colour, True)] == pytest.approx(1 / (1 + math.exp(-eta)), rel=1e-12)


@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_more_states_are_the_softmax_with_the_first_as_reference(data: st.DataObject) -> None:
    number = st.floats(-3, 3)
    intercept, slope = (data.draw(st.lists(number, min_size=2, max_size=2)) for _ in range(2))
    per_state = data.draw(st.lists(st.lists(number, min_size=2, max_size=2), min_size=3, max_size=3))
    table = LogisticCPD("Y", [A, COLOUR], [slope, per_state], intercept).to_factor()
    for a, (place, colour) in itertools.product((0, 1), enumerate(COLOUR.states)):
        eta = [0.0, *(intercept[j] + slope[j] * a + per_state[place][j] for j in range(2))]
        for y in range(3):
            assert table[(a, colour, y)] == pytest.approx(math.exp(eta[y]) / sum(map(math.exp, eta)), rel=1e-12)


def test_codes_stand_for_states() -> None:
    coded = LogisticCPD("Y", [COLOUR], [2.0], codes={"colour": [-1.0, 0.0, 1.0]})
    listed = LogisticCPD("Y", [COLOUR], [[-2.0, 0.0, 2.0]])
    assert coded.is_close(listed, 1e-15)
    assert coded != listed


def test_saturated_probabilities_keep_their_logarithms() -> None:
    """log σ(-1000) = -1000 and log σ(50) = -exp(-50) to first order."""
    cpd = LogisticCPD("Y", [Z], [1.0])
    logs = cpd.log_probability({"Z": np.array([-1000.0, 1000.0, 50.0]), "Y": np.array([1, 0, 1])})
    np.testing.assert_allclose(logs, [-1000.0, -1000.0, -math.exp(-50)], rtol=1e-12)
    three = LogisticCPD("Y", [Z], [[1.0, 2.0]], [0.0, 0.0])
    logs = three.log_probability({"Z": np.array([900.0] * 3), "Y": np.array([0, 1, 2])})
    np.testing.assert_allclose(logs, [-1800.0, -900.0, 0.0], atol=1e-300)


def test_many_discrete_parents_have_probabilities_but_no_table() -> None:
    parents = [Variable(f"P{i}", 2) for i in range(200)]
    cpd = LogisticCPD("Y", parents, [0.01] * 200, -1.0)
    with pytest.raises(TooLarge):
        cpd.to_factors()
    columns = {parent.name: np.array([0, 1]) for parent in parents}
    np.testing.assert_allclose(cpd.distribution(columns)[:, 1], [1 / (1 + math.e), 1 / (1 + math.exp(-1))])


def test_factors_with_a_continuous_parent_are_refused_with_a_reason() -> None:
    cpd = LogisticCPD("Y", [A, Z], {"A": 1.0, "Z": -2.0}, 0.5)
    with pytest.raises(NotSupported, match=r"sigmoid of the continuous parent 'Z'.*log_probability"):
        cpd.to_factors()
    logs = cpd.log_probability({"A": np.array([1, 0]), "Z": np.array([0.25, 1.0]), "Y": np.array([1, 1])})
    np.testing.assert_allclose(np.exp(logs), [1 / (1 + math.exp(-1.0)), 1 / (1 + math.exp(1.5))])


def test_parameters_that_can_be_told_apart() -> None:
    """An intercept, a slope, and m - 1 of m weights for states, each for k - 1 states of the child."""
    cpd = LogisticCPD("Y", [A, COLOUR, Z], [[1, 1, 1], np.zeros((3, 3)), [0, 0, 0]], [0, 0, 0])
    assert cpd.num_parameters == 3 * (1 + 1 + 2 + 1)
    assert LogisticCPD("Y", [Variable("one", 1)], [4.0]).num_parameters == 1


def test_is_close_sees_through_the_coding_of_parents() -> None:
    """A slope on the states 1 and 2 equals weights for states and a shifted intercept."""
    size = Variable("size", [1, 2])
    sloped = LogisticCPD("Y", [size, Z], [3.0, 1.0], 0.5)
    listed = LogisticCPD("Y", [Z, size], [1.0, [0.0, 3.0]], 3.5)
    assert sloped.is_close(listed)
    assert not sloped.is_close(LogisticCPD("Y", [Z, size], [1.0, [0.0, 3.0]], 3.6))


def test_a_weight_of_zero_is_ignored_in_every_context() -> None:
    cpd = LogisticCPD("Y", [A, COLOUR, Z], [0.0, [2.0, 2.0, 2.0], 0.0], 1.0)
    assert cpd.ignores(["A", "colour", "Z"])
    other = LogisticCPD("Y", [A, Z], [1.0, 0.5])
    assert not other.ignores("A", {"Z": 3.0})
    assert not other.ignores("Z", {"A": 1})


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: LogisticCPD("Y", [A, B], [1.0]), InvalidCPD, "The weights of 'Y': expected 2, .*, not 1"),
        (lambda: LogisticCPD("Y", [A], {"B": 1.0}), UnknownVariable, "'B' is not a variable of the parents of 'Y'"),
        (lambda: LogisticCPD("Y", [A], [math.inf]), InvalidCPD, "The weight of 'A' in the CPD of 'Y': expected finite"),
        (
            lambda: LogisticCPD("Y", [A], ["steep"]),
            InvalidCPD,
            "The weight of 'A' in the CPD of 'Y': expected a regular",
        ),
        (lambda: LogisticCPD("Y", [A], [1.0], math.nan), InvalidCPD, "The intercept of 'Y': expected finite"),
        (
            lambda: LogisticCPD("Y", [A], [1.0], states=3),
            InvalidCPD,
            r"The weight of 'A' .* needed: \(2,\) or \(m, 2\)",
        ),
        (lambda: LogisticCPD("Y", [A], [[1, 1]], [0.0, 0.0], ["a", "b"]), InvalidCPD, "it needs 1 numbers"),
        (lambda: LogisticCPD("Y", [COLOUR], [[1.0, 2.0]]), InvalidCPD, "weights for 2 states of 'colour', which has 3"),
        (lambda: LogisticCPD("Y", [Z], [[1.0, 2.0]]), InvalidCPD, "weights for 2 states of 'Z', which has 0"),
        (lambda: LogisticCPD("Y", [A], [1.0], codes={"A": [1, 2, 3]}), InvalidCPD, r"codes of shape \(3,\) for 'A'"),
        (
            lambda: LogisticCPD("Y", [A], [[1, 2]], codes={"A": [1, 2]}),
            InvalidCPD,
            "codes of shape .* weights for each",
        ),
        (lambda: LogisticCPD("Y", [A], [1.0], codes={"B": [1, 2]}), UnknownVariable, "'B' is not a variable"),
    ],
)
def test_wrong_arguments_are_refused_by_name(build: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()
