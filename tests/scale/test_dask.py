"""Rows in the memory of a cluster: lost workers are survived, faults are told by file, and nothing goes on unasked."""

import os
import signal
import sys
import threading
import time

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.distributed import Client, LocalCluster

import plausible as pb
from plausible.data.stream_statistics import StreamStatistics
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import FormatError, MissingDependency, NotSupported, TooLarge, UnknownState
from plausible.scale import DaskStatistics, LostCluster, dask_partitions
from plausible.variables import Variable

NUM_FILES = 6


def _write(folder, num_files=NUM_FILES):
    rng = np.random.default_rng(7)
    for number in range(num_files):
        x = rng.choice(["a", "b", "c"], 100)
        frame = pd.DataFrame({"x": x, "y": np.where(rng.random(100) < 0.2, "a", x), "z": rng.normal(size=100)})
        frame.to_parquet(folder / f"{number}.parquet")
    return folder


@pytest.fixture
def folder(tmp_path):
    return _write(tmp_path)


@pytest.fixture
def one_by_one(monkeypatch):
    """Each file is a task of its own, and its answer is fetched by itself."""
    monkeypatch.setattr(dask_partitions, "_AT_ONCE", 1)
    monkeypatch.setattr(dask_partitions, "_ROWS_TOGETHER", 1)


def _idle(client, seconds=30):
    """Whether the workers have nothing more to do before the time is over."""
    end = time.monotonic() + seconds
    while any(client.processing().values()):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.usefixtures("one_by_one")
