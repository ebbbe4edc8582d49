"""`plausible decide` and `plausible voi`: the best strategy, and what information is worth."""

from __future__ import annotations

import json

import pytest

import plausible as pb
from plausible.decisions import Decision, InfluenceDiagram
from plausible.utilities import Utility


@pytest.fixture
def market(tmp_path) -> str:
    """A file with W12: the market M, what a survey S would say, and whether to found (F)."""
    survey = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]]
    diagram = InfluenceDiagram(
        [
            pb.TableCPD("M", [0.5, 0.3, 0.2], states=["m0", "m1", "m2"]),
            pb.TableCPD("S", survey, ["M"], states=["s0", "s1", "s2"]),
        ],
        [Decision("F", ["f0", "f1"])],
        [Utility(["M", "F"], [[0, -7], [0, 5], [0, 20]], name="V"), Utility("F", [0, 0], name="effort")],
    )
    path = tmp_path / "market.json"
    pb.save(diagram, path)
    return str(path)


def _json(answer):
    code, text, errors = answer
    assert (code, errors) == (0, "")
    return json.loads(text)


def test_the_strategy_is_printed_with_its_worth(plausible, market):
    code, text, _ = plausible("decide", market)
    assert code == 0
    assert text.startswith("Expected utility 2, the maximum")
    found = _json(plausible("decide", market, "--json", "--method", "enumeration"))
    assert found["expected_utility"] == pytest.approx(2)
    assert found["optimal"] is True
    assert found["strategy"]["F"]["values"] == [0.0, 1.0]


def test_evidence_changes_the_strategy(plausible, market):
    found = _json(plausible("decide", market, "-e", "S=s0", "--json"))
    assert found["expected_utility"] == pytest.approx(0)
    assert found["strategy"]["F"]["values"] == [1.0, 0.0]


def test_a_policy_has_a_row_for_each_thing_that_may_be_seen(plausible):
    """The numbers are those of the text; what can't happen has no worth, and says so as null."""
    rows = _json(plausible("decide", "oil", "--json"))["policies"]["drill"]
    assert len(rows) == 8
    told = {(row["seen"]["seismic"], row["seen"]["test"]): row for row in rows}
    open_ = told["open", "yes"]
    assert (open_["action"], open_["expected_utility"]) == ("yes", pytest.approx(43 / 11))
    assert open_["probability"] == pytest.approx(0.33)
    assert told["none", "no"]["expected_utility"] == pytest.approx(11.5)  # not under this strategy
    assert told["open", "no"]["expected_utility"] is None
    assert sum(row["probability"] for row in rows) == pytest.approx(1)


@pytest.mark.parametrize("command", [("decide", "oil"), ("voi", "oil", "oil", "--decision", "drill")])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("test=yes", "--do test=yes."),
        ("test=yes|no", "--do test=action."),
        ("seismic=open", "--do test=... -e seismic=open."),
    ],
)
def test_what_comes_after_decisions_is_told_in_words_of_the_shell(plausible, command, given, told):
    """And what is told works."""
    code, _, errors = plausible(*command, "-e", given)
    assert (code, told in errors) == (2, True)
    assert "diagram." not in errors
    assert plausible(*command, "--do", "test=yes", "-e", "seismic=open")[0] == 0


def test_a_long_tornado_says_how_to_see_all_of_it(plausible):
    code, text, _ = plausible("decide", "exam", "--tornado", "0.2")
    assert code == 0
    assert "more rows" in text
    assert "All rows of the table: --all." in text
    whole = plausible("decide", "exam", "--tornado", "0.2", "--all")[1]
    assert "more rows" not in whole
    assert "--all" not in whole
    bars = _json(plausible("decide", "exam", "--tornado", "0.2", "--json"))["tornado"]
    assert all(bar["number"] in whole for bar in bars)
    assert "--all" not in plausible("decide", "entrepreneur", "--do", "C=skip", "--why", "F")[1]


def test_decisions_can_be_set(plausible):
    """The rest is the best given that; what is no decision, or no single action, is refused."""
    found = _json(plausible("decide", "oil", "--do", "test=no", "--json"))
    best = pb.examples.load("oil").with_rules({"test": "no"}).solve()
    assert found["expected_utility"] == pytest.approx(best.expected_utility)
    assert list(found["strategy"]) == ["drill"]
    for given, told in (("oil=dry", "'oil' is a chance variable"), ("test=no|yes", "to one action")):
        code, _, errors = plausible("decide", "oil", "--do", given)
        assert (code, told in errors) == (2, True)


