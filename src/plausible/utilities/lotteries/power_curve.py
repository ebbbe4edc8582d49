"""Powers of amounts: the curves of constant relative aversion to risk."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.curve_base import ScaledCurve, exponential_remainder, logarithm_remainder


@final
class PowerCurve(ScaledCurve):
    """U(x) = shift + scale · xʳ / r for positive amounts: constant relative aversion 1 - r.

    Parameters
    ----------
    exponent
        r: below 1 for averse to risk, above for seeking it; not 0, where `LogarithmicCurve` takes over.
    scale, shift
        The units.

    Examples
    --------
    >>> PowerCurve(0.5)(9.0), PowerCurve(0.5).inverse(6.0)
    (6.0, 9.0)
    """

    __slots__ = ("exponent",)

    exponent: float

    def __init__(self, exponent: float, scale: float = 1.0, shift: float = 0.0) -> None:
        if exponent == 0 or not math.isfinite(exponent):
            raise InvalidArgument(f"exponent={exponent!r} makes no curve; the limit at 0 is LogarithmicCurve().")
        self.exponent = float(exponent)
        self._set_units(scale, shift)

    @property
    def domain(self) -> tuple[float, float]:
        """From 0 (which belongs to it for a positive exponent)."""
        return (0.0 if self.exponent > 0 else math.nextafter(0.0, 1.0)), math.inf

    def _limits_told(self, amount: float) -> str:
        begin = "from 0 up" if self.exponent > 0 else "above 0"
        return f"a power takes amounts {begin}; for losses use SShapedCurve, or count from what is owned"

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount; infinite where that is beyond floats."""
        listed = np.asarray(amounts, dtype=float)
        inside = listed >= self.domain[0]
        with np.errstate(over="ignore"):
            powers = np.power(listed, self.exponent, out=np.full(listed.shape, np.nan), where=inside)
            return np.asarray(self.shift + self.scale * powers / self.exponent)

    def slope(self, amount: float) -> float:
        """scale · xʳ⁻¹."""
        return self.scale * _power(self._inside(amount), self.exponent - 1)

    def curvature(self, amount: float) -> float:
        """scale · (r - 1) xʳ⁻²."""
        if self.exponent == 1:
            return 0.0
        return self.scale * (self.exponent - 1) * _power(self._inside(amount), self.exponent - 2)

    def absolute_aversion(self, amount: float) -> float:
        """(1 - r) / x, which is infinite at 0."""
        return (1 - self.exponent) * _power(self._inside(amount), -1.0) if self.exponent != 1 else 0.0

    def relative_aversion(self, amount: float) -> float:
        """1 - r."""
        self._inside(amount)
        return 1 - self.exponent

    @property
    def bend(self) -> int:
        """Down everywhere for an exponent below 1, up above."""
        return int(np.sign(self.exponent - 1))

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        power = self._unscaled(utility) * self.exponent
        if power < 0 or (power == 0 and self.exponent < 0):
            raise self._unreachable(utility)
        return float(power ** (1 / self.exponent))

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """(Σ p xʳ)^(1/r), relative to the amount that weighs most: its power alone may be beyond floats."""
        owned = np.array([self._inside(x) for x in amounts[probabilities > 0]])
        leading = float(owned.max() if self.exponent > 0 else owned.min())
        if leading == 0:
            return 0.0
        with np.errstate(divide="ignore"):
            exponents = self.exponent * (np.log(owned) - math.log(leading))
        chances = probabilities[probabilities > 0] / float(probabilities.sum())
        beyond = float(chances @ np.expm1(exponents))
        # Near to the leading amount powers less one keep the digits, far from it the powers do.
        log_mean = math.log1p(beyond) if beyond > -0.5 else math.log(float(chances @ np.exp(exponents)))
        return leading * math.exp(log_mean / self.exponent)

    def premium(self, amounts: Floats, deviations: Floats, probabilities: Floats) -> float:
        """m (1 - (Σ p (1 + d/m)ʳ)^(1/r)) for deviations d from the mean m; small ones keep all digits, as Σ p d = 0."""
        r, mean = self.exponent, math.fsum(amounts * probabilities)
        if r == 1:
            return 0.0
        if not 0 < float(np.abs(deviations).max()) < 0.5 * mean / max(1.0, abs(r)):
            return super().premium(amounts, deviations, probabilities)
        shares = deviations / mean
        beyond = exponential_remainder(r * np.log1p(shares)) + r * logarithm_remainder(shares)
        return -mean * math.expm1(math.log1p(math.fsum(probabilities * beyond)) / r)

    def __repr__(self) -> str:
        return f"PowerCurve({self.exponent:.6g}, scale={self.scale:.6g}, shift={self.shift:.6g})"


def _power(base: float, exponent: float) -> float:
    """base ** exponent, infinite where that is beyond floats."""
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.power(base, exponent))
