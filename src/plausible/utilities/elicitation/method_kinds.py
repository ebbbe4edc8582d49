"""What is asked about an outcome by each of the classical methods, and what an answer tells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, final

from plausible.errors import InvalidArgument, shortened
from plausible.utilities.elicitation.elicited import amount_of
from plausible.utilities.elicitation.questions import (
    Answer,
    Question,
    gamble_question,
    scale_question,
    time_question,
)
from plausible.utilities.elicitation.search import IndifferenceSearch, Schedule


def _check_amounts(items: Iterable[Hashable], worst: Hashable, best: Hashable) -> None:
    """Refuse amounts that don't lie between the anchors, if these are amounts too."""
    ends = [amount for amount in (amount_of(worst), amount_of(best)) if amount is not None]
    if len(ends) < 2:
        return
    for item in items:
        amount = amount_of(item)
        if amount is not None and not min(ends) < amount < max(ends):
            raise InvalidArgument(
                f"{item!r} does not lie between the anchors {worst!r} and {best!r}: name anchors beyond it, "
                f"or leave it out of what is judged."
            )


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Method(ABC):
    """What is asked about each item, and what an answer tells."""

    name: ClassVar[str]

    items: tuple[Hashable, ...]
    worst: Hashable
    best: Hashable
    tolerance: float = 0.01
    schedule: Schedule = "bisection"
    step: float = 0.1

    def __post_init__(self) -> None:
        if not self.items:
            raise InvalidArgument("There is nothing to ask about: list the outcomes to judge.")
        for outcome in (*self.items, self.worst, self.best):
            if not _is_hashable(outcome):
                raise InvalidArgument(f"{shortened(outcome)} is no outcome: name outcomes by texts, numbers or tuples.")
        if len(set(self.items)) < len(self.items):
            raise InvalidArgument(f"An outcome stands twice in {list(self.items)!r}.")
        if self.worst == self.best:
            raise InvalidArgument(f"The anchors must differ; both are {self.best!r}.")
        if anchors := [item for item in self.items if item in (self.worst, self.best)]:
            raise InvalidArgument(f"{anchors[0]!r} is an anchor: its utility is known. Leave it out of what is judged.")
        _check_amounts(self.items, self.worst, self.best)
        self._check_options()

    @abstractmethod
    def _check_options(self) -> None:
        """Check what only this method has, and make it of the right type."""

    @property
    def search(self) -> IndifferenceSearch:
        """Where the search for one item begins."""
        return IndifferenceSearch(self.tolerance, self.schedule, self.step)

    @abstractmethod
    def question(self, item: Hashable, level: float) -> Question:
        """What to ask about an item."""

    def learn(self, search: IndifferenceSearch, question: Question, answer: Answer) -> IndifferenceSearch:
        """What an answer tells: whoever takes the first thing rates the item above the level."""
        return search.after({question.choices[0]: 1, question.choices[1]: -1, "same": 0}[str(answer)])


@final
@dataclass(frozen=True, slots=True)
class StandardGamble(Method):
    """The outcome for sure, or a gamble on the anchors."""

    name: ClassVar[str] = "standard-gamble"

    def _check_options(self) -> None:
        """Nothing: it has only what all have."""

    def question(self, item: Hashable, level: float) -> Question:
        """The item for sure, or a gamble."""
        return gamble_question(item, self.worst, self.best, level)


@final
@dataclass(frozen=True, slots=True)
class TimeTradeOff(Method):
    """All the years in a state of health, or fewer in full health."""

    name: ClassVar[str] = "time-trade-off"

    years: float = 10.0

    def _check_options(self) -> None:
        if not (_is_finite(self.years) and self.years > 0):
            raise InvalidArgument(f"years={shortened(self.years)} must be a positive, finite number.")
        object.__setattr__(self, "years", float(self.years))

    def question(self, item: Hashable, level: float) -> Question:
        """All the years in this state, or some in health."""
        return time_question(item, self.worst, self.best, level, self.years)


@final
@dataclass(frozen=True, slots=True)
class VisualAnalog(Method):
    """A place on a scale."""

    name: ClassVar[str] = "visual-analog"

    limits: tuple[float, float] = (0.0, 100.0)

    def _check_options(self) -> None:
        limits = self.limits if isinstance(self.limits, (tuple, list)) else ()
        if not (len(limits) == 2 and all(map(_is_finite, limits)) and limits[0] < limits[1]):
            raise InvalidArgument(f"limits={shortened(self.limits)} must be two finite numbers that rise, as (0, 100).")
        object.__setattr__(self, "limits", (float(limits[0]), float(limits[1])))

    def question(self, item: Hashable, level: float) -> Question:
        """Where on the scale?"""
        return scale_question(item, self.worst, self.best, self.limits)

    def learn(self, search: IndifferenceSearch, question: Question, answer: Answer) -> IndifferenceSearch:
        """The place, as a share of the scale."""
        low, high = self.limits
        return search.placed((float(answer) - low) / (high - low))


#: The methods by their names.
METHODS: dict[str, type[Method]] = {each.name: each for each in (StandardGamble, TimeTradeOff, VisualAnalog)}
