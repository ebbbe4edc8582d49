"""Python's own values in place of NumPy's scalars: 1 and not np.int64(1), in texts and as states."""

from __future__ import annotations

from typing import Any

__all__ = ["plain", "shown"]

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


def shown(value: Any) -> str:
    """What a value prints as in messages, NumPy's scalars as Python's, in collections too.

    >>> import numpy as np
    >>> shown(np.str_("yes")), shown([np.int64(1), np.int64(2)])
    ("'yes'", '[1, 2]')
    """
    kind: Any = type(value)
    return repr(kind(map(plain, value)) if kind in (list, tuple, set, frozenset) else plain(value))
