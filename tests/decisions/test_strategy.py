"""Strategies as values: forms of rules, what they say and what is refused; the best action for each row of a table."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from decision_examples import entrepreneur_with_survey
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram, Strategy
from plausible.errors import InvalidArgument, PlausibleError, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.utilities import Utility
from seeds import few_of
from solving_oracle import full_tables

DIAGRAM = InfluenceDiagram(
    [TableCPD("sky", [0.6, 0.4], states=["blue", "grey"])],
    [Decision("umbrella", ["leave", "take"], sees=["sky"])],
)
SKY, UMBRELLA = DIAGRAM.variables["sky"], DIAGRAM.variables["umbrella"]


@pytest.mark.parametrize(
    "rule",
    [
        {"blue": "leave", "grey": "take"},
        lambda sky: "leave" if sky == "blue" else "take",
        Factor([SKY, UMBRELLA], np.eye(2)),
        Factor([UMBRELLA, SKY], np.eye(2)),
        TableCPD("umbrella", {"blue": [1, 0], "grey": [0, 1]}, parents=["sky"], states=["leave", "take"]),
    ],
    ids=["mapping", "function", "factor", "turned factor", "table CPD"],
)
def test_a_rule_can_be_written_in_many_ways(rule):
    """All are the factor over what is seen and the decision."""
    strategy = DIAGRAM.strategy({"umbrella": rule})
    assert strategy == DIAGRAM.strategy({"umbrella": {"blue": "leave", "grey": "take"}})
    np.testing.assert_array_equal(strategy["umbrella"].values, np.eye(2))
    assert strategy["umbrella"].names == ("sky", "umbrella")
    assert strategy.is_deterministic
    assert not strategy.is_fully_mixed
    assert [strategy.action("umbrella", {"sky": sky}) for sky in SKY.states] == ["leave", "take"]


def test_a_plain_action_is_taken_whatever_is_seen():
    """The constant rule."""
    strategy = DIAGRAM.strategy({"umbrella": "take"})
    np.testing.assert_array_equal(strategy["umbrella"].values, [[0, 1], [0, 1]])


def test_several_things_seen_are_keys_together():
    """A tuple in the order in which the decision sees them."""
    diagram = entrepreneur_with_survey()
    rule = {(c, s): "f1" if s in ("s1", "s2") else "f0" for c in ("c0", "c1") for s in ("s0", "s1", "s2", "none")}
    strategy = diagram.strategy({"C": "c1", "F": rule})
    assert strategy.action("F", {"S": "s1", "C": "c1"}) == "f1"
    assert strategy.action("C") == "c1"


def test_uniform_strategy_is_fully_mixed():
    """Every action has the same chance; no rule is deterministic, but that of a lone action."""
    uniform = entrepreneur_with_survey().uniform_strategy()
    assert uniform.is_fully_mixed
    assert not uniform.is_deterministic
    np.testing.assert_array_equal(uniform["F"].values, np.full((2, 4, 2), 0.5))
    lone = InfluenceDiagram(decisions=[Decision("D", ["go"])]).uniform_strategy()
    assert lone.is_deterministic
    assert lone.is_fully_mixed


def test_text_lists_the_rules():
    """One line for each thing seen; mixed actions with their chances; long rules are cut."""
    mixed = DIAGRAM.strategy({"umbrella": Factor([SKY, UMBRELLA], [[0.25, 0.75], [0, 1]])})
    assert str(mixed) == "umbrella\n  sky=blue: leave (0.25) or take (0.75)\n  sky=grey: take"
    assert str(InfluenceDiagram(decisions=[Decision("D", 2)]).strategy({"D": 1})) == "D\n  always: 1"
    wide = InfluenceDiagram([TableCPD("X", np.full(50, 0.02))], [Decision("D", 2, sees="X")]).uniform_strategy()
    assert str(wide).splitlines()[-1] == "  ... and 18 more"
    assert repr(mixed) == "Strategy(['umbrella'])"


def test_strategies_are_values():
    """Equal by content, hashed, pickled, edited by replacing rules."""
    strategy = DIAGRAM.strategy({"umbrella": "take"})
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert hash(strategy) == hash(DIAGRAM.strategy({"umbrella": "take"}))
    other = strategy.replace({"umbrella": DIAGRAM.uniform_strategy()["umbrella"]})
    assert other == DIAGRAM.uniform_strategy() != strategy
    assert (list(strategy), len(strategy)) == (["umbrella"], 1)
    with pytest.raises(UnknownVariable, match="this strategy"):
        strategy.replace({"coat": strategy["umbrella"]})


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({}, InvalidArgument, r"no rule for \['umbrella'\]"),
        ({"umbrela": "take"}, UnknownVariable, "Did you mean 'umbrella'"),
        ({"umbrella": "open"}, UnknownState, "'open' is not a state"),
        ({"umbrella": {"blue": "leave"}}, InvalidArgument, "says nothing for 'grey'"),
        ({"umbrella": Factor([SKY], [1, 0])}, InvalidArgument, r"is over \['sky'\], not over \['sky', 'umbrella'\]"),
        ({"umbrella": [0.5, 0.5]}, UnknownState, "A rule that mixes actions is a TableCPD or a Factor"),
        ({"umbrella": {"blue": "leave", "gray": "take"}}, InvalidArgument, "has 'gray', which sky can't be"),
        ({"umbrella": Factor([SKY, UMBRELLA], [[1, 1], [0, 1]])}, InvalidArgument, "'umbrella' for sky=blue sums to 2"),
        (
            {"umbrella": {"blue": "leave", "grey": "take", "gray": "take"}},
            InvalidArgument,
            "'gray', which sky can't be",
        ),
        ({"umbrella": lambda sky, wind: "take"}, PlausibleError, r"function of the states of \['sky'\].*'wind'"),
    ],
)
def test_rules_that_are_none_are_refused(rules, error, message):
    """Missing, misspelt, incomplete, over the wrong things, or no distributions."""
    with pytest.raises(error, match=message):
        DIAGRAM.strategy(rules)


def test_action_needs_all_that_is_seen():
    """The error names what is missing."""
    with pytest.raises(InvalidArgument, match=r"also sees \['sky'\]"):
        DIAGRAM.strategy({"umbrella": "take"}).action("umbrella")
    with pytest.raises(InvalidArgument, match=r"does not see 'skyy'\. Did you mean 'sky'"):
        DIAGRAM.strategy({"umbrella": "take"}).action("umbrella", {"skyy": "grey"})
    with pytest.raises(UnknownVariable, match="'coat'"):
        Strategy({})["coat"]


def test_a_strategy_is_made_of_factors_over_what_is_seen_and_the_decision():
    """Anything else is refused where it is put in, not where it is used."""
    for rule in ("take", Factor([SKY], [1, 0])):
        with pytest.raises(InvalidArgument, match="The rule of 'umbrella' is a factor over what is seen"):
            Strategy({"umbrella": rule})
    turned = Strategy({"umbrella": Factor([UMBRELLA, SKY], [[1, 0], [0, 1]])})
    assert str(turned) == "umbrella\n  sky=blue: leave\n  sky=grey: take"


def test_what_sees_nothing_needs_no_mapping():
    """The error says to write the action itself."""
    blind = DIAGRAM.with_information({"umbrella": []})
    with pytest.raises(InvalidArgument, match="'umbrella' sees nothing: its rule is one action"):
        blind.strategy({"umbrella": {(): "take"}})


def test_a_wrong_action_is_told_with_what_is_seen_where_that_matters():
    """A constant is wrong whatever is seen, a mapping in one place; what can't be a state is no state either."""
    with pytest.raises(UnknownState, match=r"The rule of 'umbrella': 'tke' is not a state"):
        DIAGRAM.strategy({"umbrella": "tke"})
    with pytest.raises(UnknownState, match=r"The rule of 'umbrella' for \('grey',\): \['take'\] is not a state"):
        DIAGRAM.strategy({"umbrella": {"blue": "leave", "grey": ["take"]}})
    with pytest.raises(UnknownVariable, match="'sky' has no rule in this strategy"):
        DIAGRAM.uniform_strategy()["sky"]


