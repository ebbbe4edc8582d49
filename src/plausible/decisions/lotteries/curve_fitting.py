"""Utility curves fitted to points that somebody told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """A family as a linear model once its shape is fixed: utility = columns(x; shape) @ coefficients."""

    columns: Callable[[Floats, Floats], Floats]
    make: Callable[[Floats, Floats], UtilityCurve]
    starts: tuple[tuple[float, ...], ...]
    num_coefficients: int = 2


def _one(shape: Callable[[Floats, float], Floats]) -> Callable[[Floats, Floats], Floats]:
    """Columns of a constant and of a shape with one parameter."""
    return lambda x, theta: np.stack([np.ones_like(x), shape(x, float(theta[0]))], axis=1)


def _log_wealth(x: Floats, theta: float) -> float:
    """The wealth that puts the pole e^theta spreads below the least amount."""
    return float(np.ptp(x) * math.exp(min(theta, 30.0)) - x.min())


def _exponential_shape(x: Floats, theta: float) -> Floats:
    return ExponentialCurve(theta / float(np.ptp(x))).values(x)


def _power_curve(theta: Floats, c: Floats) -> UtilityCurve:
    exponent = float(theta[0])
    if abs(exponent) < 1e-9:
        return LogarithmicCurve(0.0, float(c[1]), float(c[0]))
    return PowerCurve(exponent, float(c[1]), float(c[0] - c[1] / exponent))


def _power_shape(x: Floats, theta: float) -> Floats:
    """(xʳ - 1) / r, which is continuous in r through the logarithm at 0."""
    return np.asarray(np.log(x) if abs(theta) < 1e-9 else np.expm1(theta * np.log(x)) / theta)


def _s_columns(x: Floats, theta: Floats) -> Floats:
    gain, loss = np.exp(np.clip(theta, -5.0, 3.0))
    return np.stack([np.ones_like(x), np.maximum(x, 0) ** gain, -(np.maximum(-x, 0) ** loss)], axis=1)


def _s_curve(theta: Floats, c: Floats) -> UtilityCurve:
    gain, loss = np.exp(np.clip(theta, -5.0, 3.0))
    return SShapedCurve(float(gain), float(loss), float(c[2] / c[1]), scale=float(c[1]), shift=float(c[0]))


def _make(x: Floats, family: CurveFamily) -> _Family:
    """The linear model of a family at these amounts."""
    families: Mapping[str, _Family] = {
        "linear": _Family(_one(lambda x, _: x), lambda _, c: LinearCurve(float(c[1]), float(c[0])), ()),
        "logarithmic": _Family(
            _one(lambda x, t: np.log(x + _log_wealth(x, t))),
            lambda t, c: LogarithmicCurve(_log_wealth(x, float(t[0])), float(c[1]), float(c[0])),
            ((-6.0,), (-2.0,), (0.0,), (3.0,)),
        ),
        "exponential": _Family(
            _one(_exponential_shape),
            lambda t, c: ExponentialCurve(float(t[0]) / float(np.ptp(x)), float(c[1]), float(c[0])),
            ((-3.0,), (-0.1,), (0.1,), (3.0,)),
        ),
        "power": _Family(_one(_power_shape), _power_curve, ((-1.0,), (0.3,), (1.0,), (2.0,))),
        "s-shaped": _Family(_s_columns, _s_curve, ((0.0, 0.0), (-0.7, -0.7)), num_coefficients=3),
    }
    if family not in families:
        raise InvalidArgument(
            f"family={family!r} is no family of curves.{suggestion(family, [*families, 'tabulated'])}"
        )
    return families[family]


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
    model = _make(x, family)
    num = model.num_coefficients + (len(model.starts[0]) if model.starts else 0)
    _check_points(family, x, num)
    shape = _best_shape(model, x, y)
    coefficients = _coefficients(model, x, y, shape)
    if not (coefficients[1:] > 0).all():
        raise InvalidArgument(f"The nearest {family} curve falls: the utilities do not rise with the amounts.")
    curve = model.make(shape, coefficients)
    return CurveFit(curve, family, y - curve.values(x), num)


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
    scale = np.abs(columns).max(axis=0) + 1e-300
    return np.asarray(np.linalg.lstsq(columns / scale, y, rcond=None)[0] / scale)


def _best_shape(model: _Family, x: Floats, y: Floats) -> Floats:
    """The shape with the least residual, from all starts."""
    from scipy.optimize import least_squares

    def residual(shape: Floats) -> Floats:
        columns = model.columns(x, shape)
        missed = y - columns @ _coefficients(model, x, y, shape)
        return np.where(np.isfinite(missed), missed, 1e6)

    found = [least_squares(residual, start, x_scale=1.0, xtol=1e-14, ftol=1e-14, gtol=1e-14) for start in model.starts]
    return np.asarray(min(found, key=lambda each: each.cost).x) if found else np.zeros(1)
