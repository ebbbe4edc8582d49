"""Tables in CSV files: cells are text as it stands, nothing but empty ones missing."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from plausible.cli.chunks import Chunk, ColumnKind, rows_in_chunk
from plausible.errors import FormatError, InvalidArgument

__all__ = ["CSVReader", "CSVWriter", "read_csv", "write_csv"]


class CSVReader:
    """The rows of an open CSV file, whose first line names the columns."""

    def __init__(self, path: Path, stream: TextIO, num_bytes: int | None) -> None:
        self._path, self._stream, self._num_bytes = path, stream, num_bytes
        self._rows = csv.reader(stream, strict=True)
        header = self._next_rows(1)
        if not header or not header[0][1]:
            raise FormatError("The file has no columns; its first line must name them.", file=str(path), line=1)
        self._names = header[0][1]
        repeated = next((name for name in self._names if self._names.count(name) > 1), None)
        if repeated is not None:
            raise FormatError(f"The first line names two columns {repeated!r}.", file=str(path), line=1)

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """Name -> text."""
        return dict.fromkeys(self._names, str)

    @property
    def fraction(self) -> float | None:
        """By the bytes that were read; `None` of a pipe, whose length nobody knows."""
        return None if self._num_bytes is None else self._stream.buffer.tell() / max(self._num_bytes, 1)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in order; a blank line is a row of empty cells."""
        size = rows_in_chunk(len(self._names))
        while found := self._next_rows(size):
            lines = [line for line, _ in found]
            rows = [self._whole(line, row) for line, row in found]
            columns = [[cell or None for cell in column] for column in zip(*rows, strict=True)]
            yield Chunk(dict(zip(self._names, columns, strict=True)), len(rows), self._error_in(lines))

    def _next_rows(self, count: int) -> list[tuple[int, list[str]]]:
        """Up to so many rows, each with the number of its line (its last one, where cells have several)."""
        try:
            return [(self._rows.line_num, row) for row in islice(self._rows, count)]
        except UnicodeDecodeError as error:  # text is decoded in blocks: the line is not known
            raise FormatError(f"The file is not written in UTF-8: {error}.", file=str(self._path)) from error
        except csv.Error as error:
            problem = f"This can't be read as CSV: {error}."
            raise FormatError(problem, file=str(self._path), line=self._rows.line_num) from error

    def _whole(self, line: int, row: list[str]) -> list[str]:
        if len(row) == len(self._names):
            return row
        if not row:
            return [""] * len(self._names)
        wanted = len(self._names)
        raise FormatError(
            f"The row has {len(row)} cells, the first line names {wanted} columns.", file=str(self._path), line=line
        )

    def _error_in(self, lines: Sequence[int]) -> Callable[[int, str], FormatError]:
        return lambda row, problem: FormatError(problem, file=str(self._path), line=lines[row])


class CSVWriter:
    """Rows as lines of an open stream, after a line of names."""

    def __init__(self, stream: TextIO, names: Sequence[str]) -> None:
        self._rows = csv.writer(stream, lineterminator="\n")
        self._write([names])

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows; what is not text is written as Python prints it, and `None` as nothing."""
        self._write(zip(*(_cells(column) for column in columns.values()), strict=True))

    def _write(self, rows: Iterator[Sequence[Any]] | list[Sequence[str]]) -> None:
        try:
            self._rows.writerows(rows)
        except UnicodeEncodeError as error:
            sign = error.object[error.start : error.end]
            raise InvalidArgument(
                f"Standard output can't hold {sign!r} in its encoding {error.encoding}: write to a file with --output, "
                "or set PYTHONIOENCODING=utf-8."
            ) from None


@contextmanager
def read_csv(path: Path) -> Iterator[CSVReader]:
    """An open CSV file in UTF-8, with or without a byte-order mark."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        yield CSVReader(path, stream, os.fstat(stream.fileno()).st_size)


@contextmanager
def write_csv(path: Path, kinds: Mapping[str, ColumnKind]) -> Iterator[CSVWriter]:
    """A new CSV file in UTF-8."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        yield CSVWriter(stream, list(kinds))


def _cells(column: Any) -> Any:
    """The cells as Python objects: an array of Arrow's holds its own scalars."""
    return column.to_pylist() if hasattr(column, "to_pylist") else column
