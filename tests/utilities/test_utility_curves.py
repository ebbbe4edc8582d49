"""Utility curves, attitudes to risk, certainty equivalents and dominance; fitted curves are the nearest of all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidArgument, NotSupported
from plausible.utilities.lotteries.curve_base import ScaledCurve
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve, PowerCurve
from plausible.utilities.lotteries.curve_fitting import fit_curve
from plausible.utilities.lotteries.curves import FunctionCurve, SShapedCurve, TabulatedCurve
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.regret import DecisionSituation
from plausible.utilities.lotteries.risk import (
    absolute_risk_aversion,
    assess_risk,
    certainty_equivalent,
    relative_risk_aversion,
    risk_attitude,
    risk_premium,
    small_stakes_premium,
    stochastic_dominance,
)
from refusals import refuses

CURVES = [
    (LinearCurve(2.0, -1.0), -5.0, 5.0, "neutral"),
    (LogarithmicCurve(3.0, 2.0, 1.0), -2.5, 50.0, "averse"),
    (ExponentialCurve(0.3, 2.0), -4.0, 9.0, "averse"),
    (ExponentialCurve(-0.3), -4.0, 9.0, "seeking"),
    (ExponentialCurve(0.0), -4.0, 9.0, "neutral"),
    (PowerCurve(0.4), 0.1, 20.0, "averse"),
    (PowerCurve(-1.5), 0.1, 20.0, "averse"),
    (PowerCurve(2.0, 0.5, 3.0), 0.1, 20.0, "seeking"),
    (SShapedCurve(0.7, 0.5, 2.0), -9.0, 16.0, "mixed"),
    (TabulatedCurve([-3, 0, 1, 5], [-2, 0, 0.5, 1]), -3.0, 5.0, "averse"),
    (FunctionCurve(math.atan, (-3.0, 0.0)), -3.0, 0.0, "seeking"),
]
IDS = [repr(curve)[:40] for curve, *_ in CURVES]


@pytest.mark.parametrize(("curve", "low", "high", "attitude"), CURVES, ids=IDS)
def test_curves_rise_and_have_their_inverse_and_derivatives(curve, low, high, attitude):
    """U⁻¹(U(x)) = x; slopes and curvatures equal differences of values."""
    for x in np.linspace(low, high, 12)[1:-1].tolist():
        assert curve.inverse(curve(x)) == pytest.approx(x, abs=1e-8)
        h = 1e-4
        below, at, above = (curve(x + step) for step in (-h, 0.0, h))
        assert below < at < above
        assert curve.slope(x) == pytest.approx((above - below) / (2 * h), rel=1e-4)
        if not isinstance(curve, TabulatedCurve):
            assert curve.curvature(x) == pytest.approx((above - 2 * at + below) / h**2, rel=2e-2, abs=1e-5)
    assert risk_attitude(curve, low, high).attitude == attitude


@pytest.mark.parametrize(("curve", "low", "high", "attitude"), CURVES, ids=IDS)
def test_sign_of_the_premium_is_the_attitude(curve, low, high, attitude):
    """Averse: positive premium on every gamble; seeking: negative; neutral: none."""
    rng = np.random.default_rng(5)
    knots = curve.knots(low, high)
    for _ in range(10):
        amounts = rng.choice(knots, size=min(3, knots.size), replace=False)
        lottery = Lottery(dict(zip(amounts.tolist(), rng.dirichlet(np.ones(amounts.size)).tolist(), strict=True)))
        assessed = assess_risk(curve, lottery)
        sure = curve.inverse(sum(p * curve(x) for x, p in lottery.items()))
        assert assessed.certainty_equivalent == pytest.approx(sure, abs=1e-8)
        assert assessed.premium == pytest.approx(lottery.expectation() - sure, abs=1e-8)
        if attitude != "mixed":
            assert assessed.attitude == attitude
    assert certainty_equivalent(curve, Lottery.certain(float(knots[1]))) == pytest.approx(knots[1])


def test_premium_of_a_told_certainty_equivalent():
    """[1000: .5; 0: .5] worth 400 for sure: mean 500, premium 100 (W6)."""
    told = TabulatedCurve([0, 400, 1000], [0, 0.5, 1])
    assessed = assess_risk(told, Lottery({1000: 0.5, 0: 0.5}))
    assert (assessed.mean, assessed.certainty_equivalent) == (500, pytest.approx(400))
    assert risk_premium(told, Lottery({1000: 0.5, 0: 0.5})) == pytest.approx(100)


def test_debtors_gamble():
    """At -10 M a fair coin for +10 M or -20 M loses 5 M on average, and U = -√|x| takes it: -2.739 > -3.162 (W6)."""
    debt = FunctionCurve(lambda x: -math.sqrt(abs(x)), (-100.0, 0.0))
    coin = Lottery({10: 0.5, -20: 0.5})
    assert coin.expectation() == -5
    assert debt(-10) == pytest.approx(-3.162, abs=5e-4)
    assessed = assess_risk(debt, coin, wealth=-10)
    assert assessed.expected_utility == pytest.approx(-2.739, abs=5e-4)
    assert assessed.attitude == "seeking"
    assert certainty_equivalent(debt, coin, wealth=-10) > 0


def test_gamble_on_four_millions_is_declined():
    """U(0, 3M, 4M) = (0, 10, 12): EU(D) = 9.6 < 10 (W4), and any curve through these points says the same."""
    situation = DecisionSituation({"C": Lottery.certain(3), "D": Lottery({4: 0.8, 0: 0.2})}, {0: 0, 3: 10, 4: 12})
    assert situation.rank().action == "C"
    assert situation.expected_utility("D") == pytest.approx(9.6)
    assert situation.with_utility(TabulatedCurve([0, 3, 4], [0, 10, 12])).rank().action == "C"
    assert situation.with_utility(LinearCurve()).rank().action == "D"


def test_s_shape_feels_the_first_debt_most():
    """|U(-2) - U(-1)| < |U(-1) - U(0)|, concave for gains, convex for debts, and the intervals tell where."""
    curve = SShapedCurve()
    assert abs(curve(-2) - curve(-1)) < abs(curve(-1) - curve(0))
    profile = risk_attitude(curve, -50, 100)
    assert [(part.low, part.high, part.attitude) for part in profile.intervals] == [
        (-50, 0, "seeking"),
        (0, 100, "averse"),
    ]
    assert risk_attitude(curve, 1, 2).attitude == "averse"
    assert risk_attitude(curve, -2, -1).attitude == "seeking"


def test_attitude_may_change_and_is_located():
    """x³ turns from averse to seeking at 0; a broken line is neutral between its knees."""
    cubic = risk_attitude(FunctionCurve(lambda x: x**3), -1, 2)
    assert [part.attitude for part in cubic.intervals] == ["averse", "seeking"]
    assert cubic.intervals[0].high == pytest.approx(0, abs=3 / 256)
    table = risk_attitude(TabulatedCurve([0, 1, 2, 3, 4], [0, 2, 3, 4, 5]), 0, 4)
    assert [part.attitude for part in table.intervals] == ["averse", "neutral"]
    assert risk_attitude(TabulatedCurve([0, 1], [0, 1]), 0, 1).attitude == "neutral"


def test_attitude_survives_saturation_and_units():
    """Far out, where values are the same to rounding, families keep their attitude; a table of huge amounts too."""
    assert risk_attitude(ExponentialCurve(1.0), 0, 500).attitude == "averse"
    assert risk_attitude(FunctionCurve(lambda x: 1e9 + 3 * x), 0, 1).attitude == "neutral"
    assert risk_attitude(TabulatedCurve([0, 1e12, 2e12], [0, 1e-9, 3e-9]), 0, 2e12).attitude == "seeking"


def test_curves_are_equal_by_content():
    """Same family and parameters."""
    assert PowerCurve(0.5, 2.0) == PowerCurve(0.5, 2.0)
    assert PowerCurve(0.5) != PowerCurve(0.6)
    assert LinearCurve() != ExponentialCurve(0.0)
    assert len({TabulatedCurve([0, 1], [0, 1]), TabulatedCurve([0, 1], [0, 1]), LinearCurve(), LinearCurve()}) == 2


@pytest.mark.parametrize("curve", [each[0] for each in CURVES if isinstance(each[0], ScaledCurve)], ids=repr)
def test_aversions_are_those_of_the_curve_itself(curve):
    """-u''/u' and -x u''/u' by differences of utilities; a curve that bends down is averse."""
    for x in (0.7, 2.0, 9.0):
        step = 1e-3 * x
        low, middle, high = (curve(x + move) for move in (-step, 0.0, step))
        first, second = (high - low) / (2 * step), (high - 2 * middle + low) / step**2
        assert curve.slope(x) == pytest.approx(first, rel=1e-4)
        assert curve.curvature(x) == pytest.approx(second, rel=1e-3, abs=1e-6)
        assert curve.absolute_aversion(x) == pytest.approx(-second / first, rel=1e-3, abs=1e-6)
        assert curve.relative_aversion(x) == pytest.approx(-x * second / first, rel=1e-3, abs=1e-6)


def test_arrow_pratt_measures_are_constant_in_their_families():
    """Absolute for exponentials, relative for powers and the logarithm."""
    for x in (0.5, 3.0, 40.0):
        assert absolute_risk_aversion(ExponentialCurve(0.2), x) == pytest.approx(0.2)
        assert relative_risk_aversion(PowerCurve(0.3), x) == pytest.approx(0.7)
        assert relative_risk_aversion(LogarithmicCurve(), x) == pytest.approx(1.0)
        assert absolute_risk_aversion(FunctionCurve(lambda x: 1 - math.exp(-0.2 * x)), x) == pytest.approx(
            0.2, rel=1e-2
        )


def test_small_stakes_leave_nobody_averse():
    """The premium of ±ε is ½ A ε² to second order, so premium / ε goes to 0."""
    curve, wealth = LogarithmicCurve(), 100.0
    shares = []
    for stake in (10.0, 1.0, 0.1):
        premium = risk_premium(curve, Lottery({stake: 0.5, -stake: 0.5}), wealth)
        assert premium == pytest.approx(small_stakes_premium(curve, wealth, stake**2), rel=1e-2)
        shares.append(premium / stake)
    assert shares[0] > 9 * shares[1] > 80 * shares[2] > 0


def test_exponential_equivalents_do_not_depend_on_wealth():
    """Constant absolute aversion: CE = -ln E[e^(-a x)] / a at any wealth."""
    coin = Lottery({10: 0.5, -4: 0.5})
    direct = -math.log(0.5 * math.exp(-1.0) + 0.5 * math.exp(0.4)) / 0.1
    for wealth in (-20.0, 0.0, 55.0):
        assert certainty_equivalent(ExponentialCurve(0.1), coin, wealth) == pytest.approx(direct)


@pytest.mark.parametrize(
    ("family", "curve", "amounts"),
    [
        ("linear", LinearCurve(2.0, 1.0), [0, 3, 7]),
        ("logarithmic", LogarithmicCurve(4.0, 2.0, -1.0), [-2, 0, 3, 10, 30]),
        ("logarithmic", LogarithmicCurve(0.0, 1 / math.log(2)), [1, 2, 4, 8, 16]),
        ("exponential", ExponentialCurve(0.02, 3.0, 0.5), [0, 20, 50, 100, 150]),
        ("exponential", ExponentialCurve(-0.05), [0, 5, 20, 40]),
        ("power", PowerCurve(0.4, 2.0, 1.0), [1, 5, 20, 100]),
        ("power", PowerCurve(-0.7, 2.0), [1, 2, 5, 20]),
        ("s-shaped", SShapedCurve(0.6, 0.8, 2.5, scale=2.0, shift=1.0), [-40, -20, -5, -1, 0, 2, 7, 20, 50]),
        ("tabulated", ExponentialCurve(0.02), [0, 20, 50]),
    ],
)
def test_fitting_recovers_the_curve_behind_exact_points(family, curve, amounts):
    """No residuals, and the same utilities in between."""
    fit = fit_curve(family, amounts, curve.values(amounts))
    spread = float(np.ptp(curve.values(amounts)))
    assert fit.root_mean_square < 1e-6 * spread
    if family != "tabulated":
        between = np.linspace(min(amounts), max(amounts), 15)
        assert fit.curve.values(between) == pytest.approx(curve.values(between), abs=1e-4 * spread)
    assert "misses" in str(fit)


def test_fits_are_least_squares():
    """No curve of the family near the fitted one is nearer to noisy points."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 100, 30)
    y = ExponentialCurve(0.02).values(x) + rng.normal(0, 1.0, 30)
    fit = fit_curve("exponential", x, y)
    best = float((fit.residuals**2).sum())
    for _ in range(200):
        a, scale, shift = fit.curve.aversion, fit.curve.scale, fit.curve.shift
        near = ExponentialCurve(a * rng.uniform(0.8, 1.2), scale * rng.uniform(0.9, 1.1), shift + rng.normal(0, 0.3))
        assert float(((y - near.values(x)) ** 2).sum()) >= best - 1e-9
    assert fit.curve.aversion == pytest.approx(0.02, rel=0.2)


