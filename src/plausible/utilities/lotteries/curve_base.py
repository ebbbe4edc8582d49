"""What all utility curves can do: values, derivatives, inverse, sure amounts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Frozen, Ints
from plausible.errors import InvalidArgument, NotSupported, shortened
from plausible.utilities.lotteries.outcome_utilities import tie_room, utility_of

#: Steps of differences are tried from the greatest to the least of these, four times smaller each.
_GREATEST, _LEAST, _FACTOR = 2.0**66, 2.0**-200, 4.0
#: Steps are this often what floats can tell apart at the place, at least.
_LEAST_SPACINGS = 64
#: A derivative whose estimates differ by a greater share has no limit.
_MOST_DOUBT = 0.1
_EPS = 2.0**-52


def differences(function: Callable[[Floats], Floats], place: float, room: float) -> tuple[float, float]:
    """First and second derivative by central differences over steps of all sizes; NaN where there is none, as at kinks.

    Differences over too large a step miss how the function bends, those over too small a one are rounding. Estimates
    are extrapolated (Richardson 1911) and compared with that of the next step; where they agree best, they are taken.
    `function` may be NaN or infinite, and is known up to `room` to both sides.
    """
    least = max(_LEAST_SPACINGS * math.ulp(place), _LEAST)
    count = max(3, math.floor(math.log(min(_GREATEST, room / 2) / least, _FACTOR)))
    greatest = 2.0 ** math.floor(math.log2(min(_GREATEST, room / 2)))
    steps = greatest * _FACTOR ** -np.arange(float(count))
    below, above = place - steps, place + steps
    with np.errstate(all="ignore"):
        values = function(np.concatenate([below, [place], above]))
        low, middle, high = values[:count], values[count], values[count + 1 :]
        lost = 4 * _EPS * np.maximum(np.maximum(np.abs(low), np.abs(high)), abs(middle))
        slope = _limit((high - low) / (above - below), lost / steps)
        # Places are rounded too, which a steep function feels.
        lost = lost + 4 * abs(slope) * math.ulp(place)
        return slope, _limit((low - 2 * middle + high) / steps**2, lost / steps**2)


def _limit(estimates: Floats, lost: Floats) -> float:
    """What estimates of falling steps, wrong by terms of step², come to; 0 if that is within doubt, NaN if none."""
    better = estimates[1:] + np.diff(estimates) / (_FACTOR**2 - 1)
    doubts = np.abs(np.diff(better)) + lost[2:]
    better = better[1:]
    doubts[~np.isfinite(doubts)] = np.inf
    shares = np.divide(doubts, np.abs(better), out=np.full(doubts.shape, np.inf), where=better != 0)
    shares[~np.isfinite(shares)] = np.inf
    best = int(shares.argmin())
    if shares[best] <= _MOST_DOUBT:
        return float(better[best])
    surest = int(doubts.argmin())
    return 0.0 if abs(better[surest]) <= doubts[surest] < np.inf else math.nan


class UtilityCurve(Frozen, ABC):
    """An increasing function of an amount, most often of money (section 22.2.1).

    `curve(amount)` is the utility of one amount and `curve.values(amounts)` of many; a curve may be the utility of a
    `Lottery` over amounts or of a `DecisionSituation`.

    >>> from plausible.utilities import FunctionCurve, Lottery
    >>> curve = FunctionCurve(lambda x: x**0.5, domain=(0.0, 1e6))
    >>> Lottery({100: 0.5, 0: 0.5}).expected_utility(curve), round(curve.inverse(5.0), 6)
    (5.0, 25.0)
    """

    __slots__ = ()

    #: Whether a bend at one knot alone is a kink; a table says nothing on the shape between its amounts.
    is_known_between_knots: ClassVar[bool] = True

    @property
    def domain(self) -> tuple[float, float]:
        """The least and the greatest amount; the ends belong to it where the curve is finite there."""
        return -math.inf, math.inf

    @abstractmethod
    def values(self, amounts: npt.ArrayLike) -> Floats:
        """The utility of each amount; NaN outside of the domain, infinite where it is beyond floats."""

    def __call__(self, amount: float) -> float:
        """The utility of one amount."""
        return float(self.values(self._inside(amount)))

    def slope(self, amount: float) -> float:
        """The first derivative, U'; by central differences unless the curve knows it."""
        return self._derivative(amount, 1)

    def curvature(self, amount: float) -> float:
        """The second derivative, U''; by central differences unless the curve knows it."""
        return self._derivative(amount, 2)

    def _derivative(self, amount: float, order: int) -> float:
        low, high = self.domain
        place = self._inside(amount)
        self(place)
        room = min(place - low, high - place)
        if room <= 0:
            raise NotSupported(f"{amount!r} is an end of the amounts of {self}, where differences can't be taken.")
        found = differences(self._attempted, place, room)[order - 1]
        if math.isnan(found):
            raise NotSupported(
                f"{self} has no {'slope' if order == 1 else 'curvature'} at {amount:.6g}: differences over ever "
                f"smaller steps have no limit, as at a kink; ask beside it."
            )
        return found

    def absolute_aversion(self, amount: float) -> float:
        """The Arrow-Pratt measure -U'' / U'; from the derivatives unless the curve knows it."""
        slope = self.slope(amount)
        if slope == 0:
            raise NotSupported(f"{self} is flat at {amount:.6g}, where the aversion to risk, -U'' / U', is undefined.")
        return 0.0 - self.curvature(amount) / slope

    def relative_aversion(self, amount: float) -> float:
        """-x U'' / U'."""
        return amount * self.absolute_aversion(amount)

    def inverse(self, utility: float) -> float:
        """The amount of this utility; by bisection unless the curve knows it."""
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
        return self._solved(utility, low, high)

    def mean_utility(self, amounts: Floats, probabilities: Floats) -> float:
        """Σ p U(x)."""
        return math.fsum(p * utility_of(self, x) for x, p in zip(amounts.tolist(), probabilities, strict=True))

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """The amount whose utility is the expected one, U⁻¹(Σ p U(x)), which lies among the amounts."""
        low, high = float(amounts.min()), float(amounts.max())
        return self._solved(self.mean_utility(amounts, probabilities), low, high) if low < high else low

    def premium(self, amounts: Floats, deviations: Floats, probabilities: Floats) -> float:
        """Mean minus sure amount; deviations of amounts from their mean may be known better than by subtraction."""
        return math.fsum(amounts * probabilities) - self.sure_amount(amounts, probabilities)

    @property
    def bend(self) -> int | None:
        """1 if the curve is convex, -1 if concave, 0 if straight everywhere; `None` if that is not known."""
        return None

    def bend_towards(self, premium: float, amounts: Floats) -> int:
        """-1 if somebody is averse to the risk of these amounts, 1 if seeking it, 0 if neither or within rounding."""
        if np.ptp(amounts) == 0:
            return 0
        if self.bend is not None:
            return self.bend
        levels = self.values(amounts)
        lost = 8 * _EPS * float(np.abs(levels).max()) / float(np.ptp(levels)) * float(np.ptp(amounts))
        return 0 if abs(premium) <= tie_room(amounts) + lost else -int(np.sign(premium))

    def knots(self, low: float, high: float) -> Floats:
        """Amounts from low to high between which the curve's shape is looked at."""
        return np.linspace(low, high, 257)

    def bends(self, knots: Floats, tolerance: float) -> Ints:
        """At each inner knot 1 where the curve turns up (convex), -1 where down, 0 where it goes straight on.

        By the slopes of the chords at its sides; changes within the tolerance, or within rounding, count as none.
        """
        if self.bend is not None:
            return np.full(knots.size - 2, self.bend, dtype=np.int64)
        levels, widths = self.values(knots), np.diff(knots)
        slopes = np.diff(levels) / widths
        rounding = 8 * _EPS * np.abs(levels).max() / np.minimum(widths[1:], widths[:-1])
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

    def _attempted(self, amounts: Floats) -> Floats:
        """The utility of each amount, or NaN."""
        return self.values(amounts)

    def _solved(self, utility: float, low: float, high: float) -> float:
        """The amount of this utility between two, by bisection."""
        while True:
            middle = low / 2 + high / 2
            if middle <= low or middle >= high:
                return high if self.values(low) < utility else low
            low, high = (middle, high) if self.values(middle) < utility else (low, middle)

    def _far(self, start: float, step: float, is_beyond: Callable[[float], bool]) -> float:
        """An amount beyond, found by doubling steps; else the last that has a utility."""
        near, far = start, start + step
        while math.isfinite(far) and near != far:
            value = float(self._attempted(np.array(far)))
            if is_beyond(value):
                return far
            # Beyond what the function can take, look between.
            if math.isnan(value):
                step = (far - near) / 4
            else:
                near, step = far, 2 * step
            far = near + step
        return near


class ScaledCurve(UtilityCurve):
    """shift + scale · (a shape): the shape, in the slots of each family, has the attitude to risk."""

    __slots__ = ("scale", "shift")

    scale: float
    shift: float

    def __init__(self, scale: float = 1.0, shift: float = 0.0) -> None:
        if not (scale > 0 and math.isfinite(scale)):
            raise InvalidArgument(f"scale={scale!r} must be positive, as more is better.")
        self.scale, self.shift = float(scale), float(shift)

    def _unscaled(self, utility: float) -> float:
        return (utility - self.shift) / self.scale

    def mean_utility(self, amounts: Floats, probabilities: Floats) -> float:
        """Σ p U(x); infinite where that is beyond floats."""
        return math.fsum(probability * self(x) for x, probability in zip(amounts, probabilities, strict=True))

    def _key(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in (*type(self).__slots__, *ScaledCurve.__slots__)}

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ScaledCurve) and type(other) is type(self) else False

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._key().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value:.6g}' for name, value in self._key().items())})"

    def _unreachable(self, utility: float) -> InvalidArgument:
        return InvalidArgument(f"No amount has the utility {utility:.6g} on {self}.")
