"""Preferences, the axioms of rationality, and utilities made from preferences; what floats lose is no irrationality."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.utilities.elicitation.questions import (
    PrelecWeighting,
    TverskyKahnemanWeighting,
    rank_dependent_utility,
)
from plausible.utilities.lotteries.axioms import check_axioms, preference_cycles
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.preferences import (
    PreferenceRelation,
    indifference_probability,
    utility_from_preferences,
)
from refusals import refuses
from seeds import few_of


def random_utilities(rng, size):
    return dict(zip("abcdefgh"[:size], rng.normal(size=size).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_maximisers_of_expected_utility_break_no_axiom(seed):
    """All six hold on lotteries, nested ones too, and every axiom is checked."""
    rng = np.random.default_rng(seed)
    utility = random_utilities(rng, 4)
    items = [*utility, Lottery({"a": 0.3, "b": 0.7}), Lottery({"c": 0.5, Lottery({"a": 0.5, "d": 0.5}): 0.5})]
    report = check_axioms(PreferenceRelation.from_utility(utility), items)
    assert report.is_rational, str(report)
    assert all(number > 0 for number in report.num_checks.values())
    for found in report.indifferences:
        best, item, worst = (thing.expected_utility(utility) for thing in (found.best, found.item, found.worst))
        assert found.probability == pytest.approx((item - worst) / (best - worst), abs=1e-5)


def test_the_report_counts_each_comparison_once():
    """Of a > b > c: 3 pairs, a triple; 4 steps of chance and an equal one for each pair; mixtures with 3 items.

    Substitutes are the pairs and what is as good as b, at 3 chances; nested are the pairs with each item.
    """
    report = check_axioms(PreferenceRelation.from_utility({"a": 2, "b": 1, "c": 0}), "abc")
    counts = {"orderability": 3, "transitivity": 1, "continuity": 1}
    counts |= {"monotonicity": 3 * (4 + 1), "substitutability": (3 + 1) * 3 * 3, "decomposability": 3 * 3}
    assert report.num_checks == counts
    assert f"(checks: {', '.join(f'{axiom} {number}' for axiom, number in counts.items())})" in str(report)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_of_utility_do_not_matter(scale):
    """The same preferences in tiny and huge units, with a large offset, break nothing."""
    utility = {"a": 0.0, "b": 0.31 * scale, "c": scale, "d": -2 * scale}
    assert check_axioms(PreferenceRelation.from_utility(utility), utility).is_rational


def test_constant_utility_is_rational():
    """Indifference to everything breaks nothing."""
    assert check_axioms(PreferenceRelation.from_utility(lambda _: 1.0), "abc").is_rational


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cycles_are_found_and_shortest(size):
    """A ring of strict preferences is one cycle through all."""
    ring = [(str(i), ">", str((i + 1) % size)) for i in range(size)]
    report = check_axioms(PreferenceRelation.from_statements(ring))
    cycles = [found for found in report.violations if found.axiom == "transitivity"]
    assert len(cycles) == 1
    assert len(cycles[0].witness) == size


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_cycles_exist_just_if_no_order_agrees(seed):
    """Against all weak orders of four places."""
    rng = np.random.default_rng(seed)
    signs = {}
    for first in range(4):
        for second in range(first):
            sign = int(rng.integers(-1, 2))
            if rng.random() < 0.8:
                signs[first, second], signs[second, first] = sign, -sign
    levels = {tuple(level) for level in np.ndindex(4, 4, 4, 4)}
    agrees = any(all(np.sign(level[a] - level[b]) == sign for (a, b), sign in signs.items()) for level in levels)
    assert bool(preference_cycles(signs, 4)) != agrees


def test_indifference_in_a_cycle_counts():
    """a ~ b ~ c and a > c is no order."""
    told = PreferenceRelation.from_statements([("a", "~", "b"), ("b", "~", "c"), ("a", ">", "c")])
    assert check_axioms(told).violated == ("transitivity",)


def test_what_is_not_stated_is_not_comparable():
    """The pair is the witness."""
    told = PreferenceRelation.from_statements([("a", ">", "b"), ("b", ">", "c")])
    report = check_axioms(told)
    assert report.violated == ("orderability",)
    assert report.violations[0].witness == (Lottery.certain("a"), Lottery.certain("c"))


def test_answers_that_depend_on_the_order_of_asking_break_orderability():
    """Whoever always takes the first thing has no preference."""
    report = check_axioms(PreferenceRelation(lambda first, second: 1.0), "ab")
    assert "orderability" in report.violated
    assert "other way round" in str(report)


def lexicographic(first, second):
    """Any chance of heaven decides; expected cash only breaks ties."""
    for utility in ({"heaven": 1, "cash": 0, "none": 0}, {"heaven": 0, "cash": 1, "none": 0}):
        gap = first.expected_utility(utility) - second.expected_utility(utility)
        if abs(gap) > 1e-15:
            return gap
    return 0


def test_infinitely_better_outcomes_break_continuity():
    """No chance of the one is small enough to be as good as the other for sure; the triple is the witness."""
    report = check_axioms(PreferenceRelation(lexicographic), ["heaven", "cash", "none"])
    assert report.violated == ("continuity",)
    assert report.violations[0].witness == tuple(map(Lottery.certain, ["heaven", "cash", "none"]))
    assert "infinitely better" in report.violations[0].reason

    def hell(first, second):
        flipped = {"none": "heaven", "heaven": "none", "cash": "cash"}
        turned = [Lottery({flipped[o]: p for o, p in each.flatten().items()}) for each in (first, second)]
        return lexicographic(turned[1], turned[0])

    report = check_axioms(PreferenceRelation(hell), ["heaven", "cash", "none"])
    assert "infinitely worse" in str(report)


def test_monotonicity_is_strict_only_for_a_greater_chance():
    """T7: equal chances must be as good, which an oracle without ties for strict preferences breaks."""

    def restless(first, second):
        gap = first.expected_utility({"a": 1, "b": 0}) - second.expected_utility({"a": 1, "b": 0})
        return gap if gap else (1 if len(first.support) == 2 else 0)

    report = check_axioms(PreferenceRelation(restless), "ab")
    assert "monotonicity" in report.violated
    assert any(found.witness[0] == found.witness[1] for found in report.violations if found.axiom == "monotonicity")


def test_liking_certainty_breaks_monotonicity():
    """A bonus for sure things: a sure b may beat a small chance of the better a."""

    def timid(first, second):
        worth = [x.expected_utility({"a": 1, "b": 0}) + 0.2 * (len(x.support) == 1) for x in (first, second)]
        return worth[0] - worth[1]

    assert "monotonicity" in check_axioms(PreferenceRelation(timid), "ab").violated


def test_weighing_probabilities_breaks_substitutability():
    """The paradox of Allais is a violation of it, found between 3M for sure and a gamble on 4M."""
    utility = {"0": 0.0, "3M": 10.0, "4M": 12.0}
    weigh = PrelecWeighting(0.5)

    def compare(first, second):
        gap = rank_dependent_utility(first, utility, weigh) - rank_dependent_utility(second, utility, weigh)
        return 0.0 if abs(gap) < 1e-12 else gap

    report = check_axioms(PreferenceRelation(compare), ["3M", Lottery({"4M": 0.8, "0": 0.2}), "0"])
    assert "substitutability" in report.violated
    assert "transitivity" not in report.violated


ALLAIS = {"0": 0.0, "3M": 10.0, "4M": 12.0}


@pytest.mark.parametrize("tolerance", [1e-6, 1e-3, 0.02])
@pytest.mark.parametrize("weigh", [PrelecWeighting(0.5), TverskyKahnemanWeighting()], ids=repr)
def test_weighing_probabilities_shows_on_bare_outcomes(weigh, tolerance):
    """The gamble as good as 3M is known to a bracket only; both its ends are felt differently in mixtures."""

    def compare(first, second):
        gap = rank_dependent_utility(first, ALLAIS, weigh) - rank_dependent_utility(second, ALLAIS, weigh)
        return 0.0 if abs(gap) < 1e-12 else gap

    report = check_axioms(PreferenceRelation(compare), ALLAIS, tolerance=tolerance)
    assert report.violated == ("substitutability",)
    for found in report.violations:
        better, worse = found.witness
        assert compare(better, worse) < 0


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6, 1e-2, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_brackets_of_any_width_raise_no_false_alarm(seed, tolerance):
    """Expected utility with tiny, huge, tied and nearly equal utilities, however coarsely gambles are bracketed."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=4) * 10.0 ** rng.integers(-6, 7)
    values[seed % 4] = values[0] * (1 + 1e-7 * (seed % 2))
    utility = dict(zip("abcd", values.tolist(), strict=True))
    report = check_axioms(PreferenceRelation.from_utility(utility), [*utility, {"a": 0.3, "b": 0.7}], tolerance)
    assert report.is_rational, str(report)


