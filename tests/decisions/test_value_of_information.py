"""The value of information is the difference of two maxima over all strategies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from decision_examples import surveyed
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.information import ranking
from plausible.decisions.information.observing import observing
from plausible.decisions.information.ranking import rank_observations
from plausible.decisions.information.value import action_changes, value_of_information
from plausible.decisions.solving.problem import Task, read_problem, read_structure
from plausible.decisions.solving.solution import FoundRules, finish
from plausible.decisions.structure.edits import with_optional_observation
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge, UnknownVariable
from plausible.utilities import Utility
from refusals import refuses
from solving_oracle import all_strategy_values, num_strategies, random_diagram


def coins() -> InfluenceDiagram:
    """Whether two coins agree: each alone says nothing."""
    tosses = [pb.TableCPD(name, [0.5, 0.5]) for name in ("A", "B")]
    return InfluenceDiagram(
        tosses, [Decision("G", 2)], [Utility(["A", "B", "G"], lambda a, b, g: 1.0 * (g == (a == b)))]
    )


def best(diagram: InfluenceDiagram, weights: np.ndarray | float = 1.0) -> float:
    return float(all_strategy_values(diagram, weights).max())


# --- worked numbers ---


def test_the_survey_is_worth_1_25_and_the_market_3_5():
    """W12; the 1.22 that is printed elsewhere does not follow from the inputs (trap T1)."""
    diagram = surveyed()
    survey = diagram.value_of_information("S", decision="F", cost=1.0)
    assert survey.value == pytest.approx(1.25)
    assert survey.net_value == pytest.approx(0.25)
    assert survey.is_worthwhile
    assert survey.is_exact
    assert survey.after.expected_utility == pytest.approx(3.25)
    assert diagram.value_of_information("M").value == pytest.approx(3.5)


def test_what_changes_is_told_with_where_and_how_much_it_brings():
    (change,) = surveyed().value_of_information("S").changes
    assert (change.decision, dict(change.seen), change.before, change.after) == ("F", {"S": "s0"}, "f1", "f0")
    assert change.probability == pytest.approx(0.41)
    assert change.gain == pytest.approx(1.25 / 0.41)


def test_the_choice_to_observe_agrees_with_the_net_value():
    """Item 100: looking is chosen exactly where the cost is below the break-even cost."""
    diagram = surveyed()
    value = diagram.value_of_information("S").value
    for cost in (value - 0.01, value + 0.01):
        solution = with_optional_observation(diagram, "S", cost, "F").solve()
        assert solution.strategy.action("observe S") == ("yes" if cost < value else "no")
        assert solution.expected_utility == pytest.approx(2.0 + max(0.0, value - cost))


def test_values_do_not_add_up():
    """Worth nothing alone and something together; or twice the same."""
    diagram = coins()
    assert diagram.value_of_information("A").value == diagram.value_of_information("B").value == 0
    assert diagram.value_of_information(["A", "B"]).value == pytest.approx(0.5)
    copy = surveyed().with_chance(pb.TableCPD("copy", np.eye(3), ["S"]))
    both = copy.value_of_information(["S", "copy"]).value
    assert both == pytest.approx(1.25)
    assert copy.value_of_information("copy").value == pytest.approx(1.25)


# --- against all strategies ---


def _informed(diagram: InfluenceDiagram, variables: tuple[str, ...], decision: str) -> InfluenceDiagram:
    """The definition, written out: the decision and whatever has to come after it sees the variables."""
    for name in [decision, *(other for other in diagram.decisions if other != decision)]:
        if name == decision or name in diagram.graph.descendants(decision):
            sees = diagram.decisions[name].sees
            diagram = diagram.with_information({name: (*sees, *(v for v in variables if v not in sees))})
    return diagram


@given(seed=st.integers(0, 10_000), number=st.integers(1, 2))
@settings(max_examples=16, deadline=None)
def test_the_value_is_the_difference_of_the_maxima_over_all_strategies(seed, number):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 2, 3, recall=True)
    first = next(str(n) for n in diagram.graph.topological_order if n in diagram.decisions)
    free = [name for name in diagram.chance if name not in diagram.graph.descendants(first)]
    variables = tuple(str(name) for name in rng.permutation(free)[:number])
    extended = _informed(diagram, variables, first)
    if not variables or num_strategies(extended) > 3000:
        return
    found = value_of_information(diagram, variables, first)
    assert found.value == pytest.approx(best(extended) - best(diagram), abs=1e-9)
    assert found.value >= 0
    assert (found.value > 0) == bool(found.changes)
    assert all(change.probability > 0 and change.before != change.after for change in found.changes)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=16, deadline=None)
def test_with_one_decision_the_value_is_the_sum_of_the_gains_of_the_changes(seed):
    """VPI = Σ P(seen) gain(seen): zero exactly where no action changes."""
    diagram = random_diagram(np.random.default_rng(seed), 4, 1, 3)
    (decision,) = diagram.decisions
    for name in diagram.chance:
        if name not in diagram.graph.descendants(decision):
            found = value_of_information(diagram, name)
            assert sum(c.probability * c.gain for c in found.changes) == pytest.approx(found.value, abs=1e-9)


@given(seed=st.integers(0, 10_000), with_evidence=st.booleans())
@settings(max_examples=20, deadline=None)
def test_all_values_from_one_tree_are_those_one_by_one(seed, with_evidence):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 5, 1, 3)
    (decision,) = diagram.decisions
    before = [name for name in diagram.chance if name not in diagram.graph.descendants(decision)]
    evidence = {before[0]: pb.likelihood(rng.random(diagram.variables[before[0]].num_states) + 0.1)} if before else {}
    evidence = evidence if with_evidence else {}
    ranked = rank_observations(diagram, evidence=evidence)
    assert {v.variables[0] for v in ranked.values} == set(before) - set(diagram.decisions[decision].sees)
    for found in ranked.values:
        alone = value_of_information(diagram, found.variables, evidence=evidence)
        assert found.value == pytest.approx(alone.value, abs=1e-9)
    nets = [found.net_value for found in ranked.values]
    assert nets == sorted(nets, reverse=True)


def test_variables_in_place_of_a_decision_are_told_where_they_belong():
    """An only decision need not be named; variables to choose from have a name of their own."""
    diagram = random_diagram(np.random.default_rng(0), 5, 1, 3)
    names = [value.variables[0] for value in rank_observations(diagram).values]
    assert {v.variables[0] for v in rank_observations(diagram, candidates=names[:1]).values} == set(names[:1])
    refuses(InvalidArgument, "given as candidates=", rank_observations, diagram, names)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_the_ranking_of_several_decisions_is_that_one_by_one(seed):
    diagram = random_diagram(np.random.default_rng(seed), 3, 2, 2, recall=True)
    for decision in diagram.decisions:
        for found in rank_observations(diagram, decision).values:
            assert found.value == pytest.approx(value_of_information(diagram, found.variables, decision).value)


def test_the_ranking_falls_back_to_single_solutions_where_the_tree_is_too_large(monkeypatch):
    expected = rank_observations(surveyed())

    def too_large(*_):
        raise TooLarge("no")

    monkeypatch.setattr(ranking, "seen_tables", too_large)
    assert [v.value for v in rank_observations(surveyed()).values] == pytest.approx([v.value for v in expected.values])


def test_a_ranking_knows_the_best_and_refuses_what_it_has_not():
    ranked = rank_observations(surveyed(), costs={"M": 3.0, "S": 1.0})
    assert ranked.best == ranked["M"]
    assert ranked["S"].net_value == pytest.approx(0.25)
    assert rank_observations(surveyed(), costs=4.0).best is None
    with pytest.raises(UnknownVariable):
        ranked["F"]
    assert str(rank_observations(InfluenceDiagram([], [Decision("D", 2)], []))).endswith("There is nothing to observe.")


def test_what_a_decision_influences_cannot_be_ranked_before_it():
    """Its effect would tell of the decision itself; by default it is no candidate."""
    chance = [pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("E", [[0.9, 0.1], [0.2, 0.8]], ["D"], states=2)]
    diagram = InfluenceDiagram(chance, [Decision("D", 2)], [Utility(["A", "E"], np.eye(2))])
    assert [value.variables for value in rank_observations(diagram).values] == [("A",)]
    for candidates in (["E"], ["A", "E"], ["D"]):
        refuses(InvalidArgument, "can't be seen at 'D'", rank_observations, diagram, candidates=candidates)


def test_evidence_on_a_common_effect_makes_another_cause_worth_knowing():
    causes = [pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [0.5, 0.5])]
    effect = pb.TableCPD("E", [[[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]]], ["A", "B"])
    diagram = InfluenceDiagram([*causes, effect], [Decision("D", 2)], [Utility(["B", "D"], np.eye(2))])
    assert rank_observations(diagram)["A"].value == 0
    posterior = np.array([[0.1, 0.8], [0.8, 0.1]]) / 1.8
    expected = posterior.max(axis=1).sum() - posterior.sum(axis=0).max()
    assert rank_observations(diagram, evidence={"E": 1})["A"].value == pytest.approx(expected)


def test_changes_between_actions_as_good_are_told_where_there_are_no_others():
    """Only for what can happen."""
    chance, utility = [pb.TableCPD("X", [1.0, 0.0])], Utility(["X", "D"], np.ones((2, 2)))
    diagram = InfluenceDiagram(chance, [Decision("D", 2, sees=["X"])], [utility])
    task = Task(diagram, {}, read_structure(diagram, {}), read_problem(diagram, {}, {"D": ("X",)}))
    before, after = (finish(task, FoundRules({"D": np.eye(2)[[action, action]]}, None, "by hand")) for action in (0, 1))
    (change,) = action_changes(diagram, before, after)
    assert (dict(change.seen), change.gain, change.probability) == ({"X": 0}, 0.0, 1.0)


# --- what is seen anyway ---


@given(seed=st.integers(0, 10_000))
@settings(max_examples=16, deadline=None)
def test_what_is_seen_anyway_is_worth_the_difference_to_the_maximum_without_it(seed):
    """Over all strategies, where neither the decision nor any after it sees the variables."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 2, 3, recall=bool(rng.integers(2)))
    for name, decision in diagram.decisions.items():
        later = [name, *(other for other in diagram.decisions if other in diagram.graph.descendants(name))]
        order = diagram.recall().order
        if not decision.sees or len(later) != len(order) - order.index(name) or num_strategies(diagram) > 3000:
            continue
        seen = tuple(str(n) for n in rng.permutation(decision.sees)[: rng.integers(1, 3)])
        less = {other: [n for n in diagram.decisions[other].sees if n not in seen] for other in later}
        found = value_of_information(diagram, seen, name).already_seen
        assert set(found.variables) == set(seen)
        assert found.value == pytest.approx(best(diagram) - best(diagram.with_information(less)), abs=1e-9)
        assert found.value >= 0


