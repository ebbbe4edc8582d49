"""The value of control, and of samples, against diagrams in which they are written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from decision_examples import surveyed
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.information.observing import observing
from plausible.decisions.information.samples import SampleOptions, value_of_sample
from plausible.decisions.information.value import value_of_control
from plausible.errors import InvalidArgument, InvalidEvidence, TooLarge, UnknownVariable
from plausible.utilities import Utility
from solving_oracle import all_strategy_values, num_strategies, random_diagram

SURVEY = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]]


# --- control ---


def test_control_of_the_market_is_worth_18():
    found = surveyed().value_of_control("M", cost=3)
    assert found.value == pytest.approx(18.0)
    assert found.net_value == pytest.approx(15.0)
    assert found.after.strategy.action("M") == "m2"
    assert "m2" in str(found)


def test_control_of_a_survey_that_only_tells_is_worth_nothing_and_blind_control_may_do_harm():
    """S is seen: set by hand it says nothing about the market any more."""
    diagram = surveyed().with_information({"F": ["S"]})
    assert diagram.value_of_control("S", sees=()).value == pytest.approx(-1.25)
    assert diagram.value_of_control("S").value == pytest.approx(5.5 - 3.25)  # whoever sets it sees M, and tells F


@given(seed=st.integers(0, 10_000))
@settings(max_examples=16, deadline=None)
def test_control_is_the_difference_of_the_maxima_and_never_negative_given_the_parents(seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 1, 2)
    name = str(rng.choice(list(diagram.chance)))
    cpd = diagram.chance[name]
    controlled = diagram.with_decision(Decision(cpd.variable, sees=cpd.parent_names))
    if num_strategies(controlled) > 3000:
        return
    found = value_of_control(diagram, name)
    assert found.value == pytest.approx(all_strategy_values(controlled).max() - all_strategy_values(diagram).max())
    assert found.value >= -1e-9


def test_what_can_not_be_controlled_or_known_is_refused():
    diagram = surveyed()
    with pytest.raises(UnknownVariable):
        diagram.value_of_control("F")
    with pytest.raises(InvalidArgument, match="depends on"):
        diagram.value_of_control("M", sees=["S"])
    with pytest.raises(InvalidEvidence):
        diagram.value_of_control("M", evidence={"S": "s0"})


# --- samples ---


def _with_copies(size: int) -> InfluenceDiagram:
    diagram = surveyed()
    for number in range(size):
        diagram = diagram.with_chance(pb.TableCPD(f"S{number}", SURVEY, ["M"]))
    return diagram


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_sample_is_worth_what_that_many_copies_are(size):
    exact = _with_copies(size).value_of_information([f"S{number}" for number in range(size)]).value
    found = value_of_sample(surveyed(), "S", size)
    assert found.is_exact
    assert found.value == pytest.approx(exact)
    assert (found.standard_error, found.num_samples) == (0.0, (size + 1) * (size + 2) // 2)


@pytest.fixture
def drawn(monkeypatch) -> None:
    """Data sets are drawn, however few there are."""
    monkeypatch.setattr("plausible.decisions.information.samples._MAX_NUMBERS", 0)
    monkeypatch.setattr("plausible.decisions.information.samples._MAX_STATES", 0)


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_the_mean_over_data_sets_that_are_drawn_is_an_estimate_of_that(size):
    exact = _with_copies(size).value_of_information([f"S{number}" for number in range(size)]).value
    found = value_of_sample(surveyed(), "S", size, options=SampleOptions(20_000, seed=3))
    assert abs(found.value - exact) <= 4 * found.standard_error + 1e-12
    assert found.standard_error < 0.05
    assert found.num_samples == 20_000
    assert not found.is_exact


def _copied(diagram: InfluenceDiagram, name: str, size: int) -> InfluenceDiagram:
    """The diagram with copies of a variable that have the same parents."""
    factor = diagram.chance[name].to_factor()
    for number in range(size):
        copy = pb.Variable(f"copy{number}", factor.scope[-1].num_states)
        diagram = diagram.with_chance(pb.TableCPD(copy, factor.values, factor.scope[:-1]))
    return diagram


def _sampled(rng: np.random.Generator, **form) -> tuple[InfluenceDiagram, str, str]:
    """A diagram with two decisions, one of them, and a variable of which it could see copies."""
    while True:
        diagram = random_diagram(rng, 3, 2, 2, **form)
        decision = str(rng.choice(list(diagram.decisions)))
        after = diagram.graph.descendants(decision)
        free = [n for n in diagram.chance if not {n, *diagram.chance[n].parent_names} & {*after, decision}]
        if free:
            return diagram, decision, str(rng.choice(free))


@given(seed=st.integers(0, 10_000), recall=st.booleans())
@settings(max_examples=12, deadline=None)
def test_a_sample_before_several_decisions_is_worth_what_its_copies_are_to_all_strategies(seed, recall):
    """At the first decision or a later one, with perfect recall or without."""
    diagram, decision, name = _sampled(np.random.default_rng(seed), recall=recall)
    informed = observing(_copied(diagram, name, 2), ["copy0", "copy1"], decision)
    if num_strategies(informed) > 5000:
        return
    found = value_of_sample(diagram, name, 2, decision)
    expected = all_strategy_values(informed).max() - all_strategy_values(diagram).max()
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.is_exact


@pytest.mark.parametrize("seed", range(6))
def test_data_sets_drawn_before_several_decisions_give_an_estimate_of_that(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    diagram, _, name = _sampled(rng, recall=True)
    evidence = {name: pb.likelihood(rng.random(diagram.variables[name].num_states) + 0.5)} if seed % 2 else None
    first = diagram.recall().order[0]
    if {name, *diagram.chance[name].parent_names} & diagram.graph.descendants(first):
        return
    exact = value_of_sample(diagram, name, 3, first, evidence=evidence)
    monkeypatch.setattr("plausible.decisions.information.samples._MAX_STATES", 0)
    found = value_of_sample(diagram, name, 3, first, evidence=evidence, options=SampleOptions(400, seed=1))
    assert abs(found.value - exact.value) <= 4 * found.standard_error + 1e-9
    assert (found.num_samples, found.is_exact) == (400, False)


@pytest.mark.usefixtures("drawn")
def test_data_sets_are_not_drawn_where_a_decision_comes_before_those_that_see_them():
    """It would know them, too."""
    chance = [pb.TableCPD("X", [0.5, 0.5]), pb.TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], ["X"])]
    decisions = [Decision("early", 2), Decision("late", 2, sees=["early"])]
    diagram = InfluenceDiagram(
        chance, decisions, [Utility(["X", "early", "late"], np.eye(4).reshape(2, 2, 4)[..., :2])]
    )
    with pytest.raises(TooLarge, match="'early'"):
        value_of_sample(diagram, "Y", 2, "late")
    assert value_of_sample(diagram, "Y", 2, "early", options=SampleOptions(10)).num_samples == 10


@pytest.mark.parametrize("is_drawn", [False, True])
def test_what_the_decision_sees_anyway_is_taken_into_account(is_drawn, request):
    """One more survey, where one is there already."""
    if is_drawn:
        request.getfixturevalue("drawn")
    diagram = _with_copies(1).with_information({"F": ["S0"]})
    exact = _with_copies(2).with_information({"F": ["S0"]}).value_of_information("S1").value
    found = value_of_sample(diagram, "S", 1, options=SampleOptions(20_000, seed=4))
    assert abs(found.value - exact) <= 4 * found.standard_error + 1e-12
    assert value_of_sample(diagram.with_information({"F": ["M"]}), "S", 5).value == 0


def test_a_large_sample_is_worth_as_much_as_knowing_the_parents():
    found = value_of_sample(surveyed(), "S", 10_000, cost=1.0, options=SampleOptions(20_000, seed=5))
    assert abs(found.value - 3.5) <= 4 * found.standard_error
    assert found.net_value == pytest.approx(found.value - 1)


@pytest.mark.parametrize("is_drawn", [False, True])
def test_zeros_among_the_probabilities_rule_parents_out(is_drawn, request):
    if is_drawn:
        request.getfixturevalue("drawn")
    diagram = surveyed().with_chance(pb.TableCPD("S", [[1, 0], [0.5, 0.5], [0, 1]], ["M"]))
    diagram = diagram.with_chance(pb.TableCPD("M", [0.7, 0.3, 0.0], states=["m0", "m1", "m2"]))
    exact = diagram.value_of_information("S").value
    found = value_of_sample(diagram, "S", 1, options=SampleOptions(20_000, seed=6))
    assert abs(found.value - exact) <= 4 * found.standard_error + 1e-12


@pytest.mark.usefixtures("drawn")
def test_samples_are_the_same_for_a_seed_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr("plausible.decisions.information.samples._BLOCK", 900)
    told = []
    options = SampleOptions(1000, seed=7, progress=lambda state: told.append(state) or len(told) == 3)
    found = value_of_sample(surveyed(), "S", 2, options=options)
    assert found.num_samples == told[-1].num_samples == 300
    assert told[-1].value == pytest.approx(found.value)
    again = value_of_sample(surveyed(), "S", 2, options=SampleOptions(300, seed=7))
    assert again.value == found.value
    assert value_of_sample(surveyed(), "S", 2, options=SampleOptions(1000, time_limit=0.0)).num_samples == 100


def test_samples_that_make_no_sense_are_refused():
    with pytest.raises(UnknownVariable):
        value_of_sample(surveyed(), "F", 2)
    with pytest.raises(InvalidArgument, match="size"):
        value_of_sample(surveyed(), "S", -1)
    with pytest.raises(UnknownVariable, match="'V' is a utility of this diagram"):
        value_of_sample(surveyed(), "V", 2)
    late = InfluenceDiagram([pb.TableCPD("X", np.eye(2), ["D"])], [Decision("D", 2)], [])
    with pytest.raises(InvalidArgument, match="comes after"):
        value_of_sample(late, "X", 2)


def test_copies_of_a_root_are_worth_nothing_and_that_is_told():
    """They are independent of it; copies of what depends on it are another matter."""
    found = value_of_sample(surveyed(), "M", 2)
    assert (found.value, found.tells_about) == (0, ())
    assert "M has no parents, so that independent copies of it say nothing about it" in str(found)
    survey = value_of_sample(surveyed(), "S", 2)
    assert survey.tells_about == ("M",)
    assert "no parents" not in str(survey)
