"""Values in texts: Python's own in place of NumPy's scalars, 1 and not np.int64(1); numbers of things."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

#: Truth values, whole and real numbers, text and bytes: Python has their equals. Dates would lose their unit.
_KINDS = "biufUS"


def plain(value: Any) -> Any:
    """The Python value that equals a NumPy scalar; all else as it is.

    >>> import numpy as np
    >>> plain(np.int64(1)), plain(np.str_("yes")), plain(2.5)
    (1, 'yes', 2.5)
    """
    kind = type(value)
    if kind.__module__ != "numpy" or getattr(kind, "ndim", None) is None:
        return value
    return value.item() if value.ndim == 0 and value.dtype.kind in _KINDS else value


def json_number(number: float) -> float | str | None:
    """A number as JSON can have it: infinite ones as "inf" and "-inf", which `float` reads, none for NaN.

    >>> json_number(0.5), json_number(-float("inf")), json_number(float("nan"))
    (0.5, '-inf', None)
    """
    return number if isfinite(number) else None if isnan(number) else str(number)


def shown(value: Any) -> str:
    """What a value prints as in messages, NumPy's scalars as Python's, in collections too.

    >>> import numpy as np
    >>> shown(np.str_("yes")), shown([np.int64(1), np.int64(2)])
    ("'yes'", '[1, 2]')
    """
    kind: Any = type(value)
    return repr(kind(map(plain, value)) if kind in (list, tuple, set, frozenset) else plain(value))


def shortened(value: object, most: int = 80) -> str:
    """What a value prints as, for messages; its type alone where that takes several lines or is long.

    >>> shortened(2.5), shortened(list(range(100)))
    ('2.5', '<list>')
    """
    text = shown(value)
    return text if len(text) <= most and "\n" not in text else f"<{type(value).__name__}>"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "entry"), counted(3, "batch")
    ('1 row', '2 rows', '0 entries', '3 batches')
    """
    if number == 1:
        return f"{number} {thing}"
    if thing.endswith("y") and thing[-2] not in "aeiou":
        return f"{number} {thing[:-1]}ies"
    return f"{number} {thing}{'es' if thing.endswith(('s', 'ch')) else 's'}"
