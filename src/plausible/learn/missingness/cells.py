"""Cells of a table of any kind: which are missing, the same table with some hidden, filled, or columns added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Ints
from plausible.data.columns import equally_long
from plausible.data.factorizing import factorize, is_absent
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike, state_columns
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd


Mask: TypeAlias = NDArray[np.bool_]


def missing_mask(name: str, column: Any) -> Mask:
    """Which cells of a column are missing; its states need not be known."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return np.isnan(column)
    places, values = factorize(name, column)
    absent = np.array([is_absent(value) for value in values] + [True], dtype=np.bool_)
    return absent[places]


def hidden_column(column: Any, mask: Mask) -> Any:
    """The column with cells missing where the mask is true; whole numbers and booleans become types that allow it."""
    if isinstance(column, np.ndarray):
        hidden = column.copy() if column.dtype.kind == "f" else column.astype(object)
        hidden[mask] = np.nan if column.dtype.kind == "f" else None
        return hidden
    if isinstance(column, (list, tuple)):
        return _plain(column, mask, None)
    import narwhals as nw

    native: Any = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native):
        kind = native.dtype.kind if isinstance(native.dtype, np.dtype) else "O"
        nullable: Any = {"i": "Int64", "u": "UInt64", "b": "boolean"}.get(kind)
        return (native if nullable is None else native.astype(nullable)).mask(mask)
    series = nw.from_native(column, series_only=True)
    kept = nw.new_series("kept", (~mask).tolist(), nw.Boolean, backend=series.implementation)
    empty = nw.new_series(series.name, [None] * len(series), series.dtype, backend=series.implementation)
    return series.zip_with(kept, empty).to_native()


def filled_column(column: Any, mask: Mask, values: NDArray[Any]) -> Any:
    """The column with given values where the mask is true, of the same type where that type can hold them."""
    if not mask.any():
        return column
    if isinstance(column, np.ndarray):
        filled = column.astype(object) if _needs_objects(column.dtype.kind in "iufb", values) else column.copy()
        filled[mask] = values
        return filled
    if isinstance(column, (list, tuple)):
        return _plain(column, mask, values)
    import narwhals as nw

    native = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native):
        return _filled_pandas(native, mask, values)
    series = nw.from_native(column, series_only=True)
    backend = series.implementation
    if str(series.dtype) == "Unknown" or _needs_objects(series.dtype.is_numeric(), values):  # no value, so no type
        return nw.new_series(series.name, _plain(series.to_list(), mask, values), backend=backend).to_native()
    new = nw.new_series(series.name, values.tolist(), series.dtype, backend=backend)
    return series.scatter(np.flatnonzero(mask).tolist(), new).to_native()


def _plain(column: Any, mask: Mask, values: Any) -> Any:
    """The list or tuple with other cells where the mask is true."""
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    cells[mask] = values
    return type(column)(cells.tolist())


def _needs_objects(is_numeric: bool, values: NDArray[Any]) -> bool:
    """Text that looks like a number must stay text in a column of numbers."""
    return is_numeric and any(isinstance(value, str) for value in set(values.tolist()))


def _filled_pandas(series: pd.Series[Any], mask: Mask, values: NDArray[Any]) -> pd.Series[Any]:
    import pandas as pd

    kind = pd.api.types.is_numeric_dtype(series.dtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        more = [value for value in dict.fromkeys(values.tolist()) if value not in series.dtype.categories]
        series = series.cat.add_categories(more) if more else series
    cells: Any = series.astype(object).array.copy() if _needs_objects(kind, values) else series.array.copy()
    cells[mask] = values.tolist()
    return pd.Series(cells, index=series.index, name=series.name)


Masks = Mapping[str, Mask]


def missing_cells(data: TableLike) -> dict[str, Mask]:
    """Name -> which of its cells are missing, all columns in order."""
    if isinstance(data, Table):
        return table_cells(data)
    return equally_long({str(name): missing_mask(str(name), column) for name, column in columns_of(data).items()})


def table_cells(table: Table) -> dict[str, Mask]:
    """Name -> which of its cells are missing."""
    columns = {name: table.column(name) for name in table.variables}
    return {name: np.isnan(column) if column.dtype.kind == "f" else column < 0 for name, column in columns.items()}


def incomplete_rows(table: Table) -> Mask:
    """For each row whether a cell of it is missing."""
    return np.asarray((table.codes < 0).any(axis=0) | np.isnan(table.numbers).any(axis=0))


def with_cells(table: Table, masks: Masks, values: Mapping[str, Any]) -> Table:
    """The table with other cells, states as positions, where a mask is true; columns without values stay."""
    columns = {}
    for name, found in values.items():
        column = table.column(name).copy()
        column[masks[name]] = found
        columns[name] = table.variables[name], column
    changed = table.with_columns(columns)
    for array in (changed.codes, changed.numbers):
        array.setflags(write=False)
    return replace(changed, variables=table.variables)


def hide_cells(data: TableLike, masks: Masks) -> Any:
    """The same kind of data, with the cells missing at which a mask is true."""
    if isinstance(data, Table):
        return with_cells(data, masks, {name: np.nan if name in data.continuous else -1 for name in masks})
    columns = columns_of(data)
    return _replaced(data, {name: hidden_column(columns[name], mask) for name, mask in masks.items() if mask.any()})


def fill_cells(data: TableLike, filled: Table) -> Any:
    """The same kind of data, with the cells that are missing in it as in the table `filled`."""
    masks = {name: mask for name, mask in missing_cells(data).items() if name in filled.variables}
    if isinstance(data, Table):
        return with_cells(data, masks, {name: filled.column(name)[mask] for name, mask in masks.items()})
    columns, still, before = state_columns(filled), table_cells(filled), columns_of(data)
    masks = {name: mask & ~still[name] for name, mask in masks.items()}
    chosen = {name: mask for name, mask in masks.items() if mask.any()}
    return _replaced(data, {n: filled_column(before[n], mask, columns[n][mask]) for n, mask in chosen.items()})


def with_columns(data: TableLike, columns: Mapping[str, Ints], states: tuple[int, ...]) -> Any:
    """The same kind of data with more columns, of whole numbers that are among the states."""
    if isinstance(data, Table):
        more = np.array(list(columns.values()), dtype=data.codes.dtype).reshape(len(columns), data.num_rows)
        added = {name: Variable(name, states) for name in columns}
        codes = np.concatenate([data.codes, more])
        codes.setflags(write=False)
        return replace(data, variables=MappingProxyType({**data.variables, **added}), codes=codes)
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
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            new = nw.new_series(name, column.tolist(), backend=frame.implementation)
        else:
            new = nw.from_native(column, series_only=True).alias(name)
        frame = frame.with_columns(new)
    return frame.to_native() if columns else data
