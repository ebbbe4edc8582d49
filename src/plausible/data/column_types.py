"""Which variable a column of data stands for, where the user does not say; and which rows were set from outside."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.columns import looked_up, read_numbers, refuse_no_list
from plausible.data.factorizing import as_list, as_objects, factorize, identified, is_absent, merge_equal
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, warn_caller
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing

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


#: Fewer values are states, however few rows there are.
_FEWEST_VALUES = 21
_INDEX = re.compile(r"Unnamed: \d+(_level_\d+)?")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})([T ]\d{1,2}:.*)?"
)


class DoubtfulColumns(PlausibleWarning):
    """Columns were left out that are hardly variables, such as ids and dates; name them to keep them."""


def doubt_of(name: str, variable: Variable, column: NDArray[Any]) -> str:
    """Why an encoded column is hardly a variable: a date, or a value of its own for most rows; "" if it may be one."""

    def count() -> tuple[int, int]:
        known = column[~np.isnan(column)] if variable.is_continuous else column[column >= 0]
        if variable.is_continuous and not _may_number_rows(known):
            return 0, len(known)
        return len(np.unique(known)), len(known)

    return doubt_by(name, variable, count)


def doubt_by(name: str, variable: Variable, count: Callable[[], tuple[int, int]]) -> str:
    """The same by how many different values there are in how many cells; of numbers that may number rows."""
    if _INDEX.fullmatch(name):
        return "the index of a frame"
    if not variable.is_continuous and _are_dates(variable.states):
        return "dates"
    if not variable.is_continuous and variable.num_states < _FEWEST_VALUES:
        return ""
    num_values, num_known = count()
    is_id = num_values == num_known if variable.is_continuous else 2 * num_values > num_known
    return f"{num_values} different values in {num_known} rows" if is_id and num_values >= _FEWEST_VALUES else ""


def _are_dates(states: Sequence[State]) -> bool:
    """Whether all are dates: texts of them, Python's, or periods of pandas."""
    kinds = (date, getattr(sys.modules.get("pandas"), "Period", date))
    return all(_DATE.fullmatch(state) if isinstance(state, str) else isinstance(state, kinds) for state in states)


def _may_number_rows(numbers: NDArray[Any]) -> bool:
    """Whether there are as many numbers as whole ones from the least to the greatest, and all are whole."""
    is_run = len(numbers) >= _FEWEST_VALUES and np.ptp(numbers) == len(numbers) - 1
    return bool(is_run and (np.rint(numbers) == numbers).all())


def warn_of_one_row(num_rows: float, variables: Mapping[str, Variable]) -> None:
    """Warn where one row says which states there are."""
    alone = [name for name, variable in variables.items() if len(variable.states) == 1]
    if num_rows == 1 and alone:
        many = f"{len(alone)} variables have" if len(alone) > 1 else f"{alone[0]!r} has"
        states = Call("Table.read", Argument("source", ...), Argument("variables", ...))
        warn_caller(
            PlausibleWarning(
                f"There is one row, so that {many} one state, of which nothing can be learned.",
                remedies=[Remedy("give more rows"), Remedy("name their states: ", states)],
            )
        )


