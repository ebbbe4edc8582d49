"""Noisy-or: worked numbers, the expansion with noise nodes, many parents, tiny probabilities."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.cpds import NoisyMax, NoisyOr
from plausible.errors import InvalidCPD, TooLarge, UnknownState, UnknownVariable
from plausible.variables import Variable

CAUSES = [Variable("A", 2), Variable("B", 2)]


def test_worked_numbers() -> None:
    """λ = (.1, .8, .5), the first being the leak: P(Y=1) at (0,0), (0,1), (1,0), (1,1)."""
    cpd = NoisyOr("Y", CAUSES, [0.8, 0.5], leak=0.1)
    np.testing.assert_allclose(cpd.to_factor().values[..., 1].ravel(), [0.1, 0.55, 0.82, 0.91], rtol=1e-14)


def expansion(activation: list[float], leak: float, active: tuple[bool, ...]) -> float:
    """P(Y=1 | x) by noise nodes X'_i, P(X'_i = 1 | X_i = 1) = λ_i, and a deterministic OR: a sum over 2^(n+1) cases."""
    total = 0.0
    chances = [leak, *(chance if on else 0.0 for chance, on in zip(activation, active, strict=True))]
    for noise in itertools.product((False, True), repeat=len(chances)):
        if any(noise):
            total += math.prod(p if on else 1 - p for p, on in zip(chances, noise, strict=True))
    return total


@given(activation=st.lists(st.floats(0, 1), max_size=5), leak=st.floats(0, 1))
@settings(max_examples=16, deadline=None)
def test_equals_the_expansion_with_noise_nodes(activation: list[float], leak: float) -> None:
    parents = [Variable(f"P{i}", [False, True]) for i in range(len(activation))]
    table = NoisyOr("Y", parents, activation, leak).to_factor()
    for active in itertools.product((False, True), repeat=len(parents)):
        assert table[(*active, True)] == pytest.approx(expansion(activation, leak, active), abs=1e-12)


def test_the_first_cause_counts() -> None:
    """The product runs over all parents, i ≥ 1; the leak is i = 0."""
    cpd = NoisyOr("Y", [CAUSES[0]], [0.7])
    assert cpd.to_factor()[(1, True)] == pytest.approx(0.7)


@pytest.mark.parametrize("size", [30, 200])
def test_many_parents_cost_linear_factors(size: int) -> None:
    """P(Y) under independent parents by contracting the factors: P(off) = (1 - λ_0) Π (1 - p_i λ_i)."""
    rng = np.random.default_rng(size)
    parents = [Variable(f"P{i:03}", 2) for i in range(size)]
    activation, prior = rng.random(size) * 0.1, rng.random(size)
    cpd = NoisyOr("Y", parents, activation, leak=0.01)
    with pytest.raises(TooLarge, match=f"The table of 'Y' over {size + 1} variables"):
        cpd.to_table()
    first, *others = cpd.to_factors()
    assert sum(factor.size for factor in cpd.to_factors()) == 4 + 8 * (size - 1)
    assert max(len(factor.scope) for factor in cpd.to_factors()) == 3
    message = np.array([1 - prior[0], prior[0]]) @ first.values
    for factor, chance in zip(others, prior[1:], strict=True):
        message = np.einsum("a,x,axb->b", message, [1 - chance, chance], factor.values)
    off = 0.99 * math.prod(1 - p * strength for p, strength in zip(prior, activation, strict=True))
    np.testing.assert_allclose(message, [off, 1 - off], rtol=1e-12)


@given(
    activation=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    leak=st.sampled_from([0.0, 1e-300, 0.3, 1.0]),
    data=st.data(),
)
@settings(max_examples=24, deadline=None)
def test_factors_do_not_cancel(activation: list[float], leak: float, data: st.DataObject) -> None:
    """No entry is negative, and both probabilities have all their digits, however small, against fractions."""
    tiny = data.draw(st.sampled_from([1.0, 1e-16, 1e-150]))
    parents = [Variable(f"P{i}", 2) for i in range(len(activation))]
    cpd = NoisyOr("Y", parents, [tiny * strength for strength in activation], leak)
    assert min(factor.min() for factor in cpd.to_factors()) >= 0
    first, *others = cpd.to_factors()
    message = first.values[1]
    for factor in others:
        message = message @ factor.values[:, 1]
    off = (1 - Fraction(leak)) * math.prod(1 - Fraction(float(strength)) for strength in cpd.activation)
    assert message == pytest.approx([float(off), float(1 - off)], rel=1e-13, abs=1e-307)


def test_an_effect_that_is_off_takes_its_causes_apart() -> None:
    """P(off | x) is a product of a factor of each parent and a number."""
    cpd = NoisyOr("Y", [*CAUSES, Variable("C", 3)], [0.8, 0.5, 0.25], leak=0.1, active_states={"C": 1})
    leak, *causes = cpd.factors_given({"Y": 0})
    assert [factor.names for factor in causes] == [("A",), ("B",), ("C",)]
    for a, b, c in itertools.product(range(2), range(2), range(3)):
        value = leak.sum() * causes[0].values[a] * causes[1].values[b] * causes[2].values[c]
        assert value == pytest.approx(0.9 * 0.2**a * 0.5**b * (0.75 if c == 1 else 1))
    assert cpd.factors_given({"Y": 1, "A": 0}) == cpd.to_factors()


def test_log_probability_of_many_rows_and_parents() -> None:
    rng = np.random.default_rng(0)
    parents = [Variable(f"P{i}", 2) for i in range(200)]
    activation = rng.random(200) * 0.05
    cpd = NoisyOr("Y", parents, activation, leak=0.02)
    rows = rng.integers(2, size=(50, 200))
    off = 0.98 * np.prod((1 - activation) ** rows, axis=1)
    columns = {parent.name: rows[:, i] for i, parent in enumerate(parents)}
    for state, expected in ((0, off), (1, 1 - off)):
        logs = cpd.log_probability({**columns, "Y": np.full(50, state)})
        np.testing.assert_allclose(np.exp(logs), expected, rtol=1e-10)


def test_tiny_probabilities_keep_their_digits() -> None:
    """1 - (1 - 1e-20)(1 - 3e-20) = 4e-20 (to first order), where the difference of doubles is zero."""
    cpd = NoisyOr("Y", CAUSES, [1e-20, 3e-20])
    columns = {"A": np.array([1, 1, 0]), "B": np.array([1, 0, 0]), "Y": np.array([1, 1, 1])}
    exact = [1 - (1 - Fraction(1e-20)) * (1 - Fraction(3e-20)), Fraction(1e-20)]
    logs = cpd.log_probability(columns)
    np.testing.assert_allclose(logs[:2], [math.log(p) for p in exact], rtol=1e-14)
    assert logs[2] == -math.inf
    assert cpd.to_factor()[(1, 1, True)] == pytest.approx(4e-20, rel=1e-12)


def test_certain_causes_are_no_nan() -> None:
    cpd = NoisyOr("Y", CAUSES, [1.0, 0.0], leak=0.0)
    np.testing.assert_array_equal(cpd.to_factor().values, [[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    always = NoisyOr("Y", CAUSES, [0.3, 1.0], leak=1.0)
    np.testing.assert_array_equal(always.to_factor().values[..., 1], np.ones((2, 2)))


def test_independence_in_a_context() -> None:
    """A sure active cause hides all others; a cause of strength zero is always ignored."""
    cpd = NoisyOr("Y", [*CAUSES, Variable("C", 2)], [1.0, 0.5, 0.0], leak=0.1)
    assert cpd.ignores(["B", "C"], {"A": 1})
    assert not cpd.ignores("B", {"A": 0})
    assert cpd.ignores("C")
    assert NoisyOr("Y", CAUSES, [0.5, 0.5], leak=1.0).ignores(["A", "B"])


def test_the_active_state_is_the_last_unless_named() -> None:
    switch, level = Variable("switch", ["on", "off"]), Variable("level", ["low", "mid", "high"])
    plain = NoisyOr("Y", [switch], [0.4])
    assert plain.active_states == {"switch": "off"}
    cpd = NoisyOr("Y", [switch, level], [0.4, 0.9], active_states={"switch": "on", "level": "mid"})
    assert cpd.active_states == {"switch": "on", "level": "mid"}
    assert NoisyOr("Y", [switch, level], [0.4, 0.9], active_states=["on", "mid"]) == cpd
    np.testing.assert_allclose(cpd.to_factor().values[..., 0], [[0.6, 0.06, 0.6], [1.0, 0.1, 1.0]])


def test_is_a_noisy_max_of_two_states() -> None:
    effects = [[[1, 0], [1 - strength, strength]] for strength in (0.8, 0.5)]
    graded = NoisyMax(Variable("Y", [False, True]), CAUSES, effects, leak=[0.9, 0.1])
    assert NoisyOr("Y", CAUSES, [0.8, 0.5], leak=0.1).is_close(graded, 1e-14)


def test_the_auxiliary_avoids_the_names_of_the_scope() -> None:
    parents = [Variable("Y≤2", 2), Variable("Y≤≤1", 2), Variable("B", 2)]
    cpd = NoisyOr("Y", parents, [0.5, 0.5, 0.5])
    assert [variable.name for variable in cpd.auxiliaries] == ["Y≤≤≤1", "Y≤≤≤2"]
    assert [factor.names for factor in cpd.to_factors()] == [
        ("B", "Y≤≤≤1"),
        ("Y≤≤≤1", "Y≤2", "Y≤≤≤2"),
        ("Y≤≤≤2", "Y≤≤1", "Y"),
    ]
    assert NoisyOr("Y", parents[:1], [0.5]).auxiliaries == ()


def test_without_causes_the_leak_is_left() -> None:
    (factor,) = NoisyOr("Y", [], [], leak=0.25).to_factors()
    assert factor.names == ("Y",)
    assert factor.values.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: NoisyOr("Y", CAUSES, [0.5]),
            InvalidCPD,
            r"activation of 'Y': expected 2, one for each parent in \['A', 'B'\], not 1",
        ),
        (
            lambda: NoisyOr("Y", CAUSES, {"A": 0.5}),
            InvalidCPD,
            "The activation of 'Y': there is nothing for the parent 'B'",
        ),
        (
            lambda: NoisyOr("Y", CAUSES, {"A": 0.5, "D": 1}),
            UnknownVariable,
            "'D' is not a variable of the parents of 'Y'",
        ),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 1.1]), InvalidCPD, "The activation of 'Y' by 'B': .* not 1.1"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, math.nan]), InvalidCPD, "The activation of 'Y' by 'B': .* not nan"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 0.5], leak=-0.1), InvalidCPD, "The leak of 'Y'"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 0.5], states=["no", "mild", "bad"]), InvalidCPD, "needs two states"),
        (lambda: NoisyOr("Y", [Variable("A", 3)], [0.5]), InvalidCPD, "'A' of the noisy-or 'Y' has 3 states"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 0.5], active_states=[1]), InvalidCPD, "active states of 'Y': expected 2"),
        (
            lambda: NoisyOr("Y", "A", [0.5], active_states="x"),
            InvalidCPD,
            r"active states of 'Y'.*{'A': 'x'}, or a list",
        ),
        (lambda: NoisyOr("Y", "A", [0.5], active_states=3), InvalidCPD, "active states of 'Y': expected a list, or a"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 0.5], active_states={"D": 1}), UnknownVariable, "'D' is not a variable"),
        (lambda: NoisyOr("Y", CAUSES, [0.5, 0.5], active_states={"A": 2}), UnknownState, "2 is not a state of 'A'"),
        (lambda: NoisyOr(Variable("Y", 2), CAUSES, [0.5, 0.5], states=["n", "y"]), InvalidCPD, "leave out states="),
    ],
)
def test_wrong_arguments_are_refused_by_name(build: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()
