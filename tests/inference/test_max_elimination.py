"""Max-product elimination against the largest of all products."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from network_oracle import (
    burglary_network,
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_markov_network,
    random_network,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidFactor, TooLarge
from plausible.factors import Factor
from plausible.inference.exact_map.max_elimination import constrained_order, max_product
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of


@pytest.mark.parametrize("seed", few_of(16, 40))
def test_the_best_assignment_has_the_largest_product(seed):
    """The value is the maximum over the whole joint, and the assignment attains it."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    joint = joint_of_bayesian_network(net)
    best = max_product(net.factors)
    assert math.exp(best.log_probability) == pytest.approx(max(weight for _, weight in joint), rel=1e-12)
    attained = next(weight for assignment, weight in joint if assignment == dict(best))
    assert attained == pytest.approx(math.exp(best.log_probability), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_order_gives_the_same_value(seed):
    """Maxima commute; the traceback of every order attains the maximum."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=4, num_factors=6)
    inside = sorted({name for factor in net.factors for name in factor.names})
    products = measure_of_markov_network(net)
    largest = max(weight for _, weight in products)
    for order in permutations(inside):
        best = max_product(net.factors, order)
        assert math.exp(best.log_probability) == pytest.approx(largest, rel=1e-12)
        weights = {weight for assignment, weight in products if all(assignment[name] == best[name] for name in best)}
        assert max(weights) == pytest.approx(largest, rel=1e-12)


def test_the_alarm_most_likely_stays_silent():
    """By hand: no burglary, no earthquake, no alarm, no calls, 0.999 · 0.998 · 0.999 · 0.95 · 0.99."""
    best = max_product(burglary_network().factors)
    assert not any(best.values())
    assert math.exp(best.log_probability) == pytest.approx(0.999 * 0.998 * 0.999 * 0.95 * 0.99)


def test_ties_go_to_the_first_state():
    """All assignments are equally good: each variable takes its first state, in every order."""
    scope = [Variable(name, ["u", "v", "w"]) for name in "ABC"]
    flat = [Factor(scope[:2], np.ones((3, 3))), Factor(scope[1:], np.ones((3, 3)))]
    for order in permutations("ABC"):
        assert set(max_product(flat, order).values()) == {"u"}


def test_products_far_below_the_smallest_float():
    """A chain of 1000 steps of probability 1e-3 has the right logarithm."""
    chain = [Factor({f"X{i}": 2, f"X{i + 1}": 2}, [[1e-3, 1e-4], [1e-5, 1e-4]]) for i in range(1000)]
    best = max_product(chain)
    assert best.log_probability == pytest.approx(1000 * math.log(1e-3), rel=1e-12)
    assert set(best.values()) == {0}


def test_nothing_to_maximize():
    """The empty product is one; constants count; one-state variables have their state."""
    assert max_product([]).log_probability == 0
    assert max_product([Factor.scalar(3.0)]).log_probability == pytest.approx(math.log(3))
    assert max_product([Factor({"A": ["only"]}, [0.5])]) == {"A": "only"}


def test_all_zero_is_impossible():
    """There is no best among impossible assignments; a negative entry has no logarithm."""
    with pytest.raises(ImpossibleEvidence, match="No assignment has a positive product"):
        max_product([Factor({"A": 2}, [1, 0]), Factor({"A": 2}, [0, 1])])
    with pytest.raises(InvalidFactor):
        max_product([Factor({"A": 2}, [1, -1])])


def test_too_large_is_refused_before_any_work():
    """The error names the largest table."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(40) for j in range(i)]
    refuses(TooLarge, r"largest over 40 variables \(.*\.\.\.\)", max_product, factors)


def test_orders_are_checked():
    """A variable left out; a maximum before a sum; names that no factor has are passed over."""
    factor = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    refuses(InvalidArgument, "lacks 'B'", max_product, [factor], ["A"])
    refuses(InvalidArgument, "'A', which is maximised, before", constrained_order, [factor], ["A"], ["A", "B"])
    assert max_product([factor], ["A", "C", "B"]) == {"A": 1, "B": 1}


def test_sums_come_before_maxima():
    """The price of the constraint: the hub of a star, summed first, joins all leaves."""
    star = [Factor({"C": 2, f"L{i}": 2}, np.ones((2, 2))) for i in range(6)]
    leaves = [f"L{i}" for i in range(6)]
    constrained = constrained_order(star, leaves)
    assert constrained.sums == ("C",)
    assert constrained.largest_table == 2**7
    assert constrained_order(star, ["C", *leaves]).largest_table == 4
