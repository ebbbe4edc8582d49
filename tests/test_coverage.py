"""docs/coverage.md says what the project implements, and says it truly."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\|\s*[a-z-]+\.md\s*\|", line)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_every_covered_item_names_things_that_exist(row):
    """Each public name can be imported, and each test is defined in the file that the row names."""
    _, _, _, names, tests = row
    for name in re.findall(r"`([^`]+)`", names):
        _resolve(name)
    located = re.findall(r"`([^`]+)`", tests)
    assert located, "the row names no test"
    for test in located:
        file, _, function = test.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {function}(" in text, f"{test} is not there"


def _resolve(name: str) -> object:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(["plausible", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            thing = getattr(thing, attribute)
        return thing
    thing = import_module("plausible")
    for attribute in parts:
        thing = getattr(thing, attribute)
    return thing


def test_no_item_stands_twice():
    """One row an item."""
    items = [(row[0], row[1]) for row in ROWS]
    assert len(items) == len(set(items))
