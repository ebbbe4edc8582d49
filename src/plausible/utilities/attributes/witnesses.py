"""What shows that an independence fails: two lotteries that it says are alike, and are not."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.factors.alignment import Scope, assignment_at
from plausible.utilities.wording import seen_text
from plausible.variables import Assignment

#: Outcomes with their probabilities.
WeightedOutcomes: TypeAlias = tuple[tuple[Assignment, float], ...]


@record
class LotteryPair:
    """Two lotteries with the same marginals on every group of attributes, of different expected utility."""

    #: Outcomes with their probabilities.
    first: WeightedOutcomes
    second: WeightedOutcomes
    difference: float  # The expected utility of the first less that of the second

    def __str__(self) -> str:
        first, second = lottery_text(self.first), lottery_text(self.second)
        return f"{first} and {second} have the same marginals and differ by {self.difference:.6g}"


@record
class PreferenceChange:
    """Two lotteries over some attributes, compared differently in two contexts of the others."""

    #: Outcomes of the attributes in question with their probabilities.
    first: WeightedOutcomes
    second: WeightedOutcomes
    #: Two assignments to the other attributes.
    context: Assignment
    other_context: Assignment
    #: The expected utility of the first less that of the second, in each of the two contexts.
    differences: tuple[float, float]

    def __str__(self) -> str:
        here, there = (f"{gain:+.6g}" for gain in self.differences)
        return (
            f"{lottery_text(self.first)} against {lottery_text(self.second)}: {here} where "
            f"{outcome_text(self.context)}, {there} where {outcome_text(self.other_context)}"
        )


def outcome_text(outcome: Assignment) -> str:
    """An outcome in a line."""
    return seen_text(outcome) or "nothing is said"


def lottery_text(lottery: WeightedOutcomes, most: int = 4) -> str:
    """A lottery in a line: its outcomes with their probabilities, the first few of many."""
    if len(lottery) == 1:
        return f"[{outcome_text(lottery[0][0])}]"
    shown = "; ".join(f"{outcome_text(outcome)}: {weight:.4g}" for outcome, weight in lottery[:most])
    return f"[{shown}{'; ...' if len(lottery) > most else ''}]"


def residual_pair(residual: Floats, scope: Scope) -> LotteryPair:
    """The lotteries proportional to the positive and the negative part of what a least-squares fit leaves.

    The residual r is orthogonal to the indicator of every z_i, so both have the same marginals on every Z_i; their
    expected utilities differ by r·U / Σ r⁺ = r·r / Σ r⁺ > 0.
    """
    flat = residual.reshape(-1)
    total = float(np.maximum(flat, 0.0).sum())
    first, second = (_weighted(np.maximum(side, 0.0) / total, scope) for side in (flat, -flat))
    return LotteryPair(first, second, float(flat @ flat) / total)


def _weighted(weights: Floats, scope: Scope) -> WeightedOutcomes:
    return tuple((assignment_at(scope, int(cell)), float(weights[cell])) for cell in np.flatnonzero(weights))
