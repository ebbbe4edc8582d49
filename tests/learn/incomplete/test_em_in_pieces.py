"""EM of rows in pieces is EM of the same rows in memory, with the same bits wherever the pieces are worked on."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

from plausible.cpds import TableCPD
from plausible.data import batches, stream_statistics
from plausible.data.partitions import Piece, StreamPartitions
from plausible.data.stream_statistics import PartitionedStatistics, StreamStatistics
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.estimation.priors import BDeu
from plausible.learn.incomplete import cases_in_pieces
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.online_em import OnlineEM
from plausible.learn.incomplete.problem import em_functional, observed_log_likelihood
from plausible.learn.learned_parameters import ExpectedCounts, fit_parameters, learn_parameters

GRAPH = "a -> b -> c; a -> d <- c"
#: Sums of the same terms in another order.
ROUNDING = 1e-12


def _holes(num_rows=900, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, num_rows)
    b = np.where(rng.random(num_rows) < 0.8, a % 2, rng.integers(0, 2, num_rows))
    c = np.where(rng.random(num_rows) < 0.7, b, rng.integers(0, 2, num_rows))
    d = np.where(rng.random(num_rows) < 0.7, (a + c) % 2, rng.integers(0, 2, num_rows))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype("Int64")
    return frame.mask(pd.DataFrame(rng.random(frame.shape) < 0.2, columns=frame.columns))


HOLES = _holes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files, read in batches of a few rows, and completed some rows at a time."""
    monkeypatch.setattr(batches, "rows_at_once", lambda num_columns: 100)
    monkeypatch.setattr(cases_in_pieces, "_CELLS_AT_ONCE", 4 * 70)
    for number, start in enumerate((0, 250, 600)):
        HOLES.iloc[start : (250, 600, 900)[number]].to_parquet(tmp_path / f"{number}.parquet", row_group_size=200)
    return tmp_path


