"""plausible learn and score with --cluster: what they write and tell is that of one file in memory."""

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.cli import main


@pytest.fixture
def run(capsys):
    """Run the program; gives exit code, output and errors."""

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def rows(tmp_path):
    """Asia in four files and in one, with an id, weights, and cells that are missing."""
    frame = pb.examples.load("asia").sample(1200, seed=3)
    frame = pd.DataFrame({name: frame[name].astype(str) for name in frame})
    frame["weight"] = [1 + row % 2 for row in range(1200)]
    frame["gaps"] = frame["smoke"].where(frame.index % 7 > 0)
    frame["id"] = [f"r{row}" for row in range(1200)]
    (tmp_path / "parts").mkdir()
    for number in range(4):
        frame.iloc[300 * number : 300 * (number + 1)].to_parquet(tmp_path / "parts" / f"{number}.parquet")
    frame.to_parquet(tmp_path / "all.parquet")
    return tmp_path


WAYS = {
    "a search": ["--weights", "weight", "--method", "first-ascent", "--missing", "complete-rows"],
    "tests": ["--method", "pc", "--missing", "complete-rows"],
    "a graph": ["--graph", "smoke -> lung -> xray <- tub"],
    "EM": ["--graph", "gaps -> lung; gaps -> bronc"],
    "undirected": ["--markov", "--graph", "smoke - lung - bronc - smoke"],
}


@pytest.mark.filterwarnings("ignore::plausible.data.DoubtfulColumns")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_network_is_learned_on_a_cluster_as_in_memory(rows, processes, run, way):
    """The same numbers in the file, the same words on the screen."""
    told, networks = [], []
    for data, more in (
        (rows / "all.parquet", []),
        (rows / "parts/*.parquet", ["--cluster", processes.scheduler.address]),
    ):
        code, text, errors = run("learn", data, "-o", rows / "net.json", "--no-progress", *way, *more)
        assert code == 0, errors
        told.append([line for line in text.splitlines() if " s)" not in line])
        networks.append(pb.load(rows / "net.json"))
    assert told[1] == told[0]
    if "gaps" not in way[-1]:
        assert networks[1] == networks[0]
    for name, cpd in networks[0].cpds.items() if way is not WAYS["undirected"] else ():
        np.testing.assert_allclose(networks[1].cpd(name).to_table().values, cpd.to_table().values, rtol=1e-6)


def test_a_network_is_scored_on_a_cluster_as_in_memory(rows, processes, run):
    """Its log-likelihood, also where cells are missing, and scores of its graph."""
    answers = []
    for data, more in ((rows / "all.parquet", []), (rows / "parts", ["--cluster", processes.scheduler.address])):
        for model in ("asia", "smoke -> lung; smoke -> bronc"):
            code, text, errors = run("score", model, data, "--json", "--weights", "weight", *more)
            assert code == 0, errors
            answers.append(json.loads(text))
    for ours, theirs in zip(answers[2:], answers[:2], strict=True):
        assert sorted(ours.pop("columns_not_used")) == sorted(theirs.pop("columns_not_used"))
        assert ours.pop("scores") == pytest.approx(theirs.pop("scores"), rel=1e-12)
        assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bootstrap", "3"], "--bootstrap draws rows, which --cluster leaves where they are"),
        (["--states", "smoke"], "--states looks at a column"),
        (["--hidden-states", "2"], "Rows in time are learned from where they are all together"),
        (["--weights", "wieght"], "'wieght' is not a variable of the data, which should have it as weights"),
        (["--continuous", "smok"], "'smok' is not a variable of the data, though --continuous names it"),
    ],
)
def test_what_a_cluster_does_not_do_is_told(rows, processes, run, options, message):
    address = processes.scheduler.address
    code, _, errors = run("learn", rows / "parts", "-o", rows / "net.json", "--cluster", address, *options)
    assert code == 2
    assert message in " ".join(errors.split())


def test_a_scheduler_that_does_not_answer_is_told(rows, run, monkeypatch):
    monkeypatch.setattr("plausible.scale.dask_partitions._SECONDS_TO_CONNECT", 0.2)
    code, _, errors = run("learn", rows / "parts", "-o", rows / "net.json", "--cluster", "tcp://127.0.0.1:1")
    assert code == 2
    assert "No scheduler of Dask's answers at 'tcp://127.0.0.1:1'" in " ".join(errors.split())
