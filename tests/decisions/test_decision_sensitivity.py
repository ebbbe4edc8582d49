"""Stable intervals, tornados and comparisons against tables that are changed by hand."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from decision_examples import surveyed
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.sensitivity.comparison import compare_actions
from plausible.decisions.sensitivity.numbers import ProbabilityEntry, UtilityEntry, all_numbers, read_number
from plausible.decisions.sensitivity.thresholds import stable_interval, strategy_stability
from plausible.decisions.sensitivity.tornado import lead_tornado, utility_tornado
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.utilities import Utility
from solving_oracle import all_strategy_values, num_strategies, placed, random_diagram, value_of


def varied_by_hand(diagram: InfluenceDiagram, number, value: float) -> InfluenceDiagram:
    """Another value of an entry; the rest of a row of probabilities in proportion."""
    if isinstance(number, UtilityEntry):
        factor = diagram.utility_factors[number.utility]
        table = factor.values.copy()
        table[number.place] = value
        return diagram.with_utility(Utility(factor.scope, table, number.utility))
    factor = diagram.chance[number.parameter.child].to_factor()
    table = factor.values.copy()
    row = table[number.parameter.place[:-1]]
    own = number.parameter.place[-1]
    rest = 1 - row[own]
    for state in range(len(row)):
        if state != own:
            row[state] = (1 - value) * (row[state] / rest if rest > 1e-15 else 1 / (len(row) - 1))
    row[own] = value
    return diagram.with_chance(TableCPD(factor.scope[-1], table, factor.scope[:-1]))


# --- stable intervals ---


def test_the_intervals_of_the_entrepreneur():
    """After s1: 0.15·(-7) + 0.12·5 + 0.08·20 = 1.15 decides; after s0: -1.25."""
    diagram = surveyed(["S"])
    loss = stable_interval(diagram, ("V", {"M": "m0", "F": "f1"}))
    assert (loss.low, loss.high) == (pytest.approx(-7 - 1.15 / 0.15), pytest.approx(-7 + 1.25 / 0.3))
    assert dict(loss.below[0].seen) == {"S": "s1"}
    assert (loss.above[0].before, loss.above[0].after) == ("f0", "f1")
    assert loss.slack == pytest.approx(1.25 / 0.3)
    assert -7 in loss
    assert -20 not in loss
    stay = stable_interval(diagram, ("V", ("m2", "f0")))
    assert (stay.low, stay.high) == (pytest.approx(-1.25 / 0.02), pytest.approx(1.15 / 0.08))
    blind = stable_interval(diagram.with_information({"F": ()}), ("V", ("m2", "f1")))
    assert (blind.low, blind.high, blind.above) == (pytest.approx(10.0), math.inf, ())


@given(seed=st.integers(0, 10_000), num_decisions=st.integers(1, 2), with_evidence=st.booleans())
@settings(max_examples=16, deadline=None)
def test_a_strategy_is_the_best_of_all_exactly_inside_its_interval(seed, num_decisions, with_evidence):
    """Also where decisions have limited memory, or rely on each other, and given evidence."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, num_decisions, 2, zeros=0.0)
    numbers = list(all_numbers(diagram))
    if num_strategies(diagram) > 600 or not numbers:
        return
    number = numbers[rng.integers(len(numbers))]
    evidence, weights = {}, 1.0
    before = [n for n in diagram.chance if not any(n in diagram.graph.descendants(d) for d in diagram.decisions)]
    if with_evidence and before:
        likelihood = rng.random(diagram.variables[before[0]].num_states) + 0.2
        evidence = {before[0]: pb.likelihood(likelihood)}
        weights = placed(likelihood, (before[0],), list(diagram.variables))
    found = stable_interval(diagram, number, evidence)
    rules = {name: rule.values for name, rule in diagram.solve(evidence=evidence).strategy.items()}
    assert found.low <= found.current <= found.high
    span = (-20.0, 20.0) if isinstance(number, UtilityEntry) else (0.0, 1.0)
    ends = [end + step for end in (found.low, found.high) if abs(end) < 1e6 for step in (-1e-3, 1e-3)]
    for value in [*rng.uniform(*span, 6), *ends]:
        if span[0] <= value <= span[1] and min(abs(value - found.low), abs(value - found.high)) > 1e-6:
            changed = varied_by_hand(diagram, number, value)
            best = all_strategy_values(changed, weights).max()
            is_best = value_of(changed, rules, weights) >= best - 1e-9
            assert is_best == (found.low < value < found.high)