def warn_of_doubtful(left_out: Mapping[str, str], remedies: Iterable[Remedy] = ()) -> None:
    """Warn of columns that are left out, name -> why; without other remedies those of `Table.read`."""
    names = list(left_out)
    told = ", ".join(f"{name!r} ({left_out[name]})" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    number = Call("Table.read", Argument("source", ...), Argument("variables", [Variable(names[0])]))
    remedies = list(remedies) or [
        Remedy("keep one by naming it: ", Call("Table.read", Argument("source", ...), Argument("columns", ...))),
        Remedy("as a number: ", number),
    ]
    warn_caller(DoubtfulColumns(f"Columns that are hardly variables are left out: {told}{more}.", remedies=remedies))


#: Name -> for each row whether that variable was set from outside.
Marks: TypeAlias = Mapping[str, Flags]

_BETWEEN = re.compile(r"\s*[,;+]\s*")


def mark_columns(given: Any) -> list[str]:
    """The columns of the data in which interventions are written, which are no variables then."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Mapping):
        return []
    named = (cells for name, cells in given.items() if isinstance(name, str) and isinstance(cells, str))
    return list(dict.fromkeys(named))


def from_columns(given: Any, columns: Mapping[str, Any]) -> Any:
    """Interventions with the cells of the columns that they name."""
    if isinstance(given, str):
        return columns[given]
    if not columns:
        return given
    return {name: columns[cells] if isinstance(cells, str) else cells for name, cells in given.items()}


def read_interventions(given: Any, known: Mapping[str, object], num_rows: int, column: str | None = None) -> Marks:
    """The rows in which each variable was set from outside; variables that never were are left out."""
    if isinstance(given, Mapping):
        for key in given:
            if isinstance(key, (bool, np.bool_)):
                raise InvalidArgument(
                    f"interventions= has the key {key!r}: give number of a row -> its targets, or name of a variable "
                    "-> True and False for each row."
                )
        if not given or not all(isinstance(key, (int, np.integer)) for key in given):
            return _by_variable(given, known, num_rows)
        return _by_row(dict(given), known, num_rows)
    if isinstance(given, str) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise InvalidArgument(
            f"interventions={given!r}: give the targets of each row, or name -> True and False for each row."
        )
    listed = as_list(given)
    if column is not None:
        _refuse_plain_column(column, listed, known)
    if len(listed) != num_rows:
        raise InvalidArgument(f"There are {num_rows} rows, but interventions for {len(listed)}.")
    return _by_row(dict(enumerate(listed)), known, num_rows)


def are_targets(states: Iterable[Any], known: Mapping[str, object]) -> bool:
    """Whether the states of a column are names of other columns, and so may tell what was set from outside."""
    listed = list(states)
    return bool(listed) and all(
        isinstance(state, str) and all(name in known for name in _BETWEEN.split(state.strip())) for state in listed
    )


def _by_variable(masks: Mapping[str, Any], known: Mapping[str, object], num_rows: int) -> Marks:
    read = {}
    for name, mask in masks.items():
        if name not in known:
            raise UnknownVariable.named(name, known, "the data, though interventions name it")
        cells = as_list(mask) if isinstance(mask, Iterable) else []
        if len(cells) != num_rows or not _are_flags(cells):
            raise InvalidArgument(
                f"The interventions on {name!r} are a list of True and False, or 1 and 0, for {num_rows} rows."
            )
        if any(cells):
            read[name] = np.array(cells, dtype=np.bool_)
    return read


def _by_row(targets: Mapping[int, Any], known: Mapping[str, object], num_rows: int) -> Marks:
    rows_of: dict[str, list[int]] = {}
    for row, target in targets.items():
        if not 0 <= row < num_rows:
            raise InvalidArgument(f"There is an intervention in row {row}, but rows go from 0 to {num_rows - 1}.")
        for name in _names(row, target, known):
            rows_of.setdefault(name, []).append(row)
    marks = {name: np.zeros(num_rows, dtype=np.bool_) for name in known if name in rows_of}
    for name, mask in marks.items():
        mask[rows_of[name]] = True
    return marks


def _names(row: int, target: Any, known: Mapping[str, object]) -> list[str]:
    if _is_nothing(target):
        return []
    if not isinstance(target, Iterable):
        raise InvalidArgument(f"The target of row {row} is {target!r}: expected the name of a variable, or names.")
    names = _listed(target, known)
    for name in names:
        if name not in known:
            raise UnknownVariable.named(name, known, f"the data, though row {row} names it as a target")
    return names


def _is_nothing(target: Any) -> bool:
    if isinstance(target, Iterable):
        return not (target.strip() if isinstance(target, str) else as_list(target))
    return target is None or is_missing(target)


def _listed(target: Any, known: Mapping[str, object]) -> list[Any]:
    """The names in a text, or the text itself where it is a name; what a list holds; else the target itself."""
    if isinstance(target, str):
        return [target] if target in known else [name for name in _BETWEEN.split(target.strip()) if name]
    return as_list(target) if isinstance(target, Iterable) else [target]


def _refuse_plain_column(column: str, cells: list[Any], known: Mapping[str, object]) -> None:
    """Refuse a column without an empty cell and without the name of a variable: more often it is a variable itself."""
    if not cells or any(_is_nothing(cell) or not known.keys().isdisjoint(_listed(cell, known)) for cell in cells):
        return
    advice = ""
    if _are_flags(cells):
        name = next((name for name in known if name in re.split(r"[\W_]+", column)), next(iter(known), "B"))
        advice = f" If it says in which rows {name!r} was set, give interventions={{{name!r}: {column!r}}}."
    raise InvalidArgument(
        f"interventions={column!r} takes that column for the targets of each row, but none of its cells names another "
        f"column: the first is {cells[0]!r}.{advice} If {column!r} itself was set from outside, give interventions="
        f"{{{column!r}: [...]}} with True or False for each row."
    )


def _are_flags(cells: Iterable[Any]) -> bool:
    return all(isinstance(cell, (bool, int, float)) and cell in (0, 1) for cell in cells)
