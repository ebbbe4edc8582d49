"""Results: what calls hand back, the answer and how it was got."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

from plausible.base.display import html_of_print, repr_of_print
from plausible.base.plain_values import json_number, plain

if TYPE_CHECKING:
    import pandas as pd

Class = TypeVar("Class", bound=type)


class Result:
    """What a call hands back: it shows what it prints, in shells and notebooks, and tells its fields in plain types.

    Examples
    --------
    >>> @record
    ... class Reading(Result):
    ...     place: str
    ...     degrees: float
    ...     def __str__(self) -> str:
    ...         return f"{self.degrees} degrees in {self.place}"
    >>> Reading("Rome", 20.0)
    <Reading: 20.0 degrees in Rome>
    >>> Reading("Rome", 20.0).to_dict()
    {'place': 'Rome', 'degrees': 20.0}
    """

    __slots__ = ()

    #: The attributes that `to_dict` tells; where there are none, the fields.
    _told: ClassVar[tuple[str, ...]] = ()
    #: What it tells besides: verdicts and sums that are properties.
    _also: ClassVar[tuple[str, ...]] = ()
    #: The field of records that are the rows of `to_frame`, a tuple; "" where the result is one row.
    _rows: ClassVar[str] = ""

    __repr__ = repr_of_print
    _repr_html_ = html_of_print

    def to_dict(self) -> dict[str, Any]:
        """What it tells in the types that JSON knows: numbers, text, lists, dictionaries; graphs and models as text.

        Infinite numbers, which JSON lacks, are "inf" and "-inf"; NaN is None. Frames have them as numbers.
        """
        return _tell(self, json_number)

    def to_frame(self) -> pd.DataFrame:
        """What it tells as a data frame: a row for each record that it lists, or else one row."""
        import pandas as pd

        told = _tell(self, float) if type(self).to_dict is Result.to_dict else self.to_dict()
        if not self._rows:
            return pd.DataFrame([told])
        rows = told[self._rows]
        return pd.DataFrame(rows, columns=None if rows else _listed_fields(type(self), self._rows))


@overload
def record(cls: Class, /) -> Class: ...
@overload
def record(*, eq: bool) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """Make a `Result` a frozen dataclass with slots; one without a `__str__` is refused: it would have nothing to show.

    Parameters
    ----------
    eq
        Whether records with equal fields are equal; not where fields are arrays.
    """
    if cls is None:
        return partial(_made, eq=eq)
    return _made(cls, eq)


def _made(cls: Any, eq: bool) -> Any:
    if cls.__str__ is object.__str__:
        raise TypeError(f"A record shows what it prints: give {cls.__name__} a __str__, or make it a plain dataclass.")
    made: Any = dataclass(frozen=True, slots=True, eq=eq, repr=False)(cls)
    made.__repr__, made._repr_html_ = repr_of_print, html_of_print
    return made


def _tell(result: Result, number: Callable[[float], Any]) -> dict[str, Any]:
    return {name: to_plain(getattr(result, name), number) for name in _told_names(result)}


def to_plain(value: Any, number: Callable[[float], Any] = json_number) -> Any:
    """A value in the types that JSON knows, floats by `number`; what has no such form is told as text.

    >>> import numpy as np
    >>> to_plain({("a", 1): np.arange(2), "set": {"y", "x"}, "one": np.float64(0.5)})
    {'a, 1': [0, 1], 'set': ['x', 'y'], 'one': 0.5}
    """
    value = plain(value.value if isinstance(value, Enum) else value)
    if value is None or isinstance(value, bool | int | float | str):
        return number(value) if isinstance(value, float) else value
    if isinstance(value, Result) and type(value).to_dict is Result.to_dict:
        return _tell(value, number)
    inner = partial(to_plain, number=number)
    for name in ("to_dict", "_asdict", "tolist"):
        if hasattr(value, name) and not isinstance(value, type):
            return inner(getattr(value, name)())
    if isinstance(value, Mapping):
        keys = list(map(_key, value))
        keys = keys if len(set(keys)) == len(keys) else list(map(repr, value))
        return dict(zip(keys, map(inner, value.values()), strict=True))
    if isinstance(value, list | tuple):
        return list(map(inner, value))
    if isinstance(value, Set):
        return sorted(map(inner, value), key=str)
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return {name: inner(getattr(value, name)) for name in _public_fields(value)}
    return str(value)


def _public_fields(value: Any) -> list[str]:
    return [part.name for part in fields(value) if not part.name.startswith("_")]


def _told_names(result: Any) -> list[str]:
    """The attributes that a record, or each record of a class, tells."""
    return [*(getattr(result, "_told", ()) or _public_fields(result)), *getattr(result, "_also", ())]


def _listed_fields(kind: type, name: str) -> list[str]:
    """What the records tell that a field is a tuple of, as its annotation says."""
    (annotation,) = (str(part.type) for part in fields(kind) if part.name == name)
    return _told_names(vars(sys.modules[kind.__module__])[annotation.removeprefix("tuple[").removesuffix(", ...]")])


def _key(key: Any) -> str:
    if isinstance(key, frozenset):
        return ", ".join(sorted(map(_key, key)))
    return ", ".join(map(_key, key)) if isinstance(key, tuple) else str(plain(key))
