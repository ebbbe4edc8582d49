"""Which differences of utility are noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["OF_RANGE", "OF_SIZE", "tie_room"]

#: The share of the range of utilities, and of their size, that is not felt.
OF_RANGE, OF_SIZE = 1e-10, 1e-13


def tie_room(utilities: npt.ArrayLike, tolerance: float = OF_RANGE) -> float:
    """A difference of expected utilities up to which actions tie: a share of the range of the utilities.

    Utilities are unique up to a positive affine map, so the room grows with their unit and, but for the 1e-13 of their
    size that floats lose, does not change when a constant is added to them.

    Parameters
    ----------
    utilities
        Of all that may come.
    tolerance
        The share of their range.

    Examples
    --------
    >>> f"{tie_room([0.0, 2.0]):.4g} {tie_room([1e6, 1e6 + 2.0]):.4g}"
    '2.002e-10 1.002e-07'
    """
    values = np.asarray(utilities, dtype=float)
    low, high = float(values.min()), float(values.max())
    # Each by itself, as the range of large utilities may be beyond floats.
    return tolerance * high - tolerance * low + OF_SIZE * max(abs(low), abs(high))