def test_an_indifference_knows_its_bracket():
    """The item lies strictly between the gambles at the ends, and at the gamble where indifference is stated."""
    relation = PreferenceRelation.from_utility({"a": 0.0, "b": 0.4, "c": 1.0})
    found = indifference_probability(relation, "b", "a", "c", tolerance=0.1)
    assert relation.compare(found.gamble_at(found.low), "b") == -1
    assert relation.compare(found.gamble_at(found.high), "b") == 1
    assert found.high - found.low <= 0.1
    assert not found.is_exact
    halfway = indifference_probability(PreferenceRelation.from_utility({"a": 0, "b": 1, "c": 2}), "b", "a", "c")
    assert (halfway.low, halfway.high, halfway.is_exact, halfway.num_questions) == (0.5, 0.5, True, 1)


def test_enjoying_stages_breaks_decomposability():
    """Who likes the suspense of two draws prefers the nested form."""

    def playful(first, second):
        worth = [x.expected_utility({"a": 2, "b": 1, "c": 0}) + 0.01 * x.is_compound for x in (first, second)]
        return worth[0] - worth[1]

    report = check_axioms(PreferenceRelation(playful), "abc")
    assert report.violated == ("decomposability",)
    first, second = report.violations[0].witness
    assert first.is_close(second)


