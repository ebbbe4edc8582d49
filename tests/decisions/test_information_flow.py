"""Information that makes no difference: Bayes balls against separation asked one by one and against brute force."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from decision_examples import entrepreneur_with_survey
from diagram_oracle import best_value, expected_utility, num_strategies, random_diagram, random_mixed_rules, structure
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.solving.problem import read_structure
from plausible.decisions.structure.information_flow import Reliance, information_flow, reduced_information
from plausible.decisions.structure.relevance import (
    irrelevant_information,
    is_irrelevant,
    minimal_reduction,
    ordered_components,
    relevance_graph,
    with_recall,
)
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.utilities import Utility
from seeds import few_of

SEEDS = few_of(10, 60)


def drawn(seed):
    """A random diagram, and some chance variables that something is known about."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=5, num_decisions=int(rng.integers(1, 5)), num_utilities=3, max_parents=4)
    after = {name for decision in diagram.decisions for name in diagram.graph.descendants(decision)}
    free = [name for name in diagram.chance if name not in after]
    return diagram, [name for name in free if rng.random() < 0.4]


def with_signs(diagram, evidence, sees):
    """The graph with a node for the rule of each decision, and an observed child of each variable with evidence."""
    graph = nx.DiGraph()
    graph.add_nodes_from(diagram.graph.nodes)
    graph.add_edges_from((a, b) for a, b in diagram.graph.edges if b not in sees or a in sees[b])
    graph.add_edges_from((("rule", name), name) for name in diagram.decisions)
    graph.add_edges_from((name, ("sign", name)) for name in evidence)
    return graph


def judged(diagram, evidence, sees):
    """What each decision need not know and which it relies on, by networkx, one pair after the other."""
    graph = with_signs(diagram, evidence, sees)
    signs = {("sign", name) for name in evidence}
    useless, relied = {}, {}
    for name in diagram.decisions:
        below = nx.descendants(graph, name) & set(diagram.utilities)
        known = {name, *sees[name], *signs}
        apart = [s for s in sees[name] if not below or nx.is_d_separator(graph, {s}, below, known - {s})]
        if apart:
            useless[name] = tuple(apart)
        relied[name] = {
            other
            for other in diagram.decisions
            if other != name and below and not nx.is_d_separator(graph, {("rule", other)}, below, known)
        }
    return useless, relied


@pytest.mark.parametrize("seed", SEEDS)
def test_all_balls_at_once_find_what_separation_finds_one_by_one(seed):
    diagram, evidence = drawn(seed)
    flow = information_flow(diagram, evidence)
    useless, relied = judged(diagram, evidence, {name: d.sees for name, d in diagram.decisions.items()})
    assert flow.useless == useless
    assert {name: set(others) for name, others in flow.reliance.items()} == relied


@pytest.mark.parametrize("seed", SEEDS)
def test_reduced_information_is_what_removing_edges_one_by_one_in_any_order_leaves(seed):
    diagram, evidence = drawn(seed)
    rng = np.random.default_rng(seed)
    sees = {name: decision.sees for name, decision in diagram.decisions.items()}
    while found := judged(diagram, evidence, sees)[0]:
        name = str(rng.choice(list(found)))
        gone = str(rng.choice(found[name]))
        sees[name] = tuple(other for other in sees[name] if other != gone)
    reduced = reduced_information(diagram, evidence)
    assert dict(reduced.sees) == sees
    assert {name: set(others) for name, others in reduced.reliance.items()} == judged(diagram, evidence, sees)[1]
    dropped = {(seen, drop.decision) for drop in reduced.drops for seen in drop.gone}
    assert dropped == {(s, n) for n, d in diagram.decisions.items() for s in d.sees if s not in sees[n]}


@pytest.mark.parametrize("seed", SEEDS)
def test_solving_and_the_public_questions_see_the_same_structure(seed):
    diagram, _ = drawn(seed)
    structure, reduction = read_structure(diagram), minimal_reduction(diagram)
    assert {name: reduction.diagram.decisions[name].sees for name in diagram.decisions} == dict(structure.information)
    graph = relevance_graph(reduction.diagram)
    assert {(o, n) for n, others in structure.relies_on.items() for o in others} == set(graph.edges)
    assert {frozenset(part) for part in structure.components} == {frozenset(part) for part in graph.components}


