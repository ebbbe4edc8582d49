"""Labels of pandas' tables: wherever a table of numbers is taken, they and not the positions say what is meant."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

import plausible as pb
from plausible.base.options import by_label
from plausible.errors import InvalidArgument, InvalidFactor, UnknownState

A, B = pb.Variable("A", ["no", "yes"]), pb.Variable("B", ["x", "y"])
#: The states of both in the other order.
ROW = pd.Series({"y": 0.1, "x": 0.9})
ROWS = pd.DataFrame({"y": [0.2, 0.4], "x": [0.8, 0.6]}, index=["yes", "no"])
INDEXED = [[0.6, 0.4], [0.8, 0.2]]


def test_a_series_is_a_row_by_state():
    """With and without the states in another place; the numbers by hand."""
    assert pb.TableCPD("B", ROW, states=["x", "y"]).values.tolist() == [0.9, 0.1]
    assert pb.TableCPD(B, ROW).values.tolist() == [0.9, 0.1]
    assert pb.TableCPD("B", ROW).variable.states == ("y", "x")
    assert pb.TableCPD("B", pd.Series([0.9, 0.1]), states=["y", "x"]).values.tolist() == [0.9, 0.1]


@pytest.mark.parametrize("index", [ROWS.index, None], ids=["keyed", "in order"])
@pytest.mark.parametrize("columns", [ROWS.columns, None], ids=["by state", "in state order"])
def test_the_axes_of_a_frame_are_read_by_their_labels_where_these_are_not_pandas_own(index, columns):
    """Each of the two for itself; an axis with pandas' own labels keeps its order."""
    frame = pd.DataFrame(ROWS.to_numpy(), index=index, columns=columns)
    wanted = ROWS.to_numpy()[:: 1 if index is None else -1, :: 1 if columns is None else -1].tolist()
    assert pb.TableCPD(B, frame, parents=[A]).values.tolist() == wanted
    bound = pb.BayesianNetwork(pb.TableCPD(A, [0.5, 0.5]), pb.TableCPD("B", frame, parents=["A"], states=["x", "y"]))
    assert bound.cpd("B").values.tolist() == wanted


def test_rows_of_a_mapping_and_of_a_list_are_read_by_state_too():
    """A series for each state of the parent."""
    given = {"yes": ROWS.loc["yes"], "no": ROWS.loc["no"]}
    assert pb.TableCPD(B, given, parents=[A]).values.tolist() == INDEXED
    assert pb.TableCPD(B, [given["no"], given["yes"]], parents=[A]).values.tolist() == INDEXED


def test_several_parents_are_the_levels_of_an_index():
    """As a frame made by pivoting has them."""
    index = pd.MultiIndex.from_tuples([(c, a) for a in ("yes", "no") for c in (1, 0)])
    frame = pd.DataFrame([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], index=index, columns=["y", "x"])
    table = pb.TableCPD(B, frame, parents=[pb.Variable("C", 2), A]).values
    assert table[1, 1].tolist() == [0.9, 0.1]
    assert table[0, 0].tolist() == [0.6, 0.4]


def test_a_table_without_parents_is_keyed_by_its_own_states():
    """As a mapping as well."""
    assert pb.TableCPD("A", {"y": 0.6, "x": 0.4}, states=["x", "y"]).values.tolist() == [0.4, 0.6]
    bare = pb.TableCPD("A", {"x": 0.4, "y": 0.6}, parents=[])
    assert (bare.variable.states, bare.values.tolist()) == (("x", "y"), [0.4, 0.6])
    assert pb.TableCPD("A", {1: 0.6, 0: 0.4}) == pb.TableCPD("A", [0.4, 0.6])


@pytest.mark.parametrize("kind", [pb.likelihood, pb.jeffrey])
def test_evidence_by_state(kind):
    assert kind(ROW).vector(B).tolist() == [0.9, 0.1]
    assert kind(pd.Series([0.9, 0.1])).vector(B).tolist() == [0.9, 0.1]


def test_factors_are_read_by_state():
    """What `to_series` gives comes back, in whatever order; a frame has the last variable along its columns."""
    assert pb.Factor([B], ROW).values.tolist() == [0.9, 0.1]
    assert pb.Factor([A, B], ROWS).values.tolist() == INDEXED
    factor = pb.Factor([A, B, pb.Variable("C", 3)], [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])
    series = factor.to_series()[::-1]
    assert pb.Factor(factor.scope, series) == factor
    assert pb.Factor.from_flat(factor.scope, series) == factor
    assert pb.Factor(factor.scope, series.unstack()) == factor
    with pytest.raises(InvalidFactor, match="labels for its rows or for its columns only"):
        pb.Factor([A, B], ROWS.reset_index(drop=True))


def test_other_tables_by_parent_and_by_state():
    """Noisy models by parent, their effects by state; pseudo-counts by state."""
    named = pd.Series({"D": 0.25, "C": 0.75})
    by_name = pb.NoisyOr("B", ["C", "D"], named)
    assert by_name == pb.NoisyOr("B", ["C", "D"], dict(named))
    assert by_name != pb.NoisyOr("B", ["C", "D"], named.tolist())
    assert pb.NoisyMax(B, [A], [ROWS]) == pb.NoisyMax(B, [A], [INDEXED])
    assert pb.Dirichlet(pd.Series({"y": 1.0, "x": 9.0})).pseudo_counts(B, []).tolist() == [9, 1]


def test_labels_that_are_no_states_or_stand_twice_are_refused():
    """Nothing is read by position in their place."""
    with pytest.raises(UnknownState, match="'z'"):
        pb.TableCPD(B, pd.Series({"x": 0.5, "z": 0.5}))
    with pytest.raises(InvalidArgument, match="'x' stands twice"):
        pb.TableCPD(B, pd.Series([0.5, 0.25, 0.25], index=["x", "x", "y"]))


def test_a_part_of_a_longer_series_keeps_its_labels():
    """Rows 1 and 2 of a series are labelled 1 and 2."""
    assert by_label(pd.Series([0.0, 0.5, 1.0])[1:]) == {1: 0.5, 2: 1.0}


def test_pandas_is_not_loaded_for_that():
    code = "import sys; from plausible.base.options import by_label; by_label([1.0]); print('pandas' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
