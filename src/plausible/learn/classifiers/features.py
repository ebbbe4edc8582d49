"""Features and classes as users of scikit-learn give them: frames, matrices, lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Positions
from plausible.data.columns import factorize
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument, NotSupported
from plausible.variables import Variable
from plausible.variables.variable import is_missing


class Classes(NamedTuple):
    """The class of each row as a position, what the positions stand for, and a name."""

    codes: Positions
    states: NDArray[Any]
    name: str


def read_features(X: Any, names: list[str] | None = None) -> dict[str, Any]:
    """Name -> column; the columns of a matrix have the names given, or X0, X1, ..."""
    if hasattr(X, "toarray"):
        raise NotSupported("Sparse data is not supported: give X.toarray().")
    if isinstance(X, (str, Mapping)) or hasattr(X, "columns"):
        columns = dict(columns_of(X))
        if all(isinstance(name, str) for name in columns):
            return columns
        return _named(list(columns.values()), names)
    matrix = np.asarray(X)
    if matrix.dtype.kind in "US":
        matrix = np.asarray(X, dtype=object)  # numbers among texts stay numbers
    if matrix.ndim != 2:
        raise InvalidArgument(
            f"Expected 2D array, rows and features, got {matrix.ndim}D array instead. Reshape your data: one row is "
            "X.reshape(1, -1), one feature X.reshape(-1, 1)."
        )
    if matrix.dtype.kind == "c":
        raise InvalidArgument("Complex data not supported: a feature is a real number or a state.")
    if not matrix.shape[1]:
        raise InvalidArgument(f"X has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    return _named([column.tolist() if matrix.dtype == object else column for column in matrix.T], names)


def _named(columns: list[Any], names: list[str] | None) -> dict[str, Any]:
    """Columns that go by their places; those that there are no names for are counted by the caller."""
    known = list(names or ())
    return dict(zip([*known, *(f"X{number}" for number in range(len(known), len(columns)))], columns, strict=False))


def read_classes(y: Any, features: Mapping[str, Any]) -> Classes:
    """The classes, sorted; named as the column that they come from, or "class"."""
    if y is None:
        raise InvalidArgument("A classifier requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    # Numbers among texts stay numbers there.
    cells = np.asarray(y, dtype=object) if values.dtype.kind in "US" else values
    if values.ndim == 2 and values.shape[1] == 1:
        raise InvalidArgument("A column-vector y was passed when a 1d array was expected: give y.ravel().")
    if values.ndim != 1:
        raise InvalidArgument(f"y is a list with the class of each row, but has the shape {values.shape}.")
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.floor(values)).any():
        raise InvalidArgument(
            "Unknown label type: y holds fractional numbers, but a classifier needs classes. Cut it into intervals "
            "first, as Discretizer does."
        )
    if any(value is None or is_missing(value) or value in (np.inf, -np.inf) for value in cells.tolist()):
        raise InvalidArgument("y has missing or infinite values (NaN, None, inf): leave these rows out.")
    name = getattr(y, "name", None)
    if isinstance(name, str) and name in features:
        raise InvalidArgument(f"X has the column {name!r}, which is also the class: leave it out of X.")
    if not isinstance(name, str) or not name:
        name = "class"
        while name in features:
            name += "_"
    _refuse_mixed(cells.tolist())
    states, codes = np.unique(values, return_inverse=True)
    return Classes(codes.astype(np.intp), states, name)


def _refuse_mixed(values: list[Any]) -> None:
    """Refuse classes that can't be sorted."""
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) < len(values):
        other = next(value for value in values if not isinstance(value, str))
        raise InvalidArgument(
            f"y mixes texts and others, such as {texts[0]!r} and {other!r}, which can't be sorted. Make all of them "
            "texts, or all numbers."
        )


def unseen_states(columns: Mapping[str, Any], variables: Mapping[str, Variable]) -> dict[str, list[Any]]:
    """Name -> what its column holds that is no state of its variable, for the columns that hold any."""
    discrete = [name for name in columns if name in variables and not variables[name].is_continuous]
    unseen = {
        name: [
            value
            for value in factorize(name, columns[name])[1]
            if not (value is None or is_missing(value) or variables[name].has_state(value))
        ]
        for name in discrete
    }
    return {name: values for name, values in unseen.items() if values}


def with_unseen_missing(columns: Mapping[str, Any], variables: Mapping[str, Variable]) -> dict[str, Any]:
    """The columns with `None` in place of what is no state of their variables."""
    return {
        name: column if name not in variables or variables[name].is_continuous else _known(variables[name], column)
        for name, column in columns.items()
    }


def _known(variable: Variable, column: Any) -> list[Any]:
    places, values = factorize(variable.name, column)
    known = np.empty(len(values) + 1, dtype=object)
    known[:-1] = [value if variable.has_state(value) else None for value in values]
    return list(known[places])
