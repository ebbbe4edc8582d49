"""What a column turns out to be whose cells come in batches, and its cells as positions of states or as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.data.batches import (
    CATEGORIES,
    CELLS,
    NOTHING,
    NUMBERS,
    TEXT,
    WHOLE_NUMBERS,
    Kind,
    Numbers,
    Values,
    joined_kind,
)
from plausible.data.column_types import MOST_WHOLE_STATES, doubt_by, read_column
from plausible.data.columns import looked_up
from plausible.data.csv_columns import TextColumn, is_fraction, is_number
from plausible.data.factorizing import MISSING_WORDS, MissingValues, is_absent, means_missing
from plausible.data.source_parts import drift
from plausible.errors import FormatError, UnknownState
from plausible.variables import Variable

#: A column with more different values than this has no states.
MOST_VALUES = 2**20
#: Of the texts of numbers in a CSV file no more than these are kept.
_MOST_NUMBERS = 2**12
_NO_PLACES: Positions = np.empty(0, dtype=np.intp)


@dataclass(slots=True, eq=False)
class GatheredColumn:
    """A column of which one batch comes after the other: what it has held so far."""

    name: str
    kind: Kind = NOTHING
    place: str = ""  # where that kind was seen first
    num_known: int = 0
    _places: dict[Any, None] = field(default_factory=dict)  # the values seen, in order
    _low: float = np.inf
    _high: float = -np.inf
    _has_fraction: bool = False
    _has_many_numbers: bool = False  # texts of more numbers than are kept
    _overflows: bool = False
    _is_typed: bool = False  # whether the looks of texts tell what they are

    def add(self, cells: Values | Numbers, place: str) -> None:
        """The next batch."""
        self._meet(cells.kind, place)
        if self.kind == NUMBERS:
            self._add_numbers(_as_numbers(cells), place)
        elif isinstance(cells, Values):
            self.num_known += int(np.count_nonzero(np.asarray(cells.places) >= 0))
            self._is_typed = self._is_typed or cells.kind == CELLS or (cells.kind == TEXT and cells.had_markers)
            self._keep(cells.values, place)

    def join(self, other: GatheredColumn) -> None:
        """What another has held of the column, whose cells come after those of this one."""
        self._meet(other.kind, other.place)
        if self.kind == NUMBERS:
            other._take_as_numbers()
        self.num_known += other.num_known
        self._low, self._high = min(self._low, other._low), max(self._high, other._high)
        self._has_fraction = self._has_fraction or other._has_fraction
        self._is_typed = self._is_typed or other._is_typed
        if self.kind == NUMBERS:
            self._keep_whole(other._places)
        else:
            self._keep(list(other._places), other.place)
        self._has_many_numbers = self._has_many_numbers or other._has_many_numbers
        self._overflows = self._overflows or other._overflows

    def _meet(self, kind: Kind, place: str) -> None:
        """Be of a kind that goes with all before; refused where there is none."""
        joined = joined_kind(self.kind, kind)
        if joined is None or (joined == TEXT != self.kind and not _are_texts(self._places)):
            raise drift(self.name, (self.kind, self.place), (kind, place))
        if joined != self.kind:
            if joined == NUMBERS:
                self._take_as_numbers()
            self.kind, self.place = joined, place

    def _take_as_numbers(self) -> None:
        """Take whole numbers that were seen as fractional ones."""
        if self.kind == WHOLE_NUMBERS and self._places:
            self._low, self._high = min(self._places), max(self._places)
            self._overflows = False

    def _add_numbers(self, numbers: Floats, place: str) -> None:
        _refuse_infinite(self.name, numbers, place)
        known = numbers[~np.isnan(numbers)]
        self.num_known += len(known)
        if len(known):
            self._low, self._high = min(self._low, known.min()), max(self._high, known.max())
            self._has_fraction = self._has_fraction or bool((np.rint(known) != known).any())
            if not self._has_fraction:
                self._keep_whole(map(int, np.unique(known).tolist()))

    def _keep_whole(self, numbers: Iterable[int]) -> None:
        if len(self._places) <= MOST_WHOLE_STATES and not self._has_fraction:
            self._places |= dict.fromkeys(numbers)

    def _keep(self, values: Sequence[Any], place: str) -> None:
        """Values that were not seen before."""
        if self.kind == TEXT and not _are_texts(values):
            problem = f"The column {self.name!r} holds text in some places, other values here: {values[:3]}."
            raise FormatError(problem, file=place)
        if self.kind == CELLS and not self._has_many_numbers:
            self._has_many_numbers = self._are_many_numbers(values)
        for value in values:
            if value in self._places or is_absent(value) or (self._has_many_numbers and is_number(value)):
                continue
            if len(self._places) >= MOST_VALUES:
                self._overflows = True
                return
            self._places[value] = None

    def _are_many_numbers(self, texts: Sequence[str]) -> bool:
        """Whether there are so many texts of numbers, some of them fractions, that no more of them need be known."""
        if len(self._places) + len(texts) <= _MOST_NUMBERS:
            return False
        self._places |= dict.fromkeys(text for text in texts[:_MOST_NUMBERS] if is_number(text))
        return all(map(is_number, self._places)) and any(map(is_fraction, self._places))

    @property
    def variable(self) -> Variable | None:
        """The variable it is by the rules of `Table.read`; `None` of a column without any value, or with too many."""
        if self._overflows or (not self._places and not self._has_fraction and self.kind != CATEGORIES):
            return None
        values = list(self._places)
        if self._is_typed:
            values = TextColumn(self.name, _NO_PLACES, values).values
        if self.kind == CATEGORIES:
            return Variable(self.name, values) if values else None
        if self.kind == NUMBERS and (self._has_fraction or len(values) > MOST_WHOLE_STATES):
            return Variable(self.name)
        variable = read_column(self.name, values)[0]
        return None if self._has_many_numbers and not variable.is_continuous else variable

    @property
    def has_too_many_values(self) -> bool:
        """Whether there are more different values than a variable has states."""
        return self._overflows or (self._has_many_numbers and self.variable is None)

    @property
    def texts(self) -> list[str]:
        """Those of a column of a CSV file."""
        return list(self._places) if self.kind == CELLS else []

    @property
    def doubt(self) -> str:
        """Why it is hardly a variable, as `column_types.doubt_of` tells it of a whole column; "" if it may be one."""
        if self.has_too_many_values:
            return f"more than {MOST_VALUES} different values"
        variable = self.variable
        if variable is None:
            return ""
        is_run = self.kind == NUMBERS and not self._has_fraction and self._high - self._low == self.num_known - 1
        num_values = len(self._places) if not variable.is_continuous else self.num_known if is_run else 0
        return doubt_by(self.name, variable, lambda: (num_values, self.num_known))


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) or is_absent(value) for value in values)


def _as_numbers(cells: Values | Numbers) -> Floats:
    if isinstance(cells, Numbers):
        return cells.numbers
    return np.array([*cells.values, np.nan], dtype=np.float64)[cells.places]


def encode(variable: Variable, cells: Values | Numbers, place: str, row_of: Callable[[int], int] = int) -> NDArray[Any]:
    """The cells of a batch as positions of states, -1 where they are missing, or as numbers.

    What `row_of` says of the number of a cell is the row at that place that errors name.
    """
    if isinstance(cells, Numbers):
        if variable.is_continuous:
            _refuse_infinite(variable.name, cells.numbers, place)
            return cells.numbers
        distinct, places = np.unique(cells.numbers, return_inverse=True)
        cells = Values(cells.kind, places, distinct.tolist())
    encoded = _lookup(variable, cells.kind, cells.values, place)[cells.places]
    if not variable.is_continuous and encoded.min(initial=0) < -1:
        row = int(np.argmin(encoded))
        value = cells.values[cells.places[row]]
        remedies = [means_missing([value])] if value in MISSING_WORDS else []
        where = f"{place}: Row {row_of(row)} of column {variable.name!r}"
        raise UnknownState(f"{where}: {variable.unknown_state(value)}", remedies=remedies)
    return np.asarray(encoded)


def _lookup(variable: Variable, kind: Kind, values: Sequence[Any], place: str) -> NDArray[Any]:
    """What each of the values is encoded as, -2 where it is no state; in the last place what a missing cell is."""
    if variable.is_continuous:
        return np.array([*(_number(variable.name, value, place) for value in values), np.nan])
    meant = [value if variable.has_state(value) else None if is_absent(value) else value for value in values]
    if not all(value is None or variable.has_state(value) for value in meant):
        by_text: dict[str, Any] = {str(state): state for state in variable.states}
        typed = TextColumn(variable.name, _NO_PLACES, list(values)).values if kind in (CELLS, TEXT) else values
        meant = [
            value if value is None or variable.has_state(value) else by_text.get(str(value), other)
            for value, other in zip(meant, typed, strict=True)
        ]
    known = [variable.index(value) if variable.has_state(value) else -1 if value is None else -2 for value in meant]
    return looked_up(known, np.arange(len(known) + 1))


def without(markers: MissingValues, cells: Values | Numbers) -> Values | Numbers:
    """The cells in which some values mean missing."""
    if isinstance(cells, Numbers):
        return Numbers(np.where(np.isin(cells.numbers, markers.numbers), np.nan, cells.numbers))
    places, values = markers.leave_out(np.asarray(cells.places, dtype=np.intp), cells.values)
    return Values(cells.kind, places, values, len(values) < len(cells.values))


def _number(name: str, value: Any, place: str) -> float:
    try:
        number = np.nan if is_absent(value) else float(value)
    except (TypeError, ValueError):
        number = np.inf
    if np.isinf(number):
        raise FormatError(f"The column {name!r} holds {value!r}, but is continuous: a number is expected.", file=place)
    return number


def _refuse_infinite(name: str, numbers: Floats, place: str) -> None:
    if np.isinf(numbers).any():
        raise FormatError(f"The column {name!r} holds an infinite number.", file=place)
