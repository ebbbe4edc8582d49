"""Whoever works on the parts of a stream, the answers are those of one table."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from plausible.data.partitions import LocalPartitions, Piece, StreamPartitions
from plausible.data.stream_statistics import PartitionedStatistics, StreamStatistics
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import FormatError
from plausible.learn.learned_structure import learn_structure
from plausible.variables import Variable


class PoolPartitions(StreamPartitions):
    """All that it takes to have any executor work on the parts."""

    def __init__(self, stream, pool):
        super().__init__(stream)
        self._pool = pool

    def spread(self, function, items):
        return self._pool.map(function, items)


def _rows(num_rows=600, seed=3):
    rng = np.random.default_rng(seed)
    text = rng.choice(["c", "a", "b"], num_rows)
    whole = (text == "a") + rng.integers(0, 2, num_rows)
    frame = pd.DataFrame({"text": text, "whole": whole, "flag": (whole > 0) ^ (rng.random(num_rows) < 0.2)})
    frame["number"] = rng.normal(size=num_rows) + whole
    frame["weight"] = rng.integers(0, 3, num_rows)
    return frame


ROWS = _rows()


def _write(folder, ending="parquet"):
    for number, (start, end) in enumerate(((0, 100), (100, 101), (101, 400), (400, 600))):
        if ending == "csv":
            ROWS.iloc[start:end].to_csv(folder / f"{number}.csv", index=False)
        else:
            ROWS.iloc[start:end].to_parquet(folder / f"{number}.parquet", row_group_size=90)
    return folder


def _first_row(piece):
    return piece.first_row, piece.table.num_rows


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    "options", [{}, {"where": {"text": ["a", "b"]}}, {"variables": [Variable("text", ["a", "b", "c"])]}]
)
def test_pieces_know_their_first_row_whoever_works_on_them(tmp_path, ending, options):
    """They lie one after the other, in the order of the files."""
    stream = Stream(_write(tmp_path, ending), **options)
    with ThreadPoolExecutor(2) as pool:
        spread = list(PoolPartitions(stream, pool).map(_first_row))
    assert spread == list(LocalPartitions(Stream(tmp_path, **options)).map(_first_row))
    assert [first for first, _ in spread] == np.cumsum([0, *(size for _, size in spread[:-1])]).tolist()
    assert sum(size for _, size in spread) == Table.read(stream).num_rows


def test_a_pool_of_processes_answers_as_a_table_does(tmp_path):
    """The same whole numbers and the same graph; a column is typed by all files; errors come through by name."""
    _write(tmp_path)
    table = Table.read(ROWS, columns=["text", "whole", "flag"])
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        statistics = PartitionedStatistics(PoolPartitions(Stream(tmp_path, columns=list(table.variables)), pool))
        assert statistics.variables == table.variables
        for child, parents in (("flag", ["text", "whole"]), ("text", ["flag"])):
            counts = statistics.counts(child, parents)
            np.testing.assert_array_equal(counts, TableStatistics(table).counts(child, parents))
            assert counts.dtype == np.int64
        assert learn_structure(statistics, escapes=0).graph == learn_structure(table, escapes=0).graph
        more = [Variable("text", ["c", "b", "a", "d"])]
        again = statistics.with_variables({"text": more[0]})
        np.testing.assert_array_equal(again.counts("text"), TableStatistics(Table.read(table, more)).counts("text"))
        ROWS.assign(text=1).to_parquet(tmp_path / "x.parquet")
        with pytest.raises(FormatError, match=r"x.parquet.*'text' holds whole numbers here, but text in .*0.parquet"):
            PartitionedStatistics(PoolPartitions(Stream(tmp_path), pool)).counts("text")


def test_floats_are_added_in_the_order_of_the_pieces(tmp_path):
    """Moments and weighted counts have the same bits, in memory, read anew or worked on elsewhere."""
    ROWS.assign(weight=ROWS.weight / 3).to_parquet(tmp_path / "0.parquet")
    _rows(500, seed=4).assign(weight=0.1).to_parquet(tmp_path / "1.parquet")
    options = {"weights": "weight", "columns": ["text", "number", "flag"]}
    with ThreadPoolExecutor(2) as pool:
        spread = PartitionedStatistics(PoolPartitions(Stream(tmp_path, **options), pool))
        found = [spread, StreamStatistics(tmp_path, **options), StreamStatistics(tmp_path, max_bytes=0, **options)]
        moments = [one.moments("number") for one in found]
        counts = [one.counts("flag", ["text"]) for one in found]
    for other in moments[1:]:
        np.testing.assert_array_equal(other.scatter, moments[0].scatter)
        np.testing.assert_array_equal(other.mean, moments[0].mean)
    for table in counts[1:]:
        np.testing.assert_array_equal(table, counts[0])


def test_what_is_kept_with_a_piece_stays_where_it_is():
    """A piece that is sent elsewhere has its rows; what was made of them is made again."""
    piece = Piece(TableStatistics({"x": [0, 1, 1]}), 7, {"cases": lambda: 0})
    sent = pickle.loads(pickle.dumps(piece))
    assert (sent.first_row, sent.kept, sent.table.codes.tolist()) == (7, {}, [[0, 1, 1]])
    assert piece.__sizeof__() == 3


@pytest.mark.parametrize("cut", [1, 200, 599])
def test_columns_are_typed_alike_however_files_are_cut(tmp_path, monkeypatch, cut):
    """Numbers as text, of which too many are there to keep, and a column without any value in one of the files."""
    from plausible.data import gathered

    monkeypatch.setattr(gathered, "_MOST_NUMBERS", 50)
    frame = ROWS.assign(gaps=ROWS["whole"].where(np.arange(600) >= cut).astype("Int64"))
    frame.to_csv(tmp_path / "all.csv", index=False)
    for number, half in enumerate((frame.iloc[:cut], frame.iloc[cut:])):
        half.to_csv(tmp_path / f"{number}.part.csv", index=False)
    found, expected = Table.read(f"{tmp_path}/*.part.csv"), Table.read(tmp_path / "all.csv")
    assert found.variables == expected.variables
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.numbers, expected.numbers)