def test_stated_mixtures_are_checked():
    """Statements on nested lotteries are checked against each other."""
    nested = Lottery({Lottery({"a": 0.5, "b": 0.5}): 1.0})
    told = PreferenceRelation.from_statements([(nested, ">", nested.flatten())])
    assert "decomposability" in check_axioms(told).violated


def test_group_votes_break_transitivity():
    """Three rational voters, a majority in a circle (Condorcet)."""
    orders = ["abc", "bca", "cab"]

    def majority(first, second):
        (one,), (other,) = first.support, second.support
        return sum(np.sign(order.index(other) - order.index(one)) for order in orders)

    told = [(a, ">", b) for a, b in permutations("abc", 2) if majority(Lottery.certain(a), Lottery.certain(b)) > 0]
    assert check_axioms(PreferenceRelation.from_statements(told)).violated == ("transitivity",)


def test_standard_gambles_return_the_rescaled_utility():
    """(U + 7) / 27 for the entrepreneur: 0.259259 and 0.444444 (W2)."""
    utility = {"o0": 0, "o1": -7, "o2": 5, "o3": 20}
    found = utility_from_preferences(PreferenceRelation.from_utility(utility), utility)
    assert (found.worst, found.best) == ("o1", "o3")
    assert found.utility["o0"] == pytest.approx(0.259259, abs=2e-6)
    assert found.utility["o2"] == pytest.approx(0.444444, abs=2e-6)
    assert found.utility["o1"] == 0
    assert found.utility["o3"] == 1


@pytest.mark.parametrize("seed", range(5))
def test_constructed_utilities_order_all_lotteries(seed):
    """The order of the relation, on random nested lotteries (theorem 22.1)."""
    rng = np.random.default_rng(seed)
    utility = random_utilities(rng, 5)
    relation = PreferenceRelation.from_utility(utility)
    found = utility_from_preferences(relation, utility, tolerance=1e-9).utility
    for _ in range(40):
        flat = [Lottery(dict(zip(utility, rng.dirichlet(np.ones(5)).tolist(), strict=True))) for _ in range(3)]
        first, second = Lottery({flat[0]: 0.4, flat[1]: 0.6}), flat[2]
        gap = first.expected_utility(found) - second.expected_utility(found)
        if abs(gap) > 1e-6:
            assert relation.compare(first, second) == np.sign(gap)


