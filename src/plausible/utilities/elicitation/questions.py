"""Questions about what outcomes are worth: as text for people, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Literal, TypeAlias

from plausible.base.records import record
from plausible.errors import InvalidArgument, shortened

QuestionKind: TypeAlias = Literal["gamble", "time", "scale"]
#: One of the choices of a question, or a number on its scale.
Answer: TypeAlias = str | float


@record
class Question:
    """One question: its text, and what it is about.

    Examples
    --------
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
        return self._read_choice(str(answer).strip().lower()) if self.choices else self._read_number(answer)

    def _read_choice(self, word: str) -> str:
        short = dict(zip(("1", "2", "="), self.choices, strict=True))
        fitting = [choice for choice in self.choices if word and choice.startswith(word)]
        if word in short:
            return short[word]
        if len(fitting) == 1:
            return fitting[0]
        told = ", ".join(f"{choice} ({key})" for key, choice in short.items())
        raise InvalidArgument(f"{shortened(word)} is no answer: say one of {told}.")

    def _read_number(self, answer: object) -> float:
        try:
            number = float(answer)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = math.nan
        if not self.limits[0] <= number <= self.limits[1]:
            raise InvalidArgument(
                f"{shortened(answer)} is no answer: give a number from {self.limits[0]:g} to {self.limits[1]:g}."
            )
        return number

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
