"""Utility curves: what amounts are worth."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.decisions.lotteries.outcome_utilities import utility_of
from plausible.errors import InvalidArgument, NotSupported, shortened
from plausible.variables.frozen import Frozen

__all__ = ["Floats", "FunctionCurve", "TabulatedCurve", "UtilityCurve"]

Floats = NDArray[np.float64]


class UtilityCurve(Frozen, ABC):
    """An increasing function of an amount, most often of money (section 22.2.1).

    `curve(amount)` is the utility of one amount and `curve.values(amounts)` of many; a curve may be the utility of a
    `Lottery` over amounts or of a `DecisionSituation`.

    Examples
    --------
    >>> from plausible.decisions.lotteries.lottery import Lottery
    >>> curve = FunctionCurve(lambda x: x**0.5, domain=(0.0, 1e6))
    >>> Lottery({100: 0.5, 0: 0.5}).expected_utility(curve), round(curve.inverse(5.0), 6)
    (5.0, 25.0)
    """

    __slots__ = ()

    @property
    def domain(self) -> tuple[float, float]:
        """The least and the greatest amount; the ends belong to it where the curve is finite there."""
        return -math.inf, math.inf

    @abstractmethod
    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount; NaN outside of the domain."""

    def __call__(self, amount: float) -> float:
        """The utility of one amount."""
        return float(self.values(self._inside(amount)))

    def slope(self, amount: float) -> float:
        """The first derivative, U'; by central differences unless the curve knows it."""
        step = self._step(amount)
        low, high = self.values([amount - step, amount + step])
        return float(high - low) / (2 * step)

    def curvature(self, amount: float) -> float:
        """The second derivative, U''; by central differences unless the curve knows it."""
        step = 16 * self._step(amount)
        low, middle, high = self.values([amount - step, amount, amount + step])
        return float(low - 2 * middle + high) / step**2

    def absolute_aversion(self, amount: float) -> float:
        """The Arrow-Pratt measure -U'' / U'; from the derivatives unless the curve knows it."""
        slope = self.slope(amount)
        if slope == 0:
            raise NotSupported(f"{self} is flat at {amount:.6g}, where the aversion to risk, -U'' / U', is undefined.")
        return -self.curvature(amount) / slope

    def relative_aversion(self, amount: float) -> float:
        """-x U'' / U'."""
        return amount * self.absolute_aversion(amount)

    def inverse(self, utility: float) -> float:
        """The amount of this utility; by bisection unless the curve knows it."""
        low, high = self._bracket(utility)
        while True:
            middle = low + (high - low) / 2
            if middle in (low, high):
                return high if self.values(low) < utility else low
            low, high = (middle, high) if self.values(middle) < utility else (low, middle)

    def mean_utility(self, amounts: Floats, probabilities: Floats) -> float:
        """Σ p U(x)."""
        return math.fsum(
            probability * utility_of(self, x) for x, probability in zip(amounts.tolist(), probabilities, strict=True)
        )

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """The amount whose utility is the expected one: U⁻¹(Σ p U(x))."""
        return self.inverse(
            math.fsum(probability * self(x) for x, probability in zip(amounts, probabilities, strict=True))
        )

    def knots(self, low: float, high: float) -> Floats:
        """Amounts from low to high between which the curve's shape is looked at."""
        return np.linspace(low, high, 257)

    def bends(self, knots: Floats, tolerance: float) -> NDArray[np.int64]:
        """At each inner knot 1 where the curve turns up (convex), -1 where down, 0 where it goes straight on.

        By the slopes of the chords at its sides; changes within the tolerance, or within rounding, count as none.
        """
        levels, widths = self.values(knots), np.diff(knots)
        slopes = np.diff(levels) / widths
        rounding = 8 * np.finfo(float).eps * np.abs(levels).max() / np.minimum(widths[1:], widths[:-1])
        room = tolerance * np.maximum(np.abs(slopes[1:]), np.abs(slopes[:-1])) + rounding
        turns = np.diff(slopes)
        return np.where(np.abs(turns) <= room, 0, np.sign(turns)).astype(np.int64)

    def _inside(self, amount: float) -> float:
        low, high = self.domain
        try:
            number = float(amount)
        except (TypeError, ValueError):
            raise InvalidArgument(f"{shortened(amount)} is no amount: {self} is a function of numbers.") from None
        if not low <= number <= high:
            raise InvalidArgument(f"{self} has no utility for {number:.6g}: {self._limits_told(number)}.")
        return number

    def _limits_told(self, amount: float) -> str:
        """Which amounts there are, and what to do for one that is not among them."""
        low, high = self.domain
        return f"its amounts go from {low:.6g} to {high:.6g}"

    def _step(self, amount: float) -> float:
        """A step for differences that stays in the domain."""
        low, high = self.domain
        room = min(self._inside(amount) - low, high - amount)
        if room <= 0:
            raise NotSupported(f"{amount!r} is an end of the amounts of {self}, where differences can't be taken.")
        return float(min(1e-5 * max(1.0, abs(amount)), room / 16))

    def _bracket(self, utility: float) -> tuple[float, float]:
        """Two amounts with the utility between theirs, found by doubling steps away from the domain's middle."""
        low, high = self.domain
        if not math.isfinite(low):
            low = self._far(min(high, 0.0), -1.0, lambda value: value <= utility)
        if not math.isfinite(high):
            high = self._far(max(low, 0.0), 1.0, lambda value: value >= utility)
        bottom, top = self.values([low, high])
        if not bottom <= utility <= top:
            raise InvalidArgument(
                f"No amount has the utility {utility:.6g}: {self} reaches from {bottom:.6g} to {top:.6g}."
            )
        return low, high

    def _far(self, start: float, direction: float, is_beyond: Callable[[float], bool]) -> float:
        step = 1.0
        while not is_beyond(float(self.values(start + direction * step))) and step < 1e15:
            step *= 2
        return start + direction * step


