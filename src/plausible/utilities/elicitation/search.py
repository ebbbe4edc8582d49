"""Searching for the level at which somebody is indifferent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from plausible.errors import InvalidArgument, suggestion

#: In which order levels are shown: halving, rising or falling by steps, or from both ends in turn.
Schedule: TypeAlias = Literal["bisection", "ascending", "descending", "ping-pong"]
_SCHEDULES = ("bisection", "ascending", "descending", "ping-pong")


@dataclass(frozen=True, slots=True)
class IndifferenceSearch:
    """The state of a search for one level in [0, 1], and the options of the search.

    Schedules other than bisection go by steps until indifference is bracketed by one, then halve.

    Examples
    --------
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
        if not 0 < self.tolerance < 1:
            raise InvalidArgument(f"tolerance={self.tolerance!r} must lie between 0 and 1.")
        if self.schedule not in _SCHEDULES:
            raise InvalidArgument(f"schedule={self.schedule!r} is not known.{suggestion(self.schedule, _SCHEDULES)}")
        if not 0 < self.step < 1:
            raise InvalidArgument(f"step={self.step!r} must lie between 0 and 1.")

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
