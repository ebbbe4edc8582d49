"""Which variable a column of data stands for, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.data.columns import factorize
from plausible.errors import InvalidArgument
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing

__all__ = ["read_column"]


def read_column(name: str, column: Any) -> tuple[Variable, NDArray[Any]]:
    """The variable of a column and its encoded values, -1 or NaN where they are missing.

    Categories keep their order, seen or not; booleans have the states False and True; whole numbers and texts have the
    states that occur, sorted; numbers with a fraction type (float) make a continuous variable. The states don't depend
    on the order of the rows.

    >>> read_column("smokes", [True, True])
    (Variable('smokes', [False, True]), array([1, 1]))
    >>> read_column("grade", ["b", None, "a"])
    (Variable('grade', ['a', 'b']), array([ 1, -1,  0]))
    >>> read_column("height", [1.5, None])
    (Variable('height'), array([1.5, nan]))
    """
    numbers = _numbers(column)
    if numbers is not None:
        return Variable(name), numbers
    places, values = factorize(name, column)
    states = _categories(column) or _sorted_states(name, values)
    variable = Variable(name, states)
    positions = [variable.index(value) if variable.has_state(value) else -1 for value in values]
    return variable, np.array([*positions, -1], dtype=np.intp)[places]


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """The values of a column of fractional numbers; `None` for any other."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64) if column.dtype.kind == "f" else None
    if hasattr(column, "dtype"):
        import narwhals as nw

        series = nw.from_native(column, series_only=True, allow_series=True)
        return series.to_numpy().astype(np.float64) if series.dtype.is_float() else None
    values = column if isinstance(column, Sequence) else list(column)
    known = [value for value in values if value is not None and not is_missing(value)]
    if not any(isinstance(value, float) for value in known):
        return None
    if not all(isinstance(value, Real) for value in known):
        return None
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _categories(column: Any) -> tuple[State, ...] | None:
    """The categories of a column in their order; `None` where its type has none."""
    if isinstance(column, np.ndarray) or not hasattr(column, "dtype"):
        return None
    import narwhals as nw

    native = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native) and hasattr(native.dtype, "categories"):
        return tuple(native.dtype.categories.tolist())
    dtype = nw.from_native(column, series_only=True, allow_series=True).dtype
    return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None


def _sorted_states(name: str, values: Iterable[Any]) -> list[State]:
    known = [value for value in values if value is not None and not is_missing(value)]
    if not known:
        raise InvalidArgument(
            f"The column {name!r} has no value at all, so that its states are unknown. "
            f"Leave it out, or name them: variables={{{name!r}: Variable({name!r}, [...])}}."
        )
    if all(isinstance(value, bool) for value in known):
        return [False, True]
    try:
        return sorted(known)
    except TypeError:  # states of several types
        return sorted(known, key=lambda value: (type(value).__name__, repr(value)))
