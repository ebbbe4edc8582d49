"""Where rows are that come in pieces, such as the row groups of Parquet files, and their cells as they are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.data.csv_columns import CSVFormat, csv_pieces
from plausible.data.factorizing import SmallCodes, factorize_array
from plausible.errors import FormatError, MissingDependency

#: What a column holds, in words: "text", "whole numbers", ..., or "cells", whose texts tell.
Kind: TypeAlias = str
CELLS, NUMBERS, CATEGORIES, NOTHING = "cells", "fractional numbers", "categories", "nothing"

#: About so many cells are at work at a time.
_CELLS_AT_ONCE = 2**22
#: Row groups are taken together, in order, up to so many rows.
_ROWS_TOGETHER = 2**20


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

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The columns of these names, some rows at a time."""


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

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
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


@dataclass(frozen=True, slots=True)
class ParquetPart(Part):
    """Some row groups of a Parquet file, one after the other."""

    path: Path
    groups: tuple[int, ...]
    kinds: Mapping[str, Kind]
    num_rows: int
    num_bytes: float

    @property
    def place(self) -> str:
        first, last = self.groups[0], self.groups[-1]
        return f"{self.path}, row group {first}" if first == last else f"{self.path}, row groups {first} to {last}"

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        texts = [name for name in names if self.kinds[name] == "text"]
        size = rows_at_once(len(names))
        for group in self.groups:
            place = f"{self.path}, row group {group}"
            try:
                with pq.ParquetFile(self.path, read_dictionary=texts) as file:
                    yield from _arrow_batches(
                        file.iter_batches(size, row_groups=[group], columns=list(names)), names, self.kinds, place
                    )
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(place, error) from None


def parquet_parts(path: Path) -> list[ParquetPart]:
    """Its row groups, small ones together; a file without rows is a part, too."""
    pa = pyarrow()
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(str(path), error) from None
    kinds = kinds_of(schema, str(path))
    sizes = [
        (metadata.row_group(g).num_rows, metadata.row_group(g).total_byte_size) for g in range(metadata.num_row_groups)
    ]
    parts: list[ParquetPart] = []
    groups: list[int] = []
    for group, (num_rows, _) in enumerate(sizes):
        if groups and sum(sizes[other][0] for other in groups) + num_rows > _ROWS_TOGETHER:
            parts.append(_parquet_part(path, groups, kinds, sizes))
            groups = []
        groups.append(group)
    return [*parts, _parquet_part(path, groups, kinds, sizes)] if groups else [ParquetPart(path, (), kinds, 0, 0.0)]


def _parquet_part(path: Path, groups: Sequence[int], kinds: Mapping[str, Kind], sizes: Sequence[Any]) -> ParquetPart:
    num_rows, num_bytes = (sum(sizes[group][place] for group in groups) for place in (0, 1))
    return ParquetPart(path, tuple(groups), kinds, num_rows, float(num_bytes))


@dataclass(frozen=True, slots=True)
class ArrowPart(Part):
    """A file of Arrow's (IPC, Feather)."""

    path: Path
    kinds: Mapping[str, Kind]
    num_rows: int
    num_bytes: float

    @property
    def place(self) -> str:
        return str(self.path)

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        pa = pyarrow()
        try:
            with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
                for number in range(file.num_record_batches):
                    place = f"{self.path}, batch {number}"
                    yield from _arrow_batches([file.get_batch(number)], names, self.kinds, place)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(str(self.path), error) from None


def arrow_part(path: Path) -> ArrowPart:
    """The file, whose columns and rows are told by its end."""
    pa = pyarrow()
    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
            num_rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
            return ArrowPart(path, kinds_of(file.schema, str(path)), num_rows, path.stat().st_size)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(str(path), error) from None


@dataclass(frozen=True, slots=True)
class ReaderPart(Part):
    """Batches of Arrow's that another library hands out, such as those of a DuckDB relation or a lazy frame."""

    open: Callable[[], Iterable[Any]]  # the batches, each time that it is called
    kinds: Mapping[str, Kind]
    place: str

    @property
    def num_rows(self) -> int:
        """Nobody knows."""
        return 0

    @property
    def is_counted(self) -> bool:
        return False

    @property
    def num_bytes(self) -> float:
        return 0.0

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        pa = pyarrow()
        try:
            yield from _arrow_batches(self.open(), names, self.kinds, self.place)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.place, error) from None


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
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self._kept or ())

    @property
    def is_counted(self) -> bool:
        return self._kept is not None

    @property
    def num_bytes(self) -> float:
        return 0.0

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
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


def pyarrow() -> Any:
    """The library, or what to install."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingDependency.extra("pyarrow", "scale") from None
    return pa


def _unreadable(place: str, error: Exception) -> FormatError:
    return FormatError(f"This can't be read: {str(error).strip()}", file=place)


def kinds_of(schema: Any, place: str) -> dict[str, Kind]:
    """Name -> what is in it, of a schema of Arrow's; the index that pandas has written is no column."""
    pa = pyarrow()
    index = {name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)}
    index = {name for name in index if name.startswith("__index_level_")}
    kinds: dict[str, Kind] = {}
    for field in schema:
        if field.name in kinds:
            raise FormatError(f"There are two columns {field.name!r}. Rename one.", file=place)
        if field.name not in index:
            kinds[field.name] = _kind_of(pa.types, field.type)
    return kinds


def _kind_of(types: Any, kind: Any) -> Kind:
    if types.is_dictionary(kind):
        return CATEGORIES
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_boolean(kind):
        return "booleans"
    if types.is_integer(kind):
        return "whole numbers"
    if types.is_floating(kind) or types.is_decimal(kind):
        return NUMBERS
    return NOTHING if types.is_null(kind) else str(kind)


def _arrow_batches(
    found: Iterable[Any], names: Sequence[str], kinds: Mapping[str, Kind], place: str
) -> Iterator[Batch]:
    """Batches of Arrow's, large ones in slices."""
    size, first_row = rows_at_once(len(names)), 0
    for whole in found:
        for start in range(0, whole.num_rows, size):
            batch = whole.slice(start, size)
            columns = {name: _cells(name, batch.column(name), kinds[name], place) for name in names}
            yield Batch(columns, batch.num_rows, place, first_row)
            first_row += batch.num_rows


def _cells(name: str, array: Any, kind: Kind, place: str) -> Values | Numbers:
    """A column of Arrow's: the places and values of its dictionary as they are, or its numbers."""
    if kind == NUMBERS:
        return Numbers(np.array(array.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64))
    if kind == NOTHING:
        return Values(kind, np.full(len(array), -1, dtype=np.int8), [])
    if kind in ("whole numbers", "booleans"):
        is_absent = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        filled = array.fill_null(False if kind == "booleans" else 0)
        return Values(kind, *factorize_array(filled.to_numpy(zero_copy_only=False), is_absent))
    encoded = array if hasattr(array, "indices") else _dictionary(name, array, place)
    return Values(kind, encoded.indices.fill_null(-1).to_numpy(), encoded.dictionary.to_pylist())


def _dictionary(name: str, array: Any, place: str) -> Any:
    pa = pyarrow()
    try:
        return array.dictionary_encode()
    except pa.ArrowException:
        raise FormatError(f"The column {name!r} holds {array.type}, which can't be states.", file=place) from None
