"""Micromorts and quality-adjusted life years."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.utilities.elicitation.health import (
    HealthTrajectory,
    MicromortCurve,
    MicromortRate,
    micromorts,
    quality_adjusted_years,
)
from plausible.utilities.lotteries.lottery import Lottery
from refusals import refuses


def test_conversion_is_linear_in_the_small_range_and_refused_beyond():
    """(340 - 16) micromorts at 20 dollars are 6480; half a death has no price."""
    rate = MicromortRate(20.0)
    assert rate.to_dollars(340 - 16) == 6480
    assert rate.to_micromorts(rate.to_dollars(12.5)) == pytest.approx(12.5)
    assert rate.to_dollars(-3) == -60
    for refused in (lambda: rate.to_dollars(micromorts(0.5)), lambda: rate.to_micromorts(10**6)):
        refuses(InvalidArgument, "no price per micromort holds", refused)
    refuses(InvalidArgument, "positive", MicromortRate, -1)
    refuses(InvalidArgument, "positive and finite", MicromortRate, np.inf)
    refuses(InvalidArgument, r"limit=2000000\.0", MicromortRate, 20.0, 2e6)
    refuses(InvalidArgument, "probability", micromorts, 1.5)


def test_curves_are_asymmetric_and_never_extrapolated():
    """More is demanded for a risk than paid to be rid of it; the curve's end is the end."""
    curve = MicromortCurve([-100, -10, 10, 100, 1000], [-800, -150, 300, 4000, 90_000])
    assert curve.amount(0) == 0
    assert curve.amount(50) > -curve.amount(-50) > 0
    assert curve.asymmetry(100) == pytest.approx(5.0)
    amounts = [curve.amount(risk) for risk in np.linspace(-100, 1000, 50).tolist()]
    assert (np.diff(amounts) > 0).all()
    refuses(InvalidArgument, "ask about this risk", curve.amount, 2000)
    refuses(InvalidArgument, "million", MicromortCurve, [2e6], [1])


def test_the_price_of_a_micromort_holds_where_the_curve_is_straight():
    """The limit is where the average price departs by the tolerance."""
    risks = np.array([1, 10, 50, 100, 200, 400, 1000.0])
    curve = MicromortCurve(risks, 20 * risks * (1 + (risks / 400) ** 2))
    rate = curve.rate(1.0, tolerance=0.1)
    assert rate.dollars == pytest.approx(20, rel=1e-3)
    assert 100 < rate.limit < 160
    assert abs(curve.amount(rate.limit) / rate.limit / rate.dollars - 1) <= 0.1


def test_years_add_with_their_weights():
    """Σ years · weight, negative where life is worse than death."""
    weights = {"healthy": 1.0, "ill": 0.4, "coma": -0.2}
    course = HealthTrajectory((("healthy", 5), ("ill", 2.5), ("coma", 1), ("healthy", 0)))
    found = quality_adjusted_years(course, weights)
    assert found.total == pytest.approx(5 + 1.0 - 0.2)
    assert float(found) == found.total
    assert course.life_years == 8.5
    assert quality_adjusted_years([], weights).total == 0


def test_discounting_equals_integration():
    """∫ weight(t) (1 + r)⁻ᵗ dt by a fine sum."""
    course, weights = [("a", 3.0), ("b", 7.0), ("c", 2.0)], {"a": 1.0, "b": 0.5, "c": -0.1}
    times = (np.arange(12_000) + 0.5) / 1000
    levels = np.where(times < 3, 1.0, np.where(times < 10, 0.5, -0.1))
    expected = (levels * 1.05**-times).sum() / 1000
    assert quality_adjusted_years(course, weights, discount=0.05).total == pytest.approx(expected, rel=1e-6)


def test_lotteries_of_lives_have_a_mean():
    """An operation that may kill against years of illness."""
    weights = {"healthy": 1.0, "ill": 0.6, "dead": 0.0}
    operate = Lottery({HealthTrajectory((("healthy", 20),)): 0.9, HealthTrajectory((("dead", 20),)): 0.1})
    wait = Lottery.certain(HealthTrajectory((("ill", 20),)))
    worth = [
        each.expected_utility(lambda course: quality_adjusted_years(course, weights).total) for each in (operate, wait)
    ]
    assert worth == pytest.approx([18.0, 12.0])


def test_impossible_courses_are_refused():
    """Negative years, weights above that of health."""
    refuses(InvalidArgument, "'ill'", HealthTrajectory, (("ill", -1),))
    refuses(InvalidArgument, "exceeds 1", quality_adjusted_years, [("bliss", 1)], {"bliss": 1.2})
    refuses(InvalidArgument, "discount", quality_adjusted_years, [("bliss", 1)], {"bliss": 1.0}, discount=-0.1)


def test_a_course_of_health_from_lists_is_an_outcome():
    """Lists become tuples, so that it can be hashed; what is no stage is named."""
    course = HealthTrajectory([["ill", 2], ("well", 10)])
    assert course == HealthTrajectory((("ill", 2.0), ("well", 10.0)))
    lottery = Lottery({course: 0.25, HealthTrajectory([("well", 4)]): 0.75})
    mean = sum(
        chance * float(quality_adjusted_years(life, {"ill": 0.5, "well": 1})) for life, chance in lottery.items()
    )
    assert mean == pytest.approx(0.25 * 11 + 0.75 * 4)
    refuses(InvalidArgument, r"'ill' is no stage: give \(state, years\) pairs", HealthTrajectory, ["ill"])
    refuses(InvalidArgument, "'two' years in 'ill'", HealthTrajectory, [("ill", "two")])
