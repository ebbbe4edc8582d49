"""The commands that the README and the page of the command line show can be pasted, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from plausible.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shell(plausible, tmp_path, monkeypatch):
    """Run a line in an empty folder, as a shell would, but in this process; gives what the last command prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("plausible.cli.compile._compiled", lambda jobs, _: iter(jobs))  # which would take minutes

    def run(line: str) -> str:
        text = ""
        for is_pipe, words in groupby(shlex.split(line), key="|".__eq__):
            if not is_pipe:
                text = one(list(words), text, line)
        return text

    def one(words: list[str], piped: str, line: str) -> str:
        if words[0] == "printf":  # its only use: lines of a file
            _, form, *lines, arrow, file = words
            assert (form, arrow) == (r"%s\n", ">"), line
            Path(file).write_text("\n".join(lines) + "\n")
            return ""
        assert words[0] == "plausible", line
        code, text, errors = plausible(*words[1:], piped=piped.encode())
        assert (code, "plausible:" in errors) == (0, False), f"{line}\n{errors}"
        assert text, line
        return text

    return run


def test_the_shell_commands_of_the_readme_run_in_order(shell):
    """Each file that a command reads was written by one before it."""
    lines = _shown_by("README.md")
    assert len(lines) > 5
    for line in lines:
        shell(line)


def test_the_page_of_the_command_line_runs_and_names_every_command(shell):
    """Line after line; pipes to other programs in a shell."""
    shown = _shown_by("docs/command_line.md")
    assert {line.split()[1] for line in shown if line.startswith("plausible")} == set(COMMANDS)
    for line in shown:
        if {"head", "gzip"} & set(shlex.split(line)):
            _run_in_bash(line)
        else:
            shell(line)


def _shown_by(page: str) -> list[str]:
    """The lines of a page's boxes for the shell."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [line for box in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S) for line in box.splitlines()]


def _run_in_bash(line: str) -> None:
    """Run a pipeline, which must succeed, with nothing on standard error that begins as a mistake does."""
    setting = f'plausible() {{ {shlex.quote(sys.executable)} -m plausible "$@"; }}'
    done = subprocess.run(["bash", "-c", f"{setting}\n{line}"], capture_output=True, check=False)
    assert done.returncode == 0, line
    assert b"plausible:" not in done.stderr
    assert b"Traceback" not in done.stderr
