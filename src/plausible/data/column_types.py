"""Which variable a column of data stands for, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.columns import looked_up, read_numbers, refuse_no_list
from plausible.data.factorizing import as_objects, factorize, identified, is_absent, merge_equal
from plausible.errors import InvalidArgument
from plausible.variables import State, Variable

#: A column of fractional type with at most so many different values, all of them whole, is one of whole numbers.
MOST_WHOLE_STATES = 20


def read_column(name: str, column: Any) -> tuple[Variable, NDArray[Any]]:
    """The variable of a column and its encoded values, -1 or NaN where they are missing.

    Categories, and the values of arrow's dictionaries, keep their order, seen or not; booleans have the states False
    and True; whole numbers and texts have the states that occur, sorted. Numbers of a fractional type (float, decimal)
    make a continuous variable, unless there are at most 20 different ones, all of them whole: these are states, as the
    whole numbers that they stand for. It matters neither whether cells are missing, nor in what order the rows are, nor
    what holds the column.
    """
    refuse_no_list(name, column)
    kind = getattr(column, "dtype", None)
    if kind is None or kind == np.dtype(object):  # it does not say of what type its values are
        places, values = identified(column)
        numbers = _listed_numbers(name, places, values)
        if numbers is None:
            places, values = merge_equal(name, places, values)
    else:
        numbers = _numbers(column)
        if numbers is None:
            places, values = factorize(name, column)
    if numbers is not None:
        return _of_fractions(name, read_numbers(name, numbers))
    categories = categories_of(column)
    if not len(places) and not categories:
        raise InvalidArgument(
            f"There are no rows, so that the states of {name!r} are unknown. Give rows, or name the states: "
            f"Table.read(..., variables=[Variable({name!r}, [...])])."
        )
    states = categories or _sorted_states(name, values)
    variable = Variable(name, states)
    return variable, looked_up([variable.index(value) if variable.has_state(value) else -1 for value in values], places)


def _of_fractions(name: str, numbers: Floats) -> tuple[Variable, NDArray[Any]]:
    """States, if the numbers are few and whole; else a continuous variable."""
    num_absent = np.isnan(numbers).sum()
    if num_absent and num_absent == len(numbers):
        raise _no_value(name)
    if len(numbers) and (np.rint(numbers) == numbers).sum() == len(numbers) - num_absent:
        places, values = factorize(name, numbers)
        if len(values) <= MOST_WHOLE_STATES:
            variable = Variable(name, sorted(map(int, values)))
            return variable, looked_up([variable.index(int(value)) for value in values], places)
    return Variable(name), numbers


def _numbers(column: Any) -> NDArray[Any] | None:
    """The values of a column of a fractional type; `None` for any other."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column) if column.dtype.kind == "f" else None
    import narwhals as nw

    series = nw.from_native(column, series_only=True, allow_series=True)
    return series.to_numpy() if series.dtype.is_float() or series.dtype.is_decimal() else None


def _listed_numbers(name: str, places: NDArray[Any], values: Sequence[Any]) -> Floats | None:
    """The same of Python objects, which may be of several types."""
    if not any(issubclass(kind, (Real, Decimal)) for kind in set(map(type, values))):
        return None
    known = [value for value in values if not is_absent(value)]
    kinds = set(map(type, known))
    numbers = {kind for kind in kinds - {bool} if issubclass(kind, (Real, Decimal))}
    if numbers and kinds & {bool, np.bool_}:
        place = next(place for place, value in enumerate(values) if isinstance(value, (bool, np.bool_)))
        raise InvalidArgument(
            f"Row {int(np.argmax(places == place))} of column {name!r} is {values[place]!r} among numbers: 1 and True "
            "would count as one state. Make all of them numbers, or all booleans."
        )
    if numbers != kinds or all(issubclass(kind, Integral) for kind in numbers):
        return None
    floats = np.array([np.nan if is_absent(value) else float(value) for value in values])
    by_row: Floats = floats[places]
    return by_row


def categories_of(column: Any) -> tuple[State, ...] | None:
    """The categories of a column in their order; `None` where its type has none."""
    if isinstance(column, np.ndarray) or not hasattr(column, "dtype"):
        return None
    import narwhals as nw

    native = nw.to_native(column, pass_through=True)
    if nw.dependencies.is_pandas_series(native) and hasattr(native.dtype, "categories"):
        return tuple(as_objects(native.dtype.categories))
    kind = getattr(getattr(native, "dtype", None), "pyarrow_dtype", getattr(native, "type", None))
    if hasattr(kind, "index_type"):  # a dictionary of arrow
        return tuple(value for value in factorize("", column)[1] if value is not None)
    dtype = nw.from_native(column, series_only=True, allow_series=True).dtype
    return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None


def _sorted_states(name: str, values: Iterable[Any]) -> list[State]:
    known = [value for value in values if not is_absent(value)]
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
