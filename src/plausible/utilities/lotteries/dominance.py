"""Stochastic dominance: what everybody prefers who likes more, or who also dislikes risk."""

from __future__ import annotations

from typing import Literal

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.utilities.lotteries.lottery import Lottery, LotteryLike, as_lottery


@record
class StochasticDominance:
    """How two lotteries of amounts compare whatever the utility curve.

    Examples
    --------
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


def stochastic_dominance(first: LotteryLike, second: LotteryLike, tolerance: float = 1e-12) -> StochasticDominance:
    """Compare distribution functions F (first order), then ∫ F (second order), at all amounts.

    The first dominates at order 1 if F₁ ≤ F₂ everywhere, which holds just if E U₁ ≥ E U₂ for each increasing U; at
    order 2 if ∫ F₁ ≤ ∫ F₂, just if that holds for each increasing concave U (Hadar & Russell 1969).

    Parameters
    ----------
    first, second
        Lotteries of amounts, also as dicts of amounts and probabilities.
    tolerance
        On probabilities, and relative to the range on their integrals.

    Examples
    --------
    >>> print(stochastic_dominance(Lottery({500: 1.0}), Lottery({1000: 0.5, 0: 0.5})))
    the first dominates at order 2: everybody who likes more and dislikes risk prefers it
    """
    amounts, (one, other) = _distribution_functions(as_lottery(first), as_lottery(second))
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


def _distribution_functions(first: Lottery, second: Lottery) -> tuple[Floats, list[Floats]]:
    """All amounts in order, and P(at most the amount) for either lottery."""
    tables = []
    for lottery in (first, second):
        flat = lottery.flatten()
        outcomes = [Lottery.certain(outcome).expectation() for outcome in flat.support]
        tables.append((np.array(outcomes), np.array([flat[outcome] for outcome in flat.support])))
    amounts = np.unique(np.concatenate([outcomes for outcomes, _ in tables]))
    masses = [np.bincount(np.searchsorted(amounts, o), weights=p, minlength=amounts.size) for o, p in tables]
    return amounts, [np.cumsum(mass) for mass in masses]
