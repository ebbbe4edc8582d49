"""The arguments and answers of kernels: copied, and as a list of arrays to compare."""

from __future__ import annotations

import numpy as np


def flat(value):
    """All arrays and numbers in a value, tuples within tuples opened; of nothing none."""
    if isinstance(value, tuple):
        return [part for item in value for part in flat(item)]
    return [] if value is None else [np.asarray(value)]


def copied(value):
    """The same with arrays of its own."""
    if isinstance(value, tuple):
        parts = [copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copy() if isinstance(value, np.ndarray) else value
