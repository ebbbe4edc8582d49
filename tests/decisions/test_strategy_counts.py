"""Counting strategies, limits on actions, impossible information, and the share of the utility gap."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import solving_oracle
from decision_examples import entrepreneur_with_survey
from diagram_oracle import (
    all_strategies,
    best_value,
    chance_array,
    expected_utility,
    num_strategies,
    random_diagram,
    rule_array,
    rule_shape,
)
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram, share_of_gap, utility_gap
from plausible.decisions.solving import evaluating
from plausible.decisions.solving.evaluating import (
    RuleCount,
    count_strategies,
    impossible_information,
    information_probabilities,
    with_negated_utilities,
)
from plausible.decisions.structure.edits import allowed_mask, with_allowed_actions
from plausible.decisions.structure.relevance import with_recall
from plausible.decisions.trees.tree import decision_tree
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, UnknownState, UnknownVariable
from plausible.utilities import Utility
from seeds import few_of


def test_entrepreneur_has_512_strategies():
    """Two for the survey, 2^8 for founding; four of its eight information states can't occur."""
    diagram = entrepreneur_with_survey()
    assert count_strategies(diagram).total == 512
    assert len(list(all_strategies(diagram))) == 512
    assert count_strategies(diagram, only_possible=True).total == 2 * 2**4
    assert [dict(item) for item in impossible_information(diagram)["F"]] == [
        {"C": "c0", "S": "s0"},
        {"C": "c0", "S": "s1"},
        {"C": "c0", "S": "s2"},
        {"C": "c1", "S": "none"},
    ]
    values = [expected_utility(diagram, rules) for rules in all_strategies(diagram)]
    assert max(values) == pytest.approx(2.25)
    assert np.isclose(values, 2.25).sum() == 32  # each of the impossible states, and those after c0, are free


def small_diagrams(count, most, has_recall=False, **options):
    """Random diagrams with at most so many strategies."""
    drawn = (random_diagram(np.random.default_rng(seed), **options) for seed in range(10_000))
    remembering = (with_recall(diagram) if has_recall else diagram for diagram in drawn)
    return list(islice((diagram for diagram in remembering if num_strategies(diagram) <= most), count))


@pytest.mark.parametrize("diagram", small_diagrams(40, 3000, num_chance=3, num_decisions=2, max_states=3, zeros=0.4))
def test_count_is_that_of_the_enumeration(diagram):
    """With limits and without."""
    rng = np.random.default_rng(0)
    masks = {name: random_mask(rng, diagram, name) for name in diagram.decisions}
    listed = list(all_strategies(diagram))
    assert count_strategies(diagram).total == len(listed)
    allowed = {name: limits(diagram, name, mask) for name, mask in masks.items()}
    kept = [rules for rules in listed if all((rules[name] <= masks[name]).all() for name in rules)]
    count = count_strategies(diagram, allowed)
    assert count.total == len(kept)
    assert count.log10 == pytest.approx(math.log10(len(kept)), abs=1e-9)


def random_mask(rng, diagram, name):
    mask = rng.random(rule_shape(diagram, name)) < 0.6
    mask[..., 0] |= ~mask.any(axis=-1)
    return mask


