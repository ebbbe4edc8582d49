"""Whatever holds the rows, statistics answer as those of a table in memory: bit for bit where counts are whole."""

import datetime as dt
import itertools
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.data.column_types import DoubtfulColumns
from plausible.data.partitions import StreamPartitions
from plausible.data.statistics import Request, in_order
from plausible.data.stream_statistics import PartitionedStatistics, StreamStatistics, for_learning
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.learn.incomplete.gaussian_maximization import gaussian_lines
from plausible.scale import DaskStatistics, DuckDBStatistics
from plausible.variables import Variable


def _rows(num_rows=600):
    """States of all types, numbers far from zero, a constant, gaps, weights, and columns that say what was set."""
    rng = np.random.default_rng(5)
    whole = rng.integers(0, 3, num_rows)
    text = np.where(rng.random(num_rows) < 0.3, "it's", np.array(["b", "a", "c"])[whole])
    frame = pd.DataFrame({"text": text, "whole": whole + 10, 'odd "name"': (whole > 0) ^ (rng.random(num_rows) < 0.2)})
    frame["few"] = rng.integers(0, 3, num_rows).astype(float)
    frame["number"] = 1e6 + whole + rng.normal(size=num_rows) / 100
    frame["other"] = frame["number"] - 1e6 + rng.normal(size=num_rows)
    frame["constant"] = 0.1
    frame["gaps"] = frame["other"].where(rng.random(num_rows) < 0.9)
    frame["holes"] = frame["text"].where(rng.random(num_rows) < 0.9)
    frame["weight"] = rng.integers(0, 3, num_rows)
    frame["was_set"] = rng.random(num_rows) < 0.2
    frame["targets"] = np.where(frame.was_set, "whole", np.where(rng.random(num_rows) < 0.1, "text+number", None))
    return frame


ROWS = _rows()
STATES, NUMBERS = ["text", "whole", 'odd "name"', "few"], ["number", "other", "constant"]
NAMES = [*STATES, *NUMBERS, "gaps", "holes"]


class PoolPartitions(StreamPartitions):
    def __init__(self, stream, pool):
        super().__init__(stream)
        self._pool = pool

    def spread(self, function, items):
        return self._pool.map(function, items)


class Sources:
    """The rows in files and in a database, as all kinds of statistics."""

    def __init__(self, folder, client, pool):
        self.folder, self.client, self.pool = folder, client, pool
        for number, (start, end) in enumerate(((0, 50), (50, 51), (51, 400), (400, 600))):
            ROWS.iloc[start:end].to_parquet(folder / f"{number}.parquet", row_group_size=90)
        self.database = duckdb.connect()
        self.database.sql(f'CREATE VIEW "odd ""view""" AS FROM \'{folder}/*.parquet\'')

    def combined(self, options):
        whole = Table.read(self.folder, **options)
        first = np.arange(600) < 200
        return TableStatistics(whole.take(first)) + TableStatistics(whole.take(~first))

    def pooled(self, options):
        return PartitionedStatistics(PoolPartitions(Stream(self.folder, **options), self.pool))

    def sql(self, options):
        return OnlySQL('odd "view"', connection=self.database, **options)

    def duckdb(self, options):
        return OnlyPieces(self.database.sql(f"FROM '{self.folder}/*.parquet'"), **options)


class OnlySQL(DuckDBStatistics):
    """Queries answer all that they can."""

    def _way(self, num_seen):
        return self._sql if np.isfinite(num_seen) else self._pieces


class OnlyPieces(DuckDBStatistics):
    """Whatever is asked, the rows are read."""

    def _way(self, num_seen):
        return self._pieces