def test_a_constant_action_is_read_without_going_through_what_is_seen():
    """Two to the power of 18 information states, and no state is asked for: the number of actions read is one."""
    names = [f"X{i}" for i in range(18)]
    diagram = InfluenceDiagram([TableCPD(name, [0.5, 0.5]) for name in names], [Decision("D", 3, sees=names)])
    rule = diagram.strategy({"D": 2})["D"]
    assert rule.values[..., 2].all()
    assert not rule.values[..., :2].any()


def test_naming_a_node_of_another_kind_says_what_it_is():
    diagram = InfluenceDiagram([TableCPD("X", [0.5, 0.5])], [Decision("D", 2)], [Utility("D", [0, 1], name="V")])
    for name, kind in (("X", "a chance variable, "), ("V", "a utility, "), ("Z", "")):
        with pytest.raises(UnknownVariable, match=f"'{name}' is {kind}not a decision of this diagram. Known: 'D'"):
            diagram.decision(name)


def _bet(chances, states, actions, gains):
    chance = pb.TableCPD("x", chances, states=states)
    return pb.InfluenceDiagram([chance], [pb.Decision("D", actions, sees=["x"])], [pb.Utility(["x", "D"], gains)])


def test_a_strategy_of_a_diagram_with_other_states_is_refused_everywhere():
    """The same problem, its states and actions in another order: rules are not read by position."""
    one = _bet([0.3, 0.7], ["no", "yes"], ["stay", "go"], [[1, 0], [0, 2]])
    other = _bet([0.7, 0.3], ["yes", "no"], ["go", "stay"], [[2, 0], [0, 1]])
    assert one.expected_utility({"D": "go"}) == pytest.approx(other.expected_utility({"D": "go"}))
    strategy = one.strategy({"D": "go"})
    questions = (
        *(other.expected_utility, other.utility_parts, other.network, other.with_rules, other.strategy),
        *(other.local_optimality_test, other.risk_profile),
    )
    for question in questions:
        with pytest.raises(InvalidArgument, match=r"'x' with the states \['no', 'yes'\]; here it has \['yes', 'no'\]"):
            question(strategy)