@pytest.mark.parametrize(
    ("family", "amounts", "utilities", "problem"),
    [
        ("power", [-1, 1, 2], [0, 1, 2], "positive"),
        ("s-shaped", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], "both sides"),
        ("exponential", [1, 2], [1, 2], "3 parameters"),
        ("linear", [1, 2, 3], [3, 2, 1], "falls"),
        ("cubic", [1, 2, 3], [3, 2, 1], "no family"),
        ("linear", [1, 2, math.nan], [3, 2, 1], "finite"),
    ],
)
def test_points_that_can_not_be_fitted_are_refused(family, amounts, utilities, problem):
    """With the reason."""
    refuses(InvalidArgument, problem, fit_curve, family, amounts, utilities)


@pytest.mark.parametrize(
    ("function", "reason"),
    [(lambda x: math.nan if x > 2 else x, "it gives NaN"), (lambda x: math.log(3 - x), "math domain error")],
)
def test_functions_without_a_number_name_the_amount(function, reason):
    """Asked for one utility, for a certainty equivalent or for an attitude to risk."""
    curve = FunctionCurve(function, domain=(0.0, 4.0))
    for ask in (
        lambda: curve(3.5),
        lambda: certainty_equivalent(curve, {1: 0.5, 3.5: 0.5}),
        lambda: risk_attitude(curve, 0.0, 4.0),
    ):
        refuses(InvalidArgument, rf"no utility for .*{reason}.*domain=\(low, high\)", ask)