KINDS = {
    "combined": Sources.combined,
    "in pieces": lambda sources, options: StreamStatistics(sources.folder, **options),
    "read anew": lambda sources, options: StreamStatistics(sources.folder, max_bytes=0, **options),
    "pool": Sources.pooled,
    "dask": lambda sources, options: DaskStatistics(sources.folder, sources.client, **options),
    "sql": Sources.sql,
    "duckdb": Sources.duckdb,
}
MORE = [Variable("text", ["c", "it's", "a", "b", "new"]), Variable("number")]
OPTIONS = {
    "plain": {},
    "weights": {"weights": "weight"},
    "targets": {"interventions": "targets"},
    "flags and weights": {"interventions": {"other": "was_set", "few": "was_set"}, "weights": "weight"},
    "variables": {"variables": MORE},
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory, threads):
    with ThreadPoolExecutor(2) as pool:
        yield Sources(tmp_path_factory.mktemp("rows"), threads, pool)


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


FAMILIES = [(child, parents) for n in (0, 1, 2) for child, *parents in itertools.permutations(STATES, n + 1)]
REQUESTS = [Request(child, tuple(parents)) for child, parents in FAMILIES]
REQUESTS += [
    Request("few", (), ("text", "whole")),
    Request("whole", ("few",), ("text", 'odd "name"')),
    Request("few", (), ()),
]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_counts_and_facts_are_those_of_the_table(sources, kind, options):
    """Variables with their states and types, rows, weights, gaps and interventions; families one by one and at once."""
    options = {"columns": NAMES, **options}
    expected, found = TableStatistics(Table.read(ROWS, **options)), kind(sources, options)
    assert dict(found.variables) == dict(expected.variables)
    assert [type(s) for v in found.variables.values() for s in v.states] == [
        type(s) for v in expected.variables.values() for s in v.states
    ]
    assert (found.total, found.num_rows) == (expected.total, expected.num_rows) == (expected.total, 600)
    assert (dict(found.missing), dict(found.interventions)) == (dict(expected.missing), dict(expected.interventions))
    for request, one, other in zip(REQUESTS, found.counts_of(REQUESTS), expected.counts_of(REQUESTS), strict=True):
        for counts, wanted in zip(in_order(one), in_order(other), strict=True) if request.candidates != () else ():
            np.testing.assert_array_equal(counts, wanted)
            assert counts.dtype == (np.float64 if "weights" in options else np.int64)
        assert request.candidates != () or one == other == []
    assert found.cost(REQUESTS)[:2] == expected.cost(REQUESTS)[:2]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_moments_are_those_of_the_table(sources, kind, options):
    """By joint states that occur; numbers a million from zero lose no digits, and a constant has no scatter at all."""
    options = {"columns": NAMES, **options}
    expected, found = TableStatistics(Table.read(ROWS, **options)), kind(sources, options)
    requests = [Request("number", tuple(names)) for n in range(3) for names in itertools.combinations(STATES, n)]
    requests += [Request("other", ("constant", "few", "number")), Request("constant"), Request("few", ("other",))]
    requests += [Request("text", ("few",))]
    for request, one, other in zip(requests, found.moments_of(requests), expected.moments_of(requests), strict=True):
        assert one.states.tolist() == other.states.tolist(), request
        np.testing.assert_array_equal(one.weight, other.weight)
        np.testing.assert_allclose(one.num_rows, other.num_rows)
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-14)
        np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-9, atol=1e-9)
    constant = found.moments_of([Request("number", ("constant", "text"))])[0]
    assert not constant.scatter[:, 1].any()
    assert set(constant.mean[:, 1]) == {0.1}


def test_what_has_no_answer_is_refused_in_the_same_words(sources, kind):
    expected, found = (
        make(NAMES)
        for make in (
            lambda names: TableStatistics(Table.read(ROWS, columns=names)),
            lambda names: kind(sources, {"columns": names}),
        )
    )
    wrong = [
        (["txt"], UnknownVariable),
        (["number"], NotSupported),
        (["holes", "text"], InvalidArgument),
        (["few", "few"], InvalidArgument),
    ]
    for names, problem in wrong:
        messages = []
        for statistics in (expected, found):
            with pytest.raises(problem) as told:
                statistics.counts(names[0], names[1:])
            messages.append(str(told.value))
        assert kind is KINDS["combined"] or _plain(messages[1]) == _plain(messages[0])
    for statistics in (expected, found):
        with pytest.raises(InvalidArgument, match=r"'gaps' is missing in \d+ of \d+ rows; moments need"):
            statistics.moments("gaps")


