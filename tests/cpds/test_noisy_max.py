"""Noisy-max: the maximum of independent effects."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.cpds import NoisyMax
from plausible.errors import InvalidCPD, RoundedProbabilities, TooLarge, UnknownState
from plausible.variables import Variable

A, B = Variable("A", ["no", "yes"]), Variable("B", ["no", "mild", "bad"])


def rows(draw: st.DrawFn, count: int, size: int) -> np.ndarray:
    weights = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any), min_size=count, max_size=count)
    )
    return np.array([[weight / sum(row) for weight in row] for row in weights])


@given(data=st.data())
@settings(max_examples=16, deadline=None)
def test_equals_the_maximum_of_enumerated_effects(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    leak, *effects = (rows(data.draw, count, size) for count in (1, 2, 3))
    table = NoisyMax("Y", [A, B], effects, leak[0]).to_factor().values
    for a, b in itertools.product(range(2), range(3)):
        expected = np.zeros(size)
        for causes in itertools.product(range(size), repeat=3):
            chances = zip((leak[0], effects[0][a], effects[1][b]), causes, strict=True)
            expected[max(causes)] += math.prod(row[effect] for row, effect in chances)
        np.testing.assert_allclose(table[a, b], expected, rtol=0, atol=1e-12)


def test_many_parents_cost_linear_factors() -> None:
    rng = np.random.default_rng(3)
    parents = [Variable(f"P{i:03}", 3) for i in range(100)]
    effects = [rng.dirichlet([30, 1, 1, 1], size=3) for _ in parents]
    cpd = NoisyMax("Y", parents, effects, leak=[0.97, 0.01, 0.01, 0.01])
    with pytest.raises(TooLarge):
        cpd.to_table()
    first, *others = cpd.to_factors()
    assert first.size + sum(factor.size for factor in others) == 3 * 4 + 99 * 4 * 3 * 4
    chosen = rng.integers(3, size=100)
    columns = {parent.name: np.array(position) for parent, position in zip(parents, chosen, strict=True)}
    cumulative = np.cumsum([0.97, 0.01, 0.01, 0.01])
    for effect, position in zip(effects, chosen, strict=True):
        cumulative = cumulative * np.cumsum(effect[position])
    np.testing.assert_allclose(cpd.distribution(columns), np.diff(cumulative, prepend=0.0), rtol=1e-9)
    message = first.values[chosen[0]]
    for factor, position in zip(others, chosen[1:], strict=True):
        message = message @ factor.values[:, position]
    np.testing.assert_allclose(message, np.diff(cumulative, prepend=0.0), rtol=1e-9)


@given(data=st.data())
@settings(max_examples=16, deadline=None)
def test_factors_multiply_to_the_maximum_of_enumerated_effects(data: st.DataObject) -> None:
    """The chain, its auxiliaries summed out, and the product of single causes where there is no effect at all."""
    size = data.draw(st.integers(1, 4))
    leak, *effects = (rows(data.draw, count, size) for count in (1, 2, 3, 1))
    cpd = NoisyMax("Y", [A, B, Variable("C", 1)], effects, leak[0])
    first, second, third = (factor.values for factor in cpd.to_factors())
    alone = cpd.factors_given({"Y": 0})
    for a, b in itertools.product(range(2), range(3)):
        expected = np.zeros(size)
        for causes in itertools.product(range(size), repeat=4):
            chances = zip((leak[0], effects[0][a], effects[1][b], effects[2][0]), causes, strict=True)
            expected[max(causes)] += math.prod(row[effect] for row, effect in chances)
        np.testing.assert_allclose(first[a] @ second[:, b] @ third[:, 0], expected, rtol=1e-12, atol=1e-15)
        lowest = math.prod(factor.values.reshape(-1)[i] for factor, i in zip(alone, (0, a, b, 0), strict=True))
        assert lowest == pytest.approx(expected[0], rel=1e-12, abs=1e-15)


def test_tiny_probabilities_keep_their_digits() -> None:
    """P(Y = top) = 1 - (1 - 2e-30)(1 - 5e-30), and P(Y = bottom) = 1e-200 · 1e-200 beyond the range of doubles."""
    cpd = NoisyMax("Y", [A, A.renamed("C")], [[[1, 0, 0], [1e-200, 1, 2e-30]], [[1, 0, 0], [1e-200, 1, 5e-30]]])
    columns = {"A": np.array([1]), "C": np.array([1])}
    assert cpd.log_probability({**columns, "Y": np.array([2])})[0] == pytest.approx(math.log(7e-30), rel=1e-12)
    assert cpd.log_probability({**columns, "Y": np.array([0])})[0] == pytest.approx(2 * math.log(1e-200), rel=1e-12)


def test_without_leak_and_causes_there_is_no_effect() -> None:
    cpd = NoisyMax(Variable("Y", 3), [], [])
    assert cpd.to_factor().values.tolist() == [1, 0, 0]


def test_independence_in_a_context() -> None:
    """Where one cause makes the strongest effect certain, the other does not matter."""
    cpd = NoisyMax("Y", [A, B], [[[1, 0], [0, 1]], [[1, 0], [0.5, 0.5], [0.2, 0.8]]])
    assert cpd.ignores("B", {"A": "yes"})
    assert not cpd.ignores("B", {"A": "no"})
    assert not cpd.ignores(["A", "B"])


def test_rounded_rows_of_several_effects_give_one_warning() -> None:
    with pytest.warns(RoundedProbabilities, match="3 rows of 'Y'") as caught:
        cpd = NoisyMax("Y", [A], [[[0.333] * 3, [0.3335] * 3]], leak=[0.9995, 0, 0])
    assert len(caught) == 1
    np.testing.assert_allclose(cpd.effects["A"], 1 / 3)
    np.testing.assert_allclose(cpd.leak, [1, 0, 0])


def test_effects_keyed_by_states() -> None:
    keyed = NoisyMax("Y", ["A", "B"], {"B": {"bad": [0, 1], "no": [1, 0], "mild": [0.5, 0.5]}, "A": np.eye(2)})
    assert keyed.bind({"A": A, "B": B}) == NoisyMax("Y", [A, B], [np.eye(2), [[1, 0], [0.5, 0.5], [0, 1]]])


@pytest.mark.parametrize(
    ("effects", "leak", "error", "message"),
    [
        ([np.eye(2)], None, InvalidCPD, "The effects of 'Y': expected 2, .*, not 1"),
        ([np.eye(2), np.eye(2)], None, InvalidCPD, r"The effect of 'B' on 'Y' needs shape \(3, 2\), not \(2, 2\)"),
        ([np.eye(2), [1, 0]], None, InvalidCPD, "The effect of 'B' on 'Y' needs rows of probabilities"),
        ([np.eye(2), [[1, 0], [1]]], None, InvalidCPD, "The effect of 'B' on 'Y' is not a regular array"),
        ([np.eye(2), {"no": [1, 0], "mild": [1, 0]}], None, InvalidCPD, "no row for B=bad"),
        ([np.eye(2), {"no": 1}], None, InvalidCPD, "The effect of 'B' on 'Y' needs a row"),
        ([np.eye(2), {"no": [1, 0], "awful": [1, 0]}], None, UnknownState, "'awful' is not a state of 'B'"),
        ([np.eye(2), [[1, 0], [1, 0], [0.4, 0.4]]], None, InvalidCPD, "The row of 'Y' for B=bad sums to 0.8"),
        ([np.eye(2), [[1, 0], [1, 0], [1.4, -0.4]]], None, InvalidCPD, "The row of 'Y' for B=bad has the entry -0.4"),
        ([np.eye(2), [[1, 0]] * 3], [1, 0, 0], InvalidCPD, "The row 'leak' of 'Y'"),
        ([np.eye(2), [[1, 0]] * 3], [0.5, 0.6], InvalidCPD, "The row of 'Y' for the leak sums to 1.1"),
    ],
)
def test_wrong_effects_are_refused_by_name(effects: object, leak: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        NoisyMax("Y", [A, B], effects, leak)
