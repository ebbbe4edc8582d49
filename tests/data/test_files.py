"""Files hold text: only an empty cell is missing, and types are those that the texts have."""

import datetime as dt
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plausible.cli.data import read_data
from plausible.data.table import Table
from plausible.errors import (
    FormatError,
    InvalidArgument,
    PlausibleError,
    PlausibleWarning,
    UnknownState,
    UnknownVariable,
)
from plausible.variables import Variable


@pytest.fixture
def csv_file(tmp_path):
    """A file with this text."""

    def write(text: str, name: str = "data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


@pytest.mark.parametrize("read", [Table.read, read_data], ids=["library", "command"])
def test_only_an_empty_cell_is_missing_for_library_and_commands_alike(csv_file, read):
    table = read(csv_file("x,y\nNone,1\nNA,2\nnan,1\n,2\n"), missing_values=[])
    assert table.variables["x"].states == ("NA", "None", "nan")
    assert table.missing == {"x": 1}


@pytest.mark.parametrize("read", [Table.read, read_data], ids=["library", "command"])
def test_states_that_look_like_missing_values_are_told_of_once_with_what_to_say(csv_file, read):
    path = csv_file("x,y,z\nNA,?,none\na,NA,b\n")
    with pytest.warns(PlausibleWarning, match=r"'\?' of 'y'; 'NA' of 'x', 'y'.*missing_values=\['\?', 'NA'\]") as told:
        read(path)
    assert len(told) == 1
    read(path, [Variable("x", ["NA", "a"]), Variable("y", ["?", "NA"])])


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "mapping"])
def test_values_that_mean_missing_are_missing_wherever_they_come_from(tmp_path, kind):
    """Columns are typed by what is left: numbers are numbers, and categories keep their order."""
    columns = {"x": ["1.5", "?", "NA"], "y": ["b", "NA", "a"], "z": [-999, 3, 4]}
    frame = pd.DataFrame(columns)
    source = {"pandas": frame, "polars": pl.DataFrame(columns), "mapping": columns}.get(kind)
    if source is None:
        source = tmp_path / f"data.{kind}"
        frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    table = Table.read(source, missing_values=("NA", "?", -999))
    assert table.missing == {"x": 2, "y": 1, "z": 1}
    np.testing.assert_array_equal(table.column("x"), [1.5, np.nan, np.nan])
    assert (table.variables["y"].states, table.variables["z"].states) == (("a", "b"), (3, 4))
    ordered = {"y": pd.Series(pd.Categorical(columns["y"], ["b", "NA", "a"]))}
    assert Table.read(ordered, missing_values="NA").variables["y"].states == ("b", "a")
    with pytest.raises(UnknownState, match=r"'NA' is not a state.*missing_values=\['NA'\]"):
        Table.read(columns, [Variable("y", ["a", "b"])])


@pytest.mark.parametrize("num_values", [20, 21])
@pytest.mark.parametrize("has_gap", [False, True])
def test_whole_numbers_of_a_file_are_states_with_and_without_gaps(csv_file, num_values, has_gap):
    """As pandas reads the same file, unless gaps have made floats of many of them."""
    path = csv_file("x,y\n" + "".join(f"{number},a\n" for number in range(num_values)) + (",a\n" if has_gap else ""))
    ours, theirs = Table.read(path), Table.read(pd.read_csv(path))
    assert ours.variables["x"].states == tuple(range(num_values))
    assert theirs.variables["x"].is_continuous == (has_gap and num_values > 20)
    if not theirs.continuous:
        np.testing.assert_array_equal(ours.column("x"), theirs.column("x"))


def test_commands_are_told_which_numbers_are_measurements_and_which_are_states(csv_file):
    path = csv_file("x,y\n" + "".join(f"{n},{n}\n" for n in range(30)) + ",7\n")
    table = read_data(path, continuous=["y"], states=["x"])
    assert (table.continuous, table.variables["x"].states) == (["y"], tuple(range(30)))
    with pytest.raises(UnknownVariable, match="--states"):
        read_data(path, states=["z"])


