"""`plausible elicit`: an interview from a terminal or a pipe."""

from __future__ import annotations

import io
import json

import pytest

from plausible.cli.app import main


def _ask(monkeypatch, capsys, arguments, replies):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{reply}\n" for reply in replies)))
    with pytest.raises(SystemExit) as stop:
        main(["elicit", *arguments])
    return stop.value.code, capsys.readouterr()


ANCHORS = ["--worst", "dead", "--best", "healthy"]


def test_answers_bracket_the_utility(monkeypatch, capsys):
    """Sure at 1/2, gamble at 3/4, sure at 5/8: between 5/8 and 3/4."""
    arguments = ["blind", *ANCHORS, "--tolerance", "0.125", "--json"]
    code, told = _ask(monkeypatch, capsys, arguments, ["sure", "gamble", "1"])
    assert code == 0
    assert json.loads(told.out)["utilities"]["blind"] == {"utility": 0.6875, "low": 0.625, "high": 0.75}
    assert "healthy with a chance of 50%" in told.err


def test_what_can_not_be_read_is_asked_again_and_an_answer_can_be_taken_back(monkeypatch, capsys):
    arguments = ["blind", *ANCHORS, "--tolerance", "0.25", "--json"]
    _, told = _ask(monkeypatch, capsys, arguments, ["perhaps", "sure", "undo", "gamble", "gamble"])
    assert json.loads(told.out)["utilities"]["blind"]["high"] == 0.25
    assert "perhaps" in told.err


def test_a_session_ends_early_and_goes_on_from_its_file(monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "answers.json")
    code, told = _ask(monkeypatch, capsys, ["a", "b", "--method", "time-trade-off", "--save", file], ["longer"])
    assert code == 0
    assert f"plausible elicit --save {file}" in told.out
    _, told = _ask(monkeypatch, capsys, ["--save", file, "--json"], ["shorter", "stop"])
    document = json.loads(told.out)
    assert document["questions"] == 2
    assert document["utilities"]["a"]["low"] == 0.5
    assert not document["done"]
    code, told = _ask(monkeypatch, capsys, ["c", "--save", file], [])
    assert code == 2
    assert "has a session already" in told.err


def test_a_scale_takes_numbers(monkeypatch, capsys):
    _, told = _ask(monkeypatch, capsys, ["x", "y", "--method", "visual-analog", *ANCHORS], ["40", "80"])
    assert "0.4" in told.out
    assert "0.8" in told.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "nothing to judge"),
        (["x"], "--worst dead --best healthy"),
        (["x", *ANCHORS, "--method", "standard-gambel"], "standard-gamble"),
        (["x", *ANCHORS, "--tolerance", "2"], "between 0 and 1"),
        (["x", "--worst", "a", "--best", "a"], "anchors must differ"),
    ],
)
def test_mistakes_are_named(monkeypatch, capsys, arguments, hint):
    code, told = _ask(monkeypatch, capsys, arguments, [])
    assert code == 2
    assert hint in told.err
