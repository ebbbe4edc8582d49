"""`plausible troubleshoot --session` where states are called like the words of a session."""

from __future__ import annotations

import io

import pytest

import plausible as pb


@pytest.fixture
def pump(tmp_path):
    """The arguments for a pump with a sign that shows "do it" or "help"."""
    net = pb.BayesianNetwork(
        pb.TableCPD("valve", [0.7, 0.3], states=["ok", "stuck"]),
        pb.TableCPD("sign", [[0.9, 0.1], [0.2, 0.8]], parents=["valve"], states=["do it", "help"]),
        pb.NoisyOr("dry", ["valve"], [1.0], leak=0.5),
    )
    pb.save(net, tmp_path / "pump.json")
    (tmp_path / "costs.csv").write_text("component,observe,repair,ok\nvalve,,10,ok\nsign,0.1,,\nservice call,,60,\n")
    files = (str(tmp_path / "pump.json"), "--costs", str(tmp_path / "costs.csv"))
    return ("troubleshoot", *files, "--works", "dry=false", "--session")


@pytest.mark.parametrize("said", ["?", "?help", "? help"])
def test_help_can_be_had_where_help_is_a_state(plausible, pump, monkeypatch, said):
    """By a question mark, which the question tells; the bare word is the state."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{said}\nhelp\nyes\n"))
    code, text, _ = plausible(*pump)
    question, told, *_ = text.splitlines()
    assert question == "test sign (0.1). What do you see? [do it/help, or ?help]"
    assert told.startswith("Answer with what you see")
    assert "put ? before it" in text
    assert text.endswith("1. test sign: help\n2. repair valve: it works\nit works; paid 10.1\n")
    assert code == 0


def test_every_word_can_have_a_question_mark(plausible, pump, monkeypatch):
    """Taking a step back, of which there is none; why; a step of one's own; and the end."""
    monkeypatch.setattr("sys.stdin", io.StringIO("?undo\n?why\n?do repair valve\n?stop\n"))
    _, text, _ = plausible(*pump)
    assert "There is no step to take back." in text
    assert "repair valve (10). Does it work? [yes/no, or help]" in text
    assert "Test sign: estimated cost" in text
    assert "it does not work; paid 0\nEnded early" in text
