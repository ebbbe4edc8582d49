"""Columns from what people keep data in: frames, files, matrices; texts of CSV files, whose looks tell their types."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.column_types import categories_of
from plausible.data.columns import frame_columns
from plausible.data.factorizing import MissingValues, factorize, means_missing, warn_of_missing_words
from plausible.errors import FormatError, InvalidArgument, MissingDependency, MissingFile
from plausible.variables import Variable

#: Ending -> how the file is opened.
CSV_OPENERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {".csv": open, ".csv.gz": gzip.open, ".csv.bz2": bz2.open, ".csv.xz": lzma.open}
)
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)

#: A whole number as it is written: one without a decimal point, a power or leading zeros.
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,999})")
_PADDED = re.compile(r"[+-]?0[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_BOOLEANS = ({"False": False, "True": True}, {"false": False, "true": True}, {"FALSE": False, "TRUE": True})
_WORDS_FOR_MISSING = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "?", "-", "."})


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """The cells of a column of a CSV file; only empty ones are missing, and those `without` which it is meant."""

    name: str  # of the column
    places: Positions  # by row, the place of its text; -1 where the cell is missing
    texts: Sequence[str]  # the different texts

    @property
    def values(self) -> list[Any]:
        """What each text stands for.

        All of them are booleans, or whole numbers (without a decimal point, a power or leading zeros, which make
        codes such as 007 text), or numbers, or text.
        """
        for words in _BOOLEANS:
            if self.texts and words.keys() >= set(self.texts):
                return [words[text] for text in self.texts]
        texts = [text.strip() for text in self.texts]
        if all(map(WHOLE_NUMBER.fullmatch, texts)):
            return list(map(int, texts))
        if any(map(_PADDED.fullmatch, texts)):
            return list(self.texts)
        others = [text for text in texts if not _NUMBER.fullmatch(text) and not _INFINITE.fullmatch(text)]
        if not others:
            return list(map(float, texts))
        self._refuse_words_among_fractions(texts, others)
        return list(self.texts)

    def typed(self) -> Any:
        """The column as it is meant: numbers, NaN where missing, or sorted categories."""
        import pandas as pd

        values = self.values
        if any(isinstance(value, float) for value in values):
            return np.array([*values, np.nan])[self.places]
        distinct = [False, True] if values and isinstance(values[0], bool) else sorted(set(values))
        positions = {value: position for position, value in enumerate(distinct)}
        codes = np.array([*map(positions.__getitem__, values), -1], dtype=np.intp)[self.places]
        return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(distinct, dtype=object)))

    def without(self, markers: MissingValues) -> TextColumn:
        """The column in which some texts mean missing."""
        places, texts = markers.leave_out(self.places, self.texts)
        return replace(self, places=places, texts=texts)

    def _refuse_words_among_fractions(self, texts: Sequence[str], others: Sequence[str]) -> None:
        """A column of measurements in which a word says that one is missing would have a state for each number."""
        has_fraction = any(_NUMBER.fullmatch(text) and not WHOLE_NUMBER.fullmatch(text) for text in texts)
        if has_fraction and all(text.lower() in _WORDS_FOR_MISSING for text in others):
            row = int(np.argmax(self.places == texts.index(others[0])))
            problem = f"Row {row} of column {self.name!r} is {others[0]!r} among fractional numbers. "
            some = Call("pb.Table.read", Argument("source", ...), Argument("columns", ...))  # no shell has it
            raise FormatError(
                f"{problem}Only an empty cell is missing.",
                remedies=[Remedy("leave it empty"), means_missing([others[0]]), Remedy("read other columns: ", some)],
            )


def read_csv_columns(path: Path, ending: str) -> dict[str, TextColumn]:
    """Name -> column of a file in UTF-8 whose first line names the columns; blank lines are skipped."""
    import pandas as pd

    try:
        with CSV_OPENERS[ending](path, mode="rt", encoding="utf-8-sig", errors="replace") as stream:
            refuse_other_separators(stream.readline(), str(path))
        frame = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8")
    except pd.errors.ParserError as error:
        _refuse_ragged(path, ending)
        raise FormatError(f"The file can't be read as CSV: {str(error).strip()}", file=str(path)) from None
    except pd.errors.EmptyDataError:
        problem = "The file can't be read as CSV: it is empty, but its first line should name the columns."
        raise FormatError(problem, file=str(path)) from None
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not written in UTF-8: {error}. Save it as UTF-8.", file=str(path)) from None
    except _UNREADABLE as error:
        raise FormatError(f"The file can't be read: {error}.", file=str(path)) from None
    if frame.iloc[:, -1].isna().any():
        _refuse_ragged(path, ending)
    names = _names(path, frame.iloc[0].tolist())
    cells = frame.iloc[1:]
    return {name: TextColumn(name, *factorize(name, cells.iloc[:, place])) for place, name in enumerate(names)}


def _names(path: Path, header: Sequence[Any]) -> list[str]:
    for place, name in enumerate(header):
        if not isinstance(name, str):
            raise FormatError(
                f"The first line gives no name to column {place + 1}. Name it, or leave it out: pandas writes its "
                "index into such a column, but not with to_csv(index=False).",
                file=str(path),
                line=1,
            )
        if name in header[:place]:
            raise FormatError(f"The first line names two columns {name!r}. Rename one.", file=str(path), line=1)
    return cast(list[str], list(header))


def _refuse_ragged(path: Path, ending: str) -> None:
    """Refuse a row that has more or fewer cells than the first line."""
    wanted = 0
    with CSV_OPENERS[ending](path, mode="rt", encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream)
        for row in rows:
            wanted = wanted or len(row)
            if row and len(row) != wanted:
                problem = f"The row has {len(row)} cells, the first line names {wanted} columns."
                raise FormatError(problem, file=str(path), line=rows.line_num)


_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def refuse_other_separators(header: str, file: str) -> None:
    """Refuse a first line that has one name between commas, but several between other signs."""
    if _num_names(header, ",") > 1:
        return
    for sign, name in _OTHERS.items():
        if _num_names(header, sign) > 1:
            raise FormatError(
                f"The columns stand between {name}, and would be read as one, {header.rstrip()!r}. Save the file with "
                "commas between columns, and points in numbers. If it is one column, put its name in double quotes.",
                file=file,
                line=1,
            )


def _num_names(header: str, sign: str) -> int:
    return len(next(csv.reader([header], delimiter=sign), []))


_NO_VARIABLES: Mapping[str, Variable] = MappingProxyType({})
_PARQUET = ".parquet"


def columns_of(
    source: Any, variables: Mapping[str, Variable] = _NO_VARIABLES, missing_values: Any = None
) -> Mapping[Any, Any]:
    """Name -> column of a frame, a mapping, a CSV or Parquet file, or a matrix; parameters as of `open_columns`."""
    return open_columns(source, variables, missing_values).read()


def open_columns(
    source: Any, variables: Mapping[str, Variable] = _NO_VARIABLES, missing_values: Any = None
) -> OpenColumns:
    """The columns of a frame, a mapping, a CSV or Parquet file, or a matrix, of which some may be chosen by name."""
    markers = None if missing_values is None else MissingValues(missing_values)
    if isinstance(source, (str, Path)):
        path, name = Path(source), Path(source).name.lower()
        if not path.exists():
            raise MissingFile.at(path, (*CSV_OPENERS, _PARQUET))
        if name.endswith(_PARQUET):
            return OpenColumns(frame_columns(_read_parquet(path)), variables, markers, path)
        ending = next((ending for ending in CSV_OPENERS if name.endswith(ending)), None)
        if ending is None:
            raise InvalidArgument(
                f"{path.name!r} is neither .csv nor .parquet (.csv.gz, .csv.bz2 and .csv.xz will do)."
            )
        return OpenColumns(read_csv_columns(path, ending), variables, markers, path)
    if isinstance(source, Mapping):
        columns: Mapping[Any, Any] = source
    else:
        columns = frame_columns(source) if not isinstance(source, np.ndarray) else _matrix(source, list(variables))
    return OpenColumns(columns, variables, markers)


@dataclass(frozen=True, slots=True, eq=False)
class OpenColumns:
    """Columns whose names are known, and whose cells are looked at only where they are read."""

    cells: Mapping[Any, Any]  # name -> column as the source has it; of CSV files, its texts
    variables: Mapping[str, Variable]  # name -> variable, of those that are known
    markers: MissingValues | None  # values that mean missing; `None` if nobody said
    file: Path | None = None  # the file that they are from

    @property
    def names(self) -> list[Any]:
        """Of all columns, in order."""
        return list(self.cells)

    def read(self, names: Iterable[Any] | None = None) -> Mapping[Any, Any]:
        """Name -> column as it is meant; of all, or of those of these names that are there."""
        chosen = self.cells if names is None else {name: self.cells[name] for name in names if name in self.cells}
        if self.file is not None and not self.file.name.lower().endswith(_PARQUET):
            return _typed_columns(self.file, chosen, self.variables, self.markers)
        columns = chosen if self.markers is None else _without(self.markers, chosen, self.variables)
        if self.file is None:
            return columns
        # Parquet: the states of known variables stand in place of what is stored for them.
        discrete = {name for name, variable in self.variables.items() if not variable.is_continuous}
        return {
            name: _with_states(self.variables[name], *factorize(name, column)) if name in discrete else column
            for name, column in columns.items()
        }


def _without(markers: MissingValues, columns: Mapping[Any, Any], variables: Mapping[str, Variable]) -> dict[Any, Any]:
    """The columns with nothing in place of markers; texts that are left are typed as in a file."""
    read: dict[Any, Any] = {}
    for name, column in columns.items():
        places, values = factorize(name, column)
        if not any(value in markers for value in values):
            read[name] = column
            continue
        categories = categories_of(column)
        places, values = markers.leave_out(places, values)
        if categories is not None:
            import pandas as pd

            kept = pd.Index([each for each in categories if each not in markers], dtype=object)
            read[name] = pd.Series(pd.Categorical(_objects(values)[places], categories=kept))
        elif all(isinstance(value, str) for value in values):
            read[name] = _text_column(TextColumn(name, places, values), variables.get(name))
        else:
            read[name] = _objects(values)[places]
    return read


def _matrix(matrix: Any, names: Sequence[str]) -> dict[str, Any]:
    if matrix.ndim != 2:
        raise InvalidArgument(f"A matrix of data has two axes, rows and variables, not {matrix.ndim}.")
    used = list(names) or [f"X{number}" for number in range(matrix.shape[1])]
    if len(used) != matrix.shape[1]:
        raise InvalidArgument(f"The matrix has {matrix.shape[1]} columns, but {len(used)} variables are named.")
    return {name: matrix[:, place] for place, name in enumerate(used)}


def _typed_columns(
    path: Path, texts: Mapping[str, TextColumn], variables: Mapping[str, Variable], markers: MissingValues | None
) -> dict[str, Any]:
    """Columns of a CSV file as they are meant; of known variables, with their states in place of the states' texts."""
    if markers is not None:
        texts = {name: column.without(markers) for name, column in texts.items()}
    try:
        columns = {name: _text_column(column, variables.get(name)) for name, column in texts.items()}
    except FormatError as error:
        raise error.in_file(str(path)) from None
    if markers is None:
        unknown = {name: column.texts for name, column in texts.items() if name not in variables}
        warn_of_missing_words(str(path), unknown)
    return columns


