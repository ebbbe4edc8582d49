"""The pipeline from cells to a signalling network, on simulated cells of the famous design."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.examples.cell_signalling import (
    CONDITIONS,
    REFERENCE,
    SignallingDesign,
    learn_cell_signalling,
    simulate_cells,
)
from plausible.graphs.classes import interventional_essential_graph


@pytest.fixture(scope="module")
def found():
    return learn_cell_signalling(SignallingDesign(num_cells=150, num_samples=2, discretization="quantile"))


def test_design_has_eleven_molecules_nine_conditions_and_seven_targeted_experiments():
    table = simulate_cells()
    assert (table.num_rows, len(table.variables), REFERENCE.num_edges) == (5400, 11, 20)
    assert sum(condition.target is not None for condition in CONDITIONS) == 7
    for place, condition in enumerate(CONDITIONS):
        rows = np.arange(600 * place, 600 * (place + 1))
        if condition.target is not None:
            assert table.interventions[condition.target][rows].all()
            assert table.column(condition.target)[rows].mean() == pytest.approx(condition.level, abs=0.1)
    assert sum(mask.sum() for mask in table.interventions.values()) == 7 * 600
    first = simulate_cells(SignallingDesign(num_cells=5, seed=1))
    np.testing.assert_array_equal(first.numbers, simulate_cells(SignallingDesign(num_cells=5, seed=1)).numbers)


def test_every_reported_arc_is_counted_once(found):
    for learned in (found.experiments, found.unmarked, found.observation, found.populations):
        counts = learned.counts
        assert counts.expected + counts.undirected + counts.reversed + counts.missed == 20
        assert counts.expected + counts.undirected + counts.reversed + counts.unexpected == learned.graph.num_edges


def test_experiments_direct_what_observation_and_unmarked_rows_do_not(found):
    """Most arcs come out right with the experiments; fewer without their marks, and without them altogether."""
    assert found.experiments.counts.expected >= 13
    assert found.experiments.counts.reversed <= 1
    assert found.experiments.counts.expected >= found.unmarked.counts.expected + 4
    assert found.experiments.counts.expected >= found.observation.counts.expected + 4
    assert found.observation.counts.missed >= found.experiments.counts.missed
    wrong = [counts.unexpected + counts.reversed for counts in (found.populations.counts, found.experiments.counts)]
    assert wrong[0] > wrong[1]
    assert str(found).count("\n") == 4


def test_theory_leaves_only_the_edge_of_two_untouched_first_causes_open():
    targets = {condition.target for condition in CONDITIONS} - {None}
    graph = interventional_essential_graph(REFERENCE, [[target] for target in targets])
    assert {frozenset(edge) for edge in graph.undirected_edges} == {frozenset(["PIP3", "Plcg"])}