def _same_numbers(first, second, tolerance=ROUNDING):
    for name, cpd in first.cpds.items():
        np.testing.assert_allclose(second.cpd(name).values, cpd.values, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("max_bytes", [0, 1e9], ids=["read anew", "kept"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prior": BDeu(4), "start": "random", "restarts": 2, "seed": 3},
        {"method": "squared"},
        {"method": "hybrid"},
        {"method": "hard"},
        {"method": "annealed"},
        {"method": "beam"},
        {"stopping": "parameters", "tolerance": 1e-4},
    ],
    ids=lambda options: options.get("method", "-".join(options)),
)
def test_em_in_pieces_is_em_in_memory(folder, options, max_bytes):
    expected = learn_em(GRAPH, HOLES, **options)
    statistics = StreamStatistics(folder, max_bytes=max_bytes)
    found = learn_em(GRAPH, statistics, **options)
    assert found.num_steps == expected.num_steps
    assert found.stopped_by == expected.stopped_by
    np.testing.assert_allclose(found.trace, expected.trace, rtol=ROUNDING)
    _same_numbers(found.network, expected.network, 1e-9)  # which steps carry on
    assert found.expectations.case_log_likelihoods is None
    if not options:  # the rows that are complete in a family, the start, and a pass for each step
        assert statistics.num_passes == 2 + found.num_steps


def test_one_e_step_is_the_same_to_rounding(folder):
    net = learn_em(GRAPH, HOLES, max_steps=1).network
    statistics = StreamStatistics(folder, max_bytes=0)
    assert observed_log_likelihood(net, statistics) == pytest.approx(observed_log_likelihood(net, HOLES), rel=ROUNDING)
    here, there = em_functional(net, statistics), em_functional(net, HOLES)
    assert here.value == pytest.approx(there.value, rel=ROUNDING)
    assert here.entropy == pytest.approx(there.entropy, rel=1e-10)


class _Pooled(StreamPartitions):
    def __init__(self, stream, pool):
        super().__init__(stream)
        self._pool = pool

    def spread(self, function, items):
        return self._pool.map(function, items)


def _in_threads():
    return ThreadPoolExecutor(3)


def _in_processes():
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


@pytest.mark.parametrize("pool", [_in_threads, _in_processes])
def test_the_bits_are_those_of_one_process(tmp_path, pool):
    for number in range(4):
        HOLES.iloc[225 * number : 225 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet")
    alone = learn_em(GRAPH, StreamStatistics(tmp_path, max_bytes=0), max_steps=3)
    kept = learn_em(GRAPH, StreamStatistics(tmp_path, max_bytes=1e9), max_steps=3)
    with pool() as workers:
        shared = learn_em(GRAPH, PartitionedStatistics(_Pooled(Stream(tmp_path), workers)), max_steps=3)
    for found in (kept, shared):
        assert found.trace == alone.trace
        _same_numbers(found.network, alone.network, 0.0)


def test_files_too_large_for_memory_are_completed_in_pieces(folder, monkeypatch):
    expected = learn_parameters(GRAPH, str(folder / "*.parquet"), BDeu(1))
    monkeypatch.setattr(stream_statistics, "table_limit", lambda: 10)
    with pytest.warns(ExpectedCounts):
        fit = fit_parameters(GRAPH, str(folder / "*.parquet"), BDeu(1))
    _same_numbers(fit.network, expected, 1e-9)
    assert learn_em(GRAPH, str(folder / "*.parquet"), max_steps=1).expectations.case_log_likelihoods is None


def test_statistics_of_a_table_are_its_rows():
    expected = learn_em(GRAPH, HOLES)
    assert learn_em(GRAPH, TableStatistics(Table.read(HOLES))).trace == expected.trace


def test_weights_and_what_was_set_from_outside_count_as_in_memory(folder, tmp_path):
    frame = HOLES.assign(w=np.arange(len(HOLES)) % 3, s=[("a" if k % 7 == 0 else None) for k in range(len(HOLES))])
    frame.loc[frame.s.notna() & frame.a.isna(), "s"] = None
    frame.to_parquet(tmp_path / "more.parquet", row_group_size=250)
    stream = Stream(tmp_path / "more.parquet", weights="w", interventions="s")
    expected = learn_em(GRAPH, Table.read(frame, weights="w", interventions="s"))
    found = learn_em(GRAPH, StreamStatistics(stream, max_bytes=0))
    np.testing.assert_allclose(found.trace, expected.trace, rtol=ROUNDING)


def test_hidden_variables_and_validation_rows_may_be_in_pieces(folder):
    graph = "H -> a; H -> b; H -> c"
    options = {"hidden": {"H": 2}, "start": "random", "max_steps": 20}
    expected = learn_em(graph, HOLES, stopping="validation", validation=HOLES.iloc[:200], **options)
    statistics = StreamStatistics(folder, max_bytes=0)
    held_out = StreamStatistics(folder / "0.parquet", max_bytes=0)
    found = learn_em(graph, statistics, stopping="validation", validation=held_out, **options)
    assert found.hidden == ("H",)
    assert found.num_steps > 0
    assert found.trace[0] == pytest.approx(expected.trace[0], rel=ROUNDING)
    with pytest.raises(InvalidArgument, match="is in hidden=, but has values"):
        learn_em(GRAPH, statistics, hidden={"a": 3})
    with pytest.raises(UnknownVariable, match="hidden="):
        learn_em("a -> zzz", statistics)


def test_numbers_in_pieces_have_the_moments_of_all(tmp_path, monkeypatch):
    monkeypatch.setattr(cases_in_pieces, "_CELLS_AT_ONCE", 3 * 60)
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 400)
    x = 1e4 + k + rng.normal(size=400)
    frame = pd.DataFrame({"k": k, "x": x, "y": 2 * x + rng.normal(size=400)})
    frame = frame.astype({"k": "Int64"}).mask(pd.DataFrame(rng.random(frame.shape) < 0.2, columns=frame.columns))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=150)
    expected = learn_em("k -> x -> y", frame, max_steps=10)
    found = learn_em("k -> x -> y", StreamStatistics(tmp_path / "rows.parquet", max_bytes=0), max_steps=10)
    np.testing.assert_allclose(found.trace, expected.trace, rtol=1e-9)
    here, there = (fit.network.cpd("y") for fit in (found, expected))
    np.testing.assert_allclose(here.coefficients, there.coefficients, rtol=1e-9)


