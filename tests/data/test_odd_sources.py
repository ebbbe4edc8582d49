"""Rows in pieces of odd files: read rightly, or refused by file, row group and column."""

import datetime as dt
import decimal
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from plausible.data import arrow_parts
from plausible.data.stream_statistics import for_learning
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.errors import FormatError, InvalidArgument, UnknownState, UnknownVariable
from plausible.variables import Variable


@pytest.fixture
def folder(tmp_path):
    """A folder of Parquet files, each of the columns given."""

    def write(*columns, **options):
        for number, one in enumerate(columns):
            pq.write_table(pa.table(one), tmp_path / f"{number}.parquet", **options)
        return tmp_path

    return write


def _cells(source, name="x", **options):
    return Table.read(source, **options).values(name).tolist()


def test_files_without_rows_among_others(folder):
    empty = {"x": pa.array([], pa.string())}
    assert _cells(folder({"x": ["a", "b"]}, empty, {"x": ["b"]})) == ["a", "b", "b"]
    table = Table.read(folder(empty, empty, empty), [Variable("x", ["a", "b"])])
    assert (table.num_rows, table.variables["x"].num_states) == (0, 2)
    with pytest.raises(InvalidArgument, match=r"'x' has no value at all.*variables=\[Variable\('x', \['a', 'b'\]\)\]"):
        Table.read(folder(empty, empty, empty))


def test_csv_files_without_rows_among_others(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n")
    (tmp_path / "c.csv").write_text("y,x\n3,4")
    assert _cells(tmp_path) == [1, 4]
    (tmp_path / "d.csv").write_text("")
    with pytest.raises(FormatError, match=r"d.csv.*it is empty"):
        Table.read(tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "states"),
    [
        ([1, 2], [3.0, None], [1, 2, 3]),
        ([0.5, 2.0], [3, 4], None),
        (["b", "a"], pa.array(["c", "a"]).dictionary_encode(), ["a", "b", "c"]),
        (pa.array(["b", "a"]).dictionary_encode(), pa.array(["c"], pa.large_string()), ["a", "b", "c"]),
        (pa.array(["b", "a"]).dictionary_encode(), pa.array(["c"]).dictionary_encode(), ["b", "a", "c"]),
        (pa.array([1, 2], pa.int8()), pa.array([3], pa.uint64()), [1, 2, 3]),
        (pa.nulls(2), ["a"], ["a"]),
    ],
)
def test_columns_that_go_together_are_read_as_pandas_joins_them(folder, first, second, states):
    """Whole and fractional numbers, text and categories, wide and narrow types, nothing and something."""
    table = Table.read(folder({"x": first}, {"x": second}))
    assert table.variables["x"].is_continuous == (states is None)
    assert states is None or list(table.variables["x"].states) == states
    given = [cell for column in (first, second) for cell in pa.array(column).to_pylist()]
    there = [None if cell is None or cell != cell else cell for cell in table.values("x").tolist()]
    assert there == given


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([1, 2], ["a"], "text here, but whole numbers"),
        ([True], [1], "whole numbers here, but booleans"),
        ([1.5], ["a"], "text here, but fractional numbers"),
        (["a"], [dt.date(2020, 1, 1)], r"date32\[day\] here, but text"),
    ],
)
def test_columns_that_do_not_go_together_are_refused_by_file(folder, first, second, words):
    with pytest.raises(FormatError, match=rf"'x' holds {words}"):
        Table.read(folder({"x": first}, {"x": second}))


def test_categories_that_are_no_texts_do_not_go_with_text(tmp_path):
    numbers, texts = pa.table({"x": pa.array([1, 2]).dictionary_encode()}), pa.table({"x": ["a"]})
    for first, second, words in (
        (numbers, texts, "text here, but categories"),
        (texts, numbers, "text in some places, other values here"),
    ):
        pa.feather.write_feather(first, tmp_path / "0.feather")
        pa.feather.write_feather(second, tmp_path / "1.feather")
        with pytest.raises(FormatError, match=f"1.feather.*'x' holds {words}"):
            Table.read(tmp_path)


