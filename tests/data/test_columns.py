"""Columns of data frames as positions of states."""

from __future__ import annotations

import copy
import datetime as dt
import enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausible.data import encode_column, encode_columns, encode_evidence
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.variables import Variable

STATES = ["low", "mid", "high"]
X, N = Variable("X", STATES), Variable("N", 5)
ROWS = 500
RNG = np.random.default_rng(0)
CODES = RNG.integers(3, size=ROWS)
TEXT = [STATES[code] for code in CODES]
NUMBERS = RNG.integers(5, size=ROWS)

TEXT_COLUMNS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "numpy text": np.array(TEXT),
    "numpy objects": np.array(TEXT, dtype=object),
    "pandas text": pd.Series(TEXT, dtype="string"),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "pandas categories": pd.Series(pd.Categorical(TEXT, categories=["high", "low", "mid", "never"])),
    "pandas with an index": pd.Series(TEXT, index=np.arange(ROWS)[::-1]),
    "polars text": pl.Series(TEXT),
    "polars categories": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["mid", "high", "low"])),
    "arrow text": pa.chunked_array([TEXT[:200], TEXT[200:]]),
    "arrow dictionary": pa.chunked_array([pa.array(TEXT).dictionary_encode()]),
}
NUMBER_COLUMNS = {
    "list": NUMBERS.tolist(),
    "numpy": NUMBERS,
    "numpy small": NUMBERS.astype(np.uint8),
    "numpy floats": NUMBERS.astype(float),
    "numpy objects": NUMBERS.astype(object),
    "pandas": pd.Series(NUMBERS),
    "pandas nullable": pd.Series(NUMBERS, dtype="Int64"),
    "pandas categories": pd.Series(pd.Categorical(NUMBERS)),
    "polars": pl.Series(NUMBERS),
    "polars floats": pl.Series(NUMBERS.astype(float)),
    "arrow": pa.chunked_array([NUMBERS]),
}


@pytest.mark.parametrize("kind", TEXT_COLUMNS)
def test_text_of_every_kind_of_column(kind):
    """The positions are those of the variable's states, whatever the column's own order of categories."""
    encoded = encode_column(X, TEXT_COLUMNS[kind])
    assert encoded.dtype == np.intp
    np.testing.assert_array_equal(encoded, CODES)


@pytest.mark.parametrize("kind", NUMBER_COLUMNS)
def test_numbers_of_every_kind_of_column(kind):
    """Numbers as states are found by value: 1, 1.0 and True are the same."""
    np.testing.assert_array_equal(encode_column(N, NUMBER_COLUMNS[kind]), NUMBERS)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_frames_of_every_library(make):
    """By name, in the order of the variables."""
    frame = make({"N": NUMBERS, "X": TEXT})
    encoded = encode_columns(frame, {"X": X, "N": N})
    assert list(encoded) == ["X", "N"]
    np.testing.assert_array_equal(encoded["X"], CODES)
    np.testing.assert_array_equal(encoded["N"], NUMBERS)


class Color(enum.Enum):
    """States can be anything hashable."""

    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    "states",
    [[False, True], [(1, 2), (3, 4)], list(Color), [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]],
    ids=["booleans", "tuples", "enum", "dates"],
)
def test_states_that_are_not_text(states):
    """In lists and in pandas frames."""
    variable = Variable("S", states)
    values = [states[i] for i in (1, 0, 1)]
    assert encode_column(variable, values).tolist() == [1, 0, 1]
    assert encode_column(variable, pd.Series(values, dtype=object)).tolist() == [1, 0, 1]


def test_booleans_from_every_library():
    """Native columns of truth values."""
    flag = Variable("F", [False, True])
    for column in (
        np.array([True, False]),
        pd.Series([True, False]),
        pl.Series([True, False]),
        pa.array([True, False]),
    ):
        assert encode_column(flag, column).tolist() == [1, 0]


@pytest.mark.parametrize("library", [list, np.array, pd.Series, pl.Series, pa.array])
def test_an_unknown_value_is_an_error_with_its_row(library):
    """Column, row, value and close matches."""
    column = library(["low", "mid", "hihg", "low"])
    with pytest.raises(UnknownState, match=r"Row 2 of column 'X': 'hihg' is not a state of 'X'\. Did you mean 'high'"):
        encode_columns({"X": column}, {"X": X})


@pytest.mark.parametrize(
    "column",
    [
        ["low", None],
        ["low", float("nan")],
        pd.Series(["low", None]),
        pd.Series(["low", pd.NA], dtype="string"),
        pd.Series(pd.Categorical(["low", None])),
        pl.Series(["low", None]),
        pl.Series(["low", None], dtype=pl.Categorical),
        pa.array(["low", None]),
        np.array(["low", None], dtype=object),
    ],
    ids=["None", "NaN", "pandas", "NA", "pandas category", "polars", "polars category", "arrow", "objects"],
)
def test_a_missing_value_is_an_error_with_its_row(column):
    """However the library writes it."""
    with pytest.raises(InvalidArgument, match="Row 1 of column 'X' is missing"):
        encode_column(X, column)


