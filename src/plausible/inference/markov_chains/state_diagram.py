"""State-transition diagrams as text: an arrow for each transition, with its probability."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plausible.errors import InvalidModel
from plausible.variables import State

_STATEMENT = re.compile(r"\s*(?P<source>.+?)\s*->\s*(?P<target>.+?)\s*(?::\s*(?P<number>[^:\s]+)\s*)?", re.DOTALL)


def parse_diagram(text: str) -> dict[State, dict[State, float]]:
    """State -> next state -> probability, from "rain -> rain: 0.7; rain -> dry: 0.3; ...".

    Arrows without a number share what the others of their state leave.

    >>> parse_diagram("rain -> rain: 0.7; rain -> dry; dry -> dry: 1")
    {'rain': {'rain': 0.7, 'dry': 0.3}, 'dry': {'dry': 1.0}}
    """
    found: dict[State, dict[State, float | None]] = {}
    for statement in filter(str.strip, re.split(r"[;\n]", text)):
        match = _STATEMENT.fullmatch(statement)
        if match is None or "->" in match["target"]:
            raise InvalidModel(f"{statement.strip()!r} is no transition: write each as 'rain -> dry: 0.3'.")
        row = found.setdefault(match["source"], {})
        if match["target"] in row:
            raise InvalidModel(f"The diagram has {match['source']} -> {match['target']} twice.")
        row[match["target"]] = None if match["number"] is None else _probability(match["number"], statement)
    for source, target in ((source, target) for source, row in found.items() for target in row):
        if target not in found:
            raise InvalidModel(
                f"No arrow leads away from {target!r}, to which {source!r} goes: a state that is never left goes to "
                f"itself, '{target} -> {target}'."
            )
    return {source: _shared(row) for source, row in found.items()}


def format_diagram(diagram: Mapping[State, Mapping[State, float]]) -> str:
    """The inverse of `parse_diagram`, for states that are texts.

    >>> format_diagram({"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"dry": 1.0}})
    'rain -> rain: 0.7; rain -> dry: 0.3; dry -> dry: 1.0'
    """
    return "; ".join(
        f"{source} -> {target}: {number!r}" for source, row in diagram.items() for target, number in row.items()
    )


def _probability(text: str, statement: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise InvalidModel(f"{statement.strip()!r}: {text} is no probability, which is a number from 0 to 1.")
    return number


def _shared(row: Mapping[State, float | None]) -> dict[State, float]:
    """What is left goes in equal shares to the arrows without a number."""
    told = [number for number in row.values() if number is not None]
    rest = round(1.0 - sum(told), 12)
    share = max(rest, 0.0) / max(len(row) - len(told), 1)
    return {target: share if number is None else number for target, number in row.items()}
