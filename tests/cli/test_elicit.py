"""`plausible elicit`: an interview from a terminal or a pipe."""

from __future__ import annotations

import io
import json

import pytest

from plausible.cli.app import main
from plausible.utilities.elicitation.methods import load_session
from plausible.utilities.lotteries.regret import DecisionSituation
from plausible.utilities.lotteries.risk import certainty_equivalent


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


def test_the_last_answer_can_be_taken_back_too(monkeypatch, capsys):
    """The end is confirmed: an empty line, or the end of the input."""
    arguments = ["blind", *ANCHORS, "--tolerance", "0.5", "--json"]
    _, told = _ask(monkeypatch, capsys, arguments, ["sure", "undo", "gamble", "", "ignored"])
    assert json.loads(told.out)["utilities"]["blind"] == {"utility": 0.25, "low": 0.0, "high": 0.5}
    assert told.err.count("Press Enter to end") == 2


def test_an_answer_of_an_earlier_sitting_can_be_taken_back(monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "answers.json")
    _ask(monkeypatch, capsys, ["blind", *ANCHORS, "--tolerance", "0.25", "--save", file], ["sure", "sure"])
    code, told = _ask(monkeypatch, capsys, ["--save", file, "--json"], ["undo", "undo", "undo", "2", "2"])
    assert code == 0
    assert "2 answers so far" in told.err
    assert "There is no answer to take back" in told.err
    assert json.loads(told.out)["utilities"]["blind"]["high"] == 0.25


@pytest.mark.parametrize("word", ["help", "?"])
def test_help_and_show_are_no_answers(monkeypatch, capsys, word):
    arguments = ["blind", "--method", "time-trade-off", "--json"]
    _, told = _ask(monkeypatch, capsys, arguments, ["longer", word, "show"])
    assert "take the last answer back" in told.err
    assert "rather fewer years" in told.err
    assert "0.75" in told.err
    assert json.loads(told.out)["questions"] == 1


def test_the_end_of_the_input_leaves_a_session_that_goes_on(monkeypatch, capsys, tmp_path):
    """No answer at all, and no answer lost."""
    file = tmp_path / "answers.json"
    code, told = _ask(monkeypatch, capsys, ["blind", *ANCHORS, "--save", str(file)], [])
    assert code == 0
    assert "Ended early" in told.out
    assert load_session(file).answers == ()
    _ask(monkeypatch, capsys, ["--save", str(file)], ["sure"])
    assert load_session(file).answers == ("sure",)
    assert list(tmp_path.iterdir()) == [file]


def test_what_was_saved_is_a_utility_and_a_curve_in_python(monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "money.json")
    arguments = ["400", "700", "--method", "visual-analog", "--worst", "0", "--best", "1000", "--save", file]
    _, told = _ask(monkeypatch, capsys, arguments, ["50", "80"])
    assert f"load_session({file!r}).result" in told.out
    result = load_session(file).result
    assert DecisionSituation({"sure": "400", "gamble": {"1000": 0.5, "0": 0.5}}, result).rank().ties == (
        "sure",
        "gamble",
    )
    assert certainty_equivalent(result.curve(), {1000: 0.5, 0: 0.5}) == pytest.approx(400)


def test_answers_that_point_beyond_an_anchor_are_told(monkeypatch, capsys):
    arguments = ["coma", *ANCHORS, "--tolerance", "0.125"]
    _, told = _ask(monkeypatch, capsys, arguments, ["gamble"] * 3)
    assert "if it is worse than that, name another anchor" in told.out


def test_options_of_a_saved_session_are_not_changed_in_silence(monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "answers.json")
    _ask(monkeypatch, capsys, ["blind", *ANCHORS, "--save", file], [])
    code, told = _ask(monkeypatch, capsys, ["--tolerance", "0.1", "--worst", "dead", "--save", file], [])
    assert code == 2
    assert "leave out --worst, --tolerance" in told.err


def test_a_file_of_another_kind_is_not_called_a_session(monkeypatch, capsys, tmp_path):
    """It stays as it was."""
    file = tmp_path / "costs.csv"
    file.write_text("component,repair\n")
    code, told = _ask(monkeypatch, capsys, ["blind", *ANCHORS, "--save", str(file)], ["sure"])
    assert code == 2
    assert "costs.csv is there already, and can't be gone on with: name another file. It holds no saved" in told.err
    assert "has a session" not in told.err
    assert file.read_text() == "component,repair\n"