@pytest.mark.parametrize(
    ("curve", "amount", "hint"),
    [
        (LogarithmicCurve(), 0, "above 0; give a wealth above 0"),
        (LogarithmicCurve(wealth=10), -20.5, r"above -10; give a wealth above 20.5, as in LogarithmicCurve\(wealth=21"),
        (LogarithmicCurve(), -math.inf, "above 0"),
        (LogarithmicCurve(), math.nan, "no utility for nan"),
        (PowerCurve(0.5), -1, "from 0 up; for losses use SShapedCurve"),
        (PowerCurve(-1), 0, "above 0"),
        (TabulatedCurve([0, 1], [0, 1]), 3, "from 0 to 1; .* fit_curve"),
        (FunctionCurve(abs, domain=(0, 1)), 3, "widen domain"),
        (LinearCurve(), "win", "'win' is no amount"),
    ],
    ids=str,
)
def test_amounts_out_of_the_domain_are_named_with_it_and_the_fix(curve, amount, hint):
    refuses(InvalidArgument, hint, curve, amount)


def test_curves_refuse_what_they_do_not_know():
    """Amounts outside, utilities out of reach, curves that fall."""
    with pytest.raises(InvalidArgument, match="no utility for"):
        LogarithmicCurve()(-1)
    with pytest.raises(InvalidArgument, match="no utility for"):
        TabulatedCurve([0, 1], [0, 1])(2)
    with pytest.raises(InvalidArgument, match="No amount"):
        ExponentialCurve(0.5).inverse(2.0)
    with pytest.raises(InvalidArgument, match="No amount"):
        TabulatedCurve([0, 1], [0, 1]).inverse(2)
    refuses(InvalidArgument, "More must be better", TabulatedCurve, [0, 1, 2], [0, 2, 1])
    with pytest.raises(InvalidArgument, match="falls"):
        FunctionCurve(math.sin, (0.0, 3.0)).inverse(0.1)
    refuses(InvalidArgument, "LogarithmicCurve", PowerCurve, 0)
    with pytest.raises(NotSupported, match="end"):
        FunctionCurve(math.sqrt, (0.0, 1.0)).slope(0.0)