def test_the_value_of_what_is_seen_is_that_of_seeing_it_in_the_diagram_without():
    blind = surveyed()
    seeing = blind.with_information({"F": ["S"]})
    found = seeing.value_of_information(["S", "M"])
    assert found.already_seen.variables == ("S",)
    assert found.already_seen.value == pytest.approx(blind.value_of_information("S").value)
    assert found.already_seen.without.expected_utility == pytest.approx(2.0)
    assert found.value == pytest.approx(5.5 - 3.25)
    assert str(found).splitlines()[:2] == [
        "F already sees S, and that is worth 1.25: expected utility 3.25 instead of 2 without it.",
        "Seeing S, M at F is worth 2.25: expected utility 5.5 instead of 3.25.",
    ]
    assert blind.value_of_information("S").already_seen is None


def test_a_test_that_the_decision_sees_is_told_with_what_it_is_worth():
    """Without the test the driller would get 0.55·(-80) + 0.3·60 + 0.15·250 = 11.5."""
    oil = pb.examples.load("oil")
    assert str(oil.value_of_information("seismic", "drill")) == (
        "drill already sees seismic, and that is worth 5.25: expected utility 16.75 instead of 11.5 without it.\n"
        "Seeing it once more is worth 0."
    )
    assert str(oil.value_of_information("seismic", "drill", cost=2)) == (
        "drill already sees seismic, and that is worth 5.25: expected utility 16.75 instead of 11.5 without it.\n"
        "At a cost of 2 it pays: net 3.25.\n"
        "Seeing it once more is worth 0."
    )
    useless = surveyed().with_chance(pb.TableCPD("far", [0.3, 0.7])).with_information({"F": ["far"]})
    assert "is worth 0: expected utility 2 also without it." in str(useless.value_of_information("far"))


