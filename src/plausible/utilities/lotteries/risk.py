"""What risk costs: the Arrow-Pratt measure, certainty equivalents and premiums."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from plausible.base.records import record
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.attitudes import ATTITUDES, Attitude
from plausible.utilities.lotteries.countable import CountableLottery, SeriesValue
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.lottery import LotteryLike, amount_of, amounts_of

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

    Parameters
    ----------
    curve, wealth
        What amounts owned are worth, and what is owned before.
    lottery
        Of amounts gained or lost: a `Lottery`, a dict of amounts and probabilities, or a `CountableLottery` whose
        expected utility converges.

    Examples
    --------
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
    """Mean minus certainty equivalent: what one would pay to be rid of the risk, or, below 0, to have it.

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

    It is of second order in the stakes: for small ones every smooth curve is nearly neutral to risk.

    The variance is that of the amount gained or lost, whose mean is 0.

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
class RiskAssessment:
    """What a lottery of amounts is worth to somebody.

    >>> from plausible.utilities.lotteries.curve_families import PowerCurve
    >>> assess_risk(PowerCurve(2.0), {100: 0.5, 0: 0.5}).attitude
    'seeking'
    """

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
    """Mean, expected utility, certainty equivalent and premium of a lottery.

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
