"""What the tour of decisions shows in the shell is what the program prints."""

from __future__ import annotations

import doctest
import io
import json
import re
import shlex
from pathlib import Path

from plausible.utilities import resume_session

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def shell_commands():
    """(command, what it prints) for each line behind a $ in the page's console blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, _, printed = part.partition("\n")
            yield command, printed


def test_the_shell_prints_what_the_tour_of_decisions_shows(plausible, tmp_path, monkeypatch):
    """In one folder, one after the other: `cat` shows a file that is there, `printf` answers questions."""
    monkeypatch.chdir(tmp_path)
    checker, seen = doctest.OutputChecker(), set()
    for command, printed in shell_commands():
        if command.startswith("cat "):
            Path(command.removeprefix("cat ")).write_text(printed)
            continue
        said, _, piped = command.rpartition(" | ")
        answers = shlex.split(said)[1].encode().decode("unicode_escape") if said else ""
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        name, *arguments = shlex.split(piped)
        assert name == "plausible"
        code, text, errors = plausible(*arguments)
        assert (code, errors) == (0, ""), command
        assert checker.check_output(printed, text, OPTIONS), f"{command}\n{text}"
        seen.add(arguments[0])
    assert seen >= {"decide", "voi", "troubleshoot", "elicit"}
    saved = resume_session(json.loads(Path("answers.json").read_text()))
    assert saved.result["blind"] == 0.6875
