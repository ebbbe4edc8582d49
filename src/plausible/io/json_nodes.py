"""Variables, notes and numbers in the library's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions import InfluenceDiagram
from plausible.io.assembly import Assembly
from plausible.io.identifiers import from_plain, to_plain
from plausible.io.json_values import JSONValue
from plausible.models import VariableNotes
from plausible.variables import State, Variable

#: The fields of the notes on a variable or a utility.
NOTES: Final = ("label", "description", "position", "properties")


# --- reading ---


def read_variable(value: JSONValue) -> tuple[str, list[State] | None, VariableNotes]:
    """Name, states (None where it is continuous) and notes of a variable."""
    fields = value.fields(("name",), ("states", "continuous", *NOTES))
    name = fields["name"].text()
    is_continuous = "continuous" in fields and fields["continuous"].value is True
    if is_continuous == ("states" in fields):
        raise value.error(f'{name!r} needs either "states": [...] or "continuous": true.')
    states = None if is_continuous else [_state(item) for item in fields["states"].items()]
    return name, states, read_notes(fields)


def read_notes(fields: Mapping[str, JSONValue]) -> VariableNotes:
    """The notes among the fields of a variable or a utility."""
    texts = {key: fields[key].text() for key in ("label", "description") if key in fields}
    position = _position(fields["position"]) if "position" in fields else None
    properties = fields["properties"].texts() if "properties" in fields else {}
    return VariableNotes(**texts, position=position, properties=properties)


def _state(item: JSONValue) -> State:
    try:
        return from_plain(item.value)
    except (TypeError, RecursionError):
        raise item.error("A state is text, a number, true, false, null, or a list of these.") from None


def _position(value: JSONValue) -> tuple[float, float]:
    coordinates = read_numbers(value)
    if coordinates.size != 2 or not np.isfinite(coordinates).all():
        raise value.error("A position is a list of two numbers.")
    return float(coordinates[0]), float(coordinates[1])


def read_numbers(value: JSONValue) -> Floats:
    """A list of numbers, without lists inside."""
    if not isinstance(value.value, list) or not set(map(type, value.value)) <= {int, float}:
        for item in value.items():
            item.check_number()
    try:
        return np.array(value.value, dtype=np.float64)
    except OverflowError:
        raise value.error("A number is too large.") from None


# --- writing ---


def said(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value}


def variable_record(variable: Variable, notes: VariableNotes) -> dict[str, Any]:
    """A variable and the notes on it."""
    kind: dict[str, Any] = (
        {"continuous": True}
        if variable.is_continuous
        else {"states": [to_plain(state, variable.name) for state in variable.states]}
    )
    return {"name": variable.name, **kind, **note_fields(notes)}


def note_fields(notes: VariableNotes) -> dict[str, Any]:
    """The notes on a variable or a utility as fields of its record."""
    position = None if notes.position is None else [float(coordinate) for coordinate in notes.position]
    texts = said(label=notes.label, description=notes.description, position=position)
    return {**texts, **said(properties=dict(notes.properties))}


def add_decisions(assembly: Assembly, decisions: JSONValue) -> None:
    """Which of the variables are decisions, and what each sees."""
    for value in decisions.items():
        fields = value.fields(("variable",), ("sees",))
        name = fields["variable"].text()
        assembly.make_decision(name, fields["variable"].place)
        seen = fields["sees"].items() if "sees" in fields else []
        assembly.add_information(name, [item.text() for item in seen], value.place)


def add_utilities(assembly: Assembly, utilities: JSONValue) -> None:
    """The utilities with their numbers."""
    for value in utilities.items():
        fields = value.fields(("name", "values"), ("parents", *NOTES))
        name = fields["name"].text()
        assembly.add_utility(name, value.place, read_notes(fields))
        parents = [item.text() for item in fields["parents"].items()] if "parents" in fields else []
        assembly.add_utility_values(name, parents, read_numbers(fields["values"]), fields["values"].place)


def decision_records(diagram: InfluenceDiagram) -> list[dict[str, Any]]:
    """Each decision and what it sees."""
    return [{"variable": name, "sees": list(decision.sees)} for name, decision in diagram.decisions.items()]


def utility_records(diagram: InfluenceDiagram) -> list[dict[str, Any]]:
    """Each utility with its numbers in a row, the last parent's state changing fastest."""
    return [
        {
            "name": name,
            "parents": list(factor.names),
            "values": factor.flat.tolist(),
            **note_fields(diagram.notes.of(name)),
        }
        for name, factor in diagram.utility_factors.items()
    ]
