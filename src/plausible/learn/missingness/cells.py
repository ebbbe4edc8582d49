"""Cells of a table of any kind: hidden, filled, or given more columns; the same kind comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.data.columns import equally_long
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.learn.missingness.column_cells import Mask, filled_column, hidden_column, missing_mask
from plausible.learn.missingness.state_columns import state_columns
from plausible.variables import Variable

__all__ = ["fill_cells", "hide_cells", "missing_cells", "table_cells", "with_columns"]

Masks = Mapping[str, Mask]


def missing_cells(data: TableLike) -> dict[str, Mask]:
    """Name -> which of its cells are missing, all columns in order.

    >>> {name: mask.tolist() for name, mask in missing_cells({"x": [1, None], "y": [None, None]}).items()}
    {'x': [False, True], 'y': [True, True]}
    """
    if isinstance(data, Table):
        return table_cells(data)
    return equally_long({str(name): missing_mask(str(name), column) for name, column in columns_of(data).items()})


def table_cells(table: Table) -> dict[str, Mask]:
    """Name -> which of its cells are missing."""
    masks = dict(zip(table.discrete, table.codes < 0, strict=True))
    masks |= dict(zip(table.continuous, np.isnan(table.numbers), strict=True))
    return {name: masks[name] for name in table.variables}


def hide_cells(data: TableLike, masks: Masks) -> Any:
    """The same kind of data, with the cells missing at which a mask is true."""
    if isinstance(data, Table):
        codes, numbers = data.codes.copy(), data.numbers.copy()
        for row, name in enumerate(data.discrete):
            codes[row, masks.get(name, False)] = -1
        for row, name in enumerate(data.continuous):
            numbers[row, masks.get(name, False)] = np.nan
        return replace(data, codes=_frozen(codes), numbers=_frozen(numbers))
    columns = columns_of(data)
    return _replaced(data, {name: hidden_column(columns[name], mask) for name, mask in masks.items() if mask.any()})


def fill_cells(data: TableLike, filled: Table) -> Any:
    """The same kind of data, with the cells that are missing in it as in the table `filled`."""
    if isinstance(data, Table):
        return _filled_table(data, filled)
    columns = state_columns(filled)
    still, before = table_cells(filled), columns_of(data)
    masks = {name: mask & ~still[name] for name, mask in missing_cells(data).items() if name in columns}
    return _replaced(
        data,
        {name: filled_column(before[name], mask, columns[name][mask]) for name, mask in masks.items() if mask.any()},
    )


def _filled_table(table: Table, filled: Table) -> Table:
    codes, numbers = table.codes.copy(), table.numbers.copy()
    for old, old_names, new, new_names in (
        (codes, table.discrete, filled.codes, filled.discrete),
        (numbers, table.continuous, filled.numbers, filled.continuous),
    ):
        shared = [name for name in old_names if name in new_names]
        old[[old_names.index(name) for name in shared]] = new[[new_names.index(name) for name in shared]]
    return replace(table, codes=_frozen(codes), numbers=_frozen(numbers))


def with_columns(data: TableLike, columns: Mapping[str, Ints], states: tuple[int, ...]) -> Any:
    """The same kind of data with more columns, of whole numbers that are among the states."""
    if isinstance(data, Table):
        more = np.array(list(columns.values()), dtype=data.codes.dtype).reshape(len(columns), data.num_rows)
        added = {name: Variable(name, states) for name in columns}
        return replace(
            data,
            variables=MappingProxyType({**data.variables, **added}),
            codes=_frozen(np.concatenate([data.codes, more])),
        )
    plain = isinstance(data, Mapping)
    return _replaced(data, {name: column.tolist() if plain else column for name, column in columns.items()})


def _replaced(data: Any, columns: Mapping[str, Any]) -> Any:
    """The data with some columns changed or added; a file comes back as a frame, a matrix as named columns."""
    if isinstance(data, (Mapping, np.ndarray)):
        return {**columns_of(data), **columns}
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(data):
        return data.assign(**columns)
    if isinstance(data, (str, Path)):
        import pandas as pd

        return pd.DataFrame({**columns_of(data), **columns})
    frame = nw.from_native(data, eager_only=True)
    backend = frame.implementation
    new = [
        nw.new_series(name, column.tolist(), backend=backend)
        if isinstance(column, np.ndarray)
        else nw.from_native(column, series_only=True).alias(name)
        for name, column in columns.items()
    ]
    return frame.with_columns(*new).to_native() if new else data


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
