"""`plausible filter`, `smooth`, `forecast`, and `learn --hidden-states`: models in time and rows of a file."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb

WEATHER = pb.HiddenMarkovModel(
    [0.5, 0.5],
    [[0.7, 0.3], [0.3, 0.7]],
    [[0.9, 0.1], [0.2, 0.8]],
    states=["rain", "dry"],
    symbols=["up", "down"],
    observation="umbrella",
)
DAYS = "town,day,umbrella\nb,2,down\na,1,up\na,2,\na,4,down\nb,1,up\n"
PLACES = ("--sequence", "town", "--time", "day")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model and rows."""
    monkeypatch.chdir(tmp_path)
    pb.save(WEATHER, "weather.json")
    (tmp_path / "days.csv").write_text(DAYS)
    return tmp_path


@pytest.mark.parametrize("command", ["filter", "smooth"])
def test_beliefs_stand_beside_the_steps_that_they_are_of(plausible, folder, command):
    """The command writes what the method answers, in the order of the rows, behind the columns of their places."""
    code, text, errors = plausible(command, "weather.json", "days.csv", *PLACES, "--gaps", "ignore")
    assert (code, errors) == (0, "")
    written = pd.read_csv(io.StringIO(text))
    rows = pd.read_csv(io.StringIO(DAYS))
    expected = getattr(WEATHER, command)(rows, sequence="town", time="day", gaps="ignore")
    assert written["town"].tolist() == list("baaab")
    np.testing.assert_allclose(written[["rain", "dry"]], expected, rtol=1e-12)


def test_missing_steps_are_refused_by_name_or_filled(plausible, folder):
    """The error names rows, times and sequence; filled steps are rows of the answer."""
    code, _, errors = plausible("filter", "weather.json", "days.csv", *PLACES)
    assert code == 2
    assert "time 2 of sequence 'a'" in errors
    assert "--gaps fill" in errors
    code, text, _ = plausible("smooth", "weather.json", "days.csv", *PLACES, "--gaps", "fill", "--best")
    filled = pd.read_csv(io.StringIO(text))
    assert filled.groupby("town")["day"].agg(list).to_dict() == {"a": [1, 2, 3, 4], "b": [1, 2]}
    assert set(filled["best state"]) <= {"rain", "dry"}


@pytest.mark.parametrize("command", ["filter", "smooth", "forecast"])
def test_columns_that_are_no_variables_are_passed_over(plausible, folder, command):
    """The answer is the one without them; a line says so, and what a slip may have meant."""
    (folder / "noted.csv").write_text("note," + DAYS.rstrip().replace("\n", "\nwet,") + "\n")
    named = (*PLACES, "--gaps", "ignore")
    code, text, errors = plausible(command, "weather.json", "noted.csv", *named)
    assert (code, errors.count("\n")) == (0, 1)
    assert "no variables of the model were passed over: note." in errors
    assert text == plausible(command, "weather.json", "days.csv", *named)[1]
    (folder / "slip.csv").write_text("umbrella,stat\nup,\ndown,rain\n")
    assert "Of 'stat': Did you mean 'state'?" in plausible(command, "weather.json", "slip.csv")[2]


def test_rows_in_time_are_refused_in_words_of_the_shell(plausible, folder):
    """Options have the names that one types, and no advice is Python's."""
    for file, options, told in [
        ("umbrela\nup\n", (), "Did you mean 'umbrella'?"),
        (DAYS, ("--sequence", "twon"), "though --sequence names it. Did you mean 'town'?"),
        (DAYS, ("--time", "day"), "name the column of sequences: --sequence."),
    ]:
        (folder / "rows.csv").write_text(file)
        code, _, errors = plausible("filter", "weather.json", "rows.csv", *options)
        assert code == 2
        assert told in errors
        assert "sequence=" not in errors
        assert "frame." not in errors
    code, _, errors = plausible("learn", "days.csv", "-o", "m.json", "--hidden-states", "2", "--sequence", "twon")
    assert code == 2
    assert "though --sequence names it. Did you mean 'town'?" in errors


def test_a_forecast_tells_the_times_to_come(plausible, folder):
    """Each sequence goes on where it ends; --json tells the same."""
    code, text, _ = plausible(
        "forecast", "weather.json", "days.csv", *PLACES, "--gaps", "fill", "--steps", "2", "--json"
    )
    rows = json.loads(text)["rows"]
    assert code == 0
    assert [(row["town"], row["day"]) for row in rows] == [("b", 3), ("b", 4), ("a", 5), ("a", 6)]
    assert all(row["P(umbrella=up)"] + row["P(umbrella=down)"] == pytest.approx(1) for row in rows)


def test_a_model_learned_in_the_shell_is_that_of_the_library(plausible, folder):
    """`learn --hidden-states` writes a model that explains the rows as well as the library's."""
    rows = WEATHER.sample(300, seed=1)[["umbrella"]].assign(day=range(300))
    rows.to_csv("seen.csv", index=False)
    code, text, errors = plausible("learn", "seen.csv", "-o", "model.json", "--hidden-states", "2", "--time", "day")
    assert (code, errors) == (0, "")
    assert "log-likelihood" in text
    learned = pb.load("model.json")
    best = pb.learn.hmm(rows, 2, restarts=5, time="day").log_likelihood
    assert learned.log_likelihood(rows, time="day") == pytest.approx(best, abs=1e-6)


def test_models_in_time_and_others_are_told_apart(plausible, folder):
    """Other commands say which ones ask models in time; these say which ask other models; info tells what it is."""
    code, _, errors = plausible("query", "weather.json", "state")
    assert code == 2
    assert "plausible smooth" in errors
    code, _, errors = plausible("filter", "asia", "days.csv")
    assert code == 2
    assert "plausible query" in errors
    code, text, _ = plausible("info", "weather.json", "--json")
    assert json.loads(text)["kind"] == "hidden-markov-model"
    assert plausible("convert", "weather.json", "copy.json")[0] == 0
    assert pb.load("copy.json") == WEATHER
    code, _, errors = plausible("convert", "weather.json", "copy.bif")
    assert code == 2
    assert ".json" in errors


def test_graphs_over_slices_and_numbers_are_learned_in_the_shell(plausible, folder):
    """A graph with lags gives a dynamic network, --latent a linear system; both as the library learns them."""
    code, _, errors = plausible(
        *("learn", "days.csv", "-o", "net.json", "--graph", "umbrella[-1] -> umbrella", *PLACES, "--gaps", "fill")
    )
    assert (code, errors) == (0, "")
    network = pb.load("net.json")
    assert str(network.graph) == "umbrella[-1] -> umbrella"
    rows = pb.LinearDynamicalSystem(0.9, 1.0, 1.0, 1.0, 0.0, "stationary").sample(60, seed=0)[["y1"]]
    rows.to_csv("numbers.csv", index=False)
    code, text, errors = plausible("learn", "numbers.csv", "-o", "system.json", "--latent", "1", "--json")
    assert (code, errors) == (0, "")
    fit = pb.learn.linear_dynamical_system(rows, 1)
    assert json.loads(text)["log_likelihood"] == pytest.approx(fit.log_likelihood, rel=1e-6)
    code, text, _ = plausible("forecast", "system.json", "numbers.csv", "--steps", "2")
    assert code == 0
    assert text.splitlines()[0] == "step,y1 mean,y1 lower,y1 upper"
    code, text, _ = plausible("smooth", "system.json", "numbers.csv")
    assert len(text.splitlines()) == 61
    code, _, errors = plausible("learn", "days.csv", "-o", "m.json", *PLACES)
    assert code == 2
    assert "--hidden-states" in errors