@final
class FunctionCurve(UtilityCurve):
    """Any increasing function of an amount.

    Parameters
    ----------
    function
        Of one number; it gives one at each amount of the domain.
    domain
        The amounts that it takes.

    Examples
    --------
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
        """The least and the greatest amount."""
        return self._domain

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount."""
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

    def inverse(self, utility: float) -> float:
        """The amount of this utility, if the function rises on the way there."""
        low, high = self._bracket(utility)
        levels = self.values(np.linspace(low, high, 257))
        if (np.diff(levels) < 0).any():
            place = low + (high - low) * int(np.argmax(np.diff(levels) < 0)) / 256
            raise InvalidArgument(f"{self!r} falls near {place:.6g}: only a curve that rises can be inverted.")
        return super().inverse(utility)

    def __repr__(self) -> str:
        return f"FunctionCurve({getattr(self.function, '__name__', 'function')}, domain={self._domain!r})"


@final
class TabulatedCurve(UtilityCurve):
    """Utilities of some amounts, and a monotone curve through them (Fritsch & Carlson 1980), without overshoot.

    Parameters
    ----------
    amounts, utilities
        As many of either; both rise together.

    Examples
    --------
    >>> told = TabulatedCurve([0, 400, 1000], [0, 0.5, 1])
    >>> told(400), round(told.inverse(0.5), 6)
    (0.5, 400.0)
    """

    __slots__ = ("_curve", "amounts", "utilities")

    amounts: Floats
    utilities: Floats

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
        """The least and the greatest amount of the table."""
        return float(self.amounts[0]), float(self.amounts[-1])

    def _limits_told(self, amount: float) -> str:
        return f"{super()._limits_told(amount)}; ask about it and add it to the table, or fit a family with fit_curve"

    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount; NaN outside of the table."""
        return np.asarray(self._curve(np.asarray(amounts, dtype=float)), dtype=float)

    def slope(self, amount: float) -> float:
        """The first derivative of the interpolating curve."""
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
