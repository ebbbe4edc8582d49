"""Records: what calls hand back, the answer and how it was got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

from plausible.base.display import html_of_print, repr_of_print

Class = TypeVar("Class", bound=type)


@overload
def record(cls: Class, /) -> Class: ...
@overload
def record(*, eq: bool) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """A frozen dataclass with slots which shows, at a prompt and in a notebook, what its `__str__` prints.

    A class without one is refused: the prompt would have nothing to show.

    Parameters
    ----------
    eq
        Whether records with equal fields are equal; not where fields are arrays.

    Examples
    --------
    >>> @record
    ... class Reading:
    ...     degrees: float
    ...     def __str__(self) -> str:
    ...         return f"{self.degrees} degrees"
    >>> Reading(20.0)
    <Reading: 20.0 degrees>
    """
    return _made(cls, eq) if cls is not None else lambda decorated: _made(decorated, eq)


def _made(cls: Any, eq: bool) -> Any:
    if cls.__str__ is object.__str__:
        raise TypeError(f"A record shows what it prints: give {cls.__name__} a __str__, or make it a plain dataclass.")
    made: Any = dataclass(frozen=True, slots=True, eq=eq, repr=False)(cls)
    made.__repr__, made._repr_html_ = repr_of_print, html_of_print
    return made