# --- conditions ---


def test_evidence_changes_the_value():
    """Given s2, perfect information on M is worth what avoids the loss in m0."""
    posterior = np.array([0.05, 0.09, 0.1]) / 0.24
    found = surveyed().value_of_information("M", evidence={"S": "s2"})
    assert found.value == pytest.approx(7 * posterior[0])
    assert surveyed().value_of_information("S", evidence={"S": "s2"}).value == 0
    impossible = surveyed().with_chance(pb.TableCPD("S", [[1, 0, 0]] * 3, ["M"], states=["s0", "s1", "s2"]))
    with pytest.raises(ImpossibleEvidence):
        rank_observations(impossible, evidence={"S": "s2"})


def test_what_a_decision_influences_is_refused_with_the_path():
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", np.eye(2), ["D"]), pb.TableCPD("Y", np.eye(2), ["X"])], [Decision("D", 2)], []
    )
    with pytest.raises(InvalidArgument, match="D -> X -> Y"):
        diagram.value_of_information("Y")
    with pytest.raises(InvalidArgument, match="'D' can't be seen at 'D': it is the decision itself"):
        diagram.value_of_information("D")
    with pytest.raises(UnknownVariable):
        diagram.value_of_information("Z")


def test_which_decision_is_meant_must_be_said_where_there_are_several():
    diagram = InfluenceDiagram([pb.TableCPD("X", [0.5, 0.5])], [Decision("D", 2), Decision("E", 2)], [])
    with pytest.raises(InvalidArgument, match="decision="):
        diagram.value_of_information("X")
    with pytest.raises(InvalidArgument, match="cost"):
        diagram.value_of_information("X", "D", cost=float("nan"))


