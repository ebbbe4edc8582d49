"""What commands print: text for people, or one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plausible.factors import Factor


def picked(record: object, names: str) -> dict[str, Any]:
    """Attributes of a record for a JSON document; key=attribute where the two are called differently."""
    pairs = (name.partition("=") for name in names.split())
    return {key: attrgetter(attribute or key)(record) for key, _, attribute in pairs}


def json_text(document: Mapping[str, Any]) -> str:
    """The document as JSON; what that does not know is written as text."""
    return json.dumps(
        document, indent=2, default=lambda value: dict(value) if isinstance(value, Mapping) else str(value)
    )


def print_json(document: Mapping[str, Any], *, error: bool = False) -> None:
    """The document on standard output, or on standard error."""
    (sys.stderr if error else sys.stdout).write(json_text(document) + "\n")


def print_line(text: str = "", *, error: bool = False) -> None:
    """A line of plain text."""
    stream = sys.stderr if error else sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")


def print_answer(text: str, document: Mapping[str, Any], *, as_json: bool, error: bool = False) -> None:
    """The answer as text, or as a JSON document."""
    if as_json:
        print_json(document, error=error)
    else:
        print_line(text, error=error)


def factor_document(factor: Factor) -> dict[str, Any]:
    """A factor as JSON holds it: the variables with their states, and the numbers nested in that order."""
    return {"scope": {one.name: one.states for one in factor.scope}, "values": factor.values.tolist()}
