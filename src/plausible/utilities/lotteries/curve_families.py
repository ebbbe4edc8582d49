"""Families of utility curves with one attitude to risk everywhere and a few parameters."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, logarithms
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.curve_base import ScaledCurve

#: Below it the series is summed, above it the difference loses two digits at most.
_SMALL = 0.1
_NUM_TERMS = 18


def exponential_remainder(x: Floats) -> Floats:
    """eˣ - 1 - x."""
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    series = np.ones_like(small)
    for k in range(_NUM_TERMS, 2, -1):
        series = 1 + series * small / k
    return np.where(np.abs(x) < _SMALL, small**2 / 2 * series, np.expm1(x) - x)


def logarithm_remainder(x: Floats) -> Floats:
    """ln(1 + x) - x, which is minus infinity at -1."""
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    series = np.zeros_like(small)
    for k in range(_NUM_TERMS, 1, -1):
        series = (1 if k % 2 else -1) / k + series * small
    with np.errstate(divide="ignore"):
        return np.where(np.abs(x) < _SMALL, small**2 * series, np.log1p(x) - x)


@final
class LinearCurve(ScaledCurve):
    """U(x) = shift + scale · x: nobody minds risk.

    >>> LinearCurve(scale=2.0)(3.0)
    6.0
    """

    __slots__ = ()

    def values(self, amounts: npt.ArrayLike) -> Floats:
        return np.asarray(self.shift + self.scale * np.asarray(amounts, dtype=float))

    def slope(self, amount: float) -> float:
        return self.scale

    def curvature(self, amount: float) -> float:
        return 0.0

    @property
    def bend(self) -> int:
        return 0

    def inverse(self, utility: float) -> float:
        return self._unscaled(utility)

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        return math.fsum(amounts * probabilities)


@final
class LogarithmicCurve(ScaledCurve):
    """U(x) = shift + scale · ln(x + wealth): averse to risk, less so the richer.

    The wealth is what is owned already; amounts must exceed its negative.

    >>> round(LogarithmicCurve(scale=1 / math.log(2))(8.0), 9)
    3.0
    """

    __slots__ = ("wealth",)

    wealth: float

    def __init__(self, wealth: float = 0.0, scale: float = 1.0, shift: float = 0.0) -> None:
        self.wealth = float(wealth)
        super().__init__(scale, shift)

    @property
    def domain(self) -> tuple[float, float]:
        return math.nextafter(-self.wealth, math.inf), math.inf

    def _limits_told(self, amount: float) -> str:
        limit = f"a logarithm takes amounts above {-self.wealth or 0.0:.6g}"
        if not math.isfinite(amount):
            return limit
        more = math.floor(-amount) + 1
        return f"{limit}; give a wealth above {-amount or 0.0:.6g}, as in LogarithmicCurve(wealth={more:.6g})"

    def values(self, amounts: npt.ArrayLike) -> Floats:
        owned = np.asarray(amounts, dtype=float) + self.wealth
        logs = np.log(owned, out=np.full(owned.shape, np.nan), where=owned > 0)
        return np.asarray(self.shift + self.scale * logs)

    def slope(self, amount: float) -> float:
        return self.scale / (self._inside(amount) + self.wealth)

    def curvature(self, amount: float) -> float:
        return -self.scale / (self._inside(amount) + self.wealth) ** 2

    def absolute_aversion(self, amount: float) -> float:
        return 1.0 / (self._inside(amount) + self.wealth)

    def relative_aversion(self, amount: float) -> float:
        return self._inside(amount) / (amount + self.wealth)

    @property
    def bend(self) -> int:
        return -1

    def inverse(self, utility: float) -> float:
        return math.exp(self._unscaled(utility)) - self.wealth

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """The geometric mean of what is owned, less the wealth."""
        mean = math.fsum(amounts * probabilities)
        log_share = self._log_share(amounts, amounts - mean, probabilities)
        # Near to the mean the wealth would cancel, far from it the mean.
        if log_share > -1:
            return mean + (mean + self.wealth) * math.expm1(log_share)
        return (mean + self.wealth) * math.exp(log_share) - self.wealth

    def premium(self, amounts: Floats, deviations: Floats, probabilities: Floats) -> float:
        """What the geometric mean of all that is owned falls short of its mean."""
        owned = math.fsum(amounts * probabilities) + self.wealth
        return -owned * math.expm1(self._log_share(amounts, deviations, probabilities))

    def _log_share(self, amounts: Floats, deviations: Floats, probabilities: Floats) -> float:
        """Σ p ln(1 + z) for shares z of the mean, as Σ p (ln(1 + z) - z) with all digits: Σ p z = 0."""
        owned = np.array([self._inside(x) for x in amounts]) + self.wealth
        mean = math.fsum(owned * probabilities)
        shares = deviations / mean
        far = np.log(owned) - math.log(mean) - shares
        return math.fsum(probabilities * np.where(shares > -0.5, logarithm_remainder(np.maximum(shares, -0.5)), far))


@final
class ExponentialCurve(ScaledCurve):
    """U(x) = shift + scale · (1 - exp(-a x)) / a: constant absolute aversion a, whatever is owned.

    The aversion a = -U'' / U' is positive for averse to risk, negative for seeking it, 0 for neither. The slope at 0 is
    the scale.

    >>> round(ExponentialCurve(0.5)(2.0), 6)
    1.264241
    """

    __slots__ = ("aversion",)

    aversion: float

    def __init__(self, aversion: float, scale: float = 1.0, shift: float = 0.0) -> None:
        self.aversion = float(aversion)
        super().__init__(scale, shift)

    def values(self, amounts: npt.ArrayLike) -> Floats:
        listed = np.asarray(amounts, dtype=float)
        if self.aversion == 0:
            return np.asarray(self.shift + self.scale * listed)
        with np.errstate(over="ignore"):
            return np.asarray(self.shift - self.scale * np.expm1(-self.aversion * listed) / self.aversion)

    def slope(self, amount: float) -> float:
        with np.errstate(over="ignore"):
            return float(self.scale * np.exp(-self.aversion * amount))

    def curvature(self, amount: float) -> float:
        return -self.aversion * self.slope(amount) if self.aversion else 0.0

    def absolute_aversion(self, amount: float) -> float:
        return self.aversion

    @property
    def bend(self) -> int:
        return -int(np.sign(self.aversion))

    def inverse(self, utility: float) -> float:
        level = self._unscaled(utility)
        if self.aversion == 0:
            return level
        if self.aversion * level >= 1:
            raise self._unreachable(utility)
        return -math.log1p(-self.aversion * level) / self.aversion

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """-ln(Σ p exp(-a x)) / a, which moves with the amounts: utilities far from 0 would lose all digits."""
        mean = math.fsum(amounts * probabilities)
        exponents = -self.aversion * (amounts - mean)
        if float(np.abs(exponents).max()) < 1:
            return mean - self.premium(amounts, amounts - mean, probabilities)
        leading = float(amounts[exponents.argmax()])  # what counts most; the mean may be far beyond it
        weights = np.exp(-self.aversion * (amounts - leading))
        return leading - math.log(math.fsum(probabilities * weights)) / self.aversion

    def premium(self, amounts: Floats, deviations: Floats, probabilities: Floats) -> float:
        """ln(Σ p exp(-a d)) / a for deviations d from the mean: to all digits for small ones, as Σ p d = 0."""
        if self.aversion == 0:
            return 0.0
        exponents = -self.aversion * deviations
        highest = float(exponents.max())
        if max(highest, -float(exponents.min())) < 1:
            return math.log1p(math.fsum(probabilities * exponential_remainder(exponents))) / self.aversion
        return (highest + math.log(math.fsum(probabilities * np.exp(exponents - highest)))) / self.aversion


@final
class PowerCurve(ScaledCurve):
    """U(x) = shift + scale · xʳ / r for positive amounts: constant relative aversion 1 - r.

    The exponent r is below 1 for averse to risk, above for seeking it; not 0, where `LogarithmicCurve` takes over.

    >>> PowerCurve(0.5)(9.0), PowerCurve(0.5).inverse(6.0)
    (6.0, 9.0)
    """

    __slots__ = ("exponent",)

    exponent: float

    def __init__(self, exponent: float, scale: float = 1.0, shift: float = 0.0) -> None:
        if exponent == 0 or not math.isfinite(exponent):
            raise InvalidArgument(f"exponent={exponent!r} makes no curve; the limit at 0 is LogarithmicCurve().")
        self.exponent = float(exponent)
        super().__init__(scale, shift)

    @property
    def domain(self) -> tuple[float, float]:
        """From 0 (which belongs to it for a positive exponent)."""
        return (0.0 if self.exponent > 0 else math.nextafter(0.0, 1.0)), math.inf

    def _limits_told(self, amount: float) -> str:
        begin = "from 0 up" if self.exponent > 0 else "above 0"
        return f"a power takes amounts {begin}; for losses use SShapedCurve, or count from what is owned"

    def values(self, amounts: npt.ArrayLike) -> Floats:
        listed = np.asarray(amounts, dtype=float)
        inside = listed >= self.domain[0]
        with np.errstate(over="ignore"):
            powers = np.power(listed, self.exponent, out=np.full(listed.shape, np.nan), where=inside)
            return np.asarray(self.shift + self.scale * powers / self.exponent)

    def slope(self, amount: float) -> float:
        return self.scale * _power(self._inside(amount), self.exponent - 1)

    def curvature(self, amount: float) -> float:
        if self.exponent == 1:
            return 0.0
        return self.scale * (self.exponent - 1) * _power(self._inside(amount), self.exponent - 2)

    def absolute_aversion(self, amount: float) -> float:
        """(1 - r) / x, which is infinite at 0."""
        return (1 - self.exponent) * _power(self._inside(amount), -1.0) if self.exponent != 1 else 0.0

    def relative_aversion(self, amount: float) -> float:
        self._inside(amount)
        return 1 - self.exponent

    @property
    def bend(self) -> int:
        return int(np.sign(self.exponent - 1))

    def inverse(self, utility: float) -> float:
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
        exponents = self.exponent * (logarithms(owned) - math.log(leading))
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


def _power(base: float, exponent: float) -> float:
    """base ** exponent, infinite where that is beyond floats."""
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.power(base, exponent))