def test_other_columns_in_other_files(folder):
    path = folder({"x": [1], "y": ["a"]}, {"y": ["b"], "x": [2]}, {"x": [3], "y": ["c"], "z": [0]})
    with pytest.raises(FormatError, match=r"0.parquet.*no column 'z', which is in .*2.parquet"):
        Table.read(path)
    assert _cells(path, columns=["x", "y"]) == [1, 2, 3]


def test_types_that_are_no_states_are_refused_by_column(folder):
    nested = {"s": [{"a": 1}], "l": [[1]], "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "x": [1]}
    for name, kind in (("s", "struct"), ("l", "list"), ("m", "map")):
        with pytest.raises(FormatError, match=rf"0.parquet, row group 0: The column '{name}' holds {kind}"):
            Table.read(folder(nested), columns=[name])
    assert _cells(folder(nested), columns=["x"]) == [1]
    with pytest.raises(FormatError, match=r"0.parquet, row group 0: The column 'x' holds an infinite number"):
        Table.read(folder({"x": [1.5, np.inf]}))


def test_times_decimals_and_large_numbers_are_what_they_are(folder):
    day, time = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4, 5)
    prices = [decimal.Decimal("1.50"), decimal.Decimal("2.25"), None]
    table = Table.read(folder({"d": [day, None, day], "t": [time, None, time], "p": prices}))
    assert table.values("d").tolist() == [day, None, day]
    assert table.values("t").tolist() == [time, None, time]
    np.testing.assert_array_equal(table.numbers, [[1.5, 2.25, np.nan]])
    large = pa.array(np.array([2**63, 2**63 + 1], np.uint64))
    assert _cells(folder({"x": large})) == [2**63, 2**63 + 1]


def test_columns_of_ids_are_left_out_of_what_is_learned(folder, monkeypatch):
    monkeypatch.setattr("plausible.data.gathered.MOST_VALUES", 1000)
    path = folder({"id": np.arange(2000) + 10**15, "x": ["a", "b"] * 1000})
    with pytest.raises(InvalidArgument, match=r"'id' has more than .* different values, too many for states"):
        Table.read(path)
    for learn in (for_learning, Table.for_learning):
        with pytest.warns(Warning, match=r"'id' \(more than .* different values\)"):
            assert list(learn(path).variables) == ["x"]


def test_an_index_of_pandas_is_no_variable(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 1]}, index=pd.Index(["p", "q", "r"], name="who"))
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename_axis(None).to_parquet(tmp_path / "b.parquet")
    assert list(Table.read(tmp_path).variables) == ["x"]
    assert _cells(tmp_path / "a.parquet", "who", columns=["who"]) == ["p", "q", "r"]
    assert list(Table.read(Stream(tmp_path / "a.parquet", index="x", columns=["who"])).variables) == ["who"]


def test_one_large_row_group_is_read_in_batches(tmp_path):
    rows = np.arange(50_000) % 7
    pq.write_table(pa.table({f"x{i}": rows for i in range(200)}), tmp_path / "a.parquet")
    part = Stream(tmp_path / "a.parquet").parts[0]
    sizes = [batch.num_rows for batch in part.batches(list(part.kinds))]
    assert sum(sizes) == 50_000
    assert max(sizes) < 25_000
    np.testing.assert_array_equal(Table.read(tmp_path / "a.parquet", columns=["x7"]).codes[0], rows)


