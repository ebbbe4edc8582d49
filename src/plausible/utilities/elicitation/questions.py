"""Questions about what outcomes are worth, the search for indifference, and simulated people who answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from plausible.base import SMALLEST, Checked, Result, Seed, generator_of, real, record
from plausible.errors import InvalidArgument, shortened, suggestion
from plausible.utilities.lotteries.lottery import LotteryLike, as_lottery
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

QuestionKind: TypeAlias = Literal["gamble", "time", "scale"]
#: One of the choices of a question, or a number on its scale.
Answer: TypeAlias = str | float


@record
class Question(Result):
    """One question: its text, and what it is about.

    >>> asked = gamble_question("blind", "dead", "healthy", 0.9)
    >>> asked.kind, asked.item, asked.level, asked.choices
    ('gamble', 'blind', 0.9, ('sure', 'gamble', 'same'))
    """

    #: "gamble" (something sure, or a gamble on the anchors), "time" (a longer life, or a healthier one), or "scale".
    kind: QuestionKind
    text: str  # For people
    #: What is judged, and the anchors between which it lies.
    item: Hashable
    worst: Hashable
    best: Hashable
    #: The chance of the best in a gamble, or the share of the years that are left in health; NaN for a scale.
    level: float = math.nan
    #: The words for the first thing, the second, and "same"; empty where the answer is a number.
    choices: tuple[str, ...] = ()
    limits: tuple[float, float] = (0.0, 1.0)  # The ends of the scale, for a number

    def read(self, answer: object) -> Answer:
        """The answer as one of the choices or as a number; beginnings of words, 1, 2 and = do as well.

        >>> gamble_question("blind", "dead", "healthy", 0.9).read("g")
        'gamble'
        """
        if not self.choices:
            try:
                number = float(answer)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                number = math.nan
            if not self.limits[0] <= number <= self.limits[1]:
                raise InvalidArgument(
                    f"{shortened(answer)} is no answer: give a number from {self.limits[0]:g} to {self.limits[1]:g}."
                )
            return number
        word = str(answer).strip().lower()
        short = dict(zip(("1", "2", "="), self.choices, strict=True))
        fitting = [choice for choice in self.choices if word and choice.startswith(word)]
        if word in short:
            return short[word]
        if len(fitting) == 1:
            return fitting[0]
        told = ", ".join(f"{choice} ({key})" for key, choice in short.items())
        raise InvalidArgument(f"{shortened(word)} is no answer: say one of {told}.")

    def __str__(self) -> str:
        return self.text


#: Whoever answers questions.
Respondent: TypeAlias = Callable[[Question], Answer]


def gamble_question(item: Hashable, worst: Hashable, best: Hashable, level: float) -> Question:
    """Would you rather have the item for sure, or the best with a chance of `level` and the worst otherwise?

    >>> print(gamble_question("blind", "dead", "healthy", 0.9))
    Which would you rather have?
      1 (sure)   blind
      2 (gamble) healthy with a chance of 90%, dead with one of 10%
    """
    text = (
        f"Which would you rather have?\n  1 (sure)   {item}\n"
        f"  2 (gamble) {best} with a chance of {100 * level:.6g}%, {worst} with one of {100 * (1 - level):.6g}%"
    )
    return Question("gamble", text, item, worst, best, level, ("sure", "gamble", "same"))


def time_question(item: Hashable, worst: Hashable, best: Hashable, level: float, years: float) -> Question:
    """Would you rather live `years` in the state, or a share of them in the best state?

    >>> print(time_question("blind", "dead", "healthy", 0.25, 20.0))
    Which would you rather have?
      1 (longer)  20 years: blind, then dead
      2 (shorter) 5 years: healthy, then dead
    """
    text = (
        f"Which would you rather have?\n  1 (longer)  {years:.6g} years: {item}, then {worst}\n"
        f"  2 (shorter) {years * level:.6g} years: {best}, then {worst}"
    )
    return Question("time", text, item, worst, best, level, ("longer", "shorter", "same"))


def scale_question(item: Hashable, worst: Hashable, best: Hashable, limits: tuple[float, float]) -> Question:
    """Where does the item lie on a scale between the anchors?

    >>> print(scale_question("blind", "dead", "healthy", (0, 100)))
    Where do you place it, if dead is at 0 and healthy at 100?
      blind
    """
    text = f"Where do you place it, if {worst} is at {limits[0]:g} and {best} at {limits[1]:g}?\n  {item}"
    return Question("scale", text, item, worst, best, limits=limits)


#: In which order levels are shown: halving, rising or falling by steps, or from both ends in turn.
Schedule: TypeAlias = Literal["bisection", "ascending", "descending", "ping-pong"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


@dataclass(frozen=True, slots=True)
class IndifferenceSearch(Checked, tolerance=real(above=0, below=1), step=real(above=0, below=1)):
    """The state of a search for one level in [0, 1], and the options of the search.

    Schedules other than bisection go by steps until indifference is bracketed by one, then halve.

    >>> search = IndifferenceSearch(tolerance=0.25)
    >>> search.level, search.after(1).level, search.after(1).after(-1).is_done
    (0.5, 0.75, True)
    """

    tolerance: float = 0.01  # The width of the bracket at which the search ends
    schedule: Schedule = "bisection"  # In which order levels are shown
    step: float = 0.1  # Of schedules other than bisection
    #: Between which levels indifference lies.
    low: float = 0.0
    high: float = 1.0
    num_questions: int = 0  # How many were answered

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.schedule not in SCHEDULES:
            raise InvalidArgument(f"schedule={self.schedule!r} is not known.{suggestion(self.schedule, SCHEDULES)}")

    @property
    def is_done(self) -> bool:
        """Whether the bracket is narrow enough."""
        return self.high - self.low <= self.tolerance * (1 + 1e-9)

    @property
    def level(self) -> float:
        """The level to show next."""
        if self.schedule == "bisection" or self.high - self.low <= self.step * (1 + 1e-9):
            return self.value
        rises = self.schedule == "ascending" or (self.schedule == "ping-pong" and self.num_questions % 2 == 0)
        return self.low + self.step if rises else self.high - self.step

    @property
    def value(self) -> float:
        """The middle of the bracket."""
        return (self.low + self.high) / 2

    @property
    def max_questions(self) -> int:
        """How many questions bisection takes from here: log₂(width / tolerance), rounded up."""
        return max(0, math.ceil(math.log2(max(self.high - self.low, SMALLEST) / self.tolerance) - 1e-9))

    def after(self, sign: int) -> IndifferenceSearch:
        """The search once it is known that indifference lies above the level shown (1), below (-1), or at it (0)."""
        low = self.level if sign >= 0 else self.low
        high = self.level if sign <= 0 else self.high
        return replace(self, low=low, high=high, num_questions=self.num_questions + 1)

    def placed(self, value: float) -> IndifferenceSearch:
        """The search once the value was told outright."""
        return replace(self, low=value, high=value, num_questions=self.num_questions + 1)


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
