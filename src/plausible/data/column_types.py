"""Which variable a column of data stands for, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.columns import as_list, as_objects, factorize, read_numbers, refuse_no_list
from plausible.errors import InvalidArgument
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing

#: A column of fractional type with missing cells and at most so many values, all whole, is one of whole numbers.
MOST_WHOLE_STATES = 20


def read_column(name: str, column: Any) -> tuple[Variable, NDArray[Any]]:
    """The variable of a column and its encoded values, -1 or NaN where they are missing.

    Categories keep their order, seen or not; booleans have the states False and True; whole numbers and texts have the
    states that occur, sorted; numbers with a fraction type (float, decimal) make a continuous variable. Whole numbers
    stay what they are if missing cells have made them floats: a column with missing cells and at most 20 different
    numbers, all of them whole, has these as states. Neither the order of the rows nor what holds the column matters.

    >>> read_column("smokes", [True, True])
    (Variable('smokes', [False, True]), array([1, 1]))
    >>> read_column("grade", ["b", None, "a"])
    (Variable('grade', ['a', 'b']), array([ 1, -1,  0]))
    >>> read_column("height", [1.5, None])
    (Variable('height'), array([1.5, nan]))
    >>> read_column("children", [2.0, None, 0.0])
    (Variable('children', [0, 2]), array([ 1, -1,  0]))
    """
    refuse_no_list(name, column)
    kind = getattr(column, "dtype", None)
    if kind is None or (isinstance(kind, np.dtype) and kind.kind == "O"):  # it does not say of what type its values are
        column = as_list(column)
    numbers = _numbers(name, column)
    if numbers is not None:
        if len(numbers) and np.isnan(numbers).all():
            raise _no_value(name)
        return _whole_again(name, read_numbers(name, numbers)) or (Variable(name), numbers)
    places, values = factorize(name, column)
    categories = categories_of(column)
    if not len(places) and not categories:
        raise InvalidArgument(
            f"There are no rows, so that the states of {name!r} are unknown. Give rows, or name the states: "
            f"Table.read(..., variables=[Variable({name!r}, [...])])."
        )
    states = categories or _sorted_states(name, values)
    variable = Variable(name, states)
    positions = [variable.index(value) if variable.has_state(value) else -1 for value in values]
    return variable, np.array([*positions, -1], dtype=np.intp)[places]


def _whole_again(name: str, numbers: Floats) -> tuple[Variable, NDArray[Any]] | None:
    """Few whole numbers as states, in a column that only missing cells have made fractional."""
    is_there = ~np.isnan(numbers)
    if is_there.all() or not is_there.any() or (numbers[is_there] % 1 != 0).any():
        return None
    values = np.unique(numbers[is_there])
    if len(values) > MOST_WHOLE_STATES:
        return None
    return Variable(name, list(map(int, values))), np.where(is_there, np.searchsorted(values, numbers), -1)


def _numbers(name: str, column: Any) -> Floats | None:
    """The values of a column of fractional numbers; `None` for any other."""
    if isinstance(column, list):
        return _listed_numbers(name, column)
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column, dtype=np.float64) if column.dtype.kind == "f" else None
    import narwhals as nw

    series = nw.from_native(column, series_only=True, allow_series=True)
    is_fractional = series.dtype.is_float() or series.dtype.is_decimal()
    return series.to_numpy().astype(np.float64) if is_fractional else None


def _listed_numbers(name: str, values: Sequence[Any]) -> Floats | None:
    """The same of Python objects, which may be of several types."""
    if not any(issubclass(kind, (Real, Decimal)) for kind in set(map(type, values))):
        return None
    known = [value for value in values if value is not None and not is_missing(value)]
    kinds = set(map(type, known))
    numbers = {kind for kind in kinds - {bool} if issubclass(kind, (Real, Decimal))}
    if numbers and kinds & {bool, np.bool_}:
        row = next(row for row, value in enumerate(values) if isinstance(value, (bool, np.bool_)))
        raise InvalidArgument(
            f"Row {row} of column {name!r} is {values[row]!r} among numbers: 1 and True would count as one state. "
            "Make all of them numbers, or all booleans."
        )
    if numbers != kinds or all(issubclass(kind, Integral) for kind in numbers):
        return None
    return np.array([np.nan if value is None or is_missing(value) else float(value) for value in values])


def categories_of(column: Any) -> tuple[State, ...] | None:
    """The categories of a column in their order; `None` where its type has none."""
    if isinstance(column, np.ndarray) or not hasattr(column, "dtype"):
        return None
    import narwhals as nw

    native = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native) and hasattr(native.dtype, "categories"):
        return tuple(as_objects(native.dtype.categories))
    dtype = nw.from_native(column, series_only=True, allow_series=True).dtype
    return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None


def _sorted_states(name: str, values: Iterable[Any]) -> list[State]:
    known = [value for value in values if value is not None and not is_missing(value)]
    if not known:
        raise _no_value(name)
    if all(isinstance(value, bool) for value in known):
        return [False, True]
    try:
        return sorted(known)
    except TypeError:  # states of several types
        return sorted(known, key=lambda value: (type(value).__name__, repr(value)))


def _no_value(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"The column {name!r} has no value at all, so that its states are unknown. Leave it out, such as by "
        f"Table.read(..., columns=[...]), or name its states: Table.read(..., variables=[Variable({name!r}, [...])]). "
        f"Where a graph is given that has it as a hidden variable, hidden={{{name!r}: 2}} (--hidden {name}=2) will do."
    )
