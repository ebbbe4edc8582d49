"""Relations of DuckDB: columns of all types and names, exact sums by SQL, and the cheaper way for what is asked."""

import datetime as dt
import math
import os
import signal
import sys
import threading
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.data.statistics import Request
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import FormatError, InvalidArgument, MissingDependency, UnknownState, UnknownVariable
from plausible.scale import DuckDBStatistics, sql_statistics
from plausible.variables import Variable


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        yield connection


TYPES = """
SELECT
    CAST(['sad', 'ok', NULL][1 + i % 3] AS ENUM ('ok', 'glad', 'sad')) AS mood,
    DATE '2020-01-01' + CAST(i % 3 AS INTEGER) AS day,
    TIMESTAMP '2020-01-01 10:00:00' + INTERVAL (i % 2) HOUR AS hour,
    CAST(i % 3 AS DECIMAL(10, 2)) AS whole_decimal,
    CAST(i % 3 AS DECIMAL(10, 2)) / 8 AS decimal,
    CAST(i % 4 AS HUGEINT) AS huge,
    CAST(i % 4 AS UTINYINT) AS tiny,
    i % 2 = 0 AS truth,
    CASE WHEN i % 5 = 0 THEN NULL WHEN i % 5 = 1 THEN 'NaN'::DOUBLE ELSE i % 5 END AS gaps,
    CAST(i * 1.5 AS FLOAT) AS number,
    'it''s "' || CAST(i % 3 AS VARCHAR) AS text
FROM range(60) AS rows(i)
"""


def test_columns_of_all_types_are_read_as_by_a_table(database):
    """Enums keep their order, dates are dates, decimals and huge numbers states where they are few and whole."""
    relation = database.sql(TYPES)
    found, expected = DuckDBStatistics(relation), TableStatistics(Table.read(relation))
    assert {n: v.states for n, v in found.variables.items()} == {n: v.states for n, v in expected.variables.items()}
    assert found.variables["mood"].states == ("ok", "glad", "sad")
    assert found.variables["day"].states == tuple(dt.date(2020, 1, day) for day in (1, 2, 3))
    assert found.variables["huge"].states == found.variables["tiny"].states == (0, 1, 2, 3)
    assert found.variables["gaps"].states == (2, 3, 4)
    assert found.variables["decimal"].is_continuous
    assert dict(found.missing) == dict(expected.missing) == {"mood": 20, "gaps": 24}
    names = [name for name in found.discrete if name not in found.missing]
    for child, parents in [(names[0], names[1:3]), *((name, names[:1]) for name in names[1:])]:
        np.testing.assert_array_equal(found.counts(child, parents), expected.counts(child, parents))


HOSTILE = ['a "b"; DROP TABLE x; --', "sum0", "count(*)", "r", "m", "select", "it's", "", " ", "ä\n", "SUM_", "rows"]


def test_names_of_columns_are_names_whatever_they_spell(database):
    """Keywords, quotes, comments, and the names that queries give to sums."""
    rng = np.random.default_rng(0)
    names = [name for name in HOSTILE if name]
    frame = pd.DataFrame({name: rng.integers(0, 2, 50) for name in names} | {"x\"'": rng.normal(size=50)})
    database.register("frame", frame)
    found, expected = DuckDBStatistics(database.table("frame")), TableStatistics(Table.read(frame))
    for child, *parents in (names[:3], names[3:6], names[6:8], names[8:]):
        np.testing.assert_array_equal(found.counts(child, parents), expected.counts(child, parents))
        ours, theirs = (one.moments_of([Request("x\"'", (child, *parents))])[0] for one in (found, expected))
        assert ours.states.tolist() == theirs.states.tolist()
        np.testing.assert_allclose(ours.scatter, theirs.scatter, atol=1e-12)


def test_names_that_differ_in_case_alone_are_refused(database):
    with pytest.raises(InvalidArgument, match="takes the columns 'a' and 'A' for one: rename one"):
        DuckDBStatistics(database.sql("SELECT 1 AS a, 2 AS A"))


def test_tables_and_views_are_found_by_name(database):
    database.sql("CREATE TABLE days AS SELECT i % 2 AS rain FROM range(10) AS days(i)")
    database.sql('CREATE SCHEMA other; CREATE VIEW other."a b" AS FROM days')
    for name in ("days", 'other."a b"'):
        assert DuckDBStatistics(name, connection=database).counts("rain").tolist() == [5, 5]
    with pytest.raises(InvalidArgument, match=r"no table or view 'nights'. A query is a relation"):
        DuckDBStatistics("nights", connection=database)
    with pytest.raises(InvalidArgument, match="not DataFrame"):
        DuckDBStatistics(pd.DataFrame({"x": [1]}))


def test_without_duckdb_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingDependency, match=r'needs duckdb, .*pip install "plausible\[scale\]"'):
        DuckDBStatistics("days")


