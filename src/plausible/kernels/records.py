"""Records: items of arrays whose numbers have names, the same in both tiers.

NumPy's own `np.record` looks a name up in six steps; these have a property for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np


def record_dtype(record: type[np.void], integers: Iterable[str], floats: Iterable[str] = ()) -> np.dtype[Any]:
    """The dtype of arrays of a kind of record, a class of its own whose attributes are the numbers."""
    fields = [(name, np.int64) for name in integers] + [(name, np.float64) for name in floats]
    for name, _ in fields:
        setattr(record, name, property(itemgetter(name), _setter(name)))
    return np.dtype((record, fields))


def _setter(name: str) -> Any:
    def write(record: Any, value: float) -> None:
        record[name] = value

    return write
