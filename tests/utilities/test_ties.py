"""Which actions tie: what scales with utilities, and what floats lose."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.outcome_utilities import affine_map, rescaled_utility
from plausible.utilities.lotteries.regret import minimax_regret
from plausible.utilities.lotteries.risk import stochastic_dominance
from plausible.utilities.lotteries.situation import DecisionSituation


def test_small_differences_at_a_high_level_decide():
    """Of 0.0009 at a million, of 5 at ten thousand millions."""
    utility = {"w": 1e6, "b": 1e6 + 0.0009}
    assert DecisionSituation({"worse": "w", "better": "b"}, utility).rank().best == ("better",)
    assert minimax_regret({"worse": {0: 1e10}, "better": {0: 1e10 + 5}}).best == ("better",)


@pytest.mark.parametrize("level", [0.0, -1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("unit", [1e-2, 1.0, 1e5])
def test_best_actions_do_not_depend_on_level_and_unit(level, unit):
    """Against sums in fractions, with exact ties and differences of a thousandth among them."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        numbers = rng.integers(0, 50, 4)
        values = [level + unit * int(number) / 50 for number in numbers]
        weights = rng.integers(0, 5, (4, 4)) + np.eye(4, dtype=int)
        actions = {
            i: Lottery(dict(zip("abcd", (row / row.sum()).tolist(), strict=True))) for i, row in enumerate(weights)
        }
        exact = [
            sum(Fraction(int(w) * int(n), int(row.sum())) for w, n in zip(row, numbers, strict=True)) for row in weights
        ]
        found = DecisionSituation(actions, dict(zip("abcd", values, strict=True))).rank()
        assert found.best == tuple(i for i in range(4) if exact[i] == max(exact))


def test_utilities_at_the_ends_of_floats_are_rescaled():
    """Their range is beyond floats, their shares are not."""
    assert rescaled_utility({"a": 1e308, "b": -1e308, "c": 0.0}) == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert rescaled_utility({"a": 1.0, "b": 0.0}, low=-1e308, high=1e308) == {"a": 1e308, "b": -1e308}
    assert affine_map({"a": 1e308, "b": -1e308}, {"a": 1.0, "b": 0.0})(1e308) == pytest.approx(1.0)
    situation = DecisionSituation({"x": "a", "y": "b"}, {"a": 1e308, "b": -1e308})
    assert situation.rank().best == ("x",)


@pytest.mark.parametrize("level", [1e3, 1e6, 1e9])
def test_equivalent_utilities_are_found_at_any_level(level):
    """Floats lose digits of the level, which is no reason to see another person."""
    source = {"a": level, "b": level + 0.125, "c": level + 1.0}
    assert affine_map(source, {"a": 0.0, "b": 0.125, "c": 1.0}) is not None
    assert affine_map(source, {"a": 0.0, "b": 0.25, "c": 1.0}) is None


def test_outcomes_that_can_not_happen_need_no_amount():
    """Neither for dominance nor for a ranking."""
    assert stochastic_dominance({"x": 0.0, 10: 1.0}, {5: 1.0}).better == "first"
    assert DecisionSituation({"a": {"x": 0.0, 1: 1.0}}, {1: 2.0}).rank().expected_utility == 2.0


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-9])
def test_what_floats_lose_neither_orders_actions_nor_is_printed(unit):
    """Three actions worth 0.3 whose last digits differ: as they were listed, none short of the best."""
    worths = [0.3 * unit, (0.1 + 0.2) * unit, 0.3 * unit * (1 - 2**-52)]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        actions = {f"a{place}": f"o{place}" for place in order} | {"none": "nothing"}
        ranking = DecisionSituation(
            actions, {f"o{i}": worth for i, worth in enumerate(worths)} | {"nothing": 0.0}
        ).rank()
        assert list(ranking.expected_utilities) == list(actions)
        assert ranking.action == f"a{order[0]}"
        assert [line.split("|")[-1].strip() for line in str(ranking).splitlines()[2:5]] == ["0"] * 3
