"""The curve of gains and losses, each felt less the larger it is."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, NotSupported
from plausible.utilities.lotteries.curve_base import ScaledCurve


@final
class SShapedCurve(ScaledCurve):
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
        """The amount of this utility."""
        level = self._unscaled(utility)
        if level >= 0:
            return float(self.reference + level ** (1 / self.gain_exponent))
        return float(self.reference - (-level / self.loss_weight) ** (1 / self.loss_exponent))

    def sure_amount(self, amounts: Floats, probabilities: Floats) -> float:
        """The amount whose utility is the expected one."""
        return self.inverse(self.mean_utility(amounts, probabilities))

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
