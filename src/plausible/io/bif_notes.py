"""Notes as BIF's properties: `property key = value;`, where the value ends at the first semicolon.

What such a line can't say literally goes into the property `plausible_notes`, as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from plausible.io.scanner import merged
from plausible.models import Notes, VariableNotes

__all__ = [
    "PLACEHOLDER",
    "json_text",
    "legal",
    "network_notes",
    "network_properties",
    "properties_of",
    "unquoted",
    "variable_notes",
    "variable_properties",
]

#: What programs write where a network has no name.
PLACEHOLDER: Final = "unknown"

_EXACT: Final = "plausible_notes"
_RESERVED: Final = ("label", "description", "reference", "position")
_POSITION: Final = re.compile(r"\(\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*\)")
_NOT_QUOTABLE: Final = re.compile('["\x00-\x1f\x7f-\x9f\u2028\u2029]')


def legal(name: str) -> str:
    """The name with what can't stand between quotation marks replaced.

    >>> legal('say "hi"')
    'say _hi_'
    """
    return _NOT_QUOTABLE.sub("_", name)


# --- reading ---


def unquoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' and text.count('"') == 2 else text


def properties_of(texts: Iterable[str]) -> dict[str, str]:
    """Key -> value of `key = value` texts; a key that is repeated has its values on lines of their own."""
    parts = (unquoted(text.strip()).partition("=") for text in texts)
    return merged((key.strip(), value.strip()) for key, _, value in parts)


def network_notes(head: str, properties: dict[str, str]) -> Notes:
    """The notes in a network block: its name and its properties."""
    exact = _take_exact(properties, {"name", "description", "reference"})
    name = "" if head == PLACEHOLDER else unquoted(head)
    notes = Notes(name, properties.pop("description", ""), properties.pop("reference", ""))
    return replace(notes, properties=MappingProxyType(properties), **exact)


def variable_notes(properties: dict[str, str]) -> VariableNotes:
    """The notes in a variable block."""
    if not properties:
        return VariableNotes()
    exact = _take_exact(properties, {"label", "description"})
    position = _read_position(properties.get("position", ""))
    if position is not None:
        del properties["position"]
    notes = VariableNotes(properties.pop("label", ""), properties.pop("description", ""), position)
    return replace(notes, properties=MappingProxyType(properties), **exact)


def _read_position(text: str) -> tuple[float, float] | None:
    match = _POSITION.fullmatch(text)
    try:
        return (float(match[1]), float(match[2])) if match else None
    except ValueError:
        return None


def _take_exact(properties: dict[str, str], allowed: set[str]) -> dict[str, Any]:
    """What a property could not say literally; taken out of `properties`, where it is sound."""
    try:
        listed = json.loads(properties.get(_EXACT, ""))
        notes, more = dict(listed["notes"]), dict(listed["properties"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return {}
    texts = [*more.values(), *notes.values()]
    if not all(isinstance(text, str) for text in texts) or not notes.keys() <= allowed:
        return {}
    del properties[_EXACT]
    properties |= more
    return notes


# --- writing ---


def network_properties(notes: Notes) -> list[str]:
    """The property lines of a network, whose name stands in the head of its block as far as it can."""
    unsaid = {} if notes.name == legal(notes.name) else {"name": notes.name}
    return _lines({"description": notes.description, "reference": notes.reference}, notes.properties, unsaid)


def variable_properties(notes: VariableNotes) -> list[str]:
    """The property lines of a variable."""
    position = [] if notes.position is None else [f"position = ({notes.position[0]!r}, {notes.position[1]!r})"]
    return position + _lines({"label": notes.label, "description": notes.description}, notes.properties, {})


def _lines(texts: Mapping[str, str], properties: Mapping[str, str], unsaid: Mapping[str, str]) -> list[str]:
    """`key = value` for what can be said so, and one line of JSON for the rest."""
    said = {key: text for key, text in texts.items() if text and _is_literal(text)}
    literal = {key: value for key, value in properties.items() if _is_literal_key(key) and _is_literal(value)}
    exact = {
        "notes": {**unsaid, **{key: text for key, text in texts.items() if text and key not in said}},
        "properties": {key: value for key, value in properties.items() if key not in literal},
    }
    lines = [f"{key} = {value}" for key, value in {**said, **literal}.items()]
    return [*lines, f"{_EXACT} = {json_text(json.dumps(exact))}"] if any(exact.values()) else lines


def json_text(text: str) -> str:
    """JSON without the semicolon, which ends a property: inside of strings it can be escaped."""
    return text.replace(";", "\\u003b")


def _is_literal(value: str) -> bool:
    return value == value.strip() and not re.search("[;\x00-\x1f\x7f-\x9f\u2028\u2029]", value)


def _is_literal_key(key: str) -> bool:
    is_reserved = key in _RESERVED or key.startswith("plausible_")
    return bool(key) and _is_literal(key) and not is_reserved and not re.search('[="]', key)
