"""The kinds of arrays that functions take and give, by what their numbers mean."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Flags", "Floats", "Ints", "Positions"]

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
