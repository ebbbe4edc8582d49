"""Certainty equivalents, premiums and derivatives to the digits that floats have, at any scale."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from plausible.errors import InvalidArgument, NotSupported
from plausible.utilities.lotteries.countable import saint_petersburg
from plausible.utilities.lotteries.curve_families import ExponentialCurve, LinearCurve, LogarithmicCurve, PowerCurve
from plausible.utilities.lotteries.curves import FunctionCurve, SShapedCurve, TabulatedCurve
from plausible.utilities.lotteries.risk import (
    absolute_risk_aversion,
    assess_risk,
    certainty_equivalent,
    risk_attitude,
    risk_premium,
)
from refusals import refuses


def exact_premium(utility, inverse, lottery, wealth=0.0):
    """Mean minus U⁻¹(Σ p U(w + x)) with a hundred digits."""
    with localcontext() as context:
        context.prec = 100
        exact = {Decimal(x): Decimal(p) for x, p in lottery.items()}
        mean = sum(p * x for x, p in exact.items())
        return mean - (inverse(sum(p * utility(x + Decimal(wealth)) for x, p in exact.items())) - Decimal(wealth)), mean


def exponential(a):
    a = Decimal(a)
    return lambda x: -(-a * x).exp() / a, lambda u: -(-u * a).ln() / a


def logarithmic(wealth):
    wealth = Decimal(wealth)
    return lambda x: (x + wealth).ln(), lambda u: u.exp() - wealth


def power(r):
    r = Decimal(r)
    return lambda x: x**r / r, lambda u: (u * r) ** (1 / r)


WIDE, NARROW = {0.0: 0.5, 1000.0: 0.5}, {250.0: 0.125, 252.0: 0.625, 257.5: 0.25}
CASES = [
    *[(ExponentialCurve(a), exponential(a)) for a in (1e-20, 1e-12, 1e-6, 1e-3, 0.05, -1e-20, -1e-12, -1e-3, -0.05)],
    *[(LogarithmicCurve(w), logarithmic(w)) for w in (1.0, 1e3, 1e6, 1e12, 1e20)],
    *[(PowerCurve(r), power(r)) for r in (0.5, 0.999, 1 - 1e-6, 1.5, 3.0)],
    *[(PowerCurve(r), power(r)) for r in (-1.0, -7.0, 1e-6)],
]


@pytest.mark.parametrize("lottery", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(("curve", "exact"), CASES, ids=[repr(curve)[:30] for curve, _ in CASES])
def test_premiums_have_the_digits_of_the_exact_ones(curve, exact, lottery):
    """Also 1e-15 of a mean of 500, and its sign is the attitude."""
    if isinstance(curve, PowerCurve) and curve.exponent < 0.1:
        lottery = {x + 1: p for x, p in lottery.items()}
    premium, mean = exact_premium(*exact, lottery)
    found = assess_risk(curve, lottery)
    lost = 1e-12 * float(mean) if isinstance(curve, PowerCurve) and lottery is not NARROW else 0.0
    assert found.premium == pytest.approx(float(premium), rel=1e-9, abs=lost)
    assert found.certainty_equivalent == pytest.approx(float(mean - premium), rel=1e-13)
    assert found.attitude == ("averse" if premium > 0 else "seeking")
    assert risk_premium(curve, lottery) == found.premium


@pytest.mark.parametrize("wealth", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize(
    ("curve", "exact"), [(LogarithmicCurve(), logarithmic(0)), (PowerCurve(0.5), power(0.5))], ids=["log", "root"]
)
def test_small_stakes_of_the_rich_have_small_premiums(curve, exact, wealth):
    """A coin for 10 of 1e12: the wealth does not cancel."""
    lottery = {-10.0: 0.5, 10.0: 0.5}
    premium, _ = exact_premium(*exact, lottery, wealth)
    found = assess_risk(curve, lottery, wealth)
    assert found.premium == pytest.approx(float(premium), rel=1e-9)
    assert found.certainty_equivalent == pytest.approx(-float(premium), rel=1e-9)
    assert found.attitude == "averse"


def test_tiny_amounts_among_large_ones_count():
    """The geometric mean of 1e-300 and 1 is 1e-150; of 5 for sure it is 5."""
    assert certainty_equivalent(LogarithmicCurve(), {1e-300: 0.5, 1.0: 0.5}) == pytest.approx(1e-150, rel=1e-10)
    for curve in (LogarithmicCurve(), ExponentialCurve(0.1), PowerCurve(0.5), LinearCurve(), SShapedCurve()):
        found = assess_risk(curve, {5: 1.0})
        assert found.certainty_equivalent == pytest.approx(5.0)
        assert found.attitude == "neutral"


def test_functions_have_sure_amounts_at_any_scale():
    """The sure amount lies among the amounts; an inverse is found wherever the function has values."""
    identity = FunctionCurve(lambda x: x)
    assert certainty_equivalent(identity, {1e17: 0.5, 3e17: 0.5}) == pytest.approx(2e17)
    assert certainty_equivalent(identity, {1e-30: 0.5, 3e-30: 0.5}) == pytest.approx(2e-30)
    assert identity.inverse(-2e300) == pytest.approx(-2e300)
    steep = FunctionCurve(lambda x: -math.exp(-x))
    assert steep.inverse(-1e300) == pytest.approx(-300 * math.log(10))
    assert certainty_equivalent(steep, {-690: 0.5, 0: 0.5}) == pytest.approx(-690 + math.log(2))
    with pytest.raises(InvalidArgument, match="No amount"):
        FunctionCurve(math.atan).inverse(2.0)
    assert assess_risk(FunctionCurve(lambda x: 1e9 + 3 * x), {0.1: 0.5, 0.7: 0.5}).attitude == "neutral"


#: Functions with their first and second derivative.
SMOOTH = {
    "log": (math.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), lambda x: -0.25 * x**-1.5),
    "square": (lambda x: x * x, lambda x: 2 * x, lambda x: 2.0),
    "inverse": (lambda x: -1 / x, lambda x: 1 / x**2, lambda x: -2 / x**3),
}


@pytest.mark.parametrize("place", [1e-12, 1e-6, 0.3, 7.0, 1e5, 1e12])
@pytest.mark.parametrize("name", SMOOTH)
def test_differences_adapt_to_the_scale(name, place):
    """Against the derivatives on paper."""
    function, slope, curvature = SMOOTH[name]
    curve = FunctionCurve(function)
    assert curve.slope(place) == pytest.approx(slope(place), rel=1e-8)
    assert curve.curvature(place) == pytest.approx(curvature(place), rel=1e-5)
    narrow = FunctionCurve(function, domain=(0.999 * place, 1.001 * place))
    assert narrow.slope(place) == pytest.approx(slope(place), rel=1e-8)


@pytest.mark.parametrize("aversion", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("place", [-2.0, 0.0, 1e-3, 3.0])
def test_the_aversion_of_an_exponential_is_found_from_its_values(aversion, place):
    """At places that are no hint to the scale on which it bends."""
    curve = FunctionCurve(lambda x: -math.exp(-aversion * x))
    amount = place / max(aversion, 1.0)
    assert absolute_risk_aversion(curve, amount) == pytest.approx(aversion, rel=1e-5)


def test_straight_and_flat_functions_have_derivatives_of_zero():
    """Within rounding of their values; a kink and a vertical tangent have none."""
    for function in (lambda x: x, lambda x: 1e9 + 3 * x, math.atan):
        assert absolute_risk_aversion(FunctionCurve(function), 0.0) == 0.0
    assert FunctionCurve(lambda x: 7.0).slope(0.3) == 0.0
    assert FunctionCurve(lambda x: x**3).slope(0.0) == 0.0
    with pytest.raises(NotSupported, match="curvature at 0"):
        FunctionCurve(lambda x: min(x, 2 * x)).curvature(0.0)
    with pytest.raises(NotSupported, match="slope at 0"):
        FunctionCurve(lambda x: math.copysign(abs(x) ** 0.2, x)).slope(0.0)


@pytest.mark.parametrize("change", [-1e9, -3.0, -1e-9, 1e-12, 1e-9, 0.5, 1e6])
def test_gains_and_losses_have_their_derivatives_on_paper(change):
    """xʳ above, -λ |x|ˢ below, at any distance from the reference."""
    curve = SShapedCurve(0.5, 0.8, 2.0, reference=0.0, scale=3.0)
    weight, exponent = (3.0, 0.5) if change > 0 else (6.0, 0.8)
    size = abs(change)
    assert curve.slope(change) == pytest.approx(weight * exponent * size ** (exponent - 1))
    second = weight * exponent * (exponent - 1) * size ** (exponent - 2)
    assert curve.curvature(change) == pytest.approx(second if change > 0 else -second)


def test_the_slope_at_a_reference_is_told_only_where_there_is_one():
    assert SShapedCurve(0.5, 0.5, 2.0).slope(1e-9) == pytest.approx(0.5 * 1e-9**-0.5)
    for curve in (SShapedCurve(), SShapedCurve(1, 1, 2), SShapedCurve(1, 0.5, 1)):
        refuses(NotSupported, "kink at its reference 0", curve.slope, 0.0)
    assert SShapedCurve(1, 1, 1).slope(0.0) == 1.0
    assert SShapedCurve(2, 3, 5).slope(0.0) == 0.0


@pytest.mark.parametrize("low", [-10.0, -1.0, -777.0])
@pytest.mark.parametrize("place", [0.0, 1 / 3, 0.2])
def test_a_kink_is_told_as_one(place, low):
    """Two straight pieces, neutral each, and averse where they meet, on the grid or beside it."""
    for curve in (
        SShapedCurve(1, 1, 2, reference=place),
        FunctionCurve(lambda x: min(x - place, 2 * (x - place))),
    ):
        profile = risk_attitude(curve, low, 10.0)
        assert [part.attitude for part in profile.intervals] == ["neutral", "averse", "neutral"]
        before, kink, after = profile.intervals
        assert kink.is_kink
        assert not before.is_kink
        assert kink.low == before.high == after.low == pytest.approx(place, abs=1e-9)
        assert (before.low, after.high) == (low, 10.0)
    assert risk_attitude(FunctionCurve(lambda x: max(x, 2 * x)), -1, 1).intervals[1].attitude == "seeking"


def test_a_table_has_bends_and_no_kinks():
    """Between its amounts nothing is known."""
    profile = risk_attitude(TabulatedCurve([0, 1, 2, 3, 4, 5], [0, 1, 2, 2.5, 3, 3.5]), 0, 5)
    assert not any(part.is_kink for part in profile.intervals)
    assert np.all(np.diff([part.low for part in profile.intervals]) > 0)


@pytest.mark.parametrize("aversion", [0.01, 1.0, 10.0, 15.0, 20.0, 100.0])
@pytest.mark.parametrize(("first", "factor"), [(2.0, 2.0), (2.0, 1.5), (1e6, 1.5)])
def test_an_endless_lottery_is_worth_no_less_than_its_least_amount(aversion, first, factor):
    """-log Σ p exp(-a x) / a, the exponents about the least amount, which alone counts to the very averse."""
    found = certainty_equivalent(ExponentialCurve(aversion), saint_petersburg(first, factor))
    terms = [2.0**-n * math.exp(-aversion * first * (factor ** (n - 1) - 1)) for n in range(1, 200)]
    assert found == pytest.approx(first - math.log(math.fsum(terms)) / aversion, rel=1e-9)
    assert found >= first


@pytest.mark.parametrize(
    "curve", [PowerCurve(0.5), PowerCurve(-0.5), ExponentialCurve(1.0), ExponentialCurve(1e-6)], ids=repr
)
@pytest.mark.parametrize("num_terms", [5, 40, 60, 82])
def test_amounts_may_be_far_apart(curve, num_terms):
    """Doubling amounts with halving chances, in exact arithmetic: what is unlikely and huge takes no digits away."""
    lottery = saint_petersburg().truncated(num_terms, 2.0**num_terms)
    with localcontext() as context:
        context.prec = 60
        terms = [(Decimal(x), Decimal(p)) for x, p in lottery.items()]
        total = sum(p for _, p in terms)
        if isinstance(curve, PowerCurve):
            r = Decimal(curve.exponent)
            sure = (sum(p * x**r for x, p in terms) / total) ** (1 / r)
        else:
            a = Decimal(curve.aversion)
            sure = -(sum(p * (-a * x).exp() for x, p in terms) / total).ln() / a
    assert certainty_equivalent(curve, lottery) == pytest.approx(float(sure), rel=1e-10)