def test_a_row_that_can_not_happen_is_told_by_its_number_among_all(folder):
    net = learn_em(GRAPH, HOLES, max_steps=1).network
    codes = Table.read(HOLES, net.variables).codes
    rows = np.flatnonzero((codes[0] == 0) & (codes[1] == 1))
    wrong = net.with_cpd(TableCPD("b", [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]], parents=["a"]))
    HOLES.drop(index=rows[:-1]).to_parquet(folder / "one.parquet", row_group_size=130)
    assert rows[-1] > 600
    with pytest.raises(ImpossibleEvidence, match=f"Row {rows[-1] - len(rows) + 1} of the data"):
        observed_log_likelihood(wrong, StreamStatistics(folder / "one.parquet", max_bytes=0))


def test_a_row_that_lacks_what_was_set_in_it_is_told_by_its_number_among_all(tmp_path, monkeypatch):
    monkeypatch.setattr(cases_in_pieces, "_CELLS_AT_ONCE", 4 * 70)
    rows = HOLES.assign(was_set=[row == int(HOLES["b"].isna().to_numpy().nonzero()[0][-1]) for row in range(900)])
    for number in range(3):
        rows.iloc[300 * number : 300 * number + 300].to_parquet(tmp_path / f"{number}.parquet")
    messages = []
    for data in (
        Table.read(rows, interventions={"b": "was_set"}),
        StreamStatistics(tmp_path, interventions={"b": "was_set"}),
    ):
        with pytest.raises(InvalidArgument, match=r"'b' was set from outside in row 8\d\d, but its value") as told:
            learn_em(GRAPH, data)
        messages.append(str(told.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("method", ["incremental", "family", "variational", "reweighted"])
def test_methods_that_keep_something_of_each_row_say_so(folder, method):
    with pytest.raises(NotSupported, match="in pieces"):
        learn_em(GRAPH, StreamStatistics(folder), method=method)


def test_a_discrete_child_of_numbers_asks_for_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "k": rng.integers(0, 2, 60), "j": pd.array([0, 1, None] * 20)})
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(NotSupported, match="'k', which depends on numbers"):
        learn_em("x -> k; k -> j", StreamStatistics(tmp_path / "rows.parquet"))


def test_batches_of_online_em_may_be_in_pieces(folder):
    start = learn_em(GRAPH, HOLES, max_steps=1).network
    whole, pieces = (OnlineEM(start).partial_fit(rows) for rows in (HOLES, StreamStatistics(folder, max_bytes=0)))
    _same_numbers(whole.network, pieces.network, 1e-12)


def test_no_rows_are_learned_from_as_in_memory(folder):
    stream = Stream(folder, learn_em(GRAPH, HOLES, max_steps=1).network.variables, where={"a": 99})
    fit = learn_em(GRAPH, StreamStatistics(stream, max_bytes=0), prior=BDeu(1))
    assert (fit.cases.total, fit.log_likelihood) == (0, 0)
    np.testing.assert_allclose(fit.network.cpd("a").values, 1 / 3)


def test_what_is_left_with_a_piece_is_bounded_by_its_room():
    piece = Piece(TableStatistics(Table.read({"a": [0, 1]})), 0)
    piece.keep("one", "x", 5)
    assert piece.kept == {}
    piece.room = 10
    piece.keep("one", "x", 5)
    piece.keep("two", "y", 6)
    assert piece.kept == {"one": "x"}
    piece.keep("one", "z", 10)  # in place of what was there
    assert piece.kept == {"one": "z"}
    assert (piece.room, piece.kept_bytes) == (0, 10)


def test_files_that_fit_in_memory_are_read_as_a_table_with_their_weights(folder, tmp_path):
    """Straight to positions, of a graph and of a network; what a stream says of its rows counts."""
    rows = HOLES.assign(weight=np.arange(900) % 3, other=None)
    rows.to_parquet(tmp_path / "weighted.parquet")
    table = Table.read(rows, columns=list("abcd"), weights="weight")
    stream = Stream(tmp_path / "weighted.parquet", weights="weight")
    start = learn_em(GRAPH, table, max_steps=1).network
    for graph in (GRAPH, start):
        found, expected = (learn_em(graph, data, max_steps=3) for data in (stream, table))
        assert found.trace == expected.trace
        assert found.cases.total == table.total
