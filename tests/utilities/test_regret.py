"""Regret: minimax, and preferences that mind it; which actions tie, and what floats lose."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from plausible.errors import InvalidArgument
from plausible.utilities import DecisionSituation, Lottery, minimax_regret, minimax_utility_regret, regret_preferences
from plausible.utilities.lotteries.outcome_utilities import affine_map, rescaled_utility
from plausible.utilities.lotteries.risk import stochastic_dominance
from refusals import refuses


def payoffs(table):
    return {f"a{i}": {f"s{j}": value for j, value in enumerate(row)} for i, row in enumerate(table.tolist())}


@pytest.mark.parametrize("seed", range(8))
def test_minimax_regret_equals_enumeration(seed):
    """The action of least greatest shortfall; mixing never does worse, and no mixture of a grid does better."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-5, 6, (3, 4)).astype(float)
    found = minimax_regret(payoffs(table), may_mix=True)
    direct = [max(table[:, s].max() - table[a, s] for s in range(4)) for a in range(3)]
    assert list(found.greatest_regret.values()) == direct
    assert found.action == f"a{int(np.argmin(direct))}"
    assert found.mixed_regret <= min(direct) + 1e-9
    regrets = table.max(axis=0) - table
    np.testing.assert_array_equal(found.regrets, regrets)
    grid = [np.array(w) / 12 for w in np.ndindex(13, 13, 13) if sum(w) == 12]
    assert found.mixed_regret <= min((w @ regrets).max() for w in grid) + 1e-9
    weights = np.array(list(found.weights.values()))
    assert weights.sum() == pytest.approx(1)
    assert (weights @ regrets).max() == pytest.approx(found.mixed_regret)


