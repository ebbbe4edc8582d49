"""Log-linear models."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from plausible.factors import Factor
from plausible.models import Feature, log_linear
from plausible.variables import Variable

A, B, C = Variable("A", ["x", "y"]), Variable("B", ["x", "y"]), Variable("C", 3)


def feature(scope, function):
    """The table of a function of states."""
    return Factor(scope, Feature([one.name for one in scope], function).values(scope))


def test_agreement_feature():
    """f = 1[x = y] with θ = ln 4: Z = 10 and P(agree) = 0.8."""
    net = log_linear([feature([A, B], lambda a, b: a == b)], [math.log(4)])
    assert math.exp(net.log_partition()) == pytest.approx(10)
    joint = net.joint()
    assert joint["x", "x"] + joint["y", "y"] == pytest.approx(0.8)


@pytest.mark.parametrize("sign", [1, -1])
def test_measure_is_the_exponential_of_the_weighted_sum(sign):
    """exp(sign Σ θ f) at every assignment; features may be negative."""
    rng = np.random.default_rng(0)
    features = [
        Factor([A, B], rng.normal(size=(2, 2))),
        Factor([B, C], rng.normal(size=(2, 3))),
        Factor([C], [1, 0, -1]),
    ]
    weights = [0.5, -2.0, 1.0]
    net = log_linear(features, weights, sign=sign)
    for a, b, c in product("xy", "xy", range(3)):
        x = {"A": a, "B": b, "C": c}
        total = sum(w * f[x] for w, f in zip(weights, features, strict=True))
        assert net.measure(x) == pytest.approx(math.exp(sign * total))


def test_every_table_is_log_linear():
    """θ = ln φ on indicator features gives the factor back."""
    phi = Factor([A, B], [[1.0, 2.0], [3.0, 4.0]])
    cells = list(product("xy", repeat=2))
    indicators = [feature([A, B], lambda a, b, cell=cell: (a, b) == cell) for cell in cells]
    net = log_linear(indicators, [math.log(phi[cell]) for cell in cells])
    assert net.joint().is_close(phi.normalize())


def test_variables_and_mistakes():
    """Lonely variables can be added; weights must match; the sign is a sign."""
    net = log_linear([feature([A], lambda a: a == "x")], [0.0], variables=[C])
    assert list(net.variables) == ["C", "A"]
    with pytest.raises(ValueError, match="Each feature needs a weight"):
        log_linear([], [1.0])
    with pytest.raises(ValueError, match="sign=2"):
        log_linear([], [], sign=2)


@pytest.mark.parametrize("weights", [[1000.0, 0.5], [-1000.0, 2.0], [1e4, -1e4]])
def test_weights_may_be_large(weights):
    """log Z = logsumexp of Σ θ f, and conditionals stay right, where exp(1000) is no float."""
    net = log_linear([feature([A, B], lambda a, b: a == b), feature([B], lambda b: b == "y")], weights)
    sums = [weights[0] * (a == b) + weights[1] * (b == "y") for a, b in product("xy", repeat=2)]
    assert net.log_partition() == pytest.approx(logsumexp(sums), rel=1e-12)
    assert net.joint().flat == pytest.approx(np.exp(np.array(sums) - logsumexp(sums)), abs=1e-12)
    same, other = net.log_probability({"A": "x", "B": "x"}), net.log_probability({"A": "y", "B": "x"})
    assert same - other == pytest.approx(weights[0])


def test_one_large_energy_may_be_less_than_many_small_ones():
    """h = 1 costs 2000 at once, h = 0 costs 100 at thirty places: h = 1 holds, though exp(-2000) is zero in a float."""
    h, others = Variable("h", 2), [Variable(f"n{i}", 2) for i in range(30)]
    features = [feature([h], lambda x: x == 1), *(feature([h, other], lambda x, _: x == 0) for other in others)]
    net = log_linear(features, [2000.0] + [100.0] * 30, sign=-1)
    assert net.query("h")[1] == pytest.approx(1.0)
    assert net.log_probability({"h": 0}) == pytest.approx(-1000.0)
    assert net.marginals()["h"][1] == pytest.approx(1.0)
