"""People to practise on: simulated respondents, and how people weigh probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.utilities.elicitation.questions import Answer, Question
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


class SimulatedRespondent:
    """Somebody with known utilities who answers questions, more or less as people do (section 22.6).

    Without noise and biases every method finds the utilities.

    Parameters
    ----------
    utility
        The true utilities, of items and of anchors.
    noise
        The standard deviation of errors of judgment, as a share of the distance between the anchors.
    weighting
        How chances are felt, such as `PrelecWeighting()`; by default as they are.
    anchoring
        By which share the judgment of an item moves towards the level that was shown with it before.
    time_exponent
        Years t are worth t to this power: below 1, years far away count less.
    scale_exponent
        Places on a scale are v to this power: above 1, scales understate.

    Examples
    --------
    >>> from plausible.utilities.elicitation.methods import standard_gamble
    >>> from plausible.utilities.elicitation.session import run_session
    >>> respondent = SimulatedRespondent({"dead": 0.0, "blind": 0.4, "healthy": 1.0})
    >>> session = standard_gamble(["blind"], "dead", "healthy", tolerance=0.001)
    >>> round(run_session(session, respondent).result["blind"], 2)
    0.4
    """

    def __init__(
        self,
        utility: UtilityLike,
        *,
        noise: float = 0.0,
        weighting: Weighting | None = None,
        anchoring: float = 0.0,
        time_exponent: float = 1.0,
        scale_exponent: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        if noise < 0 or not 0 <= anchoring < 1:
            raise InvalidArgument(f"noise={noise!r} must not be negative, and anchoring={anchoring!r} lie in [0, 1).")
        if time_exponent <= 0 or scale_exponent <= 0:
            raise InvalidArgument("The exponents of time and scale must be positive.")
        self._utility = read_utility(utility)
        self._noise, self._weighting, self._anchoring = noise, weighting, anchoring
        self._exponents: Mapping[str, float] = {"time": time_exponent, "scale": scale_exponent}
        self._rng = generator_of(seed)
        self._levels_before: dict[tuple[str, Hashable], float] = {}

    def __call__(self, question: Question) -> Answer:
        """The answer to a question."""
        value = self.worth(question) + self._noise * float(self._rng.standard_normal())
        if question.kind == "scale":
            low, high = question.limits
            place: float = min(1.0, max(0.0, value)) ** self._exponents["scale"]
            return low + (high - low) * place
        felt = self._felt(question.kind, question.level)
        topic = (question.kind, question.item)
        if self._anchoring and topic in self._levels_before:
            value += self._anchoring * (self._felt(question.kind, self._levels_before[topic]) - value)
        self._levels_before[topic] = question.level
        if value == felt:
            return "same"
        return question.choices[0] if value > felt else question.choices[1]

    def worth(self, question: Question) -> float:
        """Where the item truly lies between the anchors of a question."""
        item, worst, best = (utility_of(self._utility, each) for each in (question.item, question.worst, question.best))
        if not worst < best:
            raise InvalidArgument(f"{question.best!r} is no better than {question.worst!r} to this respondent.")
        return (item - worst) / (best - worst)

    def _felt(self, kind: str, level: float) -> float:
        """What a level of the second thing is felt to be worth."""
        if kind == "time":
            return float(level ** self._exponents["time"])
        return self._weighting(level) if self._weighting is not None else level
