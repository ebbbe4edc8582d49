"""Rows that come in pieces: what is read of a source, and how; its variables, its cells as positions and numbers."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats
from plausible.base.options import read_names
from plausible.base.records import shown
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.batches import NUMBERS, WHOLE_NUMBERS, Batch, Beginning, Numbers, Part, Values
from plausible.data.column_types import mark_columns, read_interventions, warn_of_doubtful
from plausible.data.csv_columns import CSVFormat
from plausible.data.factorizing import MissingValues, warn_of_missing_words
from plausible.data.gathered import MOST_VALUES, GatheredColumn, encode, without
from plausible.data.source_parts import parts_of, refuse_drift
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.variables import Variable

#: What a table may take in memory where nobody says otherwise, as a share of what the machine has.
_SHARE_OF_MEMORY = 4


class EncodedRows(NamedTuple):
    """Some rows, encoded."""

    columns: Mapping[str, NDArray[Any]]  # name -> positions of states, or numbers
    num_rows: int
    weights: Floats | None
    interventions: Mapping[str, Flags]  # as in `Table`


class FirstPass(NamedTuple):
    """What one pass over rows tells."""

    columns: Mapping[str, GatheredColumn]  # of the variables that nobody named
    rows_of_parts: tuple[int, ...]  # how many rows each part has, of those that are chosen

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return sum(self.rows_of_parts)

    @classmethod
    def of(cls, stream: Stream) -> FirstPass:
        """What the rows of a stream of one part tell."""
        columns = {name: GatheredColumn(name) for name in stream.names if name not in stream.given}
        num_rows = 0
        for batch in stream.batches(stream.parts[0]):
            for name, column in columns.items():
                column.add(batch.columns[name], batch.place)
            num_rows += batch.num_rows
        return cls(columns, (num_rows,))

    @classmethod
    def joined(cls, passes: Iterable[FirstPass]) -> FirstPass:
        """What passes over parts tell together, in their order."""
        columns: dict[str, GatheredColumn] = {}
        rows_of_parts: list[int] = []
        for one in passes:
            for name, column in one.columns.items():
                columns.setdefault(name, GatheredColumn(name)).join(column)
            rows_of_parts += one.rows_of_parts
        return cls(columns, tuple(rows_of_parts))


class Stream:
    """Rows that are read in pieces, so that memory is bounded by the piece and not by the data.

    Wherever a table may be given a stream may be, too. A path of several files, or of a large one, makes one by itself:
    this is to say more. Columns are typed as by `Table.read`, by a first pass over the data if they are not named.

    Parameters
    ----------
    source
        A file (Parquet, Arrow or Feather, CSV, TSV), a glob such as "rows/*.parquet", a folder, or a list of these; a
        reader or a dataset of Arrow's, a lazy frame of polars, a DuckDB relation. Files go by the order of their names.
        Names of folders such as year=2020 tell a column.
    variables
        Those that columns stand for; with all of them named there is no first pass.
    columns
        The names of those to read, in this order; by default all.
    where
        Name -> state, number, or a collection of these: only rows that have one of them are read. The column need not
        be among those that are read.
    weights, interventions, missing_values
        As in `Table.read`; columns are told by name.
    index
        Columns that name the rows, such as "patient", and are no variables: answers for each row have them, too. By
        default the index that pandas has written.
    separator, decimal, encoding
        How CSV files are written, where it is not with commas, points and in UTF-8.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for year in (2020, 2021):
    ...     frame = pd.DataFrame({"rain": ["no", "yes"], "year": year})
    ...     frame.to_csv(f"{folder.name}/{year}.csv", sep=";", index=False)
    >>> stream = Stream(folder.name, separator=";", where={"year": 2021}, columns=["rain"])
    >>> stream.variables
    {'rain': Variable('rain', ['no', 'yes'])}
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        variables: Mapping[str, Variable] | Iterable[Variable] | None = None,
        *,
        columns: Iterable[str] | None = None,
        where: Mapping[str, Any] | None = None,
        weights: str | None = None,
        interventions: str | Mapping[str, str] | None = None,
        index: str | Iterable[str] | None = None,
        missing_values: Any = None,
        separator: str | None = None,
        decimal: str = ".",
        encoding: str = "utf-8",
    ) -> None:
        given = variables.values() if isinstance(variables, Mapping) else variables or ()
        self.given = {variable.name: variable for variable in given}
        self._wanted = None if columns is None else list(read_names("columns", columns))
        self._where = {name: _listed_values(wanted) for name, wanted in (where or {}).items()}
        self._weights, self._interventions = weights, interventions
        self._index = None if index is None else read_names("index", [index] if isinstance(index, str) else index)
        self._markers = None if missing_values is None else MissingValues(missing_values)
        self._source = source
        is_usual = separator is None and decimal == "." and encoding == "utf-8"
        self._form = None if is_usual else CSVFormat(separator or ",", decimal, encoding)
        self._marks = mark_columns(interventions)
        if weights is not None and not isinstance(weights, str):
            raise InvalidArgument("The weights of rows in pieces are a column of numbers: give its name.")
        if interventions is not None and not self._marks:
            raise InvalidArgument("The interventions of rows in pieces are columns: give a name, or name -> column.")

    @cached_property
    def parts(self) -> Sequence[Part]:
        """The parts of the source, of which columns and rows are chosen."""
        return parts_of(self._source, self._form)

    @property
    def paths(self) -> list[Path]:
        """The files that are read."""
        return list(dict.fromkeys(part.file for part in self.parts if part.file is not None))

    @cached_property
    def names(self) -> list[str]:
        """The columns that are variables, in order."""
        asked = {
            "though columns= names it": self._wanted or (),
            "though where= names it": self._where,
            "which should have it as weights": [self._weights] if self._weights else [],
            "though interventions= names it as a column": self._marks,
            "though index= names it": self._index or (),
            "though variables= names it": self.given if self._wanted is None else (),
        }
        columns = self.parts[0].kinds
        for why, names in asked.items():
            for name in names:
                if name not in columns:
                    raise UnknownVariable.named(name, columns, f"the data, {why}")
        there = refuse_drift(self.parts, None if self._wanted is None else [*self._wanted, *self._others], self.given)
        no_variables = {*self._marks, *([self._weights] if self._weights else []), *(self._index or ())}
        return [name for name in (self._wanted or there) if name not in no_variables]

    @property
    def index(self) -> tuple[str, ...]:
        """The columns that name the rows."""
        found = self.parts[0].index if self._index is None else self._index
        return tuple(name for name in found if name not in self.names)

    @property
    def are_named(self) -> bool:
        """Whether somebody said which columns to read."""
        return self._wanted is not None

    @property
    def has_extras(self) -> bool:
        """Whether rows have weights, or variables that were set from outside."""
        return self._weights is not None or bool(self._marks)

    @property
    def _others(self) -> list[str]:
        """Columns that are looked at without being variables for that."""
        weights = [self._weights] if self._weights else []
        return list(dict.fromkeys([*self._where, *self._marks, *weights]))

    def read_with(self, **options: Any) -> Stream:
        """The stream with other options."""
        form = self._form or CSVFormat()
        said: dict[str, Any] = (
            {}
            if self._form is None
            else {"separator": form.separator, "decimal": form.decimal, "encoding": form.encoding}
        )
        now: dict[str, Any] = {
            "variables": self.given,
            "columns": self._wanted,
            "where": self._where,
            "weights": self._weights,
            "interventions": self._interventions,
            "index": self._index,
            **said,
        }
        new = Stream(self._source, **{**now, **options})
        new._markers = new._markers or self._markers
        if "parts" in self.__dict__:
            new.__dict__["parts"] = self.parts
        return new

    def each_part(self, known: Mapping[str, Variable] | None = None) -> list[Stream]:
        """The stream of each part alone, which can be sent to whoever reads it, with more variables known."""
        streams = []
        for part in self.parts:
            stream = self.read_with(variables={**self.given, **(known or {})}, columns=self.names)
            stream._source, stream.__dict__["parts"] = part.place, [part]
            streams.append(stream)
        return streams

    def beginning(self, num_rows: int) -> Stream:
        """The first rows of the largest part, or as many as it has."""
        stream = self.read_with()
        largest = max(self.parts, key=lambda part: part.num_rows)
        stream._source, stream.__dict__["parts"] = largest.place, [Beginning(largest, num_rows)]
        return stream

    @cached_property
    def first_pass(self) -> FirstPass:
        """What one pass over the data tells of columns that nobody named."""
        return self.told_by(map(FirstPass.of, self.each_part()))

    def told_by(self, passes: Iterable[FirstPass]) -> FirstPass:
        """What the first passes over all parts tell, in their order, whoever made them."""
        self.__dict__["first_pass"] = told = FirstPass.joined(passes)
        if self._markers is None:
            warn_of_missing_words(str(self._source), {name: column.texts for name, column in told.columns.items()})
        return told

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Name -> variable, in the order of the columns; a first pass over the data tells those that were not named."""
        told = self._told()
        return {name: told[name] for name in self.names}

    def _told(self, left_out: Container[str] = ()) -> dict[str, Variable]:
        """The variables that were named, and those that the first pass tells, without some."""
        told = dict(self.given)
        if not self.is_known and self._where and not self.first_pass.num_rows:
            self._refuse_empty_choice()
        for name, column in self.first_pass.columns.items() if not self.is_known else ():
            if name in left_out:
                continue
            variable = column.variable
            if variable is None:
                raise _undecided(column)
            told[name] = variable
        return told

    def _refuse_empty_choice(self) -> None:
        """The error for a choice that no row fits, by another pass; none where there are no rows at all."""
        whole = self.read_with(where=None, columns=list(self._where), variables=(), weights=None, interventions=None)
        seen = FirstPass.joined(map(FirstPass.of, whole.each_part()))
        if not seen.num_rows:
            return
        for name, wanted in self._where.items():
            variable = seen.columns[name].variable
            known = () if variable is None or variable.is_continuous else variable.states
            if known and not {str(value) for value in wanted} & set(map(str, known)):
                near = suggestion(wanted[0], known) if len(wanted) == 1 else suggestion("", known)
                raise InvalidArgument(f"No row has {_any_of(wanted)} in {name!r}, as where= asks.{near}")
        asked = " and ".join(f"{_any_of(wanted)} in {name!r}" for name, wanted in self._where.items())
        raise InvalidArgument(f"No row has {asked}, as where= asks: leave a part of it out.")

    @property
    def is_known(self) -> bool:
        """Whether all variables were named."""
        return all(name in self.given for name in self.names)

    def doubts(self, named: Container[str] = ()) -> dict[str, str]:
        """Name -> why a column that nobody named is hardly a variable; see `Table.doubtful`."""
        if self._wanted is not None or self.is_known:
            return {}
        columns = self.first_pass.columns
        doubts = {name: column.doubt for name, column in columns.items() if name not in named}
        return {name: why for name, why in doubts.items() if why}

    def for_learning(self, named: Iterable[str] = ()) -> Stream:
        """The rows without columns that are hardly variables, of which a warning tells, unless they are named."""
        left_out = self.doubts(set(named))
        if not left_out:
            return self
        warn_of_doubtful(left_out)
        return self.read_with(
            variables=self._told(left_out),
            columns=[name for name in self.names if name not in left_out],
        )

    @property
    def is_told(self) -> bool:
        """Whether the first pass over the data was made."""
        return "first_pass" in self.__dict__

    @property
    def rows_of_parts(self) -> Sequence[int] | None:
        """How many rows of each part are chosen; `None` where nobody has counted them."""
        if self.is_told:
            return self.first_pass.rows_of_parts
        are_counted = not self._where and all(part.is_counted for part in self.parts)
        return [part.num_rows for part in self.parts] if are_counted else None

    @property
    def counted_rows(self) -> int | None:
        """How many rows are chosen; `None` where nobody has counted them."""
        return None if self.rows_of_parts is None else sum(self.rows_of_parts)

    @property
    def num_rows(self) -> int:
        """How many rows there are, before any are chosen; more than there can be where nobody has counted them."""
        return sum(part.num_rows for part in self.parts)

    @property
    def num_bytes(self) -> float:
        """How many bytes the source has for the columns that are read."""
        share = (len(self.names) + len(self._others)) / max(len(self.parts[0].kinds), 1)
        return sum(part.num_bytes for part in self.parts) * min(share, 1.0)

    @property
    def table_bytes(self) -> float:
        """What a table of the rows would take in memory: a byte a cell, eight of numbers."""
        kinds = self.parts[0].kinds
        return self.num_rows * sum(8 if kinds[name] == NUMBERS else 1 for name in self.names)

    def encoded(self, part: Part) -> Iterator[EncodedRows]:
        """The rows of a part, some at a time."""
        for batch in self.batches(part):
            yield EncodedRows(self.encode(batch), batch.num_rows, self._weights_of(batch), self._marks_of(batch))

    def encode(self, batch: Batch) -> dict[str, NDArray[Any]]:
        """Name -> positions of states, or numbers, of some rows."""
        return {
            name: encode(variable, batch.columns[name], batch.place, batch.row)
            for name, variable in self.variables.items()
        }

    def batches(self, part: Part, more: Sequence[str] = ()) -> Iterator[Batch]:
        """The batches of a part, with the rows that were chosen and without the values that mean missing."""
        for batch in part.batches(list(dict.fromkeys([*self.names, *self._others, *more])), self._where):
            if self._markers is not None:
                cells = {name: without(self._markers, column) for name, column in batch.columns.items()}
                batch = batch._replace(columns=cells)
            if self._where:
                chosen = np.ones(batch.num_rows, dtype=np.bool_)
                for name, wanted in self._where.items():
                    chosen &= _has_one_of(name, batch.columns[name], wanted)
                batch = batch.take(chosen)
            yield batch

    def _weights_of(self, batch: Batch) -> Floats | None:
        if self._weights is None:
            return None
        weights: Floats = encode(Variable(self._weights), batch.columns[self._weights], batch.place)
        if np.isnan(weights).any() or (weights < 0).any():
            raise InvalidArgument(f"{batch.place}: weights in {self._weights!r} are missing or negative.")
        return weights

    def _marks_of(self, batch: Batch) -> Mapping[str, Flags]:
        """Name -> the rows in which it was set from outside, by the different values of the columns that tell."""
        if not self._marks:
            return {}
        if isinstance(self._interventions, str):
            given: Any = self._interventions
            cells = {given: _listed(batch.columns[given])}
            told = read_interventions(
                [*cells[given].values, None], dict.fromkeys(self.names), len(cells[given].values) + 1
            )
            return {
                name: flags[cells[given].places] for name, flags in told.items() if flags[cells[given].places].any()
            }
        marks: dict[str, Flags] = {}
        for name, column in (self._interventions or {}).items():
            listed = _listed(batch.columns[column])
            told = read_interventions(
                {name: [*listed.values, False]}, dict.fromkeys(self.names), len(listed.values) + 1
            )
            flags = told[name][listed.places] if name in told else np.zeros(batch.num_rows, dtype=np.bool_)
            marks |= {name: flags} if flags.any() else {}
        return marks


def _listed_values(wanted: Any) -> list[Any]:
    return [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)


def _any_of(wanted: Sequence[Any]) -> str:
    return " or ".join(map(shown, wanted)) or "any of no values"


def _undecided(column: GatheredColumn) -> InvalidArgument:
    name = column.name
    if column.has_too_many_values:
        problem = f"The column {name!r} has more than {MOST_VALUES} different values, too many for states."
    else:
        problem = f"The column {name!r} has no value at all, so that its states are unknown."
    is_number = column.has_too_many_values and column.kind == WHOLE_NUMBERS
    meant = Variable(name, None if is_number else ["a", "b"])
    others = Call("pb.data.Stream", Argument("source", ...), Argument("columns", ...))
    known = Call("pb.data.Stream", Argument("source", ...), Argument("variables", [meant]))
    return InvalidArgument(problem, remedies=[Remedy("leave it out: ", others), Remedy("say what it is: ", known)])


def _has_one_of(name: str, cells: Values | Numbers, wanted: Sequence[Any]) -> Flags:
    """For each row whether its cell is one that is wanted; texts of a file may stand for numbers."""
    if isinstance(cells, Numbers):
        try:
            return np.isin(cells.numbers, [float(value) for value in wanted])
        except (TypeError, ValueError):
            raise InvalidArgument(f"where= asks for {list(wanted)} in {name!r}, which holds numbers.") from None
    texts = {str(value) for value in wanted}
    fitting = [value in wanted or str(value) in texts for value in cells.values]
    return np.asarray(np.array([*fitting, False], dtype=np.bool_)[cells.places])


def _listed(cells: Values | Numbers) -> Values:
    """The different values of a column, and which one each row has; whole numbers for the texts of a CSV file."""
    if isinstance(cells, Values):
        texts = {"0": 0, "1": 1, "True": True, "False": False, "true": True, "false": False}
        return cells._replace(values=[texts.get(value, value) for value in cells.values])
    distinct, places = np.unique(cells.numbers, return_inverse=True)
    return Values(cells.kind, places, [None if np.isnan(number) else number for number in distinct.tolist()])


def table_limit() -> float:
    """How many bytes a table may take that is made of rows in pieces: a quarter of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _SHARE_OF_MEMORY
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 2.0**31