def number_lotteries():
    weights = st.dictionaries(st.integers(-4, 4), st.integers(1, 5), min_size=1, max_size=4)
    return weights.map(lambda table: Lottery({x: w / sum(table.values()) for x, w in table.items()}))


@settings(max_examples=40, deadline=None)
@given(number_lotteries(), number_lotteries())
def test_dominance_is_agreement_of_all_curves(first, second):
    """Order 1: all step functions 1[x ≥ k] agree; order 2: all min(x, k) do, and these span the cones."""
    report = stochastic_dominance(first, second)
    steps = [lambda x, k=k: float(x >= k) for k in range(-4, 5)]
    caps = [lambda x, k=k: float(min(x, k)) for k in range(-4, 6)]
    gaps = [[first.expected_utility(u) - second.expected_utility(u) for u in family] for family in (steps, caps)]
    expected = ("neither", 0)
    for order, gap in reversed(list(enumerate(gaps, start=1))):
        if min(gap) >= -1e-9:
            expected = ("first", order)
        elif max(gap) <= 1e-9:
            expected = ("second", order)
    if max(map(abs, gaps[0])) <= 1e-9:
        expected = ("both", 1)
    assert (report.better, report.order) == expected
    assert bool(report.crossings) == (min(gaps[0]) < -1e-9 and max(gaps[0]) > 1e-9)
    assert str(report)


