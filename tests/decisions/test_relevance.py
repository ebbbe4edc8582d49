"""Strategic relevance: s-reachability against its meaning, the relevance graph, worked structures; perfect recall."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from decision_examples import entrepreneur_with_survey, exam_chain, relies_on
from diagram_oracle import (
    action_values,
    best_value,
    num_strategies,
    random_diagram,
    random_mixed_rules,
    structure,
    with_random_numbers,
)
from plausible.causal.calculus.derive import has_requisite_cpd
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.structure.relevance import (
    check_recall,
    influenced_utilities,
    minimal_reduction,
    new_information,
    relevance_graph,
    require_recall,
    s_reachable,
    temporal_order,
    with_recall,
    without_recall_edges,
)
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.utilities import Utility
from seeds import few_of


def best_actions(values):
    """Which actions are best for each thing seen, up to rounding."""
    return values >= values.max(axis=-1, keepdims=True) - 1e-9


def rules_pair(diagram, other, rng):
    """Two fully mixed strategies that differ in the rule of one decision only."""
    first = random_mixed_rules(diagram, rng)
    return first, {**first, other: random_mixed_rules(diagram, rng)[other]}


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_unreachable_rule_never_changes_the_best_actions(seed):
    """If D' is not s-reachable from D, the best actions of D are the same for every rule of D' (soundness)."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=3, num_decisions=3, num_utilities=2)
    for decision, other in permutations(diagram.decisions, 2):
        if not s_reachable(diagram, decision, other):
            first, second = rules_pair(diagram, other, rng)
            best = [best_actions(action_values(diagram, decision, rules)) for rules in (first, second)]
            np.testing.assert_array_equal(*best)


def of_binary_variables(diagram):
    """The same graph where every variable has two states: with one state, nothing can depend on anything."""
    edges = "; ".join(f"{a} -> {b}" for a, b in diagram.graph.edges)
    return structure(edges, list(diagram.decisions), list(diagram.utilities)) if edges else InfluenceDiagram()


def has_effect(diagram, decision, other, rng):
    """Whether two nearly deterministic rules of `other` lead to other best actions, for some random numbers."""
    numbers = with_random_numbers(diagram, rng)
    pair = ({**rules, other: np.round(rules[other]) * 0.98 + 0.01} for rules in rules_pair(diagram, other, rng))
    first, second = (best_actions(action_values(numbers, decision, rules)) for rules in pair)
    return bool((first != second).any())


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_reachable_rule_changes_the_best_actions_for_some_numbers(seed):
    """If D' is s-reachable from D, some numbers and rules make a best action of D depend on the rule of D'."""
    rng = np.random.default_rng(1000 + seed)
    diagram = of_binary_variables(random_diagram(rng, num_chance=2, num_decisions=2, num_utilities=2))
    for decision, other in permutations(diagram.decisions, 2):
        if s_reachable(diagram, decision, other):
            assert any(has_effect(diagram, decision, other, rng) for _ in range(1500)), (diagram.graph, decision, other)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_reachability_is_that_the_rule_is_a_requisite_distribution(seed):
    """D' is s-reachable from D iff its CPD is requisite for P(U_>D | D and what it sees)."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=4, num_decisions=3)
    for decision, other in permutations(diagram.decisions, 2):
        outcome = influenced_utilities(diagram, decision)
        given = (decision, *diagram.decisions[decision].sees)
        needed = bool(outcome) and has_requisite_cpd(diagram.graph, other, outcome, given)
        assert s_reachable(diagram, decision, other) == needed == (other in relies_on(diagram)[decision])


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        pytest.param("D -> E; D -> V; E -> V", {"D": ("E",), "E": ()}, id="seen and remembered"),
        pytest.param("D -> V; E -> V", {"D": ("E",), "E": ("D",)}, id="blind to each other"),
        pytest.param("D -> X; X -> E; X -> V; E -> V", {"D": ("E",), "E": ()}, id="forgotten but screened off"),
        pytest.param("C -> D; C -> V; D -> E; D -> V; E -> V", {"D": ("E",), "E": ("D",)}, id="card game: a signal"),
    ],
)
def test_worked_structures_of_two_decisions(edges, expected):
    """The four textbook patterns: who relies on whom."""
    assert relies_on(structure(edges, ["D", "E"], ["V"])) == expected


def test_exam_chain_with_a_hidden_cause_is_cyclic():
    """Limited memory and a hidden common cause: the first decision's signal matters later, so the graph is cyclic."""
    diagram = exam_chain(4, np.random.default_rng(0))
    assert relies_on(diagram) == {
        "D1": ("D2", "D3", "D4"),
        "D2": ("D3", "D4"),
        "D3": ("D1", "D2", "D4"),
        "D4": ("D1", "D2", "D3"),
    }
    graph = relevance_graph(diagram)
    assert not graph.is_acyclic
    assert graph.components == (("D1", "D2", "D3", "D4"),)
    assert "rely on each other" in str(graph)


