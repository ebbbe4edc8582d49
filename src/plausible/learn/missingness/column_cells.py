"""Cells of one column, whatever library it is from: which are missing, and the column with some hidden or filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data.columns import factorize
from plausible.variables.variable import is_missing

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

__all__ = ["Mask", "filled_column", "hidden_column", "missing_mask"]

Mask: TypeAlias = NDArray[np.bool_]


def missing_mask(name: str, column: Any) -> Mask:
    """Which cells of a column are missing; its states need not be known.

    >>> missing_mask("x", ["a", None, float("nan")]).tolist()
    [False, True, True]
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return np.isnan(column)
    places, values = factorize(name, column)
    absent = np.array([value is None or is_missing(value) for value in values] + [True], dtype=np.bool_)
    return absent[places]


def hidden_column(column: Any, mask: Mask) -> Any:
    """The column with cells missing where the mask is true; whole numbers and booleans become types that allow it.

    >>> hidden_column([1, 2], np.array([False, True]))
    [1, None]
    """
    if isinstance(column, np.ndarray):
        hidden = column.copy() if column.dtype.kind == "f" else column.astype(object)
        hidden[mask] = np.nan if column.dtype.kind == "f" else None
        return hidden
    if _is_plain(column):
        cells = _objects(column)
        cells[mask] = None
        return type(column)(cells.tolist())
    return _hidden(column, mask)


def filled_column(column: Any, mask: Mask, values: NDArray[Any]) -> Any:
    """The column with given values where the mask is true, of the same type where that type can hold them.

    >>> filled_column([1, None], np.array([False, True]), np.array([2], dtype=object))
    [1, 2]
    """
    if not mask.any():
        return column
    if isinstance(column, np.ndarray):
        filled = column.astype(object) if _needs_objects(column.dtype.kind in "iufb", values) else column.copy()
        filled[mask] = values
        return filled
    if _is_plain(column):
        cells = _objects(column)
        cells[mask] = values
        return type(column)(cells.tolist())
    import narwhals as nw

    native = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native):
        return _filled_pandas(native, mask, values)
    return _filled_series(nw.from_native(column, series_only=True), mask, values)


def _is_plain(column: Any) -> bool:
    return isinstance(column, (list, tuple))


def _objects(column: Any) -> NDArray[Any]:
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    return cells


def _needs_objects(is_numeric: bool, values: NDArray[Any]) -> bool:
    """Text that looks like a number must stay text in a column of numbers."""
    return is_numeric and any(isinstance(value, str) for value in set(values.tolist()))


def _hidden(column: Any, mask: Mask) -> Any:
    import narwhals as nw

    native: Any = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native):
        kind = native.dtype.kind if isinstance(native.dtype, np.dtype) else "O"
        nullable: Any = {"i": "Int64", "u": "UInt64", "b": "boolean"}.get(kind)
        return (native if nullable is None else native.astype(nullable)).mask(mask)
    series = nw.from_native(column, series_only=True)
    kept = nw.new_series("kept", (~mask).tolist(), nw.Boolean, backend=series.implementation)
    return series.zip_with(kept, _empty(series)).to_native()


def _empty(series: nw.Series[Any]) -> nw.Series[Any]:
    import narwhals as nw

    return nw.new_series(series.name, [None] * len(series), series.dtype, backend=series.implementation)


def _filled_pandas(series: pd.Series[Any], mask: Mask, values: NDArray[Any]) -> pd.Series[Any]:
    import pandas as pd

    kind = pd.api.types.is_numeric_dtype(series.dtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        more = [value for value in dict.fromkeys(values.tolist()) if value not in series.dtype.categories]
        series = series.cat.add_categories(more) if more else series
    cells: Any = series.astype(object).array.copy() if _needs_objects(kind, values) else series.array.copy()
    cells[mask] = values.tolist()
    return pd.Series(cells, index=series.index, name=series.name)


def _filled_series(series: nw.Series[Any], mask: Mask, values: NDArray[Any]) -> Any:
    import narwhals as nw

    listed, backend = values.tolist(), series.implementation
    if str(series.dtype) == "Unknown" or _needs_objects(series.dtype.is_numeric(), values):  # no value, so no type
        cells = _objects(series.to_list())
        cells[mask] = values
        return nw.new_series(series.name, cells.tolist(), backend=backend).to_native()
    new = nw.new_series(series.name, listed, series.dtype, backend=backend)
    return series.scatter(np.flatnonzero(mask).tolist(), new).to_native()
