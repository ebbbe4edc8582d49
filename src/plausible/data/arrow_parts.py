"""Rows in pieces that Arrow reads: row groups of Parquet files, its own files, what other libraries hand out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from plausible.data import batches
from plausible.data.batches import (
    CATEGORIES,
    NO_WISHES,
    NOTHING,
    NUMBERS,
    TEXT,
    WHOLE_NUMBERS,
    Batch,
    Kind,
    Numbers,
    Part,
    Values,
)
from plausible.data.factorizing import factorize_array
from plausible.errors import FormatError, MissingDependency, PlausibleError

#: Row groups are taken together, in order, up to so many rows.
_ROWS_TOGETHER = 2**20


@dataclass(frozen=True, slots=True)
class ParquetPart(Part):
    """Some row groups of a Parquet file, one after the other."""

    path: Path
    groups: tuple[int, ...]
    kinds: Mapping[str, Kind]
    index: Sequence[str]
    num_rows: int
    num_bytes: float

    @property
    def file(self) -> Path:
        return self.path

    @property
    def place(self) -> str:
        if not self.groups:
            return str(self.path)
        first, last = self.groups[0], self.groups[-1]
        return f"{self.path}, row group {first}" if first == last else f"{self.path}, row groups {first} to {last}"

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        texts = [name for name in names if self.kinds[name] == TEXT]
        size = batches.rows_at_once(len(names))
        for group in self.groups:
            place = f"{self.path}, row group {group}"
            try:
                with _parquet(self.path, texts) as file:
                    if _may_have(file.metadata.row_group(group), wanted):
                        found = file.iter_batches(size, row_groups=[group], columns=list(names))
                        yield from _arrow_batches(found, names, self.kinds, place)
            except _errors() as error:
                raise _unreadable(f"{place}{self._culprit(group, names)}", error) from None

    def _culprit(self, group: int, names: Sequence[str]) -> str:
        """Which column of a row group can't be read, in words; nothing where all can, or none."""
        for name in names:
            try:
                with _parquet(self.path) as file:
                    file.read_row_group(group, columns=[name])
            except _errors():
                return f", column {name!r}"
        return ""


def _parquet(path: Path, texts: Sequence[str] = ()) -> Any:
    """The open file; texts come as they are stored, in dictionaries."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    return pq.ParquetFile(path, read_dictionary=texts)


def _may_have(group: Any, wanted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a row group can have rows with one of the wanted values in each column, by its statistics."""
    for place in range(group.num_columns if wanted else 0):
        column = group.column(place)
        values, told = wanted.get(column.path_in_schema), column.statistics
        if values is None or told is None or not told.has_min_max:
            continue
        low, high = told.min, told.max
        if all(_is_comparable(value, low) and not low <= value <= high for value in values):
            return False
    return True


def _is_comparable(value: Any, limit: Any) -> bool:
    return any(isinstance(value, kinds) and isinstance(limit, kinds) for kinds in (str, (int, float)))


