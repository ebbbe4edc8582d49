"""Files that are written: under another name beside their own until they are whole; rows, one piece after the other."""

from __future__ import annotations

import csv
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np

from plausible.base.records import Result, counted, record
from plausible.data.arrow_parts import pyarrow
from plausible.data.csv_columns import CSV_OPENERS, CSVFormat, csv_ending
from plausible.data.source_parts import ARROW, PARQUET
from plausible.errors import InvalidArgument, MissingFile
from plausible.variables import Variable

#: What a column holds: a variable, whose states are given by their positions; `str`, `int`, `float`, `bool`; or a type
#: of Arrow's.
ColumnKind: TypeAlias = Any

_ENDINGS = (*CSV_OPENERS, *PARQUET, *ARROW)


@record
class WrittenRows(Result):
    """Rows that were written to a file instead of being held in memory."""

    path: str  # the file
    num_rows: int  # how many
    num_pieces: int  # in how many pieces they were worked out, one of which was in memory at a time
    num_bytes: int  # what the file takes

    def __str__(self) -> str:
        pieces = counted(self.num_pieces, "piece")
        return f"{self.path}: {counted(self.num_rows, 'row')} written in {pieces}, {self.num_bytes / 1e6:.3g} MB"


def kind_of(variable: Variable) -> ColumnKind:
    """What a column of this variable's states, or numbers, holds; text where they are of several types."""
    if variable.is_continuous:
        return float
    kinds = {type(state) for state in variable.states}
    return kinds.pop() if len(kinds) == 1 and kinds <= {bool, int, float} else str


def cells_of(column: Any) -> Any:
    """The cells as Python objects: an array of Arrow's holds its own scalars."""
    return column.to_pylist() if hasattr(column, "to_pylist") else column


class RowWriter(ABC):
    """An open file that takes rows, some at a time."""

    def __init__(self, kinds: Mapping[str, ColumnKind]) -> None:
        self.kinds = dict(kinds)
        self.num_rows = self.num_pieces = 0

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows: name -> cells, `None` where one is empty."""
        cells = [columns[name] for name in self.kinds]
        self._append(cells)
        self.num_rows += max(map(len, cells), default=0)
        self.num_pieces += 1

    @abstractmethod
    def _append(self, columns: Sequence[Any]) -> None: ...

    def written(self, path: Path) -> WrittenRows:
        """What was written, once the file is there."""
        return WrittenRows(str(path), self.num_rows, self.num_pieces, path.stat().st_size)


class CSVWriter(RowWriter):
    """Rows as lines of text, after a line of names; what is not text is written as Python prints it."""

    def __init__(self, stream: TextIO, kinds: Mapping[str, ColumnKind], separator: str = ",") -> None:
        super().__init__(kinds)
        self._rows = csv.writer(stream, lineterminator="\n", delimiter=separator)
        self._states = {
            name: np.array([*map(str, kind.states), ""], dtype=object)
            for name, kind in kinds.items()
            if isinstance(kind, Variable) and not kind.is_continuous
        }
        self._rows.writerow(kinds)

    def _append(self, columns: Sequence[Any]) -> None:
        cells = [
            self._states[name][column].tolist() if name in self._states else _listed(column)
            for name, column in zip(self.kinds, columns, strict=True)
        ]
        self._rows.writerows(zip(*cells, strict=True))


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else cells_of(column)


class ArrowWriter(RowWriter):
    """Rows as batches of Arrow's: groups of rows of a Parquet file, or pieces of an Arrow file."""

    def __init__(self, target: Any, kinds: Mapping[str, ColumnKind], *, is_parquet: bool = True) -> None:
        super().__init__(kinds)
        pa = pyarrow()
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        self._schema = pa.schema([(name, _arrow_type(kind)) for name, kind in kinds.items()])
        if is_parquet:
            self.file = pq.ParquetWriter(target, self._schema, compression="zstd")
        else:
            self.file = pa.ipc.new_file(target, self._schema)

    def _append(self, columns: Sequence[Any]) -> None:
        pa = pyarrow()
        arrays = [
            _arrow_array(kind, column, field.type)
            for kind, column, field in zip(self.kinds.values(), columns, self._schema, strict=True)
        ]
        self.file.write_batch(pa.record_batch(arrays, schema=self._schema))


def _arrow_type(kind: ColumnKind) -> Any:
    pa = pyarrow()
    if isinstance(kind, Variable):
        plain = kind_of(kind)
        smallest = pa.from_numpy_dtype(np.min_scalar_type(-max(len(kind.states), 1)))
        return pa.dictionary(smallest, pa.string()) if plain is str else _arrow_type(plain)
    return {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}.get(kind, kind)


def _arrow_array(kind: ColumnKind, column: Any, kind_in_file: Any) -> Any:
    pa = pyarrow()
    if not isinstance(kind, Variable):
        return column if isinstance(column, pa.Array) else pa.array(column, type=kind_in_file)
    if kind.is_continuous:
        return pa.array(column, from_pandas=True)
    places = pa.array(column, mask=column < 0)
    if kind_of(kind) is not str:
        return pa.array(list(kind.states), type=kind_in_file).take(places)
    return pa.DictionaryArray.from_arrays(places.cast(kind_in_file.index_type), list(map(str, kind.states)))


def check_rows_path(path: str | os.PathLike[str], sources: Sequence[Path] = ()) -> Path:
    """The path of a file that rows can be written to; refused before any work is done if there can't be one.

    The `sources` are read meanwhile, and are not written over.
    """
    target = Path(path)
    name = target.name.lower()
    if not name.endswith(_ENDINGS):
        raise InvalidArgument(f"The ending of {str(target)!r} is none of a file of rows: {', '.join(_ENDINGS)}.")
    if not target.absolute().parent.is_dir():
        raise MissingFile.for_writing(target)
    if target.is_dir():
        raise InvalidArgument(f"{str(target)!r} is a folder: give the name of a file.")
    for source in sources if target.exists() else ():
        if source.exists() and source.samefile(target):
            raise InvalidArgument(f"{str(target)!r} is the file to read: name another one, so that it is kept.")
    if csv_ending(target) is None:
        pyarrow()
    return target


@contextmanager
def new_rows(path: Path, kinds: Mapping[str, ColumnKind], ending: str | None = None) -> Iterator[RowWriter]:
    """A file of rows with columns of these kinds; it appears once it is whole.

    Its format is what its name ends in, or another `ending`.
    """
    form = Path(ending or path)
    with ExitStack() as stack:
        partial = stack.enter_context(replacing(path))
        if (text := csv_ending(form)) is not None:
            lines = CSV_OPENERS[text](partial, mode="wt", encoding="utf-8", newline="")
            yield CSVWriter(stack.enter_context(lines), kinds, CSVFormat.of(form).separator)
        else:
            writer = ArrowWriter(str(partial), kinds, is_parquet=form.name.lower().endswith(PARQUET))
            stack.enter_context(writer.file)
            yield writer


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; one that exists is replaced once everything is written, and left as it was if that fails.

    Raises `MissingFile` where the folder is not there; other errors of the system name the file.
    """
    if not Path(path).resolve().parent.exists():
        raise MissingFile.for_writing(Path(path))
    with replacing(Path(path)) as partial:
        partial.write_bytes(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside the one meant, which takes its place at the end; nothing is left of it after an error or Ctrl-C."""
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, os.fspath(partial)):
            raise
        # The file that could not be written has a name that nobody gave.
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from None
    finally:
        with suppress(OSError):
            partial.unlink()
