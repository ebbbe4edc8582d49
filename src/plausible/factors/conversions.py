"""Factors to and from dictionaries, frames and xarray."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base import Ints
from plausible.errors import InvalidFactor, MissingDependency, UnknownVariable
from plausible.factors.alignment import Scope, Table, check_size, num_entries, scope_text
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    import xarray as xr
    from narwhals.typing import IntoDataFrame


def _states(scope: Scope) -> Iterable[tuple[State, ...]]:
    return cartesian(*(variable.states for variable in scope))


def to_dict(scope: Scope, flat: Table) -> dict[Any, float]:
    """Tuples of states, or bare states where there is one variable, to numbers."""
    keys: Iterable[Hashable] = scope[0].states if len(scope) == 1 else _states(scope)
    return dict(zip(keys, flat.tolist(), strict=True))


def from_dict(scope: Scope, values: Mapping[Any, float]) -> Table:
    """Numbers in row-major order; a missing or unknown assignment is an error."""
    check_size(scope)
    flat = np.full(num_entries(scope), np.nan)
    for key, value in values.items():
        bare = len(scope) == 1 and (scope[0].has_state(key) or not isinstance(key, tuple))
        states = (key,) if bare else key
        if not isinstance(states, tuple) or len(states) != len(scope):
            raise InvalidFactor(f"The key {key!r} does not give one state for each of {[v.name for v in scope]}.")
        position = 0
        for variable, state in zip(scope, states, strict=True):
            position = position * variable.num_states + variable.index(state)
        try:
            flat[position] = value
        except (TypeError, ValueError):
            raise InvalidFactor(f"The value at {key!r} is {value!r}: expected a number.") from None
    return _complete(scope, flat, "The mapping")


def from_labels(scope: Scope, values: Mapping[Any, Any] | list[Any]) -> Table:
    """Numbers in row-major order from the labels of a series, or of a frame whose columns are the last variable."""
    if isinstance(values, list) or any(isinstance(row, list) for row in values.values()):
        raise InvalidFactor(
            f"The frame for the factor over {scope_text(scope)} has labels for its rows or for its columns only. Give "
            "both, or neither: frame.to_numpy()."
        )
    entries: dict[Any, float] = {}
    for key, row in values.items():
        first = key if isinstance(key, tuple) and len(scope) > 2 else (key,)
        entries |= {(*first, state): value for state, value in row.items()} if isinstance(row, dict) else {key: row}
    return from_dict(scope, entries)


def _complete(scope: Scope, flat: Table, what: str) -> Table:
    holes = np.isnan(flat)
    if holes.any():
        missing = next(states for states, hole in zip(_states(scope), holes, strict=True) if hole)
        raise InvalidFactor(f"{what} has no number for {dict(zip([v.name for v in scope], missing, strict=True))!r}.")
    return flat


def to_series(scope: Scope, flat: Table) -> pd.Series[float]:
    """A series indexed by states: a plain index for one variable, a MultiIndex for more."""
    import pandas as pd

    if not scope:
        return pd.Series(flat, name="value")
    levels: list[Any] = [_states_index(variable) for variable in scope]
    if len(scope) == 1:
        return pd.Series(flat, index=levels[0], name="value")
    codes: list[Any] = [*_positions(scope)]
    index = pd.MultiIndex(levels=levels, codes=codes, names=[variable.name for variable in scope])
    return pd.Series(flat, index=index, name="value")


def to_frame(scope: Scope, flat: Table, value: str) -> pd.DataFrame:
    """One row for each assignment."""
    import pandas as pd

    if any(variable.name == value for variable in scope):
        raise InvalidFactor(f"A variable is already called {value!r}; choose another name for the numbers: value=...")
    columns = {v.name: _states_index(v).take(codes) for v, codes in zip(scope, _positions(scope), strict=True)}
    return pd.DataFrame({**columns, value: flat})


def _states_index(variable: Variable) -> pd.Index[Any]:
    """The states as an index of the type they share; as plain objects where that would change one of them."""
    import pandas as pd

    states = variable.states
    kind = None if _is_uniform(states) else object
    return pd.Index(list(states), name=variable.name, dtype=kind, tupleize_cols=False)


def _is_uniform(states: Sequence[State]) -> bool:
    """Whether an array can hold the states without changing the type of any."""
    kinds = set(map(type, states))
    return len(kinds) == 1 and kinds <= {bool, int, float, str}


def _positions(scope: Scope) -> list[Ints]:
    """For each variable, the position of its state in every row."""
    size = num_entries(scope)
    codes = []
    repeats = size
    for variable in scope:
        repeats //= variable.num_states
        cycle = np.repeat(np.arange(variable.num_states), repeats)
        codes.append(np.tile(cycle, size // len(cycle)))
    return codes


def from_frame(frame: IntoDataFrame, value: str, states: Mapping[str, Iterable[State]]) -> tuple[Scope, Table]:
    """States come from `states`, else from a column of categories, else in order of appearance."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        kind = type(frame).__name__
        raise InvalidFactor(f"Expected a pandas, polars or arrow frame in memory, not {kind}.") from None
    UnknownVariable.check(value, table.columns, "this frame")
    labels = {str(label): label for label in table.columns if label != value}
    UnknownVariable.check_all(states, labels, "this frame")
    columns = {name: table.get_column(label) for name, label in labels.items()}
    scope = tuple(Variable(name, states.get(name, _column_states(column))) for name, column in columns.items())
    keys = list(zip(*(column.to_list() for column in columns.values()), strict=True)) if columns else [()] * len(table)
    if len(set(keys)) < len(keys):
        raise InvalidFactor("An assignment stands twice in the frame.")
    return scope, from_dict(scope, dict(zip(keys, table.get_column(value).to_list(), strict=True)))


def _column_states(column: nw.Series[Any]) -> list[State]:
    import narwhals as nw

    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    listed = getattr(getattr(column.to_native(), "cat", None), "categories", None)  # pandas
    return list(dict.fromkeys(column.to_list()) if listed is None else listed)


def to_xarray(scope: Scope, values: Table) -> xr.DataArray:
    """Dimensions are variables, coordinates are states."""
    try:
        import xarray as xr
    except ImportError:
        raise MissingDependency.extra("xarray", "xarray") from None
    coordinates = {variable.name: _coordinate(variable.states) for variable in scope}
    return xr.DataArray(values.copy(), dims=[variable.name for variable in scope], coords=coordinates)


def _coordinate(states: Sequence[State]) -> npt.NDArray[Any]:
    if _is_uniform(states):
        return np.array(states)
    objects = np.empty(len(states), dtype=object)
    objects[:] = states
    return objects


def from_xarray(array: xr.DataArray) -> tuple[Scope, Table]:
    """A dimension without coordinates has the states 0, 1, ..."""
    scope = tuple(
        Variable(str(name), _coordinate_states(array.coords[name].values) if name in array.coords else size)
        for name, size in array.sizes.items()
    )
    return scope, np.asarray(array.values, dtype=np.float64)


def _coordinate_states(values: npt.NDArray[Any]) -> list[State]:
    """Plain Python values, but for times, which `tolist` would turn into numbers."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()