@pytest.mark.parametrize("unit", [1e-12, 1e9])
def test_fits_do_not_depend_on_the_units_of_utility(unit):
    """The shape behind exact points is found for tiny and huge utilities."""
    x = np.array([10, 20, 40, 60, 80, 100.0])
    assert fit_curve("power", x, unit * (x / 100) ** 0.5).curve.exponent == pytest.approx(0.5)
    assert fit_curve("logarithmic", x, unit * np.log(x + 7)).curve.wealth == pytest.approx(7)
    assert fit_curve("exponential", x - 50, -unit * np.exp(-0.02 * x)).curve.aversion == pytest.approx(0.02)
    losses = unit * SShapedCurve(0.5, 0.7, 2.0).values(x - 50)
    assert fit_curve("s-shaped", x - 50, losses).curve.loss_exponent == pytest.approx(0.7)


def test_fits_beyond_floats_are_refused():
    """A scale of 1e400 is no float, and one of 1e85 leaves no digit of the utilities."""
    x = np.array([10, 20, 40, 60.0])
    refuses(InvalidArgument, "beyond floats", fit_curve, "power", x * 1e-200, x**2)
    refuses(InvalidArgument, "beyond floats", fit_curve, "exponential", x + 1e4, 1 - np.exp(-0.02 * x))


