"""Which variables were set from outside in which rows, from the ways in which people write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data.columns import as_list
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables.variable import is_missing

__all__ = ["Marks", "are_targets", "read_interventions"]

#: Name -> for each row whether that variable was set from outside.
Marks: TypeAlias = Mapping[str, NDArray[np.bool_]]

_BETWEEN = re.compile(r"\s*[,;+]\s*")


def read_interventions(given: Any, known: Mapping[str, object], num_rows: int) -> Marks:
    """The rows in which each variable was set from outside; variables that never were are left out.

    Parameters
    ----------
    given
        Name -> for each row whether that variable was set; number of a row -> its targets; or a list with the targets
        of each row. Targets are a name, several names, text with commas, semicolons or plus signs between names, or
        nothing: `None`, NaN, or an empty text or list.
    known
        The variables.
    num_rows
        How many rows there are.

    Examples
    --------
    >>> read_interventions([None, "A", "A, B"], {"A": 0, "B": 1}, 3)["A"]
    array([False,  True,  True])
    >>> read_interventions({2: ["B"]}, {"A": 0, "B": 1}, 3)["B"]
    array([False, False,  True])
    """
    if isinstance(given, Mapping):
        if not given or not all(isinstance(key, (int, np.integer)) for key in given):
            return _by_variable(given, known, num_rows)
        return _by_row(dict(given), known, num_rows)
    if isinstance(given, str) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise InvalidArgument(
            f"interventions={given!r}: give the targets of each row, or name -> True and False for each row."
        )
    listed = as_list(given)
    if len(listed) != num_rows:
        raise InvalidArgument(f"There are {num_rows} rows, but interventions for {len(listed)}.")
    return _by_row(dict(enumerate(listed)), known, num_rows)


def are_targets(states: Iterable[Any], known: Mapping[str, object]) -> bool:
    """Whether the states of a column are names of other columns, and so may tell what was set from outside.

    >>> are_targets(["A", "A+B"], {"A": 0, "B": 1, "set": 2}), are_targets(["A", "C"], {"A": 0, "B": 1, "set": 2})
    (True, False)
    """
    listed = list(states)
    return bool(listed) and all(
        isinstance(state, str) and all(name in known for name in _BETWEEN.split(state.strip())) for state in listed
    )


def _by_variable(masks: Mapping[str, Any], known: Mapping[str, object], num_rows: int) -> Marks:
    read = {}
    for name, mask in masks.items():
        if name not in known:
            raise UnknownVariable.named(name, known, "the data, though interventions name it")
        rows = np.array(mask)
        if rows.dtype != np.bool_ or rows.shape != (num_rows,):
            raise InvalidArgument(f"The interventions on {name!r} are a list of True and False for {num_rows} rows.")
        if rows.any():
            read[name] = rows
    return MappingProxyType(read)


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
    return MappingProxyType(marks)


def _names(row: int, target: Any, known: Mapping[str, object]) -> list[str]:
    if target is None or is_missing(target) or (isinstance(target, str) and not target.strip()):
        return []
    if isinstance(target, str):
        names = [target] if target in known else _BETWEEN.split(target.strip())
    elif isinstance(target, Iterable):
        names = list(target)
    else:
        raise InvalidArgument(f"The target of row {row} is {target!r}: expected the name of a variable, or names.")
    for name in names:
        if name not in known:
            raise UnknownVariable.named(name, known, f"the data, though row {row} names it as a target")
    return names
