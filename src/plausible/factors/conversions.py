"""Factors to and from dictionaries, pandas and xarray."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.errors import InvalidFactor, MissingDependency, UnknownVariable
from plausible.factors.alignment import Scope, Table, num_entries
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["from_dict", "from_frame", "from_xarray", "to_dict", "to_frame", "to_series", "to_xarray"]


def _states(scope: Scope) -> Iterable[tuple[State, ...]]:
    return cartesian(*(variable.states or () for variable in scope))


def to_dict(scope: Scope, flat: Table) -> dict[Any, float]:
    """Tuples of states, or bare states where there is one variable, to numbers."""
    keys: Iterable[Hashable] = (scope[0].states or ()) if len(scope) == 1 else _states(scope)
    return dict(zip(keys, flat.tolist(), strict=True))


def from_dict(scope: Scope, values: Mapping[Any, float]) -> Table:
    """Numbers in row-major order; a missing or unknown assignment is an error."""
    flat = np.full(num_entries(scope), np.nan)
    shape = tuple(variable.num_states for variable in scope)
    for key, value in values.items():
        states = (key,) if len(scope) == 1 and scope[0].has_state(key) else key
        if not isinstance(states, tuple) or len(states) != len(scope):
            raise InvalidFactor(f"The key {key!r} does not give one state for each of {[v.name for v in scope]}.")
        position = 0
        for variable, state, size in zip(scope, states, shape, strict=True):
            position = position * size + variable.index(state)
        flat[position] = value
    return _complete(scope, flat, "The mapping")


def _complete(scope: Scope, flat: Table, what: str) -> Table:
    holes = np.isnan(flat)
    if holes.any():
        missing = next(states for states, hole in zip(_states(scope), holes, strict=True) if hole)
        raise InvalidFactor(f"{what} has no number for {dict(zip([v.name for v in scope], missing, strict=True))!r}.")
    return flat


def to_series(scope: Scope, flat: Table) -> pd.Series[float]:
    """A series indexed by states: a plain index for one variable, a MultiIndex for more."""
    import pandas as pd

    if len(scope) == 1:
        return pd.Series(flat, index=pd.Index(list(scope[0].states or ()), name=scope[0].name), name="value")
    if not scope:
        return pd.Series(flat, name="value")
    levels = [list(variable.states or ()) for variable in scope]
    index = pd.MultiIndex.from_product(levels, names=[variable.name for variable in scope])
    return pd.Series(flat, index=index, name="value")


def to_frame(scope: Scope, flat: Table, value: str) -> pd.DataFrame:
    """One row for each assignment."""
    import pandas as pd

    if any(variable.name == value for variable in scope):
        raise InvalidFactor(f"A variable is already called {value!r}; choose another name for the numbers: value=...")
    columns = dict(zip([v.name for v in scope], zip(*_states(scope), strict=True), strict=True)) if scope else {}
    return pd.DataFrame({**{name: list(states) for name, states in columns.items()}, value: flat})


def from_frame(frame: pd.DataFrame, value: str, states: Mapping[str, Iterable[State]]) -> tuple[Scope, Table]:
    """States come from `states`, else from a categorical column, else in order of appearance."""
    if value not in frame.columns:
        raise UnknownVariable.named(value, frame.columns, "this frame")
    names = [str(name) for name in frame.columns if name != value]
    scope = tuple(Variable(name, states.get(name, _column_states(frame[name]))) for name in names)
    keys = [tuple(row) for row in frame[names].itertuples(index=False, name=None)]
    if len(set(keys)) < len(keys):
        raise InvalidFactor("An assignment stands twice in the frame.")
    return scope, from_dict(scope, dict(zip(keys, frame[value].tolist(), strict=True)))


def _column_states(column: pd.Series[Any]) -> list[State]:
    if column.dtype.name == "category":
        return list(column.cat.categories)
    return list(dict.fromkeys(column.tolist()))


def to_xarray(scope: Scope, values: Table) -> xr.DataArray:
    """Dimensions are variables, coordinates are states."""
    try:
        import xarray as xr
    except ImportError:
        raise MissingDependency.extra("xarray", "xarray") from None
    coordinates = {variable.name: list(variable.states or ()) for variable in scope}
    return xr.DataArray(values.copy(), dims=[variable.name for variable in scope], coords=coordinates)


def from_xarray(array: xr.DataArray) -> tuple[Scope, Table]:
    """A dimension without coordinates has the states 0, 1, ..."""
    scope = tuple(
        Variable(str(name), array.coords[name].values.tolist() if name in array.coords else size)
        for name, size in array.sizes.items()
    )
    return scope, np.asarray(array.values, dtype=np.float64)
