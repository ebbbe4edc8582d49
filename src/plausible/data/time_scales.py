"""What times count: numbers, instants, hours on the clock, months, periods; how they become even numbers, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.errors import counted

if TYPE_CHECKING:
    import pandas as pd

#: What the periods of pandas are called.
_PERIODS = {"D": "day", "B": "business day", "W": "week", "M": "month", "Q": "quarter", "Y": "year", "A": "year"}


class Scale(ABC):
    """A way to count time, in which steps of equal length are equal numbers."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def of(cls, values: pd.Index[Any]) -> Self | None:
        """The scale of these times; `None` where they are of another kind."""

    @abstractmethod
    def ordinals(self, values: Any) -> NDArray[Any]:
        """Times as numbers."""

    @abstractmethod
    def at(self, ordinals: NDArray[Any]) -> Any:
        """The times that numbers mean."""

    @abstractmethod
    def told(self, amount: Any) -> str:
        """A distance as people write it."""


def scale_of(values: pd.Index[Any]) -> Scale | None:
    """The scale of times; `None` where they are none."""
    kinds: tuple[type[Scale], ...] = (Months, Clock, Instants, Durations, Periods, Numbers)
    return next((scale for kind in kinds if (scale := kind.of(values)) is not None), None)


@dataclass(frozen=True, slots=True)
class Numbers(Scale):
    """Numbers as they are, whole or fractional."""

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Numbers | None:
        numbers = values.to_numpy()
        return cls() if numbers.dtype.kind in "iuf" and not np.isinf(numbers).any() else None

    def ordinals(self, values: Any) -> NDArray[Any]:
        numbers: NDArray[Any] = values.to_numpy()
        # Small ones and those without a sign can't be subtracted.
        return numbers.astype(np.int64) if numbers.dtype.kind in "iu" else numbers

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        return pd.Index(ordinals)

    def told(self, amount: Any) -> str:
        return f"{amount:.12g}"


@dataclass(frozen=True, slots=True)
class Durations(Scale):
    """Times since some beginning."""

    resolution: str  # of the numbers: "s", "ms", "us" or "ns"

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Durations | None:
        import pandas as pd

        return cls(values.unit) if isinstance(values, pd.TimedeltaIndex) else None

    def ordinals(self, values: Any) -> NDArray[Any]:
        return np.asarray(values.asi8)

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        return pd.TimedeltaIndex(ordinals.astype(f"m8[{self.resolution}]"))

    def told(self, amount: Any) -> str:
        return _duration(int(amount), self.resolution)


@dataclass(frozen=True, slots=True)
class Periods(Scale):
    """Days, weeks, months, quarters, years of a calendar."""

    frequency: Any

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Periods | None:
        import pandas as pd

        return cls(values.freq) if isinstance(values, pd.PeriodIndex) else None

    def ordinals(self, values: Any) -> NDArray[Any]:
        return np.asarray(values.asi8)

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        return pd.PeriodIndex(pd.arrays.PeriodArray(ordinals, dtype=pd.PeriodDtype(self.frequency)))

    def told(self, amount: Any) -> str:
        code = self.frequency.rule_code.partition("-")[0].removesuffix("E")
        return counted(int(amount), _PERIODS[code]) if code in _PERIODS else f"{amount} x {code}"


@dataclass(frozen=True, slots=True)
class Instants(Scale):
    """Points in time, wherever clocks stand."""

    resolution: str
    zone: Any  # in which they are written; None for none

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Self | None:
        import pandas as pd

        return cls(values.unit, values.tz) if isinstance(values, pd.DatetimeIndex) else None

    def ordinals(self, values: Any) -> NDArray[Any]:
        return np.asarray(values.asi8)

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        plain = pd.DatetimeIndex(ordinals.astype(f"M8[{self.resolution}]"))
        return plain if self.zone is None else plain.tz_localize("UTC").tz_convert(self.zone)

    def told(self, amount: Any) -> str:
        return _duration(int(amount), self.resolution)


@dataclass(frozen=True, slots=True)
class Clock(Instants):
    """Times by the clock of a zone, such as every morning at six: days on which clocks are changed are no longer."""

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Self | None:
        import pandas as pd

        if not isinstance(values, pd.DatetimeIndex) or values.tz is None:
            return None
        by_clock = _are_even(values.tz_localize(None).asi8) and not _are_even(values.asi8)
        return cls(values.unit, values.tz) if by_clock else None

    def ordinals(self, values: Any) -> NDArray[Any]:
        return np.asarray(values.tz_localize(None).asi8)

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        plain = pd.DatetimeIndex(ordinals.astype(f"M8[{self.resolution}]"))
        first = np.ones(len(plain), dtype=np.bool_)  # of two hours that are called alike
        return plain.tz_localize(self.zone, ambiguous=first, nonexistent="shift_forward")


@dataclass(frozen=True, slots=True)
class Months(Scale):
    """One day of each month at one time of the day; shorter months end before the 29th, 30th or 31st."""

    day: int
    time: int  # of the day
    resolution: str
    zone: Any

    @classmethod
    def of(cls, values: pd.Index[Any]) -> Months | None:
        import pandas as pd

        if not isinstance(values, pd.DatetimeIndex) or len(values) < 2:
            return None
        wall = values.tz_localize(None)
        day, times = int(wall.day.max()), (wall - wall.normalize()).asi8
        if wall.day.nunique() > 1 and wall.is_month_end.all():
            day = 31
        is_monthly = (wall.day == np.minimum(day, wall.days_in_month)).all() and (times == times[0]).all()
        return cls(day, int(times[0]), values.unit, values.tz) if is_monthly else None

    def ordinals(self, values: Any) -> Ints:
        return np.asarray(values.year * 12 + values.month, dtype=np.int64)

    def at(self, ordinals: NDArray[Any]) -> Any:
        import pandas as pd

        firsts = pd.DatetimeIndex((ordinals - (1970 * 12 + 1)).astype("M8[M]").astype(f"M8[{self.resolution}]"))
        days = np.minimum(self.day, firsts.days_in_month) - 1
        plain = firsts + pd.TimedeltaIndex(np.asarray(days).astype("m8[D]").astype(f"m8[{self.resolution}]"))
        plain = plain + pd.TimedeltaIndex(np.array([self.time]).astype(f"m8[{self.resolution}]"))[0]
        first = np.ones(len(plain), dtype=np.bool_)
        return plain.tz_localize(self.zone, ambiguous=first, nonexistent="shift_forward") if self.zone else plain

    def told(self, amount: Any) -> str:
        return counted(int(amount), "month")


def _duration(amount: int, resolution: str) -> str:
    import pandas as pd

    told = pd.TimedeltaIndex(np.array([amount]).astype(f"m8[{resolution}]"))[0]
    return counted(told.days, "day") if told == pd.Timedelta(told.days, "D") else str(told).removeprefix("0 days ")


def _are_even(ordinals: Ints) -> bool:
    """Whether all distances are whole multiples of the smallest one."""
    apart = np.diff(np.unique(ordinals))
    return bool((apart % apart.min() == 0).all()) if len(apart) else True