def test_a_stream_of_batches_in_a_file_is_read(tmp_path):
    table = pa.table({"x": ["a", "b", "a"]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    assert _cells(tmp_path / "a.arrow") == ["a", "b", "a"]
    (tmp_path / "a.arrow").write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError, match=r"a.arrow: This can't be read: Not an Arrow file"):
        Table.read(tmp_path / "a.arrow")


def test_dictionaries_with_gaps_and_repeats(tmp_path):
    for number, dictionary in enumerate((["a", None, "c"], ["a", "c", "c"])):
        places = pa.array([0, 1, None, 2], pa.uint8() if number else pa.int32())
        column = pa.DictionaryArray.from_arrays(places, pa.array(dictionary))
        pa.feather.write_feather(pa.table({"x": column}), tmp_path / "a.feather")
        assert _cells(tmp_path / "a.feather") == ["a", dictionary[1], None, "c"]


def test_categories_of_polars_and_duckdb_are_read_in_their_order():
    frame = pl.DataFrame({"x": ["b", None, "a"]}, schema={"x": pl.Enum(["b", "c", "a"])})
    table = Table.read(frame.lazy())
    assert (table.variables["x"].states, table.codes.tolist()) == (("b", "c", "a"), [[0, -1, 2]])
    relation = duckdb.sql("select 'a'::enum('b', 'a') as x, 1 as \"odd \"\" name\"")
    assert Table.read(relation).variables["x"].states == ("b", "a")
    assert _cells(relation, 'odd " name', columns=['odd " name']) == [1]


def test_only_wanted_columns_are_asked_of_other_libraries(folder):
    """A column that can't be read does no harm where it is not asked for."""
    path = folder({"x": [1, 2], "bad": [[1], [2]]})
    for source in (
        pa.dataset.dataset(path),
        pl.scan_parquet(f"{path}/*.parquet"),
        duckdb.read_parquet(f"{path}/*.parquet"),
    ):
        assert _cells(source, columns=["x"]) == [1, 2]
    scanner = pa.dataset.dataset(path).scanner(columns=["x"], filter=pa.dataset.field("x") > 1)
    assert _cells(scanner) == [2]


def test_what_other_libraries_can_not_read_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\nb\n")
    relation = duckdb.sql(f"select cast(x as int) as x from read_csv('{tmp_path}/a.csv', all_varchar=true)")
    with pytest.raises(FormatError, match=r"(?s)the relation: This can't be read.*Could not convert"):
        Table.read(relation)


def test_folders_named_as_hive_does(tmp_path):
    for name in ("c=__HIVE_DEFAULT_PARTITION__", "c=a%20b", "c=x"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / name / "a.parquet")
    assert _cells(tmp_path, "c") == [None, None, "a b", "a b", "x", "x"]
    assert Table.read(Stream(tmp_path, where={"c": "a b"})).num_rows == 2


def test_rows_that_are_not_wanted_are_not_read(tmp_path, monkeypatch):
    """Row groups are passed over by their statistics, folders by their names."""
    read = []
    plain = arrow_parts._arrow_batches
    monkeypatch.setattr(arrow_parts, "_arrow_batches", lambda *given: read.append(given[3]) or plain(*given))
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        columns = {"x": np.arange(100), "t": [f"t{i:02}" for i in range(100)], "f": np.arange(100) / 4}
        pq.write_table(pa.table(columns), tmp_path / f"year={year}" / "a.parquet", row_group_size=20)
    for where, num_rows, num_groups in (
        ({"year": 2021}, 100, 5),
        ({"x": [5, 95], "year": 2021}, 2, 2),
        ({"t": "t50"}, 2, 2),
        ({"f": [0.25, 1000]}, 2, 2),
        ({"x": "7"}, 2, 10),  # text may stand for a number
        ({"x": 1000}, 0, 0),
    ):
        read.clear()
        stream = Stream(tmp_path, where=where, columns=["x"], variables=[Variable("x", 100)])
        assert Table.read(stream).num_rows == num_rows
        assert len(read) == num_groups, where
    with pytest.raises(InvalidArgument, match="'f', which holds numbers"):
        Table.read(Stream(tmp_path, where={"f": "much"}))
    with pytest.raises(UnknownVariable, match="where= names it"):
        Table.read(Stream(tmp_path, where={"X": 1}))


def test_errors_tell_the_row_where_it_stands(tmp_path):
    pq.write_table(pa.table({"x": [0, 1, 0, 9], "y": [0, 1, 1, 1]}), tmp_path / "a.parquet")
    stream = Stream(tmp_path, [Variable("x", 2)], where={"y": 1}, columns=["x"])
    with pytest.raises(UnknownState, match=r"a.parquet, row group 0: Row 3 of column 'x'"):
        Table.read(stream)


def test_files_of_many_shapes_give_no_warning(folder):
    with warnings.catch_warnings(action="error"):
        Table.read(folder({"x": [1, 2]}, {"x": [None, 2.0]}))
