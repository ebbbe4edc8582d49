"""Ids, dates and the index of a frame are hardly variables: learners leave them out and say so."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausible as pb
from plausible.data.column_types import DoubtfulColumns
from plausible.data.table import Table

ROWS = 60
RNG = np.random.default_rng(0)
A = RNG.integers(0, 2, ROWS)
GOOD = {"a": A, "b": np.where(RNG.random(ROWS) < 0.9, A, 1 - A)}
DOUBTFUL = {
    "numbers": np.arange(ROWS),
    "floats": np.arange(ROWS, dtype=float),
    "gappy floats": np.where(np.arange(ROWS) == ROWS - 1, np.nan, np.arange(ROWS)),
    "texts": [f"p{number}" for number in range(ROWS)],
    "nearly unique": [f"p{number * 2 // 3}" for number in range(ROWS)],
    "nearly unique numbers": [number * 2 // 3 * 7 for number in range(ROWS)],
    "times": pd.date_range("2020-01-01", periods=ROWS).to_numpy(),
    "few days": [f"2020-01-0{number}" for number in 1 + A],
    "days written otherwise": [f"{number}/02/2020 10:30" for number in 1 + A],
}
KEPT = {
    "measurements": RNG.normal(size=ROWS),
    "whole measurements": RNG.integers(0, 10**6, ROWS).astype(float),
    "words": [f"w{number % 25}" for number in range(ROWS)],
    "few": list(range(20)) * 3,
    "codes": [f"10-{number}" for number in A],
}


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
@pytest.mark.parametrize("kind", DOUBTFUL)
def test_what_is_hardly_a_variable_is_doubtful_whatever_holds_it(kind, make):
    assert list(Table.read(make({**GOOD, "x": DOUBTFUL[kind]})).doubtful) == ["x"]


@pytest.mark.parametrize("kind", KEPT)
def test_measurements_and_words_that_repeat_are_no_ids(kind):
    assert not Table.read({**GOOD, "x": KEPT[kind]}).doubtful


def test_periods_are_dates():
    months = pd.Series(pd.period_range("2020-01", periods=3, freq="M")).repeat(20).reset_index(drop=True)
    assert Table.read(pd.DataFrame({**GOOD, "x": months})).doubtful == {"x": "dates"}
    assert Table.read({**GOOD, "x": list(months)}).doubtful == {"x": "dates"}


def test_files_and_their_index(tmp_path):
    """Dates of a CSV file are texts; pandas calls an index without a name so."""
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame({"Unnamed: 0": np.arange(ROWS) % 3, **GOOD, "day": DOUBTFUL["times"], "id": DOUBTFUL["texts"]})
    frame.to_csv(path, index=False)
    assert list(Table.read(path).doubtful) == ["Unnamed: 0", "day", "id"]
    frame.to_parquet(tmp_path / "rows.parquet")
    assert list(Table.read(tmp_path / "rows.parquet").doubtful) == ["Unnamed: 0", "day", "id"]


def _names(found):
    return found.names if hasattr(found, "names") else found.nodes


LEARNERS = {
    "structure": lambda data: pb.learn.structure(data).graph,
    "ges": lambda data: pb.learn.structure(data, "ges").graph,
    "pc": lambda data: pb.learn.pc(data).graph,
    "fci": lambda data: pb.causal.fci(data).graph,
    "bootstrap": lambda data: pb.learn.bootstrap(data, num_samples=2),
    "naive bayes": lambda data: _classifier(data).network_.graph,
    "clusters": lambda data: _without_cluster(pb.learn.MixtureClustering(2).fit(data)),
    "number of clusters": lambda data: _without_cluster(pb.learn.choose_clusters(data, [1, 2]).clustering),
    "partitions": lambda data: pb.DAG("", nodes=pb.learn.sample_partitions(data, lengths=SHORT).feature_variables),
    "dirichlet process": lambda data: pb.DAG(
        "", nodes=pb.learn.DirichletProcessMixture(lengths=SHORT).fit(data).posterior_.feature_variables
    ),
    "comparison": lambda data: _seen(lambda see: pb.learn.compare_learners(data, ["chow-liu", see], 2)),
    "curve": lambda data: _seen(lambda see: pb.learn.learning_curve(data, ["chow-liu", see], [20], repeats=1)),
    "validation": lambda data: _seen(lambda see: pb.learn.cross_validate(data, see, 2)),
}
SHORT = pb.learn.ChainLengths(4, 1, 1, 1)


def _classifier(data):
    """Learned with "b" as the class, from a frame or a table."""
    features = (
        data.select([n for n in data.variables if n != "b"]) if isinstance(data, Table) else data.drop(columns="b")
    )
    return pb.learn.NaiveBayesClassifier().fit(features, pd.Series(GOOD["b"], name="b"))


def _without_cluster(clustering):
    return pb.DAG("", nodes=[name for name in clustering.to_network().variables if name != "cluster"])


def _seen(run):
    """The columns that a learner sees."""
    tables = []
    run(lambda table: tables.append(table) or pb.DAG("", nodes=table.variables))
    return pb.DAG("", nodes=tables[0].variables)


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
def test_learners_leave_doubtful_columns_out_with_one_warning(learn):
    frame = pd.DataFrame({**GOOD, "id": DOUBTFUL["texts"], "day": DOUBTFUL["times"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = learn(frame)
    assert set(_names(graph)) == {"a", "b"}
    (told,) = [str(each.message) for each in caught if each.category is DoubtfulColumns]
    assert "'id' (60 different values in 60 rows), 'day' (dates)" in told
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* could not be tested")  # nothing can be told of a column of names
        assert set(_names(learn(Table.read(frame, columns=["a", "b", "id"])))) == {"a", "b", "id"}


@pytest.mark.parametrize("make", [pb.learn.NaiveBayesClassifier, pb.learn.MixtureClustering, "dpm"])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_what_was_left_out_of_fit_is_passed_over_by_predict(make, as_matrix):
    """Frames with and without the column, and matrices, whose columns go by their places, get the same answers."""
    frame = pd.DataFrame({"id": DOUBTFUL["texts"], "a": A, "c": GOOD["b"]})
    model = pb.learn.DirichletProcessMixture(lengths=SHORT) if make == "dpm" else make()
    without = type(model)(**model.get_params()).fit(frame[["a", "c"]], A)
    with pytest.warns(DoubtfulColumns):
        model.fit(frame.to_numpy() if as_matrix else frame, A)
    assert model.n_features_in_ == 3
    new = frame.assign(id=[f"q{number}" for number in range(ROWS)])
    shown = [new.to_numpy()] if as_matrix else [new, new[["a", "c"]]]
    for rows in shown:
        np.testing.assert_allclose(model.predict_proba(rows), without.predict_proba(new[["a", "c"]]))


def test_options_of_classifiers_name_columns():
    """A root, a graph, knowledge, or cuts."""
    frame = pd.DataFrame({"a": A, "id": DOUBTFUL["numbers"]})
    for model in (
        pb.learn.TANClassifier(root="id"),
        pb.learn.BayesianNetworkClassifier(graph="class -> a; class -> id"),
        pb.learn.BayesianNetworkClassifier(knowledge=pb.Knowledge(forbidden="id -> a")),
        pb.learn.NaiveBayesClassifier(discretizer=pb.data.Discretizer.at({"id": [30.0]})),
    ):
        assert "id" in model.fit(frame, GOOD["b"]).network_.graph


@pytest.mark.parametrize(
    "options",
    [
        {"knowledge": pb.Knowledge(forbidden="id -> a")},
        {"knowledge": pb.Knowledge(tiers=[["a", "id"]])},
        {"start": pb.DAG("a -> b", nodes=["id"])},
        {"method": "chow-liu", "root": "id"},
    ],
    ids=["edges", "tiers", "start", "root"],
)
def test_what_is_named_is_kept(options):
    assert "id" in pb.learn.structure({**GOOD, "id": DOUBTFUL["texts"]}, **options).graph


def test_graphs_and_variables_name_columns():
    rows = {**GOOD, "id": DOUBTFUL["numbers"]}
    assert "id" in pb.learn.parameters("a -> b <- id", rows, prior="k2").graph
    table = Table.read(rows, [pb.Variable("id")])
    assert not table.doubtful
    assert "id" in pb.learn.structure(table).graph


@pytest.mark.parametrize("method", ["hill-climbing", "forest", "ges"])
@pytest.mark.parametrize("num_rows", [1, 2])
def test_few_rows_of_numbers_leak_no_warning_of_numpy(method, num_rows):
    """A parent can't be fitted to them; warnings are errors here."""
    rows = {"x": [0.5, 1.5][:num_rows], "y": [2.5, 4.5][:num_rows], "z": [0.1, 0.7][:num_rows]}
    assert pb.learn.structure(rows, method).graph.num_edges == 0


