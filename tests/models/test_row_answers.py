"""Answers for rows of files are those for the frame, in their order, with what names the rows; mistakes have places."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from plausible import examples
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.data import batches
from plausible.data.streams import Stream
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.models import BayesianNetwork

ASIA = examples.load("asia")
ENGINE = ASIA.compile()
ROWS = ASIA.sample(400, seed=4).drop(columns=["smoke", "either"]).astype(object)
ROWS = ROWS.mask(np.random.default_rng(0).random(ROWS.shape) < 0.2)
KIND = TableCPD("kind", [0.5, 0.3, 0.2], states=[1, 2, 3])
MIXED = BayesianNetwork(
    KIND,
    ConditionalGaussianCPD("height", [1.0, 2.0, 4.0], {}, 1.0, [KIND.variable]),
    LinearGaussianCPD("scale", 0.5, {"height": 2.0}, 0.25),
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of few rows, so that small files have many."""
    monkeypatch.setattr(batches, "rows_at_once", lambda num_columns: 64)


@pytest.fixture
def files(tmp_path):
    """The rows as Parquet files in a folder, with one column more."""

    def write(rows=ROWS, ending=".parquet", **more):
        folder = tmp_path / "rows"
        folder.mkdir(exist_ok=True)
        for number, half in enumerate((rows.iloc[:150], rows.iloc[150:])):
            half = half.assign(**{name: cells[half.index] for name, cells in more.items()})
            if ending == ".parquet":
                half.to_parquet(folder / f"{number}.parquet", row_group_size=90, index=False)
            else:
                half.to_csv(folder / f"{number}.csv", index=False)
        return folder

    return write


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_files_are_answered_as_the_frame_is(files, tmp_path, ending):
    folder = files(ending=ending)
    proba, best = ENGINE.predict_proba(ROWS, "lung"), ENGINE.predict(ROWS, "lung")
    logs = ENGINE.log_likelihood(ROWS)
    pd.testing.assert_frame_equal(ENGINE.predict_proba(folder, "lung"), proba)
    pd.testing.assert_series_equal(ENGINE.predict(f"{folder}/*{ending}", "lung"), best)
    np.testing.assert_allclose(ENGINE.log_likelihood(Stream(folder)), logs, rtol=1e-12)

    path = tmp_path / "answers.parquet"
    written = ENGINE.predict_proba(folder, "lung", output=path)
    assert (written.num_rows, written.num_pieces) == (400, 9 if ending == ".parquet" else 7)
    pd.testing.assert_frame_equal(pd.read_parquet(path), proba.set_axis(["yes", "no"], axis=1))
    ENGINE.predict(folder, "lung", output=path)
    answers = pd.read_parquet(path)["lung"]
    assert answers.cat.categories.tolist() == ["yes", "no"]
    assert answers.tolist() == best.tolist()
    ENGINE.log_likelihood(folder, output=path)
    np.testing.assert_allclose(pd.read_parquet(path)["log_likelihood"], logs, rtol=1e-12)


def test_numbers_are_predicted_from_files(tmp_path):
    rows = MIXED.sample(300, seed=2)
    rows.loc[::3, "height"] = np.nan
    rows.to_parquet(tmp_path / "rows.parquet")
    engine, path = MIXED.compile(), tmp_path / "answers.csv"
    moments = engine.predict_moments(rows, "height")
    pd.testing.assert_frame_equal(engine.predict_moments(tmp_path / "rows.parquet", "height"), moments)
    engine.predict_moments(tmp_path / "rows.parquet", "height", output=path)
    pd.testing.assert_frame_equal(pd.read_csv(path), moments)
    engine.predict(tmp_path / "rows.parquet", "height", output=path)
    np.testing.assert_allclose(pd.read_csv(path)["height"], moments["mean"], rtol=1e-12)
    engine.predict(tmp_path / "rows.parquet", "kind", output=tmp_path / "kinds.parquet")
    kinds = pd.read_parquet(tmp_path / "kinds.parquet")["kind"]
    assert kinds.dtype == np.int64
    assert kinds.tolist() == engine.predict(rows, "kind").tolist()
    np.testing.assert_allclose(engine.log_likelihood(tmp_path / "rows.parquet"), engine.log_likelihood(rows))


