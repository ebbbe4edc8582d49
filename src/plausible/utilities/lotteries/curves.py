"""Utility curves from a function or a table: what amounts are worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.curve_base import UtilityCurve


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

    def _attempted(self, amounts: Floats) -> Floats:
        """The utility of each amount, or NaN where the function has none."""
        return np.array([self._attempt(x) for x in np.asarray(amounts).flat]).reshape(np.shape(amounts))

    def _attempt(self, amount: float) -> float:
        try:
            with np.errstate(all="ignore"):
                return self._value(amount)
        except InvalidArgument:
            return math.nan

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

    @property
    def is_known_between_knots(self) -> bool:
        """A table says nothing on the shape between its amounts."""
        return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TabulatedCurve):
            return NotImplemented
        return np.array_equal(self.amounts, other.amounts) and np.array_equal(self.utilities, other.utilities)

    def __hash__(self) -> int:
        return hash((self.amounts.tobytes(), self.utilities.tobytes()))

    def __repr__(self) -> str:
        return f"TabulatedCurve({self.amounts.tolist()!r}, {self.utilities.tolist()!r})"