def test_the_end_is_where_the_first_of_several_strategies_overtakes():
    """Lines by their ends at 0 and 1: at 1 the steepest is best, but the flattest comes first."""
    lines = np.array([[1, 0, -2, -10], [1, 1.5, 2, 3]])
    diagram = InfluenceDiagram([TableCPD("X", [0.9, 0.1])], [Decision("D", 4)], [Utility(["X", "D"], lines)])
    found = stable_interval(diagram, ("X", 1))
    assert (found.low, found.high) == (0.0, pytest.approx(2 / 3))
    assert [change.after for change in found.above] == [1]


def test_given_evidence_the_threshold_is_that_of_the_posterior():
    """P(X=1 | E=1) = 1/2 where θ · 0.9 = (1 - θ) · 0.2."""
    diagram = InfluenceDiagram(
        [TableCPD("X", [0.9, 0.1]), TableCPD("E", [[0.8, 0.2], [0.1, 0.9]], ["X"])],
        [Decision("D", 2)],
        [Utility(["X", "D"], np.eye(2))],
    )
    assert stable_interval(diagram, ("X", 1), {"E": 1}).high == pytest.approx(0.2 / 1.1)
    assert stable_interval(diagram, ("E", {"X": 1}, 1), {"E": 1}).high == pytest.approx(1.0)


def test_evidence_that_is_impossible_at_an_end_moves_no_threshold():
    """P(e) and all expected utilities times P(e) vanish together there."""
    diagram = InfluenceDiagram(
        [TableCPD("X", [0.5, 0.5]), TableCPD("E", [[0.5, 0.5], [0.0, 1.0]], ["X"])],
        [Decision("D", 2)],
        [Utility(["X", "D"], [[0, 1], [1, 0]])],
    )
    found = stable_interval(diagram, ("X", 0), {"E": 0})
    assert (found.low, found.high, found.slack) == (0.0, 1.0, math.inf)


def test_a_tie_has_no_slack():
    diagram = InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [1, 1])])
    found = stable_interval(diagram, ("U(D)", {"D": 1}))
    assert found.high == pytest.approx(1.0)
    assert found.slack == pytest.approx(0.0)


def test_all_numbers_are_listed_with_the_least_slack_first():
    found = strategy_stability(surveyed(["S"]))
    assert len(found.intervals) == 6 + 3 + 9
    slacks = [interval.relative_slack for interval in found.intervals]
    assert slacks == sorted(slacks)
    assert len(found.fragile) > 5
    assert "P(M=m0)" in str(found)
    alone = InfluenceDiagram([TableCPD("X", [1.0])], [Decision("D", 1)], [Utility("D", [1])])
    assert str(strategy_stability(alone)) == "Of 1 number, each varied alone, none can change the strategy."


def test_an_interval_that_ends_at_zero_has_no_sign_there():
    """The loss of the second action is 0: the first one stays best as long as it brings no less."""
    diagram = InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [3, 0], "U"), Utility([], -0.0, "V")])
    found = strategy_stability(diagram)
    ends = [end for interval in found.intervals for end in (interval.low, interval.high)]
    assert 0.0 in ends
    assert not any(math.copysign(1.0, end) < 0 for end in ends if end == 0)
    assert not re.search(r"-0(?![.\d])", "\n".join(map(str, (found, *found.intervals))))