def test_missing_numbers():
    """NaN in a column of numbers."""
    with pytest.raises(InvalidArgument, match="Row 1 of column 'N' is missing"):
        encode_column(N, np.array([1.0, np.nan]))
    with pytest.raises(InvalidArgument, match="Row 1 of column 'N' is missing"):
        encode_column(N, pl.Series([1.0, float("nan")]))
    with pytest.raises(UnknownState, match="Row 0 of column 'N': 7 is not a state"):
        encode_column(N, np.array([7, 1]))


def test_continuous_columns_stay_numbers():
    """And must be finite."""
    height = Variable("height")
    for column in ([1, 2.5], np.array([1, 2.5]), pd.Series([1, 2.5]), pl.Series([1.0, 2.5]), pa.array([1.0, 2.5])):
        encoded = encode_column(height, column)
        assert encoded.dtype == np.float64
        assert encoded.tolist() == [1.0, 2.5]
    for bad in (["tall"], [None], [np.nan], [np.inf], pd.Series([pd.NA], dtype="Float64"), pl.Series([None])):
        with pytest.raises(InvalidArgument, match=r"Row 0 of column 'height' is .*: expected a finite number"):
            encode_column(height, bad)


def test_frames_that_do_not_fit():
    """A column is missing, lengths differ, text for a column, something that is no frame."""
    with pytest.raises(UnknownVariable, match=r"no column for the variable 'X'\. Did you mean 'x'"):
        encode_columns({"x": []}, {"X": X})
    with pytest.raises(InvalidArgument, match="'X' has 1 row, 'N' has 2"):
        encode_columns({"X": ["low"], "N": [1, 2]}, {"X": X, "N": N})
    with pytest.raises(InvalidArgument, match="'X' is 'low', not a list"):
        encode_columns({"X": "low"}, {"X": X})
    with pytest.raises(InvalidArgument, match="The column 'X' is 3, not a list"):
        encode_columns({"X": 3}, {"X": X})
    with pytest.raises(InvalidArgument, match="not list"):
        encode_columns([["low"]], {"X": X})
    with pytest.raises(InvalidArgument, match="collected first"):
        encode_columns(pl.LazyFrame({"X": TEXT}), {"X": X})
    with pytest.raises(UnknownState, match="Row 1"):
        encode_columns({"X": ["low", ["mid"]]}, {"X": X})


def test_empty_columns():
    """No rows, no error; no variables, no columns."""
    for column in (
        [],
        np.array([]),
        pd.Series([], dtype=object),
        pl.Series([], dtype=pl.String),
        pa.array([], pa.string()),
    ):
        assert encode_column(X, column).tolist() == []
    assert encode_columns({}, {}) == {}


@pytest.mark.parametrize("read", [encode_columns, encode_evidence], ids=["rows", "evidence"])
@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_a_column_that_is_no_variable_is_refused_by_complete_rows_and_by_evidence_alike(make, read):
    """It may be a misspelt variable; the error says how to leave it out."""
    frame = make({"X": TEXT, "XX": TEXT})
    with pytest.raises(UnknownVariable, match=r"'XX' is not a variable.*Did you mean 'X'.*frame\.drop\(columns="):
        read(frame, {"X": X})


def test_a_missing_cell_points_to_the_question_that_takes_it():
    """Complete rows are needed here; a compiled model sums over gaps."""
    with pytest.raises(InvalidArgument, match=r"Row 1 of column 'X' is missing.*compile\(\)\.log_likelihood"):
        encode_columns({"X": [X.states[0], None]}, {"X": X})


@pytest.mark.parametrize("is_fresh", [False, True], ids=["same objects", "equal objects"])
def test_many_objects_with_gaps_of_their_own_are_read_as_one_by_one(is_fresh):
    """Cells may share an object or have equal ones, and every gap may be another NaN."""
    rng = np.random.default_rng(0)
    states, kinds = ["low", "mid", ("a", 1)], rng.integers(0, 5, 3000).tolist()
    cells = [
        copy.deepcopy(states[kind]) if kind < 3 and is_fresh else [*states, None, float("nan")][kind] for kind in kinds
    ]
    column = pd.Series(cells, dtype=object)
    column[4:3000:5] = [float("nan") for _ in range(4, 3000, 5)]
    expected = [states.index(cell) if cell in states else -1 for cell in column.tolist()]
    for given in (column, column.to_numpy(), column.tolist(), column[::-1][::-1]):
        assert encode_column(Variable("X", states), given, allow_missing=True).tolist() == expected
