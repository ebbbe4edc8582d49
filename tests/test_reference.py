"""The reference page lists all that is public."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import plausible

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def maker():
    """The script that writes the page."""
    spec = spec_from_file_location("make_reference", DOCS / "make_reference.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("make_reference", None)


def test_the_page_is_what_the_code_says(maker):
    """Writing the page again changes nothing."""
    written = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert maker.reference() == written, "docs/reference.md is out of date: run python docs/make_reference.py"


def test_every_public_name_has_its_line(maker):
    """Each name of each room stands on the page once, under its short name if it has one."""
    lines = [line.split("`")[1] for line in maker.reference().splitlines() if line.startswith("- `")]
    expected = [
        f"pb.{name}" if getattr(plausible, name, None) is getattr(module, name) else f"pb.{room}.{name}"
        for room in maker.ROOMS
        for module in [import_module(f"plausible.{room}")]
        for name in module.__all__
    ]
    assert sorted(lines) == sorted(expected)
    rooms = set(maker.ROOMS)
    assert {f"pb.{name}" for name in plausible.__all__ if name not in rooms | {"__version__"}} <= set(lines)


def test_every_room_has_a_section(maker):
    """A room of the top level can't be forgotten."""
    rooms = {name for name in plausible.__all__ if type(getattr(plausible, name)) is type(sys)}
    assert rooms == set(maker.ROOMS)
