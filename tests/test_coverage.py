"""docs/coverage.md says what the project implements, and says it truly."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\|\s*[a-z-]+\.md\s*\|", line)
]


@pytest.mark.parametrize("page", sorted({row[0] for row in ROWS}))
def test_every_covered_item_names_things_that_exist(page):
    """Each public name can be imported, and each test is defined in the file that the row names."""
    wrong = []
    for item, _, names, tests in (row[1:] for row in ROWS if row[0] == page):
        located = re.findall(r"`([^`]+)`", tests)
        wrong += [] if located else [f"{item} names no test"]
        wrong += [f"{item}: {name} is no name" for name in re.findall(r"`([^`]+)`", names) if not _is_there(name)]
        wrong += [f"{item}: {test} is no test" for test in located if not _is_test(*test.split("::"))]
    assert wrong == []


def _is_there(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), -1, -1):
        try:
            thing: object = import_module(".".join(["plausible", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            thing = getattr(thing, attribute, None)
        return thing is not None
    return False


@cache
def _text(file: str) -> str:
    path = ROOT / "tests" / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _is_test(file: str, function: str) -> bool:
    return f"def {function}(" in _text(file)


def test_no_item_stands_twice():
    """One row an item."""
    items = [(row[0], row[1]) for row in ROWS]
    assert len(items) == len(set(items))
