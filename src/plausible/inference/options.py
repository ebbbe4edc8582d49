"""Checks of the options of engines: each refuses what it can't use by name, with what it can."""

from __future__ import annotations

import math

import numpy as np

from plausible.errors import InvalidArgument

__all__ = ["check_count", "check_flag", "check_number", "check_seconds"]


def check_count(name: str, number: object, least: int = 0) -> None:
    """Refuse what is no whole number of at least `least`.

    >>> check_count("max_steps", 3)
    >>> check_count("max_steps", 2.5)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: max_steps=2.5 must be a whole number of at least 0.
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InvalidArgument(f"{name}={number!r} must be a whole number of at least {least}.")


def check_number(
    name: str, number: object, least: float = -math.inf, most: float = math.inf, *, is_open: bool = False
) -> None:
    """Refuse what is no finite real number from `least` to `most`, both left out where the range is open.

    >>> check_number("damping", 0.5, 0, 1)
    >>> check_number("factor", 1.0, 0, 1, is_open=True)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: factor=1.0 must be a number above 0 and below 1.
    """
    is_real = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    if is_real:
        value = float(number)  # type: ignore[arg-type]
        inside = least < value < most if is_open else least <= value <= most
        if inside and math.isfinite(value):
            return
    low, high = ("above", "below") if is_open else ("of at least", "at most")
    ends = [f"{word} {end:g}" for word, end in ((low, least), (high, most)) if math.isfinite(end)]
    raise InvalidArgument(f"{name}={number!r} must be a number{' ' + ' and '.join(ends) if ends else ''}.")


def check_seconds(name: str, seconds: object) -> None:
    """Refuse what is no time in seconds; `None` is no limit."""
    if seconds is not None and seconds != math.inf:
        try:
            check_number(name, seconds, 0.0)
        except InvalidArgument:
            raise InvalidArgument(
                f"{name}={seconds!r} must be a number of seconds, not negative, or None for no limit."
            ) from None


def check_flag(name: str, flag: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(flag, bool | np.bool_):
        raise InvalidArgument(f"{name}={flag!r} must be True or False.")
