"""What a column holds tells its variable, not what holds the column."""

from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.variables import Variable

CONTAINERS = {
    "list": lambda values: {"x": values},
    "tuple": lambda values: {"x": tuple(values)},
    "objects": lambda values: {"x": np.array(values, dtype=object)},
    "matrix": lambda values: np.array(values, dtype=object)[:, None],
    "series": lambda values: {"x": pd.Series(values, dtype=object)},
    "frame": lambda values: pd.DataFrame({"x": values}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "arrow": lambda values: {"x": pa.array(values)},
}


@pytest.mark.parametrize("hold", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize(
    ("values", "states"),
    [
        ([1.5, None, 2.5], ()),
        ([Decimal("1.5"), None, Decimal("2.5")], ()),
        ([1.0, 2.0, 1.0], (1, 2)),
        ([1.0, None, 0.0], (0, 1)),
        ([1, None, 0], (0, 1)),
        ([True, None, True], (False, True)),
        (["b", None, "a"], ("a", "b")),
    ],
    ids=str,
)
def test_the_type_does_not_depend_on_the_container(hold, values, states):
    """No states: continuous."""
    table = Table.read(hold(values))
    (variable,) = table.variables.values()
    assert variable.states == states
    assert sum(table.missing.values()) == values.count(None)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
@pytest.mark.parametrize("hold", [lambda array: array, pd.Series], ids=["array", "series"])
def test_times_are_times_in_any_unit(hold, unit):
    times = np.array(["2020-01-02", "NaT", "2020-01-01"], dtype=f"M8[{unit}]")
    table = Table.read({"x": hold(times)})
    assert table.variables["x"].states == (datetime(2020, 1, 1), datetime(2020, 1, 2))
    assert table.codes.tolist() == [[1, -1, 0]]


def _in_file(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


FILES = {
    "csv": lambda values, folder: _in_file(pd.DataFrame({"x": values, "y": "a"}), folder / "x.csv"),
    "parquet": lambda values, folder: _in_file(pd.DataFrame({"x": values}), folder / "x.parquet"),
    "numpy": lambda values, folder: {"x": np.array(values, dtype=float)},
    "small floats": lambda values, folder: {"x": np.array(values, dtype=np.float32)},
    "pandas nullable": lambda values, folder: {"x": pd.Series(values, dtype="Float64")},
    "pandas arrow": lambda values, folder: {"x": pd.Series(values, dtype="float64[pyarrow]")},
    **{name: lambda values, folder, hold=hold: hold(values) for name, hold in CONTAINERS.items()},
}


@pytest.mark.parametrize("hold", FILES.values(), ids=FILES)
@pytest.mark.parametrize(
    ("values", "is_continuous"),
    [
        ([1.0, 0.0], False),
        ([-1.0, 1e6, 3.0], False),
        ([0.5, 1.0], True),
        (list(map(float, range(3000, 3020))), False),
        (list(map(float, range(3000, 3021))), True),
    ],
    ids=["two", "far", "fraction", "20 whole", "21 whole"],
)
def test_gaps_do_not_change_what_floats_are(hold, values, is_continuous, tmp_path):
    """At most 20 different whole numbers are states, whatever holds them; more, and others, are measurements."""
    whole, gappy = Table.read(hold(values, tmp_path)), Table.read(hold([*values, None], tmp_path))
    first, second = (next(iter(table.variables.values())) for table in (whole, gappy))
    assert first == second
    assert first.states == (() if is_continuous else tuple(sorted(map(int, values))))
    column = whole.column(first.name) if is_continuous else np.array(first.states)[whole.column(first.name)]
    assert column.tolist() == values


@pytest.mark.parametrize(
    "hold",
    [
        lambda values: {"x": values},
        lambda values: pl.DataFrame({"x": values}),
        lambda values: pa.table({"x": values}),
        lambda values: {"x": pd.Series(values, dtype="Int64")},
    ],
    ids=["list", "polars", "arrow", "pandas"],
)
def test_whole_numbers_are_states_with_and_without_gaps(hold):
    """However many and large they are."""
    values = [*range(40), 2**60, 2**60 + 1]
    for gap in ([], [None]):
        assert Table.read(hold(values + gap)).variables["x"].states == tuple(values)


@pytest.mark.parametrize("values", [[1, True, 0], [True, 1, 0], [0.5, True], ["a", True, 1]], ids=str)
@pytest.mark.parametrize("hold", [list, lambda values: pd.Series(values, dtype=object)], ids=["list", "series"])
def test_booleans_among_numbers_are_refused_in_any_order(values, hold):
    with pytest.raises(InvalidArgument, match=rf"Row {values.index(True) if values[0] != 1 else '.'} of column 'x'"):
        Table.read({"x": hold(values)})


@pytest.mark.parametrize("variables", [None, [Variable("x")], [Variable("x", ["a", "b", "c"])]], ids=str)
@pytest.mark.parametrize("column", ["abc", 5, b"ab", np.zeros((2, 2))], ids=["text", "number", "bytes", "axes"])
def test_what_is_no_list_of_values_is_refused_by_name(column, variables):
    with pytest.raises(InvalidArgument, match="The column 'x' is"):
        Table.read({"x": column}, variables)


@pytest.mark.parametrize("variables", [None, [Variable("x")]], ids=["typed", "given"])
def test_infinite_numbers_are_refused_with_column_and_row(variables):
    for column in ([1.5, -np.inf, None], np.array([1.5, np.inf]), pd.Series([0.5, np.inf])):
        with pytest.raises(InvalidArgument, match=r"Row 1 of column 'x' is -?inf: expected a finite number"):
            Table.read({"x": column}, variables)


def test_texts_for_a_continuous_variable_are_refused_with_column_and_row():
    with pytest.raises(InvalidArgument, match="Row 1 of column 'x' is 'b'"):
        Table.read({"x": [1.0, "b"]}, [Variable("x")])


@pytest.mark.parametrize(
    ("column", "states"),
    [
        (pd.Categorical(["b", "a"], categories=["b", "a"]), ("b", "a")),
        (pd.array([1, None], dtype="Int64"), (1,)),
        (pd.array(["x", None], dtype="string"), ("x",)),
        (pd.Index(["y", "x"]), ("x", "y")),
        (np.array([2**63 + 6, 2**63 + 5], dtype=np.uint64), (2**63 + 5, 2**63 + 6)),
        (pd.date_range("2020", periods=2, freq="300ns"), tuple(pd.date_range("2020", periods=2, freq="300ns"))),
        (pd.to_timedelta([2, 1], unit="ns"), tuple(pd.to_timedelta([1, 2], unit="ns"))),
    ],
    ids=lambda part: type(part).__name__,
)
def test_bare_arrays_large_numbers_and_nanoseconds_are_read(column, states):
    """An array of pandas without a series, unsigned numbers beyond the signed ones, times that microseconds merge."""
    assert Table.read({"x": column}).variables["x"].states == states


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("in_pandas", [False, True])
def test_dictionaries_of_arrow_keep_their_values_in_order_seen_or_not(chunks, in_pandas):
    """As categories of pandas do, which files of arrow have as dictionaries."""
    part = pa.DictionaryArray.from_arrays(pa.array([0, 2, None]), pa.array(["z", "unseen", "a"]))
    column = pa.chunked_array([part] * chunks)
    frame = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(column)}) if in_pandas else pa.table({"x": column})
    table = Table.read(frame)
    assert table.variables["x"].states == ("z", "unseen", "a")
    assert table.codes.tolist() == [[0, 2, -1] * chunks]