def test_what_is_refused_leaves_the_connection_to_others(database):
    """Even while the error is held, with the frames that it came through: DuckDB gives one answer at a time."""
    relation = database.sql("SELECT i % 2 AS x, [i] AS y FROM range(10000) AS rows(i)")
    with pytest.raises(FormatError, match="'y' holds list") as held:
        pb.Table.read(relation)
    assert database.sql("SELECT 1").fetchall() == [(1,)]
    assert held.value.__traceback__ is not None


def test_texts_that_a_collation_takes_for_one_are_different_states(database):
    database.sql("CREATE TABLE letters (x VARCHAR COLLATE NOCASE)")
    database.sql("INSERT INTO letters VALUES ('a'), ('A'), ('b'), ('a')")
    found = DuckDBStatistics("letters", connection=database)
    assert found.variables["x"].states == ("A", "a", "b")
    assert found.counts("x").tolist() == [1, 2, 1]
    assert found.by_rows.counts("x").tolist() == [1, 2, 1]


def test_rows_that_are_not_there_have_counts(database):
    """No row at all: states have to be named, and every count is zero."""
    none = database.sql("SELECT 'a' AS x, 'b' AS y, 0.5::DOUBLE AS z").filter("x = 'b'")
    known = [Variable("x", 2), Variable("y", ["b", "c"]), Variable("z")]
    found = DuckDBStatistics(none, variables=known)
    assert (found.total, dict(found.missing)) == (0, {})
    assert found.counts("x", ["y"]).tolist() == [[0, 0], [0, 0]]
    assert [len(one.weight) for one in found.moments_of([Request("z"), Request("z", ("x",))])] == [0, 0]
    with pytest.raises(InvalidArgument, match="'x' has no value at all"):
        DuckDBStatistics(none).counts("x")


