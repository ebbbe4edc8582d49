"""Information that makes no difference: worked structures, and reductions against brute force over all strategies."""

from __future__ import annotations

import numpy as np
import pytest

from decision_examples import entrepreneur_with_survey
from diagram_oracle import best_value, expected_utility, num_strategies, random_diagram, random_mixed_rules, structure
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.structure.relevance import (
    irrelevant_information,
    is_irrelevant,
    minimal_reduction,
    with_recall,
)
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.utilities import Utility
from seeds import few_of

STUDENT = (
    "Difficulty -> Grade; Take -> Grade; Difficulty -> VQ; Take -> VQ; Grade -> Apply; Difficulty -> Apply; "
    "Take -> Apply; Grade -> Job; Apply -> Job; Job -> VS"
)


def student(more=""):
    return structure(STUDENT + more, ["Take", "Apply"], ["VQ", "VS"])


def edges(found):
    return {(item.seen, item.decision) for item in found}


def test_student_applies_without_a_look_at_the_difficulty():
    """The grade screens off difficulty and take from the job; only the grade is of use."""
    assert edges(irrelevant_information(student())) == {("Difficulty", "Apply"), ("Take", "Apply")}
    assert not is_irrelevant(student(), "Grade", "Apply")


def test_difficulty_is_relevant_to_the_earlier_decision_only():
    """Seeing the difficulty before taking the course matters, remembering it later does not."""
    diagram = with_recall(student("; Difficulty -> Take"))
    assert edges(irrelevant_information(diagram)) == {("Difficulty", "Apply"), ("Take", "Apply")}


def test_intelligence_behind_grade_and_job_makes_difficulty_relevant():
    """The collider at the grade opens a way from difficulty to intelligence, hence to the job."""
    diagram = student("; Intelligence -> Grade; Intelligence -> Job")
    assert not is_irrelevant(diagram, "Difficulty", "Apply")
    assert irrelevant_information(diagram) == ()


def test_survey_decision_is_relevant_when_founding():
    """Whether the survey was made says how to read it: no edge of the entrepreneur's diagram can go."""
    assert irrelevant_information(entrepreneur_with_survey()) == ()
    assert str(minimal_reduction(entrepreneur_with_survey())) == "All information is relevant."


def test_edge_to_a_useful_decision_can_be_irrelevant():
    """W -> D -> V is no reason to keep W -> D: the decision itself is given."""
    assert is_irrelevant(structure("W -> D; D -> V", ["D"], ["V"]), "W", "D")


def test_one_pass_is_not_enough():
    """W -> D is relevant as long as E listens to D; E sees W itself, so that D -> E goes first, then W -> D."""
    diagram = structure("W -> D; W -> E; D -> E; E -> V; W -> V", ["D", "E"], ["V"])
    assert edges(irrelevant_information(diagram)) == {("D", "E")}
    reduction = minimal_reduction(diagram)
    assert [(item.seen, item.decision) for item in reduction.dropped] == [("D", "E"), ("W", "D")]
    assert str(reduction) == "D -> E: D says nothing about V given E, W\nW -> D: D changes no utility"
    assert best_value(diagram) == pytest.approx(best_value(reduction.diagram), abs=1e-12)


def small_diagrams(count, **options):
    """Random diagrams of which all strategies can be enumerated."""
    for seed in range(10_000):
        diagram = random_diagram(np.random.default_rng(seed), **options)
        if irrelevant_information(diagram) and num_strategies(diagram) <= 600:
            yield pytest.param(diagram, id=str(seed))
            count -= 1
        if not count:
            return


@pytest.mark.parametrize("diagram", [*small_diagrams(40, num_chance=3, num_decisions=2, max_parents=3)])
def test_minimal_reduction_keeps_the_maximum_and_its_best_strategy_is_best(diagram):
    """MEU of the reduction equals MEU of the original, by brute force; a lifted strategy keeps its value."""
    reduction = minimal_reduction(diagram)
    assert best_value(reduction.diagram) == pytest.approx(best_value(diagram), abs=1e-9)
    assert irrelevant_information(reduction.diagram) == ()
    rules = random_mixed_rules(reduction.diagram, np.random.default_rng(1))
    strategy = reduction.diagram.strategy(
        {name: Factor(diagram_scope(reduction.diagram, name), rule) for name, rule in rules.items()}
    )
    lifted = {name: np.array(rule.values) for name, rule in reduction.lift(strategy).items()}
    assert expected_utility(diagram, lifted) == pytest.approx(expected_utility(reduction.diagram, rules), abs=1e-12)


def diagram_scope(diagram, name):
    """What a rule is over."""
    return (*diagram.information(name), diagram.variables[name])


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_minimal_reduction_does_not_depend_on_the_order_of_removal(seed):
    """Removing irrelevant edges one by one in a random order ends in the same diagram."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=4, num_decisions=3, num_utilities=3, max_parents=4)
    expected = minimal_reduction(diagram).diagram
    while found := irrelevant_information(diagram):
        gone = found[rng.integers(len(found))]
        sees = [name for name in diagram.decisions[gone.decision].sees if name != gone.seen]
        diagram = diagram.with_information({gone.decision: sees})
    assert diagram == expected


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_one_ball_finds_the_edges_that_separation_finds_one_by_one(seed):
    """The observations that the Bayes ball never visits are those that are separated from the utilities."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=5, num_decisions=3, num_utilities=2, max_parents=4)
    one_by_one = {
        (seen, name)
        for name, decision in diagram.decisions.items()
        for seen in decision.sees
        if is_irrelevant(diagram, seen, name)
    }
    assert edges(irrelevant_information(diagram)) == one_by_one


def test_decision_without_utilities_needs_no_information():
    """All that an idle decision sees goes; diagrams without decisions have nothing to lose."""
    diagram = InfluenceDiagram(
        decisions=[Decision("D", 2), Decision("E", 2, sees="D")], utilities=[Utility("D", [0, 1])]
    )
    assert edges(minimal_reduction(diagram).dropped) == {("D", "E")}
    assert minimal_reduction(InfluenceDiagram()).dropped == ()


def test_edge_that_is_not_there_is_refused():
    """Only information edges can be irrelevant."""
    with pytest.raises(InvalidArgument, match="does not see 'M'"):
        is_irrelevant(entrepreneur_with_survey(), "M", "F")
