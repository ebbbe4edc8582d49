"""What a page asks, read field by field: nothing that comes from a browser is taken for what it says it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plausible.errors import InvalidArgument, shortened


@dataclass(frozen=True, slots=True)
class Asked:
    """The fields of a question; each is checked when it is read.

    >>> Asked({"name": "rain", "states": ["no", "yes"]}).texts("states")
    ['no', 'yes']
    """

    fields: Mapping[str, Any]

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        return str(self._read(name, str, "a text", default))

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        return bool(self._read(name, bool, "true or false", default))

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        number = self._read(name, (int, float), "a number", default)
        try:
            is_finite = not isinstance(number, bool) and math.isfinite(number)
        except OverflowError:  # a whole number beyond all others
            is_finite = False
        if not is_finite:
            raise InvalidArgument(f"{name!r} is {shortened(number)}: a finite number is expected.")
        return float(number)

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        number = self.number(name, default)
        if number != int(number):
            raise InvalidArgument(f"{name!r} is {number!r}: a whole number is expected.")
        return int(number)

    def texts(self, name: str, default: list[str] | None = None) -> list[str]:
        """A list of texts."""
        listed = self._read(name, list, "a list of texts", default)
        if not all(isinstance(one, str) for one in listed):
            raise InvalidArgument(f"{name!r} is a list of texts.")
        return list(listed)

    def items(self, name: str, default: list[Any] | None = None) -> list[Any]:
        """A list of whatever; who reads it checks what is in it."""
        return list(self._read(name, list, "a list", default))

    def mapping(self, name: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Texts and what they stand for."""
        found: Mapping[str, Any] = self._read(name, dict, "an object", default)
        return found

    def inner(self, name: str) -> Asked:
        """Fields within a field."""
        return Asked(self.mapping(name))

    def has(self, name: str) -> bool:
        """Whether a field says anything."""
        return self.fields.get(name) is not None

    def _read(self, name: str, kind: Any, what: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None:
            value = default
        if value is None or not isinstance(value, kind):
            raise InvalidArgument(f"The question lacks {name!r}: {what} is expected.")
        return value
