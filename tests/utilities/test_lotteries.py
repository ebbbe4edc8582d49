"""Lotteries, decision situations and lotteries without end."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import ImmutableValue, InvalidArgument
from plausible.factors import Factor
from plausible.utilities.elicitation.questions import rank_dependent_utility
from plausible.utilities.lotteries.consistency import choice_consistency
from plausible.utilities.lotteries.countable import CountableLottery, saint_petersburg
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve, PowerCurve
from plausible.utilities.lotteries.lottery import Lottery, as_lottery
from plausible.utilities.lotteries.outcome_utilities import AffineMap, affine_map, rescaled_utility
from plausible.utilities.lotteries.preferences import PreferenceRelation
from plausible.utilities.lotteries.regret import DecisionSituation
from plausible.utilities.lotteries.risk import assess_risk, certainty_equivalent, risk_premium, stochastic_dominance
from plausible.variables import Assignment, Variable
from refusals import refuses

OUTCOMES = "abcde"


def lotteries(depth: int = 2):
    """Lotteries over a few outcomes, nested up to a depth."""
    parts = st.sampled_from(OUTCOMES) if depth == 0 else st.one_of(st.sampled_from(OUTCOMES), lotteries(depth - 1))
    weights = st.lists(st.tuples(parts, st.integers(0, 5)), min_size=1, max_size=4, unique_by=lambda pair: pair[0])
    return weights.filter(lambda pairs: sum(w for _, w in pairs) > 0).map(
        lambda pairs: Lottery({part: w / sum(v for _, v in pairs) for part, w in pairs})
    )


def path_probabilities(lottery) -> np.ndarray:
    """The chance of each final outcome, by walking all paths with a stack."""
    total, waiting = np.zeros(len(OUTCOMES)), [(lottery, 1.0)]
    while waiting:
        node, chance = waiting.pop()
        if isinstance(node, Lottery):
            waiting += [(child, chance * p) for child, p in node.items()]
        else:
            total[OUTCOMES.index(node)] += chance
    return total


UTILITY = dict(zip(OUTCOMES, [3.0, -1.0, 0.0, 7.5, 2.0], strict=True))


@settings(max_examples=30, deadline=None)
@given(lotteries())
def test_flattening_multiplies_along_paths_and_keeps_expected_utility(lottery):
    """EU(nested) = EU(flat) = Σ paths."""
    flat = lottery.flatten()
    expected = path_probabilities(lottery)
    assert not flat.is_compound
    assert [flat.get(o, 0.0) for o in OUTCOMES] == pytest.approx(expected.tolist())
    assert lottery.expected_utility(UTILITY) == pytest.approx(float(expected @ list(UTILITY.values())))
    assert flat.expected_utility(UTILITY) == pytest.approx(lottery.expected_utility(UTILITY))
    assert lottery.is_close(flat)
    assert flat.flatten() == flat


@settings(max_examples=16, deadline=None)
@given(lotteries(1), lotteries(1), st.floats(0, 1))
def test_expected_utility_is_linear_in_mixtures(first, second, chance):
    """EU([a: α; b: 1 - α]) = α EU(a) + (1 - α) EU(b), flat or not."""
    mixed = first.mixed_with(second, chance)
    expected = chance * first.expected_utility(UTILITY) + (1 - chance) * second.expected_utility(UTILITY)
    assert mixed.expected_utility(UTILITY) == pytest.approx(expected)


def test_compound_lottery_of_the_source():
    """[o1: .5; [o2: .25; o3: .75]: .5] is (.5, .125, .375), worth 7.75 with 3, 50 and 0 (W3)."""
    lottery = Lottery({"o1": 0.5, Lottery({"o2": 0.25, "o3": 0.75}): 0.5})
    assert lottery.is_compound
    assert dict(lottery.flatten()) == {"o1": 0.5, "o2": 0.125, "o3": 0.375}
    assert lottery.expected_utility({"o1": 3, "o2": 50, "o3": 0}) == 7.75


def test_means_of_the_investments():
    """E[A] = 0.8M, E[B] = 0.75M, E[D] = 3.2M (W1)."""
    A, B, D = Lottery({4: 0.2, 0: 0.8}), Lottery({3: 0.25, 0: 0.75}), Lottery({4: 0.8, 0: 0.2})
    assert [lottery.expectation() for lottery in (A, B, D)] == pytest.approx([0.8, 0.75, 3.2])
    assert Lottery.certain(3).expectation() == 3


def test_equality_ignores_outcomes_of_probability_zero_and_order():
    """Equality and hashes are by what can happen; nested and flat differ."""
    assert Lottery({"a": 1.0, "b": 0.0}) == Lottery({"a": 1.0})
    assert hash(Lottery({"a": 1.0, "b": 0.0})) == hash(Lottery({"a": 1.0}))
    assert Lottery({"a": 0.5, "b": 0.5}) == Lottery({"b": 0.5, "a": 0.5})
    nested = Lottery({Lottery({"a": 0.5, "b": 0.5}): 1.0})
    assert nested != nested.flatten()
    assert nested.is_close(Lottery({"a": 0.5, "b": 0.5}))
    assert not Lottery({"a": 0.5, "b": 0.5}).is_close(Lottery({"a": 0.6, "c": 0.4}))
    assert pickle.loads(pickle.dumps(nested)) == nested


def test_unlikely_outcomes_need_no_utility():
    """Probability zero times an unknown utility is nothing."""
    assert Lottery({"a": 1.0, "b": 0.0}).expected_utility({"a": 2.0}) == 2.0


@pytest.mark.parametrize(
    "given",
    [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": math.nan, "b": 1.0}, {"a": "x"}, None, {"a": 0.6, "b": 0.6}],
)
def test_what_is_no_distribution_is_refused(given):
    """Errors are of the library."""
    with pytest.raises(InvalidArgument):
        Lottery(given)


def test_refusals_name_the_outcome():
    """Missing utilities, infinite utilities, means of words."""
    with pytest.raises(InvalidArgument, match="'win'"):
        Lottery({"win": 1.0}).expected_utility({"wim": 2.0})
    with pytest.raises(InvalidArgument, match="finite"):
        Lottery({"heaven": 1.0}).expected_utility({"heaven": math.inf})
    with pytest.raises(InvalidArgument, match="no number"):
        Lottery({"win": 1.0}).expectation()
    with pytest.raises(ImmutableValue):
        DecisionSituation({"a": 1}, lambda x: x).actions = {}


def test_a_factor_is_a_lottery():
    """Over states, or over tuples of them."""
    one, two = Variable("X", ["a", "b"]), Variable("Y", [0, 1])
    assert Lottery.from_factor(Factor([one], [0.25, 0.75])) == Lottery({"a": 0.25, "b": 0.75})
    joint = Lottery.from_factor(Factor([one, two], [[0.1, 0.2], [0.3, 0.4]]))
    assert joint[("b", 0)] == 0.3


def test_entrepreneur_founds():
    """EU(found) = 2 > 0 = EU(skip) (W2)."""
    market = Lottery({"m0": 0.5, "m1": 0.3, "m2": 0.2})
    situation = DecisionSituation({"f0": "none", "f1": market}, {"m0": -7, "m1": 5, "m2": 20, "none": 0})
    ranking = situation.rank()
    assert ranking.action == "f1"
    assert ranking.expected_utility == pytest.approx(2.0)
    assert list(ranking.expected_utilities) == ["f1", "f0"]
    assert situation.outcomes == ("none", "m0", "m1", "m2")
    assert situation.outcome_model.tolist() == [[1, 0, 0, 0], [0, 0.5, 0.3, 0.2]]
    assert "short of the best" in str(ranking)
    refuses(InvalidArgument, "'f2'", situation.expected_utility, "f2")


@settings(max_examples=16, deadline=None)
@given(st.lists(lotteries(1), min_size=1, max_size=5), st.lists(st.integers(-3, 3), min_size=5, max_size=5))
def test_ranking_and_ties_equal_enumeration(actions, values):
    """The best actions are those of greatest Σ π U; integers make exact ties."""
    utility = dict(zip(OUTCOMES, values, strict=True))
    ranking = DecisionSituation(dict(enumerate(actions)), utility).rank()
    direct = np.array([path_probabilities(lottery) @ values for lottery in actions])
    assert set(ranking.best) == set(np.flatnonzero(direct >= direct.max() - 1e-9).tolist())
    assert list(ranking.expected_utilities.values()) == pytest.approx(sorted(direct, reverse=True))


def test_positive_affine_maps_keep_the_ranking():
    """Utilities are unique up to such a map, which is found from the values."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        values, slope, shift = rng.normal(size=5), float(rng.uniform(0.1, 9)), float(rng.normal())
        first = dict(zip(OUTCOMES, values.tolist(), strict=True))
        second = {o: shift + slope * u for o, u in first.items()}
        actions = {i: Lottery(dict(zip(OUTCOMES, rng.dirichlet(np.ones(5)).tolist(), strict=True))) for i in range(4)}
        ranked = [list(DecisionSituation(actions, u).rank().expected_utilities) for u in (first, second)]
        assert ranked[0] == ranked[1]
        found = affine_map(first, second)
        assert (found.slope, found.intercept) == pytest.approx((slope, shift))
        assert found.inverse()(found(0.3)) == pytest.approx(0.3)
        assert affine_map(first, {o: -u for o, u in first.items()}) is None
        scaled = rescaled_utility(first)
        assert min(scaled.values()) == 0
        assert max(scaled.values()) == pytest.approx(1.0)
        assert affine_map(first, scaled) is not None


