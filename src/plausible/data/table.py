"""Rows of data, encoded once: states as small whole numbers, numbers as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats
from plausible.base.records import TextTable, html_page, num_shown
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.column_types import (
    doubt_of,
    from_columns,
    mark_columns,
    read_column,
    read_interventions,
    warn_of_doubtful,
)
from plausible.data.columns import each_column, encode_small, equally_long, read_numbers
from plausible.data.source_parts import is_in_pieces
from plausible.data.sources import open_columns
from plausible.data.streams import EncodedRows, Stream, table_limit
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable, counted
from plausible.variables import Variable
from plausible.variables.variable import states_cell

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


#: What stands for a table: one, a frame, named columns, files, a matrix, or rows in pieces.
FilesLike: TypeAlias = "str | Path | Sequence[Mapping[str, Any] | str | Path]"  # or rows one by one
TableLike: TypeAlias = "Table | Stream | IntoDataFrame | Mapping[str, Sequence[Any]] | NDArray[Any] | FilesLike"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of data with discrete and continuous columns; make one with `Table.read`.

    Attributes
    ----------
    variables
        Name -> variable, in the order of the columns.
    codes
        An array with a row of state positions for each discrete variable, in order; -1 if missing.
    numbers
        An array with a row of numbers for each continuous variable, in order; NaN if missing.
    weights
        How often each row counts; `None` if each counts once.
    interventions
        Name -> the rows in which that variable was set by intervention, which say nothing about its causes.
    doubtful
        Name -> why a column that nobody named is hardly a variable, such as "dates": learners that are told no graph
        leave it out, with a warning.
    """

    variables: Mapping[str, Variable]
    codes: NDArray[np.signedinteger[Any]]
    numbers: Floats
    weights: Floats | None = None
    interventions: Mapping[str, Flags] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", MappingProxyType(dict(self.variables)))
        object.__setattr__(self, "interventions", MappingProxyType(dict(self.interventions)))
        object.__setattr__(self, "doubtful", MappingProxyType(dict(self.doubtful)))
        self.codes.setflags(write=False)
        self.numbers.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Mappings that can't be changed can't be pickled either."""
        mappings = dict(self.interventions), dict(self.doubtful)
        return Table, (dict(self.variables), self.codes, self.numbers, self.weights, *mappings)

    @classmethod
    def read(
        cls,
        source: TableLike,
        variables: Mapping[str, Variable] | Iterable[Variable] | None = None,
        *,
        weights: str | Sequence[float] | NDArray[Any] | None = None,
        interventions: str | Mapping[str, Any] | Mapping[int, Any] | Sequence[Any] | None = None,
        missing_values: Any = None,
        columns: Iterable[str] | None = None,
    ) -> Table:
        """Encode a table.

        Parameters
        ----------
        source
            A pandas, polars or arrow frame, a mapping from names to columns, a list of mappings, one a row, a matrix
            whose columns are the variables in order, or a table. A file (CSV, TSV, Parquet, Arrow, Feather), a glob, a
            folder, or what else a `Stream` takes: all but small CSV files are read in pieces, straight to positions.
        variables
            Those that columns stand for, where their types don't say it as it is meant: a value that is no state of
            its variable is an error; in a file, states may be there as text. Columns of others are typed by what
            they hold: categories in their order, booleans, whole numbers and texts sorted; numbers of a fractional
            type are continuous, unless there are at most 20 different ones, all of them whole. Missing cells don't
            matter. In a CSV file numbers with leading zeros are text. A table is encoded anew.
        weights
            How often each row counts: a number for each, or the name of a column of numbers, which is then no
            variable. Left out, a table keeps its own.
        interventions
            What was set from outside: name -> for each row whether that variable was, as a list or as the name of a
            column, which is then no variable; or the targets of each row, as a list, as a mapping from numbers of rows,
            or as the name of a column. Targets are a name, several (in text with commas between), or nothing. Left out,
            a table keeps its own.
        missing_values
            What means missing besides None, NaN and the empty cells of a file, as `na_values` in pandas: one value or
            several, such as ("NA", "?", -999). Texts that are left in a column with such a value are typed as in a CSV
            file. Left out, a CSV file with states such as "NA" makes a warning; () says that they are states.
        columns
            The names of those to read, in this order, where others are to be left out, whatever they hold; a column of
            weights need not be among them, and `variables` of others are passed over.

        Examples
        --------
        >>> table = Table.read({"smokes": ["no", "yes", "no"], "age": [31.5, 44.0, 27.2]})
        >>> table.variables["smokes"], table.codes, table.num_rows
        (Variable('smokes', ['no', 'yes']), array([[0, 1, 0]], dtype=int8), 3)
        >>> Table.read({"height": ["1.7", "?", "1.8"]}, missing_values="?").numbers
        array([[1.7, nan, 1.8]])
        >>> Table.read({"dose": [0, 1, 1], "set": [None, "dose", None]}, interventions="set").interventions["dose"]
        array([False,  True, False])
        >>> Table.read({"name": ["Ann", None], "age": [31.5, 44.0], "notes": [None, None]}, columns=["age"])
        Table(2 rows, 1 variable (1 continuous))
        """
        given = {one.name: one for one in (variables.values() if isinstance(variables, Mapping) else variables or ())}
        wanted = None if columns is None else list(dict.fromkeys([columns] if isinstance(columns, str) else columns))
        if wanted is not None:
            given = {name: variable for name, variable in given.items() if name in wanted}
        if isinstance(source, Table):
            if missing_values is not None:
                raise InvalidArgument(
                    "The cells of this table were read before: give missing_values= to the Table.read that made it."
                )
            if not given and wanted is None and weights is None and interventions is None:
                return source
            return _read_again(source, wanted, given, weights, interventions)
        if isinstance(source, Stream) or is_in_pieces(source):
            stream = source if isinstance(source, Stream) else Stream(source)
            return _of_stream(stream, wanted, given, weights, interventions, missing_values)
        opened = open_columns(source, given, missing_values)
        if wanted is not None:
            _refuse_absent(wanted, opened.names, _UNKNOWN)
            wanted = [*wanted, *([weights] if isinstance(weights, str) else []), *mark_columns(interventions)]
        used = dict(opened.read(wanted))
        if isinstance(weights, str):
            _refuse_absent([weights], opened.names, _NO_WEIGHTS)
            weights = read_numbers(weights, used.pop(weights))
        targets_in = interventions if isinstance(interventions, str) else None
        if marks_in := [] if interventions is None else mark_columns(interventions):
            _refuse_absent(marks_in, opened.names, _NO_TARGETS)
            interventions = from_columns(interventions, {name: used.pop(name) for name in marks_in})
        _refuse_lacking(given, used)

        def encode(name: str, column: Any) -> tuple[Variable, NDArray[Any]]:
            if not isinstance(name, str):
                raise InvalidArgument(f"The column {name!r} needs a name that is text: frame.rename(columns=str).")
            if name in given:
                return given[name], encode_small(given[name], column, allow_missing=True)
            return read_column(name, column)

        encoded = each_column(encode, used)
        lengths = equally_long({name: column for name, (_, column) in encoded.items()})
        num_rows = len(next(iter(lengths.values()), ()))
        return cls(
            {name: variable for name, (variable, _) in encoded.items()},
            *_stacked(encoded.values(), num_rows),
            None if weights is None else _read_weights(weights, num_rows),
            {} if interventions is None else read_interventions(interventions, encoded, num_rows, targets_in),
            {
                name: why
                for name in encoded
                if columns is None and name not in given and (why := doubt_of(name, *encoded[name]))
            },
        )

    @classmethod
    def for_learning(cls, source: TableLike, named: Iterable[str] = ()) -> Table:
        """The table without columns that are hardly variables, of which a warning tells, unless they are named.

        >>> import warnings
        >>> rows = {"id": range(30), "rain": ["no", "yes"] * 15}
        >>> with warnings.catch_warnings(action="ignore"):
        ...     list(Table.for_learning(rows).variables)
        ['rain']
        >>> list(Table.for_learning(rows, named=["id"]).variables)
        ['id', 'rain']
        """
        if isinstance(source, Stream) or is_in_pieces(source):
            source = (source if isinstance(source, Stream) else Stream(source)).for_learning(named)
        table = cls.read(source)
        if not table.doubtful:
            return table
        kept = set(named)
        left_out = {name: why for name, why in table.doubtful.items() if name not in kept}
        if left_out:
            warn_of_doubtful(left_out)
        return replace(table.select(name for name in table.variables if name not in left_out), doubtful={})

    @property
    def num_rows(self) -> int:
        """The number of rows, whatever they weigh."""
        return int(self.codes.shape[1])

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return float(self.num_rows if self.weights is None else self.weights.sum())

    @property
    def row_weights(self) -> Floats:
        """How much each row weighs: one, where `weights` is `None`."""
        return np.ones(self.num_rows) if self.weights is None else self.weights

    @property
    def discrete(self) -> list[str]:
        """The names that the rows of `codes` stand for."""
        return [name for name, variable in self.variables.items() if not variable.is_continuous]

    @property
    def continuous(self) -> list[str]:
        """The names that the rows of `numbers` stand for."""
        return [name for name, variable in self.variables.items() if variable.is_continuous]

    @property
    def missing(self) -> dict[str, int]:
        """Name -> in how many rows it is missing; complete ones are left out."""
        # column by column: a mask of all cells would take as much memory as they
        counts = {name: int((column < 0).sum()) for name, column in zip(self.discrete, self.codes, strict=True)}
        for name, column in zip(self.continuous, self.numbers, strict=True):
            counts[name] = int(np.isnan(column).sum())
        return {name: counts[name] for name in self.variables if counts[name]}

    def column(self, name: str) -> NDArray[Any]:
        """The row of `codes`, or of `numbers`, that stands for a variable."""
        if name not in self.variables:
            raise UnknownVariable.named(name, self.variables, "this table")
        if self.variables[name].is_continuous:
            return np.asarray(self.numbers[self.continuous.index(name)])
        return np.asarray(self.codes[self.discrete.index(name)])

    def values(self, name: str) -> NDArray[Any]:
        """A column as it would be given: states or numbers, `None` or NaN where they are missing."""
        variable, column = self.variables[name], self.column(name)
        if variable.is_continuous:
            return column
        states = np.empty(variable.num_states + 1, dtype=object)
        states[:-1] = variable.states
        return np.asarray(states[column])

    def take(self, rows: NDArray[Any] | Sequence[int] | Sequence[bool]) -> Table:
        """Some of the rows, by a mask or by their numbers, which may repeat."""
        try:
            chosen = np.arange(self.num_rows)[rows]
        except IndexError as error:
            raise InvalidArgument(
                f"There are {self.num_rows} rows; take() needs the numbers of some, from 0, or True and False for each "
                f"of them: {error}."
            ) from None
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[:, chosen]),
            numbers=np.ascontiguousarray(self.numbers[:, chosen]),
            weights=None if self.weights is None else self.weights[chosen],
            interventions={name: mask[chosen] for name, mask in self.interventions.items() if mask[chosen].any()},
        )

    def select(self, names: Iterable[str]) -> Table:
        """Some of the variables, in the order given."""
        wanted = list(names)
        for name in wanted:
            if name not in self.variables:
                raise UnknownVariable.named(name, self.variables, "this table")
        variables = {name: self.variables[name] for name in wanted}
        codes, numbers = self.discrete, self.continuous
        return replace(
            self,
            variables=variables,
            codes=self.codes[[codes.index(name) for name, v in variables.items() if not v.is_continuous]],
            numbers=self.numbers[[numbers.index(name) for name, v in variables.items() if v.is_continuous]],
            interventions={name: mask for name, mask in self.interventions.items() if name in variables},
            doubtful={name: why for name, why in self.doubtful.items() if name in variables},
        )

    def with_columns(self, columns: Mapping[str, tuple[Variable, NDArray[Any]]]) -> Table:
        """The table with other variables in place of those of these names, each with its encoded column."""
        together = {name: columns.get(name) or (old, self.column(name)) for name, old in self.variables.items()}
        codes, numbers = _stacked(together.values(), self.num_rows)
        variables = {name: variable for name, (variable, _) in together.items()}
        return replace(self, variables=variables, codes=codes, numbers=numbers)

    def weighted(self, weights: Sequence[float] | NDArray[Any] | None) -> Table:
        """The same rows, each counted as often as its weight says."""
        return replace(self, weights=None if weights is None else _read_weights(weights, self.num_rows))

    def __str__(self) -> str:
        return f"{self!r}\n{self._listed}"

    def _repr_html_(self) -> str:
        return html_page(repr(self), self._listed)

    @property
    def _listed(self) -> TextTable:
        """A row for each variable: its states."""
        shown = list(self.variables.items())[: num_shown(len(self.variables))]
        rows = tuple((name, states_cell(variable)) for name, variable in shown)
        return TextTable(("variable", "states"), rows, 2, len(self.variables) - len(rows))

    def __repr__(self) -> str:
        kinds = {"discrete": len(self.discrete), "continuous": len(self.continuous)}
        told = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
        variables = counted(len(self.variables), "variable")
        return f"Table({counted(self.num_rows, 'row')}, {variables}{f' ({told})' if told else ''})"


_UNKNOWN = "though columns= names it"
_NO_WEIGHTS = "which should have it as weights"
_NO_TARGETS = "though interventions= names it as a column"


def _refuse_absent(names: Iterable[str], columns: Iterable[Any], why: str) -> None:
    there = list(columns)
    for name in names:
        if name not in there:
            raise UnknownVariable.named(name, map(str, there), f"the data, {why}")


def _refuse_lacking(given: Mapping[str, Variable], columns: Mapping[Any, Any]) -> None:
    for name in given:
        if name not in columns:
            problem = UnknownVariable.named(name, map(str, columns), "the data")
            raise UnknownVariable(f"{problem} Its column is missing: add it, or leave it out of variables=.")


def _stacked(columns: Collection[tuple[Variable, NDArray[Any]]], num_rows: int) -> tuple[NDArray[Any], Floats]:
    """One matrix of positions, of bytes where all of them fit, and one of numbers."""
    discrete = [(variable.num_states, column) for variable, column in columns if not variable.is_continuous]
    continuous = [column for variable, column in columns if variable.is_continuous]
    largest = max((num_states for num_states, _ in discrete), default=1)
    codes = np.empty((len(discrete), num_rows), dtype=_code_type(largest))
    for row, (_, column) in enumerate(discrete):
        codes[row] = column
    numbers = np.empty((len(continuous), num_rows))
    for row, column in enumerate(continuous):
        numbers[row] = column
    return codes, numbers


def table_of(variables: Mapping[str, Variable], batches: Iterable[EncodedRows], num_rows: int | None = None) -> Table:
    """The table of encoded rows that come in batches; without a copy where somebody knows how many there are."""
    if num_rows is None:
        batches = list(batches)
        num_rows = sum(rows.num_rows for rows in batches)
    largest = max((v.num_states for v in variables.values() if not v.is_continuous), default=1)
    num_continuous = sum(variable.is_continuous for variable in variables.values())
    codes = np.empty((len(variables) - num_continuous, num_rows), dtype=_code_type(largest))
    numbers = np.empty((num_continuous, num_rows))
    lines = {False: iter(codes), True: iter(numbers)}
    line_of = {name: next(lines[variable.is_continuous]) for name, variable in variables.items()}
    weights: list[Floats] = []
    marks: dict[str, Flags] = {}
    start = 0
    for rows in batches:
        end = start + rows.num_rows
        for name, column in rows.columns.items():
            line_of[name][start:end] = column
        weights += [] if rows.weights is None else [rows.weights]
        for name, mask in rows.interventions.items():
            marks.setdefault(name, np.zeros(num_rows, dtype=np.bool_))[start:end] = mask
        start = end
    return Table(variables, codes, numbers, np.concatenate(weights) if weights else None, marks)


def _code_type(num_states: int) -> type[np.signedinteger[Any]]:
    """Positions of so many states are bytes where they fit."""
    return np.int8 if num_states <= 127 else np.int32


def _of_stream(
    stream: Stream,
    wanted: list[str] | None,
    given: Mapping[str, Variable],
    weights: str | Sequence[float] | NDArray[Any] | None,
    interventions: Any,
    missing_values: Any,
) -> Table:
    """All rows that come in pieces; weights and interventions may be told for each row, too."""
    options: dict[str, Any] = {"variables": given} if given else {}
    if wanted is not None:
        options["columns"] = wanted
    if isinstance(weights, str):
        options["weights"] = weights
    if mark_columns(interventions):
        options["interventions"] = interventions
    if missing_values is not None:
        options["missing_values"] = missing_values
    if options:
        stream = stream.read_with(**options)
    if stream.table_bytes > table_limit():
        parts = Call("pb.data.StreamStatistics", Argument("source", ...))
        raise TooLarge(
            f"A table of {stream.num_rows} rows would take {stream.table_bytes:.3g} bytes, more than a quarter of the "
            "machine's memory.",
            remedies=[Remedy("count it in pieces: ", parts), Remedy("read some columns: ", Argument("columns", ...))],
        )
    variables = stream.variables
    batches = (rows for part in stream.parts for rows in stream.encoded(part))
    table = replace(table_of(variables, batches, stream.counted_rows), doubtful=stream.doubts())
    if weights is not None and not isinstance(weights, str):
        table = table.weighted(weights)
    if interventions is not None and not mark_columns(interventions):
        marks = read_interventions(interventions, variables, table.num_rows)
        table = replace(table, interventions=marks)
    return table


def _read_again(
    table: Table,
    wanted: list[str] | None,
    given: Mapping[str, Variable],
    weights: str | Sequence[float] | NDArray[Any] | None,
    interventions: Any,
) -> Table:
    """The table with columns encoded as these variables, and with other weights and interventions if there are any."""
    marks_in = mark_columns(interventions)
    _refuse_absent(wanted or (), table.variables, _UNKNOWN)
    if isinstance(weights, str):
        _refuse_absent([weights], table.variables, _NO_WEIGHTS)
    _refuse_absent(marks_in, table.variables, _NO_TARGETS)
    columns = {name: table.values(name) for name in marks_in}
    no_variables = {*marks_in, *([weights] if isinstance(weights, str) else [])}
    if isinstance(weights, str):
        weights = read_numbers(weights, table.values(weights))
    if wanted is not None or no_variables:
        table = table.select(
            name for name in (table.variables if wanted is None else wanted) if name not in no_variables
        )
    _refuse_lacking(given, table.variables)
    changed = {name: variable for name, variable in given.items() if not _is_same(variable, table.variables[name])}
    if changed:
        encoded = {name: encode_small(one, table.values(name), allow_missing=True) for name, one in changed.items()}
        table = table.with_columns({name: (changed[name], column) for name, column in encoded.items()})
    doubts = {} if wanted is not None else {name: why for name, why in table.doubtful.items() if name not in given}
    table = replace(table, doubtful=doubts)
    if weights is not None:
        table = table.weighted(weights)
    if interventions is not None:
        targets_in = interventions if isinstance(interventions, str) else None
        given_marks = from_columns(interventions, columns)
        marks = read_interventions(given_marks, table.variables, table.num_rows, targets_in)
        table = replace(table, interventions=marks)
    return table


def _is_same(first: Variable, second: Variable) -> bool:
    """Whether columns of both are encoded alike, so that states are of the same types, too."""
    return first == second and list(map(type, first.states)) == list(map(type, second.states))


def state_columns(table: Table) -> dict[str, Any]:
    """Name -> its states (`None` where missing) or numbers (NaN where missing), in the order of the variables."""
    return {name: table.values(name) for name in table.variables}


def _read_weights(weights: Any, num_rows: int) -> Floats:
    try:
        read = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("Weights are a number for each row, or the name of a column of numbers.") from None
    if read.shape != (num_rows,):
        raise InvalidArgument(f"There are {num_rows} rows, but weights of the shape {read.shape}.")
    bad = ~np.isfinite(read) | (read < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidArgument(f"The weight of row {row} is {read[row]}; weights are finite and not negative.")
    return read
