"""Steps of time: which row of which sequence comes when, and where a step is missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints, Positions, starts_of
from plausible.base.records import shown
from plausible.base.remedies import Argument, Remedy
from plausible.data.factorizing import factorize, is_absent
from plausible.data.time_scales import Scale, scale_of
from plausible.errors import InvalidArgument, counted

if TYPE_CHECKING:
    import pandas as pd

#: What can be done about missing steps.
GAPS = ("refuse", "fill", "ignore")
#: Fractional times whose distances are whole multiples of the smallest one but for this are regular.
_UNEVEN = 1e-6
#: So many missing steps for each row are hardly meant.
_MOST_FILLED = 100
#: Days that are written in digits alone.
_DAY = r"[12]\d{3}[01]\d[0-3]\d"
_AS_THEY_STAND = Remedy("take rows as they follow each other: ", Argument("gaps", "ignore"))


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The rows of sequences in their order, one sequence after the other."""

    starts: Ints  # where each sequence begins, and where the last one ends
    rows: Positions  # of each step its row, -1 where a missing step was put in
    labels: tuple[Any, ...]  # what each sequence is called
    times: Times | None  # of each step, where they are known

    @classmethod
    def of_lengths(cls, lengths: Sequence[int]) -> Steps:
        """Sequences that come one after the other, with so many rows each."""
        starts = starts_of(lengths)
        return cls(starts, np.arange(starts[-1]), tuple(range(len(lengths))), None)

    @classmethod
    def read(cls, num_rows: int, sequence: tuple[str, Any] | None, time: tuple[str, Any] | None, gaps: str) -> Steps:
        """From the columns that say the sequence and the time of each row, each with its name."""
        numbers, labels = (np.zeros(num_rows, dtype=np.intp), (0,)) if sequence is None else _numbered(*sequence)
        times = None if time is None else Times.read(*time)
        order = _order(numbers, np.zeros(num_rows) if times is None else times.ordinals)
        starts = starts_of(np.bincount(numbers, minlength=len(labels)))
        steps = cls(starts, order, labels, None if times is None else times.take(order))
        if times is None:
            return steps
        steps._refuse_twice()
        return steps if gaps == "ignore" or not num_rows else steps._spaced(gaps)

    @property
    def sequence_of(self) -> Positions:
        """The number of the sequence of each step."""
        return np.repeat(np.arange(len(self.labels)), np.diff(self.starts))

    def where(self, step: int) -> str:
        """The place of a step, for errors."""
        number = int(np.searchsorted(self.starts, step, side="right")) - 1
        of_sequence = f" of sequence {shown(self.labels[number])}" if len(self.labels) > 1 else ""
        if self.times is not None:
            told = f"time {self.times.told(step)}{of_sequence}"
            return f"row {self.rows[step]} ({told})" if self.rows[step] >= 0 else f"{told}, which has no row"
        if self.rows[step] < 0:
            seen = int((self.rows[self.starts[number] : step + 1] >= 0).sum())
            return f"step {step + 1 - self.starts[number] - seen} after the last row{of_sequence}"
        return f"row {self.rows[step]}" + (f" (step {step - self.starts[number]}{of_sequence})" if of_sequence else "")

    def _refuse_twice(self) -> None:
        """Refuse a time that comes twice in a sequence."""
        assert self.times is not None
        same = np.diff(self.times.ordinals) == 0
        same[self.starts[1:-1] - 1] = False  # from one sequence to the next
        if same.any():
            step = int(np.argmax(same))
            is_apart = len(self.labels) > 1
            others = [] if is_apart else [Remedy("name the column of sequences: ", Argument("sequence"))]
            raise InvalidArgument(
                f"Rows {self.rows[step]} and {self.rows[step + 1]} have the same time, {self.times.told(step)}"
                f"{f', in sequence {shown(self.labels[self.sequence_of[step]])}' if is_apart else ''}.",
                remedies=[Remedy("keep one of them"), *others],
            )

    def _spaced(self, gaps: str) -> Steps:
        """With a step for each time between the first and the last of a sequence; or an error, where one is missing."""
        assert self.times is not None
        counts, times = self._counted(self.times)
        if gaps == "refuse" and (counts > 1).any():
            step = int(np.argmax(counts > 1))
            raise InvalidArgument(
                f"There is no row between {self.where(step - 1)} and {self.where(step)}, though times are "
                f"{times.unit_told} apart elsewhere.",
                remedies=[Remedy("take missing steps as not observed: ", Argument("gaps", "fill")), _AS_THEY_STAND],
            )
        if counts.sum() > _MOST_FILLED * len(counts) + 1000:
            raise InvalidArgument(
                f"To fill gaps {int(counts.sum()) - len(counts):,} steps would be put in for "
                f"{counted(len(counts), 'row')}, each {times.unit_told} long.",
                remedies=[Remedy("give times in larger units"), _AS_THEY_STAND],
            )
        ends = np.cumsum(counts)
        if ends[-1] == len(counts):
            return replace(self, times=times)
        rows, before = np.full(int(ends[-1]), -1), np.repeat(np.arange(len(counts)), counts)
        rows[ends - 1] = self.rows
        filled = times.at(times.ordinals[before] + (np.arange(len(rows)) - (ends - 1)[before]) * times.unit)
        return Steps(np.append(0, ends)[self.starts], rows, self.labels, filled)

    def _counted(self, times: Times) -> tuple[Ints, Times]:
        """How many steps each time is after the one before it, 1 at the start of a sequence; times with their unit."""
        is_first = np.zeros(len(self.rows), dtype=np.bool_)
        is_first[self.starts[:-1][np.diff(self.starts) > 0]] = True
        after = np.flatnonzero(~is_first)
        counts = np.ones(len(self.rows), dtype=np.int64)
        if not len(after):
            return counts, times
        apart = times.ordinals[after] - times.ordinals[after - 1]
        multiples = apart / apart.min()
        counts[after] = np.rint(multiples)
        is_float = times.ordinals.dtype.kind == "f"
        rounding = 4 * np.finfo(float).eps * float(np.abs(times.ordinals).max()) if is_float else 0.0
        is_uneven = np.abs(multiples - counts[after]) > _UNEVEN + rounding / apart.min()
        if is_uneven.any():
            step = int(after[np.argmax(is_uneven)])
            raise InvalidArgument(
                f"The times in column {times.name!r} are not regular: {self.where(step - 1)} and {self.where(step)} "
                "are no whole number of steps apart.",
                remedies=[_AS_THEY_STAND, Remedy("give a column that numbers the steps: ", Argument("time"))],
            )
        return counts, times.with_unit(int(after[np.argmin(apart)]))


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Times as they were given, and as numbers that grow evenly."""

    name: str  # of the column
    values: pd.Index[Any]  # numbers, dates or periods
    ordinals: NDArray[Any]  # the same as numbers, whole or fractional
    scale: Scale  # what these count
    unit: Any = None  # how many of them there are from step to step; None where no two times belong together

    @classmethod
    def read(cls, name: str, column: Any) -> Times:
        """The times of all rows, in their order; what is no time is an error with its row."""
        import pandas as pd

        is_pandas = isinstance(column, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
        values = pd.Index(column if is_pandas or not hasattr(column, "to_numpy") else column.to_numpy())
        if isinstance(values, pd.CategoricalIndex):
            values = pd.Index(values.astype(values.categories.dtype))
        if values.dtype == object or isinstance(values.dtype, pd.StringDtype):
            values = _parsed(name, values)
        if values.isna().any():
            raise InvalidArgument(f"Row {int(np.argmax(values.isna()))} has no time in column {name!r}.")
        scale = scale_of(values)
        if scale is None:
            problem = "an infinite number" if values.dtype.kind == "f" else values.dtype
            raise InvalidArgument(f"The times in column {name!r} are numbers, dates or periods, not {problem}.")
        return cls(name, values, scale.ordinals(values), scale)

    def take(self, order: Positions) -> Times:
        """The times in another order."""
        return replace(self, values=self.values[order], ordinals=self.ordinals[order])

    def told(self, step: int) -> str:
        """A time as people write it."""
        value = self.values[step]
        return f"{value:.12g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")

    @property
    def unit_told(self) -> str:
        """The distance of two steps as people write it."""
        return self.scale.told(self.unit)

    def with_unit(self, step: int) -> Times:
        """With the distance of a step from the one before it as the unit."""
        return replace(self, unit=self.ordinals[step] - self.ordinals[step - 1])

    def at(self, ordinals: NDArray[Any]) -> Times:
        """Other times on the same scale."""
        return replace(self, values=self.scale.at(ordinals), ordinals=ordinals)

    def shifted(self, steps: Positions, numbers: Ints) -> Any:
        """The times of some steps, each so many units later."""
        return self.scale.at(self.ordinals[steps] + numbers * self.unit)


def _parsed(name: str, values: pd.Index[Any]) -> Any:
    """Times that are texts or objects as numbers, periods or dates."""
    import pandas as pd

    inferred = pd.Index(values.to_series().infer_objects())
    if inferred.dtype != object and not isinstance(inferred.dtype, pd.StringDtype):
        return inferred
    numbers = pd.to_numeric(values.to_series(), errors="coerce").to_numpy()
    is_number = ~np.isnan(numbers)
    if is_number.all() and not values.str.fullmatch(_DAY).all():
        return pd.Index(numbers)
    try:
        if is_number.any() and not is_number.all():
            raise ValueError("Texts of two kinds.")
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # that texts are looked at one by one
            return pd.DatetimeIndex(pd.to_datetime(values))
    except (ValueError, TypeError):
        wrong = values[int(np.argmin(is_number))]
        raise InvalidArgument(
            f"The times in column {name!r} are numbers, dates or periods, not such as {shown(wrong)}."
        ) from None


def _order(numbers: Positions, times: NDArray[Any]) -> Positions:
    """The rows by sequence, then by time; ties as they stand."""
    is_same, is_later = numbers[1:] == numbers[:-1], times[1:] >= times[:-1]
    if ((numbers[1:] > numbers[:-1]) | (is_same & is_later)).all():  # most tables are in order
        return np.arange(len(numbers))
    return np.lexsort((times, numbers))


def _numbered(name: str, column: Any) -> tuple[Positions, tuple[Any, ...]]:
    """The number of each row's sequence, in the order in which they appear, and what they are called."""
    places, values = factorize(name, column)
    known = np.array([-1 if is_absent(value) else place for place, value in enumerate(values)] + [-1])
    places = known[np.asarray(places, dtype=np.intp)]
    if places.min(initial=0) < 0:
        raise InvalidArgument(f"Row {int(np.argmin(places))} belongs to no sequence: its cell of {name!r} is empty.")
    firsts = np.full(len(values), len(places))
    np.minimum.at(firsts, places, np.arange(len(places)))
    order = np.argsort(firsts, kind="stable")[: int((firsts < len(places)).sum())]
    numbers = np.zeros(len(values), dtype=np.intp)
    numbers[order] = np.arange(len(order))
    return numbers[places], tuple(values[place] for place in order)
