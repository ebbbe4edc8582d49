"""Columns of a data frame as state positions and numbers, and back; tables of evidence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats, Positions
from plausible.base.records import plain
from plausible.data.factorizing import MISSING_WORDS, SmallCodes, factorize, is_absent, means_missing
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable, counted, suggestion
from plausible.variables import Evidence, State, Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


#: Shorter columns are read in one thread.
_MANY_ROWS = 2**15
#: So many rows at a time are turned from columns into rows: few enough for the processor to keep them at hand.
_BLOCK = 2**12

Item = TypeVar("Item")


def encode_columns(
    frame: IntoDataFrame | Mapping[str, Sequence[Any]], variables: Mapping[str, Variable]
) -> dict[str, npt.NDArray[Any]]:
    """For each variable its column, states as positions.

    Parameters
    ----------
    frame
        A pandas, polars or arrow frame, or a mapping from names to columns; a column of no variable is an error.
    variables
        Name -> variable; each must have a column without missing values.

    Notes
    -----
    About 20 ms for a million rows of text, 8 ms for a million numbers and 2 ms for as many categories, a column.

    Examples
    --------
    >>> encode_columns({"X": ["b", "a"]}, {"X": Variable("X", ["a", "b"])})
    {'X': array([1, 0])}
    """
    columns = frame if isinstance(frame, Mapping) else frame_columns(frame)
    for name in variables:
        if name not in columns:
            raise UnknownVariable(
                f"The data has no column for the variable {name!r}.{suggestion(name, map(str, columns))}"
            )
    refuse_others(columns, variables)
    wanted = {name: columns[name] for name in variables}
    return equally_long(each_column(lambda name, column: encode_column(variables[name], column), wanted))


def encode_evidence(
    frame: IntoDataFrame | Mapping[str, Sequence[Any]], variables: Mapping[str, Variable], place: str = "this model"
) -> Codes:
    """Rows of evidence as state positions, a column for each variable; -1 where a cell or a whole column is missing.

    Parameters
    ----------
    frame
        A pandas, polars or arrow frame, or a mapping from names to columns; a column of no variable is an error.
    variables
        Name -> discrete variable.
    place
        What errors call that which has these variables.

    Examples
    --------
    >>> encode_evidence({"Y": ["b", None]}, {"X": Variable("X", 2), "Y": Variable("Y", ["a", "b"])})
    array([[-1,  1],
           [-1, -1]], dtype=int32)
    """
    columns = frame if isinstance(frame, Mapping) else frame_columns(frame)
    refuse_others(columns, variables, place)
    encoded = equally_long(
        each_column(lambda name, column: encode_small(variables[name], column, allow_missing=True), columns)
    )
    num_rows = len(next(iter(encoded.values()), () if isinstance(frame, Mapping) else frame))
    rows = np.full((num_rows, len(variables)), -1, dtype=np.int32)
    for start in range(0, num_rows, _BLOCK):
        block = rows[start : start + _BLOCK]
        for number, name in enumerate(variables):
            if name in encoded:
                block[:, number] = encoded[name][start : start + _BLOCK]
    return rows


def each_column(read: Callable[[Any, Any], Item], columns: Mapping[Any, Any]) -> dict[Any, Item]:
    """Name -> what is read of a name and its column; several long columns are shared out among threads."""
    columns = {name: _in_series(column) for name, column in columns.items()}
    first = next(iter(columns.values()), ())
    if len(columns) < 2 or not hasattr(first, "__len__") or len(first) < _MANY_ROWS:
        return {name: read(name, column) for name, column in columns.items()}
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        return dict(zip(columns, pool.map(read, columns.keys(), columns.values()), strict=True))


def _in_series(column: Any) -> Any:
    """An index or an array of pandas as a series, which has a library's ways; anything else as it is."""
    pandas = sys.modules.get("pandas")  # who has not loaded it has none of its arrays
    if pandas is None or not isinstance(column, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        return column
    return pandas.Series(column)


def refuse_others(columns: Iterable[Any], variables: Mapping[str, Variable], place: str = "this model") -> None:
    """Refuse a column that is no variable: it may be a misspelt one, and would be left out unnoticed."""
    for name in columns:
        if name not in variables:
            problem = UnknownVariable.named(name, variables, f"{place}, but a column of the data")
            raise UnknownVariable(f"{problem} If it is none, leave it out: frame.drop(columns=[{name!r}]).")


def equally_long(encoded: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The columns, checked to have as many rows each."""
    lengths = {name: len(column) for name, column in encoded.items()}
    shortest, longest = (choose(lengths, key=lengths.__getitem__, default="") for choose in (min, max))
    if lengths and lengths[shortest] != lengths[longest]:
        raise InvalidArgument(
            f"The columns have different lengths: {shortest!r} has {counted(lengths[shortest], 'row')}, "
            f"{longest!r} has {lengths[longest]}."
        )
    return encoded


def frame_columns(frame: IntoDataFrame) -> Mapping[Any, Any]:
    """Name -> column of a frame, each name once."""
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame) and frame.columns.is_unique:  # the most common, and twice as fast
        columns: dict[Any, Any] = dict(frame.items())
        return columns
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        rows = getattr(frame, "table", None)  # statistics know their rows, or say what to give
        if rows is not None:
            return {name: rows.values(name) for name in rows.variables}
        raise InvalidArgument(
            f"Expected a pandas, polars or arrow frame in memory, or a mapping from names to columns, "
            f"not {type(frame).__name__}. A lazy frame has to be collected first."
        ) from None
    except nw.exceptions.DuplicateError:
        names = list(getattr(frame, "column_names", None) or frame.columns)
        name = next((name for name in names if names.count(name) > 1), "")
        problem = f"The data has {names.count(name)} columns {name!r}; keep one of them, or rename the others."
        raise InvalidArgument(problem) from None
    return {name: table[name] for name in table.columns}


def encode_column(variable: Variable, column: Any, *, allow_missing: bool = False) -> npt.NDArray[Any]:
    """State positions, or numbers for a continuous variable; an unknown or missing value is an error with its row.

    With `allow_missing` a missing value is -1, or NaN.

    >>> encode_column(Variable("X", ["low", "high"]), ["high", "low", "high"])
    array([1, 0, 1])
    """
    encoded = encode_small(variable, column, allow_missing=allow_missing)
    return encoded if variable.is_continuous else encoded.astype(np.intp)


def encode_small(variable: Variable, column: Any, *, allow_missing: bool = False) -> npt.NDArray[Any]:
    """The same, positions in as few bytes as they need."""
    name = variable.name
    if variable.is_continuous:
        return read_numbers(name, column, allow_missing=allow_missing)
    refuse_no_list(name, column)
    places, values = factorize(name, column)
    lowest = -1 if allow_missing else 0
    # The position of a state, -1 for a missing value, -2 for what is neither.
    known = [variable.index(v) if variable.has_state(v) else -1 if is_absent(v) else -2 for v in values]
    encoded = looked_up(known, places)
    if encoded.min(initial=0) >= lowest:
        return encoded
    row = int(np.argmax(encoded < lowest))
    value = values[places[row]] if places[row] >= 0 else None
    if is_absent(value):
        raise InvalidArgument(
            f"Row {row} of column {name!r} is missing; this question needs complete rows. "
            "Where cells are missing, ask model.compile().log_likelihood(...), which sums over them."
        )
    remedies = [means_missing([value])] if value in MISSING_WORDS else []
    raise UnknownState(f"Row {row} of column {name!r}: {variable.unknown_state(value)}", remedies=remedies)


def looked_up(positions: Sequence[int], places: SmallCodes) -> SmallCodes:
    """The positions at these places, -1 where there is none, in as few bytes as they need."""
    kind = np.int8 if max(positions, default=0) < 127 else np.int32
    found: SmallCodes = np.array([*positions, -1], dtype=kind)
    return found[places]


def read_numbers(name: str, column: Any, *, allow_missing: bool = True) -> Floats:
    """The numbers of a column, NaN where they are missing; what is neither is an error with its row."""
    refuse_no_list(name, column)
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in values])
    if numbers.ndim != 1:
        raise InvalidArgument(f"The column {name!r} is not a list of numbers.")
    wrong = np.isinf(numbers) if allow_missing else ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        otherwise = ", or None where it is missing" if allow_missing else ""
        raise InvalidArgument(
            f"Row {row} of column {name!r} is {plain(list(values)[row])!r}: expected a finite number{otherwise}; "
            "the column is continuous."
        )
    return numbers


def _number(value: Any) -> float:
    """The value as a number; NaN where it is missing, infinite where it is none."""
    try:
        return float("nan") if is_absent(value) else float(value)
    except (TypeError, ValueError):
        return float("inf")


def refuse_no_list(name: str, column: Any) -> None:
    """Refuse what has not one value for each row."""
    if isinstance(column, (str, bytes)) or not (isinstance(column, Iterable) or hasattr(column, "__array__")):
        raise InvalidArgument(f"The column {name!r} is {column!r}, not a list of values, one for each row.")
    num_axes = getattr(column, "ndim", 1)
    if num_axes != 1:
        raise InvalidArgument(f"The column {name!r} is an array with {num_axes} axes, not a list of values.")


def has_values(name: str, column: Any) -> bool:
    """Whether any row has a value."""
    places, values = factorize(name, column)
    is_value = np.array([*(not is_absent(value) for value in values), False])
    return bool(is_value[places].any())


def with_values(columns: Mapping[Any, Any], known: Container[str]) -> dict[Any, Any]:
    """The columns without those that have rows but no value in any of them, unless their variables are known."""
    return {
        name: column for name, column in columns.items() if name in known or has_values(name, column) or not len(column)
    }


def decode(columns: Mapping[str, npt.NDArray[Any]], variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A data frame with a column for each variable, positions turned into states.

    States that can be calculated with, numbers and booleans, stay what they are; others become categories, all states
    of the variable in their order, which takes no time and one byte a cell.

    >>> import numpy as np
    >>> decode({"X": np.array([1, 1])}, {"X": Variable("X", ["low", "high"])})["X"].cat.categories.tolist()
    ['low', 'high']
    """
    import pandas as pd

    types: dict[tuple[object, str], Any] = {}  # equal states need not be the same: 1 and True differ by their text
    decoded: dict[str, Any] = {}
    for name, variable in variables.items():
        if variable.is_continuous:
            decoded[name] = columns[name]
            continue
        key = variable.states, repr(variable.states)
        if key not in types:
            states = pd.Series(list(variable.states), dtype=object).infer_objects().array
            is_text = not pd.api.types.is_numeric_dtype(states.dtype)
            types[key] = pd.CategoricalDtype(pd.Index(states, tupleize_cols=False)) if is_text else states.to_numpy()
        kind = types[key]
        is_plain = isinstance(kind, np.ndarray)
        decoded[name] = kind[columns[name]] if is_plain else pd.Categorical.from_codes(columns[name], dtype=kind)
    return pd.DataFrame(decoded, columns=list(variables), copy=False)


def as_categories(variable: Variable, codes: npt.NDArray[Any]) -> Any:
    """Positions of states as a column of categories; numbers of a continuous variable as they are."""
    import pandas as pd

    if variable.is_continuous:
        return codes
    states = pd.Index(list(variable.states), dtype=object, tupleize_cols=False)
    return pd.Series(pd.Categorical.from_codes(codes, categories=states))


class PlacedColumns(dict[str, Any]):
    """Columns of some rows of a file, of which it is known where each stands."""

    def __init__(self, columns: Mapping[str, Any], place: str, row_of: Callable[[int], int]) -> None:
        super().__init__(columns)
        self.place = place
        self.row_of = row_of  # number of a row -> at what place it stands, counted from 0


def row_name(frame: Any, row: int) -> str:
    """What errors call a row of a frame, of columns or of a file."""
    if isinstance(frame, PlacedColumns):
        return f"{frame.place}: Row {frame.row_of(row)}"
    return f"Row {row} of the data"


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceColumns:
    """Rows of evidence, states as positions; columns in which nothing is observed are left out."""

    variables: Mapping[str, Variable]  # name -> variable
    states: Mapping[str, npt.NDArray[Any]]  # name of a discrete variable -> positions of its states, -1 where missing
    numbers: Mapping[str, Floats]  # name of a continuous variable -> its numbers, NaN where missing
    num_rows: int  # the length of all columns
    source: Any = None  # what they were read from

    @classmethod
    def read(
        cls,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        variables: Mapping[str, Variable],
        place: str = "this model",
    ) -> EvidenceColumns:
        """From a pandas, polars or arrow frame, or a mapping from names to columns, all of them of variables."""
        columns = frame if isinstance(frame, Mapping) else frame_columns(frame)
        refuse_others(columns, variables, place)
        encoded = equally_long(
            each_column(lambda name, column: encode_column(variables[name], column, allow_missing=True), columns)
        )
        num_rows = len(next(iter(encoded.values()), () if isinstance(frame, Mapping) else frame))
        states = {n: c for n, c in encoded.items() if not variables[n].is_continuous and (c >= 0).any()}
        numbers = {n: c for n, c in encoded.items() if variables[n].is_continuous and not np.isnan(c).all()}
        return cls(variables, states, numbers, num_rows, frame)

    def take(self, rows: Positions) -> EvidenceColumns:
        """Some of the rows."""
        states = {name: column[rows] for name, column in self.states.items()}
        numbers = {name: column[rows] for name, column in self.numbers.items()}
        return EvidenceColumns(self.variables, states, numbers, len(rows))

    def evidence(self, row: int) -> Evidence:
        """One of the rows."""
        hard = {name: int(codes[row]) for name, codes in self.states.items() if codes[row] >= 0}
        values = {name: float(column[row]) for name, column in self.numbers.items() if not np.isnan(column[row])}
        return Evidence(hard, {}, values)

    def findings(self, row: int) -> dict[str, State]:
        """One of the rows by the names of its states."""
        found = self.evidence(row)
        return {**{name: self.variables[name].states[state] for name, state in found.hard.items()}, **found.values}