def test_a_worker_that_dies_in_the_middle_of_a_pass_is_survived(folder, processes):
    """Its files are read again by the others; the counts are those of the table, in this pass and in the next."""
    killed = []

    def kill(num_done):
        if not killed:
            killed.append(next(iter(processes.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    statistics, expected = DaskStatistics(folder, processes, progress=kill), TableStatistics(Table.read(folder))
    for _ in range(2):
        np.testing.assert_array_equal(statistics.counts("y", ["x"]), expected.counts("y", ["x"]))
    assert len(killed) == 1
    assert killed[0] not in processes.run(os.getpid).values()


def _die(piece):
    if piece.first_row == 200:
        os._exit(1)


@pytest.mark.usefixtures("one_by_one")
def test_rows_of_which_workers_die_are_told_by_their_file(folder, processes, monkeypatch):
    """As where a row group is too large for their memory: nobody tries without end. Rows that waited may be told."""
    statistics = DaskStatistics(folder, processes)
    with monkeypatch.context() as during:
        during.setattr(processes.cluster.scheduler, "allowed_failures", 0)
        with pytest.raises(
            TooLarge, match=r"\d.parquet, row group 0: 1 of the cluster's workers .* memory.*row groups"
        ):
            list(statistics.partitions.map(_die))
    assert statistics.counts("x").sum() == 600


def _damage(path):
    pq.write_table(
        pa.table({"x": ["a", "b"] * 500, "y": ["a", "b"] * 500, "z": np.arange(1000) / 7}), path, row_group_size=250
    )
    place = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    start = place.dictionary_page_offset or place.data_page_offset
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)


KNOWN = [Variable("x", ["a", "b", "c"]), Variable("y", ["a", "b", "c"]), Variable("z")]


@pytest.mark.parametrize("known", [(), KNOWN], ids=["found", "named"])
def test_faults_of_files_are_told_as_where_one_table_reads_them(folder, threads, known):
    """A row group that can't be read, a column of another kind, one that is not there, a cell that is no state."""
    faults = {
        "damaged": (_damage, FormatError, r"damaged.parquet, row group 2.*can't be read"),
        "drift": (
            lambda path: pd.DataFrame({"x": [1], "y": ["a"], "z": [0.5]}).to_parquet(path),
            UnknownState if known else FormatError,
            r"drift.parquet.*column 'x'.*1"
            if known
            else r"drift.parquet.*'x' holds whole numbers here, but text in .*0.parquet",
        ),
        "lacking": (
            lambda path: pd.DataFrame({"x": ["a"], "z": [0.5]}).to_parquet(path),
            FormatError,
            r"lacking.parquet.*no column 'y', which is in .*0.parquet",
        ),
    }
    for name, (write, problem, message) in faults.items():
        path = folder / f"{name}.parquet"
        write(path)
        with pytest.raises(problem, match=message):
            DaskStatistics(folder, threads, variables=known).counts("y", ["x"])
        with pytest.raises(problem, match=message):
            Table.read(folder, known)
        path.unlink()


def _slow(piece):
    time.sleep(0.3)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("is_loaded", [False, True])
def test_control_c_ends_what_was_asked_of_the_cluster(folder, threads, is_loaded):
    """Whoever presses it gets the program back at once; workers finish what they have begun, and no more."""
    statistics = DaskStatistics(folder, threads, variables=KNOWN)
    if is_loaded:
        statistics.counts("x")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            list(statistics.partitions.map(_slow))
    finally:
        signal.signal(signal.SIGINT, before)
    assert _idle(threads)
    assert statistics.counts("x").sum() == 600


@pytest.mark.usefixtures("one_by_one")
def test_progress_is_told_and_can_end_a_pass(folder, threads):
    told = []
    statistics = DaskStatistics(folder, threads, progress=lambda done: told.append(done) or done == 3)
    with pytest.raises(KeyboardInterrupt):
        statistics.counts("x")
    assert told == [1, 2, 3]
    assert _idle(threads)


def _keep(piece):
    piece.keep("times", piece.kept.get("times", 0) + 1, 8)
    return piece.first_row, piece.kept["times"]


def test_pieces_stay_in_the_workers_with_what_work_has_kept(folder, processes):
    """A second pass finds what the first has left, and reads no file: they may be gone."""
    partitions = DaskStatistics(folder, processes).partitions
    assert partitions.num_bytes > 0
    assert list(partitions.map(_keep)) == [(first, 1) for first in range(0, 600, 100)]
    for path in folder.iterdir():
        path.unlink()
    assert list(partitions.map(_keep)) == [(first, 2) for first in range(0, 600, 100)]
    assert partitions.num_bytes == 0


def test_the_bits_are_the_same_for_any_cluster(folder, threads, processes):
    """Sums of floats are made in the order of the files, whoever has worked on them."""
    names = ["x", "z"]
    found = [DaskStatistics(folder, client, columns=names) for client in (threads, processes)]
    found.append(StreamStatistics(folder, columns=names))
    moments = [one.moments_of([pb.data.Request("z", ("x",))])[0] for one in found]
    for other in moments[1:]:
        np.testing.assert_array_equal(other.scatter, moments[0].scatter)
        np.testing.assert_array_equal(other.mean, moments[0].mean)


def test_a_relative_path_is_the_same_for_workers_elsewhere(folder, processes, monkeypatch):
    monkeypatch.chdir(folder)
    assert DaskStatistics("*.parquet", processes).total == 600


def test_the_address_of_a_scheduler_will_do(folder, threads, processes, monkeypatch):
    """It makes a client of its own, which is nobody's default; one where nobody answers is told."""
    found = DaskStatistics(folder, processes.scheduler.address)
    assert found.counts("x").sum() == 600
    found.partitions.client.close()
    monkeypatch.setattr(dask_partitions, "_SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(LostCluster, match=r"No scheduler of Dask's answers at 'tcp://127.0.0.1:1'"):
        DaskStatistics(folder, "tcp://127.0.0.1:1")


def test_without_dask_it_is_told_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(MissingDependency, match=r'needs dask, .*pip install "plausible\[scale\]"'):
        DaskStatistics(folder, "tcp://127.0.0.1:1")


def test_a_scheduler_that_ends_is_told(folder):
    """In the middle of a pass, and after it."""
    options = {"n_workers": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    patience = {"distributed.comm.timeouts.connect": "300ms", "distributed.client.scheduler-info-interval": "1s"}
    with dask.config.set(patience), LocalCluster(**options, protocol="tcp") as cluster:
        client = Client(cluster.scheduler_address, set_as_default=False, timeout=0.3)
        statistics = DaskStatistics(folder, client)
        assert statistics.counts("x").sum() == 600
        threading.Timer(0.1, cluster.close).start()
        with pytest.raises(LostCluster, match="has dropped what was asked"):
            list(statistics.partitions.map(_slow))
        client.close()
        with pytest.raises(LostCluster, match="is closed"):
            statistics.counts("x")


def test_what_other_processes_can_not_read_is_refused(processes):
    reader = pa.table({"x": ["a", "b"]}).to_reader()
    with pytest.raises(NotSupported, match=r"know nothing of the reader. Workers read files"):
        DaskStatistics(Stream(reader), processes).counts("x")


def test_a_folder_of_little_files_is_read_in_few_tasks(tmp_path, threads, monkeypatch):
    """Neighbours go together, up to a number of rows; first rows and counts are the same."""
    _write(tmp_path, 10)
    monkeypatch.setattr(dask_partitions, "_ROWS_TOGETHER", 300)
    partitions = DaskStatistics(tmp_path, threads).partitions
    assert [first for first, _ in partitions.map(_keep)] == list(range(0, 1000, 100))
    assert len(partitions._pieces) == 4
