"""The kinds of arrays that functions take and give, by what their numbers mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Flags", "Floats", "Ints", "Positions", "starts_of"]

#: Probabilities, scores, numbers of any kind.
Floats: TypeAlias = NDArray[np.float64]
#: Whole numbers: counts, sizes, offsets.
Ints: TypeAlias = NDArray[np.int64]
#: Yes or no.
Flags: TypeAlias = NDArray[np.bool_]
#: States by their positions, in rows of data; -1 where a cell is missing.
Codes: TypeAlias = NDArray[np.int32]
#: Places in another array.
Positions: TypeAlias = NDArray[np.intp]


def starts_of(lengths: Iterable[int]) -> Ints:
    """Where stretches of these lengths begin when they lie one after the other, and where the last one ends.

    >>> starts_of([2, 3]).tolist()
    [0, 2, 5]
    """
    listed = lengths if isinstance(lengths, np.ndarray) else list(lengths)
    starts = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum(listed, out=starts[1:])
    return starts
