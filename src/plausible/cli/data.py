"""The data that commands learn from: how columns are read, rows weighted, and rows with empty cells left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plausible.base import Floats
from plausible.cli.output import STANDARD_INPUT, is_standard, piped_bytes, piped_file
from plausible.data import PartitionedStatistics, Stream, Table
from plausible.data.columns import has_values, read_numbers, with_values
from plausible.data.sources import OpenColumns, open_columns
from plausible.data.stream_statistics import different_numbers
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.learn.incomplete_structures.available import complete_rows
from plausible.scale.dask_statistics import DaskStatistics
from plausible.variables import Variable

#: How files begin -> their ending; others are CSV files.
_MARKS = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"BZh": ".csv.bz2", b"\xfd7zXZ": ".csv.xz"}


@dataclass(frozen=True, slots=True, eq=False)
class DataColumns:
    """The columns of a file."""

    source: OpenColumns  # the columns, of which those that are asked for are read
    variables: Mapping[str, Variable]  # name -> variable, of the columns of which it is known

    @property
    def names(self) -> list[str]:
        """Of all columns, in order."""
        return self.source.names

    def has_values(self, name: str) -> bool:
        """Whether there is a column of this name, and anything in it."""
        return any(has_values(name, column) for column in self.source.read([name]).values())

    def table_with_values(self) -> Table:
        """The columns of known variables, and those of others that hold anything."""
        used = with_values(self.source.read(), self.variables)
        return Table.read(used, self.variables)

    def rows(self, names: Iterable[str], weights: str | None = None) -> Table:
        """Some of the columns, of which one may say how often each row counts."""
        return weighted_by(self.table(names), weights)

    def table(self, names: Iterable[str] | None = None, interventions: str | None = None) -> Table:
        """Some of the columns, or all; one of them may name what was set from outside in each row."""
        if interventions is not None and interventions not in self.names:
            raise UnknownVariable.named(interventions, self.names, "the data, which should have it as --interventions")
        used = self.source.read(names)
        known = [variable for name, variable in self.variables.items() if name in used]
        return Table.read(used, known, interventions=interventions)


@dataclass(frozen=True, slots=True, eq=False)
class ClusterColumns:
    """The columns of files whose rows the workers of a cluster are to hold."""

    stream: Stream
    address: str

    @property
    def names(self) -> list[str]:
        """Of all columns, in order."""
        return self.stream.names

    def has_values(self, name: str) -> bool:
        """Whether there is a column of this name; nobody has looked at what is in it."""
        return name in self.names

    def rows(self, names: Iterable[str], weights: str | None = None) -> PartitionedStatistics:
        """Some of the columns, of which one may say how often each row counts."""
        stream, wanted = self.stream.read_with(weights=weights), list(names)
        if set(wanted) < set(self.names):
            stream = stream.read_with(columns=[name for name in wanted if name != weights])
        return DaskStatistics(stream, self.address)


def open_data(path: Path, cluster: str | None, **options: Any) -> DataColumns | ClusterColumns:
    """The columns of a file, or of files that a cluster reads."""
    if cluster is None:
        return read_columns(path, **options)
    if is_standard(path):
        raise InvalidArgument("--cluster reads files, which workers find under the same path, not standard input.")
    known = [*options.get("variables", ()), *map(Variable, options.get("continuous") or ())]
    stream = Stream(path, missing_values=options.get("missing_values"))
    _refuse_absent(stream.names, **options)
    if states := options.get("states"):
        chosen = DaskStatistics(stream.read_with(columns=states), cluster)
        numbers = different_numbers(chosen)
        known += [_numbered(name, numbers[name]) if name in numbers else chosen.variables[name] for name in states]
    there = [variable for variable in known if variable.name in stream.names]
    return ClusterColumns(stream.read_with(variables=there), cluster)


def _refuse_absent(
    names: Iterable[str], continuous: Iterable[str] | None = None, states: Iterable[str] | None = None, **_: object
) -> None:
    for option, wanted in (("--continuous", continuous), ("--states", states)):
        for name in wanted or ():
            if name not in names:
                raise UnknownVariable.named(name, names, f"the data, though {option} names it")


def read_columns(
    path: Path,
    variables: Iterable[Variable] = (),
    *,
    missing_values: list[str] | None = None,
    continuous: Iterable[str] | None = None,
    states: Iterable[str] | None = None,
) -> DataColumns:
    """The columns of a file; variables that have no column in it are passed over."""
    known = {variable.name: variable for variable in (*variables, *map(Variable, continuous or ()))}
    source = _piped(known, missing_values) if is_standard(path) else open_columns(path, known, missing_values)
    _refuse_absent(source.names, continuous, states)
    known |= {name: _with_states(name, source.read([name])[name]) for name in states or ()}
    return DataColumns(source, {name: variable for name, variable in known.items() if name in source.names})


def _piped(variables: Mapping[str, Variable], missing_values: list[str] | None) -> OpenColumns:
    """The columns on standard input: of a Parquet file, or of a CSV file, which may be packed."""
    data = piped_bytes()
    ending = next((ending for mark, ending in _MARKS.items() if data.startswith(mark)), ".csv")
    with piped_file(ending) as path:
        found = open_columns(path, variables, missing_values)
    return replace(found, file=Path(f"{STANDARD_INPUT}{ending}" if ending == ".parquet" else STANDARD_INPUT))


def read_data(path: Path, variables: Iterable[Variable] = (), **options: Any) -> Table:
    """The table in a file; variables that have no column in it are passed over."""
    return read_columns(path, variables, **options).table()


def _with_states(name: str, column: Any) -> Variable:
    """The variable whose states are the numbers of a column, or what else it has."""
    table = Table.read({name: column})
    if not table.continuous:
        return table.variables[name]
    numbers = read_numbers(name, column)
    return _numbered(name, np.unique(numbers[~np.isnan(numbers)]))


def _numbered(name: str, numbers: Floats) -> Variable:
    """The variable whose states are numbers, which are different and sorted."""
    return Variable(name, [int(number) if number.is_integer() else number for number in numbers.tolist()])


def weighted_by(table: Table, column: str | None) -> Table:
    """The rows with these weights; the column is then no variable."""
    if column is None:
        return table
    UnknownVariable.check(column, table.variables, "the data, which should have it as --weights")
    if column in table.missing:
        raise InvalidArgument(f"The column {column!r} of --weights is empty in {table.missing[column]} rows.")
    cells: Any = table.column(column)
    if column not in table.continuous:
        cells = np.array(table.variables[column].states, dtype=object)[cells]
    try:
        weights = np.array(cells, dtype=np.float64)
    except ValueError:
        raise InvalidArgument(f"The column {column!r} of --weights has other cells than numbers.") from None
    return table.select(name for name in table.variables if name != column).weighted(weights)


def usable_rows(table: Table, nodes: Iterable[Any], missing: str | None) -> Table:
    """The columns of a graph's nodes, where asked for without the rows that have empty cells there."""
    if missing is None:
        return table
    if missing != "complete-rows":
        raise InvalidArgument(f"--missing is complete-rows here, not {missing!r}; or complete cells: plausible impute.")
    wanted = set(nodes)
    used = table.select(name for name in table.variables if name in wanted)
    return whole_rows(used) if used.missing else used


def whole_rows(table: Table) -> Table:
    """The rows in which nothing is missing; refused in words of the shell if there are none."""
    try:
        return complete_rows(table)
    except InvalidArgument:
        raise InvalidArgument(
            f"None of {counted(table.num_rows, 'row')} is complete, and --missing complete-rows leaves nothing. "
            "Complete them first: plausible impute."
        ) from None


def told_left_out(before: Table, after: Table) -> str:
    """How many rows were left out, and what that takes for granted; "" if none were."""
    number = before.num_rows - after.num_rows
    if not number:
        return ""
    rows = counted(before.num_rows, "row")
    return f"{number} of {rows} left out, whose cells are taken to be missing completely at random"
