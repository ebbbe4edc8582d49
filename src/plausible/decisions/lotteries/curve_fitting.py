"""Utility curves fitted to points that somebody told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.decisions.lotteries.curve_families import (
    ExponentialCurve,
    LinearCurve,
    LogarithmicCurve,
    PowerCurve,
)
from plausible.decisions.lotteries.curves import Floats, TabulatedCurve, UtilityCurve
from plausible.decisions.lotteries.s_shaped_curve import SShapedCurve
from plausible.errors import InvalidArgument, suggestion

__all__ = ["CurveFamily", "CurveFit", "fit_curve"]

CurveFamily: TypeAlias = Literal["linear", "logarithmic", "exponential", "power", "s-shaped", "tabulated"]
#: Exponents nearer to 0 make a logarithm.
_LOGARITHMIC = 1e-9
#: The share of the range of utilities that a curve may miss of its own fit, by rounding of its scale and shift.
_MOST_LOST = 1e-6


@dataclass(frozen=True, slots=True)
class CurveFit:
    """The curve of a family that is nearest to some points in the sense of least squares.

    Attributes
    ----------
    curve
        The fitted curve.
    family
        Its kind.
    residuals
        Utility told minus utility fitted, at each point.
    num_parameters
        How many numbers were fitted.

    Examples
    --------
    >>> print(fit_curve("linear", [0, 1, 2], [0, 0.6, 1]))
    LinearCurve(scale=0.5, shift=0.0333333) misses 3 points by 0.04714 on average
    """

    curve: UtilityCurve
    family: CurveFamily
    residuals: Floats
    num_parameters: int

    @property
    def root_mean_square(self) -> float:
        """Of the residuals."""
        return math.sqrt(float(np.mean(self.residuals**2)))

    def __str__(self) -> str:
        return f"{self.curve!r} misses {self.residuals.size} points by {self.root_mean_square:.4g} on average"


@dataclass(frozen=True, slots=True)
class _Family:
    """A family as a linear model once its shape is fixed: utility = columns(x, shape) @ coefficients.

    Attributes
    ----------
    columns
        Finite for every shape within the limits.
    make
        The curve of a shape and its coefficients at the amounts that were told.
    starts
        Shapes from which to search.
    limits
        The least and the greatest of each number in a shape, for the amounts.
    """

    columns: Callable[[Floats, Floats], Floats]
    make: Callable[[Floats, Floats, Floats], UtilityCurve]
    starts: tuple[tuple[float, ...], ...] = ()
    limits: Callable[[Floats], tuple[float, float]] = lambda _: (-20.0, 20.0)
    num_coefficients: int = 2


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


_FAMILIES: Mapping[str, _Family] = MappingProxyType(
    {
        "linear": _Family(lambda x, _: _beside_one(x), _linear_curve),
        "logarithmic": _Family(_logarithmic_columns, _logarithmic_curve, ((-6.0,), (-2.0,), (0.0,), (3.0,))),
        "exponential": _Family(
            _exponential_columns, _exponential_curve, ((-3.0,), (-0.1,), (0.1,), (3.0,)), lambda _: (-500.0, 500.0)
        ),
        "power": _Family(_power_columns, _power_curve, ((-1.0,), (0.3,), (1.0,), (2.0,)), _power_limits),
        "s-shaped": _Family(_s_columns, _s_curve, ((0.0, 0.0), (-0.7, -0.7)), lambda _: (-5.0, 3.0), 3),
    }
)


def fit_curve(family: CurveFamily, amounts: npt.ArrayLike, utilities: npt.ArrayLike) -> CurveFit:
    """The curve of a family nearest to points (amount, utility), by least squares.

    Utility is linear in shift and scale once the shape (exponent, aversion, wealth) is fixed; the shape alone is
    searched, from several starts (variable projection, Golub & Pereyra 1973).

    Parameters
    ----------
    family
        "linear", "logarithmic" (shift, scale and wealth), "exponential", "power" (positive amounts), "s-shaped" (with
        its reference at 0) or "tabulated", which goes through all points.
    amounts, utilities
        The points; as many as the family has parameters, at least.

    Examples
    --------
    >>> told = fit_curve("exponential", [0, 50, 100, 200], [0, 0.46, 0.74, 1.0])
    >>> round(told.curve.aversion, 3), round(told.root_mean_square, 3)
    (0.01, 0.002)
    """
    x, y = np.array(amounts, dtype=float), np.array(utilities, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidArgument("The points are as many finite amounts as utilities, each in a list.")
    if family == "tabulated":
        table = TabulatedCurve(x, y)
        return CurveFit(table, family, y - table.values(x), x.size)
    if family not in _FAMILIES:
        raise InvalidArgument(
            f"family={family!r} is no family of curves.{suggestion(family, [*_FAMILIES, 'tabulated'])}"
        )
    model = _FAMILIES[family]
    num = model.num_coefficients + (len(model.starts[0]) if model.starts else 0)
    _check_points(family, x, num)
    low, spread = float(y.min()), float(np.ptp(y)) or 1.0
    shape = _best_shape(model, x, (y - low) / spread)
    coefficients = spread * _coefficients(model, x, (y - low) / spread, shape)
    coefficients[0] += low
    if not (coefficients[1:] > 0).all():
        raise InvalidArgument(f"The nearest {family} curve falls: the utilities do not rise with the amounts.")
    curve = _drawn(model, x, shape, coefficients)
    if curve is None:
        raise InvalidArgument(
            f"The nearest {family} curve has a scale beyond floats: give the amounts, from {x.min():.6g} to "
            f"{x.max():.6g}, in other units or as changes from one of them."
        )
    return CurveFit(curve, family, y - curve.values(x), num)


def _drawn(model: _Family, x: Floats, shape: Floats, coefficients: Floats) -> UtilityCurve | None:
    """The curve of a fit, unless floats can't hold its scale and shift well enough to give the same utilities."""
    fitted = model.columns(x, shape) @ coefficients
    try:
        curve = model.make(x, shape, coefficients)
    except OverflowError:
        return None
    lost = float(np.abs(curve.values(x) - fitted).max())
    return curve if lost <= _MOST_LOST * float(np.ptp(fitted)) else None


def _check_points(family: str, x: Floats, num: int) -> None:
    if np.unique(x).size < num:
        raise InvalidArgument(
            f"The {family} family has {num} parameters and needs as many points; got {np.unique(x).size}."
        )
    if family == "power" and x.min() <= 0:
        raise InvalidArgument(f"A power curve takes positive amounts, not {x.min():.6g}; try 's-shaped'.")
    if family == "s-shaped" and not (x.min() < 0 < x.max()):
        raise InvalidArgument("An s-shaped curve needs points on both sides of 0; try 'power' for gains alone.")


def _coefficients(model: _Family, x: Floats, y: Floats, shape: Floats) -> Floats:
    columns = model.columns(x, shape)
    scale = np.abs(columns).max(axis=0)
    return np.asarray(np.linalg.lstsq(columns / scale, y, rcond=None)[0] / scale)


def _best_shape(model: _Family, x: Floats, y: Floats) -> Floats:
    """The shape with the least residual, from all starts, for utilities from 0 to 1."""
    from scipy.optimize import least_squares

    def residual(shape: Floats) -> Floats:
        return np.asarray(y - model.columns(x, shape) @ _coefficients(model, x, y, shape))

    if not model.starts:
        return np.zeros(0)
    low, high = model.limits(x)
    found = [
        least_squares(
            residual, np.clip(start, low / 2, high / 2), bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14
        )
        for start in model.starts
    ]
    return np.asarray(min(found, key=lambda each: each.cost).x)
