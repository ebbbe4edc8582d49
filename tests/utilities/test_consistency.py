"""Whether choices agree with any utility function."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from plausible.errors import InvalidArgument
from plausible.utilities import Lottery, choice_consistency
from plausible.utilities.lotteries.consistency import exact_chances, maximize_last
from refusals import refuses

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
    refuses(InvalidArgument, "No choice", choice_consistency, [])


def exactly_holds(statement, utility):
    """Whether EU(first) > EU(second) in exact arithmetic on decimals."""
    first, _, second = statement
    gap = sum(Fraction(str(p)) * Fraction(utility[o]) for o, p in first.items())
    return gap > sum(Fraction(str(p)) * Fraction(utility[o]) for o, p in second.items())


@pytest.mark.parametrize("risk", [1e-6, 1e-12])
def test_small_stakes_against_a_tiny_risk_of_death_are_consistent(risk):
    """Twenty dollars for a micromort: U falls by risk / 21 with each dollar."""
    steps = ["ok", *(f"-${k}" for k in range(1, 21))]
    dollars = [(Lottery.certain(a), ">", Lottery.certain(b)) for a, b in pairwise(steps)]
    statements = [*dollars, (Lottery.certain("-$20"), ">", Lottery({"dead": risk, "ok": 1 - risk}))]
    report = choice_consistency(statements)
    assert report.is_consistent
    assert report.margin == pytest.approx(risk / 21)
    assert all(exactly_holds(statement, report.utility) for statement in statements)
    reverse = choice_consistency([*statements, ("dead", ">", "-$20")])
    assert not reverse.is_consistent


@pytest.mark.parametrize("chance", [1e-3, 1e-7, 1e-12, 1e-16])
def test_a_tiny_chance_of_the_worse_is_never_better(chance):
    """[a: p; b: 1 - p] > b and b > a contradict each other however small p is, with weights 1 and p."""
    mixed = Lottery({"a": chance, "b": 1 - chance})
    report = choice_consistency([(mixed, ">", "b"), ("b", ">", "a")])
    assert not report.is_consistent
    assert report.weights == pytest.approx((1.0, chance))
    assert choice_consistency([("a", ">", "b"), ("b", ">", "c"), ({"a": 1e-7, "c": 1 - 1e-7}, ">", "b")]).is_consistent


def near(values):
    return Lottery(dict(zip("abcde", (np.array(values) / np.sum(values)).tolist(), strict=True)))


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9])
def test_opposite_steps_from_one_lottery_contradict_each_other(share):
    """base + d > base and base - d > base, though rounding makes the steps not quite opposite."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        base, step = rng.dirichlet(np.ones(5)), rng.normal(size=5)
        step -= step.mean()
        step *= share * base.min() / np.abs(step).max()
        up, down = (near(base + step), ">", near(base)), (near(base - step), ">", near(base))
        assert not choice_consistency([up, down]).is_consistent
        assert choice_consistency([up]).is_consistent


def test_rounding_makes_indifference_no_contradiction():
    """Three calculated lotteries as good as each other force nothing but what two of them do."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        base, step = rng.dirichlet(np.ones(3)), rng.normal(size=3)
        step -= step.mean()
        step *= base.min() / np.abs(step).max() / 2
        lotteries = [Lottery(dict(zip("abc", (base + f * step).tolist(), strict=True))) for f in (0, 0.3, -0.7)]
        statements = [(lotteries[1], "~", lotteries[0]), (lotteries[2], "~", lotteries[0])]
        order = np.argsort(step)
        assert choice_consistency([*statements, ("abc"[order[2]], ">", "abc"[order[1]])]).is_consistent


def test_probabilities_are_read_as_they_were_meant():
    """A third is a third, and what was calculated keeps its doubt."""
    thirds, _ = exact_chances(Lottery({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}))
    assert set(thirds.values()) == {Fraction(1, 3)}
    assert exact_chances(Lottery({"a": 0.1 + 0.2, "b": 0.7}))[0]["a"] == Fraction(3, 10)
    assert exact_chances(Lottery({"a": 0.3333333333, "b": 0.3333333333, "c": 0.3333333333}))[0]["b"] == Fraction(1, 3)
    vague, rounding = exact_chances(near([np.pi, np.e, 1, 1, 1]))
    assert sum(vague.values()) == 1
    assert 0 < rounding < 1e-14


def test_exact_programs_agree_with_floats_and_are_certified():
    """The optimum is that of HiGHS; the point is allowed, and the weights bound it from above (duality)."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        count, size = rng.integers(1, 8), rng.integers(1, 6)
        rows = np.vstack([rng.integers(-4, 5, (count, size)), np.eye(size, dtype=int)])
        limits = np.concatenate([rng.integers(0, 4, count), np.ones(size, dtype=int)])
        found = maximize_last(
            [[Fraction(v, 3) for v in row] for row in rows.tolist()], list(map(Fraction, limits.tolist()))
        )
        point, weights = (np.array(list(map(float, each))) for each in found)
        floats = linprog(-np.eye(size)[-1], A_ub=rows / 3, b_ub=limits)
        assert point[-1] == pytest.approx(-floats.fun, abs=1e-9)
        assert (rows / 3 @ point <= limits + 1e-12).all()
        assert (point >= 0).all()
        assert (weights >= 0).all()
        assert weights @ limits == pytest.approx(point[-1], abs=1e-9)
        assert (weights @ rows / 3 >= np.eye(size)[-1] - 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_many_choices_are_decided_by_few(seed):
    """A hundred choices of one utility agree with it, and one turned round contradicts the rest."""
    rng = np.random.default_rng(seed)
    utility = dict(zip("abcd", rng.normal(size=4).tolist(), strict=True))
    statements = [said for said in random_statements(rng, 100, utility) if said[1] != "~"]
    report = choice_consistency(statements)
    assert all(holds(statement, report.utility) for statement in statements)
    first, sign, second = statements[0]
    turned = choice_consistency([*statements, (second, sign, first)])
    assert not turned.is_consistent
    assert len(turned.contradiction) <= 5