@pytest.mark.parametrize("seed", range(8))
def test_ties_of_least_regret_are_all_told(seed):
    """Every action whose greatest regret is least, whatever the order of the actions; none if it is one."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (4, 3)) / 10
    for order in permutations(range(4)):
        found = minimax_regret({f"a{i}": payoffs(table)[f"a{i}"] for i in order})
        greatest = (table.max(axis=0) - table).max(axis=1)
        least = {f"a{i}" for i in range(4) if abs(greatest[i] - greatest.min()) < 1e-9}
        assert set(found.best) == least
        assert found.ties == (found.best if len(least) > 1 else ())
        assert found.action == found.best[0]
        assert ("as good as each other" in str(found)) == (len(least) > 1)


def test_minimax_differs_from_expected_utility():
    """Founding has the least regret for the entrepreneur; a dominated action never wins."""
    stakes = {"found": {"poor": -7, "great": 20}, "skip": {"poor": 0, "great": 0}, "burn": {"poor": -9, "great": -9}}
    assert minimax_regret(stakes).action == "found"
    assert "greatest" in str(minimax_regret(stakes))


def test_regret_over_utility_functions():
    """The action that is never far from the best under any of the tastes."""
    situation = DecisionSituation({"x": "a", "y": "b", "mix": Lottery({"a": 0.5, "b": 0.5})}, {})
    found = minimax_utility_regret(situation, [{"a": 1, "b": 0}, {"a": 0, "b": 1}])
    assert found.action == "mix"
    assert dict(found.greatest_regret) == {"x": 1, "y": 1, "mix": 0.5}


@pytest.mark.parametrize("seed", range(8))
def test_linear_weights_give_expected_utility(seed):
    """Then advantages are differences of EU and nothing goes in a circle."""
    rng = np.random.default_rng(seed)
    table, chances = rng.normal(size=(4, 3)), rng.dirichlet(np.ones(3))
    found = regret_preferences(payoffs(table), dict(zip(["s0", "s1", "s2"], chances, strict=True)), weight=abs)
    values = table @ chances
    assert found.advantages == pytest.approx(values[:, None] - values[None, :])
    assert found.cycles == ()
    assert found.undominated == (f"a{int(values.argmax())}",)


def test_regret_explains_tickets_and_insurance():
    """The same person buys an unfair ticket and an unfair insurance; expected utility refuses both."""
    ticket = {"buy": {"rare": 999.0, "usual": -1.0}, "none": {"rare": 0.0, "usual": 0.0}}
    insurance = {"insure": {"rare": -1.0, "usual": -1.0}, "none": {"rare": -999.0, "usual": 0.0}}
    chances = {"rare": 0.0008, "usual": 0.9992}
    for stakes, bought in ((ticket, "buy"), (insurance, "insure")):
        assert regret_preferences(stakes, chances).undominated == (bought,)
        assert regret_preferences(stakes, chances, weight=abs).undominated == ("none",)


def test_regret_may_go_in_circles():
    """Rotated payoffs: every action is beaten by the next, so none is undominated."""
    table = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]])
    found = regret_preferences(payoffs(table), {"s0": 1 / 3, "s1": 1 / 3, "s2": 1 / 3})
    assert len(found.cycles) == 1
    assert found.undominated == ()
    assert any(found.cycles[0] == order for order in permutations(["a0", "a1", "a2"]))
    assert "cycle" in str(found)
    assert found.advantages == pytest.approx(-found.advantages.T)


def test_incomplete_payoffs_are_refused():
    """Each action needs each state, and the states their probabilities."""
    refuses(InvalidArgument, "'b'", minimax_regret, {"a": {"s": 1}, "b": {"t": 1}})
    refuses(InvalidArgument, "actions and states", minimax_regret, {})
    refuses(InvalidArgument, "sum to", regret_preferences, {"a": {"s": 1, "t": 2}}, {"s": 0.5, "t": 0.1})


@pytest.mark.parametrize("unit", [1e-13, 1.0, 1e10])
def test_regret_preferences_do_not_depend_on_the_units(unit):
    """The same circle, and the same undominated actions, in tiny and huge units."""
    dice = {"red": {1: 3, 2: 1, 3: 2}, "green": {1: 2, 2: 3, 3: 1}, "blue": {1: 1, 2: 2, 3: 3}}
    scaled = {action: {state: unit * value for state, value in row.items()} for action, row in dice.items()}
    chances = {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
    found = regret_preferences(scaled, chances, weight=lambda difference: difference**0.5)
    assert len(found.cycles) == 1
    assert found.undominated == ()
    assert regret_preferences(scaled, chances, weight=abs).undominated == ("red", "green", "blue")


@pytest.mark.parametrize("seed", range(4))
def test_frames_arrays_and_rows_are_payoffs(seed):
    """The same answers as for dicts; actions and states without names are counted."""
    rng = np.random.default_rng(seed)
    table, chances = rng.integers(-5, 6, (3, 2)).astype(float), [0.25, 0.75]
    named = payoffs(table)
    frame = pd.DataFrame(table, index=list(named), columns=["s0", "s1"])
    counted = {i: dict(enumerate(row)) for i, row in enumerate(table.tolist())}
    for given, same in ((frame, named), (table, counted), (table.tolist(), counted)):
        assert minimax_regret(given).greatest_regret == minimax_regret(same).greatest_regret
        assert minimax_regret(given).best == minimax_regret(same).best
        states = list(next(iter(same.values())))
        told = regret_preferences(same, dict(zip(states, chances, strict=True)))
        for likely in (chances, np.array(chances), pd.Series(chances, index=states)):
            found = regret_preferences(given, likely)
            assert found.actions == told.actions
            assert (found.advantages == told.advantages).all()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([[1, 2], [3]], "2 states in row 0 and 1 in row 1"),
        ([1, 2], "write {action: {state: utility}}"),
        (7, "write {action: {state: utility}}"),
        ("text", "write {action: {state: utility}}"),
        ([], "no actions and states"),
        ({"a": [1, 2]}, "'a' has .1, 2. for its payoffs: write {action"),
        ([[1, "two"], [3, 4]], "action 0 brings 'two' in the state 1"),
        ({"a": {"s": np.nan}}, "'a' brings nan in the state 's'"),
        (pd.DataFrame([[1, 2]], columns=[0, 0]), "state 0 stands twice"),
    ],
    ids=str,
)
def test_what_are_no_payoffs_is_refused_with_the_form_wanted(given, problem):
    for ask in (minimax_regret, lambda table: regret_preferences(table, [0.5, 0.5])):
        refuses(InvalidArgument, problem, ask, given)


@pytest.mark.parametrize("chances", [[0.5], 3, {"s": 1.0}, ["x", 0.5], "ab"], ids=str)
def test_what_are_no_chances_of_the_states_is_refused(chances):
    refuses(InvalidArgument, "state", regret_preferences, [[1, 2], [3, 4]], chances)


def test_the_mixture_and_its_regret_are_printed():
    """Matching pennies: half of each halves the regret; actions without a part are left out."""
    stakes = {"heads": {"h": 1, "t": 0}, "tails": {"h": 0, "t": 1}, "burn": {"h": -3, "t": -3}}
    assert "at random, greatest regret 0.5: [heads: 0.5; tails: 0.5]" in str(minimax_regret(stakes, may_mix=True))
    assert "at random" not in str(minimax_regret(stakes))


@pytest.mark.parametrize("level", [0.0, 1e3, -1e6, 1e8])
@pytest.mark.parametrize("unit", [1e-2, 1.0, 1e3])
def test_a_constant_added_to_utilities_changes_no_tie(unit, level):
    """Utilities are unique up to a positive affine map; at 1e8 and units of 1e-2 floats still tell a tenth of these."""
    table = np.array([[5.0, 0.0], [0.0, 5.1], [0.0, 5.0], [-0.1, 5.1]])
    found = minimax_regret(level + unit * table)
    assert found.best == (1, 2)
    even = regret_preferences(level + unit * np.array([[1.0, 2, 3], [3.0, 1, 2]]), [1 / 3] * 3, weight=abs)
    assert even.undominated == (0, 1)
    better = regret_preferences(level + unit * np.array([[1.0, 2, 3], [3.0, 1, 2.1]]), [1 / 3] * 3, weight=abs)
    assert better.undominated == (1,)


def test_regrets_that_differ_by_rounding_alone_are_ties():
    """1 - 0.7 is 0.3, though not in floats."""
    assert minimax_regret({"a": {"s": 1.0, "t": 0.0}, "b": {"s": 0.7, "t": 0.3}}).best == ("a", "b")


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0, 1e12])
def test_mixtures_do_not_hang_on_the_unit(unit):
    """Regrets (0, 1) and (3, 0): the first with probability 3/4 makes both 3/4."""
    found = minimax_regret({"a": {"s": 3 * unit, "t": 0}, "b": {"s": 0, "t": unit}}, may_mix=True)
    assert found.mixed_regret == pytest.approx(0.75 * unit)
    assert dict(found.weights) == pytest.approx({"a": 0.75, "b": 0.25})


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