def limits(diagram, name, mask):
    """A mask as a function of what is seen."""
    seen, actions = diagram.information(name), diagram.variables[name].states

    def allowed(*states):
        place = tuple(variable.index(state) for variable, state in zip(seen, states, strict=True))
        return [action for action, is_open in zip(actions, mask[place], strict=True) if is_open]

    return allowed


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_impossible_information_has_probability_zero_under_every_strategy(seed):
    """The states listed are exactly those that no deterministic strategy ever meets."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=3, num_decisions=2, zeros=0.5)
    everything = list(diagram.variables)
    met = {name: np.zeros(rule_shape(diagram, name)[:-1]) for name in diagram.decisions}
    for rules in all_strategies(diagram):
        joint = chance_array(diagram)
        for name, rule in rules.items():
            joint = joint * rule_array(diagram, name, rule)
        for name, decision in diagram.decisions.items():
            left = [item for item in everything if item in decision.sees]
            summed = joint.sum(axis=tuple(i for i, item in enumerate(everything) if item not in decision.sees))
            met[name] += np.transpose(summed, [left.index(item) for item in decision.sees])
    for name, found in impossible_information(diagram).items():
        listed = {tuple(item.index(state[item.name]) for item in diagram.information(name)) for state in found}
        assert listed == set(map(tuple, np.argwhere(met[name] == 0).tolist()))


def test_six_decisions_with_memory_have_more_strategies_than_a_float_can_count():
    """The shape of prenatal testing: tests and terminations in time, results of four states, all remembered."""
    names = ["cvs", "marker", "ultrasound", "amnio", "early", "late"]
    results = [f"{name} result" for name in names]
    blank = InfluenceDiagram(
        [],
        [Decision(name, 2) for name in names] + [Decision(result, 4) for result in results],
    )
    seen = {name: [*names[:place], *results[:place]] for place, name in enumerate(names)}
    count = count_strategies(blank.with_information(seen | dict.fromkeys(results, ())))
    expected = math.prod(2 ** (8**place) for place in range(6)) * 4**6
    assert count.total == expected
    assert count.log10 == pytest.approx(math.log10(2) * (sum(8**place for place in range(6)) + 12))
    assert str(count).endswith("strategies")
    reasonable = count_strategies(
        blank.with_information({"early": ["cvs result"]}), {"early": {result: [0] for result in range(3)}}
    )
    assert reasonable.rules[4].choices == ((1, 3), (2, 1))
    assert reasonable.rules[4].total == 2


def test_counts_too_long_to_write_keep_their_logarithm():
    """2^(2^40) has too many digits; its logarithm is exact enough."""
    count = RuleCount("D", ((2, 2**40),))
    assert count.log10 == pytest.approx(2**40 * math.log10(2))
    with pytest.raises(TooLarge, match=r"'D' has 10\^3.30986e\+11 rules"):
        count.total  # noqa: B018
    assert count_strategies(InfluenceDiagram()).total == 1


# --- limits ---


@pytest.mark.parametrize("diagram", small_diagrams(50, 600, True, num_chance=2, num_decisions=2, zeros=0.3))
def test_limited_diagram_has_the_best_of_the_allowed_strategies(diagram):
    """Its MEU equals the best over strategies that keep to the limits, and the tree without closed branches agrees."""
    rng = np.random.default_rng(0)
    masks = {name: random_mask(rng, diagram, name) for name in diagram.decisions}
    allowed = {name: limits(diagram, name, mask) for name, mask in masks.items()}
    kept = (rules for rules in all_strategies(diagram) if all((rules[name] <= masks[name]).all() for name in rules))
    best = max(expected_utility(diagram, rules) for rules in kept)
    limited = with_allowed_actions(diagram, allowed)
    assert best_value(limited) == pytest.approx(best, abs=1e-9)
    assert decision_tree(diagram, allowed).solve().expected_utility == pytest.approx(best, abs=1e-9)
    assert decision_tree(limited).solve().expected_utility == pytest.approx(best, abs=1e-9)


def test_limits_by_mapping_leave_open_what_is_not_listed():
    """Keys are states, or tuples where several things are seen."""
    diagram = entrepreneur_with_survey()
    mask = allowed_mask(diagram, "F", {("c1", "s0"): ["f0"]})
    assert mask.sum() == 15
    assert not mask[1, 0, 1]
    assert count_strategies(diagram, {"C": {(): ["c1"]}}).total == 256


def test_limits_that_make_no_sense_are_refused():
    """No action left, a stranger among the actions, text for a list, an unknown decision."""
    diagram = entrepreneur_with_survey()
    with pytest.raises(InvalidArgument, match="No action of 'C' is open"):
        allowed_mask(diagram, "C", lambda: [])
    with pytest.raises(UnknownState, match="'c9' is not a state"):
        allowed_mask(diagram, "C", lambda: ["c9"])
    with pytest.raises(InvalidArgument, match="a list, not 'c0'"):
        allowed_mask(diagram, "C", lambda: "c0")
    with pytest.raises(UnknownState, match=r"actions of 'F', at the key \('c1', 's9'\)"):
        allowed_mask(diagram, "F", {("c1", "s9"): ["f0"]})
    with pytest.raises(InvalidArgument, match=r"'s0', where the states of \['C', 'S'\] belong"):
        allowed_mask(diagram, "F", {"s0": ["f0"]})
    with pytest.raises(InvalidArgument, match=r"mapping from \(\), for it sees nothing"):
        allowed_mask(diagram, "C", ["c0"])
    with pytest.raises(InvalidModel, match=r"open actions of 'C' is a function of the states of \[\]"):
        allowed_mask(diagram, "C", lambda seen: ["c0"])
    with pytest.raises(InvalidArgument, match="are a list, not None"):
        allowed_mask(diagram, "C", lambda: None)
    with pytest.raises(UnknownVariable, match="'Q'"):
        count_strategies(diagram, {"Q": {}})
    with pytest.raises(UnknownVariable, match="'Q'"):
        with_allowed_actions(diagram, {"Q": {}})
    for limit in (with_allowed_actions, decision_tree):
        with pytest.raises(InvalidArgument, match=r"allowed= maps decisions to their open actions.*\['C'\]"):
            limit(diagram, ["C"])


def test_decisions_that_are_not_limited_are_passed_over():
    """At once, however much they see: nothing as large as their rule is made."""
    names = [f"X{i}" for i in range(200)]
    coins = [TableCPD(name, [0.5, 0.5]) for name in names]
    diagram = InfluenceDiagram(coins, [Decision("D", 2, sees=names), Decision("E", 2, sees=names[:2])])
    assert with_allowed_actions(diagram, {"D": {}, "E": lambda a, b: [1, 0]}) == diagram
    with pytest.raises(TooLarge, match="The open actions of 'D' over 201 variables"):
        with_allowed_actions(diagram, {"D": {(0,) * 200: [0]}})


def test_a_mapping_closes_what_its_keys_say_in_a_large_rule():
    """One entry of 2**21."""
    names = [f"X{i}" for i in range(20)]
    diagram = InfluenceDiagram([TableCPD(name, [0.5, 0.5]) for name in names], [Decision("D", 2, sees=names)])
    mask = allowed_mask(diagram, "D", {(0,) * 20: [1]})
    assert mask.size - mask.sum() == 1
    assert not mask[(0,) * 21]


# --- the gap ---


def test_share_of_the_gap():
    """64.7% of the gap between 87.85 and 98.77 is 94.915; the ends are 0 and 1."""
    assert share_of_gap(87.85 + 10.92, 87.85, 98.77) == pytest.approx(1.0)
    assert share_of_gap(94.915, 87.85, 98.77) == pytest.approx(0.647, abs=5e-4)
    assert (share_of_gap(1, 1, 3), share_of_gap(3, 1, 3), share_of_gap(2, 2, 2)) == (0.0, 1.0, 1.0)
    with pytest.raises(InvalidArgument, match="not between"):
        share_of_gap(4, 1, 3)


@pytest.mark.parametrize("seed", range(15))
def test_worst_strategy_is_the_best_of_the_negated_diagram(seed):
    """min EU = -max EU of the diagram with all signs changed."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=2, num_decisions=2)
    worst = min(expected_utility(diagram, rules) for rules in all_strategies(diagram))
    assert -best_value(with_negated_utilities(diagram)) == pytest.approx(worst, abs=1e-12)
    assert isinstance(with_negated_utilities(diagram).utilities["V0"], Utility)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_information_probabilities_are_those_of_the_network_under_random_actions(seed):
    """One clique tree tells what a query for each decision would; impossible states have exactly zero."""
    diagram = solving_oracle.random_diagram(np.random.default_rng(seed), 4, 3, 1, zeros=0.4)
    network = diagram.network(diagram.uniform_strategy())
    for name, factor in information_probabilities(diagram).items():
        sees = diagram.decisions[name].sees
        assert factor.names == sees
        expected = network.query(list(sees)).reorder(list(sees)).values if sees else 1.0
        np.testing.assert_allclose(factor.values, expected, atol=1e-12)
        assert ((factor.values == 0) == (np.asarray(expected) == 0)).all()


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_the_gap_is_between_the_least_and_the_largest_value_of_all_strategies(seed):
    diagram = solving_oracle.random_diagram(np.random.default_rng(seed), 3, 2, 2)
    assert solving_oracle.num_strategies(diagram) < 10_000
    values = solving_oracle.all_strategy_values(diagram)
    gap = utility_gap(diagram)
    assert (gap.worst, gap.best) == pytest.approx((values.min(), values.max()))
    assert gap.is_exact
    assert gap.share(gap.best_strategy) == pytest.approx(1.0)
    if gap.best > gap.worst + 1e-9:
        assert gap.share(gap.worst_strategy) == pytest.approx(0.0, abs=1e-9)
        mixed = diagram.uniform_strategy()
        expected = (diagram.expected_utility(mixed) - values.min()) / np.ptp(values)
        assert gap.share(mixed) == pytest.approx(expected)