def test_files_that_hold_no_session_are_named(monkeypatch, capsys, tmp_path):
    file = tmp_path / "answers.json"
    for text, hint in (("", "no saved session"), ("[]", "a JSON list"), ('{"method": "guess"}', "not 'guess'")):
        file.write_text(text)
        code, told = _ask(monkeypatch, capsys, ["--save", str(file)], [])
        assert code == 2
        assert f"{file}: " in told.err
        assert hint in told.err
    code, told = _ask(monkeypatch, capsys, ["--save", str(tmp_path / "none.json")], [])
    assert code == 2
    assert "none.json is not there" in told.err
    code, told = _ask(monkeypatch, capsys, ["x", *ANCHORS, "--save", str(tmp_path / "no" / "where.json")], [])
    assert code == 2
    assert "where.json' can't be written. There is no folder" in told.err
    assert "partial" not in told.err


def test_a_scale_takes_numbers(monkeypatch, capsys):
    _, told = _ask(monkeypatch, capsys, ["x", "y", "--method", "visual-analog", *ANCHORS], ["40", "80"])
    assert "0.4" in told.out
    assert "0.8" in told.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "nothing to judge"),
        (["x"], "--worst dead --best healthy"),
        (["x", *ANCHORS, "--method", "standard-gambel"], "Did you mean 'standard-gamble'?"),
        (["x", *ANCHORS, "--method", "foo"], "'foo' is none of standard-gamble, time-trade-off, visual-analog.\n"),
        (["100", "2000", "--worst", "0", "--best", "1000"], "'2000' does not lie between the anchors '0' and '1000'"),
        (["x", *ANCHORS, "--tolerance", "2"], "between 0 and 1"),
        (["x", "--worst", "a", "--best", "a"], "anchors must differ"),
        (["x", *ANCHORS, "--years", "5"], "--years goes with --method time-trade-off"),
        (["x", *ANCHORS, "--method", "visual-analog", "--tolerance", "0.1"], "--tolerance goes with searches"),
    ],
)
def test_mistakes_are_named(monkeypatch, capsys, arguments, hint):
    code, told = _ask(monkeypatch, capsys, arguments, [])
    assert code == 2
    assert hint in told.err


@pytest.mark.parametrize(
    ("method", "part", "value", "hint"),
    [
        ("visual-analog", "limits", [5], "limits=(5,) must be two finite numbers"),
        ("visual-analog", "limits", [5, 5], "limits=(5, 5) must be two finite numbers"),
        ("time-trade-off", "years", "q", "years='q' must be a positive, finite number"),
        ("time-trade-off", "years", -5, "years=-5 must be a positive, finite number"),
    ],
)
def test_edited_files_that_make_no_sense_end_in_one_line(monkeypatch, capsys, tmp_path, method, part, value, hint):
    """The file, the part and what it must be."""
    file = tmp_path / "answers.json"
    _ask(monkeypatch, capsys, ["blind", *ANCHORS, "--method", method, "--save", str(file)], [])
    file.write_text(json.dumps({**json.loads(file.read_text()), part: value}))
    code, told = _ask(monkeypatch, capsys, ["--save", str(file)], [])
    assert code == 2
    assert f"{file}: " in told.err
    assert hint in told.err
    assert "Traceback" not in told.err


def test_more_money_that_came_out_worse_is_told_at_once(monkeypatch, capsys):
    """In the text and in the document."""
    arguments = ["100", "500", "--worst", "0", "--best", "1000", "--method", "visual-analog"]
    _, told = _ask(monkeypatch, capsys, arguments, ["60", "40"])
    assert "100 came out better than 500 (0.6 and 0.4)" in told.out
    _, told = _ask(monkeypatch, capsys, [*arguments, "--json"], ["60", "40"])
    assert json.loads(told.out)["reversals"] == [["100", "500"]]


def test_an_endless_life_is_no_trade_off(monkeypatch, capsys):
    code, told = _ask(monkeypatch, capsys, ["x", "--method", "time-trade-off", "--years", "inf"], [])
    assert code == 2
    assert "years=inf must be a positive, finite number" in told.err