def test_construction_handles_ties_and_single_outcomes():
    """Outcomes as good as an anchor get its utility."""
    relation = PreferenceRelation.from_utility({"a": 1, "b": 1, "c": 0, "d": 0})
    assert dict(utility_from_preferences(relation, "abcd").utility) == {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
    assert dict(utility_from_preferences(relation, "a").utility) == {"a": 0.0}
    assert dict(utility_from_preferences(relation, "ab").utility) == {"a": 0.0, "b": 0.0}
    with pytest.raises(InvalidArgument, match="infinitely"):
        utility_from_preferences(PreferenceRelation(lexicographic), ["heaven", "cash", "none"])


def test_number_of_questions_is_logarithmic():
    """log₂(1/ε) comparisons for an irrational utility."""
    relation = PreferenceRelation.from_utility({"a": 0, "b": 2**-0.5, "c": 1}, tolerance=0.0)
    for power in (4, 8, 12):
        found = indifference_probability(relation, "b", "a", "c", tolerance=2.0**-power)
        assert found.num_questions == power
        assert abs(found.probability - 2**-0.5) <= 2.0**-power


def test_contradicting_statements_are_refused():
    """The same two lotteries both ways."""
    refuses(InvalidArgument, "contradicts", PreferenceRelation.from_statements, [("a", ">", "b"), ("b", ">", "a")])
    refuses(InvalidArgument, "written", PreferenceRelation.from_statements, [("a", "better", "b")])
    for sign in (">=", "<="):  # neither a preference nor indifference
        refuses(InvalidArgument, "say '>' or '~'", PreferenceRelation.from_statements, [("a", sign, "b")])
    refuses(InvalidArgument, "nothing to ask", check_axioms, PreferenceRelation.from_utility({}))


# --- preferences as people write them ---


def test_statements_and_oracles_are_asked_as_they_stand():
    """The same answers as for the relation that is made of them."""
    said = [("a", ">", "b"), ("b", ">", "c"), ("c", ">", "a")]
    assert check_axioms(said) == check_axioms(PreferenceRelation.from_statements(said))
    utility = {"a": 3, "b": 1, "c": 0}

    def oracle(first, second):
        return first.expected_utility(utility) - second.expected_utility(utility)

    relation = PreferenceRelation(oracle)
    assert check_axioms(oracle, "abc") == check_axioms(relation, "abc")
    assert utility_from_preferences(oracle, "abc") == utility_from_preferences(relation, "abc")
    assert indifference_probability(oracle, "b", "c", "a") == indifference_probability(relation, "b", "c", "a")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (len, r"takes \(obj, /\).*PreferenceRelation.from_utility\(function\)"),
        (lambda outcome: 1.0, r"takes \(outcome\).*PreferenceRelation.from_utility\(function\)"),
        ({"a": 1, "b": 0}, r"PreferenceRelation.from_utility\(utilities\)"),
        (5, "a function of two lotteries or a PreferenceRelation, not 5"),
        (["a", "b"], r"is written \(first, '>', second\)"),
    ],
)
def test_what_is_no_preference_is_refused_with_what_to_write(given, told):
    for ask in (check_axioms, utility_from_preferences):
        refuses(InvalidArgument, told, ask, given, ["a", "b"])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_rounding_of_a_difference_breaks_no_axiom(scale):
    """An oracle that subtracts expected utilities in floats is rational in all units."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        utility = {outcome: scale * value for outcome, value in random_utilities(rng, 4).items()}

        def subtract(first, second, utility=utility):
            return first.expected_utility(utility) - second.expected_utility(utility)

        assert check_axioms(PreferenceRelation(subtract), utility).is_rational
    assert PreferenceRelation(subtract, tolerance=0.5).compare("a", {"a": 0.9, "b": 0.1}) == 0


@pytest.mark.parametrize("greatest", [1e6, 1e12, 1e15])
def test_large_utilities_do_not_hide_small_ones(greatest):
    """What two mixtures have in common takes no part in their comparison."""
    asked = PreferenceRelation.from_utility({"a": 0, "b": 1, "c": greatest})
    assert asked.compare({"b": 0.1, "c": 0.9}, {"a": 0.1, "c": 0.9}) == 1
    assert check_axioms(asked, "abc").is_rational


def test_oracles_may_answer_in_numbers_of_any_kind_but_must_answer():
    """NumPy's numbers are numbers; NaN and texts are refused with the lotteries."""
    for answer in (np.float64(2.0), np.int64(3), np.bool_(True), 1):
        assert PreferenceRelation(lambda first, second, answer=answer: answer).compare("a", "b") == 1
    assert PreferenceRelation(lambda first, second: None).compare("a", "b") is None
    for answer in (np.nan, "better"):
        with pytest.raises(InvalidArgument, match=r"compare \[a: 1\] with \[b: 1\]"):
            PreferenceRelation(lambda first, second, answer=answer: answer).compare("a", "b")
    refuses(InvalidArgument, "from_statements", PreferenceRelation, [("a", ">", "b")])
    refuses(InvalidArgument, "tolerance", PreferenceRelation, lambda first, second: 0, tolerance=-1)


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