def test_actions_numbers_and_bars_are_compared(plausible, market):
    found = _json(plausible("decide", market, "--why", "F", "--stability", "--tornado", "0.3", "--json"))
    assert found["comparison"]["actions"]["f1"]["parts"]["V"] == pytest.approx(2)
    loss = next(row for row in found["stability"] if row["number"] == "V(M=m0, F=f1)")
    assert (loss["low"], loss["high"]) == (pytest.approx(-11), "inf")
    bar = next(row for row in found["tornado"] if row["number"] == "P(M=m0)")
    assert [bar["at_low"], bar["at_high"]] == pytest.approx([4.7, 0])
    text = plausible("decide", market, "--why", "F", "--stability", "--tornado", "0.3")[1]
    assert "F=f1, ahead by 2" in text
    assert "P(M=m0)" in text


def test_the_value_of_variables_is_told_with_what_changes(plausible, market):
    found = _json(plausible("voi", market, "S", "--cost", "S=1", "--json"))
    assert found["value"] == pytest.approx(1.25)
    assert found["net_value"] == pytest.approx(0.25)
    assert (found["decision"], found["variables"]) == ("F", ["S"])
    assert (found["expected_utility_before"], found["expected_utility_after"]) == pytest.approx((2, 3.25))
    (change,) = found["changes"]
    assert [change.pop("probability"), change.pop("gain")] == pytest.approx([0.41, 1.25 / 0.41])
    assert change == {"decision": "F", "seen": {"S": "s0"}, "before": "f1", "after": "f0"}
    assert "worth 3.5" in plausible("voi", market, "M,S", "--decision", "F")[1]


def test_what_the_decision_sees_anyway_is_told_with_what_it_is_worth(plausible):
    assert plausible("voi", "oil", "seismic", "--decision", "drill")[1].startswith("drill already sees seismic,")
    found = _json(plausible("voi", "oil", "seismic", "--decision", "drill", "--json"))
    assert found["value"] == 0
    assert found["already_seen"] == {
        "variables": ["seismic"],
        "value": pytest.approx(5.25),
        "expected_utility_without": pytest.approx(11.5),
    }
    assert "already_seen" not in _json(plausible("voi", "oil", "oil", "--decision", "drill", "--json"))


def test_what_a_share_means_is_told_with_the_help(plausible):
    told = " ".join(plausible("decide", "--help")[1].split())
    assert "a probability of itself, a utility of the range of its table" in told


def test_variables_are_ranked_chosen_and_planned(plausible, market):
    ranked = _json(plausible("voi", market, "--cost", "S=1,M=4", "--json"))
    assert [row["variables"] for row in ranked["values"]] == [["S"], ["M"]]
    chosen = _json(plausible("voi", market, "--choose", "set", "--number", "1", "--cost", "1", "--json"))
    assert chosen["best"]["variables"] == ["M"]
    assert chosen["exact"] is True
    assert ranked["expected_utility"] == pytest.approx(2)
    plan = _json(plausible("voi", market, "--choose", "plan", "--cost", "S=0.5,M=3", "--json"))
    assert plan["without"] == pytest.approx(2)
    assert plan["plans"][0]["plan"]["look"] == "S"
    assert plan["plans"][0]["plan"]["branches"]["s0"]["action"] == "f0"
    assert (plan["decision"], plan["plans"][0]["plan"]["cost"]) == ("F", 0.5)
    assert plan["plans"][0]["probability"] == pytest.approx(1)
    assert sum(plan["plans"][0]["plan"]["probability"].values()) == pytest.approx(1)
    assert "look at" in plausible("voi", market, "--choose", "myopic-plan", "--cost", "0.5")[1]


def test_control_of_a_variable(plausible, market):
    found = _json(plausible("voi", market, "M", "--control", "--json"))
    assert found["value"] == pytest.approx(18)
    assert (found["expected_utility_before"], found["expected_utility_after"]) == pytest.approx((2, 20))
    assert [row["action"] for row in found["settings"]] == ["m2"]