@pytest.mark.parametrize(
    "diagram",
    [
        exam_chain(4, np.random.default_rng(0), has_cause=False),
        with_recall(exam_chain(4, np.random.default_rng(0))),
    ],
    ids=["no hidden cause", "perfect recall"],
)
def test_exam_chain_without_the_signal_is_solved_from_the_end(diagram):
    """Without the hidden cause, or with all remembered, decisions rely on later ones only."""
    assert relies_on(diagram) == {"D1": ("D2", "D3", "D4"), "D2": ("D3", "D4"), "D3": ("D4",), "D4": ()}
    assert relevance_graph(diagram).components == (("D4",), ("D3",), ("D2",), ("D1",))


def test_survey_relies_on_what_is_done_with_it():
    """The entrepreneur: to survey or not relies on the founding rule, not the other way round."""
    assert relies_on(entrepreneur_with_survey()) == {"C": ("F",), "F": ()}


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_perfect_recall_makes_the_relevance_graph_acyclic_and_later_first(seed):
    """With perfect recall D relies on later decisions only."""
    diagram = with_recall(random_diagram(np.random.default_rng(seed), num_chance=4, num_decisions=4))
    graph = relevance_graph(diagram)
    order = diagram.recall().order
    assert graph.is_acyclic
    assert all(order.index(other) > order.index(name) for other, name in graph.edges)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_components_are_the_mutually_reachable_decisions_in_topological_order(seed):
    """Components by transitive closure; no edge leads from a later component to an earlier one."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=3, num_decisions=5, num_utilities=3)
    graph = relevance_graph(diagram)
    place = {name: i for i, name in enumerate(graph.decisions)}
    reach = np.eye(len(place), dtype=bool)
    for other, name in graph.edges:
        reach[place[other], place[name]] = True
    for _ in place:
        reach = reach @ reach
    mutual = reach & reach.T
    for component in graph.components:
        for name in component:
            assert {graph.decisions[i] for i in np.flatnonzero(mutual[place[name]])} == set(component)
    number = {name: i for i, component in enumerate(graph.components) for name in component}
    assert sorted(number) == sorted(place)
    assert all(number[other] <= number[name] for other, name in graph.edges)


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_reduction_only_removes_relevance(seed):
    """The relevance graph of the minimal reduction is part of the original one."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=4, num_decisions=4, max_parents=3)
    before, after = relevance_graph(diagram), relevance_graph(minimal_reduction(diagram).diagram)
    assert set(after.edges) <= set(before.edges)


def test_degenerate_diagrams():
    """No decisions; decisions that change nothing rely on nobody."""
    empty = relevance_graph(InfluenceDiagram())
    assert (empty.decisions, empty.edges, empty.components, empty.is_acyclic) == ((), (), (), True)
    idle = InfluenceDiagram(decisions=[Decision("D", 2), Decision("E", 1)], utilities=[Utility([], 4.0)])
    assert relevance_graph(idle).components == (("E",), ("D",))
    assert str(relevance_graph(idle)) == "E relies on no other\nD relies on no other"


