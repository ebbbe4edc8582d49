"""Families of utility curves with a few parameters."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.decisions.lotteries.curves import Floats, UtilityCurve
from plausible.errors import InvalidArgument

__all__ = ["ExponentialCurve", "LinearCurve", "LogarithmicCurve", "PowerCurve", "SShapedCurve"]


def _check_scale(scale: float) -> float:
    if not (scale > 0 and math.isfinite(scale)):
        raise InvalidArgument(f"scale={scale!r} must be positive, as more is better.")
    return float(scale)


class _ScaledCurve(UtilityCurve):
    """shift + scale · (a shape): the shape has the attitude to risk, the rest is the choice of units."""

    __slots__ = ("scale", "shift")

    scale: float
    shift: float

    def _set_units(self, scale: float, shift: float) -> None:
        self.scale, self.shift = _check_scale(scale), float(shift)

    def _unscaled(self, utility: float) -> float:
        return (utility - self.shift) / self.scale

    def _key(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in (*_ScaledCurve.__slots__, *type(self).__slots__))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, _ScaledCurve) and type(other) is type(self) else False

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _unreachable(self, utility: float) -> InvalidArgument:
        return InvalidArgument(f"No amount has the utility {utility:.6g} on {self}.")


@final
class LinearCurve(_ScaledCurve):
    """U(x) = shift + scale · x: nobody minds risk.

    >>> LinearCurve(scale=2.0)(3.0)
    6.0
    """

    __slots__ = ()

    def __init__(self, scale: float = 1.0, shift: float = 0.0) -> None:
        self._set_units(scale, shift)

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
        return np.asarray(self.shift + self.scale * np.asarray(amounts, dtype=float))

    def slope(self, amount: float) -> float:
        """The scale."""
        return self.scale

    def curvature(self, amount: float) -> float:
        """Zero."""
        return 0.0

    def bends(self, knots: Floats, tolerance: float) -> NDArray[np.int64]:
        """Straight everywhere."""
        return np.full(knots.size - 2, 0, dtype=np.int64)

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        return self._unscaled(utility)

    def __repr__(self) -> str:
        return f"LinearCurve(scale={self.scale:.6g}, shift={self.shift:.6g})"


@final
class LogarithmicCurve(_ScaledCurve):
    """U(x) = shift + scale · ln(x + wealth): averse to risk, less so the richer.

    Parameters
    ----------
    wealth
        What is owned already; amounts must exceed its negative.
    scale, shift
        The units.

    Examples
    --------
    >>> round(LogarithmicCurve(scale=1 / math.log(2))(8.0), 9)
    3.0
    """

    __slots__ = ("wealth",)

    wealth: float

    def __init__(self, wealth: float = 0.0, scale: float = 1.0, shift: float = 0.0) -> None:
        self.wealth = float(wealth)
        self._set_units(scale, shift)

    @property
    def domain(self) -> tuple[float, float]:
        """Above minus the wealth."""
        return math.nextafter(-self.wealth, math.inf), math.inf

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
        owned = np.asarray(amounts, dtype=float) + self.wealth
        logs = np.log(owned, out=np.full(owned.shape, np.nan), where=owned > 0)
        return np.asarray(self.shift + self.scale * logs)

    def slope(self, amount: float) -> float:
        """scale / (x + wealth)."""
        return self.scale / (self._inside(amount) + self.wealth)

    def curvature(self, amount: float) -> float:
        """-scale / (x + wealth)²."""
        return -self.scale / (self._inside(amount) + self.wealth) ** 2

    def bends(self, knots: Floats, tolerance: float) -> NDArray[np.int64]:
        """Down everywhere."""
        return np.full(knots.size - 2, -1, dtype=np.int64)

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        return math.exp(self._unscaled(utility)) - self.wealth

    def __repr__(self) -> str:
        return f"LogarithmicCurve(wealth={self.wealth:.6g}, scale={self.scale:.6g}, shift={self.shift:.6g})"


@final
class ExponentialCurve(_ScaledCurve):
    """U(x) = shift + scale · (1 - exp(-a x)) / a: constant absolute aversion a, whatever is owned.

    Parameters
    ----------
    aversion
        a = -U'' / U': positive for averse to risk, negative for seeking it, 0 for neither.
    scale, shift
        The units; the slope at 0 is the scale.

    Examples
    --------
    >>> round(ExponentialCurve(0.5)(2.0), 6)
    1.264241
    """

    __slots__ = ("aversion",)

    aversion: float

    def __init__(self, aversion: float, scale: float = 1.0, shift: float = 0.0) -> None:
        self.aversion = float(aversion)
        self._set_units(scale, shift)

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
        listed = np.asarray(amounts, dtype=float)
        if self.aversion == 0:
            return np.asarray(self.shift + self.scale * listed)
        return np.asarray(self.shift - self.scale * np.expm1(-self.aversion * listed) / self.aversion)

    def slope(self, amount: float) -> float:
        """scale · exp(-a x)."""
        return self.scale * math.exp(-self.aversion * amount)

    def curvature(self, amount: float) -> float:
        """-a · slope."""
        return -self.aversion * self.slope(amount)

    def bends(self, knots: Floats, tolerance: float) -> NDArray[np.int64]:
        """Down everywhere for a positive aversion, up for a negative one."""
        return np.full(knots.size - 2, -int(np.sign(self.aversion)), dtype=np.int64)

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        level = self._unscaled(utility)
        if self.aversion == 0:
            return level
        if self.aversion * level >= 1:
            raise self._unreachable(utility)
        return -math.log1p(-self.aversion * level) / self.aversion

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """-ln(Σ p exp(-a x)) / a, which moves with the amounts: utilities far from 0 would lose all digits."""
        if self.aversion == 0:
            return float(probabilities @ amounts)
        exponents = -self.aversion * amounts
        highest = exponents.max()
        return float(-(highest + math.log(probabilities @ np.exp(exponents - highest))) / self.aversion)

    def __repr__(self) -> str:
        return f"ExponentialCurve({self.aversion:.6g}, scale={self.scale:.6g}, shift={self.shift:.6g})"


@final
class PowerCurve(_ScaledCurve):
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

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
        listed = np.asarray(amounts, dtype=float)
        inside = listed >= self.domain[0]
        powers = np.power(listed, self.exponent, out=np.full(listed.shape, np.nan), where=inside)
        return np.asarray(self.shift + self.scale * powers / self.exponent)

    def slope(self, amount: float) -> float:
        """scale · xʳ⁻¹."""
        return self.scale * _power(self._inside(amount), self.exponent - 1)

    def curvature(self, amount: float) -> float:
        """scale · (r - 1) xʳ⁻²."""
        return self.scale * (self.exponent - 1) * _power(self._inside(amount), self.exponent - 2)

    def bends(self, knots: Floats, tolerance: float) -> NDArray[np.int64]:
        """Down everywhere for an exponent below 1, up above."""
        return np.full(knots.size - 2, int(np.sign(self.exponent - 1)), dtype=np.int64)

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        power = self._unscaled(utility) * self.exponent
        if power < 0 or (power == 0 and self.exponent < 0):
            raise self._unreachable(utility)
        return float(power ** (1 / self.exponent))

    def __repr__(self) -> str:
        return f"PowerCurve({self.exponent:.6g}, scale={self.scale:.6g}, shift={self.shift:.6g})"


def _power(base: float, exponent: float) -> float:
    return math.inf if base == 0 and exponent < 0 else base**exponent


@final
class SShapedCurve(_ScaledCurve):
    """Concave for gains and convex for losses: U(x) = xʳ above the reference, -λ |x|ˢ below (Kahneman & Tversky 1979).

    The step from no debt to a debt is felt more than the step from a debt to twice that.

    Parameters
    ----------
    gain_exponent, loss_exponent
        r and s, above 0 and usually below 1.
    loss_weight
        λ: how much more a loss is felt than a gain.
    reference
        Where gains begin.
    scale, shift
        The units; `shift` is the utility of the reference.

    Examples
    --------
    >>> curve = SShapedCurve(0.5, 0.5, loss_weight=2.0)
    >>> curve(4.0), curve(-4.0), curve.inverse(-4.0)
    (2.0, -4.0, -4.0)
    """

    __slots__ = ("gain_exponent", "loss_exponent", "loss_weight", "reference")

    gain_exponent: float
    loss_exponent: float
    loss_weight: float
    reference: float

    def __init__(
        self,
        gain_exponent: float = 0.88,
        loss_exponent: float = 0.88,
        loss_weight: float = 2.25,
        *,
        reference: float = 0.0,
        scale: float = 1.0,
        shift: float = 0.0,
    ) -> None:
        for name, given in (
            ("gain_exponent", gain_exponent),
            ("loss_exponent", loss_exponent),
            ("loss_weight", loss_weight),
        ):
            if not (given > 0 and math.isfinite(given)):
                raise InvalidArgument(f"{name}={given!r} must be positive.")
        self.gain_exponent, self.loss_exponent = float(gain_exponent), float(loss_exponent)
        self.loss_weight, self.reference = float(loss_weight), float(reference)
        self._set_units(scale, shift)

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
        change = np.asarray(amounts, dtype=float) - self.reference
        gains = np.maximum(change, 0.0) ** self.gain_exponent
        losses = np.maximum(-change, 0.0) ** self.loss_exponent
        return np.asarray(self.shift + self.scale * (gains - self.loss_weight * losses))

    def inverse(self, utility: float) -> float:
        """The amount of this utility."""
        level = self._unscaled(utility)
        if level >= 0:
            return float(self.reference + level ** (1 / self.gain_exponent))
        return float(self.reference - (-level / self.loss_weight) ** (1 / self.loss_exponent))

    def knots(self, low: float, high: float) -> Floats:
        """Amounts on both sides of the reference, and the reference itself, where the shape changes."""
        if not low < self.reference < high:
            return super().knots(low, high)
        below = np.linspace(low, self.reference, 129)
        return np.concatenate([below, np.linspace(self.reference, high, 129)[1:]])

    def __repr__(self) -> str:
        return (
            f"SShapedCurve({self.gain_exponent:.6g}, {self.loss_exponent:.6g}, loss_weight={self.loss_weight:.6g}, "
            f"reference={self.reference:.6g}, scale={self.scale:.6g}, shift={self.shift:.6g})"
        )
