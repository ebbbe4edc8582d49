"""Risk: attitudes to it over a range, what everybody of an attitude prefers, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np

from plausible.base import PROBABILITY_NOISE, WRITTEN_ROUNDING, Floats, Ints, Result, html_of_print, record
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.countable import CountableLottery, SeriesValue
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.lottery import LotteryLike, amount_of, amounts_of

Attitude: TypeAlias = Literal["averse", "neutral", "seeking", "mixed"]
#: Of a bend of -1, 0 and 1.
ATTITUDES: tuple[Attitude, ...] = ("averse", "neutral", "seeking")


@dataclass(frozen=True, slots=True)
class RiskInterval:
    """Amounts from low to high on which the attitude to risk is one; a kink, if both are the same.

    >>> print(RiskInterval(0.0, 1000.0, "averse"))
    averse from 0 to 1000
    >>> print(RiskInterval(0.0, 0.0, "averse"))
    averse at 0, a kink
    """

    low: float
    high: float
    attitude: Attitude

    @property
    def is_kink(self) -> bool:
        """Whether the slope jumps here, between pieces of another attitude."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.is_kink:
            return f"{self.attitude} at {self.low:.6g}, a kink"
        return f"{self.attitude} from {self.low:.6g} to {self.high:.6g}"

    _repr_html_ = html_of_print


@record
class RiskAttitude(Result):
    """The attitude to risk over a range."""

    _rows = "intervals"

    attitude: Attitude  # "averse", "neutral", "seeking", or "mixed" where it changes
    intervals: tuple[RiskInterval, ...]  # Where it is which, in order

    def __str__(self) -> str:
        return "; ".join(map(str, self.intervals))


def risk_attitude(curve: UtilityCurve, low: float, high: float, tolerance: float = 1e-9) -> RiskAttitude:
    """Whether a curve is concave (averse to risk), convex (seeking), linear (neutral), and where (section 22.2.2).

    Families of one attitude know it. Else slopes of neighbouring chords are compared, at 257 amounts or at those of a
    table, so a change is located to 1/256 of the range; a bend with straight pieces beside it is told as a kink.
    Changes of slope up to the tolerance, as a share of the steepest chord, count as none.

    >>> from plausible.utilities.lotteries.curves import SShapedCurve
    >>> print(risk_attitude(SShapedCurve(0.5, 0.5, 1.0), -100, 100))
    seeking from -100 to 0; averse from 0 to 100
    >>> print(risk_attitude(SShapedCurve(1.0, 1.0, 2.0), -10, 10))
    neutral from -10 to 0; averse at 0, a kink; neutral from 0 to 10
    """
    if not low < high:
        raise InvalidArgument(f"low={low!r} must be less than high={high!r}.")
    knots = curve.knots(curve._inside(low), curve._inside(high))
    intervals = _intervals(curve, knots, curve.bends(knots, tolerance))
    kinds = {interval.attitude for interval in intervals}
    return RiskAttitude(intervals[0].attitude if len(kinds) == 1 else "mixed", intervals)


def _intervals(curve: UtilityCurve, knots: Floats, signs: Ints) -> tuple[RiskInterval, ...]:
    """Runs of the same bend, of which bend i is at the knot i + 1; each begins at the knot of its first bend."""
    if signs.size == 0:
        return (RiskInterval(float(knots[0]), float(knots[-1]), "neutral"),)
    # A single straight knot between two opposite bends is a point of inflection, not a stretch of indifference to risk.
    turns = np.flatnonzero((signs[1:-1] == 0) & (signs[:-2] * signs[2:] < 0)) + 1
    signs[turns] = signs[turns + 1]
    starts = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist()]
    lows = [float(knots[0]), *(float(knots[start + 1]) for start in starts[1:])]
    highs = [*lows[1:], float(knots[-1])]
    if curve.is_known_between_knots:
        for run in range(1, len(starts) - 1):
            if (kink := _kink(curve, knots, signs, starts[run], starts[run + 1])) is not None:
                highs[run - 1] = lows[run] = highs[run] = lows[run + 1] = kink
    found = zip(lows, highs, starts, strict=True)
    return tuple(RiskInterval(low, high, ATTITUDES[int(signs[start]) + 1]) for low, high, start in found)


def _kink(curve: UtilityCurve, knots: Floats, signs: Ints, start: int, end: int) -> float | None:
    """Where the slope jumps, if the bends from start to end are one jump: at a knot, or between two."""
    if signs[start] == 0 or end - start > 2:
        return None
    if end - start == 1:
        return float(knots[start + 1])
    if signs[start - 1] or signs[end]:
        return None
    # The straight pieces at both sides meet between the knots.
    places = knots[start : start + 4]
    levels = curve.values(places)
    before, after = (levels[1] - levels[0]) / (places[1] - places[0]), (levels[3] - levels[2]) / (places[3] - places[2])
    return float((levels[2] - levels[1] - after * places[2] + before * places[1]) / (before - after))


