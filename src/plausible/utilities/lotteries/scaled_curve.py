"""The units of a utility curve: what all families with a scale and a shift have in common."""

from __future__ import annotations

import math

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.curve_base import UtilityCurve

__all__ = ["ScaledCurve"]


def _check_scale(scale: float) -> float:
    if not (scale > 0 and math.isfinite(scale)):
        raise InvalidArgument(f"scale={scale!r} must be positive, as more is better.")
    return float(scale)


class ScaledCurve(UtilityCurve):
    """shift + scale · (a shape): the shape has the attitude to risk, the rest is the choice of units.

    Examples
    --------
    >>> from plausible.utilities.lotteries.curve_families import ExponentialCurve
    >>> ExponentialCurve(0.5, scale=2.0, shift=1.0)(0.0)
    1.0
    """

    __slots__ = ("scale", "shift")

    scale: float
    shift: float

    def _set_units(self, scale: float, shift: float) -> None:
        self.scale, self.shift = _check_scale(scale), float(shift)

    def _unscaled(self, utility: float) -> float:
        return (utility - self.shift) / self.scale

    def mean_utility(self, amounts: Floats, probabilities: Floats) -> float:
        """Σ p U(x); infinite where that is beyond floats."""
        return math.fsum(probability * self(x) for x, probability in zip(amounts, probabilities, strict=True))

    def _key(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in (*ScaledCurve.__slots__, *type(self).__slots__))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ScaledCurve) and type(other) is type(self) else False

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _unreachable(self, utility: float) -> InvalidArgument:
        return InvalidArgument(f"No amount has the utility {utility:.6g} on {self}.")
