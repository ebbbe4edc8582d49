"""A column that says how often each row counts."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable

__all__ = ["WeightsColumn", "weighted_by"]

WeightsColumn = Annotated[
    str | None,
    typer.Option("--weights", help="The column that says how often each row counts.", show_default=False),
]


def weighted_by(table: Table, column: str | None) -> Table:
    """The rows with these weights; the column is then no variable.

    >>> table = weighted_by(Table.read({"coin": ["heads", "tails"], "times": [3, 5]}), "times")
    >>> list(table.variables), table.weights
    (['coin'], array([3., 5.]))
    """
    if column is None:
        return table
    if column not in table.variables:
        raise UnknownVariable.named(column, table.variables, "the data, which should have it as --weights")
    if column in table.missing:
        raise InvalidArgument(f"The column {column!r} of --weights is empty in {table.missing[column]} rows.")
    if column in table.continuous:
        cells = table.numbers[table.continuous.index(column)]
    else:
        states = np.array(table.variables[column].states, dtype=object)
        cells = states[table.codes[table.discrete.index(column)]]
    try:
        weights = np.array(cells, dtype=np.float64)
    except ValueError:
        raise InvalidArgument(f"The column {column!r} of --weights has other cells than numbers.") from None
    return table.select(name for name in table.variables if name != column).weighted(weights)