def test_scaling_degenerate_utilities():
    """One value everywhere becomes the low end; slopes of zero have no inverse."""
    assert rescaled_utility({"a": 5, "b": 5}) == {"a": 0.0, "b": 0.0}
    assert affine_map({"a": 5, "b": 5}, {"a": 7, "b": 7}) == AffineMap(1.0, 2.0)
    assert affine_map({"a": 5, "b": 5}, {"a": 7, "b": 8}) is None
    with pytest.raises(InvalidArgument, match="slope 0"):
        AffineMap(0.0, 1.0).inverse()
    refuses(InvalidArgument, "same outcomes", affine_map, {"a": 5}, {"b": 5})
    refuses(InvalidArgument, "outcomes=", rescaled_utility, lambda o: 1.0)


def test_saint_petersburg_diverges_in_money_and_not_in_logarithms():
    """Partial sums of money grow by 1 a toss; log₂ gives 2, worth 4 for sure (W5)."""
    game = saint_petersburg()
    linear = game.expected_utility(lambda x: x)
    assert linear.diverges
    assert linear.value == math.inf
    assert linear.partial_sum == pytest.approx(linear.num_terms)
    assert "diverges" in str(linear)
    logarithmic = game.expected_utility(math.log2)
    assert logarithmic.converged
    assert logarithmic.value == pytest.approx(2.0, abs=1e-10)
    assert 2.0**logarithmic.value == pytest.approx(4.0)
    assert game.truncated(10, rest=0.0).expectation() == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("utility", "value"),
    [
        (lambda n: n**2, 6.0),
        (lambda n: 1.0, 1.0),
        (lambda n: 0.0, 0.0),
        (lambda n: n - 6.0, -4.0),  # crosses zero on the way
        (lambda n: n - 6.0 - 1e-14, -4.0),  # a single term is tiny
        (lambda n: (-1.0) ** n * n, -2 / 9),
        (lambda n: 1.5**n, 3.0),
    ],
)
def test_series_reach_their_sums(utility, value):
    """Σ U(n) / 2ⁿ, also where terms vanish or change sign."""
    series = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 1075))).expected_utility(utility)
    assert series.converged
    assert not series.diverges
    assert series.value == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("power", [3, 30, 63, 64, 65, 200, 900])