@record
class StochasticDominance(Result):
    """How two lotteries of amounts compare whatever the utility curve.

    >>> print(stochastic_dominance({2: 0.5, 0: 0.5}, {1: 0.5, 0: 0.5}))
    the first dominates at order 1: everybody who likes more prefers it
    """

    #: "first", "second", "both" where they are the same, or "neither".
    better: Literal["first", "second", "both", "neither"]
    #: 1 if everybody agrees for whom more is better, 2 if everybody does who also dislikes risk; 0 for neither.
    order: int
    #: Amounts where the distribution functions (order 1) say the opposite of each other: one for either side.
    crossings: tuple[float, ...]

    def __str__(self) -> str:
        if self.better == "both":
            return "the lotteries are the same"
        if self.better == "neither":
            return "neither dominates: it depends on the utility curve"
        who = "everybody who likes more" if self.order == 1 else "everybody who likes more and dislikes risk"
        return f"the {self.better} dominates at order {self.order}: {who} prefers it"


def stochastic_dominance(
    first: LotteryLike, second: LotteryLike, tolerance: float = PROBABILITY_NOISE
) -> StochasticDominance:
    """Compare distribution functions F (first order), then ∫ F (second order), at all amounts.

    The first dominates at order 1 if F₁ ≤ F₂ everywhere, which holds just if E U₁ ≥ E U₂ for each increasing U; at
    order 2 if ∫ F₁ ≤ ∫ F₂, just if that holds for each increasing concave U (Hadar & Russell 1969). The tolerance is on
    probabilities, and relative to the range on their integrals.

    >>> print(stochastic_dominance(500, {1000: 0.5, 0: 0.5}))
    the first dominates at order 2: everybody who likes more and dislikes risk prefers it
    """
    tables = [amounts_of(lottery) for lottery in (first, second)]
    amounts = np.unique(np.concatenate([outcomes for outcomes, _ in tables]))
    masses = [np.bincount(np.searchsorted(amounts, o), weights=p, minlength=amounts.size) for o, p in tables]
    one, other = (np.cumsum(mass) for mass in masses)
    gap = np.where(np.abs(one - other) <= tolerance, 0.0, one - other)
    if not gap.any():
        return StochasticDominance("both", 1, ())
    lowest, highest = int(gap.argmin()), int(gap.argmax())
    crossings = (float(amounts[lowest]), float(amounts[highest])) if gap[lowest] < 0 < gap[highest] else ()
    if not crossings:
        return StochasticDominance("first" if gap[lowest] < 0 else "second", 1, ())
    area = np.concatenate([[0.0], np.cumsum(gap[:-1] * np.diff(amounts))])
    area[np.abs(area) <= tolerance * np.ptp(amounts)] = 0.0
    if (area <= 0).all() or (area >= 0).all():
        return StochasticDominance("first" if (area <= 0).all() else "second", 2, crossings)
    return StochasticDominance("neither", 0, crossings)


#: The rest of an endless lottery adds nothing if it is no greater a part of its utility.
_NEXT_TO_NOTHING = 1e-12


def absolute_risk_aversion(curve: UtilityCurve, amount: float) -> float:
    """The Arrow-Pratt measure -U''(x) / U'(x); infinite for a power at 0.

    >>> from plausible.utilities.lotteries.curve_families import ExponentialCurve
    >>> absolute_risk_aversion(ExponentialCurve(0.5), 3.0)
    0.5
    """
    return curve.absolute_aversion(amount)


def relative_risk_aversion(curve: UtilityCurve, amount: float) -> float:
    """-x U''(x) / U'(x): one for a logarithm of the amount.

    >>> from plausible.utilities.lotteries.curve_families import LogarithmicCurve
    >>> relative_risk_aversion(LogarithmicCurve(), 7.0)
    1.0
    """
    return curve.relative_aversion(amount)


def _mean(lottery: LotteryLike) -> float:
    """The mean amount, which is infinite where the sum of an endless lottery has that limit."""
    if not isinstance(lottery, CountableLottery):
        amounts, probabilities = amounts_of(lottery)
        return math.fsum(amounts * probabilities)
    found = lottery.expected_utility(amount_of)
    if not found.converged and not math.isinf(found.value):
        raise InvalidArgument(f"The mean of {lottery} is not known: {found}.")
    return found.value


def _endless_utility(curve: UtilityCurve, lottery: CountableLottery, wealth: float) -> SeriesValue:
    """The expected utility of what is owned after an endless lottery, term by term, if it converges."""
    found = lottery.expected_utility(lambda outcome: curve(wealth + amount_of(outcome)))
    if not found.converged:
        raise InvalidArgument(
            f"No sure amount is found to be as good as {lottery}: under {curve} its expected utility is not known "
            f"({found}). Give an end to it by lottery.truncated(num_terms, rest), or take a curve with a bound."
        )
    return found


