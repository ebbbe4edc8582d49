"""Refusing options of engines that are out of range, by name."""

from __future__ import annotations

import math

import numpy as np

from plausible.errors import InvalidArgument

__all__ = ["check_number"]


def check_number(name: str, value: object, what: str, below: float = math.inf) -> None:
    """Refuse what is no number from zero to below a limit.

    >>> check_number("tolerance", "small", "a change of a message")
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: tolerance='small' must be a change of a message: a number of at least 0.
    """
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(
        value, (bool, complex, np.complexfloating)
    )
    if not is_number or not 0 <= value < below:  # type: ignore[operator]
        limit = "" if math.isinf(below) else f" and below {below:g}"
        raise InvalidArgument(f"{name}={value!r} must be {what}: a number of at least 0{limit}.")
