"""Utility curves fitted to points that somebody told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Result, record
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve, PowerCurve
from plausible.utilities.lotteries.curves import SShapedCurve, TabulatedCurve

CurveFamily: TypeAlias = Literal["linear", "logarithmic", "exponential", "power", "s-shaped", "tabulated"]
#: Exponents nearer to 0 make a logarithm.
_LOGARITHMIC = 1e-9
#: How many shapes are tried before the best are refined, for one and for two numbers in a shape, and how many are.
_NUM_TRIED, _NUM_REFINED = {1: 241, 2: 25}, 5
#: Scales below this share of the range of utilities make a flat curve.
_FLAT = 1e-12
#: The share of the range of utilities that a curve may miss of its own fit, by rounding of its scale and shift.
_MOST_LOST = 1e-6


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

    def coefficients(self, x: Floats, y: Floats, shape: Floats) -> Floats:
        """Those of least squares."""
        columns = self.columns(x, shape)
        scale = np.abs(columns).max(axis=0)
        return np.asarray(np.linalg.lstsq(columns / scale, y, rcond=None)[0] / scale)

    def cost(self, x: Floats, y: Floats, shape: Floats) -> float:
        """The squared residual of a shape; more than that of any curve that rises, if it does not."""
        coefficients = self.coefficients(x, y, shape)
        cost = float(((y - self.columns(x, shape) @ coefficients) ** 2).sum())
        return cost if (coefficients[1:] > 0).all() else y.size + cost


def _beside_one(column: Floats) -> Floats:
    return np.stack([np.ones_like(column), column], axis=1)


def _exponential_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    aversion, least = float(shape[0] / np.ptp(x)), float(x.min())
    slope = float(c[1]) * math.exp(aversion * least)
    return ExponentialCurve(aversion, slope, float(c[0]) - ExponentialCurve(aversion, slope)(least))


def _geometric_mean(x: Floats) -> float:
    return math.exp(float(np.log(x).mean()))


def _power_columns(x: Floats, shape: Floats) -> Floats:
    """((x / m)ʳ - 1) / r, which is continuous in r through the logarithm at 0."""
    logs = np.log(x / _geometric_mean(x))
    return _beside_one(logs if abs(shape[0]) < _LOGARITHMIC else np.expm1(shape[0] * logs) / shape[0])


def _power_curve(x: Floats, shape: Floats, c: Floats) -> UtilityCurve:
    exponent, middle = float(shape[0]), _geometric_mean(x)
    if abs(exponent) < _LOGARITHMIC:
        return LogarithmicCurve(0.0, float(c[1]), float(c[0] - c[1] * math.log(middle)))
    return PowerCurve(exponent, float(c[1]) * middle**-exponent, float(c[0] - c[1] / exponent))


def _power_limits(x: Floats) -> tuple[float, float]:
    greatest = 500.0 / float(np.abs(np.log(x / _geometric_mean(x))).max())
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
        "linear": Family(lambda x, _: _beside_one(x), lambda x, _, c: LinearCurve(float(c[1]), float(c[0])), 0),
        "logarithmic": Family(  # its pole is e^shape spreads below the least amount
            lambda x, shape: _beside_one(np.log(x - x.min() + np.ptp(x) * math.exp(shape[0]))),
            lambda x, shape, c: LogarithmicCurve(
                float(np.ptp(x) * math.exp(shape[0]) - x.min()), float(c[1]), float(c[0])
            ),
        ),
        "exponential": Family(  # from the least amount on, with the aversion per spread
            lambda x, shape: _beside_one(ExponentialCurve(float(shape[0] / np.ptp(x))).values(x - x.min())),
            _exponential_curve,
            limits=lambda _: (-500.0, 500.0),
        ),
        "power": Family(_power_columns, _power_curve, 1, _power_limits),
        "s-shaped": Family(_s_columns, _s_curve, 2, lambda _: (-5.0, 3.0), 3),
    }
)


@record
class CurveFit(Result):
    """The curve of a family that is nearest to some points in the sense of least squares."""

    curve: UtilityCurve  # The fitted curve
    family: CurveFamily  # Its kind
    residuals: Floats  # Utility told minus utility fitted, at each point
    num_parameters: int  # How many numbers were fitted

    @property
    def root_mean_square(self) -> float:
        """Of the residuals."""
        return math.sqrt(float(np.mean(self.residuals**2)))

    def __str__(self) -> str:
        missed = f"{counted(self.residuals.size, 'point')} by {self.root_mean_square:.4g}"
        return f"{self.curve!r} misses {missed} on average"


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
    coefficients = spread * model.coefficients(x, (y - low) / spread, shape)
    coefficients[0] += low
    columns = model.columns(x, shape)
    # A curve for utilities from 0 to 1 has to rise on each side of its reference.
    risen = (coefficients / spread * np.ptp(columns, axis=0))[1:]
    if not (risen > _FLAT).all():
        raise InvalidArgument(
            f"The nearest {family} curve {'is flat' if (np.abs(risen) <= _FLAT).any() else 'falls'}: the "
            f"utilities do not rise with the amounts. Look at the points, or try another family."
        )
    curve = _drawn(model, x, shape, coefficients, columns @ coefficients)
    return CurveFit(curve, family, y - curve.values(x), num)


def _drawn(model: Family, x: Floats, shape: Floats, coefficients: Floats, fitted: Floats) -> UtilityCurve:
    """The curve of a fit, if floats can hold its scale and shift well enough to give the same utilities."""
    try:
        curve = model.make(x, shape, coefficients)
        if float(np.abs(curve.values(x) - fitted).max()) <= _MOST_LOST * float(np.ptp(fitted)):
            return curve
    except OverflowError:
        pass
    family = next(name for name, each in FAMILIES.items() if each is model)
    raise InvalidArgument(
        f"The nearest {family} curve has a scale beyond floats: give the amounts, from {x.min():.6g} to "
        f"{x.max():.6g}, in other units or as changes from one of them."
    )


def _check_points(family: str, x: Floats, num: int) -> None:
    if np.unique(x).size < num:
        raise InvalidArgument(
            f"The {family} family has {num} parameters and needs as many points; got {np.unique(x).size}."
        )
    if family == "power" and x.min() <= 0:
        raise InvalidArgument(f"A power curve takes positive amounts, not {x.min():.6g}; try 's-shaped'.")
    if family == "s-shaped" and not (x.min() < 0 < x.max()):
        raise InvalidArgument("An s-shaped curve needs points on both sides of 0; try 'power' for gains alone.")


def _best_shape(model: Family, x: Floats, y: Floats) -> Floats:
    """The shape of a rising curve with the least residual, for utilities from 0 to 1; of any curve, if none rises."""
    from scipy.optimize import least_squares

    def residual(shape: Floats) -> Floats:
        return np.asarray(y - model.columns(x, shape) @ model.coefficients(x, y, shape))

    if not model.num_shapes:
        return np.zeros(0)
    least, most = model.limits(x)
    # Evenly spaced near 0, by a factor far from it.
    grid = np.sinh(np.linspace(math.asinh(least), math.asinh(most), _NUM_TRIED[model.num_shapes]))
    axis = np.asarray(np.clip(grid, least, most))
    shapes = np.stack(np.meshgrid(*[axis] * model.num_shapes, indexing="ij"), axis=-1)
    costs = np.apply_along_axis(lambda shape: model.cost(x, y, shape), -1, shapes)
    found = []
    for place in _valleys(costs):
        found.append(shapes[place])
        # Within the cells around it, so that the valley is not left; then from there, as valleys may be long.
        beside = np.clip([np.array(place) - 1, np.array(place) + 1], 0, axis.size - 1)
        for low, high in (axis[beside], axis[[0, -1]]):
            start = np.clip(found[-1], low + 1e-3 * (high - low), high - 1e-3 * (high - low))
            found.append(least_squares(residual, start, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14).x)
    return np.asarray(min(found, key=lambda shape: model.cost(x, y, shape)))


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