def certainty_equivalent(curve: UtilityCurve, lottery: LotteryLike, wealth: float = 0.0) -> float:
    """The sure amount that is as good as a lottery: U⁻¹(EU), less what is owned.

    The curve tells what amounts owned are worth, wealth what is owned before; the lottery is of amounts gained or lost:
    a `Lottery`, a dict of amounts and probabilities, or a `CountableLottery` whose expected utility converges.

    >>> from plausible.utilities.lotteries.curves import TabulatedCurve
    >>> round(certainty_equivalent(TabulatedCurve([0, 400, 1000], [0, 0.5, 1]), {1000: 0.5, 0: 0.5}), 6)
    400.0

    The game of Saint Petersburg, of infinite mean, is worth 4 to whoever feels the logarithm of an amount:

    >>> from plausible.utilities import LogarithmicCurve, saint_petersburg
    >>> round(certainty_equivalent(LogarithmicCurve(), saint_petersburg()), 9)
    4.0
    """
    if not isinstance(curve, UtilityCurve):
        raise InvalidArgument(
            f"The first argument is a curve, such as ExponentialCurve(0.01), and the second a lottery; not {curve!r}. "
            "A function becomes one with FunctionCurve(function, domain=(low, high))."
        )
    if isinstance(lottery, CountableLottery):
        found = _endless_utility(curve, lottery, wealth)
        *_, last = islice(lottery.terms(), found.num_terms)
        amounts, probabilities = amounts_of(lottery.truncated(found.num_terms, last[0]))
        rest = curve.mean_utility(wealth + amounts, probabilities) - found.value
        if abs(rest) > _NEXT_TO_NOTHING * abs(found.value):
            return curve.inverse(found.value) - wealth
        # From the terms added up, as the rest adds nothing: a bounded utility has lost what its inverse needs.
        return curve.sure_amount(wealth + amounts, probabilities) - wealth
    mean, premium = _mean(lottery), risk_premium(curve, lottery, wealth)
    # Where both are nearly the same their difference has lost its digits, as the wealth would make it too.
    if wealth or abs(mean - premium) >= abs(mean) / 4:
        return mean - premium
    return curve.sure_amount(*amounts_of(lottery))


def risk_premium(curve: UtilityCurve, lottery: LotteryLike, wealth: float = 0.0) -> float:
    """Mean minus certainty equivalent (see there): what one would pay to be rid of the risk, or, below 0, to have it.

    >>> from plausible.utilities.lotteries.curve_families import ExponentialCurve
    >>> round(risk_premium(ExponentialCurve(1 / 500), {1000: 0.5, 0: 0.5}), 1)
    216.9
    """
    if isinstance(lottery, CountableLottery):
        return _mean(lottery) - certainty_equivalent(curve, lottery, wealth)
    amounts, probabilities = amounts_of(lottery)
    deviations = amounts - math.fsum(amounts * probabilities)
    return curve.premium(wealth + amounts, deviations, probabilities)


def small_stakes_premium(curve: UtilityCurve, wealth: float, variance: float) -> float:
    """Pratt's approximation of the premium, ½ variance · (-U''/U').

    It is of second order in the stakes: for small ones every smooth curve is nearly neutral to risk. The variance is
    that of the amount gained or lost, whose mean is 0.

    >>> from plausible.utilities.lotteries.curve_families import LogarithmicCurve
    >>> curve = LogarithmicCurve()
    >>> small_stakes_premium(curve, wealth=1000.0, variance=10.0**2)
    0.05
    >>> round(risk_premium(curve, {10: 0.5, -10: 0.5}, wealth=1000.0), 6)
    0.050001
    """
    if variance < 0:
        raise InvalidArgument(f"variance={variance!r} is negative.")
    return 0.5 * variance * absolute_risk_aversion(curve, wealth)


@record
class RiskAssessment(Result):
    """What a lottery of amounts is worth to somebody."""

    mean: float  # Of the amounts
    expected_utility: float  # Of what is owned after; infinite where it is beyond floats, though the sure amount is not
    certainty_equivalent: float  # The sure amount that is as good
    premium: float  # mean - certainty equivalent
    attitude: Attitude  # Towards this lottery

    def __str__(self) -> str:
        return (
            f"mean {self.mean:.6g}, as good as {self.certainty_equivalent:.6g} for sure: "
            f"risk premium {self.premium:.6g} ({self.attitude})"
        )


def assess_risk(curve: UtilityCurve, lottery: LotteryLike, wealth: float = 0.0) -> RiskAssessment:
    """Mean, expected utility, certainty equivalent (see there) and premium of a lottery.

    >>> from plausible.utilities.lotteries.curves import TabulatedCurve
    >>> print(assess_risk(TabulatedCurve([0, 400, 1000], [0, 0.5, 1]), {1000: 0.5, 0: 0.5}))
    mean 500, as good as 400 for sure: risk premium 100 (averse)
    """
    mean, sure = _mean(lottery), certainty_equivalent(curve, lottery, wealth)
    premium = risk_premium(curve, lottery, wealth)
    if isinstance(lottery, CountableLottery):
        expected = _endless_utility(curve, lottery, wealth).value
        bend = 0 if abs(premium) <= WRITTEN_ROUNDING * (abs(sure) + abs(wealth)) else -int(np.sign(premium))
    else:
        amounts, probabilities = amounts_of(lottery)
        expected = curve.mean_utility(wealth + amounts, probabilities)
        bend = curve.bend_towards(premium, wealth + amounts)
    return RiskAssessment(mean, expected, sure, premium, ATTITUDES[bend + 1])
