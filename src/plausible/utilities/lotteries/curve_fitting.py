"""Utility curves fitted to points that somebody told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve, PowerCurve
from plausible.utilities.lotteries.curves import SShapedCurve, TabulatedCurve

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


CurveFamily: TypeAlias = Literal["linear", "logarithmic", "exponential", "power", "s-shaped", "tabulated"]
#: How many shapes are tried before the best are refined, for one and for two numbers in a shape, and how many are.
_NUM_TRIED, _NUM_REFINED = {1: 241, 2: 25}, 5
#: Scales below this share of the range of utilities make a flat curve.
_FLAT = 1e-12
#: The share of the range of utilities that a curve may miss of its own fit, by rounding of its scale and shift.
_MOST_LOST = 1e-6


@record
class CurveFit:
    """The curve of a family that is nearest to some points in the sense of least squares.

    Examples
    --------
    >>> print(fit_curve("linear", [0, 1, 2], [0, 0.6, 1]))
    LinearCurve(scale=0.5, shift=0.0333333) misses 3 points by 0.04714 on average
    """

    curve: UtilityCurve  # The fitted curve
    family: CurveFamily  # Its kind
    residuals: Floats  # Utility told minus utility fitted, at each point
    num_parameters: int  # How many numbers were fitted

    @property
    def root_mean_square(self) -> float:
        """Of the residuals."""
        return math.sqrt(float(np.mean(self.residuals**2)))

    def __str__(self) -> str:
        return (
            f"{self.curve!r} misses {counted(self.residuals.size, 'point')} by {self.root_mean_square:.4g} on average"
        )


def fit_curve(family: CurveFamily, amounts: npt.ArrayLike, utilities: npt.ArrayLike) -> CurveFit:
    """The curve of a family nearest to points (amount, utility), by least squares.

    Utility is linear in shift and scale once the shape (exponent, aversion, wealth) is fixed; the shape alone is
    searched (variable projection, Golub & Pereyra 1973): over a grid of all its range, on which the best places whose
    curve rises are refined, as there are often several local minima.

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
    if family not in FAMILIES:
        raise InvalidArgument(
            f"family={family!r} is no family of curves.{suggestion(family, [*FAMILIES, 'tabulated'])}"
        )
    model = FAMILIES[family]
    num = model.num_coefficients + model.num_shapes
    _check_points(family, x, num)
    low, spread = float(y.min()), float(np.ptp(y))
    if spread == 0:
        raise InvalidArgument(f"The utilities are all {low:.6g}: a flat curve, and more must be better.")
    shape = _best_shape(model, x, (y - low) / spread)
    coefficients = spread * _coefficients(model, x, (y - low) / spread, shape)
    coefficients[0] += low
    _check_rises(family, model.columns(x, shape), coefficients / spread)
    curve = _drawn(model, x, shape, coefficients)
    if curve is None:
        raise InvalidArgument(
            f"The nearest {family} curve has a scale beyond floats: give the amounts, from {x.min():.6g} to "
            f"{x.max():.6g}, in other units or as changes from one of them."
        )
    return CurveFit(curve, family, y - curve.values(x), num)


def _drawn(model: Family, x: Floats, shape: Floats, coefficients: Floats) -> UtilityCurve | None:
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


def _coefficients(model: Family, x: Floats, y: Floats, shape: Floats) -> Floats:
    columns = model.columns(x, shape)
    scale = np.abs(columns).max(axis=0)
    return np.asarray(np.linalg.lstsq(columns / scale, y, rcond=None)[0] / scale)


def _check_rises(family: str, columns: Floats, coefficients: Floats) -> None:
    """Refuse a curve for utilities from 0 to 1 that does not rise, on each side of its reference."""
    risen = (coefficients * np.ptp(columns, axis=0))[1:]
    if (risen > _FLAT).all():
        return
    how = "is flat" if (np.abs(risen) <= _FLAT).any() else "falls"
    raise InvalidArgument(
        f"The nearest {family} curve {how}: the utilities do not rise with the amounts. Look at the points, or try "
        f"another family."
    )


def _best_shape(model: Family, x: Floats, y: Floats) -> Floats:
    """The shape of a rising curve with the least residual, for utilities from 0 to 1; of any curve, if none rises."""
    from scipy.optimize import least_squares

    def residual(shape: Floats) -> Floats:
        return np.asarray(y - model.columns(x, shape) @ _coefficients(model, x, y, shape))

    if not model.num_shapes:
        return np.zeros(0)
    axis = _axis(*model.limits(x), _NUM_TRIED[model.num_shapes])
    shapes = np.stack(np.meshgrid(*[axis] * model.num_shapes, indexing="ij"), axis=-1)
    costs = np.apply_along_axis(lambda shape: _cost(model, x, y, shape), -1, shapes)
    found = []
    for place in _valleys(costs):
        found.append(shapes[place])
        # Within the cells around it, so that the valley is not left; then from there, as valleys may be long.
        beside = np.clip([np.array(place) - 1, np.array(place) + 1], 0, axis.size - 1)
        for low, high in (axis[beside], axis[[0, -1]]):
            start = np.clip(found[-1], low + 1e-3 * (high - low), high - 1e-3 * (high - low))
            found.append(least_squares(residual, start, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14).x)
    return np.asarray(min(found, key=lambda shape: _cost(model, x, y, shape)))


def _axis(low: float, high: float, num: int) -> Floats:
    """Numbers from low to high, evenly spaced near 0 and by a factor far from it."""
    return np.asarray(np.clip(np.sinh(np.linspace(math.asinh(low), math.asinh(high), num)), low, high))


def _cost(model: Family, x: Floats, y: Floats, shape: Floats) -> float:
    """The squared residual of the best curve of a shape; more than that of any curve that rises, if it does not."""
    columns, coefficients = model.columns(x, shape), _coefficients(model, x, y, shape)
    cost = float(((y - columns @ coefficients) ** 2).sum())
    return cost if (coefficients[1:] > 0).all() else y.size + cost


def _valleys(costs: Floats) -> list[tuple[int, ...]]:
    """The lowest places of a grid, of those than which no neighbour is lower."""
    padded = np.pad(costs, 1, constant_values=np.inf)
    inner = tuple(slice(1, -1) for _ in costs.shape)
    is_low = np.ones(costs.shape, dtype=bool)
    for axis in range(costs.ndim):
        for step in (-1, 1):
            is_low &= costs <= np.roll(padded, step, axis)[inner]
    places = [tuple(map(int, place)) for place in np.argwhere(is_low)]
    return sorted(places, key=lambda place: float(costs[place]))[:_NUM_REFINED]