def _read_parquet(path: Path) -> Any:
    """A frame in which whole numbers and booleans stay what they are where cells are missing."""
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow", dtype_backend="numpy_nullable")
    except ImportError:
        raise MissingDependency("Reading Parquet files needs pyarrow: pip install plausible[scale].") from None
    except (ValueError, OSError) as error:  # those of Arrow derive from these
        raise FormatError(f"The file can't be read as Parquet: {error}", file=str(path)) from None


def _text_column(column: TextColumn, variable: Variable | None) -> Any:
    if variable is None:
        return column.typed()
    if variable.is_continuous:
        return _objects(column.values)[column.places]
    return _with_states(variable, column.places, column.texts, column.values)


def _with_states(
    variable: Variable, places: Positions, values: Sequence[Any], typed: Sequence[Any] | None = None
) -> NDArray[Any]:
    """The cells as states: a value itself, or the state that prints as it does, or the one that its text means."""
    by_text: dict[str, Any] = {str(state): state for state in variable.states}
    meant = [
        value if variable.has_state(value) else by_text.get(str(value), other if variable.has_state(other) else value)
        for value, other in zip(values, values if typed is None else typed, strict=True)
    ]
    return _objects(meant)[places]


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of the values, and of `None` in the last place."""
    objects = np.empty(len(values) + 1, dtype=object)
    objects[:-1] = values
    return objects


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; one that exists is replaced once everything is written, and left as it was if that fails.

    Raises `MissingFile` where the folder is not there; other errors of the system name the file.
    """
    if not Path(path).resolve().parent.exists():
        raise MissingFile.for_writing(Path(path))
    try:
        with replacing(Path(path)) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


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
        if error.filename != os.fspath(partial):
            raise
        # The file that could not be made has a name that nobody gave.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with suppress(OSError):
            partial.unlink()