@pytest.mark.parametrize("rows", [[[1, 0], [30, 0]], [[2, 2], [2, 2]], [[0, 0], [1, 0]], [[-1, 2], [1, 0]]])
def test_rules_that_are_no_distributions_are_refused_by_every_question(rows):
    diagram = _bet([0.3, 0.7], 2, 2, [[1, 0], [0, 2]])
    strategy = pb.Strategy({"D": Factor([diagram.variables["x"], diagram.variables["D"]], rows)})
    for question in (diagram.expected_utility, diagram.utility_parts, diagram.local_optimality_test, diagram.network):
        with pytest.raises(InvalidArgument, match="rule of 'D' for x="):
            question(strategy)


def test_the_strategy_of_a_solution_is_taken_by_every_question_however_much_is_seen():
    """13 things seen, one of them of use: the rule is over that one, and a network can be made of it."""
    names = [f"x{i}" for i in range(13)]
    chance = [pb.TableCPD(name, [0.4, 0.6]) for name in names]
    utility = pb.Utility(["x0", "D"], [[1, 0], [0, 2]])
    diagram = pb.InfluenceDiagram(chance, [pb.Decision("D", 2, sees=names)], [utility])
    strategy = diagram.solve().strategy
    assert diagram.network(strategy).query("D").values == pytest.approx([0.4, 0.6])
    assert diagram.expected_utility(diagram.strategy(strategy)) == pytest.approx(1.6)
    assert list(diagram.with_rules(strategy).decisions) == []


