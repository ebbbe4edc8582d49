"""Decisions and utilities in the library's own format."""

from __future__ import annotations

from typing import Any

from plausible.decisions import InfluenceDiagram
from plausible.io.assembly import Assembly
from plausible.io.json_nodes import NOTES, note_fields, read_notes, read_numbers
from plausible.io.json_values import JSONValue

__all__ = ["add_decisions", "add_utilities", "decision_records", "utility_records"]


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