def test_moments_lose_no_digits(database):
    """Against exact fractions: groups a billion apart, each with a spread of a hundredth, beside a constant."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, 400)
    x = group * 1e9 + rng.normal(size=400) / 100
    frame = pd.DataFrame({"g": group, "x": x, "y": 3 * x + rng.normal(size=400), "c": 0.1})
    database.register("frame", frame)
    found = DuckDBStatistics(database.table("frame"))._sql
    for names, by in ((("x", "y", "c"), ["g"]), (("x", "y"), [])):
        (moments,) = found.moments_of([Request(names[0], (*by, *names[1:]))])
        parts = [frame] if not by else [frame[frame.g == g] for g in range(3)]
        for weight, mean, scatter, part in zip(moments.weight, moments.mean, moments.scatter, parts, strict=True):
            exact = [[Fraction(value) for value in part[name]] for name in names]
            means = [sum(column) / len(part) for column in exact]
            away = [[value - m for value in column] for column, m in zip(exact, means, strict=True)]
            assert weight == len(part)
            np.testing.assert_allclose(mean, [float(m) for m in means], rtol=1e-15)
            for a, one in enumerate(away):
                for b, other in enumerate(away):
                    wanted = float(sum(p * q for p, q in zip(one, other, strict=True)))
                    assert scatter[a, b] == pytest.approx(wanted, rel=1e-8, abs=0)
    assert not found.moments_of([Request("c", ("x",))])[0].scatter[:, 1].any()


@pytest.mark.parametrize(
    ("sql", "options", "problem", "message"),
    [
        (
            "SELECT 'inf'::DOUBLE AS x",
            {"variables": [Variable("x")]},
            FormatError,
            "the relation: .*'x' holds an infinite",
        ),
        (
            "SELECT 1 AS x, -1 AS w",
            {"weights": "w"},
            InvalidArgument,
            "weights in 'w' are missing, infinite or negative",
        ),
        (
            "SELECT 1 AS x, NULL::DOUBLE AS w",
            {"weights": "w"},
            InvalidArgument,
            "weights in 'w' are missing, infinite or negative",
        ),
        (
            "SELECT 1 AS x, 'inf'::DOUBLE AS w",
            {"weights": "w"},
            InvalidArgument,
            "weights in 'w' are missing, infinite or negative",
        ),
        ("SELECT 1 AS x", {"columns": ["y"]}, UnknownVariable, "'y' is not a variable of the data, though columns="),
        ("SELECT 3 AS x", {"variables": [Variable("x", [1, 2])]}, UnknownState, "column 'x': .*3"),
        ("SELECT 'a' AS x", {"variables": [Variable("x")]}, FormatError, "DuckDB can't read this: .*'a'"),
        ("SELECT [1] AS x", {}, FormatError, "'x' holds list"),
    ],
)
def test_what_can_not_be_counted_is_told_by_its_column(database, sql, options, problem, message):
    with pytest.raises(problem, match=message):
        DuckDBStatistics(database.sql(sql), **options).moments_of([Request("x")])


def test_columns_with_a_value_of_its_own_for_each_row_are_refused(database, monkeypatch):
    """No more values are fetched than a variable may have."""
    monkeypatch.setattr(sql_statistics, "MOST_VALUES", 100)
    monkeypatch.setattr("plausible.data.gathered.MOST_VALUES", 100)
    with pytest.raises(InvalidArgument, match=r"'i' has more than .* different values"):
        DuckDBStatistics(database.sql("SELECT i FROM range(1000) AS rows(i)")).counts("i")


def test_a_file_that_can_not_be_read_is_told(tmp_path, database):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": ["a", "b"] * 5000}).to_parquet(path)
    relation = database.sql(f"FROM '{path}'")
    statistics = DuckDBStatistics(relation)
    assert statistics.total == 10_000
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FormatError, match="the relation: DuckDB can't read this"):
        statistics.counts("x")


def _rows(database, num_rows=400, num_columns=6):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"v{place}": rng.integers(0, 2, num_rows) for place in range(num_columns)})
    database.register("frame", frame)
    return database.table("frame"), frame


def test_little_is_asked_by_sql_and_much_is_read(database):
    """Queries until they have looked at three times the cells there are; then the rows, once, and DuckDB no more."""
    relation, frame = _rows(database)
    statistics, table = DuckDBStatistics(relation), TableStatistics(Table.read(frame))
    few = [Request(f"v{place}", (f"v{place - 1}",)) for place in range(1, 5)]
    assert statistics.cost(few).num_reads == 400 * 8
    for _ in range(2):
        for ours, theirs in zip(statistics.counts_of(few), table.counts_of(few), strict=True):
            np.testing.assert_array_equal(ours[0].counts, theirs[0].counts)
        assert not statistics.is_in_memory
    assert statistics.cost(few).num_reads == 400 * 3 * 6
    statistics.counts_of(few)
    assert statistics.is_in_memory
    database.unregister("frame")
    np.testing.assert_array_equal(statistics.counts("v0", ["v1"]), table.counts("v0", ["v1"]))


def test_the_parameters_of_a_network_are_queries_and_a_search_reads_the_rows(database):
    relation, frame = _rows(database)
    statistics = DuckDBStatistics(relation)
    found = pb.learn.parameters("v0 -> v1 -> v2; v3; v4 -> v5", statistics)
    assert not statistics.is_in_memory
    assert found == pb.learn.parameters("v0 -> v1 -> v2; v3; v4 -> v5", frame)
    assert pb.learn.structure(statistics, escapes=0).graph == pb.learn.structure(frame, escapes=0).graph
    assert statistics.is_in_memory


def test_rows_without_room_in_memory_are_read_where_queries_would_take_longer(database):
    """Each set of requests goes the cheaper way by itself."""
    relation, frame = _rows(database)
    statistics, table = DuckDBStatistics(relation, max_bytes=0), TableStatistics(Table.read(frame))
    many = [Request(f"v{place}", (), tuple(f"v{other}" for other in range(6) if other != place)) for place in range(6)]
    for _ in range(3):
        for requests, is_read in ((many, True), ([Request("v0")], False)):
            before = statistics._pieces.num_passes
            for ours, theirs in zip(statistics.counts_of(requests), table.counts_of(requests), strict=True):
                np.testing.assert_array_equal(ours[0].counts, theirs[0].counts)
            assert statistics._pieces.num_passes - before == is_read
            assert not statistics.is_in_memory


def test_fractional_weights_are_added_up(database):
    frame = _rows(database)[1]
    weights = np.random.default_rng(3).random(400)
    database.register("weighted", frame.assign(w=weights))
    found = DuckDBStatistics(database.table("weighted"), weights="w")
    expected = TableStatistics(Table.read(frame.assign(w=weights), weights="w"))
    np.testing.assert_allclose(found.counts("v0", ["v1"]), expected.counts("v0", ["v1"]), rtol=1e-14)
    assert found.total == pytest.approx(math.fsum(weights), rel=1e-15)


def test_progress_is_told_and_can_end_it(database):
    told = []
    statistics = DuckDBStatistics(_rows(database)[0], progress=lambda done: told.append(done) or done == 2)
    with pytest.raises(KeyboardInterrupt):
        statistics.counts_of([Request("v0"), Request("v1"), Request("v2")])
    assert told == [1, 2]


def test_control_c_comes_through(database):
    """As DuckDB tells it, in words of its own, while it is at work on a query, or after it."""
    long = "SELECT (a.i * b.i) % 7 AS x FROM range(15000) AS a(i), range(15000) AS b(i)"
    statistics = DuckDBStatistics(database.sql(long), variables=[Variable("x", list(range(7)))])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            statistics._sql.counts_of([Request("x")] * 10)
    finally:
        signal.signal(signal.SIGINT, before)
