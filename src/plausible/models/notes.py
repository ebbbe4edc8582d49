"""Notes on models and their variables, which never change an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from plausible.base import FrozenMapping


@dataclass(frozen=True, slots=True)
class VariableNotes:
    """Notes on one variable: a longer label, a description, its position, and properties as text."""

    label: str = ""
    description: str = ""
    position: tuple[float, float] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "properties", FrozenMapping(self.properties))


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a model. They never affect an answer or whether two models are equal.

    >>> notes = Notes(name="Asia").with_variable("smoke", VariableNotes(label="Smoker?"))
    >>> notes.of("smoke").label
    'Smoker?'
    """

    name: str = ""
    description: str = ""
    reference: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, VariableNotes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "properties", FrozenMapping(self.properties))
        object.__setattr__(self, "variables", FrozenMapping(self.variables))

    def of(self, name: str) -> VariableNotes:
        """The notes on a variable; empty ones where there are none."""
        return self.variables.get(name, VariableNotes())

    def with_variable(self, name: str, notes: VariableNotes) -> Notes:
        """These notes with those on one variable replaced."""
        return replace(self, variables={**self.variables, name: notes})

    def renamed(self, names: Mapping[str, str]) -> Notes:
        """These notes with some variables renamed."""
        return replace(self, variables={names.get(name, name): notes for name, notes in self.variables.items()})


#: The notes of models that have none.
NO_NOTES = Notes()
