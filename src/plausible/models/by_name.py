"""The parts of a model by the names of their variables."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from plausible.errors import UnknownVariable

__all__ = ["ByName"]

PartT = TypeVar("PartT")


class ByName(dict[str, PartT]):
    """A dictionary whose error for an unknown name offers close matches.

    Examples
    --------
    >>> ByName({"rain": 1, "grass": 2})["rian"]
    Traceback (most recent call last):
        ...
    plausible.errors.UnknownVariable: 'rian' is not a variable of this network. Did you mean 'rain'?
    """

    def __missing__(self, name: str) -> NoReturn:
        raise UnknownVariable.named(name, self, "this network")
