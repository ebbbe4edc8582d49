"""Optional observations: a decision to look, a state for not having looked, and what looking is worth."""

from __future__ import annotations

import numpy as np
import pytest

from decision_examples import MARKET, PROFIT, SURVEY_ROWS, entrepreneur_with_survey, relies_on
from diagram_oracle import best_value
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.structure.edits import with_optional_observation
from plausible.decisions.trees.tree import decision_tree, strategy_of_tree
from plausible.errors import CyclicGraph, InvalidArgument, UnknownVariable
from plausible.utilities import Utility

SURVEY = TableCPD("S", SURVEY_ROWS, parents=["M"], states=["s0", "s1", "s2"])


def surveyed(cost):
    """The entrepreneur's survey made optional."""
    diagram = InfluenceDiagram([MARKET, SURVEY], [Decision("F", ["f0", "f1"], sees=["S"])], [PROFIT])
    return with_optional_observation(diagram, "S", cost)


def test_optional_survey_is_the_diagram_written_by_hand():
    """Same MEU, same policy, same relevance as the diagram with the survey's own decision and dummy state."""
    diagram = surveyed(1.0)
    solution = decision_tree(diagram).solve()
    assert solution.expected_utility == pytest.approx(2.25)
    assert best_value(diagram) == pytest.approx(best_value(entrepreneur_with_survey()))
    strategy = strategy_of_tree(diagram, solution)
    assert strategy.action("observe S") == "yes"
    seen = {state: strategy.action("F", {"observe S": "yes", "S observed": state}) for state in ("s0", "s1", "s2")}
    assert seen == {"s0": "f0", "s1": "f1", "s2": "f1"}
    assert relies_on(diagram) == {"F": (), "observe S": ("F",)}


@pytest.mark.parametrize(("cost", "is_worth_it"), [(0.0, True), (1.24, True), (1.26, False), (5.0, False)])
def test_survey_is_worth_one_and_a_quarter(cost, is_worth_it):
    """Below its value of 1.25 the survey is made, above it is not, and then the maximum is 2 as without one."""
    diagram = surveyed(cost)
    solution = decision_tree(diagram).solve()
    assert (solution.strategy[()] == "yes") == is_worth_it
    assert solution.expected_utility == pytest.approx(max(3.25 - cost, 2.0))


def test_copy_is_the_variable_after_looking_and_the_extra_state_otherwise():
    """The table, row by row."""
    table = surveyed(1.0).chance["S observed"].to_table()
    assert table.variable.states == ("s0", "s1", "s2", "not observed")
    np.testing.assert_array_equal(table.values[1, :, :3], np.eye(3))
    np.testing.assert_array_equal(table.values[0, :, 3], np.ones(3))
    assert table.values.sum() == 6


def test_observation_reaches_the_named_decision_and_later_ones():
    """A variable that nobody sees yet, offered from the second decision on."""
    diagram = InfluenceDiagram(
        [TableCPD("X", [0.5, 0.5])],
        [Decision("A", 2), Decision("B", 2, sees="A"), Decision("C", 2, sees=["A", "B"])],
        [Utility(["X", "C"], np.eye(2))],
    )
    offered = with_optional_observation(diagram, "X", 0.1, decision="B", sees=["A"], unseen="?")
    assert offered.decisions["A"].sees == ()
    assert offered.decisions["B"].sees == ("A", "observe X", "X observed")
    assert offered.decisions["C"].sees == ("A", "B", "observe X", "X observed")
    assert offered.decisions["observe X"].sees == ("A",)
    assert offered.variables["X observed"].states == (0, 1, "?")


def test_the_only_decision_need_not_be_named():
    """As for the value of information; what comes of that decision can't be offered to it."""
    diagram = InfluenceDiagram([MARKET, SURVEY], [Decision("F", ["f0", "f1"])], [PROFIT])
    assert with_optional_observation(diagram, "S", 1.0) == with_optional_observation(diagram, "S", 1.0, "F")
    later = diagram.with_chance(TableCPD("result", [[1, 0], [0, 1]], parents=["F"]))
    with pytest.raises(CyclicGraph):
        with_optional_observation(later, "result")


def test_observations_that_can_not_be_are_refused():
    """Unknown or unseen variables, a taken state, an infinite cost, what the decision itself brings about."""
    diagram = InfluenceDiagram([MARKET, SURVEY], [Decision("F", 2)], [Utility("F", [0, 1])])
    with pytest.raises(UnknownVariable, match="'F' is not a variable of the chance"):
        with_optional_observation(diagram, "F")
    with pytest.raises(InvalidArgument, match=r"No decision sees 'S'.*one of \['F', 'G'\]"):
        with_optional_observation(diagram.with_decision(Decision("G", 2)), "S")
    with pytest.raises(InvalidArgument, match="'s0' is a state of 'S' already"):
        with_optional_observation(diagram, "S", decision="F", unseen="s0")
    for cost in (np.inf, -1, "a", None):
        with pytest.raises(InvalidArgument, match=r"cost=.* must be a number of at least 0"):
            with_optional_observation(diagram, "S", cost=cost, decision="F")
    later = diagram.with_chance(TableCPD("result", [[1, 0], [0, 1]], parents=["F"]))
    with pytest.raises(CyclicGraph):
        with_optional_observation(later, "result", decision="F")


def test_what_an_earlier_listed_decision_sees_may_come_of_a_later_listed_one():
    """B is made before A once A may look at what B brings about."""
    brought = TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], ["B"])
    diagram = InfluenceDiagram(
        [brought], [Decision("A", 2), Decision("B", 2)], [Utility(["A", "X"], [[1, 0], [0, 1]], name="hit")]
    )
    tested = with_optional_observation(diagram, "X", 0.05, decision="A")
    assert "X observed" in tested.decisions["A"].sees
    assert tested.decisions["B"].sees == ()
    gained = diagram.value_of_information("X", "A").value
    assert tested.solve().expected_utility == pytest.approx(diagram.solve().expected_utility + gained - 0.05)
