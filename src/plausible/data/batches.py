"""What rows in pieces are made of: parts, batches of rows, and cells as they are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats, Positions
from plausible.data.csv_columns import CSVFormat, csv_pieces, csv_text
from plausible.data.factorizing import SmallCodes
from plausible.errors import FormatError

#: What a column holds, in words: "text", "whole numbers", ..., or "cells", whose texts tell.
Kind: TypeAlias = str
CELLS, TEXT, CATEGORIES, NOTHING = "cells", "text", "categories", "nothing"
WHOLE_NUMBERS, NUMBERS = "whole numbers", "fractional numbers"

#: About so many cells are at work at a time.
_CELLS_AT_ONCE = 2**22


#: Nothing is wanted in particular.
NO_WISHES: Mapping[str, Sequence[Any]] = MappingProxyType({})


def joined_kind(first: Kind, second: Kind) -> Kind | None:
    """What a column holds of which parts hold these; `None` where they don't go together."""
    kinds = {first, second} - {NOTHING}
    if kinds == {WHOLE_NUMBERS, NUMBERS}:
        return NUMBERS
    if kinds == {TEXT, CATEGORIES}:
        return TEXT
    return None if len(kinds) > 1 else next(iter(kinds), NOTHING)


class Values(NamedTuple):
    """A column of a batch whose values are few: the different ones, and for each row the place of its own."""

    kind: Kind
    places: SmallCodes  # -1 where the cell is missing
    values: Sequence[Any]
    had_markers: bool = False  # whether some cells had values that mean missing; texts that are left are then typed

    def take(self, rows: Flags) -> Values:
        return self._replace(places=self.places[rows])


class Numbers(NamedTuple):
    """A column of fractional numbers, NaN where they are missing."""

    numbers: Floats

    @property
    def kind(self) -> Kind:
        return NUMBERS

    def take(self, rows: Flags) -> Numbers:
        return Numbers(self.numbers[rows])


class Batch(NamedTuple):
    """Some rows, of which a part has several batches."""

    columns: Mapping[str, Values | Numbers]
    num_rows: int
    place: str  # where they are, in words
    first_row: int  # of those at that place, counted from 0
    chosen: Positions | None = None  # the rows that were chosen, counted from the first; `None` for all

    def row(self, number: int) -> int:
        """At what place a row stands, counted from 0."""
        return self.first_row + (number if self.chosen is None else int(self.chosen[number]))

    def take(self, rows: Flags) -> Batch:
        """Some of the rows."""
        columns = {name: cells.take(rows) for name, cells in self.columns.items()}
        return self._replace(columns=columns, num_rows=int(rows.sum()), chosen=np.flatnonzero(rows))


class Part(ABC):
    """Rows that are read together, in order; all of a source's parts together are its rows."""

    __slots__ = ()

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the rows are, in words."""

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """Name -> what is in it, of each column in order."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """How many rows there are; more than there can be where nobody has counted them."""

    @property
    def is_counted(self) -> bool:
        """Whether there are so many rows indeed."""
        return True

    @property
    @abstractmethod
    def num_bytes(self) -> float:
        """How many bytes are read for all columns."""

    @property
    def file(self) -> Path | None:
        """The file that is read."""
        return None

    @property
    def index(self) -> Sequence[str]:
        """The columns that name the rows and are no variables, such as the index that pandas has written."""
        return ()

    @abstractmethod
    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        """The columns of these names, some rows at a time.

        Rows may be left out of which it is known, without reading them, that some column has none of the `wanted`
        values.
        """


def rows_at_once(num_columns: int) -> int:
    """How many rows to hold at a time: fewer of a wide table."""
    return max(1024, _CELLS_AT_ONCE // max(num_columns, 1))


@dataclass(frozen=True, slots=True)
class CSVPart(Part):
    """A CSV file."""

    path: Path
    form: CSVFormat
    kinds: Mapping[str, Kind]

    @property
    def file(self) -> Path:
        return self.path

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def num_rows(self) -> int:
        """A cell and what follows it take two bytes at least; packed, perhaps a tenth of that."""
        packing = 1 if self.path.suffix.lower() in (".csv", ".tsv") else 10
        return int(packing * self.path.stat().st_size // (2 * len(self.kinds)))

    @property
    def is_counted(self) -> bool:
        return False

    @property
    def num_bytes(self) -> float:
        return self.path.stat().st_size

    @property
    def expected_rows(self) -> int:
        """About how many rows there are, by the length of the first lines; texts are packed to a fifth, perhaps."""
        with csv_text(self.path, self.form) as lines:
            seen = list(islice(lines, 1001))[1:]
        packing = 1 if self.path.suffix.lower() in (".csv", ".tsv") else 5
        num_bytes = sum(len(line.encode(self.form.encoding, "replace")) for line in seen)
        return int(packing * self.num_bytes * len(seen) / max(num_bytes, 1))

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        first_row = 0
        for columns in csv_pieces(self.path, self.form, rows_at_once(len(self.kinds))):
            _refuse_other_names(self.path, columns, self.kinds)
            cells = {name: Values(CELLS, columns[name].places, columns[name].texts) for name in names}
            num_rows = len(next(iter(columns.values())).places)
            yield Batch(cells, num_rows, str(self.path), first_row)
            first_row += num_rows


def csv_part(path: Path, form: CSVFormat | None) -> CSVPart:
    """The file, of which the first line is read."""
    form = form or CSVFormat.of(path)
    names = next(csv_pieces(path, form, 1))
    return CSVPart(path, form, dict.fromkeys(names, CELLS))


def _refuse_other_names(path: Path, columns: Iterable[str], kinds: Iterable[str]) -> None:
    if list(columns) != list(kinds):
        raise FormatError("The file was changed while it was read: it has other columns now.", file=str(path), line=1)


class KeptPart(Part):
    """Batches that are handed out once: they are kept, a byte a cell where values are few."""

    __slots__ = ("_kept", "_part")

    def __init__(self, part: Part) -> None:
        self._part = part
        self._kept: list[Batch] | None = None

    @property
    def place(self) -> str:
        return self._part.place

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self._part.kinds

    @property
    def index(self) -> Sequence[str]:
        return self._part.index

    @property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self._kept or ())

    @property
    def is_counted(self) -> bool:
        return self._kept is not None

    @property
    def num_bytes(self) -> float:
        return 0.0

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        if self._kept is None:
            self._kept = [_small(batch) for batch in self._part.batches(list(self.kinds))]
        yield from self._kept


def _small(batch: Batch) -> Batch:
    """The batch with places in as few bytes as they need."""
    columns = {
        name: cells._replace(places=cells.places.astype(np.min_scalar_type(-len(cells.values) - 1)))
        if isinstance(cells, Values)
        else cells
        for name, cells in batch.columns.items()
    }
    return batch._replace(columns=columns)


class Beginning(Part):
    """The first rows of a part."""

    __slots__ = ("_most", "_part")

    def __init__(self, part: Part, num_rows: int) -> None:
        self._part, self._most = part, num_rows

    @property
    def place(self) -> str:
        return self._part.place

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self._part.kinds

    @property
    def num_rows(self) -> int:
        return min(self._part.num_rows, self._most) or self._most

    @property
    def is_counted(self) -> bool:
        return False

    @property
    def num_bytes(self) -> float:
        return self._part.num_bytes * min(self._most / max(self._part.num_rows, 1), 1.0)

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        left = self._most
        for batch in self._part.batches(names, wanted):
            if batch.num_rows >= left:
                yield batch.take(np.arange(batch.num_rows) < left)
                return
            yield batch
            left -= batch.num_rows
