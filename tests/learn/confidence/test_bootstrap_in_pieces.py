"""The bootstrap of rows in pieces: the same bits however rows are parted, and the distribution of the ordinary one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from plausible.causal.discovery.fci import fci
from plausible.causal.discovery.mark_confidence import bootstrap_marks
from plausible.data import batches
from plausible.data.partitions import LocalPartitions, StreamPartitions
from plausible.data.repeated_rows import repeated
from plausible.data.shared_passes import SharedPasses
from plausible.data.statistics import Request
from plausible.data.stream_statistics import PartitionedStatistics, StreamStatistics
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.confidence import resampling
from plausible.learn.confidence.resampling import bootstrap
from plausible.learn.confidence.row_weights import (
    ResampledRows,
    exponential_weights,
    poisson_times,
    random_words,
)
from plausible.learn.learned_structure import learn_structure


def _frame(num_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=num_rows)
    b = np.where(rng.random(num_rows) < 0.7, a, 1 - a)
    c = np.where(rng.random(num_rows) < 0.6, b, rng.integers(3, size=num_rows))
    d = rng.integers(2, size=num_rows)
    e = np.where(rng.random(num_rows) < 0.25, d, rng.integers(2, size=num_rows))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


FRAME = _frame()


def _written(folder, limits, group, frame=FRAME):
    """A folder of files that end at some rows, in groups of others."""
    folder.mkdir()
    for number, (start, end) in enumerate(zip([0, *limits], [*limits, len(frame)], strict=True)):
        frame.iloc[start:end].to_parquet(folder / f"{number}.parquet", row_group_size=group)
    return folder


def test_each_row_of_each_sample_has_numbers_of_its_own():
    words = np.stack([random_words(7, sample, 0, 4000) for sample in range(5)])
    assert len(np.unique(words)) == words.size
    for first in (1, 999, 2**33):
        np.testing.assert_array_equal(random_words(7, 2, first, 50), random_words(7, 2, first - 1, 51)[1:])
    assert (random_words(8, 0, 0, 4000) != words[0]).all()
    bits = (words[..., None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert abs(bits.mean(axis=(0, 1)) - 0.5).max() < 5 * 0.5 / np.sqrt(words.size)


def test_words_are_those_of_splitmix64():
    """By plain whole numbers, as published."""

    def plain(start, number):
        word = (start + number * 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        return word ^ (word >> 31)

    found = random_words(3, 1, 5, 4).tolist()
    start = plain(plain(3, 0) ^ (2 * 0x9E3779B97F4A7C15 % 2**64), 0)
    assert found == [plain(start, number) for number in range(5, 9)]


def test_times_are_poisson_and_weights_exponential():
    words = np.concatenate([random_words(1, sample, 0, 200_000) for sample in range(5)])
    times = poisson_times(words)
    seen = np.bincount(np.minimum(times, 7), minlength=8)
    expected = np.append(stats.poisson.pmf(np.arange(7), 1), stats.poisson.sf(6, 1)) * len(times)
    assert stats.chisquare(seen, expected).pvalue > 1e-3
    weights = exponential_weights(words)
    assert stats.kstest(weights[::50], "expon").pvalue > 1e-3
    np.testing.assert_array_equal(weights * 2**16, np.rint(weights * 2**16))
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert poisson_times(ends).tolist()[0] == 0
    assert 15 < poisson_times(ends)[1] < 30
    assert np.isfinite(exponential_weights(ends)).all()


def test_times_are_those_of_the_inverse_distribution_wherever_a_limit_lies():
    """Words beside each limit, where the first bits do not tell."""
    limits = [int(stats.poisson.cdf(k, 1) * 2**64) for k in range(4)]
    for number, limit in enumerate(limits):
        around = np.array([limit - 2**20, limit + 2**20], dtype=np.uint64)  # farther than floats are from the limit
        assert poisson_times(around).tolist() == [number, number + 1]


def test_samples_are_independent_of_each_other_and_of_neighbours():
    times = np.stack([poisson_times(random_words(5, sample, 0, 20_000)) for sample in range(12)]).astype(float)
    between = np.corrcoef(times)[np.triu_indices(12, 1)]
    along = [np.corrcoef(line[:-1], line[1:])[0, 1] for line in times]
    assert np.abs([*between, *along]).max() < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("is_set", [False, True])
def test_repeated_rows_are_counted_as_if_they_were_there_so_often(is_set):
    marks = {"b": np.arange(len(FRAME)) % 3 == 0} if is_set else None
    table = Table.read(FRAME, interventions=marks)
    times = poisson_times(random_words(0, 0, 0, len(FRAME)))
    drawn = TableStatistics(table.take(np.repeat(np.arange(len(FRAME)), times)))
    found = repeated(TableStatistics(table), times)
    names = list(FRAME)
    requests = [Request("b", ("a",), ("c", "d", "e")), Request("c", tuple(names[:2])), Request("e", tuple(names[:4]))]
    for size in (250, 2, 0):  # by sets of rows, and row by row
        found.row_counts._most_cells = size
        for request in requests:
            for mine, other in zip(found.counts_of([request])[0], drawn.counts_of([request])[0], strict=True):
                np.testing.assert_array_equal(mine.counts, other.counts)
                assert mine.counts.dtype.kind == "i"
        found._cache.clear()
    assert found.total == drawn.total == times.sum()
    assert found.num_rows == len(FRAME)


def test_repeated_rows_with_weights_weigh_so_often():
    table = Table.read(FRAME).weighted(np.arange(len(FRAME)) / 7)
    times = poisson_times(random_words(0, 1, 0, len(FRAME)))
    drawn = TableStatistics(table.take(np.repeat(np.arange(len(FRAME)), times)))
    np.testing.assert_allclose(
        repeated(TableStatistics(table), times).counts("b", ["a"]), drawn.counts("b", ["a"]), rtol=1e-12
    )


@pytest.mark.parametrize("kind", ["ordinary", "bayesian"])
def test_the_bits_do_not_depend_on_how_rows_are_parted(tmp_path, monkeypatch, kind):
    options = {"learner": "first-ascent", "num_samples": 6, "kind": kind, "seed": 4}
    frame = _frame(140)
    one = StreamStatistics(_written(tmp_path / "one", [], 1000, frame), max_bytes=0)
    expected = bootstrap(one, **options)
    monkeypatch.setattr(batches, "rows_at_once", lambda num_columns: 64)
    many = _written(tmp_path / "many", [33, 110], 40, frame)
    kept = bootstrap(StreamStatistics(many, max_bytes=1e9), **options)
    monkeypatch.setattr(resampling, "_SIDE_BY_SIDE", 2)
    with ThreadPoolExecutor(2) as pool:
        pooled = bootstrap(PartitionedStatistics(_Pooled(Stream(many), pool)), **options)
    for found in (kept, pooled):
        np.testing.assert_array_equal(found.adjacency, expected.adjacency)
    assert len(np.unique(expected.adjacency, axis=0)) > 1
    other = bootstrap(one, **{**options, "seed": 5})
    assert (other.adjacency != expected.adjacency).any()


class _Pooled(StreamPartitions):
    def __init__(self, stream, pool):
        super().__init__(stream)
        self._pool = pool

    def spread(self, function, items):
        return self._pool.map(function, items)


@pytest.mark.parametrize("kind", ["ordinary", "bayesian"])
def test_shares_of_edges_are_those_of_the_bootstrap_in_memory(tmp_path, kind):
    """300 samples each: shares differ by no more than their errors, 3.5 standard deviations of the worst."""
    options = {"learner": "chow-liu", "num_samples": 300, "kind": kind}
    rows = _written(tmp_path / "rows", [], 1000)
    found = bootstrap(StreamStatistics(rows, max_bytes=1e9), **options).strengths().strengths
    expected = bootstrap(FRAME, **options).strengths().strengths
    errors = np.sqrt((expected * (1 - expected)).clip(0.01) * 2 / 300)
    assert (np.abs(found - expected) < 3.5 * errors).all()
    assert ((expected > 0.1) & (expected < 0.9)).any()


def test_one_pass_serves_all_samples(tmp_path, monkeypatch):
    """As many passes as the sample that asks for most of them, and one for the sum of weights."""
    rows, num_passes = _written(tmp_path / "rows", [], 1000), 0
    through = LocalPartitions.map

    def counted(self, work):
        nonlocal num_passes
        num_passes += 1
        return through(self, work)

    alone = []
    for sample in range(5):
        passes = SharedPasses(LocalPartitions(Stream(rows), 1e9), ResampledRows(int(_number(0)), "ordinary"))
        alone += passes.each([sample], lambda pieces: _passes_of(PartitionedStatistics(pieces)))
    monkeypatch.setattr(LocalPartitions, "map", counted)
    bootstrap(StreamStatistics(rows, max_bytes=1e9), "first-ascent", num_samples=5)
    assert num_passes == max(alone)


def _number(seed):
    return np.random.default_rng(seed).integers(2**63)


def _passes_of(statistics):
    learn_structure(statistics, "first-ascent")
    return statistics.num_passes


def test_numbers_gaps_and_marks_are_resampled_too(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    numbers = pd.DataFrame({"x": x, "y": x + rng.normal(size=300), "z": rng.normal(size=300)})
    statistics = StreamStatistics(_written(tmp_path / "numbers", [100], 80, numbers))
    assert bootstrap(statistics, "hill-climbing", num_samples=4).strengths().strength("x", "y") == 1
    holes = FRAME.astype("Int64").mask(pd.DataFrame(rng.random(FRAME.shape) < 0.1, columns=FRAME.columns))
    statistics = StreamStatistics(_written(tmp_path / "holes", [100], 80, holes))
    assert bootstrap(statistics, "chow-liu", num_samples=2).strengths().strength("a", "b") == 1
    statistics = StreamStatistics(_written(tmp_path / "states", [100], 80))
    assert bootstrap_marks(statistics, fci, num_samples=3).edge("a", "b") == 1
    assert bootstrap(statistics, "pc", num_samples=3).strengths().strength("a", "b") == 1


def test_progress_and_time_end_between_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(resampling, "_SIDE_BY_SIDE", 2)
    statistics, told = StreamStatistics(_written(tmp_path / "rows", [], 1000)), []
    options = {"learner": "chow-liu", "num_samples": 7}
    assert len(bootstrap(statistics, **options, progress=lambda done, of: told.append((done, of)))) == 7
    assert told == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert len(bootstrap(statistics, **options, time_limit=0)) == 2


def test_a_checkpoint_keeps_groups_of_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(resampling, "_SIDE_BY_SIDE", 2)
    statistics, path = StreamStatistics(_written(tmp_path / "rows", [], 1000)), tmp_path / "run.ckpt"
    learned, lock = [], threading.Lock()

    def learn(rows):
        with lock:
            learned.append(rows)
        return learn_structure(rows, "chow-liu")

    expected = bootstrap(statistics, learn, num_samples=6)
    learned.clear()
    bootstrap(statistics, learn, num_samples=6, progress=lambda done, of: done == 4, checkpoint=path)
    assert path.exists()
    found = bootstrap(statistics, learn, num_samples=6, checkpoint=path)
    np.testing.assert_array_equal(found.adjacency, expected.adjacency)
    assert len(learned) == 6
    assert not path.exists()


def test_an_error_of_one_ends_the_others(tmp_path):
    statistics = StreamStatistics(_written(tmp_path / "rows", [], 1000))

    def learn(rows):
        if rows.total < rows.num_rows:
            raise InvalidArgument("too few")
        return learn_structure(rows, "first-ascent")

    with pytest.raises(InvalidArgument, match="too few"):
        bootstrap(statistics, learn, num_samples=8)


def test_an_error_in_a_pass_is_that_of_the_call(tmp_path):
    statistics = StreamStatistics(_written(tmp_path / "rows", [], 1000))
    with pytest.raises(UnknownVariable, match="'zzz'"):
        bootstrap(statistics, lambda rows: rows.counts("a", ["zzz"]), num_samples=3)