@pytest.mark.parametrize("learn", [pb.learn.structure, lambda rows: pb.learn.parameters("a -> b", rows, "k2")])
def test_one_row_that_says_which_states_there_are_is_told(learn):
    """Once; not where states are named, or for numbers."""
    with pytest.warns(pb.errors.PlausibleWarning, match="one row, so that 2 variables have one state") as caught:
        learn({"a": ["x"], "b": ["y"]})
    assert len(caught) == 1
    learn(Table.read({"a": ["x"], "b": ["y"]}, [pb.Variable("a", ["x", "u"]), pb.Variable("b", ["y", "v"])]))


def test_what_a_table_and_a_variable_of_many_states_print():
    assert (
        repr(Table.read({"a": ["x", "y"], "b": [0.5, 1.5]})) == "Table(2 rows, 2 variables (1 discrete, 1 continuous))"
    )
    assert repr(pb.Variable("x", 5000)) == "<Variable 'x': 5000 states, 0, 1, ..., 4999>"
    assert repr(pb.Variable("x", 3)) == "Variable('x', [0, 1, 2])"


def test_words_that_may_mean_missing_are_advised_as_data(tmp_path):
    """Python's words have no options in them; the remedy tells what to change, and to what."""
    (tmp_path / "rows.csv").write_text("a,b\nu,1\nNA,2\n")
    with pytest.warns(pb.errors.PlausibleWarning, match="missing_values=") as caught:
        table = Table.read(tmp_path / "rows.csv")
    assert "--" not in str(caught[0].message)
    with pytest.raises(pb.errors.UnknownState) as refused:
        Table.read(table, [pb.Variable("a", ["u", "v"])])
    (call,) = refused.value.remedies[0].changes
    assert call.arguments[-1].value == ["NA"]
