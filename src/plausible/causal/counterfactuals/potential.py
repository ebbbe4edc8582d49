"""Potential responses: a variable as it would be under an intervention."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from plausible.base.display import html_of_print
from plausible.errors import InvalidArgument
from plausible.models.interventions import settings_of
from plausible.variables import State

__all__ = ["Potential", "Setting"]

#: What an intervention sets a variable to: a state, or what the variable would be in another world.
Setting: TypeAlias = "State | Potential"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Potential:
    """Y_x: what Y would be, had x been done; without an intervention, what Y is.

    Parameters
    ----------
    variable
        The name of Y.
    do
        Name -> a state; or, for nested counterfactuals, the `Potential` of the same variable in another world.

    Examples
    --------
    >>> print(Potential("Y", {"X": 1}))
    Y[X=1]
    >>> print(Potential("Y", {"X": 1, "M": Potential("M", {"X": 0})}))
    Y[M=M[X=0], X=1]
    """

    variable: str
    #: What is set, by name.
    settings: tuple[tuple[str, Setting], ...]

    def __init__(self, variable: str, do: Mapping[str, Setting] | None = None) -> None:
        settings = settings_of(do)
        if not isinstance(variable, str) or not isinstance(settings, Mapping):
            raise InvalidArgument(f"A potential response is Potential('Y', {{'X': 1}}), not of {variable!r}, {do!r}.")
        for name, value in settings.items():
            if not isinstance(value, Hashable):
                raise InvalidArgument(f"{name!r} is set to {value!r}: an intervention sets it to one state.")
            if isinstance(value, Potential) and value.variable != name:
                raise InvalidArgument(
                    f"{name!r} is set to {value}: it can be set to what {name!r} itself would be in another world only."
                )
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "settings", tuple(sorted(settings.items(), key=lambda pair: pair[0])))

    @property
    def do(self) -> dict[str, Setting]:
        """The intervention as a mapping."""
        return dict(self.settings)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.settings)
        return f"{self.variable}[{inside}]" if inside else self.variable

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"Potential({self.variable!r}, {self.do!r})" if self.settings else f"Potential({self.variable!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: frozen slots can't be set from outside."""
        return Potential, (self.variable, self.do)
