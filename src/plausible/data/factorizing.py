"""The different values of a column and which one each row has, by the fastest way; and which values mean missing."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.errors import PlausibleWarning, UnknownState, warn_caller
from plausible.variables.variable import is_missing

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd


#: Words that programs write where a value is missing.
MISSING_WORDS = frozenset({"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"})


class MissingValues:
    """Values that mean missing, as texts or as numbers."""

    def __init__(self, given: Any) -> None:
        listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        self._texts = {str(value).strip() for value in listed}
        self._numbers = {number for number in map(_number, listed) if number is not None}

    @property
    def numbers(self) -> list[float]:
        """Those that are numbers."""
        return sorted(self._numbers)

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value.strip() in self._texts
        return not isinstance(value, (bool, np.bool_)) and _number(value) in self._numbers

    def leave_out(self, places: Positions, values: Sequence[Any]) -> tuple[Positions, list[Any]]:
        """The values that mean something, and for each row the place of its own; -1 where there is none."""
        is_kept = np.array([value not in self for value in values], dtype=np.bool_)
        moved = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)
        return moved[places], [value for value, kept in zip(values, is_kept, strict=True) if kept]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def means_missing(words: Iterable[str], what: str = "say that it means missing: ") -> Remedy:
    """To say that words mean missing."""
    return Remedy(what, Call("Table.read", Argument("source", ...), Argument("missing_values", list(words))))


def warn_of_missing_words(file: str, texts: Mapping[str, Iterable[str]]) -> None:
    """Warn once of all columns with states that look like missing values; by column, the texts in it."""
    columns_with: dict[str, list[str]] = {}
    for name, column in texts.items():
        for word in MISSING_WORDS.intersection(column):
            columns_with.setdefault(word, []).append(name)
    if columns_with:
        words = sorted(columns_with)
        places = "; ".join(f"{word!r} of {_listed(columns_with[word])}" for word in words)
        warn_caller(
            PlausibleWarning(
                f"{file}: only empty cells are missing, so that these are states: {places}.",
                remedies=[means_missing(words, "say what means missing: "), means_missing((), "that nothing does: ")],
            )
        )


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


#: State positions, in as few bytes as they need.
SmallCodes: TypeAlias = npt.NDArray[np.signedinteger[Any]]
#: For each row the place of its value in a list of values; -1 where it is missing.
Factorized: TypeAlias = tuple[SmallCodes, list[Any]]
#: Whole numbers of a smaller range are looked up in a table, of a larger one by their hashes.
_SMALL_RANGE = 2**15 - 1
#: Objects are told apart by their addresses in columns of at least so many cells, if few of the first differ.
_MANY_CELLS = 1000


def is_absent(value: Any) -> bool:
    return value is None or is_missing(value)


def factorize(name: str, column: Any) -> Factorized:
    """By the fastest way that the column's library has; the order of the values does not matter."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufbmM" and column.ndim == 1:
        return factorize_array(column)
    if not isinstance(column, (list, tuple, np.ndarray)):
        import narwhals as nw

        native = nw.to_native(column, pass_through=True)
        if nw.dependencies.is_pandas_series(native):
            return _factorize_pandas(name, native)
        series = nw.from_native(column, series_only=True, allow_series=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _factorize_series(name, series)
    return merge_equal(name, *identified(column))


def factorize_array(column: npt.NDArray[Any], is_absent: npt.NDArray[np.bool_] | None = None) -> Factorized:
    """Numbers, truth values or times; NaN and NaT have no value, nor has what `is_absent`."""
    import pandas as pd

    if is_absent is not None and is_absent.any():
        if is_absent.all():
            return np.full(len(column), -1, dtype=np.int8), []
        filled = np.where(is_absent, column[np.argmin(is_absent)], column)
        places, values = factorize_array(filled)
        return np.where(is_absent, places.dtype.type(-1), places), values
    if column.dtype.kind == "b":
        return column.astype(np.int8), [False, True]
    if (by_offset := _by_offset(column)) is not None:
        return by_offset
    places, distinct = pd.factorize(column)
    return places, as_objects(distinct)


def _by_offset(numbers: npt.NDArray[Any]) -> Factorized | None:
    """Numbers a whole number of steps above the least, of a small range, looked up by these steps; else `None`."""
    if not len(numbers) or numbers.dtype.kind not in "iuf":
        return None
    low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
    if not high.item() - low.item() < _SMALL_RANGE:
        return None
    steps = (numbers.astype(np.int64, copy=False) if numbers.dtype.kind == "i" else numbers) - low
    if numbers.dtype.kind == "f":
        steps[np.isnan(steps)] = _SMALL_RANGE
    offsets = steps.astype(np.intp, copy=False)
    if numbers.dtype.kind == "f" and (offsets != steps).any():
        return None
    is_seen = np.bincount(offsets, minlength=_SMALL_RANGE + 1)[:_SMALL_RANGE] > 0
    places = np.append(np.cumsum(is_seen) - 1, -1).astype(np.int16)
    return places[offsets], [low.item() + step for step in np.flatnonzero(is_seen).tolist()]


def _factorize_pandas(name: str, series: pd.Series[Any]) -> Factorized:
    import pandas as pd

    if series.dtype == np.dtype(object):
        return merge_equal(name, *identified(series))
    values: Any = series.array if isinstance(series.dtype, pd.api.extensions.ExtensionDtype) else series.to_numpy()
    if isinstance(values, pd.Categorical):
        return values.codes, as_objects(values.categories)
    if isinstance(values, np.ndarray):
        return factorize_array(values)
    if getattr(values.dtype, "storage", "") == "pyarrow" or isinstance(values.dtype, pd.ArrowDtype):
        return _factorize_arrow(values.__arrow_array__())
    if hasattr(values.dtype, "numpy_dtype"):  # numbers and truth values with a mask
        kind = values.dtype.numpy_dtype
        return factorize_array(values.to_numpy(dtype=kind, na_value=kind.type(0)), values.isna())
    places, distinct = pd.factorize(values)  # without an index, which takes as long again to make
    return places, as_objects(distinct)


def _factorize_arrow(array: Any) -> Factorized:
    """An array, or a chunked one."""
    if hasattr(array, "chunks"):
        array = array.unify_dictionaries().combine_chunks()
    encoded = array if hasattr(array, "indices") else array.dictionary_encode()
    return encoded.indices.cast("int32").fill_null(-1).to_numpy(), encoded.dictionary.to_pylist()


def as_objects(values: Any) -> list[Any]:
    """As Python objects; times too, of which NumPy would make whole numbers. Those with nanoseconds are pandas' own."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] == "ns":
        import pandas as pd

        values = pd.Index(values)
    for method, rest in (("to_pydatetime", "nanosecond"), ("to_pytimedelta", "nanoseconds")):
        if hasattr(values, method):
            return list(values if (getattr(values, rest) != 0).any() else getattr(values, method)())
    return list(values.tolist())


def _factorize_series(name: str, series: nw.Series[Any]) -> Factorized:
    native = series.to_native()
    if hasattr(native, "factorize"):  # kin of pandas
        places, values = native.factorize()
        return np.asarray(places, dtype=np.intp), values.tolist()
    if series.dtype.is_nested() or str(series.dtype) in ("Object", "Unknown"):
        return merge_equal(name, *identified(series))
    if hasattr(native, "dictionary_encode"):
        return _factorize_arrow(native)
    is_absent = series.is_null().to_numpy()
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        return factorize_array(series.fill_null(0).to_numpy(), is_absent)
    if hasattr(native, "to_physical") and str(series.dtype).startswith(("String", "Categorical", "Enum")):
        import polars as pl

        coded = native.cast(pl.Categorical) if native.dtype == pl.String else native
        distinct = coded.drop_nulls().unique()
        texts = dict(zip(distinct.to_physical().to_list(), distinct.to_list(), strict=True))
        places, numbers = factorize_array(coded.to_physical().fill_null(0).to_numpy(), is_absent)
        return places, [texts[number] for number in numbers]
    return merge_equal(name, *identified(series))


def identified(column: Any) -> Factorized:
    """Python objects, told apart by identity where few of them are many cells; equal ones may be there twice."""
    if getattr(column, "dtype", None) == np.dtype(object):
        values = np.asarray(column)
    else:
        listed = as_list(column)
        values = np.fromiter(listed, dtype=object, count=len(listed))
    if len(values) >= _MANY_CELLS:
        import pandas as pd

        if pd.isna(values[:_MANY_CELLS]).any():  # each cell may have a NaN of its own
            values = values.copy()
            values[pd.isna(values)] = None
        values = np.ascontiguousarray(values)
        addresses = np.ctypeslib.as_array((ctypes.c_ssize_t * len(values)).from_address(values.ctypes.data))
        if len(np.unique(addresses[:_MANY_CELLS])) <= _MANY_CELLS // 4:
            places, distinct = pd.factorize(addresses)
            firsts = np.empty(len(distinct), dtype=np.intp)
            firsts[places[::-1]] = np.arange(len(values))[::-1]
            return places, values[firsts].tolist()
    return np.arange(len(values)), values.tolist()


def merge_equal(name: str, places: npt.NDArray[Any], values: Sequence[Any]) -> Factorized:
    """Each of the values once, by their equality as states."""
    numbers: dict[Any, int] = {}
    try:
        merged = [numbers.setdefault(value, len(numbers)) for value in values]
    except TypeError:
        place, value = next(each for each in enumerate(values) if not isinstance(each[1], Hashable))
        row = int(np.argmax(places == place))
        raise UnknownState(f"Row {row} of column {name!r}: {value!r} can't be a state: it can't be hashed.") from None
    return np.array(merged, dtype=np.intp)[places], list(numbers)


def as_list(column: Any) -> list[Any]:
    """The values as Python objects, by the column's own method where it has one."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, method):
            column = getattr(column, method)()
    return list(column)
