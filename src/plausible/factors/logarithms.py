"""The unit in which information is measured."""

from __future__ import annotations

import math

from plausible.errors import InvalidArgument

__all__ = ["log_unit"]


def log_unit(base: float) -> float:
    """ln(base): the nats in one unit of information, such as a bit for base 2.

    A base below one would turn the sign of every answer.

    >>> log_unit(math.e)
    1.0
    """
    if not 1 < base < math.inf:
        raise InvalidArgument(f"The base of a logarithm of probabilities is above one and finite, not {base}.")
    return math.log(base)
