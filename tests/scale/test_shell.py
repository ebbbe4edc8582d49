"""plausible learn and score with --cluster: what they write and tell is that of one file in memory."""

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.cli import main
from plausible.learn.incomplete_structures.available import complete_rows_of


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


def test_numbers_are_states_on_a_cluster_as_in_memory(tmp_path, processes, run):
    """Those of all files, with fractions, with gaps, and those that are states anyway."""
    dose = [0.5, 1.25, np.nan, 3.0, 0.5, 7.5]
    frame = pd.DataFrame({"dose": dose, "ill": list("nyynny"), "age": [3, 4, 4, 3, 3, 4]})
    (tmp_path / "parts").mkdir()
    for number in range(3):
        frame.iloc[2 * number : 2 * number + 2].to_parquet(tmp_path / "parts" / f"{number}.parquet")
    frame.to_parquet(tmp_path / "all.parquet")
    networks = []
    for data, more in (
        (tmp_path / "all.parquet", []),
        (tmp_path / "parts", ["--cluster", processes.scheduler.address]),
    ):
        way = ["--graph", "ill -> dose -> age", "--states", "dose", "--states", "age", "--missing", "complete-rows"]
        code, _, errors = run("learn", data, "-o", tmp_path / "net.json", *way, *more)
        assert code == 0, errors
        networks.append(pb.load(tmp_path / "net.json"))
    assert networks[1] == networks[0]
    assert networks[0].variables["dose"].states == (0.5, 1.25, 3, 7.5)


@pytest.mark.filterwarnings("ignore::plausible.data.DoubtfulColumns")
def test_samples_of_a_cluster_are_those_of_rows_in_pieces(rows, processes, run):
    """Each edge is as strong as in the bootstrap of the same files, read here."""
    way = ["--method", "chow-liu", "--bootstrap", "6", "--seed", "3", "--missing", "complete-rows", "--json"]
    address = processes.scheduler.address
    code, text, errors = run("learn", rows / "parts", "-o", rows / "net.json", "--cluster", address, *way)
    assert code == 0, errors
    told = json.loads(text)
    whole = complete_rows_of(pb.data.StreamStatistics(rows / "parts").for_learning())
    strengths = pb.learn.bootstrap(whole, "chow-liu", 6, seed=3).strengths()
    assert told["bootstrap_samples"] == 6
    for edge in told["edges"]:
        assert edge["strength"] == pytest.approx(strengths.strength(edge["parent"], edge["child"]))
    assert any(0 < edge["as_directed"] < 1 for edge in told["edges"])


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
        (["--states", "smok"], "'smok' is not a variable of the data, though --states names it"),
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