def _plain(message):
    """Rows are told of a piece, where each piece is refused by itself."""
    import re

    return re.sub(r"\d+ of \d+", "n of m", message)


def test_states_of_a_network_are_those_by_which_rows_are_read(sources, kind):
    """More states, in another order; one that the network does not know is told by its column."""
    found = kind(sources, {"columns": STATES})
    if kind is KINDS["combined"]:
        with pytest.raises(InvalidArgument, match=r"'text' has the states .* in the data"):
            found.with_variables({"text": MORE[0]})
        return
    expected = TableStatistics(Table.read(ROWS, MORE[:1], columns=STATES))
    again = found.with_variables({"text": MORE[0], "no column": Variable("no column", 2)})
    np.testing.assert_array_equal(again.counts("few", ["text"]), expected.counts("few", ["text"]))
    assert found.with_variables({"text": found.variables["text"]}) is found
    with pytest.raises(UnknownState, match=r"column 'text': .*\"it's\""):
        found.with_variables({"text": Variable("text", ["a", "b", "c"])}).counts("text")


def test_statistics_add_up(sources, kind):
    """Sums, differences and multiples are statistics, whatever has counted."""
    options = {"columns": STATES}
    one, table = kind(sources, options), TableStatistics(Table.read(ROWS, **options))
    np.testing.assert_array_equal((one + table - one).counts("few", ["text"]), table.counts("few", ["text"]))
    np.testing.assert_array_equal((2 * one).counts("few"), 2 * table.counts("few"))


LEARNERS = {
    "hill-climbing": lambda data: pb.learn.structure(data, escapes=0).graph,
    "tabu": lambda data: pb.learn.structure(data, "tabu", score="bdeu").graph,
    "ges": lambda data: pb.learn.structure(data, "ges").graph,
    "chow-liu": lambda data: pb.learn.structure(data, "chow-liu").graph,
    "exact": lambda data: pb.learn.structure(data, "exact", score="bdeu").graph,
    "pc": lambda data: pb.learn.pc(data).graph,
    "parameters": lambda data: pb.learn.parameters("text -> few <- whole", data, prior="bdeu:1"),
    "markov": lambda data: pb.learn.markov_structure(data, "chow-liu").graph,
    "score": lambda data: pb.learn.score("text -> whole", data, "bic"),
}


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
def test_learners_take_all_statistics(sources, kind, learn):
    """The same graphs, the same networks, the same scores."""
    names = [*STATES]
    assert learn(kind(sources, {"columns": names})) == learn(Table.read(ROWS, columns=names))


COMPLETERS = {
    "em": lambda data: pb.learn.em("text -> few -> holes", data, max_steps=4).network,
    "parameters": lambda data: pb.learn.parameters("few -> holes", data, prior="bdeu:1"),
    "structural em": lambda data: pb.learn.structure(data, escapes=0).graph,
    "complete rows": lambda data: pb.learn.structure(data, missing="complete-rows", escapes=0).graph,
    "available": lambda data: pb.learn.structure(data, missing="available", escapes=0).graph,
    "likelihood": lambda data: pb.learn.log_likelihood(pb.learn.parameters("few -> text", ROWS), data),
}


HOLDERS = {name: kind for name, kind in KINDS.items() if name != "combined"}  # sums of statistics have no rows