@pytest.mark.parametrize("seed", SEEDS)
def test_relevant_variables_are_the_ancestors_of_utilities_evidence_and_decisions(seed):
    diagram, evidence = drawn(seed)
    structure = read_structure(diagram, evidence)
    graph = with_signs(diagram, evidence, structure.information)
    ends = {*diagram.utilities, *evidence, *diagram.decisions}
    expected = ends.union(*(nx.ancestors(graph, end) for end in ends)) & set(diagram.variables)
    assert structure.relevant == expected


def test_a_long_chain_takes_few_sweeps_and_every_decision_relies_on_all_later_ones():
    """300 decisions that see the one before: reliance is a triangle of 44 850 pairs."""
    names = [f"D{i}" for i in range(300)]
    decisions = [Decision(name, 2, sees=names[i - 1 : i] if i else []) for i, name in enumerate(names)]
    utilities = [Utility([a, b], np.eye(2), name=f"U{b}") for a, b in pairwise(names)]
    reliance = information_flow(InfluenceDiagram([], decisions, utilities)).reliance
    assert reliance.is_on_later_ones
    assert reliance["D7"] == tuple(names[8:])
    assert sum(map(len, reliance.values())) == 299 * 300 // 2


def test_nothing_flows_in_diagrams_without_decisions_or_utilities():
    assert information_flow(InfluenceDiagram()).useless == {}
    idle = InfluenceDiagram(decisions=[Decision("D", 2), Decision("E", 2, sees="D")])
    assert information_flow(idle).useless == {"E": ("D",)}
    assert dict(reduced_information(idle).reliance) == {"D": (), "E": ()}


def test_components_come_in_an_order_of_reliance_whatever_the_order_of_time():
    """E relies on the earlier D, which relies on nobody; C and F rely on each other."""
    reliance = Reliance(["C", "D", "E", "F"], [0b1000, 0b0100, 0b0000, 0b0001])
    assert ordered_components(reliance) == (("C", "F"), ("D",), ("E",))
    assert repr(reliance) == "Reliance({'C': ('F',), 'D': (), 'E': ('D',), 'F': ('C',)})"


def test_evidence_below_two_causes_makes_one_tell_about_the_other():
    """A says nothing about B, on which the utility depends, until something is known about their common effect."""
    half = [0.5, 0.5]
    effect = TableCPD("E", np.full((2, 2, 2), 0.5), ["A", "B"])
    chance = [TableCPD("A", half), TableCPD("B", half), effect]
    utilities = [Utility(["B", "D"], np.eye(2)), Utility(["A", "C"], np.eye(2), name="W")]
    diagram = InfluenceDiagram(chance, [Decision("C", 2, sees="B"), Decision("D", 2, sees="A")], utilities)
    assert information_flow(diagram).useless == {"C": ("B",), "D": ("A",)}
    assert information_flow(diagram, ["E"]).useless == {}
    also_idle = diagram.with_information({"C": []}).with_utility(Utility("C", [0, 1], name="W"))
    seen = InfluenceDiagram([*chance, TableCPD("coin", half)], also_idle.decisions.values(), utilities)
    seen = seen.with_information({"C": ["coin"], "D": ["A", "coin"]})
    assert dict(reduced_information(seen, ["E"]).sees) == {"C": (), "D": ("A",)}


def test_a_ball_rolls_again_when_an_earlier_decision_drops_an_edge_that_it_took():
    """The last decision relies on the first only by the second, which need not look at it."""
    decisions = [Decision("D0", 2), Decision("D1", 2, sees="D0"), Decision("D2", 2)]
    diagram = InfluenceDiagram([], decisions, [Utility(["D1", "D2"], np.eye(2))])
    assert information_flow(diagram).reliance["D2"] == ("D0", "D1")
    reduced = reduced_information(diagram)
    assert reduced.sees["D1"] == ()
    assert reduced.reliance["D2"] == ("D1",)


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
