"""What is left when a command ends early: no file, or the one that was there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from plausible.cli.predict import Prediction


@pytest.fixture
def rows(tmp_path):
    """Seven rows of evidence."""
    source = tmp_path / "rows.csv"
    source.write_text("smoke,xray\n" + "yes,no\n" * 7)
    return source


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("was_there", [False, True])
@pytest.mark.parametrize(
    ("problem", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "plausible: interrupted\n"),
        (OSError(28, "No space left on device"), 2, "plausible: {target!r}: No space left on device.\n"),
    ],
    ids=["Ctrl-C", "a full disk"],
)
def test_nothing_half_written_is_left(plausible, tmp_path, rows, monkeypatch, ending, was_there, problem, code, line):
    """The second piece fails; the first is not to be seen, and an older answer is untouched."""
    target = tmp_path / f"answers.{ending}"
    if was_there:
        target.write_text("an older answer")
    answers, pieces = Prediction.answers, []

    def failing(self, chunk):
        pieces.append(chunk.num_rows)
        if len(pieces) == 2:
            raise problem
        return answers(self, chunk)

    monkeypatch.setattr(Prediction, "answers", failing)
    assert plausible("predict", "asia", str(rows), "lung", str(target)) == (code, "", line.format(target=str(target)))
    assert pieces == [3, 3]
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", *([target.name] if was_there else [])}
    assert not was_there or target.read_text() == "an older answer"


@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
def test_control_c_ends_a_running_program(tmp_path):
    """Exit code 130, one line, and the file that was being written is gone."""
    arguments = ["sample", "chain", "-n", "999999999", "-o", str(tmp_path / "x.csv")]
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # not so in the background
    code = f"{heeded}; from plausible.cli import main; main({arguments!r})"
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        patience = time.monotonic() + 60
        while not any(path.stat().st_size for path in tmp_path.iterdir()) and time.monotonic() < patience:
            time.sleep(0.05)
        assert [path.name for path in tmp_path.iterdir()] == [f".x.csv.{running.pid}.partial"]
        running.send_signal(signal.SIGINT)
        printed, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, printed, errors) == (130, b"", b"plausible: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_written_anew_keeps_its_mode(plausible, rows, tmp_path):
    """The answers of an earlier run are replaced as a whole."""
    answers = tmp_path / "answers.csv"
    answers.write_text("of an earlier run")
    answers.chmod(0o640)
    assert plausible("predict", "asia", str(rows), "lung", str(answers))[0] == 0
    assert answers.read_text().startswith("smoke,xray,P(lung=yes),P(lung=no),predicted lung\nyes,no,")
    assert answers.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_named_as_it_was_given(plausible, rows, tmp_path, monkeypatch):
    """Not by the name of the file beside it."""
    monkeypatch.chdir(tmp_path)
    for target in ("nowhere/answers.csv", "nowhere/answers.parquet"):
        code, text, errors = plausible("predict", "asia", str(rows), "lung", target)
        assert (code, text) == (2, "")
        folder = tmp_path / "nowhere"
        assert errors == f"plausible: No such file: '{target}'. There is no folder '{folder}'.\n"


def test_the_bar_is_drawn_on_standard_error_if_asked_for(plausible, rows, tmp_path):
    """By default only a terminal gets one."""
    target = tmp_path / "answers.csv"
    for arguments in (("predict", "asia", str(rows), "lung", str(target)), ("sample", "asia", "-o", str(target))):
        _, text, errors = plausible(*arguments)
        assert errors == ""
        assert plausible(*arguments, "--no-progress") == (0, text, "")
        code, printed, errors = plausible(*arguments, "--progress")
        assert (code, printed) == (0, text)
        assert "100%" in errors