@given(seed=st.integers(0, 10_000), factor=st.sampled_from([1e-3, 100.0]))
@settings(max_examples=5, deadline=None)
def test_the_order_of_slacks_does_not_hang_on_the_unit_of_utility(seed, factor):
    """In cents or in thousands, relative slacks stay what they are."""
    diagram = random_diagram(np.random.default_rng(seed), 2, 1, 2, zeros=0.0)
    scaled = diagram
    for name, table in diagram.utility_factors.items():
        scaled = scaled.with_utility(Utility(table.scope, factor * table.values, name))
    before, after = (
        {str(found.number): found.relative_slack for found in strategy_stability(version).intervals}
        for version in (diagram, scaled)
    )
    assert after == pytest.approx(before, rel=1e-6, abs=1e-6)


def test_a_utility_is_compared_by_the_range_of_its_table():
    """A loss of -100 may grow by 8 / 0.6, a 20th of the range of 270; a probability of 0 may rise to 8 / 13.4."""
    chance = [TableCPD("X", [0.6, 0.4]), TableCPD("Y", [1.0, 0.0])]
    payoff = Utility(["X", "D"], [[-100, 0], [170, 0]], "payoff")
    side = Utility(["Y", "D"], [[0, 0], [-13.4, 0]], "side")
    diagram = InfluenceDiagram(chance, [Decision("D", 2)], [payoff, side, Utility("D", [0, 0], "flat")])
    loss, chance = stable_interval(diagram, ("payoff", (0, 0))), stable_interval(diagram, ("Y", 1))
    assert (loss.slack, loss.relative_slack) == (pytest.approx(8 / 0.6), pytest.approx(8 / 0.6 / 270))
    assert chance.relative_slack == chance.slack == pytest.approx(8 / 13.4)
    assert stable_interval(diagram, ("flat", (0,))).relative_slack == pytest.approx(8 / 270)  # of the widest table
    found = strategy_stability(diagram, [("Y", 1), ("payoff", (0, 0))])
    order = [str(interval.number) for interval in found.fragile]
    assert order.index("payoff(X=0, D=0)") < order.index("P(Y=1)")
    assert "share of the range of its table" in str(found)


@pytest.mark.parametrize(
    "form", [("S", {"M": "m0", "S": "s1"}), ("S", "s1", {"M": "m0"}), ("S", ("m0",), "s1"), ["S", {"M": "m0"}, "s1"]]
)
def test_a_probability_may_be_named_with_its_state_among_or_before_the_parents(form):
    diagram = surveyed(["S"])
    assert read_number(form, diagram) == read_number(("S", {"M": "m0"}, "s1"), diagram)


@pytest.mark.parametrize(
    "form", [("S", "s1"), ("S", "m0", "s1"), ("S", {"M": "m0"}), ("S", {}, "s1"), ("S", {"S": "s1"})]
)
def test_a_probability_that_is_named_in_part_is_refused_with_the_form(form):
    with pytest.raises(InvalidArgument, match=r"\('\w+', \{'\w+': .*\}, '?\w+'?\)"):
        read_number(form, surveyed(["S"]))


def test_an_entry_of_a_utility_may_be_named_by_states_in_their_order():
    diagram = surveyed(["S"])
    assert read_number(("V", "m0", "f1"), diagram) == read_number(("V", {"M": "m0", "F": "f1"}), diagram)
    with pytest.raises(InvalidArgument, match=r"write \('V', \{'M': \.\.\., 'F': \.\.\.\}\)"):
        read_number(("V", {"M": "m0", "F": "f1"}, "more", "still"), diagram)


