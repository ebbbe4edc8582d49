"""Perfect recall: checked, added and hidden."""

from __future__ import annotations

import numpy as np
import pytest

from decision_examples import entrepreneur_with_survey, exam_chain
from diagram_oracle import best_value, num_strategies, random_diagram
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.structure.relevance import (
    check_recall,
    new_information,
    require_recall,
    temporal_order,
    with_recall,
    without_recall_edges,
)
from plausible.errors import NotSupported
from seeds import few_of


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
