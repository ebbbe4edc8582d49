"""Rows in pieces are the table that they would be in one, whatever they are read from; mistakes are told by place."""

import itertools
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.data import batches, gathered
from plausible.data.stream_statistics import StreamStatistics, for_learning
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.errors import FormatError, InvalidArgument, MissingFile, TooLarge, UnknownState, UnknownVariable
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.variables import Variable


def _frame(num_rows=700, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "text": rng.choice(["c", "a", "b"], num_rows),
            "flag": rng.random(num_rows) < 0.3,
            "whole": rng.choice([10, 2, 3], num_rows),
            "number": rng.normal(size=num_rows).round(3),
            "few": rng.choice([1.0, 0.0, np.nan], num_rows),
            "weight": rng.integers(1, 4, num_rows),
        }
    )
    frame["gaps"] = frame["text"].where(rng.random(num_rows) < 0.8)
    frame["kind"] = pd.Categorical(frame["text"], categories=["c", "b", "unseen", "a"])
    return frame


FRAME = _frame()
HALVES = [FRAME.iloc[:300], FRAME.iloc[300:]]


def _same(found, expected):
    assert {n: v.states for n, v in found.variables.items()} == {n: v.states for n, v in expected.variables.items()}
    assert [type(s) for v in found.variables.values() for s in v.states] == [
        type(s) for v in expected.variables.values() for s in v.states
    ]
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    np.testing.assert_array_equal(found.row_weights, expected.row_weights)
    assert found.interventions.keys() == expected.interventions.keys()
    for name, mask in expected.interventions.items():
        np.testing.assert_array_equal(found.interventions[name], mask)


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of few rows, so that small files have many."""
    monkeypatch.setattr(batches, "rows_at_once", lambda num_columns: 64)


def _parquet(folder):
    for number, half in enumerate(HALVES):
        half.to_parquet(folder / f"{number}.parquet", row_group_size=90)
    return f"{folder}/*.parquet"


def _feather(folder):
    for number, half in enumerate(HALVES):
        pyarrow.feather.write_feather(pa.Table.from_pandas(half, preserve_index=False), folder / f"{number}.feather")
    return folder


def _reader(folder):
    return pa.Table.from_pandas(FRAME, preserve_index=False).to_reader(max_chunksize=77)


def _dataset(folder):
    _parquet(folder)
    return pyarrow.dataset.dataset(folder)


SOURCES = {
    "parquet": _parquet,
    "feather": _feather,
    "reader": _reader,
    "dataset": _dataset,
    "lazy": lambda folder: pl.from_pandas(FRAME).lazy(),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_pieces_make_the_table_that_the_frame_is(tmp_path, small_batches, make):
    frame = FRAME
    if make is SOURCES["lazy"]:  # polars sorts categories of pandas' as it likes
        frame = frame.drop(columns="kind")
        source = pl.from_pandas(frame).lazy()
    else:
        source = make(tmp_path)
    _same(Table.read(source), Table.read(frame))


def test_a_relation_of_duckdb_is_read_in_pieces(small_batches):
    frame = FRAME.drop(columns="kind")
    relation = duckdb.from_df(frame)
    _same(Table.read(relation), Table.read(frame))
    _same(
        Table.read(relation.filter("whole = 2")),
        Table.read(frame[frame.whole == 2], Table.read(frame[frame.whole == 2]).variables),
    )


TEXTS = FRAME.drop(columns="kind")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_csv_files_in_pieces_are_typed_as_one_file(tmp_path, small_batches, ending):
    separator = "\t" if "tsv" in ending else ","
    for number, half in enumerate(HALVES):
        half.drop(columns="kind").to_csv(tmp_path / f"{number}{ending}", sep=separator, index=False)
    TEXTS.to_csv(tmp_path.parent / "all.csv", index=False)
    expected = Table.read(tmp_path.parent / "all.csv")
    _same(Table.read(tmp_path), expected)
    _same(Table.read(sorted(tmp_path.iterdir())), expected)


def test_semicolons_commas_and_other_encodings_are_said(tmp_path, small_batches):
    frame = TEXTS.assign(text=TEXTS["text"].map({"a": "ä", "b": "ö", "c": "c"}))
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=",", encoding="latin-1", index=False)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    stream = Stream(tmp_path / "a.csv", separator=";", decimal=",", encoding="latin-1")
    _same(Table.read(stream), Table.read(tmp_path / "plain.csv"))
    with pytest.raises(FormatError, match=r"between semicolons.*Stream\(source=..., separator=';'\)"):
        Table.read([tmp_path / "a.csv"])
    with pytest.raises(FormatError, match="not written in UTF-8"):
        Table.read(Stream(tmp_path / "a.csv", separator=";"))
    for wrong, message in (
        ({"separator": ";;"}, "one sign"),
        ({"decimal": ","}, "have to differ"),
        ({"encoding": "nonsense"}, "unknown"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            Stream(tmp_path / "a.csv", **wrong)


CELLS = st.one_of(st.none(), st.sampled_from(["1", "2", "01", "1.5", "x", "True", "False", "NA", " 3", "1e3"]))


@settings(deadline=None, max_examples=60)
@given(columns=st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=3), cut=st.integers(1, 3))
def test_columns_of_csv_files_are_typed_by_all_of_their_cells(tmp_path_factory, columns, cut):
    """Whatever the cells are and wherever the file is cut, the answer or the refusal is that for one file."""
    folder = tmp_path_factory.mktemp("cut")
    frame = pd.DataFrame({"n": ["1", "2", "3", "4"], **{f"c{i}": column for i, column in enumerate(columns)}})
    frame.to_csv(folder / "all.csv", index=False)
    for number, part in enumerate((frame.iloc[:cut], frame.iloc[cut:])):
        part.to_csv(folder / f"{number}.part.csv", index=False)
    options = {"missing_values": ["NA"]} if "NA" in frame.to_numpy() else {}
    answers = []
    for source in (folder / "all.csv", f"{folder}/*.part.csv"):
        try:
            answers.append(Table.read(source, **options))
        except (FormatError, InvalidArgument) as error:
            answers.append(type(error))
    if isinstance(answers[0], type):
        assert answers[1] in (answers[0], InvalidArgument)
    else:
        _same(answers[1], answers[0])


def test_many_numbers_of_csv_files_are_kept_as_numbers(tmp_path, small_batches, monkeypatch):
    monkeypatch.setattr(gathered, "_MOST_NUMBERS", 100)
    FRAME[["number", "text"]].to_csv(tmp_path / "a.csv", index=False)
    _same(Table.read([tmp_path / "a.csv"]), Table.read(tmp_path / "a.csv"))
    frame = FRAME[["number", "text"]].astype(object)
    frame.loc[650, "number"] = "none"
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(FormatError, match="'number' is 'none' among fractional numbers"):
        Table.read([tmp_path / "a.csv"])
    frame.loc[650, "number"] = "somewhere"
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InvalidArgument, match="too many for states"):
        Table.read([tmp_path / "a.csv"])


def test_rows_weights_and_interventions_are_columns(tmp_path, small_batches):
    frame = FRAME.assign(targets=np.where(FRAME.flag, "whole", None), was_set=FRAME.whole == 2)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    options = {"weights": "weight", "interventions": "targets", "columns": ["whole", "text"]}
    _same(Table.read(Stream(tmp_path / "a.parquet", **options)), Table.read(frame, **options))
    options["interventions"] = {"text": "was_set"}
    _same(Table.read(tmp_path / "a.parquet", **options), Table.read(frame, **options))
    chosen = Table.read(Stream(tmp_path / "a.parquet", where={"whole": [2, 3], "flag": True}, columns=["number"]))
    rows = frame[frame.whole.isin([2, 3]) & frame.flag]
    np.testing.assert_array_equal(chosen.numbers[0], rows.number)
    listed = np.arange(700) % 2
    assert Table.read(tmp_path / "a.parquet", columns=["text"], weights=listed).total == listed.sum()


def test_folders_tell_columns(tmp_path):
    for year, half in zip((2020, 2021), HALVES, strict=True):
        (tmp_path / f"year={year}").mkdir()
        half[["text"]].to_parquet(tmp_path / f"year={year}" / "rows.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "rows.parquet").write_bytes(b"")
    for source in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/**/*.parquet"):
        table = Table.read(source)
        assert table.variables["year"].states == (2020, 2021)
        assert np.bincount(table.column("year")).tolist() == [300, 400]


@pytest.mark.parametrize("max_bytes", [0.0, 1000.0, 1e9])
def test_statistics_of_pieces_are_those_of_the_table(tmp_path, small_batches, max_bytes):
    """Whether the pieces stay in memory, some of them, or none."""
    source = _parquet(tmp_path)
    columns = ["text", "flag", "whole", "kind", "gaps"]
    statistics = StreamStatistics(source, max_bytes=max_bytes, columns=columns, weights="weight")
    table = Table.read(FRAME, columns=columns, weights="weight")
    from plausible.data.table_statistics import TableStatistics

    expected = TableStatistics(table)
    assert (statistics.total, statistics.num_rows) == (expected.total, expected.num_rows)
    assert (statistics.missing, statistics.interventions) == (expected.missing, {})
    for names in itertools.permutations(["text", "flag", "kind"]):
        np.testing.assert_array_equal(statistics.counts(names[0], names[1:]), expected.counts(names[0], names[1:]))
    assert (statistics.cost([]).num_bytes > 0) == (max_bytes < 1e9)


def test_a_path_is_statistics_where_it_is_large_with_the_same_answer(tmp_path, small_batches, monkeypatch):
    frame = FRAME.drop(columns=["number", "gaps", "few"]).assign(number=[f"r{row}" for row in range(700)])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    with pytest.warns(Warning, match="'number' \\(700 different values"):
        small = learn_structure(str(tmp_path / "a.parquet"))
    parameters = learn_parameters("text -> kind <- whole", tmp_path, prior="bdeu:1")
    from plausible.data import stream_statistics, table

    for module in (stream_statistics, table):
        monkeypatch.setattr(module, "table_limit", lambda: 100.0)
    with pytest.raises(TooLarge, match="StreamStatistics"):
        Table.read(tmp_path)
    with pytest.warns(Warning, match="'number' \\(700 different values"):
        large = learn_structure(str(tmp_path / "a.parquet"))
    assert isinstance(for_learning(Stream(tmp_path, columns=["text"])), StreamStatistics)
    assert (large.graph, large.score) == (small.graph, small.score)
    assert learn_parameters("text -> kind <- whole", tmp_path, prior="bdeu:1") == parameters


def _write(folder, *frames):
    for number, frame in enumerate(frames):
        pd.DataFrame(frame).to_parquet(folder / f"{number}.parquet")
    return folder


def test_files_that_differ_are_told_by_name(tmp_path):
    folder = _write(tmp_path, {"x": ["a"], "y": [1]}, {"x": ["b"]})
    with pytest.raises(FormatError, match=r"1.parquet.*no column 'y', which is in .*0.parquet"):
        Table.read(folder)
    assert Table.read(folder, columns=["x"]).num_rows == 2
    _write(tmp_path, {"x": ["a"]}, {"x": ["b"], "z": [1]})
    with pytest.raises(FormatError, match=r"0.parquet.*no column 'z', which is in .*1.parquet"):
        Table.read(folder)
    _write(tmp_path, {"x": [1, 2]}, {"x": ["2", "1"]})
    with pytest.raises(FormatError, match=r"1.parquet.*'x' holds text here, but whole numbers in .*0.parquet"):
        Table.read(folder)
    assert Table.read(folder, [Variable("x", [1, 2])]).codes.tolist() == [[0, 1, 1, 0]]
    _write(tmp_path, {"x": [None, None]}, {"x": ["2", "1"]})
    assert Table.read(folder).codes.tolist() == [[-1, -1, 1, 0]]


def test_what_can_not_be_read_is_told_by_its_place(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(1000) % 7, "y": ["a", "b"] * 500}), path, row_group_size=250)
    place = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    start = place.dictionary_page_offset or place.data_page_offset
    data[start : start + 20] = b"\xff" * 20
    (tmp_path / "b.parquet").write_bytes(data)
    with pytest.raises(FormatError, match=r"b.parquet, row group 2, column 'x': This can't be read"):
        Table.read(tmp_path)
    (tmp_path / "b.parquet").write_bytes(data[:100])
    with pytest.raises(FormatError, match=r"b.parquet: This can't be read"):
        Table.read(tmp_path)
    with pytest.raises(UnknownState, match=r"a.parquet, row group 0: Row 6 of column 'x'.*6"):
        Table.read(path, [Variable("x", [0, 1, 2, 3, 4, 5])])
    with pytest.raises(UnknownVariable, match=r"columns=.*Did you mean 'x'"):
        Table.read(path, columns=["X"])
    for missing, message in ((f"{tmp_path}/*.pq", "No file is called"), (tmp_path / "c.parquet", "No such file")):
        with pytest.raises(MissingFile, match=message):
            Table.read(missing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFile, match="no file of data"):
        Table.read(tmp_path / "empty")
    nested = pa.table({"x": [[1], [2]]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    with pytest.raises(FormatError, match="'x' holds list"):
        Table.read(tmp_path / "nested.parquet")


def test_a_reader_is_kept_as_it_can_be_read_once_alone():
    stream = Stream(_reader(None))
    _same(Table.read(stream), Table.read(FRAME))
    _same(Table.read(stream, columns=["text"]), Table.read(FRAME, columns=["text"]))


def test_a_stream_of_files_is_sent_to_other_processes(tmp_path):
    stream = Stream(_parquet(tmp_path), columns=["text", "whole"])
    assert stream.variables
    _same(Table.read(pickle.loads(pickle.dumps(stream))), Table.read(FRAME, columns=["text", "whole"]))


def test_rows_in_a_list_are_a_table():
    rows = [{"a": 1, "b": "x"}, {"a": 2}]
    table = Table.read(rows)
    assert table.codes.tolist() == [[0, 1], [0, -1]]
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert Table.read(batch).codes.tolist() == [[0, 1]]


@pytest.mark.parametrize("kind", ["file", "reader"])
def test_a_choice_that_no_row_fits_is_told_with_what_there_is(tmp_path, kind):
    """Not as an empty column: a slip gets the close match, values that never meet are named together."""
    frame = pd.DataFrame({"asia": ["no", "yes", "no"], "smoke": ["yes", "no", "yes"], "year": [2020, 2021, 2021]})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "big.parquet")

    def source():
        return tmp_path / "big.parquet" if kind == "file" else pa.Table.from_pandas(frame).to_reader()

    for where, told in [
        ({"smoke": "yess"}, r"No row has 'yess' in 'smoke', as where= asks\. Did you mean 'yes'\?"),
        ({"year": 1999}, r"No row has 1999 in 'year', as where= asks\. Known: 2020, 2021\."),
        ({"year": [1, 2]}, r"No row has 1 or 2 in 'year', as where= asks\. Known: 2020, 2021\."),
        ({"year": 2020, "smoke": "no"}, r"No row has 2020 in 'year' and 'no' in 'smoke'"),
    ]:
        with pytest.raises(InvalidArgument, match=told):
            Table.read(Stream(source(), where=where))
    assert Table.read(Stream(source(), where={"year": 2021})).num_rows == 2
