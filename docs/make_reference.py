"""Write docs/reference.md: every public name with the first sentence about it, grouped by what it is for.

Run it with `python docs/make_reference.py` after a public name or its docstring has changed. A room of the library is a
section, and each file of the room, which holds one idea, is a group under the first line of the file's docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import plausible

PAGE = Path(__file__).with_name("reference.md")

#: The rooms in the order in which one meets them, and what each is for.
ROOMS = {
    "variables": "Variables, states and evidence",
    "graphs": "Graphs, and what follows from structure alone",
    "factors": "Factors: tables, Gaussians, and what can be computed from them",
    "cpds": "Conditional distributions",
    "models": "Models",
    "inference": "Inference on sets of factors",
    "data": "Data",
    "learn": "Learning",
    "causal": "Causes",
    "decisions": "Decisions",
    "io": "Files",
    "examples": "Examples",
    "errors": "Errors and warnings",
}

INTRODUCTION = """# Reference

Every public name, grouped by what it is for; `help(name)` tells the rest. Names written `pb.X` are at the top level.
The [guide](guide.md) shows the everyday ones at work, the [glossary](glossary.md) explains the words. This page is
written by `python docs/make_reference.py`.
"""


def reference() -> str:
    """The text of the page."""
    sections = [INTRODUCTION]
    for room, title in ROOMS.items():
        sections.append(f"## {title}: `pb.{room}`\n")
        for heading, lines in sorted(_groups(room).items()):
            sections.append("\n".join([f"**{heading}**\n", *sorted(lines, key=str.casefold)]) + "\n")
    return "\n".join(sections)


def _groups(room: str) -> dict[str, list[str]]:
    """For each file of a room, by what its docstring says it is for, the lines of its public names."""
    module = import_module(f"plausible.{room}")
    groups: dict[str, list[str]] = {}
    for name in module.__all__:
        thing = getattr(module, name)
        groups.setdefault(_heading(thing, room), []).append(_line(room, name, thing))
    return groups


def _heading(thing: Any, room: str) -> str:
    home = getattr(inspect.getmodule(getattr(thing, "__code__", thing)), "__name__", "")
    if not _is_described(thing):
        home = f"plausible.{room}"
    return _first_paragraph(inspect.getdoc(import_module(home)) or "").removesuffix(".")


def _line(room: str, name: str, thing: Any) -> str:
    is_short = getattr(plausible, name, None) is thing and name in plausible.__all__
    full = f"pb.{name}" if is_short else f"pb.{room}.{name}"
    described = _first_paragraph(inspect.getdoc(thing) or "") if _is_described(thing) else _kind(thing)
    return f"- `{full}`: {described}"


def _is_described(thing: Any) -> bool:
    """Whether this is a class or a function of the library; other public names are data and aliases of types."""
    is_own = str(getattr(thing, "__module__", "")).startswith("plausible")
    return is_own and (inspect.isclass(thing) or inspect.isroutine(thing))


def _kind(thing: Any) -> str:
    if isinstance(thing, Mapping):
        return f"A mapping of names: {', '.join(f'`{name}`' for name in thing)}."
    return f"A {type(thing).__name__}." if isinstance(thing, (tuple, list, frozenset)) else "A type, for annotations."


def _first_paragraph(text: str) -> str:
    return re.sub(r"\s+", " ", text.split("\n\n")[0]).strip()


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