def parquet_parts(path: Path) -> list[ParquetPart]:
    """Its row groups, small ones together; a file without rows is a part, too."""
    pyarrow()
    try:
        with _parquet(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
    except _errors() as error:
        raise _unreadable(str(path), error) from None
    empty = ParquetPart(path, (), kinds_of(schema, str(path)), index_of(schema), 0, 0.0)
    parts: list[ParquetPart] = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not parts or parts[-1].num_rows + group.num_rows > _ROWS_TOGETHER:
            parts.append(empty)
        last = parts[-1]
        num_bytes = last.num_bytes + float(group.total_byte_size)
        parts[-1] = replace(
            last, groups=(*last.groups, number), num_rows=last.num_rows + group.num_rows, num_bytes=num_bytes
        )
    return parts or [empty]


@dataclass(frozen=True, slots=True)
class ArrowPart(Part):
    """A file of Arrow's (IPC, Feather)."""

    path: Path
    kinds: Mapping[str, Kind]
    index: Sequence[str]
    num_rows: int
    num_bytes: float

    @property
    def file(self) -> Path:
        return self.path

    @property
    def place(self) -> str:
        return str(self.path)

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        pa = pyarrow()
        try:
            with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
                for number in range(file.num_record_batches):
                    place = f"{self.path}, batch {number}"
                    yield from _arrow_batches([file.get_batch(number)], names, self.kinds, place)
        except _errors() as error:
            raise _unreadable(str(self.path), error) from None


def arrow_part(path: Path) -> Part:
    """The file, whose columns and rows are told by its end; or a stream of batches that was written to a file."""
    pa = pyarrow()
    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
            num_rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
            schema = file.schema
    except _errors() as error:
        with suppress(*_errors()), pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as reader:
            return reader_part(partial(_streamed, path), reader.schema, str(path))
        raise _unreadable(str(path), error) from None
    return ArrowPart(path, kinds_of(schema, str(path)), index_of(schema), num_rows, path.stat().st_size)


def _streamed(path: Path, names: Sequence[str]) -> Iterator[Any]:
    pa = pyarrow()
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as reader:
        yield from reader


@dataclass(frozen=True, slots=True)
class ReaderPart(Part):
    """Batches of Arrow's that another library hands out, such as those of a DuckDB relation or a lazy frame."""

    open: Callable[[Sequence[str]], Iterable[Any]]  # batches with these columns at least, each time that it is called
    kinds: Mapping[str, Kind]
    index: Sequence[str]
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

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        found: Any = None
        try:
            found = self.open(names)
            yield from _arrow_batches(found, names, self.kinds, self.place)
        except PlausibleError:
            raise
        except _errors() as error:
            raise _unreadable(self.place, error) from None
        finally:
            if hasattr(found, "close"):  # a connection of DuckDB's answers nobody else before
                found.close()


def reader_part(open: Callable[[Sequence[str]], Iterable[Any]], schema: Any, place: str) -> ReaderPart:
    """The batches that `open` gives, of a schema of Arrow's."""
    return ReaderPart(open, kinds_of(schema, place), index_of(schema), place)


def pyarrow() -> Any:
    """The library, or what to install."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingDependency.extra("pyarrow", "scale") from None
    return pa


def _errors() -> tuple[type[Exception], ...]:
    """What Arrow, and those who hand out its batches, raise where something can't be read."""
    loaded = ((sys.modules.get("duckdb"), "Error"), (sys.modules.get("polars.exceptions"), "PolarsError"))
    others = [getattr(module, name) for module, name in loaded if module is not None]
    return cast(tuple[type[Exception], ...], (pyarrow().ArrowException, OSError, *others))


def _unreadable(place: str, error: Exception) -> FormatError:
    return FormatError(f"This can't be read: {str(error).strip()}", file=place)


def index_of(schema: Any) -> tuple[str, ...]:
    """The columns in which pandas has written the index of a frame."""
    told = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(name for name in told if isinstance(name, str) and name in schema.names)


def kinds_of(schema: Any, place: str) -> dict[str, Kind]:
    """Name -> what is in it, of a schema of Arrow's."""
    pa = pyarrow()
    kinds: dict[str, Kind] = {}
    for field in schema:
        if field.name in kinds:
            raise FormatError(f"There are two columns {field.name!r}. Rename one.", file=place)
        if not field.name:
            raise FormatError(f"Column {len(kinds) + 1} has no name. Name it.", file=place)
        kinds[field.name] = _kind_of(pa.types, field.type)
    return kinds


def _kind_of(types: Any, kind: Any) -> Kind:
    if types.is_dictionary(kind):
        return CATEGORIES
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return TEXT
    if types.is_boolean(kind):
        return "booleans"
    if types.is_integer(kind):
        return WHOLE_NUMBERS
    if types.is_floating(kind) or types.is_decimal(kind):
        return NUMBERS
    return NOTHING if types.is_null(kind) else str(kind)


def _arrow_batches(
    found: Iterable[Any], names: Sequence[str], kinds: Mapping[str, Kind], place: str
) -> Iterator[Batch]:
    """Batches of Arrow's, large ones in slices."""
    size, first_row = batches.rows_at_once(len(names)), 0
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
    if kind in (WHOLE_NUMBERS, "booleans"):
        is_absent = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        filled = array.fill_null(False if kind == "booleans" else 0)
        return Values(kind, *factorize_array(filled.to_numpy(zero_copy_only=False), is_absent))
    encoded = array if hasattr(array, "indices") else _dictionary(name, array, place)
    places = encoded.indices
    if not pyarrow().types.is_signed_integer(places.type):
        places = places.cast("int64")
    return Values(kind, places.fill_null(-1).to_numpy(), encoded.dictionary.to_pylist())


def _dictionary(name: str, array: Any, place: str) -> Any:
    pa = pyarrow()
    try:
        return array.dictionary_encode()
    except pa.ArrowException:
        raise FormatError(f"The column {name!r} holds {array.type}, which can't be states.", file=place) from None