def test_later_decisions_see_it_and_earlier_ones_do_not():
    chance = [pb.TableCPD("X", [0.5, 0.5])]
    decisions = [Decision("A", 2), Decision("B", 2, sees=["A"]), Decision("C", 2, sees=["B"])]
    seen = observing(InfluenceDiagram(chance, decisions, []), ["X"], "B")
    assert {name: decision.sees for name, decision in seen.decisions.items()} == {
        "A": (),
        "B": ("A", "X"),
        "C": ("B", "X"),
    }


def test_one_state_and_unconnected_variables_are_worth_nothing():
    diagram = surveyed().with_chance(pb.TableCPD("sure", [1.0])).with_chance(pb.TableCPD("far", [0.3, 0.7]))
    assert rank_observations(diagram)["sure"].value == 0
    assert rank_observations(diagram)["far"].value == 0
    assert str(diagram.value_of_information("far")).endswith("No action changes.")


def test_ties_are_no_changes():
    """Where two actions are as good, seeing something of no use changes nothing."""
    diagram = InfluenceDiagram([pb.TableCPD("X", [0.5, 0.5])], [Decision("D", 3)], [Utility("D", [1, 1, 0])])
    assert diagram.value_of_information("X").changes == ()


def test_nothing_is_worth_nothing():
    """The empty set is a set: 0, and told as such."""
    found = surveyed().value_of_information([])
    assert found.value == 0
    assert str(found) == "Seeing nothing more at F is worth 0: expected utility stays 2.\nNo action changes."


def test_an_unknown_variable_is_told_before_a_decision_that_is_missing():
    oil = pb.examples.load("oil")
    for asked in (value_of_information, lambda d, name: rank_observations(d, candidates=[name])):
        with pytest.raises(UnknownVariable, match="'zzz'"):
            asked(oil, "zzz")


def test_a_cost_of_what_is_seen_anyway_is_set_against_what_that_is_worth():
    """The survey is worth 1.25 gross: at 1 it pays, at 2 it does not."""
    diagram = surveyed(["S"])
    assert "At a cost of 1 it pays: net 0.25." in str(diagram.value_of_information("S", cost=1))
    assert "At a cost of 2 it does not pay: net -0.75." in str(diagram.value_of_information("S", cost=2))


@pytest.mark.parametrize("noise", [{"A": 1e-16}, {"B": 1e-16}, {}], ids=["first", "second", "none"])
def test_observations_that_are_worth_the_same_keep_their_order_whatever_their_last_digits(noise, monkeypatch):
    """Two readings of one coin, alike: the one listed first comes first."""
    reading = [[0.9, 0.1], [0.1, 0.9]]
    coins = [pb.TableCPD("coin", [0.5, 0.5]), *(pb.TableCPD(name, reading, ["coin"]) for name in "AB")]
    diagram = InfluenceDiagram(coins, [Decision("call", 2)], [Utility(["coin", "call"], [[1.0, 0.0], [0.0, 1.0]])])
    exact = ranking._values

    def noisy(*args):
        found, is_exact = exact(*args)
        return {name: value + noise.get(name, 0.0) for name, value in found.items()}, is_exact

    monkeypatch.setattr(ranking, "_values", noisy)
    for names in ("AB", "BA"):
        told = rank_observations(diagram, candidates=list(names)).values
        assert [value.variables for value in told] == [(name,) for name in names]
