"""Which differences of utility are noise."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from plausible.base.tolerances import PROOF, UTILITY_NOISE


def tie_room(utilities: npt.ArrayLike, tolerance: float = PROOF) -> float:
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
    return tolerance * high - tolerance * low + UTILITY_NOISE * max(abs(low), abs(high))


class BestActions:
    """Results with a field `best`: the actions than which none is better, in the order in which they were listed."""

    __slots__ = ()

    best: tuple[Hashable, ...]

    @property
    def action(self) -> Hashable:
        """The best action; the first listed, where several tie."""
        return self.best[0]

    @property
    def ties(self) -> tuple[Hashable, ...]:
        """The best actions, if there are several; empty, if one is the best."""
        return self.best if len(self.best) > 1 else ()