@pytest.mark.parametrize("kind", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("options", [{}, {"weights": "weight"}], ids=["plain", "weights"])
@pytest.mark.parametrize("learn", COMPLETERS.values(), ids=COMPLETERS)
def test_what_goes_through_rows_takes_all_statistics_of_rows(sources, kind, learn, options):
    """The same graphs, and numbers that differ by the order of sums alone."""
    names = ["text", "few"] if learn is COMPLETERS["likelihood"] else ["text", "few", "holes"]
    options = {"columns": names, **options}
    found, expected = learn(kind(sources, options)), learn(Table.read(ROWS, **options))
    if isinstance(expected, pb.BayesianNetwork):
        for name, cpd in expected.cpds.items():
            np.testing.assert_allclose(found.cpd(name).values, cpd.values, rtol=1e-12)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-13)
    else:
        assert found == expected


@pytest.mark.parametrize("kind", HOLDERS.values(), ids=HOLDERS)
def test_samples_of_rows_are_the_same_wherever_these_are(sources, kind):
    """The seed, the sample and the number of a row say how often it counts."""
    columns = [*STATES]
    found, expected = (
        pb.learn.bootstrap(make(sources, {"columns": columns}), "chow-liu", 7, seed=3).strengths().to_frame()
        for make in (kind, KINDS["read anew"])
    )
    pd.testing.assert_frame_equal(found, expected)


@pytest.fixture(scope="module")
def doubtful(tmp_path_factory, threads):
    """Rows with a number for each, a date, and whole numbers that run from one to the end."""
    folder = tmp_path_factory.mktemp("doubtful")
    days = [dt.date(2020, 1, 1 + row % 28) for row in range(200)]
    rows = {"id": [f"r{row}" for row in range(200)], "day": days, "run": np.arange(200.0) + 5}
    frame = pd.DataFrame({**rows, "text": ROWS.text[:200], "whole": ROWS.whole[:200]})
    for number, half in enumerate((frame[:120], frame[120:])):
        half.to_parquet(folder / f"{number}.parquet")
    return folder


@pytest.mark.parametrize("name", ["in pieces", "dask", "duckdb"])
def test_columns_that_are_hardly_variables_are_left_out_unless_they_are_named(doubtful, threads, name):
    """With the warning that a table makes, whoever has looked at the rows."""
    with pytest.warns(DoubtfulColumns) as warned:
        expected = Table.for_learning(doubtful)
    make = {
        "in pieces": lambda **options: StreamStatistics(doubtful, **options),
        "dask": lambda **options: DaskStatistics(doubtful, threads, **options),
        "duckdb": lambda **options: DuckDBStatistics(duckdb.sql(f"FROM '{doubtful}/*.parquet'"), **options),
    }[name]
    with pytest.warns(DoubtfulColumns) as told:
        found = for_learning(make())
    assert str(told[0].message) == str(warned[0].message)
    assert found.variables == expected.variables
    assert list(found.variables) == ["text", "whole"]
    chosen = make(columns=["id", "whole"])
    assert for_learning(chosen) is chosen
    with pytest.warns(DoubtfulColumns, match=r"'id' \(200 .*'run'"):
        assert list(for_learning(make(), ["day"]).variables) == ["day", "text", "whole"]
    with pytest.warns(DoubtfulColumns):
        assert pb.learn.structure(make(), escapes=0).graph == pb.learn.structure(expected, escapes=0).graph


def test_gaussian_networks_are_learned_from_moments(sources, kind):
    """Regressions in each state of a parent, and the graph."""
    for graph in ("number -> other", "number -> other <- whole; few -> number"):
        names = sorted(pb.DAG(graph).nodes)
        found, expected = (
            pb.learn.parameters(graph, data)
            for data in (kind(sources, {"columns": names}), Table.read(ROWS, columns=names))
        )
        for name in expected.cpds.keys() & set(NUMBERS):
            ours, theirs = (gaussian_lines(network.cpd(name)) for network in (found, expected))
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    names = ["number", "other", "few"]
    graphs = [
        pb.learn.structure(data).graph for data in (kind(sources, {"columns": names}), Table.read(ROWS, columns=names))
    ]
    assert graphs[0] == graphs[1]