def test_numbers_that_are_none_are_refused():
    diagram = surveyed(["S"])
    with pytest.raises(UnknownVariable):
        read_number(("W", {}), diagram)
    with pytest.raises(InvalidArgument, match="'F'"):
        read_number(("V", {"M": "m0"}), diagram)
    with pytest.raises(InvalidArgument, match="state of each"):
        read_number(("V", ("m0",)), diagram)
    with pytest.raises(UnknownVariable):
        read_number(("V", {"M": "m0", "S": "s0"}), diagram)
    with pytest.raises(InvalidArgument):
        read_number("V", diagram)
    compact = diagram.with_chance(TableCPD("B", [0.5, 0.5])).with_chance(pb.NoisyOr("N", ["B"], [0.5], leak=0.1))
    with pytest.raises(NotSupported, match="TableCPD"):
        read_number(("N", {}, 1), compact)
    entry = read_number(("S", {"M": "m0"}, "s1"), diagram)
    assert read_number(entry, diagram) == entry
    assert isinstance(entry, ProbabilityEntry)
    utility = read_number(("V", ("m0", "f1")), diagram)
    assert read_number(utility, diagram) == utility


# --- tornados ---


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_the_bars_of_a_tornado_are_the_maxima_over_all_strategies(seed):
    diagram = random_diagram(np.random.default_rng(seed), 2, 2, 2)
    if num_strategies(diagram) > 300:
        return
    found = utility_tornado(diagram, 0.2)
    rules = {name: rule.values for name, rule in diagram.solve().strategy.items()}
    for bar in found.bars[:6]:
        ends = [varied_by_hand(diagram, bar.number, end) for end in (bar.low, bar.high)]
        best = [all_strategy_values(end).max() for end in ends]
        assert [bar.at_low, bar.at_high] == pytest.approx(best)
        lost = [top - value_of(end, rules) for top, end in zip(best, ends, strict=True)]
        assert bar.changes_strategy == (max(lost) > 1e-9)
    swings = [bar.swing for bar in found.bars]
    assert swings == pytest.approx(sorted(swings, reverse=True), abs=1e-6)


def test_the_lead_of_an_action_is_what_decides():
    """After s1 the lead of founding is 1.15 / 0.35; it is linear in the loss."""
    diagram = surveyed(["S"])
    found = lead_tornado(diagram, "F", {"S": "s1"}, 0.4, [("V", {"M": "m0", "F": "f1"})])
    step = 0.4 * 27
    assert found.current == pytest.approx(1.15 / 0.35)
    assert found.bars[0].at_low == pytest.approx((1.15 - 0.15 * step) / 0.35)
    assert found.bars[0].at_high == pytest.approx((1.15 + 0.15 * step) / 0.35)
    assert found.bars[0].changes_strategy
    assert str(found).startswith("Lead of F=f1 given S=s1, now 3.28571")
    with pytest.raises(InvalidArgument, match="say what was seen"):
        lead_tornado(diagram, "F")
    single = InfluenceDiagram([], [Decision("D", 1)], [Utility("D", [1])])
    with pytest.raises(InvalidArgument, match="single action"):
        lead_tornado(single, "D")


def test_an_amount_that_is_none_is_refused():
    with pytest.raises(InvalidArgument, match="amount"):
        utility_tornado(surveyed(["S"]), 0.0)


def test_an_amount_in_the_place_of_what_is_seen_is_refused_by_its_name():
    diagram = surveyed(["S"])
    with pytest.raises(InvalidArgument, match=r"'F' sees comes first, then amount=0\.2"):
        lead_tornado(diagram, "F", 0.2)
    for asked in (lead_tornado, compare_actions):
        with pytest.raises(InvalidArgument, match=r"write a mapping, as \{'S': 's0'\}"):
            asked(diagram, "F", ["s0"])


def test_a_tornado_says_by_how_much_numbers_were_varied():
    """Of 27, the range of V, and of the probability itself."""
    found = utility_tornado(surveyed(["S"]), 0.2)
    assert "by 0.2 of themselves, utilities by 0.2 of the range of their table" in str(found)
    assert found.amount == 0.2
    bars = {str(bar.number): (bar.low, bar.high) for bar in found.bars}
    assert bars["V(M=m0, F=f1)"] == pytest.approx((-7 - 0.2 * 27, -7 + 0.2 * 27))
    assert bars["P(M=m0)"] == pytest.approx((0.4, 0.6))