def test_strangers_are_refused():
    """Names that are no decisions, and a decision with itself."""
    diagram = entrepreneur_with_survey()
    with pytest.raises(UnknownVariable, match="not a decision of this diagram"):
        s_reachable(diagram, "C", "M")
    with pytest.raises(InvalidArgument, match="rely on itself"):
        s_reachable(diagram, "C", "C")


def recalls_everything(diagram, order):
    """The definition, word by word."""
    sees = {name: set(decision.sees) for name, decision in diagram.decisions.items()}
    return all(sees[later] >= sees[earlier] | {earlier} for i, earlier in enumerate(order) for later in order[i + 1 :])


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_recall_is_checked_by_its_definition_and_can_be_added(seed):
    """The check agrees with the definition; adding what is forgotten gives perfect recall, and adds nothing else."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=4, num_decisions=3, max_parents=4)
    recall = check_recall(diagram)
    assert recall.is_perfect == recalls_everything(diagram, recall.order)
    full = with_recall(diagram)
    assert recalls_everything(full, recall.order)
    assert check_recall(full).order == recall.order
    added = {(a, b) for a, b in full.graph.edges} - set(diagram.graph.edges)
    assert added == set(recall.forgotten)
    assert with_recall(full) == full


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_hidden_recall_edges_come_back(seed):
    """What is hidden in a drawing is exactly what perfect recall implies."""
    full = with_recall(random_diagram(np.random.default_rng(seed), num_chance=4, num_decisions=4, max_parents=3))
    hidden = without_recall_edges(full)
    assert set(hidden.graph.edges) <= set(full.graph.edges)
    assert set(with_recall(hidden).graph.edges) == set(full.graph.edges)
    for name, decision in hidden.decisions.items():
        for seen in decision.sees:
            fewer = hidden.with_information({name: [other for other in decision.sees if other != seen]})
            order = temporal_order(fewer)
            brought_back = with_recall(fewer)
            is_needed = set(brought_back.graph.edges) != set(full.graph.edges)
            decided_by_listing = seen in full.decisions and order == temporal_order(full)
            assert is_needed or decided_by_listing


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_remembering_never_hurts(seed):
    """MEU with perfect recall is at least MEU without, by brute force over all strategies."""
    diagram = random_diagram(np.random.default_rng(seed), num_chance=2, num_decisions=2)
    full = with_recall(diagram)
    if num_strategies(full) <= 600:
        assert best_value(full) >= best_value(diagram) - 1e-12


def test_exam_chain_forgets():
    """Limited memory: what is missing is listed by decision."""
    recall = check_recall(exam_chain(3, np.random.default_rng(0)))
    assert recall.order == ("D1", "D2", "D3")
    assert recall.forgotten == (("D1", "D3"), ("H1", "D3"))
    assert str(recall) == "order: D1 < D2 < D3\nD3 forgets D1, H1"
    assert recall.forgotten_by("D2") == ()


def test_entrepreneur_remembers():
    """The survey's diagram has perfect recall; the survey is what is new when founding."""
    diagram = entrepreneur_with_survey()
    assert diagram.recall().is_perfect
    assert str(diagram.recall()) == "order: C < F\nperfect recall"
    assert new_information(diagram) == {"C": (), "F": ("S",)}
    assert set(without_recall_edges(diagram).decisions["F"].sees) == {"S"}


def test_free_order_is_the_listed_one():
    """Decisions that nothing orders come as listed; the edges overrule the list."""
    free = InfluenceDiagram(decisions=[Decision("B", 2), Decision("A", 2), Decision("C", 2)])
    assert temporal_order(free) == ("B", "A", "C")
    assert temporal_order(free.with_information({"B": ["C"]})) == ("A", "C", "B")
    assert check_recall(InfluenceDiagram()).is_perfect


def test_what_needs_recall_says_what_is_missing():
    """The error names the decision, the thing forgotten and the way out."""
    with pytest.raises(NotSupported, match=r"'D3' does not see 'D1'.*with_recall"):
        require_recall(exam_chain(3, np.random.default_rng(0)), "This")
    with pytest.raises(NotSupported, match="Hiding"):
        without_recall_edges(exam_chain(3, np.random.default_rng(0)))
