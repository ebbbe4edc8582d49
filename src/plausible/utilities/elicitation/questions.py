"""Questions about what outcomes are worth, as text and as data, and the search for the level of indifference."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from plausible.base.options import check_number
from plausible.base.records import Result, record
from plausible.errors import InvalidArgument, shortened, suggestion

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
class IndifferenceSearch:
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
        check_number("tolerance", self.tolerance, above=0, below=1)
        check_number("step", self.step, above=0, below=1)
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
        return max(0, math.ceil(math.log2(max(self.high - self.low, 1e-300) / self.tolerance) - 1e-9))

    def after(self, sign: int) -> IndifferenceSearch:
        """The search once it is known that indifference lies above the level shown (1), below (-1), or at it (0)."""
        low = self.level if sign >= 0 else self.low
        high = self.level if sign <= 0 else self.high
        return replace(self, low=low, high=high, num_questions=self.num_questions + 1)

    def placed(self, value: float) -> IndifferenceSearch:
        """The search once the value was told outright."""
        return replace(self, low=value, high=value, num_questions=self.num_questions + 1)
