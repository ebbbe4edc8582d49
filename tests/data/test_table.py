"""Tables keep the values of their rows, whatever they were read from."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausible.data.table import Table
from plausible.errors import InvalidArgument, MissingFile, UnknownState, UnknownVariable
from plausible.variables import Variable

COLUMNS = {
    "text": ["b", "a", None, "b"],
    "flag": [True, True, None, True],
    "whole": [10, 2, 2, 10],
    "size": [1.5, None, -2.0, 0.0],
}


def _decoded(table: Table) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {}
    for name, codes in zip(table.discrete, table.codes.tolist(), strict=True):
        states = table.variables[name].states
        columns[name] = [None if code < 0 else states[code] for code in codes]
    for name, numbers in zip(table.continuous, table.numbers, strict=True):
        columns[name] = [None if np.isnan(number) else number for number in numbers]
    return columns


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_values_and_types_survive_reading_from_any_library(make):
    table = Table.read(make(COLUMNS))
    assert _decoded(table) == COLUMNS
    assert table.variables["text"].states == ("a", "b")
    assert table.variables["flag"].states == (False, True)
    assert table.variables["whole"].states == (2, 10)
    assert table.variables["size"].is_continuous
    assert table.missing == {"text": 1, "flag": 1, "size": 1}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_files_are_read_as_frames_are(tmp_path, suffix):
    frame = pd.DataFrame({"x": ["b", "a"], "y": [0.5, 1.5], "n": [3, 1]})
    path = tmp_path / f"data{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    assert _decoded(Table.read(path)) == frame.to_dict("list")
    assert _decoded(Table.read(str(path))) == frame.to_dict("list")


def test_a_matrix_has_a_column_for_each_variable():
    table = Table.read(np.array([[0, 5], [1, 5]]), [Variable("a", 2), Variable("b", [5, 6])])
    assert _decoded(table) == {"a": [0, 1], "b": [5, 5]}
    with pytest.raises(InvalidArgument, match="2 columns, but 1"):
        Table.read(np.zeros((3, 2)), [Variable("a", 2)])


def test_categories_keep_their_order_and_unseen_states():
    states, values = ["low", "middle", "high"], ["low", "high", None]
    for frame in (
        pd.DataFrame({"x": pd.Categorical(values, categories=states)}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(states))}),
    ):
        table = Table.read(frame)
        assert table.variables["x"].states == ("low", "middle", "high")
        assert table.codes.tolist() == [[0, 2, -1]]


def test_states_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": ["c", "a", "b", "a"], "y": [7, 3, 3, 9]})
    for _ in range(5):
        shuffled = frame.iloc[rng.permutation(4)]
        assert Table.read(shuffled).variables == Table.read(frame).variables


def test_given_variables_rule_and_unknown_states_are_named_with_their_row():
    variable = Variable("x", ["a", "b", "c"])
    assert Table.read({"x": ["c", "a"]}, [variable]).codes.tolist() == [[2, 0]]
    with pytest.raises(UnknownState, match=r"Row 1 of column 'x'.*'d'"):
        Table.read({"x": ["a", "d"]}, [variable])
    with pytest.raises(UnknownVariable, match="'y'"):
        Table.read({"x": ["a"]}, [Variable("y", 2)])


def test_weights_may_be_a_column_which_is_then_no_variable():
    table = Table.read({"x": ["a", "b"], "n": [2.0, 3.0]}, weights="n")
    assert list(table.variables) == ["x"]
    assert table.total == 5
    for bad in ([1.0], [1.0, -1.0], [1.0, np.nan], "missing"):
        with pytest.raises((InvalidArgument, UnknownVariable), match="weight"):
            Table.read({"x": ["a", "b"]}, weights=bad)


def test_wrong_tables_are_refused_with_what_is_wrong(tmp_path):
    with pytest.raises(InvalidArgument, match="different lengths"):
        Table.read({"x": ["a"], "y": ["a", "b"]})
    for empty in ([None, None], np.array([np.nan, np.nan]), pd.Series([None, None], dtype="string")):
        with pytest.raises(InvalidArgument, match=r"'x' has no value at all.*hidden=\{'x': 2\}"):
            Table.read({"y": ["a", "b"], "x": empty})
    with pytest.raises(InvalidArgument, match="There are no rows"):
        Table.read({"x": []})
    (tmp_path / "header.csv").write_text("x,y\n")
    with pytest.raises(InvalidArgument, match="There are no rows"):
        Table.read(tmp_path / "header.csv")
    with pytest.raises(MissingFile, match="No such file"):
        Table.read(tmp_path / "absent.csv")
    (tmp_path / "x.txt").write_text("a\n1\n")
    with pytest.raises(InvalidArgument, match="neither"):
        Table.read(tmp_path / "x.txt")
    with pytest.raises(InvalidArgument, match="name that is text"):
        Table.read(pd.DataFrame([[1, 2]]))


def test_selected_rows_and_columns_are_the_same_values():
    table = Table.read({**COLUMNS}, weights=[1, 2, 3, 4], interventions={"whole": [True, False, False, True]})
    some = table.take(np.array([3, 0, 3])).select(["size", "whole"])
    assert _decoded(some) == {"size": [0.0, 1.5, 0.0], "whole": [10, 10, 10]}
    assert some.weights is not None
    assert some.weights.tolist() == [4, 1, 4]
    assert some.interventions["whole"].tolist() == [True, True, True]


def test_more_than_127_states_take_wider_codes():
    table = Table.read({"x": list(range(300))})
    assert table.codes.tolist() == [list(range(300))]


def test_a_table_read_again_is_encoded_as_told():
    """As if its rows had been read so in the first place."""
    columns = {"x": ["a", None, "b"], "n": [1, 0, 1], "w": [2.5, 0.0, 1.0]}
    table = Table.read(columns)
    given = [Variable("x", ["b", "a", "c"]), Variable("n")]
    again = Table.read(table, given, weights="w", interventions={"n": [True, False, False]})
    fresh = Table.read(columns, given, weights="w", interventions={"n": [True, False, False]})
    assert again.variables == fresh.variables
    assert _decoded(again) == _decoded(fresh) == {"x": ["a", None, "b"], "n": [1.0, 0.0, 1.0]}
    assert again.weights is not None
    assert again.weights.tolist() == [2.5, 0.0, 1.0]
    assert again.interventions["n"].tolist() == [True, False, False]
    assert Table.read(again).total == 3.5
    assert Table.read(table, weights=[1, 2, 3]).total == 6
    assert Table.read(table) is table


def test_a_table_read_again_refuses_what_it_can_not_hold():
    table = Table.read({"x": ["a", "b"]})
    with pytest.raises(UnknownState, match=r"Row 1 of column 'x'.*'b'"):
        Table.read(table, [Variable("x", ["a", "c"])])
    with pytest.raises(UnknownVariable, match="'y'"):
        Table.read(table, [Variable("y", 2)])
    with pytest.raises(UnknownVariable, match=r"'w'.*weights"):
        Table.read(table, weights="w")
    with pytest.raises(InvalidArgument, match="Row 0 of column 'x' is 'a'"):
        Table.read(table, [Variable("x")])


def test_rows_and_columns_that_are_not_there_are_named():
    table = Table.read({"rain": ["a", "b"]})
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        table.select(["rian"])
    for rows in ([2], [True], np.array([0.5])):
        with pytest.raises(InvalidArgument, match="There are 2 rows"):
            table.take(rows)


def test_a_table_can_be_sent_to_another_process():
    table = Table.read(COLUMNS, weights=[1, 2, 3, 4], interventions={"flag": [True, False, False, True]})
    copy = pickle.loads(pickle.dumps(table))
    assert _decoded(copy) == _decoded(table)
    assert copy.weights.tolist() == [1, 2, 3, 4]
    assert copy.interventions["flag"].tolist() == [True, False, False, True]
    with pytest.raises(TypeError):
        copy.variables["flag"] = Variable("flag", 2)


@pytest.mark.parametrize("option", ["weights", "interventions"])
def test_a_column_that_is_a_number_is_not_the_text_of_it(option):
    """The name is missing, and the error says so."""
    with pytest.raises(UnknownVariable, match="'0' is not a variable of the data"):
        Table.read({0: [1, 2], "A": ["x", "y"]}, **{option: "0"})


def test_a_table_read_again_has_the_columns_asked_for_in_their_order():
    table = Table.read({"a": [0, 1], "b": [1, 0], "x": [0.5, 1.5]})
    assert list(Table.read(table, columns=["x", "a"]).variables) == ["x", "a"]
    assert list(Table.read(table).variables) == ["a", "b", "x"]
