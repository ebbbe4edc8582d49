"""An encoded table as columns of states and numbers, which models read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.data.table import Table

__all__ = ["state_array", "state_columns"]


def state_array(table: Table, name: str, codes: NDArray[Any]) -> NDArray[Any]:
    """The states at some positions, as objects; `None` for -1."""
    states = np.empty(table.variables[name].num_states + 1, dtype=object)
    states[:-1] = table.variables[name].states
    states[-1] = None
    found: NDArray[Any] = states[codes]
    return found


def state_columns(table: Table) -> dict[str, Any]:
    """Name -> its states (`None` where missing) or numbers (NaN where missing), in the order of the variables.

    >>> state_columns(Table.read({"x": ["a", None]}))
    {'x': array(['a', None], dtype=object)}
    """
    columns: dict[str, NDArray[Any]] = dict(zip(table.continuous, table.numbers, strict=True))
    columns |= {name: state_array(table, name, codes) for name, codes in zip(table.discrete, table.codes, strict=True)}
    return {name: columns[name] for name in table.variables}
