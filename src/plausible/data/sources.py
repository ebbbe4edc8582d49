"""Columns from what people keep data in: frames, files, matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Positions
from plausible.data.arrow_parts import pyarrow
from plausible.data.column_types import categories_of
from plausible.data.columns import as_categories, frame_columns
from plausible.data.csv_columns import CSV_OPENERS, TextColumn, csv_ending, read_csv_columns
from plausible.data.factorizing import MissingValues, factorize, warn_of_missing_words
from plausible.data.source_parts import is_in_pieces
from plausible.data.streams import Stream
from plausible.errors import FormatError, InvalidArgument, MissingDependency, MissingFile
from plausible.variables import Variable

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
    if isinstance(source, Stream) or (is_in_pieces(source) and not _is_parquet(source)):
        stream = source if isinstance(source, Stream) else Stream(source)
        return _columns_of_stream(stream, variables, missing_values)
    if isinstance(source, (str, Path)):
        path, name = Path(source), Path(source).name.lower()
        if not path.exists():
            raise MissingFile.at(path, (*CSV_OPENERS, _PARQUET))
        if name.endswith(_PARQUET):
            return OpenColumns(frame_columns(_read_parquet(path)), variables, markers, path)
        if csv_ending(path) is None:
            raise InvalidArgument(
                f"{path.name!r} is neither .csv nor .parquet (.csv.gz, .csv.bz2 and .csv.xz will do)."
            )
        return OpenColumns(read_csv_columns(path), variables, markers, path)
    if hasattr(source, "num_columns") and not hasattr(source, "combine_chunks"):  # one batch of Arrow's
        source = pyarrow().Table.from_batches([source])
    if isinstance(source, Mapping):
        columns: Mapping[Any, Any] = source
    elif isinstance(source, (list, tuple)) and source and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(name for row in source for name in row)
        columns = {name: [row.get(name) for row in source] for name in names}
    else:
        columns = frame_columns(source) if not isinstance(source, np.ndarray) else _matrix(source, list(variables))
    return OpenColumns(columns, variables, markers)


def _is_parquet(source: Any) -> bool:
    return isinstance(source, (str, Path)) and str(source).lower().endswith(_PARQUET) and Path(source).is_file()


def _columns_of_stream(stream: Stream, variables: Mapping[str, Variable], missing_values: Any) -> OpenColumns:
    """The columns of rows in pieces: states that can be calculated with as they are, others as categories."""
    known = {name: variable for name, variable in variables.items() if name in stream.names}
    options: dict[str, Any] = {} if missing_values is None else {"missing_values": missing_values}
    stream = stream.read_with(variables=known, **options) if known or options else stream
    undecided = [name for name, column in stream.first_pass.columns.items() if column.num_known == 0]
    read = stream.read_with(columns=[name for name in stream.names if name not in undecided]) if undecided else stream
    variables = read.variables  # told by a pass, for which a connection is busy while a part is read
    batches = [rows for part in read.parts for rows in read.encoded(part)]
    columns: dict[str, Any] = {}
    for name in stream.names:
        if name in undecided:
            columns[name] = np.full(stream.first_pass.num_rows, None, dtype=object)
            continue
        cells = np.concatenate([rows.columns[name] for rows in batches])
        columns[name] = as_categories(variables[name], cells)
    return OpenColumns(columns, variables, None)


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
