"""What commands print: text for people, or one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plausible.factors import Factor
    from plausible.variables import Assignment


#: The option that every command has.
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def json_text(document: Mapping[str, Any]) -> str:
    """The document as JSON; what that does not know is written as text."""
    return json.dumps(document, indent=2, default=str)


def print_json(document: Mapping[str, Any], *, error: bool = False) -> None:
    """The document on standard output, or on standard error."""
    (sys.stderr if error else sys.stdout).write(json_text(document) + "\n")


def print_answer(text: str, document: Mapping[str, Any], *, as_json: bool) -> None:
    """The answer as text, or as a JSON document."""
    if as_json:
        print_json(document)
    else:
        print_line(text)


def factor_document(factor: Factor) -> dict[str, Any]:
    """A factor as JSON holds it: the variables with their states, and the numbers nested in that order."""
    scope = {variable.name: list(variable.states) for variable in factor.scope}
    return {"scope": scope, "values": factor.values.tolist()}


def print_line(text: str = "", *, error: bool = False) -> None:
    """A line of plain text."""
    stream = sys.stderr if error else sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")


def print_assignment(best: Assignment, *, as_json: bool, also: Mapping[str, Any] | None = None) -> None:
    """A state for each variable, and the log-probability of them all; a JSON document has what else is given."""
    if as_json:
        numbers = {"log_probability": best.log_probability}
        if best.log_probability is None and best.log_product is not None:
            numbers["log_product"] = best.log_product
        print_json({"states": dict(best), **numbers, **(also or {})})
        return
    width = max(map(len, best), default=0)
    for name, state in best.items():
        print_line(f"{name.ljust(width)}  {state}")
    print_line(_told(best))


def _told(best: Assignment) -> str:
    if best.log_probability is not None:
        return f"log-probability {best.log_probability:.6g}"
    known = "" if best.log_product is None else f"; logarithm of the product of the factors {best.log_product:.6g}"
    return f"log-probability unknown{known}"
