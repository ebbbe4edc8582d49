"""Type checkers accept the everyday calls, know what comes out of them, and report mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVERYDAY, MISTAKES = ROOT / "tests" / "typing" / "everyday.py", ROOT / "tests" / "typing" / "mistakes.py"

#: What a checker reports: lines of `everyday.py`, lines of `mistakes.py`.
Reported = tuple[dict[int, str], dict[int, str]]


def _run(*command: str) -> str:
    environment = os.environ | {"MYPYPATH": "src"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return done.stdout


def _pyright() -> Reported:
    report = json.loads(_run("pyright", "--outputjson", "--project", "pyproject.toml", "--pythonpath", sys.executable))
    errors = [error for error in report["generalDiagnostics"] if error["severity"] == "error"]
    assert report["summary"]["filesAnalyzed"] == 2
    assert {Path(error["file"]) for error in errors} <= {EVERYDAY, MISTAKES}
    return tuple(
        {error["range"]["start"]["line"] + 1: error["message"] for error in errors if Path(error["file"]) == file}
        for file in (EVERYDAY, MISTAKES)
    )


def _mypy() -> Reported:
    # Errors are looked for in these two files only, which makes it ten times faster; hence a cache of its own.
    options = ["--output=json", "--follow-imports=silent", "--cache-dir=.mypy_cache/types"]
    lines = _run("mypy", *options, str(EVERYDAY), str(MISTAKES)).splitlines()
    errors = [error for error in map(json.loads, lines) if error["severity"] == "error"]
    return tuple(
        {error["line"]: error["message"] for error in errors if (ROOT / error["file"]) == file}
        for file in (EVERYDAY, MISTAKES)
    )


@pytest.mark.parametrize("checker", [_pyright, pytest.param(_mypy, marks=pytest.mark.slow)])
def test_everyday_calls_are_known_and_mistakes_are_reported(checker):
    """With all checks on: nothing in the one file, exactly the lines that say `# wrong` in the other."""
    marked = {
        number
        for number, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), start=1)
        if line.endswith("# wrong")
    }
    everyday, mistakes = checker()
    assert everyday == {}
    assert set(mistakes) == marked, mistakes


def test_the_everyday_calls_run(tmp_path):
    """What type checkers accept is also what works."""
    spec = spec_from_file_location("everyday", EVERYDAY)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.everyday(str(tmp_path))
