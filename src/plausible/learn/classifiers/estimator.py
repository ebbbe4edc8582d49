"""Features and classes as users of scikit-learn give them, and what it asks of an estimator, without needing it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plausible.base import Positions
from plausible.data import Statistics, Table
from plausible.data.columns import refuse_others
from plausible.data.factorizing import factorize, is_absent
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument, NotSupported, PlausibleError, PlausibleWarning, close_match, warn_caller
from plausible.variables import Variable


class NotFitted(PlausibleError, ValueError, AttributeError):
    """A classifier that is asked before it has seen data; also scikit-learn's own error where that is loaded."""


class Estimator:
    """Parameters that are stored as they were given, by the names of the arguments of `__init__`, and nothing else."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name -> parameter, as it was given; `deep` makes no difference, as none of them is an estimator."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change some parameters; those learned stay until the next `fit`."""
        known = self._parameter_names()
        for name, value in parameters.items():
            if name not in known:
                raise InvalidArgument(
                    f"{name!r} is no parameter of {type(self).__name__}.{close_match(name, known)} "
                    f"It has {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether data has been seen; asked by scikit-learn."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """What this classifier can do; asked by scikit-learn, which is then there."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="classifier",
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags(),
            input_tags=utils.InputTags(allow_nan=True, categorical=True, string=True),
        )

    def _check_fitted(self) -> None:
        if self.__sklearn_is_fitted__():
            return
        kind = _shared(NotFitted, "NotFittedError")
        raise kind(f"This {type(self).__name__} has not seen any data yet: call fit first.")

    def _note_features(self, X: Any, names: Iterable[str]) -> None:
        """Keep how many features there are, those that nothing is learned from too; and their names, if X has any."""
        self._columns_ = list(names)
        self.n_features_in_ = len(self._columns_)
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.array(self._columns_, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _features(self, X: Any, variables: Mapping[str, Variable], place: str) -> dict[str, Any]:
        """Name -> column of those that were learned from; columns that were left out when fitting are passed over."""
        columns = read_features(X, self._columns_)
        if not _has_names(X) and len(columns) != self.n_features_in_:
            raise InvalidArgument(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )
        used = {name: columns[name] for name in columns if name in variables or name not in self._columns_}
        refuse_others(used, variables, place)
        return used


class Clusterer(Estimator):
    """An estimator that puts rows into clusters, without a class to learn from: `labels_` once it has."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="clusterer",
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(allow_nan=True, categorical=True, string=True),
        )


def _shared(kind: type[Any], name: str) -> type[Any]:
    """The kind or, where scikit-learn is in use, one that code written for it also knows as its exception of a name."""
    if "sklearn" not in sys.modules:
        return kind
    return type(name, (kind, getattr(import_module("sklearn.exceptions"), name)), {})


class Classes(NamedTuple):
    """The class of each row as a position, what the positions stand for, and a name."""

    codes: Positions
    states: NDArray[Any]
    name: str


def read_features(X: Any, names: list[str] | None = None) -> dict[str, Any]:
    """Name -> column; the columns of a matrix have the names given, or X0, X1, ..."""
    if isinstance(X, Table):
        return {name: X.values(name) for name in X.variables}
    if isinstance(X, Statistics):
        raise NotSupported(
            f"{type(X).__name__} is no rows, which estimators take as X: give a table, or a frame. Where there are too "
            "many rows for memory, learn.structure(..., 'tan') or a graph of your own with learn.parameters makes a "
            "classifier of them, whose network predicts rows of files."
        )
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


def number_variables(X: Any, columns: Iterable[str]) -> list[Variable]:
    """Variables that the features tell: those of a table; all columns of a matrix, or unnamed frame, of floats."""
    if isinstance(X, Table):
        return [variable for name, variable in X.variables.items() if name not in X.doubtful]
    return [Variable(name) for name in columns] if not _has_names(X) and np.asarray(X).dtype.kind == "f" else []


def _has_names(X: Any) -> bool:
    return isinstance(X, (str, Mapping, Table)) or any(isinstance(name, str) for name in getattr(X, "columns", ()))


def _named(columns: list[Any], names: list[str] | None) -> dict[str, Any]:
    """Columns that go by their places; those that there are no names for are counted by the caller."""
    known = list(names or ())
    return dict(zip([*known, *(f"X{number}" for number in range(len(known), len(columns)))], columns, strict=False))


def read_classes(y: Any, features: Mapping[str, Any]) -> Classes:
    """The classes, sorted; named as the column that they come from, or "class"."""
    if y is None:
        raise InvalidArgument("A classifier requires y to be passed, but the target y is None.")
    values, name = np.asarray(y), getattr(y, "name", None)
    if values.ndim == 2 and values.shape[1] == 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected, and taken as one: give y.ravel().",
            _shared(PlausibleWarning, "DataConversionWarning"),
        )
        name = next(iter(getattr(y, "columns", ())), None)
        y, values = np.asarray(y, dtype=object)[:, 0], values[:, 0]
    # Numbers among texts stay numbers there.
    cells = (np.asarray(y, dtype=object) if values.dtype.kind in "US" else values).tolist()
    if values.ndim != 1:
        raise InvalidArgument(f"y is a list with the class of each row, but has the shape {values.shape}.")
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values != np.floor(values)).any():
        raise InvalidArgument(
            "Unknown label type: y holds fractional numbers, but a classifier needs classes. Cut it into intervals "
            "first, as Discretizer does."
        )
    if any(is_absent(value) or value in (np.inf, -np.inf) for value in cells):
        raise InvalidArgument("y has missing or infinite values (NaN, None, inf): leave these rows out.")
    if isinstance(name, str) and name in features:
        raise InvalidArgument(f"X has the column {name!r}, which is also the class: leave it out of X.")
    if not isinstance(name, str) or not name:
        name = "class"
        while name in features:
            name += "_"
    texts = [value for value in cells if isinstance(value, str)]
    if texts and len(texts) < len(cells):
        other = next(value for value in cells if not isinstance(value, str))
        raise InvalidArgument(
            f"y mixes texts and others, such as {texts[0]!r} and {other!r}, which can't be sorted. Make all of them "
            "texts, or all numbers."
        )
    states, codes = np.unique(values, return_inverse=True)
    return Classes(codes.astype(np.intp), states, name)


def unseen_states(columns: Mapping[str, Any], variables: Mapping[str, Variable]) -> dict[str, list[Any]]:
    """Name -> what its column holds that is no state of its variable, for the columns that hold any."""
    unseen = {}
    for name, column in columns.items():
        if not variables[name].is_continuous:
            values = [value for value in factorize(name, column)[1] if not is_absent(value)]
            unseen[name] = [value for value in values if not variables[name].has_state(value)]
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
