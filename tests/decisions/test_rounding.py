"""Answers do not depend on the units of utility."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from decision_examples import exam_chain
from plausible.decisions import choose_observations, rank_observations, stable_interval, utility_tornado
from plausible.decisions.solving import solve as solve_module
from plausible.utilities import ExponentialCurve, Lottery, assess_risk, certainty_equivalent


def _guess(scale: float, shift: float = 0.0) -> pb.InfluenceDiagram:
    table = np.array([[1.0, 0.0], [0.0, 2.0]]) * scale + shift
    rain = pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"])
    return pb.InfluenceDiagram([rain], [pb.Decision("guess", ["no", "yes"])], [pb.Utility(["rain", "guess"], table)])


@pytest.mark.parametrize("scale", [1e-30, 1e-11, 1.0, 1e9])
def test_information_that_changes_an_action_has_its_value_in_any_units(scale: float) -> None:
    """Blind: 0.7; seeing: 0.7 + 0.6."""
    diagram = _guess(scale)
    value = diagram.value_of_information("rain")
    assert value.value == pytest.approx(0.6 * scale)
    assert [change.seen["rain"] for change in value.changes] == ["yes"]
    assert rank_observations(diagram).values[0].value == pytest.approx(0.6 * scale)
    assert choose_observations(diagram).best.variables == ("rain",)
    assert stable_interval(diagram, ("rain", "no")).low == pytest.approx(2 / 3)
    assert utility_tornado(diagram, 0.3).bars[0].changes_strategy


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-10, 0.0), (1.0, 1e9)])
def test_a_gap_is_no_proof_in_any_units(scale: float, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_module, "_NUM_POLICIES", 1)
    diagram = exam_chain(12, np.random.default_rng(0))
    for name, factor in diagram.utility_factors.items():
        diagram = diagram.with_utility(pb.Utility(factor.scope, factor.values * scale + shift, name))
    assert diagram.solve().is_optimal
    solution = diagram.solve(method="local", restarts=0)
    assert solution.gap > 1e-4 * scale
    assert not solution.is_optimal


def test_actions_that_break_even_are_as_good() -> None:
    """0.1 * 7 = 0.7 * 1, but not in floats."""
    chance = pb.TableCPD("x", [0.1, 0.2, 0.7])
    utility = pb.Utility(["x", "go"], [[7, 0], [0, 0], [-1, 0]])
    diagram = pb.InfluenceDiagram([chance], [pb.Decision("go", ["yes", "no"])], [utility])
    for method in ("auto", "elimination", "enumeration"):
        solution = diagram.solve(method=method)
        assert solution.has_ties
        assert solution.policies["go"].is_best.tolist() == [[True, True]]


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, -1e6])
def test_constant_aversion_moves_the_certainty_equivalent_with_the_amounts(offset: float) -> None:
    curve, coin = ExponentialCurve(1 / 500), Lottery({offset: 0.5, offset + 1000: 0.5})
    exact = offset - 500 * np.log((1 + np.exp(-2)) / 2)
    assert certainty_equivalent(curve, coin) == pytest.approx(exact, abs=1e-6)
    assert certainty_equivalent(curve, Lottery({offset: 1})) == pytest.approx(offset)


def test_what_is_owned_does_not_matter_to_constant_aversion() -> None:
    curve, coin = ExponentialCurve(-1 / 500), Lottery({0: 0.5, 1000: 0.5})
    assert certainty_equivalent(curve, coin, wealth=2e4) == pytest.approx(certainty_equivalent(curve, coin))
    assert assess_risk(curve, coin).premium < 0


def test_a_function_is_no_curve() -> None:
    with pytest.raises(pb.errors.InvalidArgument, match="FunctionCurve"):
        certainty_equivalent(lambda amount: amount, Lottery({1: 1}))


@pytest.mark.parametrize(("low", "high"), [(1e10, 1e10 + 0.05), (1e6, 1e6 + 5e-6), (0.0, 5e-10), (1e6, 1e6 + 5e-4)])
@pytest.mark.parametrize("method", ["auto", "local", "elimination", "arc-reversal", "network", "enumeration"])
def test_the_better_action_is_found_as_far_as_floats_tell_it(low: float, high: float, method: str) -> None:
    """A large constant hides no more of a difference than floats lose, and small units hide none."""
    diagram = pb.InfluenceDiagram([], [pb.Decision("D", 2)], [pb.Utility("D", [low, high])])
    solution = diagram.solve(method=method)
    assert solution.strategy.action("D") == 1
    assert solution.is_optimal
    assert not solution.has_ties
    assert not diagram.local_optimality_test({"D": 0})


def test_small_differences_of_many_decisions_are_not_lost() -> None:
    names = [f"D{i}" for i in range(300)]
    parts = [pb.Utility(name, [1, 1 + 5e-9]) for name in names]
    solution = pb.InfluenceDiagram([], [pb.Decision(name, 2) for name in names], parts).solve()
    assert solution.expected_utility - 300 == pytest.approx(300 * 5e-9, rel=1e-3)


def test_what_no_decision_touches_hides_nothing() -> None:
    """A part of the utility with a range of 1e9 beside one of 0.15."""
    chance = [pb.TableCPD("x", [0.5, 0.5]), pb.TableCPD("y", [0.5, 0.5])]
    big = pb.Utility("y", [0, 1e9], name="big")
    small = pb.Utility(["x", "D"], [[0, 0.05], [0, -0.1]], name="small")
    diagram = pb.InfluenceDiagram(chance, [pb.Decision("D", 2)], [big, small])
    value = diagram.value_of_information("x")
    assert value.value == pytest.approx(0.025, rel=1e-4)
    assert len(value.changes) == 1
    assert not diagram.solve().has_ties
    pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
    team = pb.InfluenceDiagram(chance, pair, [big, pb.Utility(["D", "E"], [[0.01, 0], [0, 0.02]])])
    stuck = team.solve(method="local", restarts=0)
    assert stuck.is_optimal == (stuck.strategy.action("D") == 1)


def test_a_rare_disaster_is_not_rounded_away() -> None:
    chance = pb.TableCPD("x", [1 - 1e-12, 1e-12])
    utility = pb.Utility(["x", "D"], [[0, -1], [-2e12, 0]])
    diagram = pb.InfluenceDiagram([chance], [pb.Decision("D", 2)], [utility])
    assert not diagram.solve().has_ties
    assert diagram.value_of_information("x").value == pytest.approx(1.0, rel=1e-3)
