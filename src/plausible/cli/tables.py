"""Tables in files, read and written by their ending; a file that is written appears only once it is whole."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from plausible.cli.chunks import ColumnKind, TableReader, TableWriter
from plausible.cli.csv_tables import CSVReader, CSVWriter, read_csv, write_csv
from plausible.cli.parquet_tables import parquet_reader, parquet_rows, read_parquet, write_parquet
from plausible.cli.streams import STANDARD_INPUT, binary_output, is_standard, open_input
from plausible.errors import InvalidArgument, MissingFile

__all__ = ["TableFormat", "check_ending", "new_table", "open_table"]

TableFormat = Annotated[
    str | None,
    typer.Option("--format", help="csv or parquet, where the ending of the output does not tell.", show_default=False),
]

_READERS: Mapping[str, Callable[[Path], AbstractContextManager[TableReader]]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
}
_WRITERS: Mapping[str, Callable[[Path, Mapping[str, ColumnKind]], AbstractContextManager[TableWriter]]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def check_ending(path: Path, format: str | None = None) -> str:
    """The ending of a table's file: that of the format, if one is named; standard output has that of CSV."""
    if format is not None:
        if f".{format.lower()}" not in _WRITERS:
            raise InvalidArgument(f"--format is csv or parquet, not {format!r}.")
        return f".{format.lower()}"
    if is_standard(path):
        return ".csv"
    if path.suffix.lower() not in _READERS:
        raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")
    return path.suffix.lower()


def open_table(path: Path) -> AbstractContextManager[TableReader]:
    """The table in a CSV or Parquet file, or on standard input, to be read in chunks."""
    if is_standard(path):
        return _piped_table()
    if not path.exists():
        raise MissingFile.at(path, _READERS)
    return _READERS[check_ending(path)](path)


@contextmanager
def _piped_table() -> Iterator[TableReader]:
    """Rows of a CSV file come through as they are piped; a Parquet file is read as a whole, as its end tells of all."""
    stream, name = open_input(), Path(STANDARD_INPUT)
    if stream.peek(4).startswith(b"PAR1"):
        yield parquet_reader(name, io.BytesIO(stream.read()))
        return
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield CSVReader(name, text, None)
    finally:
        text.detach()


@contextmanager
def new_table(path: Path, kinds: Mapping[str, ColumnKind], format: str | None = None) -> Iterator[TableWriter]:
    """A CSV or Parquet file, or standard output, to be written in chunks, with columns of these kinds."""
    ending = check_ending(path, format)
    if not is_standard(path):
        with _replacing(path) as partial, _WRITERS[ending](partial, kinds) as writer:
            yield writer
    elif ending == ".csv":
        yield CSVWriter(sys.stdout, list(kinds))
    else:
        with parquet_rows(binary_output("Parquet"), kinds) as writer:
            yield writer


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside the one meant, which takes its place at the end; nothing is left of it after an error or Ctrl-C."""
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        if error.filename != os.fspath(partial):
            raise
        # The file that could not be made has a name that nobody gave.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with suppress(OSError):
            partial.unlink()
