"""Rows that are drawn into a file are those of the frame, whatever the blocks; a file is whole or not there."""

import errno
import os
import resource

import numpy as np
import pandas as pd
import pytest

from plausible import examples
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, MissingFile
from plausible.inference import Gibbs
from plausible.models import BayesianNetwork, samples

ASIA = examples.load("asia")
MIXED = BayesianNetwork(
    TableCPD("k", [0.2, 0.3, 0.5], states=[1, 2, 3]),
    TableCPD("b", [[0.1, 0.9], [0.5, 0.5], [0.7, 0.3]], parents=["k"], states=[False, True]),
    TableCPD("t", [0.5, 0.5], states=["x", 7]),
    LinearGaussianCPD("n", 1.0, variance=4.0),
)


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks even of few rows."""
    monkeypatch.setattr(samples, "_CELLS", 8 * 50)
    monkeypatch.setattr(samples, "_LEAST_ROWS", 1)


def _plain(path):
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".feather": pd.read_feather}
    return read[os.path.splitext(path)[1]](path)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_files_hold_the_rows_and_the_categories_of_the_frame(tmp_path, small_blocks, ending):
    path = tmp_path / f"rows{ending}"
    written = ASIA.sample(120, seed=3, output=path)
    assert (written.num_rows, written.num_pieces) == (120, 3)
    assert (written.path, written.num_bytes) == (str(path), path.stat().st_size)
    frame = ASIA.sample(120, seed=3)
    if ending == ".csv":
        frame = frame.astype(object)
    pd.testing.assert_frame_equal(_plain(path).astype(frame.dtypes), frame)
    assert ending == ".csv" or _plain(path).dtypes.equals(frame.dtypes)


@pytest.mark.parametrize(
    "options",
    [{}, {"evidence": {"xray": "yes"}}, {"do": {"smoke": "no"}}, {"engine": Gibbs(), "evidence": {"xray": "yes"}}],
    ids=str,
)
def test_every_way_to_draw_writes_what_it_gives(tmp_path, small_blocks, options):
    ASIA.sample(120, seed=5, output=tmp_path / "a.parquet", **options)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), ASIA.sample(120, seed=5, **options))


def test_compiled_models_write_rows_too(tmp_path, small_blocks):
    engine = ASIA.compile()
    engine.sample(120, seed=5, evidence={"xray": "yes"}, output=tmp_path / "a.parquet")
    frame = engine.sample(120, seed=5, evidence={"xray": "yes"})
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), frame)


def test_numbers_booleans_and_mixed_states_keep_their_types(tmp_path, small_blocks):
    for evidence in (None, {"b": True}, {"n": 2.5}):
        MIXED.sample(300, seed=1, evidence=evidence, output=tmp_path / "a.parquet")
        frame = MIXED.sample(300, seed=1, evidence=evidence)
        read = pd.read_parquet(tmp_path / "a.parquet")
        assert [str(kind) for kind in read.dtypes] == ["int64", "bool", "category", "float64"]
        assert read["t"].tolist() == frame["t"].map(str).tolist()
        pd.testing.assert_frame_equal(read.drop(columns="t"), frame.drop(columns="t"))
    table = Table.read(Stream(tmp_path / "a.parquet", variables=MIXED.variables))
    np.testing.assert_array_equal(table.values("t"), frame["t"].to_numpy(object))


def test_blocks_of_a_seed_share_one_generator(monkeypatch):
    """Rows of a block are not those of the block before it, and a generator given goes on."""
    monkeypatch.setattr(samples, "_CELLS", 0)
    monkeypatch.setattr(samples, "_LEAST_ROWS", 500)
    whole = ASIA.sample(1000, seed=9)
    generator = np.random.default_rng(9)
    parts = [ASIA.sample(500, seed=generator) for _ in range(2)]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    assert not parts[0].equals(parts[1])


def test_no_rows_are_a_file_with_its_columns(tmp_path):
    written = ASIA.sample(0, seed=1, output=tmp_path / "a.parquet")
    assert (written.num_rows, written.num_pieces) == (0, 1)
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert (len(frame), list(frame)) == (0, list(ASIA.variables))


def test_a_file_is_whole_or_as_it_was(tmp_path, small_blocks):
    path = tmp_path / "a.csv"
    path.write_text("precious")
    with pytest.raises(KeyboardInterrupt):
        ASIA.sample(200, seed=1, output=path, progress=lambda num_rows: num_rows == 100)
    with pytest.raises(ImpossibleEvidence):
        ASIA.sample(200, seed=1, output=path, evidence={"either": "no", "lung": "yes"})
    assert path.read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]
    seen = []
    ASIA.sample(120, seed=1, output=path, progress=seen.append)
    assert seen == [50, 100, 120]
    assert len(path.read_text().splitlines()) == 121


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path, ending):
    """A limit on the size of files stands in for it."""
    path = tmp_path / f"a{ending}"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=f"a{ending}") as caught:
            ASIA.sample(100_000, seed=1, output=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []


def test_what_can_not_be_written_is_refused_before_any_work(tmp_path):
    for path, error, words in (
        (tmp_path / "a.xlsx", InvalidArgument, "none of a file of rows: .*parquet"),
        (tmp_path / "no" / "a.csv", MissingFile, "There is no folder"),
        (tmp_path, InvalidArgument, "none of a file of rows"),
    ):
        with pytest.raises(error, match=words):
            ASIA.sample(10**15, seed=1, output=path)
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InvalidArgument, match="is a folder"):
        ASIA.sample(10**15, seed=1, output=tmp_path / "b.csv")
