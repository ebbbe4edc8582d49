"""Tables in files, read and written by their ending; a file that is written appears only once it is whole."""

from __future__ import annotations

import csv
import glob
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.cli.output import (
    STANDARD_INPUT,
    binary_output,
    is_standard,
    open_input,
    output_name,
    print_answer,
    print_json,
)
from plausible.data.arrow_parts import pyarrow
from plausible.data.row_files import ArrowWriter, ColumnKind, CSVWriter, RowWriter, new_rows
from plausible.data.source_parts import files_of
from plausible.errors import FormatError, InvalidArgument, MissingFile, PlausibleError, counted

if TYPE_CHECKING:
    import pandas as pd

_MAX_CELLS = 1_000_000
_MAX_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table."""

    columns: Mapping[str, Sequence[Any]]  # name -> its cells; `None` where one is empty
    num_rows: int  # how many
    #: Row of this chunk and problem -> the error that names the place in the file.
    error: Callable[[int, str], PlausibleError]


def rows_in_chunk(num_columns: int) -> int:
    """How many rows to hold at once: fewer of a wide table."""
    return max(1, min(_MAX_ROWS, _MAX_CELLS // max(num_columns, 1)))


def distinct_cells(column: Any) -> tuple[NDArray[Any], Sequence[Any]]:
    """For each cell the place of its value among those that differ, -1 where it is empty; lists count as their text."""
    if hasattr(column, "dictionary_encode"):
        with suppress(NotImplementedError):  # one of Arrow's
            encoded = column if hasattr(column, "indices") else column.dictionary_encode()
            return encoded.indices.cast("int64").fill_null(-1).to_numpy(), encoded.dictionary.to_pylist()
        column = [None if cell is None else str(cell) for cell in column.to_pylist()]
    places: dict[Any, int] = {None: -1}
    found = np.array([places.setdefault(cell, len(places) - 1) for cell in column], dtype=np.intp)
    return found, list(places)[1:]


class CSVReader:
    """The rows of an open CSV file, whose first line names the columns."""

    def __init__(self, path: Path, stream: TextIO, num_bytes: int | None) -> None:
        self._path, self._stream, self._num_bytes = path, stream, num_bytes
        self._rows = csv.reader(stream, strict=True)
        header = self._next_rows(1)
        if not header or not header[0][1]:
            raise FormatError("The file has no columns; its first line must name them.", file=str(path), line=1)
        names = header[0][1]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise FormatError(f"The first line names two columns {repeated!r}.", file=str(path), line=1)
        self.columns: Mapping[str, ColumnKind] = dict.fromkeys(names, str)

    @property
    def fraction(self) -> float | None:
        """How much was read, by the bytes; `None` of a pipe, whose length nobody knows."""
        return None if self._num_bytes is None else self._stream.buffer.tell() / max(self._num_bytes, 1)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in order; a blank line is a row of empty cells."""
        wanted = len(self.columns)
        while found := self._next_rows(rows_in_chunk(wanted)):
            for line, row in found:
                if len(row) not in (0, wanted):
                    problem = f"The row has {len(row)} cells, the first line names {wanted} columns."
                    raise FormatError(problem, file=str(self._path), line=line)
            rows = [row or [""] * wanted for _, row in found]
            columns = [[cell or None for cell in column] for column in zip(*rows, strict=True)]
            yield Chunk(dict(zip(self.columns, columns, strict=True)), len(rows), self._error_in([n for n, _ in found]))

    def _next_rows(self, count: int) -> list[tuple[int, list[str]]]:
        """Up to so many rows, each with the number of its line (its last one, where cells have several)."""
        try:
            return [(self._rows.line_num, row) for row in islice(self._rows, count)]
        except UnicodeDecodeError as error:  # text is decoded in blocks: the line is not known
            raise FormatError(f"The file is not written in UTF-8: {error}.", file=str(self._path)) from error
        except csv.Error as error:
            problem = f"This can't be read as CSV: {error}."
            raise FormatError(problem, file=str(self._path), line=self._rows.line_num) from error

    def _error_in(self, lines: Sequence[int]) -> Callable[[int, str], FormatError]:
        return lambda row, problem: FormatError(problem, file=str(self._path), line=lines[row])


class ParquetReader:
    """The rows of an open Parquet file, a batch at a time."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        pa = pyarrow()
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        self._path, self._num_read = path, 0
        try:
            self._file = pq.ParquetFile(stream)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error
        names = self._file.schema_arrow.names
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise InvalidArgument(f"{path} has two columns {repeated!r}.")
        self.columns: Mapping[str, ColumnKind] = {field.name: field.type for field in self._file.schema_arrow}

    @property
    def fraction(self) -> float:
        """How much was read, by the rows."""
        return float(self._num_read / max(self._file.metadata.num_rows, 1))

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in order; columns are arrays of Arrow's."""
        import pyarrow as pa

        batches = self._file.iter_batches(batch_size=rows_in_chunk(len(self._file.schema_arrow)))
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(self._path, error) from error
            if batch is None:
                return
            first, self._num_read = self._num_read, self._num_read + batch.num_rows
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield Chunk(columns, batch.num_rows, self._error_after(first))

    def _error_after(self, first: int) -> Callable[[int, str], InvalidArgument]:
        return lambda row, problem: InvalidArgument(f"{self._path}, row {first + row + 1}: {problem}")


def _unreadable(path: Path, error: Exception) -> InvalidArgument:
    return InvalidArgument(f"{path} can't be read as Parquet: {error}")


