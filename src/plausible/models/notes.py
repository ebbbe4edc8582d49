"""Notes on a model: what people write beside the numbers, carried from file to file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

__all__ = ["Notes", "VariableNotes"]


@dataclass(frozen=True, slots=True)
class VariableNotes:
    """Notes on one variable: a longer label, a description, where it is drawn, and properties as text."""

    label: str = ""
    description: str = ""
    position: tuple[float, float] | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a model; they never change an answer and don't count in equality of models.

    >>> notes = Notes(name="Asia").with_variable("smoke", VariableNotes(label="Smoker?"))
    >>> notes.of("smoke").label
    'Smoker?'
    """

    name: str = ""
    description: str = ""
    reference: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    variables: Mapping[str, VariableNotes] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, name: str) -> VariableNotes:
        """The notes on a variable; empty ones where there are none."""
        return self.variables.get(name, VariableNotes())

    def with_variable(self, name: str, notes: VariableNotes) -> Notes:
        """These notes with those on one variable replaced."""
        return replace(self, variables=MappingProxyType({**self.variables, name: notes}))
