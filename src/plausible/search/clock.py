"""The one clock of work that has a time limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic

from plausible.base.options import check_seconds


@dataclass(frozen=True, slots=True)
class Clock:
    """When work began and when it has to end; it is handed down to everything that shares a limit.

    >>> Clock.of(None).is_over, Clock.of(0).is_over, Clock.of(None).seconds_left
    (False, True, inf)
    """

    #: Readings of `time.monotonic`; the deadline is infinite where there is no limit.
    start: float
    deadline: float

    @classmethod
    def of(cls, time_limit: float | None) -> Clock:
        """A clock that starts now and has so many seconds; `None` for no limit."""
        check_seconds("time_limit", time_limit)
        now = monotonic()
        return cls(now, math.inf if time_limit is None else now + time_limit)

    @property
    def seconds(self) -> float:
        """The time since it started."""
        return monotonic() - self.start

    @property
    def seconds_left(self) -> float:
        """The time to the deadline: none once that is over, infinite where there is no limit."""
        return max(0.0, self.deadline - monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self.deadline

    def share(self, part: float) -> Clock:
        """A clock for a part of the time that is left: what begins now ends early enough for what comes then.

        >>> Clock.of(None).share(0.5).deadline
        inf
        """
        now = monotonic()
        return Clock(now, now + part * (self.deadline - now) if now < self.deadline else self.deadline)


#: The clock of work without a time limit.
UNLIMITED = Clock(0.0, math.inf)
