"""Factors to and from dictionaries, pandas and xarray, whatever the states are."""

from __future__ import annotations

import datetime as dt
import math

import pandas as pd
import pytest

from plausible.errors import InvalidFactor, TooLarge, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.variables import Variable
from refusals import refuses

STATES = {
    "text": ["b", "a", "c"],
    "whole numbers": [3, 1, 2],
    "fractions": [0.5, 0.25],
    "booleans": [True, False],
    "mixed": [1, "1", 2.5],
    "tuples": [("a", 1), ("b", 2)],
    "dates": [dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
    "sets": [frozenset({1}), frozenset()],
    "one": ["only"],
    "awkward text": ["<b>&", "", "two\nlines"],
}


def _factors(states):
    variable = Variable("X", states)
    for others in ([], [Variable("Y", 2)], [Variable("Y", 2), Variable("Z", ["z"])]):
        scope = [*others[:1], variable, *others[1:]]
        yield Factor.from_flat(scope, [i + 0.5 for i in range(math.prod(v.num_states for v in scope))])


def _same(restored, factor):
    kinds = [[type(state) for state in variable.states] for variable in restored.scope]
    assert restored == factor
    assert kinds == [[type(state) for state in variable.states] for variable in factor.scope]


@pytest.mark.parametrize("states", STATES.values(), ids=STATES)
def test_dictionaries_frames_and_xarrays_round_trip(states):
    """Going out and coming back keeps numbers, order and the types of states."""
    pytest.importorskip("xarray")
    for factor in _factors(states):
        _same(Factor.from_dict(factor.scope, factor.to_dict()), factor)
        _same(Factor.from_frame(factor.to_frame()), factor)
        if None not in states:  # xarray, and a MultiIndex of pandas, show None as missing
            _same(Factor.from_xarray(factor.to_xarray()), factor)


def test_the_empty_scope_round_trips():
    """A constant has one entry and no variables."""
    pytest.importorskip("xarray")
    constant = Factor.scalar(2.5)
    assert constant.to_dict() == {(): 2.5}
    assert constant.to_series().tolist() == [2.5]
    assert Factor.from_dict((), constant.to_dict()) == constant
    assert Factor.from_frame(constant.to_frame()) == constant
    assert Factor.from_xarray(constant.to_xarray()) == constant


@pytest.mark.parametrize("states", STATES.values(), ids=STATES)
def test_series_list_the_assignments_in_row_major_order(states):
    """The last variable changes fastest; a single variable gives a plain index, even of tuples."""
    for factor in _factors(states):
        series = factor.to_series()
        assert series.tolist() == factor.flat.tolist()
        assert list(series.index.names) == list(factor.names)
        if None not in states:
            assert list(series.index) == list(factor.to_dict())


def test_frames_have_a_column_for_each_variable():
    """One row an assignment; numbers under the name asked for."""
    factor = Factor({"A": ["x", "y"], "B": [1, 2]}, [[1, 2], [3, 4]])
    frame = factor.to_frame(value="p")
    expected = {"A": ["x", "x", "y", "y"], "B": [1, 2, 1, 2], "p": [1.0, 2.0, 3.0, 4.0]}
    pd.testing.assert_frame_equal(frame, pd.DataFrame(expected))


def test_a_variable_called_value_asks_for_another_name():
    """The column of numbers can't share a variable's name."""
    factor = Factor({"value": 2}, [1, 2])
    refuses(InvalidFactor, "choose another name", factor.to_frame)
    assert Factor.from_frame(factor.to_frame(value="p"), value="p") == factor


def test_rows_may_come_in_any_order_when_states_are_given():
    """`states` fixes the order, a categorical column has one, else states come as they appear."""
    frame = pd.DataFrame({"A": ["y", "x"], "value": [2.0, 1.0]})
    assert Factor.from_frame(frame).variable("A").states == ("y", "x")
    assert Factor.from_frame(frame, states={"A": ["x", "y"]}).values.tolist() == [1.0, 2.0]
    frame["A"] = pd.Categorical(frame["A"], categories=["x", "y"])
    assert Factor.from_frame(frame).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_read_as_well(library):
    """As they appear, in the order of `states`, or of the categories that a polars Enum lists."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"A": ["y", "x"], "value": [2.0, 1.0]})
    frame = frame.to_arrow() if library == "pyarrow" else frame
    assert Factor.from_frame(frame) == Factor({"A": ["y", "x"]}, [2.0, 1.0])
    assert Factor.from_frame(frame, states={"A": ["x", "y"]}) == Factor({"A": ["x", "y"]}, [1.0, 2.0])
    if library == "polars":
        listed = frame.with_columns(pl.col("A").cast(pl.Enum(["x", "y"])))
        assert Factor.from_frame(listed) == Factor({"A": ["x", "y"]}, [1.0, 2.0])


@pytest.mark.parametrize("frame", [{"A": ["x"], "value": [1.0]}, "frame", None])
def test_what_is_no_frame_is_named(frame):
    refuses(InvalidFactor, "Expected a pandas, polars or arrow frame", Factor.from_frame, frame)


def test_states_in_another_order_point_at_the_frame():
    """Two frames whose rows come in another order give variables that differ: the error says how to fix it."""
    one, two = (
        Factor.from_frame(pd.DataFrame({"A": order, "value": [1.0, 2.0]})) for order in (["x", "y"], ["y", "x"])
    )
    with pytest.raises(InvalidFactor, match=r"Only the order differs.*states= in Factor\.from_frame"):
        one * two


def test_column_labels_that_are_no_text_become_names():
    """A frame may label its columns by numbers."""
    assert Factor.from_frame(pd.DataFrame({0: ["x", "y"], "value": [1.0, 2.0]})).names == ("0",)


def test_xarray_keeps_names_and_labels():
    """Dimensions are variables, coordinates states; a dimension without coordinates has states 0, 1, ..."""
    xr = pytest.importorskip("xarray")
    factor = Factor({"A": ["x", "y"], "B": [1, 2]}, [[1, 2], [3, 4]])
    array = factor.to_xarray()
    assert float(array.sel(A="y", B=1)) == 3.0
    bare = Factor.from_xarray(xr.DataArray([[1.0, 2.0, 3.0]], dims=["A", "B"]))
    assert [variable.states for variable in bare.scope] == [(0,), (0, 1, 2)]
    times = pd.date_range("2020-01-01", periods=2)
    timed = Factor.from_xarray(xr.DataArray([1.0, 2.0], dims=["t"], coords={"t": times}))
    assert timed.variable("t").states == tuple(times.to_numpy())


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"x": 1.0}, InvalidFactor, r"no number for \{'A': 'y'\}"),
        ({"x": 1.0, "z": 2.0}, UnknownState, "'z' is not a state of 'A'"),
        ({"x": 1.0, ("x", "y"): 2.0}, InvalidFactor, "one state for each"),
        ({"x": "much", "y": 1.0}, InvalidFactor, "expected a number"),
    ],
)
def test_incomplete_or_unreadable_mappings_are_refused(values, error, message):
    """The error names the assignment."""
    refuses(error, message, Factor.from_dict, {"A": ["x", "y"]}, values)


def test_incomplete_or_unreadable_frames_are_refused():
    """Missing assignments, repeated ones, a missing column of numbers and unknown names in `states`."""
    frame = pd.DataFrame({"A": ["x", "x"], "B": [1, 1], "value": [1.0, 2.0]})
    refuses(InvalidFactor, "stands twice", Factor.from_frame, frame)
    refuses(InvalidFactor, "no number for", Factor.from_frame, frame[:1], states={"A": ["x", "y"]})
    refuses(UnknownVariable, "Did you mean 'value'", Factor.from_frame, frame, value="valeu")
    with pytest.raises(UnknownVariable):
        Factor.from_frame(frame[:1], states={"C": ["x"]})


def test_a_mapping_over_too_many_variables_is_refused_before_any_table_is_made():
    """2^60 numbers are asked for by a mapping with one of them."""
    scope = {f"v{i}": 2 for i in range(60)}
    with pytest.raises(TooLarge, match="v0"):
        Factor.from_dict(scope, {(0,) * 60: 1.0})