class SeveralTables:
    """The rows of several files, one after the other, with the columns of the first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths, self._num_read = paths, 0
        with open_table(paths[0]) as first:
            self.columns: Mapping[str, ColumnKind] = first.columns

    @property
    def fraction(self) -> float:
        """How much was read, by the files."""
        return self._num_read / len(self._paths)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in the order of the files' names."""
        for path in self._paths:
            with open_table(path) as table:
                self._check(path, table.columns)
                for chunk in table.chunks():
                    yield replace(chunk, columns={name: chunk.columns[name] for name in self.columns})
            self._num_read += 1

    def _check(self, path: Path, columns: Mapping[str, ColumnKind]) -> None:
        """Refuse a file that has other columns than the first, or others in them."""
        first = self._paths[0]
        for name in {**self.columns, **columns}:
            if name not in columns or name not in self.columns:
                lacking, other = (path, first) if name not in columns else (first, path)
                raise FormatError(f"There is no column {name!r}, which is in {other}.", file=str(lacking))
            if columns[name] != self.columns[name]:
                problem = f"The column {name!r} holds {columns[name]} here, but {self.columns[name]} in {first}."
                raise FormatError(problem, file=str(path))


TableReader: TypeAlias = CSVReader | ParquetReader | SeveralTables
_ENDINGS = (".csv", ".parquet")


def check_ending(path: Path, format: str | None = None) -> str:
    """The ending of a table's file: that of the format, if one is named; standard output has that of CSV."""
    if format is not None:
        if f".{format.lower()}" not in _ENDINGS:
            raise InvalidArgument(f"--format is csv or parquet, not {format!r}.")
        return f".{format.lower()}"
    if is_standard(path):
        return ".csv"
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")
    return path.suffix.lower()


def check_output(output: Path, format: str | None, data: Path) -> None:
    """Refuse a file that no table can be written to, and the one that is read."""
    check_ending(output, format)
    sources = _files(data) if is_several(data) else [data]
    if output.exists() and any(source.exists() and output.samefile(source) for source in sources):
        raise InvalidArgument(f"{output} is the file to read: name another one, so that it is kept.")


def is_several(path: Path) -> bool:
    """Whether a path is that of a folder, or stands for files by a pattern, such as rows/*.parquet."""
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def _files(path: Path) -> list[Path]:
    return [file for file, _ in files_of(path)]


@contextmanager
def open_table(path: Path) -> Iterator[TableReader]:
    """The table in a CSV or Parquet file, in several of them, or on standard input, to be read in chunks.

    Rows of a CSV file come through as they are piped; a Parquet file is read as a whole, as its end tells of all.
    """
    if is_standard(path):
        stream, name = open_input(), Path(STANDARD_INPUT)
        if stream.peek(4).startswith(b"PAR1"):
            yield ParquetReader(name, io.BytesIO(stream.read()))
            return
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            yield CSVReader(name, text, None)
        finally:
            text.detach()
        return
    if is_several(path):
        yield SeveralTables(_files(path))
        return
    if not path.exists():
        raise MissingFile.at(path, _ENDINGS)
    if check_ending(path) == ".csv":  # in UTF-8, with or without a byte-order mark
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield CSVReader(path, lines, os.fstat(lines.fileno()).st_size)
    else:
        with path.open("rb") as file:
            yield ParquetReader(path, file)


@contextmanager
def new_table(path: Path, kinds: Mapping[str, ColumnKind], format: str | None = None) -> Iterator[RowWriter]:
    """A CSV or Parquet file, or standard output, to be written in chunks, with columns of these kinds."""
    is_csv = check_ending(path, format) == ".csv"
    if not is_standard(path):
        with new_rows(path, kinds, ".csv" if is_csv else ".parquet") as writer:
            yield writer
    elif is_csv:
        try:
            yield CSVWriter(sys.stdout, kinds)
        except UnicodeEncodeError as error:
            sign = error.object[error.start : error.end]
            raise InvalidArgument(
                f"Standard output can't hold {sign!r} in its encoding {error.encoding}: write to a file with --output, "
                "or set PYTHONIOENCODING=utf-8."
            ) from None
    else:
        writer = ArrowWriter(binary_output("Parquet"), kinds)
        with writer.file:
            yield writer


def tell_table(
    table: pd.DataFrame, output: Path | None, as_json: bool, format: str | None = None, **facts: Any
) -> None:
    """Write a table that lies in memory, by default on standard output, and say so, with numbers that belong to it."""
    columns = {str(name): _cells(column) for name, column in table.items()}
    if output is None and as_json:
        print_json(
            {**facts, "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}
        )
        return
    kinds = {name: next((type(cell) for cell in cells if cell is not None), float) for name, cells in columns.items()}
    with new_table(output or Path("-"), kinds, format) as writer:
        writer.write(columns)
    if output is None or is_standard(output):
        return
    told = "".join(f", {name.replace('_', ' ')} {value:.6g}" for name, value in facts.items())
    text = f"{output_name(output)}: {counted(len(table), 'row')} written{told}"
    print_answer(text, {**facts, "output": str(output), "rows": len(table)}, as_json=as_json)


def _cells(column: pd.Series[Any]) -> list[Any]:
    """The cells as a file holds them: times as text, nothing where there is none."""
    cells = column.astype(object).where(column.notna(), None).tolist()
    return [cell if cell is None or isinstance(cell, (bool, int, float, str)) else str(cell) for cell in cells]
