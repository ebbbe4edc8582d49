"""Fitted curves are the nearest of their family, not the nearest that a search happens to meet."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.utilities import fit_curve
from refusals import refuses


def nearest(shapes, y):
    """The least squared residual of the best rising multiples of some shapes, by the formulas of a straight line."""
    shapes = np.array(shapes)
    shapes = (shapes - shapes.min(axis=1, keepdims=True)) / np.ptp(shapes, axis=1, keepdims=True)
    shapes, y = shapes - shapes.mean(axis=1, keepdims=True), y - y.mean()
    slopes = shapes @ y / (shapes**2).sum(axis=1)
    return ((y - slopes[:, None] * shapes) ** 2).sum(axis=1).min(where=slopes > 0, initial=math.inf)


def least_squares_cost(columns, y):
    """The squared residual of the best curve with positive scales, for one shape of several columns."""
    table = np.stack([np.ones_like(y), *[(c - c.min()) / np.ptp(c) for c in columns]], axis=1)
    found = np.linalg.lstsq(table, y, rcond=None)[0]
    return float(((y - table @ found) ** 2).sum()) if (found[1:] > 0).all() else math.inf


def both_signs(least, greatest, num):
    positive = np.geomspace(least, greatest, num)
    return np.concatenate([-positive[::-1], positive])


def exponentials(x):
    for aversion in both_signs(1e-4, 50.0, 800):
        yield np.expm1(-aversion * (x - (x.max() if aversion < 0 else x.min()))) * -np.sign(aversion)


def powers(x):
    for exponent in both_signs(1e-3, 80.0, 800):
        yield np.sign(exponent) * x**exponent


def logarithms(x):
    for pole in np.geomspace(1e-8, 1e5, 1200):
        yield np.log(x - x.min() + np.ptp(x) * pole)


def s_shapes(x):
    for gain in np.geomspace(0.01, 15.0, 40):
        for loss in np.geomspace(0.01, 15.0, 40):
            yield [np.maximum(x, 0) ** gain, -(np.maximum(-x, 0) ** loss)]


def test_the_nearest_of_several_local_minima_is_found():
    """A step at the end is nearer than a gentle curve: 0.1405 at an aversion of -8.25."""
    fit = fit_curve("exponential", [1.2, 2.7, 6.1, 6.2, 9.8, 10.0], [-0.43, -0.34, -0.16, 0.06, 0.07, 1.28])
    assert float((fit.residuals**2).sum()) == pytest.approx(0.140475, abs=1e-6)
    assert fit.curve.aversion == pytest.approx(-8.25, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("family", "grid", "start"),
    [("exponential", exponentials, 0.0), ("power", powers, 1.0), ("logarithmic", logarithms, 1.0)],
)
def test_no_shape_of_a_fine_grid_is_nearer(family, grid, start, seed):
    """On random utilities that rise with random amounts, some of which rise by leaps."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0.05, 0.1, 1.0, 3.0], int(rng.integers(4, 9)))
    x = start + np.cumsum(steps) - steps[0]
    y = np.sort(rng.standard_t(2, x.size))
    fit = fit_curve(family, x, y)
    best = nearest(list(grid(x)), y)
    assert float((fit.residuals**2).sum()) <= best * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_no_s_shape_of_a_grid_is_nearer(seed):
    """Two exponents, each from 0.01 to 15."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([-np.cumsum(rng.uniform(0.2, 2.0, 4))[::-1], np.cumsum(rng.uniform(0.2, 2.0, 4))])
    y = np.cumsum(rng.exponential(size=x.size))
    fit = fit_curve("s-shaped", x, y)
    best = min(least_squares_cost(columns, y) for columns in s_shapes(x))
    assert float((fit.residuals**2).sum()) <= best * (1 + 1e-4) + 1e-9


def test_flat_curves_are_not_told_to_fall():
    """Equal utilities, and utilities whose best line is level; only what falls falls."""
    for family in ("linear", "exponential", "logarithmic", "power"):
        refuses(InvalidArgument, "all 5: a flat curve", fit_curve, family, [1, 2, 3, 4], [5, 5, 5, 5])
        refuses(InvalidArgument, "falls", fit_curve, family, [1, 2, 3, 4], [5, 3, 2, 1])
    refuses(InvalidArgument, "linear curve is flat", fit_curve, "linear", [1, 2, 3], [0, 1, 0])
