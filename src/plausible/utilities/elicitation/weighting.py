"""How people weigh probabilities: rare events too much, likely ones too little."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.lottery import LotteryLike, as_lottery
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

#: A rising function of probabilities with w(0) = 0 and w(1) = 1.
Weighting: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class PrelecWeighting:
    """w(p) = exp(-(-ln p)^curvature): crosses the diagonal at 1/e (Prelec 1998).

    >>> weigh = PrelecWeighting(0.65)
    >>> round(weigh(0.01), 3), round(weigh(0.9), 3)
    (0.067, 0.793)
    """

    curvature: float = 0.65

    def __post_init__(self) -> None:
        if not 0 < self.curvature <= 1:
            raise InvalidArgument(f"curvature={self.curvature!r} must lie in (0, 1]; 1 is no bias.")

    def __call__(self, probability: float) -> float:
        """The weight of a probability."""
        return 0.0 if probability <= 0 else math.exp(-((-math.log(min(probability, 1.0))) ** self.curvature))


@dataclass(frozen=True, slots=True)
class TverskyKahnemanWeighting:
    """w(p) = pᵞ / (pᵞ + (1 - p)ᵞ)^(1/γ) (Tversky & Kahneman 1992).

    >>> weigh = TverskyKahnemanWeighting()
    >>> round(weigh(0.01), 3), round(weigh(0.9), 3)
    (0.055, 0.712)
    """

    gamma: float = 0.61

    def __post_init__(self) -> None:
        if not 0.3 <= self.gamma <= 1:
            raise InvalidArgument(f"gamma={self.gamma!r} must lie in [0.3, 1]: below, the weights do not rise.")

    def __call__(self, probability: float) -> float:
        """The weight of a probability."""
        chance = min(max(probability, 0.0), 1.0)
        power, other = chance**self.gamma, (1.0 - chance) ** self.gamma
        return float(power / (power + other) ** (1.0 / self.gamma))


def rank_dependent_utility(lottery: LotteryLike, utility: UtilityLike, weighting: Weighting) -> float:
    """Expected utility with weighted chances of getting at least as much (Quiggin 1982).

    With outcomes from the best down, the i-th counts w(p₁ + ... + pᵢ) - w(p₁ + ... + pᵢ₋₁), which keeps dominance; the
    identity for w gives expected utility. A w that overweighs rare events shows the paradox of Allais.

    Parameters
    ----------
    lottery
        Of any outcomes.
    utility
        Of them.
    weighting
        w.

    Examples
    --------
    >>> rank_dependent_utility({10: 0.25, 0: 0.75}, lambda x: x, lambda p: p ** 0.5)
    5.0
    """
    value = read_utility(utility)
    flat = as_lottery(lottery).flatten()
    ranked = sorted(((utility_of(value, outcome), flat[outcome]) for outcome in flat.support), reverse=True)
    total, reached, weight = 0.0, 0.0, 0.0
    for worth, probability in ranked:
        reached = min(1.0, reached + probability)
        following = weighting(reached)
        total, weight = total + worth * (following - weight), following
    return total
