"""Arc reversal, rotation and elimination of regressions, against joint moments by plain matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.inference.gaussian.elimination import eliminate, plan_elimination, shape_of, strong_order
from plausible.inference.gaussian.moments import draw, joint_moments, marginal_moments, marginal_shapes
from plausible.inference.gaussian.regression import Regression, evidence_weight, reverse_arc, rotate
from plausible.variables import Variable

VARIANCES = [0.0, 0.0, 0.5, 1.0, 3.0]


def line(name, parents, intercept, coefficients, variance):
    return Regression.of(Variable(name), parents, (), intercept, coefficients, variance)


def joint(lines):
    """Names, mean and covariance of a network of regressions without discrete variables: (I - B)⁻¹ at work."""
    names = [one.name for one in lines]
    B = np.zeros((len(names), len(names)))
    for one in lines:
        for parent, slope in zip(one.parents, one.coefficients, strict=True):
            B[names.index(one.name), names.index(parent)] = slope
    inverse = np.linalg.inv(np.eye(len(names)) - B)
    mean = inverse @ [float(one.intercept) for one in lines]
    covariance = inverse @ np.diag([float(one.variance) for one in lines]) @ inverse.T
    covariance[np.abs(covariance) < 1e-12] = 0.0  # the rounding of the inverse would pass for a variance
    return names, mean, covariance


def random_lines(rng, size, density=0.6):
    lines = []
    for place in range(size):
        parents = [f"x{other}" for other in range(place) if rng.random() < density]
        slopes = rng.choice([-2.0, -1.0, 0.5, 1.0, 1.5], size=len(parents))
        lines.append(line(f"x{place}", parents, rng.integers(-2, 3), slopes, rng.choice(VARIANCES)))
    return lines


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_reversing_an_arc_keeps_the_joint_distribution(seed):
    """P(x | u) P(y | x, u) = P(y | u) P(x | y, u), also where variances are zero."""
    rng = np.random.default_rng(seed)
    *above, x, y = random_lines(rng, 5, density=0.7)
    if x.name not in y.parents:
        y = line("x4", [*y.parents, "x3"], y.intercept, [*y.coefficients, 2.0], y.variance)
    x_given_y, y_alone = reverse_arc(x, y)
    assert x.name not in y_alone.parents
    assert y.name in x_given_y.parents
    names, mean, covariance = joint([*above, x, y])
    turned, new_mean, new_covariance = joint([*above, y_alone, x_given_y])
    order = [turned.index(name) for name in names]
    np.testing.assert_allclose(new_mean[order], mean, atol=1e-9)
    np.testing.assert_allclose(new_covariance[np.ix_(order, order)], covariance, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rotating_observed_rows_keeps_their_density(seed):
    """Both rows vanish: log N is the same before and after, at any values of the parents."""
    rng = np.random.default_rng(seed)
    slopes = rng.choice([-2.0, 0.0, 0.5, 1.0], size=(2, 3))
    variances = rng.choice([0.01, 1.0, 50.0], size=2)
    rows = [line(f"e{i}", ["p", "q", "r"], rng.normal(), slopes[i], variances[i]) for i in range(2)]
    pivot, free = rotate(*rows, "q")
    assert "q" not in free.parents
    for values in rng.normal(size=(3, 3)):
        point = dict(zip(["p", "q", "r"], values, strict=True))
        before, after = (
            sum(float(evidence_weight(row.given({}, point)).log_density) for row in pair)
            for pair in (rows, (pivot, free))
        )
        assert after == pytest.approx(before, rel=1e-9)


def test_an_exact_row_stays_as_it_is_under_rotation():
    """A deterministic observation is the pivot, however small its coefficient beside that of a noisy one."""
    noisy, exact = line("n", ["x"], 1.0, [5.0], 2.0), line("e", ["x"], 3.0, [0.1], 0.0)
    pivot, free = rotate(noisy, exact, "x")
    assert (float(pivot.intercept), pivot.coefficients.tolist(), float(pivot.variance)) == (3.0, [0.1], 0.0)
    assert float(free.variance) == 2.0
    assert float(free.intercept) == pytest.approx(1.0 - 50 * 3.0)


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_elimination_order_gives_the_conditional_moments(seed):
    """Steps turned round are the network given the evidence; each variable alone agrees with all together."""
    rng = np.random.default_rng(seed)
    lines = random_lines(rng, int(rng.integers(1, 7)))
    names, mean, covariance = joint(lines)
    seen = [i for i in range(len(names)) if rng.random() < 0.4]
    sample = np.zeros(len(names))
    for place, one in enumerate(lines):
        above = sample[[names.index(parent) for parent in one.parents]]
        sample[place] = one.intercept + one.coefficients @ above + math.sqrt(one.variance) * rng.normal()
    values = {names[i]: float(sample[i]) for i in seen}
    hidden = [name for name in names if name not in values]
    order = rng.permutation(hidden).tolist()
    done = eliminate(lines, order, values)
    gain = covariance[:, seen] @ np.linalg.pinv(covariance[np.ix_(seen, seen)], rcond=1e-10, hermitian=True)
    expected = mean + gain @ (sample[seen] - mean[seen])
    spread = covariance - gain @ covariance[seen]
    together = joint_moments(done.steps).part(hidden)
    axes = [names.index(name) for name in hidden]
    np.testing.assert_allclose(together.mean, expected[axes], atol=1e-6)
    np.testing.assert_allclose(together.covariance, spread[np.ix_(axes, axes)], atol=1e-6)
    for name, alone in marginal_moments(done.steps).items():
        assert alone.mean[0] == pytest.approx(expected[names.index(name)], abs=1e-6)
        assert alone.covariance[0, 0] == pytest.approx(spread[names.index(name), names.index(name)], abs=1e-6)
    assert all(weight.log_density > -math.inf for weight in done.weights)


def test_evidence_down_a_chain_does_not_pile_up():
    """The root of a chain with a sensor at each state: every step leaves one row, not one for each sensor below."""
    lines = [line("x0", [], 0.0, [], 1.0)]
    lines += [line(f"x{t}", [f"x{t - 1}"], 0.0, [0.9], 0.5) for t in range(1, 50)]
    lines += [line(f"y{t}", [f"x{t}"], 0.0, [1.0], 1.0) for t in range(50)]
    shapes = [shape_of(one) for one in lines]
    observed = {f"y{t}" for t in range(50)}
    order = strong_order(shapes, observed, ["x0"])
    assert order[-1] == "x0"
    steps, leaves = plan_elimination(shapes, order, observed)
    assert max(len(step.parents) for step in steps) == 1
    assert len(leaves) == 50
    assert not any(leaf.parents for leaf in leaves)


def test_the_plan_has_the_shapes_of_the_run():
    """What was priced is what is built, discrete scopes included."""
    rng = np.random.default_rng(3)
    kinds = [Variable(f"d{i}", i + 1) for i in range(4)]
    lines = []
    for place in range(6):
        parents = [f"x{other}" for other in range(place) if rng.random() < 0.6]
        scope = [kind for kind in kinds if rng.random() < 0.4]
        shape = [kind.num_states for kind in scope]
        numbers = rng.normal(size=shape), rng.normal(size=(*shape, len(parents))), rng.random(size=shape) + 0.1
        lines.append(Regression.of(Variable(f"x{place}"), parents, scope, *numbers))
    order = strong_order([shape_of(one) for one in lines], {"x5"}, ["x2"])
    steps, leaves = plan_elimination([shape_of(one) for one in lines], order, {"x5"})
    done = eliminate(lines, order, {"x5": 0.3})
    assert [(step.name, step.parents, step.scope) for step in done.steps] == [
        (shape.name, shape.parents, shape.scope) for shape in steps
    ]
    assert [weight.scope for weight in done.weights] == [leaf.scope for leaf in leaves]
    for step in done.steps:
        assert step.coefficients.shape == (*(kind.num_states for kind in step.scope), len(step.parents))
    scopes = {name: scope for name, (scope, _) in marginal_shapes(steps).items()}
    assert {name: moments.scope for name, moments in marginal_moments(done.steps).items()} == scopes
    columns = draw(done.steps, {kind.name: np.zeros(7, dtype=int) for kind in kinds}, 7, rng)
    assert {name: column.shape for name, column in columns.items()} == {f"x{i}": (7,) for i in range(5)}


def test_discrete_axes_are_put_in_alphabetical_order():
    """The order in which discrete parents are given does not matter."""
    a, b, one = Variable("a", 2), Variable("b", 3), Variable("c", 1)
    intercept = np.arange(6.0).reshape(3, 1, 2)
    regression = Regression.of(Variable("x"), [], [b, one, a], intercept, np.zeros((3, 1, 2, 0)), np.ones((3, 1, 2)))
    assert [variable.name for variable in regression.scope] == ["a", "b"]
    np.testing.assert_array_equal(regression.intercept, intercept[:, 0, :].T)
    assert float(regression.given({"a": 1, "b": 2}, {}).intercept) == 5.0