@pytest.mark.parametrize(
    ("text", "states", "codes"),
    [
        ("False\nTrue", ["False", "True"], [0, 1]),
        ("False\nTrue", [False, True], [0, 1]),
        ("1\n0", ["0", "1"], [1, 0]),
        ("1.0\n0.0", [0, 1], [1, 0]),
        ("01\n1", ["01", "1"], [0, 1]),
    ],
)
def test_given_states_are_found_by_their_text(csv_file, text, states, codes):
    path = csv_file(f"flag\n{text}\n")
    assert Table.read(path, [Variable("flag", states)]).codes.tolist() == [codes]
    assert read_data(path, [Variable("flag", states), Variable("absent", 2)]).codes.tolist() == [codes]


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        (["01", "1", "001"], ("001", "01", "1")),
        (["10", "9", "-1"], (-1, 9, 10)),
        (["1", "", "0"], (0, 1)),
        (["1.0", "", "0.0"], (0, 1)),
        (["true", "", "true"], (False, True)),
        (["1", "x", "2"], ("1", "2", "x")),
        (["1.0", "2.0", "1.0"], (1, 2)),
        (["1.5", "", "2"], ()),
        (["1e3", "2", "2"], (2, 1000)),
    ],
)
def test_texts_of_a_column_tell_its_type(csv_file, cells, states):
    """No states: continuous."""
    table = Table.read(csv_file("x,y\n" + "".join(f"{cell},a\n" for cell in cells)))
    assert table.variables["x"].states == states
    assert table.missing.get("x", 0) == cells.count("")
    assert list(map(type, table.variables["x"].states)) == list(map(type, states))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a,b\n1,2,3\n4,5,6\n", r"data.csv:2: The row has 3 cells"),
        ("a,b\n1,2\n4,5,\n", r"data.csv:3: The row has 3 cells"),
        ("a,b\n1,2\n\n4\n", r"data.csv:4: The row has 1 cells"),
        ("a,b,a\n1,2,3\n", r"data.csv:1: .*two columns 'a'"),
        (",b\n0,2\n", r"data.csv:1: .*no name to column 1.*index=False"),
        ("x\n1.5\nNA\n", r"data.csv: Row 1 of column 'x' is 'NA'.*Leave it empty"),
        ("", r"data.csv: .*empty"),
    ],
)
def test_files_that_are_no_tables_are_refused_with_their_line(csv_file, text, hint):
    with pytest.raises(FormatError, match=hint):
        Table.read(csv_file(text))


def test_other_encodings_and_broken_files_are_refused_by_name(tmp_path):
    (tmp_path / "latin.csv").write_bytes("x\nM\xfcller\n".encode("latin-1"))
    (tmp_path / "junk.parquet").write_bytes(b"not a parquet file")
    (tmp_path / "junk.csv.gz").write_bytes(b"not compressed")
    for name, hint in [("latin.csv", "UTF-8"), ("junk.parquet", "Parquet"), ("junk.csv.gz", "can't be read")]:
        with pytest.raises(FormatError, match=f"{name}: .*{hint}"):
            Table.read(tmp_path / name)


def test_endings_may_be_in_capitals(csv_file, tmp_path):
    assert Table.read(csv_file("x\na\n", "DATA.CSV")).num_rows == 1
    (tmp_path / "DATA.CSV.GZ").write_bytes(gzip.compress(b"x,y\na,\nb,c\n"))
    assert Table.read(tmp_path / "DATA.CSV.GZ").missing == {"y": 1}


def test_a_cell_that_is_no_number_is_named_where_one_is_expected(csv_file):
    path = csv_file("x\n1\n\nNA\n")
    with pytest.raises(InvalidArgument, match="Row 1 of column 'x' is 'NA'"):
        Table.read(path, [Variable("x")])
    numbers = Table.read(csv_file("x,y\n1,a\n,b\n"), [Variable("x")]).numbers
    np.testing.assert_array_equal(numbers, [[1.0, np.nan]])


def test_an_infinite_number_in_a_file_is_refused(csv_file):
    with pytest.raises(PlausibleError, match=r"Row 1 of column 'x' is -?inf: expected a finite number"):
        Table.read(csv_file("x\n1.5\ninf\n"))


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_signs_between_columns_are_refused_by_name(csv_file, tmp_path, sign, name):
    """In compressed files and with quoted names, too; rows with commas in numbers don't hide it."""
    for text in (f"x{sign}y\n1,5{sign}2\n", f'"x"{sign}"y"\na{sign}b\n'):
        with pytest.raises(FormatError, match=f"data.csv:1: The columns stand between {name}"):
            Table.read(csv_file(text))
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(f"x{sign}y\n1{sign}2\n".encode()))
    with pytest.raises(FormatError, match=name):
        Table.read(tmp_path / "data.csv.gz")
    assert list(Table.read(csv_file(f'"x{sign}y"\n1\n')).variables) == [f"x{sign}y"]