@pytest.mark.parametrize("is_best_proved", [True, False])
def test_a_gap_is_exact_only_if_both_of_its_ends_are_proved(is_best_proved, monkeypatch):
    """The worst strategy is the best one of another diagram, asked for by itself."""
    solved = evaluating.Asked.solved

    def one_unproved(asked, diagram=None):
        found = solved(asked, diagram)
        return found if (diagram is None) == is_best_proved else replace(found, upper_bound=math.inf)

    monkeypatch.setattr(evaluating.Asked, "solved", one_unproved)
    gap = utility_gap(solving_oracle.random_diagram(np.random.default_rng(0), 3, 2, 2))
    assert not gap.is_exact
    assert str(gap).endswith("not proved.")


def test_a_strategy_of_another_diagram_has_no_place_in_the_gap():
    one, other = (solving_oracle.random_diagram(np.random.default_rng(seed), 3, 2, 2) for seed in (0, 1))
    with pytest.raises(InvalidArgument):
        utility_gap(one).share(other.uniform_strategy())


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_what_lies_beyond_the_best_is_refused_in_any_unit(unit):
    assert share_of_gap(0.5 * unit, 0.0, unit) == pytest.approx(0.5)
    with pytest.raises(InvalidArgument, match="not between"):
        share_of_gap(5 * unit, 0.0, unit)
