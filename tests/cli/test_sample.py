"""`plausible sample`: random rows, printed or in a file."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.variables import Variable


def rows_of(text):
    """The rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_are_those_of_the_library(plausible):
    """With the same seed, without and with evidence and interventions."""
    asia = pb.examples.load("asia")
    _, text, _ = plausible("sample", "asia", "-n", "20", "--seed", "5")
    assert rows_of(text) == asia.sample(20, seed=5).to_dict("records")
    _, text, _ = plausible("sample", "asia", "-n", "20", "--seed", "5", "-e", "dysp=yes", "--do", "smoke=no", "--json")
    found = json.loads(text)
    expected = asia.sample(20, seed=5, evidence={"dysp": "yes"}, do={"smoke": "no"})
    assert found == {"rows": 20, "samples": expected.to_dict("records")}


def test_evidence_and_interventions_hold_in_every_row_and_frequencies_are_posteriors(plausible):
    """Within five standard errors of P(bronc | dysp, do(smoke)) from the joint of the cut network."""
    _, text, _ = plausible("sample", "asia", "-n", "4000", "--seed", "1", "-e", "dysp=yes", "--do", "smoke=yes")
    rows = rows_of(text)
    assert {(row["dysp"], row["smoke"]) for row in rows} == {("yes", "yes")}
    cut = pb.examples.load("asia").with_cpd(pb.TableCPD("smoke", [1.0, 0.0], states=["yes", "no"]))
    expected = cut.joint().reduce({"dysp": "yes"}).marginal("bronc").normalize()["yes"]
    frequency = np.mean([row["bronc"] == "yes" for row in rows])
    assert abs(frequency - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("num_rows", [0, 1, 3, 7])
def test_a_file_has_the_rows_asked_for_however_many_pieces(plausible, tmp_path, ending, num_rows):
    """The same seed gives the same rows, printed or in a file of either kind; pieces differ from each other."""
    target = tmp_path / f"rows.{ending}"
    arguments = ("sample", "alarm", "-n", str(num_rows), "--seed", "3")
    code, text, errors = plausible(*arguments, "-o", str(target))
    assert (code, text, errors) == (0, f"{target}: {num_rows} row{'' if num_rows == 1 else 's'} written\n", "")
    frame = pd.read_csv(target, dtype=str) if ending == "csv" else pd.read_parquet(target)
    assert len(frame) == num_rows
    assert list(frame.columns) == list(pb.examples.load("alarm").variables)
    assert frame.to_dict("records") == rows_of(plausible(*arguments)[1])
    assert num_rows < 7 or len(frame.drop_duplicates()) > 3
    assert list(tmp_path.iterdir()) == [target]


def test_columns_of_a_parquet_file_have_the_types_of_the_states(plausible, tmp_path):
    """Numbers as numbers, truth values as such, all else as the text that names the state."""
    kinds = {"i": [0, 1], "f": [0.5, 1.5], "b": [False, True], "t": [(0, 1), (1, 0)], "m": [1, "x"]}
    network = pb.BayesianNetwork(*(pb.TableCPD(Variable(n, states), [0.5, 0.5]) for n, states in kinds.items()))
    pb.save(network, tmp_path / "model.json")
    plausible("sample", str(tmp_path / "model.json"), "-n", "50", "--seed", "0", "-o", str(tmp_path / "rows.parquet"))
    frame = pd.read_parquet(tmp_path / "rows.parquet")
    assert [frame[name].dtype.kind for name in "ifb"] == ["i", "f", "b"]
    for name, states in kinds.items():
        assert set(frame[name].tolist()) == set(states if name in "ifb" else map(str, states))
    plausible("sample", str(tmp_path / "model.json"), "-n", "50", "--seed", "0", "-o", str(tmp_path / "rows.csv"))
    table = pd.read_csv(tmp_path / "rows.csv", dtype=str, keep_default_na=False)
    for name, states in kinds.items():
        assert set(table[name]) == set(map(str, states))


def test_numbers_of_continuous_variables_survive_the_file(plausible, tmp_path):
    """To the last bit."""
    expected = pb.examples.load("gaussian-chain").sample(10, seed=2)
    for ending in ("csv", "parquet"):
        plausible("sample", "gaussian-chain", "-n", "10", "--seed", "2", "-o", str(tmp_path / f"rows.{ending}"))
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), expected, check_exact=True)
    texts = rows_of((tmp_path / "rows.csv").read_text())
    assert [{name: float(text) for name, text in row.items()} for row in texts] == expected.to_dict("records")


def test_a_console_that_lacks_a_sign_is_told_what_to_do(tmp_path):
    """Data are never changed in silence."""
    pb.save(pb.BayesianNetwork(pb.TableCPD("X", [0.5, 0.5], states=["α", "β"])), tmp_path / "model.json")
    code = f"from plausible.cli import main; main(['sample', {str(tmp_path / 'model.json')!r}])"
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert b"--output" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_samples_can_be_predicted_from(plausible, tmp_path):
    """What one command writes the other reads."""
    source, target = str(tmp_path / "rows.csv"), str(tmp_path / "answers.parquet")
    plausible("sample", "alarm", "-n", "25", "--seed", "0", "-o", source)
    code, _, errors = plausible("predict", "alarm", source, "HYPOVOLEMIA", target)
    assert (code, errors) == (0, "")
    assert len(pd.read_parquet(target)) == 25
