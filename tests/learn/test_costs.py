"""What learning would cost is what it costs, in passes and bytes; times grow with the rows that are there."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from plausible import examples
from plausible.data import StreamStatistics
from plausible.data.partitions import LocalPartitions, Piece
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn import costs, em, explain, parameters, pc, structure

ASIA = examples.load("asia")
ROWS = ASIA.sample(3000, seed=0)
GAPS = ROWS.mask(np.random.default_rng(0).random(ROWS.shape) < 0.1)


@pytest.mark.parametrize(
    ("learner", "arguments", "rows"),
    [
        (parameters, (ASIA.graph,), ROWS),
        (em, (ASIA,), GAPS),
        (structure, (), ROWS),
        (partial(structure, method="chow-liu"), (), ROWS),
        (partial(structure, method="ges"), (), ROWS),
        (partial(structure, method="first-ascent", missing="available"), (), GAPS),
        (pc, (), ROWS),
    ],
    ids=["parameters", "em", "default", "chow-liu", "ges", "available", "pc"],
)
def test_as_many_passes_are_told_as_are_made(tmp_path, monkeypatch, learner, arguments, rows):
    """Where all rows are tried, no more and no fewer, but for one that tells what is missing."""
    path, passes = tmp_path / "rows.parquet", []
    rows.to_parquet(path)
    cost = explain(learner, *arguments, path)
    plain = LocalPartitions.map
    monkeypatch.setattr(LocalPartitions, "map", lambda self, work: passes.append(work) or plain(self, work))
    learner(*arguments, StreamStatistics(path))
    assert len(passes) - 1 <= cost.num_passes <= len(passes)
    assert cost.learner in ("parameters", "em", "structure", "pc")
    assert (cost.num_rows, cost.num_columns) == (3000, 8)


def test_bytes_are_those_of_the_files(tmp_path, monkeypatch):
    ROWS.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    stream = Stream(tmp_path)
    size = stream.num_bytes
    cost = explain(parameters, ASIA.graph, tmp_path)
    assert (cost.is_in_pieces, cost.bytes_read) == (False, 2 * size)
    assert explain(parameters, ASIA.graph, Stream(tmp_path, ASIA.variables)).bytes_read == size
    assert explain(parameters, ASIA.graph, ROWS).bytes_read == 0
    monkeypatch.setattr(costs, "table_limit", lambda: 3000.0 * 8 / 4)  # a quarter of the rows fit
    cost = explain(structure, tmp_path, "chow-liu")
    assert cost.is_in_pieces
    assert cost.bytes_read == pytest.approx(size * (2 + 0.75 * (cost.num_passes - 1)))
    assert cost.memory < explain(structure, ROWS, "chow-liu").memory + 3000 * 8 * 8


def test_memory_is_at_least_what_the_rows_take(tmp_path):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=5000), "y": ["a", "b"] * 2500})
    assert explain(parameters, "y -> x", frame).memory >= 5000 * (8 + 1)


def test_times_grow_with_the_rows(tmp_path, monkeypatch):
    """A clock that only rows drive: five passes of a microsecond a row, and a tenth of a second besides."""
    clock = [0.0]
    monkeypatch.setattr(costs, "process_time", lambda: clock[0])

    def tick(piece: Piece, seconds: float) -> None:
        clock[0] += seconds * piece.table.num_rows

    def learn(data):
        clock[0] += 0.1
        for _ in range(5):
            list(data.each(partial(tick, seconds=1e-6)))

    for num_rows in (1000, 20_000, 400_000):
        pd.DataFrame({"x": np.arange(num_rows) % 3}).to_parquet(tmp_path / "rows.parquet")
        assert explain(learn, data=tmp_path).seconds == pytest.approx(0.1 + 5e-6 * num_rows)


def test_learners_that_need_the_rows_are_timed_on_two_numbers_of_them(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(costs, "process_time", lambda: clock[0])

    def learn(data):
        clock[0] += 0.5 + 1e-3 * Table.read(data).num_rows

    frame = pd.DataFrame({"x": np.arange(100_000) % 3})
    cost = explain(learn, frame)
    assert (cost.num_passes, cost.seconds) == (None, pytest.approx(100.5))
    assert "all rows at once" in str(cost)


def test_rows_of_texts_are_counted_by_their_lengths(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    cost = explain(parameters, ASIA.graph, [tmp_path / "rows.csv"])
    assert cost.num_rows == pytest.approx(3000, rel=0.05)


def test_columns_that_are_not_learned_from_are_not_tried(tmp_path):
    frame = ROWS.assign(id=[f"r{row}" for row in range(3000)], late=[None] * 2999 + ["x"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    with pytest.warns(Warning, match="'id'"):
        cost = explain(structure, tmp_path, "chow-liu")
    assert cost.num_columns == 8 + 1  # all rows are among the first here, so that the last one is, too
    assert explain(parameters, ASIA.graph, tmp_path).num_passes is not None


def test_mistakes_are_told():
    with pytest.raises(InvalidArgument, match="takes no data"):
        explain(len, ROWS)
    with pytest.raises(NotSupported, match="has no rows to try"):
        explain(parameters, ASIA.graph, StreamStatistics.__mro__[1](_NoStream()))
    with pytest.raises(UnknownVariable, match="'nowhere'"):
        explain(parameters, "nowhere -> asia", ROWS)


class _NoStream:
    """Pieces that nobody can read again."""


def test_the_answer_is_short():
    cost = explain(structure, ROWS, "chow-liu")
    assert str(cost).splitlines()[0] == "structure: 3000 rows of 8 columns, as a table in memory"
    assert cost.to_dict().keys() >= {"num_passes", "bytes_read", "memory", "seconds"}