def test_forty_things_seen_are_too_many_at_once():
    """Refused before anything is allocated, with the decision's name; one action needs no table."""
    names = [f"x{i}" for i in range(40)]
    chance = [pb.TableCPD(name, [0.4, 0.6]) for name in names]
    utilities = [pb.Utility([name, "D"], [[1, 0], [0, 2]], name=f"u {name}") for name in names]
    diagram = pb.InfluenceDiagram(chance, [pb.Decision("D", 2, sees=names)], utilities)
    with pytest.raises(pb.errors.TooLarge, match="rule of 'D'"):
        diagram.solve()
    assert diagram.expected_utility({"D": 1}) == pytest.approx(40 * 0.6 * 2)
    assert diagram.expected_utility(diagram.uniform_strategy()) == pytest.approx(40 * (0.2 + 0.6))
    with pytest.raises(pb.errors.TooLarge, match="rule of 'D'"):
        diagram.strategy({"D": lambda *seen: 0})


def _random_problem(seed: int) -> pb.InfluenceDiagram:
    """One decision that sees three variables, of one to three states; some combinations are impossible."""
    rng = np.random.default_rng(seed)
    hidden = pb.TableCPD("H", rng.dirichlet(np.ones(3)), states=3)
    seen = []
    for name, size in (("A", 2), ("B", 3), ("C", 1)):
        rows = rng.random((3, size)) * (rng.random((3, size)) > 0.3)
        rows[:, 0] += rows.sum(axis=1) == 0
        seen.append(pb.TableCPD(name, rows / rows.sum(axis=1, keepdims=True), ["H"], states=size))
    worth = pb.Utility(["H", "D"], rng.normal(size=(3, 3)))
    return pb.InfluenceDiagram([hidden, *seen], [pb.Decision("D", ["x", "y", "z"], sees=["A", "B", "C"])], [worth])


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_each_row_gets_the_best_action_knowing_what_it_tells(seed):
    """argmax_d Σ_h P(h | row) U(h, d) on the full joint, for every pattern of missing cells."""
    diagram = _random_problem(seed)
    joint, utility = full_tables(diagram)
    cells = [(*variable.states, None) for variable in diagram.information("D")]
    rows = pd.DataFrame(list(product(*cells)), columns=["A", "B", "C"], index=np.arange(100, 124), dtype=object)
    found = diagram.solve().policies["D"].decide(rows.assign(other="not looked at"))
    assert list(found.index) == list(rows.index)
    names = list(diagram.variables)
    for (_, row), (_, told) in zip(rows.iterrows(), found.iterrows(), strict=True):
        place = tuple(slice(None) if row.get(n) is None else diagram.variables[n].index(row[n]) for n in names)
        weights, gains = (np.broadcast_to(t, utility.shape)[place].reshape(-1, 3) for t in (joint, utility))
        if weights.sum() == 0:
            assert pd.isna(told["D"])
            assert np.isnan(told["expected_utility"])
            continue
        expected = (weights * gains).sum(axis=0) / weights.sum(axis=0)
        assert told["expected_utility"] == pytest.approx(expected.max())
        assert expected["xyz".index(told["D"])] == pytest.approx(expected.max())


def test_rows_may_be_a_mapping_or_empty_and_strange_states_are_refused():
    policy = _random_problem(0).solve().policies["D"]
    assert list(policy.decide({"A": [0, None]})) == ["D", "expected_utility"]
    assert len(policy.decide(pd.DataFrame({"A": []}))) == 0
    with pytest.raises(UnknownState, match="7"):
        policy.decide({"A": [7]})


def test_a_row_given_to_a_strategy_is_told_where_rows_go():
    diagram = _random_problem(0)
    row = pd.Series({"A": 0, "B": 0, "C": 0})
    with pytest.raises(InvalidArgument, match=r"not a Series; for rows of a table see solution.policies\['D'\].decide"):
        diagram.solve().strategy.action("D", row)


def test_notes_of_cases_are_in_the_frame():
    """What can't happen is no recommendation."""
    policy = pb.examples.load("oil").solve().policies["drill"]
    frame = policy.to_frame()
    assert set(frame["note"]) == {"", "can't happen", "not under this strategy"}
    assert (frame["note"] == "can't happen").sum() == len(policy.impossible)
