"""Joint factors (probability, utility): the axioms that make their elimination right in any order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from plausible import Factor, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.solving.elimination import eliminate_joint, joint_factors
from plausible.errors import InvalidFactor
from plausible.factors.joint_factor import JointFactor, combined
from plausible.utilities import Utility
from plausible.variables import Variable
from solving_oracle import random_diagram, value_of

A, B, C = Variable("A", 2), Variable("B", 3), Variable("C", 2)


def random_pair(rng: np.random.Generator, phi: list[Variable], mu: list[Variable]) -> JointFactor:
    shape = [v.num_states for v in phi]
    probability = rng.random(shape) * (rng.random(shape) > 0.3)
    return JointFactor(Factor(phi, probability), Factor(mu, rng.normal(size=[v.num_states for v in mu])))


@pytest.fixture(params=range(10))
def pairs(request):
    rng = np.random.default_rng(request.param)
    return [random_pair(rng, [A, B], [B]), random_pair(rng, [B, C], [A, C]), random_pair(rng, [C], [])]


def test_combination_is_commutative_and_associative(pairs):
    one, two, three = pairs
    assert (one * two).is_close(two * one)
    assert ((one * two) * three).is_close(one * (two * three))


def test_marginalization_is_consonant(pairs):
    """Summing out A then B is summing out B then A is summing out both."""
    whole = combined(pairs)
    both = whole.marginalize(["A", "B"])
    assert whole.marginalize("A").marginalize("B").is_close(both)
    assert whole.marginalize("B").marginalize("A").is_close(both)


def test_marginalization_and_combination_interchange(pairs):
    """Σ_A (γ1 γ2) = γ2 Σ_A γ1 where γ2 does not depend on A."""
    one, _, three = pairs
    assert (one * three).marginalize("A").is_close(three * one.marginalize("A"))


def test_contraction_commutes_with_marginalization(pairs):
    whole = combined(pairs)
    assert whole.marginalize("B").contract().is_close(whole.contract().marginalize("B"))


def test_nothing_over_nothing_is_nothing():
    pair = JointFactor(Factor([A, C], [[0, 0], [0.5, 0.5]]), Factor([A, C], [[5, 7], [1, 3]]))
    assert pair.marginalize("C").utility.values.tolist() == [0.0, 2.0]


def test_summing_a_variable_that_only_the_utility_has_counts_its_states():
    """(1, μ(A)) summed over A is (|A|, mean of μ)."""
    left = JointFactor(utility=Factor([A], [1.0, 3.0])).marginalize("A")
    assert left.probability.sum() == 2.0
    assert left.utility.sum() == 2.0


def test_maximization_takes_the_best_action_where_it_is_possible():
    pair = JointFactor(Factor([B, A], [[0.5, 0.5], [0.5, 0.5], [0, 0]]), Factor([B, A], [[1, 2], [4, 3], [9, 9]]))
    left, rule = pair.maximize("A")
    assert rule.reorder(["B", "A"]).values.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert left.contract().values.tolist() == [1.0, 2.0, 0.0]


def test_a_negative_probability_and_an_infinite_utility_are_refused():
    with pytest.raises(InvalidFactor, match=r"-0\.5 at \{'A': 1\}"):
        JointFactor(Factor([A], [1.0, -0.5]))
    with pytest.raises(InvalidFactor, match="infinite"):
        JointFactor(utility=Factor([A], [1.0, np.inf]))


def figure() -> tuple[InfluenceDiagram, dict[str, np.ndarray]]:
    """A -> B -> D -> E with V1(A, E) and V2(C, E)."""
    rng = np.random.default_rng(3)
    rows = {n: rng.dirichlet([1, 1], size=n) for n in (1, 2)}
    diagram = InfluenceDiagram(
        [
            TableCPD("A", rows[1][0], states=2),
            TableCPD("B", rows[2], ["A"], states=2),
            TableCPD("C", rng.dirichlet([1, 1]), states=2),
            TableCPD("E", rng.dirichlet([1, 1], size=2), ["D"], states=2),
        ],
        [Decision("D", 2, sees=["B"])],
        [
            Utility(["A", "E"], rng.normal(size=(2, 2)), name="V1"),
            Utility(["C", "E"], rng.normal(size=(2, 2)), name="V2"),
        ],
    )
    return diagram, {"D": rng.dirichlet([1, 1], size=2)}


def test_joint_elimination_gives_the_expected_utility_in_any_order():
    diagram, rules = figure()
    strategy = diagram.strategy({"D": Factor([diagram.variables["B"], diagram.variables["D"]], rules["D"])})
    factors = joint_factors(diagram, strategy)
    expected = value_of(diagram, rules)
    for order in permutations("ABCDE"):
        result = eliminate_joint(factors, order)
        assert result.probability.sum() == pytest.approx(1.0)
        assert result.utility.sum() == pytest.approx(expected)


def test_joint_factors_keep_the_meaning_of_conditional_expectations():
    """Without D: (P(B), E[V1 + V2 | B, D]); the maximum over D of the contraction is the best rule."""
    diagram, _ = figure()
    pair = eliminate_joint(joint_factors(diagram), ["C", "A", "E"])
    assert set(pair.names) == {"B", "D"}
    table = pair.contract().reorder(["B", "D"]).values
    best = max(value_of(diagram, {"D": np.eye(2)[[first, second]]}) for first in range(2) for second in range(2))
    assert table.max(axis=1).sum() == pytest.approx(best)
    assert diagram.solve().expected_utility == pytest.approx(best)


def test_sums_of_utilities_that_are_not_divided_by_their_probability_are_wrong():
    """(Σ φ, Σ φ μ) in the place of (Σ φ, Σ φ μ / Σ φ): utilities would be weighted several times."""
    diagram, rules = figure()
    strategy = diagram.strategy({"D": Factor([diagram.variables["B"], diagram.variables["D"]], rules["D"])})
    left = [(factor.probability, factor.utility) for factor in joint_factors(diagram, strategy)]
    for name in "CAEBD":
        touching = [pair for pair in left if name in {*pair[0].names, *pair[1].names}]
        left = [pair for pair in left if name not in {*pair[0].names, *pair[1].names}]
        phi = Factor.scalar(1.0)
        mu = Factor.scalar(0.0)
        for one, two in touching:
            phi, mu = phi * one, mu + two
        left.append((phi.marginalize(name), (phi * mu).marginalize(name)))
    assert sum(mu.sum() for _, mu in left) != pytest.approx(value_of(diagram, rules))


@pytest.mark.parametrize("seed", range(15))
def test_joint_elimination_equals_the_joint_on_random_diagrams(seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=3, num_decisions=2, num_utilities=3)
    strategy = diagram.uniform_strategy()
    result = eliminate_joint(joint_factors(diagram, strategy), rng.permutation(list(diagram.variables)).tolist())
    assert result.utility.sum() == pytest.approx(value_of(diagram, {n: r.values for n, r in strategy.items()}))