def test_a_bounded_utility_of_the_endless_game_converges(power):
    """A bank that pays 2ᵏ at most: k terms of 1, and what is left, 2⁻ᵏ, pays 2ᵏ; only no bound at all diverges."""
    found = saint_petersburg().expected_utility(lambda amount: min(amount, 2.0**power))
    assert not found.diverges
    assert found.converged
    assert found.value == pytest.approx(power + 1.0, rel=1e-11)


def test_countable_lotteries_print_their_first_outcomes():
    assert str(saint_petersburg(1, 3)) == "[1: 0.5; 3: 0.25; 9: 0.125; 27: 0.0625; ...]"
    assert repr(CountableLottery(lambda: iter([("a", 0.7), ("b", 0.3)]))) == "CountableLottery([a: 0.7; b: 0.3])"


def test_a_utility_that_is_no_number_is_named():
    """And is no divergence of the sum."""
    with pytest.raises(InvalidArgument, match=r"outcome 4.0 has no number for a utility \(NaN\)"):
        saint_petersburg().expected_utility(lambda amount: math.nan if amount > 2 else amount)


def test_a_dict_stands_for_a_lottery():
    """Wherever one is expected; what can't be an outcome is refused by name."""
    half, utility = {"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}
    lottery = Lottery(half)
    assert as_lottery(half) == lottery
    assert as_lottery(lottery) is lottery
    assert DecisionSituation({"x": half, "y": "b"}, utility).rank().expected_utility == 0.5
    asked = PreferenceRelation.from_utility(utility)
    assert asked.compare(half, "b") == 1
    assert choice_consistency([(half, ">", "b")]).is_consistent
    assert stochastic_dominance({2: 1.0}, {1: 1.0}).better == "first"
    assert certainty_equivalent(LinearCurve(), {1: 0.5, 3: 0.5}) == 2.0
    assert risk_premium(LinearCurve(), {1: 0.5, 3: 0.5}) == assess_risk(LinearCurve(), {1: 0.5, 3: 0.5}).premium == 0.0
    assert rank_dependent_utility({1: 0.5, 3: 0.5}, lambda x: x, lambda p: p) == 2.0
    assert lottery.is_close(half)
    assert lottery.mixed_with(half, 0.5) == lottery
    refuses(InvalidArgument, r"\['a'\] can't be an outcome", asked.compare, ["a"], "b")
    refuses(InvalidArgument, r"sum to 0\.9", asked.compare, {"a": 0.5, "b": 0.4}, "b")


def test_an_assignment_is_an_outcome():
    """A mapping that can be hashed is no lottery."""
    outcome = Assignment({"rain": "yes"})
    assert as_lottery(outcome) == Lottery({outcome: 1.0})


def test_ties_of_the_best_actions_are_told():
    """All of them, if there are several; a single best action ties with none."""
    tied = DecisionSituation({"x": "a", "y": "b", "z": {"a": 0.5, "b": 0.5}}, {"a": 1, "b": 1}).rank()
    assert tied.ties == tied.best == ("x", "y", "z")
    assert "as good as each other: x, y, z" in str(tied)
    single = DecisionSituation({"x": "a", "y": "b"}, {"a": 1, "b": 0}).rank()
    assert single.ties == ()
    assert "as good" not in str(single)


def test_series_that_end_slowly_or_never():
    """Terms of 1/n diverge, and so do growing ones of changing sign; a long slow sum is told not to have converged."""

    def slow():
        return ((n, 6 / (math.pi * n) ** 2) for n in range(1, 10**6))

    assert CountableLottery(slow).expected_utility(lambda n: n).diverges
    assert math.isnan(saint_petersburg().expected_utility(lambda x: x * (-1) ** int(math.log2(x))).value)
    left = CountableLottery(slow).expected_utility(lambda n: 1.0, max_terms=500)
    assert not left.converged
    assert not left.diverges
    assert left.left_over > 0
    with pytest.raises(InvalidArgument, match="probability"):
        CountableLottery(lambda: iter([("a", 0.7), ("b", 0.7)])).expected_utility(lambda _: 1.0)


def test_finite_series_equal_their_lottery():
    """A generator that ends is a lottery."""
    for weights in product([1, 2, 3], repeat=3):
        chances = [w / sum(weights) for w in weights]
        pairs = list(enumerate(chances))
        found = CountableLottery(lambda pairs=pairs: iter(pairs)).expected_utility(lambda n: n + 1.0)
        assert found.converged
        assert found.value == pytest.approx(Lottery(dict(pairs)).expectation() + 1.0)


@pytest.mark.parametrize(
    ("curve", "sure"), [(LogarithmicCurve(), 4.0), (PowerCurve(0.5), 3 + 2 * math.sqrt(2))], ids=["log", "root"]
)
def test_the_endless_game_is_worth_a_finite_sure_amount(curve, sure):
    """Logarithm: Σ n 2⁻ⁿ = 2 doublings. Root: Σ 2^(-n/2) = 1 + √2, whose square is 3 + 2√2. The mean is infinite."""
    game = saint_petersburg()
    assert certainty_equivalent(curve, game) == pytest.approx(sure, rel=1e-9)
    assert risk_premium(curve, game) == math.inf
    found = assess_risk(curve, game)
    assert (found.mean, found.attitude) == (math.inf, "averse")
    assert found.expected_utility == pytest.approx(curve(sure), rel=1e-9)


@pytest.mark.parametrize("curve", [LinearCurve(), ExponentialCurve(0.3), LogarithmicCurve(), PowerCurve(0.5)], ids=str)
def test_the_worth_of_an_endless_lottery_is_that_of_its_beginning(curve):
    """Tosses counted until heads: what comes after the two-hundredth weighs 2⁻²⁰⁰."""
    tosses = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 1000)))
    begun = tosses.truncated(200, rest=200)
    for wealth in (0.0, 7.5):
        assert certainty_equivalent(curve, tosses, wealth) == pytest.approx(certainty_equivalent(curve, begun, wealth))
        assert risk_premium(curve, tosses, wealth) == pytest.approx(risk_premium(curve, begun, wealth), abs=1e-9)
        assert assess_risk(curve, tosses, wealth).attitude == assess_risk(curve, begun, wealth).attitude


def test_no_sure_amount_is_as_good_as_what_diverges():
    with pytest.raises(InvalidArgument, match=r"No sure amount .*\[2.0: 0.5; .*diverges.*truncated"):
        certainty_equivalent(LinearCurve(), saint_petersburg())
    swings = CountableLottery(lambda: ((-((-2.0) ** n), 2.0**-n) for n in range(1, 900)))
    refuses(InvalidArgument, r"mean of .* is not known", risk_premium, ExponentialCurve(0.3), swings)


def test_chances_and_quantiles_of_amounts():
    """Of what is flat and of what is nested; the ends of the scale included."""
    lottery = Lottery({-70: 0.5, Lottery({50: 0.6, 200: 0.4}): 0.5})
    assert lottery.probability_of(lambda amount: amount > 0) == pytest.approx(0.5)
    assert [lottery.quantile(level) for level in (0, 0.5, 0.5001, 0.8, 0.81, 1)] == [-70, -70, 50, 50, 200, 200]
    assert str(Lottery({54.599999999999994: 1.0})) == "[54.6: 1]"
