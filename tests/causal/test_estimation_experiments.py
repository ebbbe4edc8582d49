"""Effects from rows in which variables were set from outside, against the models that made the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import causal
from plausible.causal.estimation.effect import estimate_effect
from plausible.causal.estimation.estimate import Bootstrap
from plausible.causal.estimation.simpson import simpson
from plausible.causal.partial.district import read_source
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported
from plausible.graphs import PAG, PDAG, CausalGraph

NO_RESAMPLES = Bootstrap(resamples=0)
CHAIN = "X -> Y -> Z"
BOW = "X -> Y; X <-> Y"


def _chain(*, is_discrete: bool = False) -> pb.Table:
    """X -> Y -> Z with coefficients 1, or copies with errors; in the second half Y was set."""
    rng = np.random.default_rng(0)
    if is_discrete:
        x = rng.random(4000) < 0.5
        y = np.where(rng.random(4000) < 0.9, x, ~x)
        y[2000:] = rng.random(2000) < 0.5
        z = np.where(rng.random(4000) < 0.9, y, ~y)
        x, y, z = (column.astype(int) for column in (x, y, z))
    else:
        x, e1, e2 = rng.normal(size=(3, 4000))
        y = x + e1
        y[2000:] = 2 * rng.normal(size=2000)
        z = y + e2
    frame = pd.DataFrame({"X": x, "Y": y, "Z": z, "set": [""] * 2000 + ["Y"] * 2000})
    return pb.Table.read(frame, interventions="set")


def _bow(set_rows: np.ndarray, seed: int = 1) -> pb.Table:
    """X -> Y with a hidden common cause and the slope 1; X is set in some rows."""
    hidden, own, noise, chosen = np.random.default_rng(seed).normal(size=(4, len(set_rows)))
    x = np.where(set_rows, chosen, hidden + own)
    return pb.Table.read({"X": x, "Y": x + 2 * hidden + noise}, interventions={"X": set_rows})


def test_rows_in_which_a_mediator_was_set_are_left_out_of_the_effect():
    """Setting Y breaks the way from X to Z: 2000 rows tell the slope 1, and the result says so."""
    found = estimate_effect(CHAIN, _chain(), "Z", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.1)
    assert found.num_cases == 2000
    assert "2000 of 4000 rows left out, in which 'Y' was set from outside" in str(found)


@pytest.mark.parametrize("method", ["doubly-robust", "weighting", "standardization", "identified", "plug-in"])
def test_every_method_finds_the_effect_along_a_chain_whose_middle_was_set(method):
    """0.9 * 0.9 + 0.1 * 0.1 - 2 * 0.9 * 0.1 = 0.64."""
    found = estimate_effect(CHAIN, _chain(is_discrete=True), "Z", "X", method=method, bootstrap=20)
    assert found.difference == pytest.approx(0.64, abs=0.05)
    assert found.method == method


def test_rows_in_which_a_mediator_was_set_are_left_out_of_simpsons_comparisons():
    """The effect is that of the rows as they come about."""
    report = simpson(_chain(is_discrete=True), "Z", "X", [], graph=CHAIN)
    assert report.effect is not None
    assert report.effect[1] - report.effect[0] == pytest.approx(0.64, abs=0.05)
    assert "2000 of 4000 rows left out" in str(report)


@pytest.mark.parametrize("graph", [PDAG("X - Y; Y - Z"), PAG("X o-o Y; Y o-o Z")])
def test_rows_are_left_out_for_what_may_act_on_the_outcome_in_a_class_of_graphs(graph):
    """In some member Y leads to Z: no rows tell another effect of X on Y, where Y was set."""
    with pytest.raises(NotIdentifiable):
        estimate_effect(graph, _chain(), "Z", "X")
    table = _chain().take(np.arange(2000, 4000))
    with pytest.raises(NotSupported, match="In all 2000 rows 'Y' was set from outside"):
        estimate_effect(graph, table, "Z", "X")


def test_taking_rows_forgets_what_was_set_in_none_of_them():
    """The rows that were only observed are observations."""
    observed = _chain(is_discrete=True).take(np.arange(2000))
    assert not observed.interventions
    assert not estimate_effect(CHAIN, observed, "Z", "X", bootstrap=NO_RESAMPLES).rows
    assert read_source(observed).total == 2000


def test_a_randomised_experiment_tells_an_effect_with_hidden_common_causes():
    """Where X was set in all rows its causes do not matter."""
    found = estimate_effect(BOW, _bow(np.ones(4000, dtype=bool)), "Y", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.15)
    assert "'X' was set from outside in all rows" in str(found)


def test_the_rows_of_an_experiment_alone_tell_what_the_others_leave_open():
    """With rows of both kinds and a hidden cause, only those with X set are used; without any, nothing is."""
    is_set = np.arange(8000) % 2 == 0
    found = estimate_effect(BOW, _bow(is_set), "Y", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.15)
    assert found.num_cases == 4000
    assert "of 8000 rows the 4000 in which 'X' was set from outside" in str(found)
    open_ended = estimate_effect(PDAG("X - Y"), _bow(is_set), "Y", "X", bootstrap=20)
    assert open_ended.difference == pytest.approx(found.difference)
    with pytest.raises(NotIdentifiable):
        estimate_effect(BOW, _bow(is_set).take(~is_set), "Y", "X")


def test_what_is_no_cause_in_a_class_of_graphs_has_no_effect_where_it_was_set():
    """B <-> C in all members: 0 and not a slope of chance."""
    a, b, c, d = np.random.default_rng(6).normal(size=(4, 100))
    table = pb.Table.read({"A": a, "B": b, "C": c, "D": d}, interventions={"B": [True] * 100})
    assert estimate_effect(PAG("A o-> B; B <-> C; D o-> C"), table, "C", "B", bootstrap=20).difference == 0


def test_rows_with_the_treatment_set_count_with_the_others_where_the_effect_is_identified():
    """By a set to adjust for, in all rows together; where all have X set, there is nothing to adjust for."""
    rng = np.random.default_rng(3)
    w, own, noise, chosen = rng.normal(size=(4, 4000))
    is_set = np.arange(4000) < 2000
    x = np.where(is_set, chosen, w + own)
    table = pb.Table.read({"W": w, "X": x, "Y": x + 2 * w + noise}, interventions={"X": is_set})
    graph = "W -> X -> Y; W -> Y"
    both = estimate_effect(graph, table, "Y", "X", bootstrap=20)
    assert (both.variables, both.num_cases) == (("W",), 4000)
    assert both.difference == pytest.approx(1.0, abs=0.1)
    alone = estimate_effect(graph, table.take(is_set), "Y", "X", bootstrap=20)
    assert (alone.variables, alone.num_cases) == ((), 2000)
    assert alone.difference == pytest.approx(1.0, abs=0.2)


def test_a_randomised_instrument_is_an_instrument_whatever_causes_it_otherwise():
    """Setting Z in all rows changes no effect of X, and cuts Z <-> Y."""
    rng = np.random.default_rng(4)
    z, hidden, own, noise = rng.normal(size=(4, 4000))
    x = z + hidden + own
    table = pb.Table.read({"Z": z, "X": x, "Y": x + 2 * hidden + noise}, interventions={"Z": [True] * 4000})
    graph = CausalGraph("Z -> X -> Y; X <-> Y; Z <-> Y")
    found = estimate_effect(graph, table, "Y", "X", method="instrument", bootstrap=NO_RESAMPLES)
    assert found.method == "instrument"
    assert found.difference == pytest.approx(1.0, abs=0.15)


def test_plug_in_takes_a_class_of_one_graph():
    """What gies finds where experiments leave no edge open."""
    rng = np.random.default_rng(5)
    x, e1, e2 = rng.normal(size=(3, 600))
    marks = {"X": np.arange(600) < 200, "Y": (np.arange(600) >= 200) & (np.arange(600) < 400)}
    y = np.where(marks["Y"], 2 * e1, x + e1)
    table = pb.Table.read({"X": x, "Y": y, "Z": y + e2}, interventions=marks)
    found = causal.gies(table)
    assert found.size == 1
    estimate = estimate_effect(found, table, "Z", "X", method="plug-in", bootstrap=NO_RESAMPLES)
    assert estimate.difference == pytest.approx(1.0, abs=0.2)


def test_a_method_is_printed_as_it_is_written():
    """What .method says can be given as method=; other names lead to it."""
    rows = {"X": [0, 0, 1, 1] * 20, "Y": [0, 1, 0, 1, 1, 1, 0, 0] * 10}
    for name in ("doubly-robust", "standardization", "weighting", "plug-in", "identified"):
        assert estimate_effect("X -> Y", rows, "Y", "X", method=name, bootstrap=NO_RESAMPLES).method == name
    for written, meant in (("ipw", "weighting"), ("AIPW", "doubly-robust"), ("g-formula", "standardization")):
        with pytest.raises(InvalidArgument, match=f"Did you mean '{meant}'"):
            estimate_effect("X -> Y", rows, "Y", "X", method=written)
