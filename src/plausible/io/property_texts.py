"""Notes as texts `key = value`: the properties of BIF and XMLBIF.

What such a text can't say literally goes into the property `plausible_notes`, as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from plausible.io.scanner import merged
from plausible.models import Notes, VariableNotes

_EXACT: Final = "plausible_notes"
_RESERVED: Final = ("label", "description", "reference", "position")
_POSITION: Final = re.compile(r"\(\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*\)")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a format writes the texts."""

    is_literal: Callable[[str], bool]  # whether a text without blanks at its ends can stand there as it is
    json_text: Callable[[object], str]  # a value as JSON that can stand there

    def says(self, text: str) -> bool:
        """Whether the reader takes the text for just this one."""
        return text == text.strip() and self.is_literal(text)

    def says_key(self, key: str) -> bool:
        """Whether a property with this key comes back as the property that it is."""
        is_reserved = key in _RESERVED or key.startswith("plausible_")
        return bool(key) and self.says(key) and not is_reserved and not re.search('[="]', key)


def properties_of(texts: Iterable[str]) -> dict[str, str]:
    """Key -> value of `key = value` texts; a key that is repeated has its values on lines of their own."""
    parts = (text.partition("=") for text in texts)
    return merged((key.strip(), value.strip()) for key, _, value in parts)


def network_notes(name: str, properties: dict[str, str]) -> Notes:
    """The notes on a network of this name; `properties` is used up."""
    exact = _take_exact(properties, {"name", "description", "reference"})
    notes = Notes(name, properties.pop("description", ""), properties.pop("reference", ""))
    joined = MappingProxyType({**properties, **exact.pop("properties", {})})
    return replace(notes, properties=joined, **exact)


def variable_notes(properties: dict[str, str]) -> VariableNotes:
    """The notes on a variable; `properties` is used up."""
    if not properties:
        return VariableNotes()
    exact = _take_exact(properties, {"label", "description"})
    position = None
    if match := _POSITION.fullmatch(properties.get("position", "")):
        with suppress(ValueError):
            position = float(match[1]), float(match[2])
            del properties["position"]
    notes = VariableNotes(properties.pop("label", ""), properties.pop("description", ""), position)
    joined = MappingProxyType({**properties, **exact.pop("properties", {})})
    return replace(notes, properties=joined, **exact)


def _take_exact(properties: dict[str, str], allowed: set[str]) -> dict[str, Any]:
    """What a text could not say literally; taken out of `properties`, where it is sound."""
    try:
        listed = json.loads(properties.get(_EXACT, ""))
        notes, more = dict(listed["notes"]), dict(listed["properties"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return {}
    texts = [*more.values(), *notes.values()]
    if not all(isinstance(text, str) for text in texts) or not notes.keys() <= allowed:
        return {}
    del properties[_EXACT]
    return {**notes, "properties": more}


def network_texts(notes: Notes, written_name: str, dialect: Dialect) -> list[str]:
    """The texts for a network, whose name is written elsewhere as far as it can be."""
    unsaid = {} if notes.name == written_name else {"name": notes.name}
    return _texts({"description": notes.description, "reference": notes.reference}, notes.properties, unsaid, dialect)


def variable_texts(notes: VariableNotes, dialect: Dialect) -> list[str]:
    """The texts for a variable."""
    whole = [int(one) if float(one).is_integer() else float(one) for one in notes.position or ()]
    position = [f"position = ({whole[0]!r}, {whole[1]!r})"] if whole else []
    return position + _texts({"label": notes.label, "description": notes.description}, notes.properties, {}, dialect)


def _texts(
    notes: Mapping[str, str], properties: Mapping[str, str], unsaid: Mapping[str, str], dialect: Dialect
) -> list[str]:
    """`key = value` for what can be said so, and one text with JSON for the rest."""
    said = {key: text for key, text in notes.items() if text and dialect.says(text)}
    literal = {key: value for key, value in properties.items() if dialect.says_key(key) and dialect.says(value)}
    exact = {
        "notes": {**unsaid, **{key: text for key, text in notes.items() if text and key not in said}},
        "properties": {key: value for key, value in properties.items() if key not in literal},
    }
    texts = [f"{key} = {value}".rstrip() for key, value in {**said, **literal}.items()]
    return [*texts, f"{_EXACT} = {dialect.json_text(exact)}"] if any(exact.values()) else texts
