"""Tables in files, read and written by their ending; a file that is written appears only once it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from plausible.cli.chunks import ColumnKind, TableReader, TableWriter
from plausible.cli.csv_tables import read_csv, write_csv
from plausible.cli.parquet_tables import read_parquet, write_parquet
from plausible.errors import InvalidArgument

__all__ = ["check_ending", "new_table", "open_table"]

_READERS: Mapping[str, Callable[[Path], AbstractContextManager[TableReader]]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
}
_WRITERS: Mapping[str, Callable[[Path, Mapping[str, ColumnKind]], AbstractContextManager[TableWriter]]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def check_ending(path: Path) -> str:
    """The ending, which must be that of a table."""
    if path.suffix.lower() not in _READERS:
        raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")
    return path.suffix.lower()


def open_table(path: Path) -> AbstractContextManager[TableReader]:
    """The table in a CSV or Parquet file, to be read in chunks."""
    return _READERS[check_ending(path)](path)


@contextmanager
def new_table(path: Path, kinds: Mapping[str, ColumnKind]) -> Iterator[TableWriter]:
    """A CSV or Parquet file to be written in chunks, with columns of these kinds."""
    write = _WRITERS[check_ending(path)]
    with _replacing(path) as partial, write(partial, kinds) as writer:
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
