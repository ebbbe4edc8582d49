"""`plausible impute`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


@pytest.fixture
def holes(tmp_path):
    """Rows of asia with a fifth of the cells empty, as they are in the file data.csv."""
    frame = ASIA.sample(60, seed=2).astype(object)
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
    frame.insert(0, "id", [f"{number:03}" for number in range(len(frame))])
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def _read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])


@pytest.mark.parametrize("method", ["most-frequent", "random", "uniform", "hot-deck", "most-probable", "draw"])
def test_empty_cells_are_filled_and_all_others_are_written_as_they_stood(plausible, holes, tmp_path, method):
    """Leading zeros, columns that the network does not know, and the order of columns come back."""
    source, target = tmp_path / "data.csv", tmp_path / "out.csv"
    network = ["--network", "asia"] if method in ("most-probable", "draw") else []
    code, text, errors = plausible("impute", str(source), "-o", str(target), "--method", method, *network)
    assert (code, errors) == (0, "")
    assert f"{int(holes.isna().sum().sum())} cells filled ({method})" in text
    written = _read(target)
    assert list(written.columns) == list(holes.columns)
    assert not written.isna().any().any()
    assert ((written == holes) | holes.isna()).all().all()


def test_copies_differ_where_cells_were_empty_and_the_seed_decides(plausible, holes, tmp_path):
    """Three files by data augmentation, the same for the same seed."""
    source, target = tmp_path / "data.csv", tmp_path / "out.csv"
    arguments = (
        "impute",
        str(source),
        "-o",
        str(target),
        "--network",
        "asia",
        "--copies",
        "3",
        "--seed",
        "3",
        "--json",
    )
    document = json.loads(plausible(*arguments)[1])
    assert document["method"] == "draw"
    assert len(document["output"]) == 3
    first = [_read(path) for path in document["output"]]
    assert any(not first[0].equals(other) for other in first[1:])
    assert all(((copy == holes) | holes.isna()).all().all() for copy in first)
    plausible(*arguments)
    assert all(copy.equals(_read(path)) for copy, path in zip(first, document["output"], strict=True))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-o", "data.csv"), "is the file to read"),
        (("-o", "out.txt"), "neither a .csv nor a .parquet"),
        (("-o", "out.csv", "--method", "mode"), "no way to fill cells"),
        (("-o", "out.csv", "--method", "draw"), "give --network"),
        (("-o", "out.csv", "--copies", "2"), "would all be the same"),
        (("-o", "out.csv", "--network", "misconception"), "no Bayesian network"),
        (("-o", "out.csv", "--method", "default"), "name it with --value"),
    ],
)
def test_mistakes_end_in_one_line(plausible, holes, tmp_path, monkeypatch, arguments, problem):
    """Exit code 2, and a sentence that names the problem; nothing is written."""
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "data.csv").read_text()
    code, _, errors = plausible("impute", "data.csv", *arguments)
    assert code == 2
    assert problem in errors
    assert errors.count("\n") == 1
    assert (tmp_path / "data.csv").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_whole_numbers_stay_whole_and_empty_columns_empty(plausible, tmp_path):
    """A mean is written as its column is, 20 among ages and 2.0 among weights; a column without a value is told of."""
    source, target = tmp_path / "data.csv", tmp_path / "out.csv"
    ages, weights = [*range(8, 33), ""], [*[1.5, 2.5] * 12, 2.0, ""]
    rows = [f"{age},{weight},\n" for age, weight in zip(ages, weights, strict=True)]
    source.write_text("".join(["age,weight,notes\n", *rows]))
    code, text, errors = plausible("impute", str(source), "-o", str(target), "--method", "mean", "--continuous", "age")
    assert (code, errors) == (0, "")
    assert "26 rows written, 2 cells filled" in text
    assert "26 cells of notes left empty" in text
    assert target.read_text().splitlines()[-1] == "20,2.0,"
    document = json.loads(plausible("impute", str(source), "-o", str(target), "--json")[1])
    assert (document["rows"], document["left"]) == (26, {"notes": 26})
