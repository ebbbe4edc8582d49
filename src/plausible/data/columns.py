"""Columns of a data frame as state positions and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables import Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["encode_column", "encode_columns"]


def encode_columns(
    frame: IntoDataFrame | Mapping[str, Sequence[Any]], variables: Mapping[str, Variable]
) -> dict[str, npt.NDArray[Any]]:
    """For each variable its column, states as positions; other columns are not looked at.

    Parameters
    ----------
    frame
        A pandas, polars or arrow frame, or a mapping from names to columns.
    variables
        Name -> variable; each must have a column without missing values.

    >>> encode_columns({"X": ["b", "a"]}, {"X": Variable("X", ["a", "b"])})
    {'X': array([1, 0])}
    """
    columns = frame if isinstance(frame, Mapping) else _frame_columns(frame)
    for name in variables:
        if name not in columns:
            raise UnknownVariable(
                f"The data has no column for the variable {name!r}; its columns: {list(columns)[:10]}."
            )
    encoded = {name: encode_column(variable, columns[name]) for name, variable in variables.items()}
    lengths = {len(column) for column in encoded.values()}
    if len(lengths) > 1:
        raise InvalidArgument(f"The columns have different lengths: {sorted(lengths)}.")
    return encoded


def _frame_columns(frame: IntoDataFrame) -> Mapping[str, Any]:
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    return {name: table[name] for name in table.columns}


def encode_column(variable: Variable, column: Any) -> npt.NDArray[Any]:
    """State positions, or numbers for a continuous variable; an unknown or missing value is an error with its row."""
    values = column.to_list() if hasattr(column, "to_list") else list(column)
    if variable.is_continuous:
        numbers = np.array(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            row = int(np.argmin(np.isfinite(numbers)))
            raise InvalidArgument(
                f"Row {row} of column {variable.name!r} is {values[row]!r}: expected a finite number."
            )
        return numbers
    positions = {state: position for position, state in enumerate(variable.states or ())}
    codes = {value: positions.get(value, -1) for value in set(values)}
    encoded = np.fromiter((codes[value] for value in values), dtype=np.intp, count=len(values))
    if len(encoded) and encoded.min() < 0:
        row = int(np.argmin(encoded))
        raise InvalidArgument(f"Row {row} of column {variable.name!r}: {variable.unknown_state(values[row])}")
    return encoded