def test_aversion_is_known_where_the_derivatives_are_beyond_floats():
    """Constant for exponentials, (1 - r) / x for powers, 1 / (x + g) for logarithms, with a kink at a reference."""
    for aversion in (0.01, -0.01):
        assert absolute_risk_aversion(ExponentialCurve(aversion), 1e5) == aversion
        assert small_stakes_premium(ExponentialCurve(aversion), 1e5, variance=4.0) == 2 * aversion
    assert absolute_risk_aversion(PowerCurve(0.5), 0) == np.inf
    assert relative_risk_aversion(PowerCurve(0.5), 0) == 0.5
    assert absolute_risk_aversion(LogarithmicCurve(3.0), 1e300) == pytest.approx(1e-300)
    curve = SShapedCurve(0.5, 0.5, 2.0)
    assert absolute_risk_aversion(curve, 4.0) == 0.125
    assert absolute_risk_aversion(curve, -4.0) == -0.125
    refuses(NotSupported, "kink", absolute_risk_aversion, curve, 0.0)
    refuses(NotSupported, "flat", absolute_risk_aversion, FunctionCurve(lambda x: 1.0), 0.0)


def test_sure_amounts_are_known_where_utilities_are_beyond_floats():
    """ln 2 / a above the worst for an exponential, 2^(1/20) times the worst for a steep power."""
    told = assess_risk(ExponentialCurve(0.01), {-100000: 0.5, 0: 0.5})
    assert told.certainty_equivalent == pytest.approx(-100000 + 100 * np.log(2))
    assert told.expected_utility == -np.inf
    assert told.attitude == "averse"
    with pytest.raises(InvalidArgument, match="utilities are finite"):
        assess_risk(FunctionCurve(lambda x: math.log(x) if x else -math.inf, (0.0, 9.0)), {0: 0.5, 1: 0.5})
    power = assess_risk(PowerCurve(-20.0), {1e-20: 0.5, 1: 0.5})
    assert power.certainty_equivalent == pytest.approx(1e-20 * 2 ** (1 / 20), rel=1e-12)


@pytest.mark.parametrize("exponent", [-3.0, -0.5, 1e-9, 0.5, 1.0, 2.5])
def test_power_means_are_the_sure_amounts_of_powers(exponent):
    """(Σ p xʳ)^(1/r), near the geometric mean for a tiny r, also with a chance of nothing."""
    amounts, chances = np.array([1.0, 7.0, 30.0]), np.array([0.2, 0.5, 0.3])
    mean = (chances @ amounts**exponent) ** (1 / exponent) if abs(exponent) > 0.1 else np.exp(chances @ np.log(amounts))
    lottery = dict(zip(amounts.tolist(), chances.tolist(), strict=True))
    assert certainty_equivalent(PowerCurve(exponent), lottery) == pytest.approx(mean, rel=1e-7)
    assert certainty_equivalent(PowerCurve(0.5), {0: 0.5, 100: 0.5}) == pytest.approx(25.0)
    assert certainty_equivalent(PowerCurve(2.0), {0: 1.0}) == 0


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_attitude_to_a_lottery_does_not_depend_on_the_units(unit):
    """Tiny amounts are felt as large ones are."""
    assert assess_risk(PowerCurve(0.5), {unit: 0.5, 4 * unit: 0.5}).attitude == "averse"
    assert assess_risk(LinearCurve(), {unit: 0.5, 4 * unit: 0.5}).attitude == "neutral"
    assert assess_risk(FunctionCurve(math.sqrt), {unit: 0.5, 4 * unit: 0.5}).attitude == "averse"
    high = FunctionCurve(lambda x: 1e6 * unit + x)  # utilities whose last digits are lost
    assert assess_risk(high, {unit: 0.3, 4.1 * unit: 0.7}).attitude == "neutral"


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
