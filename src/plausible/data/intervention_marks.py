"""Which variables were set from outside in which rows, from the ways in which people write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Flags
from plausible.data.factorizing import as_list
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables.variable import is_missing

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
