"""Whether choices agree with any utility function."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from plausible.decisions.lotteries.consistency import choice_consistency
from plausible.decisions.lotteries.lottery import Lottery
from plausible.errors import InvalidArgument

A, B = Lottery({"4M": 0.2, "0": 0.8}), Lottery({"3M": 0.25, "0": 0.75})
C, D = Lottery.certain("3M"), Lottery({"4M": 0.8, "0": 0.2})


def holds(statement, utility, tolerance=1e-9):
    """Whether a utility agrees with (first, sign, second)."""
    first, sign, second = statement
    gap = first.expected_utility(utility) - second.expected_utility(utility)
    return {">": gap > tolerance, "<": gap < -tolerance, "~": abs(gap) <= 1e-6, ">=": gap >= -1e-6}[sign]


def test_allais_choices_contradict_each_other():
    """{C > D, A > B} has no utility; each alone and {C > D, B > A} do (W7)."""
    report = choice_consistency([(C, ">", D), (A, ">", B)])
    assert not report.is_consistent
    assert len(report.contradiction) == 2
    assert report.weights == pytest.approx((0.25, 1.0))
    for possible in ([(C, ">", D)], [(A, ">", B)], [(C, ">", D), (B, ">", A)]):
        found = choice_consistency(possible)
        assert found.is_consistent
        assert all(holds(statement, found.utility) for statement in possible)
    assert holds((C, ">", D), {"0": 0, "3M": 10, "4M": 12})
    assert holds((B, ">", A), {"0": 0, "3M": 10, "4M": 12})


def test_contradiction_leaves_out_the_innocent():
    """Other statements are not in it, wherever they stand."""
    others = [("4M", ">", "3M"), ("3M", ">", "0"), (Lottery({"x": 0.5, "y": 0.5}), "~", "z")]
    report = choice_consistency([others[0], (C, ">", D), others[1], (A, ">", B), others[2]])
    assert {(said.first, said.second) for said in report.contradiction} == {(C, D), (A, B)}
    assert "0.25 x" in str(report)


def test_cycles_are_contradictions():
    """a > b > c > a, all three; with ~ in place of one > as well."""
    assert len(choice_consistency([("a", ">", "b"), ("b", ">", "c"), ("c", ">", "a")]).contradiction) == 3
    assert len(choice_consistency([("a", ">", "b"), ("b", "~", "c"), ("c", ">=", "a")]).contradiction) == 3
    assert choice_consistency([("a", ">=", "b"), ("b", "~", "c"), ("c", ">=", "a")]).is_consistent
    assert len(choice_consistency([("a", ">", "a"), ("a", ">", "b")]).contradiction) == 1


def random_lottery(rng):
    return Lottery({o: n / 8 for o, n in zip("abcd", rng.multinomial(8, [0.25] * 4).tolist(), strict=True)})


def random_statements(rng, size, utility=None):
    """Choices between random lotteries: of somebody with a utility, else at random and strict."""
    statements = []
    for _ in range(size):
        pair = random_lottery(rng), random_lottery(rng)
        gap = rng.normal() if utility is None else pair[0].expected_utility(utility) - pair[1].expected_utility(utility)
        statements.append((pair[0], "~" if abs(gap) < 1e-12 else (">" if gap > 0 else "<"), pair[1]))
    return statements


@pytest.mark.parametrize("seed", range(10))
def test_choices_made_from_a_utility_are_consistent(seed):
    """And the utility found agrees with all of them."""
    rng = np.random.default_rng(seed)
    utility = dict(zip("abcd", rng.integers(0, 9, 4).astype(float).tolist(), strict=True))
    statements = random_statements(rng, 25, utility)
    report = choice_consistency(statements)
    assert report.is_consistent
    assert all(holds(statement, report.utility) for statement in statements)
    assert min(report.utility.values()) == 0
    assert max(report.utility.values()) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(15))
def test_contradictions_are_minimal_and_certified(seed):
    """The weighted sides are the same lottery, and without any one statement the rest is possible."""
    report = choice_consistency(random_statements(np.random.default_rng(100 + seed), 12))
    assert not report.is_consistent
    gaps = np.array([[said.first[o] - said.second[o] for o in "abcd"] for said in report.contradiction])
    assert min(report.weights) > 0
    assert np.array(report.weights) @ gaps == pytest.approx(np.zeros(4), abs=1e-7)
    for without in combinations(report.contradiction, len(report.contradiction) - 1):
        assert not without or choice_consistency(without).is_consistent


def test_tiny_probabilities_count():
    """One micromort against two is a clear choice, and the reverse contradicts that death is worse."""
    one, two = Lottery({"dead": 1e-6, "well": 1 - 1e-6}), Lottery({"dead": 2e-6, "well": 1 - 2e-6})
    assert choice_consistency([(one, ">", two), ("well", ">", "dead")]).is_consistent
    assert not choice_consistency([(two, ">", one), ("well", ">", "dead")]).is_consistent


def test_nothing_stated_is_refused():
    """An empty list is a mistake."""
    with pytest.raises(InvalidArgument, match="No choice"):
        choice_consistency([])
