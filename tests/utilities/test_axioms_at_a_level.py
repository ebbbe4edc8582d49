"""The axioms for oracles that subtract: what floats lose of the level of utilities is no irrationality."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.utilities.elicitation.respondents import PrelecWeighting, rank_dependent_utility
from plausible.utilities.lotteries.axioms import check_axioms
from plausible.utilities.lotteries.indifference import utility_from_preferences
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.preferences import PreferenceRelation

LEVELS = [0.0, 1e2, -1e3, 1e4, 1e6, 1e8]


def summed(lottery, utility):
    """Expected utility as somebody writes it, adding up in floats."""
    total = 0.0
    for outcome, chance in lottery.items():
        total += chance * (summed(outcome, utility) if isinstance(outcome, Lottery) else utility[outcome])
    return total


def test_a_mean_at_a_thousand_is_rational():
    """The differences are tenths, their rounding is 1e-13."""
    report = check_axioms(lambda a, b: a.expectation() - b.expectation(), [1000.1, 1000.2, 1000.4])
    assert report.violated == ()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("spread", [1.0, pytest.param(1e-3, marks=pytest.mark.slow), 1e-6])
def test_nobody_who_maximises_expected_utility_is_accused(level, spread):
    """At any level, also where all that can be told of utilities is little more than rounding."""
    rng = np.random.default_rng(int(abs(level)) + 1)
    for evaluate in (Lottery.expected_utility, summed):
        utility = dict(zip("abc", (level + spread * rng.normal(size=3)).tolist(), strict=True))
        report = check_axioms(
            lambda a, b, utility=utility, evaluate=evaluate: evaluate(a, utility) - evaluate(b, utility),
            [*utility, {"a": 0.3, "b": 0.7}],
        )
        assert report.is_rational, str(report)


#: Somebody who breaks one axiom, for utilities of a, b and c at a level, and which.
def likes_stages(level):
    utility = {"a": level + 2, "b": level + 1, "c": level}
    return lambda x: x.expected_utility(utility) + 0.01 * x.is_compound


def likes_certainty(level):
    utility = {"a": level + 1, "b": level + 0.5, "c": level}
    return lambda x: x.expected_utility(utility) + 0.2 * (len(x.flatten().support) == 1)


def weighs_chances(level):
    utility = {"a": level + 12, "b": level + 10, "c": level}
    return lambda x: rank_dependent_utility(x, utility, PrelecWeighting(0.5))


def forgets_small_chances(level):
    utility = {"a": level + 2, "b": level + 1, "c": level}

    def worth(lottery):
        kept = {o: p for o, p in lottery.final_probabilities().items() if p > 0.2}
        return sum(p * utility[o] for o, p in kept.items()) / sum(kept.values())

    return worth


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("person", "axiom"),
    [
        (likes_stages, "decomposability"),
        (likes_certainty, "monotonicity"),
        (weighs_chances, "substitutability"),
        (forgets_small_chances, "monotonicity"),
    ],
)
def test_who_breaks_an_axiom_is_found_at_any_level(person, axiom, level):
    """Their violations are no rounding."""
    worth = person(level)
    assert axiom in check_axioms(lambda a, b: worth(a) - worth(b), "abc").violated


def test_circles_are_found_in_fractions_and_in_statements():
    """Each is better than the next by a tenth."""
    place = {"a": 0, "b": 1, "c": 2}

    def circular(first, second):
        (one,), (other,) = first.flatten().support, second.flatten().support
        return ((place[other] - place[one] + 1) % 3 - 1) * 0.1

    said = PreferenceRelation(circular)
    assert {said.compare("a", "b"), said.compare("b", "c"), said.compare("c", "a")} == {1}
    signs = [(x, ">", y) for x, y in ("ab", "bc", "ca")]
    assert check_axioms(signs).violated == ("transitivity",)


@pytest.mark.parametrize("level", LEVELS)
def test_utilities_are_found_at_any_level(level):
    """Up to the rounding of the level."""
    utility = {"a": level, "b": level + 0.3, "c": level + 1.0}
    found = utility_from_preferences(lambda a, b: summed(a, utility) - summed(b, utility), "abc").utility
    assert found["b"] == pytest.approx(0.3, abs=2e-6 + 1e-12 * abs(level))


def test_with_no_tolerance_every_answer_counts():
    asked = PreferenceRelation(lambda a, b: a.expectation() - b.expectation(), tolerance=0.0)
    assert asked.compare(1000.0, np.nextafter(1000.0, 0)) == 1
    assert PreferenceRelation(asked.oracle).compare(1000.0, float(np.nextafter(1000.0, 0))) == 0