def test_control_may_see_what_is_said(plausible):
    """By default what a variable depends on; blind control of what only tells does harm."""
    worth = [
        _json(plausible("voi", "oil", "seismic", "--control", *sees, "--json"))["value"]
        for sees in ((), ("--sees", "oil,test"), ("--sees", "test"), ("--sees", ""))
    ]
    assert worth == pytest.approx([38.75, 38.75, -5.25, -5.25])


def test_a_row_that_the_strategy_never_reaches_is_explained(plausible):
    code, text, _ = plausible("decide", "oil", "--why", "drill", "--seen", "seismic=none,test=no")
    assert code == 0
    assert "drill=yes where seismic=none, test=no is seen, ahead by 11.5:" in text
    assert "never gets there" in text
    code, _, errors = plausible("decide", "oil", "--why", "drill", "--seen", "seismic=closed,test=no")
    assert code == 2
    assert "'drill' never sees seismic=closed, test=no" in errors


def test_without_what_was_seen_the_average_is_told_with_what_could_be_said(plausible):
    text = plausible("decide", "oil", "--why", "drill")[1]
    assert "on average over seismic, test, as nothing is said of what was seen" in text
    assert "--seen seismic=...,test=..." in text
    assert "--recall" not in text  # nothing is forgotten
    assert "--seen" not in plausible("decide", "oil", "--why", "test")[1]


def test_a_long_analysis_draws_a_bar_if_asked_to(plausible, market):
    for arguments in (("decide", market, "--stability"), ("voi", market, "--choose", "set")):
        assert plausible(*arguments)[2] == ""
        assert "100%" in plausible(*arguments, "--progress")[2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("decide", "asia"), "influence diagram"),
        (("decide", "FILE", "--seen", "S=s0"), "--why"),
        (("decide", "FILE", "--method", "magic"), "magic"),
        (("decide", "FILE", "--all"), "--tornado 0.2 --all"),
        (("decide", "FILE", "--tornado", "-1"), "--tornado -1"),
        (("voi", "FILE", "--control"), "one variable"),
        (("voi", "FILE", "--choose", "bets"), "none of"),
        (("voi", "FILE", "M", "--cost", "S=1"), "'S'"),
        (("voi", "FILE", "M", "--cost", "M=dear"), "no cost"),
        (("voi", "FILE", "--cost", "1,M=2"), "names no variable"),
        (("voi", "FILE", "M", "--cost", "-3"), "--cost -3 is negative"),
        (("voi", "FILE", "--cost", "S=1,M=-2"), "--cost M=-2 is negative"),
        (("voi", "FILE", "Q"), "'Q'"),
        (("voi", "oil", "zzz"), "'zzz' is not a variable of this diagram"),
        (("voi", "oil", "oil"), "Say with --decision which"),
        (("voi", "FILE", "M", "--sees", "S"), "add --control"),
        (("voi", "FILE", "M", "--control", "--sees", "S"), "'S' depends on 'M'"),
    ],
)
def test_mistakes_are_one_line(plausible, market, arguments, told):
    code, text, errors = plausible(*(market if word == "FILE" else word for word in arguments))
    assert (code, text) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1


def test_the_ways_to_choose_are_listed_once(plausible, market):
    errors = plausible("voi", market, "--choose", "nothing-like-it")[2]
    assert errors.count("myopic-plan") == 1


def test_what_is_forgotten_is_told_and_can_be_remembered(plausible, tmp_path):
    """The second decision would use what only the first one sees."""
    diagram = pb.InfluenceDiagram(
        [pb.TableCPD("A", [0.5, 0.5])],
        [pb.Decision("first", 2, sees=["A"]), pb.Decision("second", 2, sees=["first"])],
        [pb.Utility(["A", "second"], [[10, 0], [0, 10]], name="hit"), pb.Utility("first", [3, 0], name="rest")],
    )
    path = str(tmp_path / "memory.json")
    pb.save(diagram, path)
    _, told, _ = plausible("decide", path)
    assert "second forgets A" in told
    _, told, _ = plausible("decide", path, "--recall")
    assert told.startswith("Expected utility 13,")
    assert "forgets" not in told


@pytest.mark.parametrize(
    ("options", "hint"),
    [(("--number", "1"), "--choose set"), (("M", "--control", "--choose", "set"), "leave one of them out")],
)
def test_options_that_would_do_nothing_are_refused(plausible, options, hint):
    code, _, errors = plausible("voi", "entrepreneur", *options)
    assert code == 2
    assert hint in errors
