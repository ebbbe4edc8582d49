"""Rows of data, encoded once: states as small whole numbers, numbers as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data.column_types import read_column
from plausible.data.columns import encode_column, equally_long, refuse_others
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables import Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["Table", "TableLike"]

#: What stands for a table: one, a frame, named columns, a CSV or Parquet file, or a matrix.
TableLike: TypeAlias = "Table | IntoDataFrame | Mapping[str, Sequence[Any]] | str | Path | NDArray[Any]"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of data on variables of both kinds; made by `Table.read`.

    Attributes
    ----------
    variables
        Name -> variable, in the order of the columns.
    codes
        A row of state positions for each discrete variable, in order; -1 where missing.
    numbers
        A row of numbers for each continuous variable, in order; NaN where missing.
    weights
        How often each row counts; `None` where each counts once.
    interventions
        Name -> the rows in which that variable was set from outside, which say nothing about its causes.
    """

    variables: Mapping[str, Variable]
    codes: NDArray[np.signedinteger[Any]]
    numbers: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    interventions: Mapping[str, NDArray[np.bool_]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def read(
        cls,
        source: TableLike,
        variables: Mapping[str, Variable] | Iterable[Variable] | None = None,
        *,
        weights: str | Sequence[float] | NDArray[Any] | None = None,
        interventions: Mapping[str, Sequence[bool] | NDArray[Any]] | None = None,
    ) -> Table:
        """Encode a table.

        Parameters
        ----------
        source
            A pandas, polars or arrow frame, a mapping from names to columns, a CSV or Parquet file, a matrix whose
            columns are the variables in order, or a table.
        variables
            Those that columns stand for, where their types don't say it as it is meant: a value that is no state of
            its variable is an error. Columns of others are typed by what they hold: categories in their order,
            booleans, whole numbers and texts sorted; fractional numbers are continuous.
        weights
            How often each row counts: a number for each, or the name of a column of numbers, which is then no
            variable.
        interventions
            Name -> for each row whether that variable was set from outside.

        Examples
        --------
        >>> table = Table.read({"smokes": ["no", "yes", "no"], "age": [31.5, 44.0, 27.2]})
        >>> table.variables["smokes"], table.codes, table.num_rows
        (Variable('smokes', ['no', 'yes']), array([[0, 1, 0]], dtype=int8), 3)
        """
        if isinstance(source, Table):
            return source
        given = _by_name(variables)
        columns = dict(columns_of(source, list(given)))
        if isinstance(weights, str):
            if weights not in columns:
                raise UnknownVariable.named(weights, map(str, columns), "the data, which should have it as weights")
            weights = columns.pop(weights)
        _refuse_absent(given, columns)
        encoded: dict[str, tuple[Variable, NDArray[Any]]] = {}
        for name, column in columns.items():
            if not isinstance(name, str):
                raise InvalidArgument(f"The column {name!r} needs a name that is text: frame.rename(columns=str).")
            known = given.get(name)
            encoded[name] = read_column(name, column) if known is None else (known, _encode(known, column))
        lengths = equally_long({name: column for name, (_, column) in encoded.items()})
        num_rows = len(next(iter(lengths.values()), ()))
        return cls(
            MappingProxyType({name: variable for name, (variable, _) in encoded.items()}),
            _stacked_codes([(v, column) for v, column in encoded.values() if not v.is_continuous], num_rows),
            _stacked_numbers([column for v, column in encoded.values() if v.is_continuous], num_rows),
            _read_weights(weights, num_rows),
            _read_interventions(interventions or {}, encoded, num_rows),
        )

    @property
    def num_rows(self) -> int:
        """The number of rows, whatever they weigh."""
        return int(self.codes.shape[1])

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return float(self.num_rows if self.weights is None else self.weights.sum())

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
        counts = dict(zip(self.discrete, (self.codes < 0).sum(axis=1).tolist(), strict=True))
        counts |= dict(zip(self.continuous, np.isnan(self.numbers).sum(axis=1).tolist(), strict=True))
        return {name: counts[name] for name in self.variables if counts[name]}

    def take(self, rows: NDArray[Any]) -> Table:
        """Some of the rows, by a mask or by their numbers, which may repeat."""
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[:, rows]),
            numbers=np.ascontiguousarray(self.numbers[:, rows]),
            weights=None if self.weights is None else self.weights[rows],
            interventions={name: mask[rows] for name, mask in self.interventions.items()},
        )

    def select(self, names: Iterable[str]) -> Table:
        """Some of the variables, in the order given."""
        wanted = {name: self.variables[name] for name in names}
        codes, numbers = self.discrete, self.continuous
        return replace(
            self,
            variables=MappingProxyType(wanted),
            codes=self.codes[[codes.index(name) for name, v in wanted.items() if not v.is_continuous]],
            numbers=self.numbers[[numbers.index(name) for name, v in wanted.items() if v.is_continuous]],
            interventions={name: mask for name, mask in self.interventions.items() if name in wanted},
        )

    def weighted(self, weights: Sequence[float] | NDArray[Any] | None) -> Table:
        """The same rows, each counted as often as its weight says."""
        return replace(self, weights=_read_weights(weights, self.num_rows))

    def __repr__(self) -> str:
        return f"Table({self.num_rows} rows, {len(self.variables)} variables)"


# --- reading ---


def _by_name(variables: Mapping[str, Variable] | Iterable[Variable] | None) -> dict[str, Variable]:
    listed = variables.values() if isinstance(variables, Mapping) else variables or ()
    return {variable.name: variable for variable in listed}


def _refuse_absent(given: Mapping[str, Variable], columns: Mapping[Any, Any]) -> None:
    for name in given:
        if name not in columns:
            refuse_others([name], {str(column): given[name] for column in columns}, "the data")


def _encode(variable: Variable, column: Any) -> NDArray[Any]:
    if variable.is_continuous:
        read = read_column(variable.name, np.asarray(column, dtype=np.float64))
        return read[1]
    return encode_column(variable, column, allow_missing=True)


def _stacked_codes(columns: Sequence[tuple[Variable, NDArray[Any]]], num_rows: int) -> NDArray[Any]:
    """One matrix, of bytes where all positions fit."""
    largest = max((variable.num_states for variable, _ in columns), default=1)
    codes = np.empty((len(columns), num_rows), dtype=np.int8 if largest <= 127 else np.int32)
    for row, (_, column) in enumerate(columns):
        codes[row] = column
    codes.setflags(write=False)
    return codes


def _stacked_numbers(columns: Sequence[NDArray[Any]], num_rows: int) -> NDArray[np.float64]:
    numbers = np.empty((len(columns), num_rows))
    for row, column in enumerate(columns):
        numbers[row] = column
    numbers.setflags(write=False)
    return numbers


def _read_weights(weights: Any, num_rows: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
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


def _read_interventions(
    masks: Mapping[str, Any], known: Mapping[str, object], num_rows: int
) -> Mapping[str, NDArray[np.bool_]]:
    read = {}
    for name, mask in masks.items():
        if name not in known:
            raise UnknownVariable.named(name, known, "the data, though interventions name it")
        rows = np.array(mask)
        if rows.dtype != np.bool_ or rows.shape != (num_rows,):
            raise InvalidArgument(f"The interventions on {name!r} are a list of True and False for {num_rows} rows.")
        if rows.any():
            read[name] = rows
    return MappingProxyType(read)