def test_what_names_the_rows_comes_with_the_answers(files, tmp_path):
    names = np.array([f"p{row}" for row in range(400)], dtype=object)
    folder = files(patient=names, ward=np.arange(400) // 100)
    rows = Stream(folder, index=["ward", "patient"], where={"ward": [1, 3]})
    chosen = ROWS.assign(ward=np.arange(400) // 100, patient=names).query("ward in [1, 3]")
    chosen = chosen.set_index(["ward", "patient"])
    expected = ENGINE.predict_proba(chosen, "lung")
    pd.testing.assert_frame_equal(ENGINE.predict_proba(rows, "lung"), expected)
    for source in (rows, chosen):
        ENGINE.predict_proba(source, "lung", output=tmp_path / "answers.parquet")
        read = pd.read_parquet(tmp_path / "answers.parquet").set_index(["ward", "patient"])
        pd.testing.assert_frame_equal(read, expected.set_axis(["yes", "no"], axis=1), check_index_type=False)


def test_the_index_that_pandas_wrote_comes_with_the_answers(tmp_path):
    frame = ROWS.set_axis(pd.Index([f"p{row}" for row in range(400)], name="who"))
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=90)
    pd.testing.assert_series_equal(ENGINE.predict(tmp_path / "a.parquet", "lung"), ENGINE.predict(frame, "lung"))


def test_a_frame_is_answered_into_a_file(tmp_path):
    for frame in (ROWS, ROWS[:0], ROWS.iloc[5:9]):
        written = ENGINE.predict_proba(frame, "lung", output=tmp_path / "a.csv")
        read, expected = pd.read_csv(tmp_path / "a.csv"), ENGINE.predict_proba(frame, "lung")
        assert (written.num_rows, written.num_pieces) == (len(frame), 1)
        np.testing.assert_allclose(read[["yes", "no"]].astype(float), expected.to_numpy().reshape(-1, 2))
        assert list(read) == (["__index_level_0__", "yes", "no"] if len(frame) == 4 else ["yes", "no"])


def test_columns_of_a_file_need_different_names(files, tmp_path):
    with pytest.raises(InvalidArgument, match="two columns 'yes'"):
        ENGINE.predict_proba(ROWS.rename_axis("yes"), "lung", output=tmp_path / "a.csv")
    net = BayesianNetwork(TableCPD("x", [0.5, 0.5], states=[1, "1"]), TableCPD("y", [0.5, 0.5], states=["a", "b"]))
    assert net.compile().predict_proba({"y": ["a"]}, "x").shape == (1, 2)
    with pytest.raises(NotSupported, match="print alike"):
        net.compile().predict_proba({"y": ["a"]}, "x", output=tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_rows_without_evidence_are_as_many_as_they_are(files, tmp_path):
    folder = files(ROWS[["lung"]])
    np.testing.assert_allclose(ENGINE.predict_proba(folder, "lung"), np.tile(ENGINE.query("lung").values, (400, 1)))
    files(ROWS[:0])
    assert ENGINE.predict_proba(folder, "lung").shape == (0, 2)
    assert ENGINE.log_likelihood(folder).shape == (0,)
    assert ENGINE.predict(folder, "lung", output=tmp_path / "a.csv").num_rows == 0


def test_mistakes_have_places(files, tmp_path):
    rows = ROWS.copy()
    rows.loc[301, ["tub", "xray", "lung"]] = None
    wrong = rows.assign(either=pd.Series(["no" if row == 301 else None for row in rows.index]))
    wrong.loc[301, "lung"] = "yes"
    place = r"1.parquet, row group 1: Row 61"
    with pytest.raises(ImpossibleEvidence, match=rf"{place} can't happen.*(either|lung)"):
        ENGINE.predict_proba(files(wrong), "bronc")
    wrong = rows.copy()
    wrong.loc[301, "lung"] = "maybe"
    with pytest.raises(UnknownState, match=rf"{place} of column 'lung': 'maybe' is not a state"):
        ENGINE.predict_proba(files(wrong), "bronc")
    with pytest.raises(UnknownVariable, match=r"'lungs' is not a variable.*Did you mean 'lung'.*index='lungs'"):
        ENGINE.predict_proba(files(rows.rename(columns={"lung": "lungs"})), "bronc")
    source = files(rows)
    with pytest.raises(InvalidArgument, match="is the file to read"):
        ENGINE.predict_proba(source, "bronc", output=source / "1.parquet")
    with pytest.raises(InvalidArgument, match="none of a file of rows"):
        ENGINE.predict_proba(source, "bronc", output=tmp_path / "a.json")
    assert sorted(path.name for path in source.iterdir()) == ["0.parquet", "1.parquet"]


def test_a_row_that_lacks_a_number_has_a_place(tmp_path):
    x = LinearGaussianCPD("x", 0.0, variance=1.0)
    net = BayesianNetwork(x, LogisticCPD("y", [x.variable], [1.0], 0.0, states=["a", "b"]))
    pd.DataFrame({"x": [0.5, None], "y": ["a", "b"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(NotSupported, match=r"a.parquet, row group 0: Row 1 has no number for 'x'"):
        net.compile().log_likelihood(tmp_path / "a.parquet")


def test_a_run_that_is_ended_leaves_nothing(files, tmp_path):
    seen = []
    with pytest.raises(KeyboardInterrupt):
        ENGINE.predict(files(), "lung", output=tmp_path / "a.parquet", progress=lambda n: seen.append(n) or n > 150)
    assert seen[:2] == [64, 90]
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_a_row_group_that_can_not_be_read_leaves_nothing(files, tmp_path):
    folder = files()
    path = folder / "1.parquet"
    place = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    start = place.dictionary_page_offset or place.data_page_offset
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"1.parquet, row group 2, column '\w+': This can't be read"):
        ENGINE.predict(folder, "lung", output=tmp_path / "a.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