@pytest.mark.parametrize("writer", ["pandas", "arrow"])
def test_whole_numbers_of_parquet_files_stay_whole_where_cells_are_missing(tmp_path, writer):
    """However large and many they are; categories keep their order, and an index is no column."""
    many = [*range(25), None]
    large = [2**60, 2**60 + 1, *[None] * 24]
    frame = pd.DataFrame(
        {
            "many": pd.array(many, dtype="Int64"),
            "large": pd.array(large, dtype="Int64"),
            "flag": [True, None] * 13,
            "size": pd.Categorical(["small", "large"] * 13, categories=["small", "middle", "large"]),
            "height": [1.5, None] * 13,
        },
        index=[f"row {number}" for number in range(26)],
    )
    if writer == "pandas":
        frame.to_parquet(tmp_path / "data.parquet")
    else:
        arrow = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(arrow, tmp_path / "data.parquet")
    table = Table.read(tmp_path / "data.parquet")
    assert {name: variable.states for name, variable in table.variables.items()} == {
        "many": tuple(range(25)),
        "large": (2**60, 2**60 + 1),
        "flag": (False, True),
        "size": ("small", "middle", "large"),
        "height": (),
    }
    assert table.missing == {"many": 1, "large": 24, "flag": 13, "height": 13}


@pytest.mark.parametrize(
    ("cells", "states", "codes"),
    [
        (["1", "0", None], [0, 1], [1, 0, -1]),
        ([1, 0, None], ["0", "1"], [1, 0, -1]),
        (["yes", "no", "no"], ["no", "yes"], [1, 0, 0]),
        ([True, False, None], ["False", "True"], [1, 0, -1]),
    ],
)
def test_given_states_are_found_by_their_text_in_parquet_files(tmp_path, cells, states, codes):
    """As in CSV files: "1" is the state 1, and 1 is the state "1"."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"flag": pa.array(cells)}), path)
    assert Table.read(path, [Variable("flag", states)]).codes.tolist() == [codes]


def test_times_are_the_same_states_in_all_containers():
    """In categories and with a zone, too: Python's, not those of pandas."""
    zone = dt.UTC
    for times in ([dt.datetime(2020, 1, day, tzinfo=tz) for day in (1, 2)] for tz in (None, zone)):
        for column in (times, pd.Series(times), pd.Series(pd.Categorical(times))):
            states = Table.read({"when": column}).variables["when"].states
            assert list(states) == times
            assert set(map(type, states)) == {dt.datetime}
    spans = pd.Series(pd.Categorical(pd.to_timedelta([1, 2], unit="D")))
    assert set(map(type, Table.read({"took": spans}).variables["took"].states)) == {dt.timedelta}


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_columns_that_are_not_asked_for_are_not_typed(tmp_path, kind):
    """Neither are words in them warned of; names are refused with what was meant."""
    path = tmp_path / f"rows{kind}"
    frame = pd.DataFrame({"x": ["a", "b"], "height": ["1.5", "NA"], "empty": [None, None], "n": [2, 3]})
    frame.to_csv(path, index=False) if kind == ".csv" else frame.to_parquet(path)
    table = Table.read(path, [Variable("x", ["b", "a"]), Variable("height")], columns=["x"], weights="n")
    assert (list(table.variables), table.codes.tolist(), table.total) == (["x"], [[1, 0]], 5)
    assert list(Table.read(table, columns="x").variables) == ["x"]
    for source in (path, Table.read(path, columns=["x", "n"])):
        with pytest.raises(UnknownVariable, match=r"'X' is not a variable.*columns=.*Did you mean 'x'"):
            Table.read(source, columns=["X"])


def test_a_word_among_fractions_is_refused_with_the_ways_out(csv_file):
    with pytest.raises(FormatError, match=r"missing_values=\['NA'\].*columns="):
        Table.read(csv_file("x,height\na,1.5\nb,NA\n"))