# --- why ---


def test_parts_of_an_action_add_up_to_the_policy():
    """For every information state of every decision, with two utilities."""
    diagram = surveyed(["S"]).with_utility(Utility(["F"], [0, -0.5], name="effort"))
    policy = diagram.solve().policies["F"]
    for row, state in enumerate(["s0", "s1", "s2"]):
        found = compare_actions(diagram, "F", {"S": state})
        worth = {action.action: action.expected_utility for action in found.actions}
        assert [worth["f0"], worth["f1"]] == pytest.approx(policy.expected_utility[row])
        assert found.best == diagram.solve().strategy.action("F", {"S": state})
        assert all(sum(action.parts.values()) == pytest.approx(action.expected_utility) for action in found.actions)
    assert found.advantages() == pytest.approx({"V": 8.75, "effort": -0.5})
    assert found.lead == pytest.approx(8.25)
    assert list(found.advantages("f0")) == ["V", "effort"]
    assert "against it: effort (-0.5)" in str(found)


def _joint(diagram: InfluenceDiagram, rules) -> np.ndarray:
    """The product of all tables and some rules, over all variables."""
    names = list(diagram.variables)
    probability = np.ones([v.num_states for v in diagram.variables.values()])
    for factor in (*(cpd.to_factor() for cpd in diagram.chance.values()), *rules.values()):
        probability = probability * placed(factor.values, factor.names, names)
    return probability


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_comparisons_agree_with_the_joint_distribution(seed):
    """E[U_i | seen, action] by numpy, the other decision following the best strategy, or set if that goes elsewhere."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 2, 2, zeros=0.0)
    decision = str(rng.choice(list(diagram.decisions)))
    strategy = diagram.solve().strategy
    names = list(diagram.variables)
    seen = {name: diagram.variables[name].states[0] for name in diagram.decisions[decision].sees}
    index = tuple(0 if name in seen else slice(None) for name in names)
    followed = {name: rule for name, rule in strategy.items() if name != decision}
    probability = _joint(diagram, followed)
    is_reached = probability[index].sum() > 0
    if not is_reached:
        probability = _joint(diagram, {name: rule for name, rule in followed.items() if name not in seen})
    found = compare_actions(diagram, decision, seen, strategy)
    assert found.is_reached == is_reached
    for worth in found.actions:
        mask = np.zeros_like(probability)
        place = list(index)
        place[names.index(decision)] = diagram.variables[decision].index(worth.action)
        mask[tuple(place)] = probability[tuple(place)]
        for name, factor in diagram.utility_factors.items():
            expected = (mask * placed(factor.values, factor.names, names)).sum() / mask.sum()
            assert worth.parts[name] == pytest.approx(expected)


def test_rows_that_the_strategy_never_reaches_are_compared_with_the_decisions_before_set():
    """The best strategy tests for oil; without a test drilling brings 0.55·(-80) + 0.3·60 + 0.15·250 = 11.5."""
    oil = pb.examples.load("oil")
    found = compare_actions(oil, "drill", {"seismic": "none", "test": "no"})
    assert {worth.action: worth.expected_utility for worth in found.actions} == pytest.approx({"yes": 11.5, "no": 0.0})
    assert not found.is_reached
    assert "never gets there" in str(found)
    assert compare_actions(oil, "drill", {"seismic": "closed", "test": "yes"}).is_reached
    assert not compare_actions(oil, "drill", {"seismic": "none"}).is_reached  # whatever the decision to test is


def test_a_decision_that_is_forgotten_is_set_where_only_another_action_leads_to_what_is_seen():
    """The signal copies the first action, which the second decision does not see; nobody would choose 1."""
    signal = TableCPD("signal", np.eye(2), ["first"])
    decisions = [Decision("first", 2), Decision("second", 2, sees=["signal"])]
    gains = [Utility("first", [5, 0], "a"), Utility(["first", "second"], [[0, 1], [2, 0]], "b")]
    found = compare_actions(InfluenceDiagram([signal], decisions, gains), "second", {"signal": 1})
    assert (found.best, found.lead, found.is_reached) == (0, 2.0, False)


def test_an_action_that_tells_what_it_saw_still_does():
    """The card game: the first player sees the card and shows it by what they do; that is conditioned on, not set."""
    card = TableCPD("card", [0.5, 0.5])
    decisions = [Decision("show", 2, sees=["card"]), Decision("guess", 2, sees=["show"])]
    diagram = InfluenceDiagram([card], decisions, [Utility(["card", "guess"], np.eye(2))])
    solution = diagram.solve()
    for row, shown in enumerate((0, 1)):
        found = compare_actions(diagram, "guess", {"show": shown}, solution.strategy)
        worth = {action.action: action.expected_utility for action in found.actions}
        assert [worth[0], worth[1]] == pytest.approx(solution.policies["guess"].expected_utility[row])
        assert found.lead == pytest.approx(1.0)


@pytest.mark.parametrize("seen", [{"seismic": "closed", "test": "no"}, {"test": "yes", "seismic": "none"}])
def test_what_can_not_be_seen_whatever_is_decided_is_refused_by_its_name(seen):
    with pytest.raises(
        ImpossibleEvidence, match=f"'drill' never sees {', '.join(f'{n}={s}' for n, s in seen.items())}"
    ):
        compare_actions(pb.examples.load("oil"), "drill", seen)


def test_only_what_makes_it_impossible_is_named():
    chance = [TableCPD("X", [1.0, 0.0]), TableCPD("Y", [0.5, 0.5])]
    diagram = InfluenceDiagram(chance, [Decision("D", 2, sees=["X", "Y"])], [Utility("D", [0, 1])])
    with pytest.raises(ImpossibleEvidence, match="'D' never sees X=1: "):
        compare_actions(diagram, "D", {"Y": 0, "X": 1})


def test_a_comparison_says_what_it_is_an_average_over():
    text = str(compare_actions(surveyed(["S"])))
    assert text.startswith("F=f1, ahead by 2 on average over S, as nothing is said of what was seen:")
    assert str(compare_actions(surveyed(["S"]), seen={"S": "s2"})).startswith("F=f1 where S=s2 is seen, ahead by 8.75:")


def test_actions_as_good_are_a_tie_in_the_order_of_the_decision():
    """0.1 + 0.2 is more than 0.3 by rounding alone."""
    parts = [Utility("D", [0.3, 0.1], "a"), Utility("D", [0.0, 0.2], "b")]
    found = compare_actions(InfluenceDiagram([], [Decision("D", 2)], parts))
    assert (found.best, found.lead) == (0, 0.0)
    assert str(found).startswith("D=0, a tie:")


def test_the_lead_where_the_strategy_never_gets_is_that_of_the_comparison():
    oil = pb.examples.load("oil")
    found = lead_tornado(oil, "drill", {"seismic": "none", "test": "no"}, 0.1, [("payoff", ("wet", "yes"))])
    assert found.current == pytest.approx(11.5)
    assert found.bars[0].at_high == pytest.approx(11.5 + 0.3 * 0.1 * 330)
    with pytest.raises(UnknownVariable, match="does not see 'oil'"):
        lead_tornado(oil, "drill", {"oil": "dry"})


@pytest.mark.parametrize("analysis", [strategy_stability, utility_tornado])
def test_an_analysis_tells_how_far_it_is_and_can_be_ended(analysis):
    told = []
    found = analysis(surveyed(["S"]), progress=lambda state: told.append(state) or len(told) == 3)
    assert [state.num_done for state in told] == [1, 2, 3]
    assert {state.num_numbers for state in told} == {18}
    assert found.num_left == 15
    assert "Stopped before 15 more." in str(found)
    assert analysis(surveyed(["S"]), progress=lambda _: None).num_left == 0


def test_comparisons_refuse_what_is_not_seen_or_ruled_out():
    diagram = surveyed(["S"])
    with pytest.raises(UnknownVariable, match="it sees S"):
        compare_actions(diagram, "F", {"M": "m0"})
    with pytest.raises(ImpossibleEvidence):
        compare_actions(diagram, "F", {"S": "s0"}, evidence={"S": "s1"})
    with pytest.raises(InvalidArgument, match="other actions"):
        compare_actions(diagram, "F", {"S": "s0"}).advantages("f9")
    alone = InfluenceDiagram([], [Decision("D", 1)], [Utility("D", [1])])
    assert compare_actions(alone).advantages() == {}


def test_a_tornado_stops_short_of_what_the_evidence_rules_out():
    """P(rain=yes) is 0.9: a fifth more would be certain, and rain=no impossible."""
    rain = pb.TableCPD("rain", [0.1, 0.9], states=["no", "yes"])
    diagram = pb.InfluenceDiagram(
        [rain], [pb.Decision("go", 2, sees=["rain"])], [pb.Utility(["rain", "go"], [[0, 5], [0, -5]])]
    )
    bars = utility_tornado(diagram, 0.2, evidence={"rain": "no"}).bars
    assert all(np.isfinite([bar.at_low, bar.at_high]).all() for bar in bars)
    assert max(
        bar.high for bar in bars if isinstance(bar.number, ProbabilityEntry) and "rain=yes" in str(bar.number)
    ) == pytest.approx(0.95)
    swings = [bar.swing for bar in lead_tornado(diagram, "go", {"rain": "no"}, 0.2).bars]
    known = [swing for swing in swings if np.isfinite(swing)]
    assert known == sorted(known, reverse=True)
    assert swings[: len(known)] == known


def test_what_becomes_possible_changes_the_strategy_at_once():
    """P(x=0) is 1: as soon as it is less, something has to be done where x=1 is seen, which could not happen before."""
    chance = pb.TableCPD("x", [1.0, 0.0])
    diagram = pb.InfluenceDiagram([chance], [pb.Decision("D", 2, sees=["x"])], [pb.Utility(["x", "D"], np.eye(2))])
    found = stable_interval(diagram, ("x", 0))
    assert (found.low, found.high, found.slack) == (1.0, 1.0, 0.0)
    assert [(change.seen["x"], change.after) for change in found.below] == [(1, 1)]
    assert "below: D, x=1: 1 instead of 0" in str(found)


def test_certainties_are_varied_where_they_are_named_only():
    diagram = pb.examples.load("oil")
    tables = [cpd.to_factor().values for cpd in diagram.chance.values()]
    uncertain = sum(int(((table > 0) & (table < 1)).sum()) for table in tables)
    entries = sum(factor.values.size for factor in diagram.utility_factors.values())
    assert len(strategy_stability(diagram).intervals) == uncertain + entries
    assert len(utility_tornado(diagram, 0.2).bars) == uncertain + entries
    certain = ("seismic", {"oil": "dry", "test": "no"}, "none")
    assert stable_interval(diagram, certain).current == 1.0


@pytest.mark.parametrize("rare", [1e-3, 1e-9, 1e-11, 1e-14])
def test_evidence_may_be_rare(rare):
    """P(A=0 | E=1) is 1/3 where P(E=1 | A=0) is half of P(E=1 | A=1): there action 1 takes over."""
    cause, sign = (
        pb.TableCPD("A", [0.5, 0.5]),
        pb.TableCPD("E", [[1 - rare / 100, rare / 100], [1 - rare, rare]], ["A"]),
    )
    worth = pb.Utility(["A", "D"], [[0, 6, 10], [10, 7, 0]], name="U")
    diagram = pb.InfluenceDiagram([cause, sign], [pb.Decision("D", 3)], [worth])
    found = stable_interval(diagram, ("E", {"A": 0}, 1), evidence={"E": 1})
    assert found.high == pytest.approx(rare / 2, rel=1e-4)
    assert [change.after for change in found.above] == [1]
