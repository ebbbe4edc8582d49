"""Utility curves of changing attitude: from a function, a table, or for gains and losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from plausible.base import Floats
from plausible.errors import InvalidArgument, NotSupported
from plausible.utilities.lotteries.curve_base import ScaledCurve, UtilityCurve


@final
class FunctionCurve(UtilityCurve):
    """Any increasing function of an amount.

    The function gives a number at each amount of the domain.

    >>> debt = FunctionCurve(lambda x: -abs(x) ** 0.5, domain=(-100.0, 0.0))
    >>> debt(-9.0), round(debt.inverse(-2.0), 9)
    (-3.0, -4.0)
    """

    __slots__ = ("_domain", "function")

    function: Callable[[float], float]

    def __init__(self, function: Callable[[float], float], domain: tuple[float, float] = (-math.inf, math.inf)) -> None:
        if not domain[0] < domain[1]:
            raise InvalidArgument(f"The domain {domain!r} is empty: give the least amount first.")
        self.function, self._domain = function, (float(domain[0]), float(domain[1]))

    @property
    def domain(self) -> tuple[float, float]:
        return self._domain

    def values(self, amounts: npt.ArrayLike) -> Floats:
        listed = np.asarray(amounts, dtype=float)
        low, high = self._domain
        return np.array([self._value(x) if low <= x <= high else math.nan for x in listed.flat]).reshape(listed.shape)

    def _value(self, amount: float) -> float:
        try:
            value, reason = float(self.function(float(amount))), "it gives NaN"
        except (ArithmeticError, TypeError, ValueError) as error:
            value, reason = math.nan, f"{type(error).__name__}: {error}"
        if math.isnan(value):
            raise InvalidArgument(
                f"{self!r} has no utility for {amount:.6g} ({reason}): mend the function there, or leave the amount "
                f"out with domain=(low, high)."
            )
        return value

    def _limits_told(self, amount: float) -> str:
        return f"{super()._limits_told(amount)}; if the function holds for it, widen domain=(low, high)"

    def _attempted(self, amounts: Floats) -> Floats:
        def attempt(amount: float) -> float:
            try:
                with np.errstate(all="ignore"):
                    return self._value(amount)
            except InvalidArgument:
                return math.nan

        return np.array([attempt(x) for x in np.asarray(amounts).flat]).reshape(np.shape(amounts))

    def _solved(self, utility: float, low: float, high: float) -> float:
        """The amount of this utility, if the function rises on the way there."""
        shares = np.linspace(0, 1, 257)
        places = low * (1 - shares) + high * shares
        falls = np.diff(self.values(places)) < 0
        if falls.any():
            place = places[int(np.argmax(falls))]
            raise InvalidArgument(f"{self!r} falls near {place:.6g}: only a curve that rises can be inverted.")
        return super()._solved(utility, low, high)

    def __repr__(self) -> str:
        return f"FunctionCurve({getattr(self.function, '__name__', 'function')}, domain={self._domain!r})"


@final
class TabulatedCurve(UtilityCurve):
    """Utilities of some amounts, and a monotone curve through them (Fritsch & Carlson 1980), without overshoot.

    There are as many amounts as utilities; both rise together.

    >>> told = TabulatedCurve([0, 400, 1000], [0, 0.5, 1])
    >>> told(400), round(told.inverse(0.5), 6)
    (0.5, 400.0)
    """

    __slots__ = ("_curve", "amounts", "utilities")

    amounts: Floats
    utilities: Floats
    is_known_between_knots: ClassVar[bool] = False

    def __init__(self, amounts: npt.ArrayLike, utilities: npt.ArrayLike) -> None:
        from scipy.interpolate import PchipInterpolator

        first, second = np.array(amounts, dtype=float), np.array(utilities, dtype=float)
        if first.shape != second.shape or first.ndim != 1 or first.size < 2:
            raise InvalidArgument(
                f"A curve needs as many utilities as amounts, and two at least; not {second.size} for {first.size}."
            )
        order = np.argsort(first)
        first, second = first[order], second[order]
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise InvalidArgument("Amounts and utilities are finite numbers.")
        if (flat := np.flatnonzero((np.diff(first) <= 0) | (np.diff(second) <= 0))).size:
            place = int(flat[0])
            raise InvalidArgument(
                f"More must be better: {first[place]:.6g} has the utility {second[place]:.6g} and "
                f"{first[place + 1]:.6g} has {second[place + 1]:.6g}."
            )
        first.flags.writeable = second.flags.writeable = False
        self.amounts, self.utilities = first, second
        self._curve = PchipInterpolator(first, second, extrapolate=False)

    @property
    def domain(self) -> tuple[float, float]:
        return float(self.amounts[0]), float(self.amounts[-1])

    def _limits_told(self, amount: float) -> str:
        return f"{super()._limits_told(amount)}; ask about it and add it to the table, or fit a family with fit_curve"

    def values(self, amounts: npt.ArrayLike) -> Floats:
        return np.asarray(self._curve(np.asarray(amounts, dtype=float)), dtype=float)

    def slope(self, amount: float) -> float:
        return float(self._curve.derivative()(self._inside(amount)))

    def knots(self, low: float, high: float) -> Floats:
        """The amounts of the table: between them it says nothing on the shape."""
        inner = self.amounts[(self.amounts > low) & (self.amounts < high)]
        return np.concatenate([[low], inner, [high]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TabulatedCurve):
            return NotImplemented
        return np.array_equal(self.amounts, other.amounts) and np.array_equal(self.utilities, other.utilities)

    def __hash__(self) -> int:
        return hash((self.amounts.tobytes(), self.utilities.tobytes()))

    def __repr__(self) -> str:
        return f"TabulatedCurve({self.amounts.tolist()!r}, {self.utilities.tolist()!r})"


@final
class SShapedCurve(ScaledCurve):
    """Concave for gains and convex for losses: U(x) = xʳ above the reference, -λ |x|ˢ below (Kahneman & Tversky 1979).

    The step from no debt to a debt is felt more than the step from a debt to twice that.

    The exponents r and s are above 0 and usually below 1; the weight λ is how much more a loss is felt than a gain.
    Gains begin at the reference, whose utility is the `shift`.

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
        self.gain_exponent, self.loss_exponent = float(gain_exponent), float(loss_exponent)
        self.loss_weight, self.reference = float(loss_weight), float(reference)
        for name in ("gain_exponent", "loss_exponent", "loss_weight"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise InvalidArgument(f"{name}={getattr(self, name)!r} must be positive.")
        super().__init__(scale, shift)

    def values(self, amounts: npt.ArrayLike) -> Floats:
        change = np.asarray(amounts, dtype=float) - self.reference
        gains = np.maximum(change, 0.0) ** self.gain_exponent
        losses = np.maximum(-change, 0.0) ** self.loss_exponent
        return np.asarray(self.shift + self.scale * (gains - self.loss_weight * losses))

    def slope(self, amount: float) -> float:
        """r xʳ⁻¹ for gains and λ s |x|ˢ⁻¹ for losses."""
        change = self._inside(amount) - self.reference
        found = self._slope(abs(change), is_gain=change >= 0)
        if change == 0 and (found != self._slope(0.0, is_gain=False) or math.isinf(found)):
            raise self._kinked()
        return found

    def curvature(self, amount: float) -> float:
        """r (r - 1) xʳ⁻² for gains and λ s (1 - s) |x|ˢ⁻² for losses; undefined at the reference."""
        return -self.absolute_aversion(amount) * self.slope(amount)

    def absolute_aversion(self, amount: float) -> float:
        """(1 - r) / x for gains and (s - 1) / |x| for losses; undefined at the reference, where the curve is kinked."""
        change = self._inside(amount) - self.reference
        if change == 0:
            raise self._kinked()
        return (1 - self.gain_exponent) / change if change > 0 else (1 - self.loss_exponent) / change

    def _slope(self, size: float, *, is_gain: bool) -> float:
        weight, exponent = (1.0, self.gain_exponent) if is_gain else (self.loss_weight, self.loss_exponent)
        with np.errstate(divide="ignore", over="ignore"):
            return float(self.scale * weight * exponent * np.power(size, exponent - 1))

    def _kinked(self) -> NotSupported:
        return NotSupported(f"{self} has a kink at its reference {self.reference:.6g}: ask beside it.")

    def inverse(self, utility: float) -> float:
        level = self._unscaled(utility)
        if level >= 0:
            return float(self.reference + level ** (1 / self.gain_exponent))
        return float(self.reference - (-level / self.loss_weight) ** (1 / self.loss_exponent))

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        return self.inverse(self.mean_utility(amounts, probabilities))

    def knots(self, low: float, high: float) -> Floats:
        """Amounts on both sides of the reference, and the reference itself, where the shape changes."""
        if not low < self.reference < high:
            return super().knots(low, high)
        below = np.linspace(low, self.reference, 129)
        return np.concatenate([below, np.linspace(self.reference, high, 129)[1:]])
