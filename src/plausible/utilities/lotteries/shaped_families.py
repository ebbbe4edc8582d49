"""Families of curves as linear models, once their shape is fixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve
from plausible.utilities.lotteries.power_curve import PowerCurve
from plausible.utilities.lotteries.s_shaped_curve import SShapedCurve

#: Exponents nearer to 0 make a logarithm.
_LOGARITHMIC = 1e-9


@dataclass(frozen=True, slots=True)
class Family:
    """A family as a linear model once its shape is fixed: utility = columns(x, shape) @ coefficients."""

    columns: Callable[[Floats, Floats], Floats]  # Finite for every shape within the limits
    #: The curve of a shape and its coefficients at the amounts that were told.
    make: Callable[[Floats, Floats, Floats], UtilityCurve]
    num_shapes: int = 1  # How many numbers a shape has
    #: The least and the greatest of each number in a shape, for the amounts.
    limits: Callable[[Floats], tuple[float, float]] = lambda _: (-20.0, 14.0)
    num_coefficients: int = 2  # How many there are: the shift, and scales, which are positive for a curve that rises


def _beside_one(column: Floats) -> Floats:
    return np.stack([np.ones_like(column), column], axis=1)


def _linear_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    return LinearCurve(float(c[1]), float(c[0]))


def _logarithmic_columns(x: Floats, shape: Floats) -> Floats:
    """The logarithm whose pole is e^shape spreads below the least amount."""
    return _beside_one(np.log(x - x.min() + np.ptp(x) * math.exp(shape[0])))


def _logarithmic_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    return LogarithmicCurve(float(np.ptp(x) * math.exp(shape[0]) - x.min()), float(c[1]), float(c[0]))


def _exponential_columns(x: Floats, shape: Floats) -> Floats:
    """From the least amount on, with the aversion per spread."""
    return _beside_one(ExponentialCurve(float(shape[0] / np.ptp(x))).values(x - x.min()))


def _exponential_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    aversion, least = float(shape[0] / np.ptp(x)), float(x.min())
    slope = float(c[1]) * math.exp(aversion * least)
    return ExponentialCurve(aversion, slope, float(c[0]) - ExponentialCurve(aversion, slope)(least))


def _middle(x: Floats) -> float:
    """The geometric mean."""
    return math.exp(float(np.log(x).mean()))


def _power_columns(x: Floats, shape: Floats) -> Floats:
    """((x / m)ʳ - 1) / r, which is continuous in r through the logarithm at 0."""
    logs = np.log(x / _middle(x))
    return _beside_one(logs if abs(shape[0]) < _LOGARITHMIC else np.expm1(shape[0] * logs) / shape[0])


def _power_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    exponent, middle = float(shape[0]), _middle(x)
    if abs(exponent) < _LOGARITHMIC:
        return LogarithmicCurve(0.0, float(c[1]), float(c[0] - c[1] * math.log(middle)))
    return PowerCurve(exponent, float(c[1]) * middle**-exponent, float(c[0] - c[1] / exponent))


def _power_limits(x: Floats) -> tuple[float, float]:
    greatest = 500.0 / float(np.abs(np.log(x / _middle(x))).max())
    return -greatest, greatest


def _s_columns(x: Floats, shape: Floats) -> Floats:
    gain, loss = np.exp(shape)
    share = x / np.abs(x).max()
    return np.stack([np.ones_like(x), np.maximum(share, 0) ** gain, -(np.maximum(-share, 0) ** loss)], axis=1)


def _s_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    gain, loss = np.exp(shape).tolist()
    unit = float(np.abs(x).max())
    weight = float(c[2] / c[1]) * unit ** (gain - loss)
    return SShapedCurve(gain, loss, weight, scale=float(c[1]) * unit**-gain, shift=float(c[0]))


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "linear": Family(lambda x, _: _beside_one(x), _linear_curve, 0),
        "logarithmic": Family(_logarithmic_columns, _logarithmic_curve),
        "exponential": Family(_exponential_columns, _exponential_curve, 1, lambda _: (-500.0, 500.0)),
        "power": Family(_power_columns, _power_curve, 1, _power_limits),
        "s-shaped": Family(_s_columns, _s_curve, 2, lambda _: (-5.0, 3.0), 3),
    }
)
