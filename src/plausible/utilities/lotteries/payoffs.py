"""What each action brings in each state of the world, as people write it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.errors import InvalidArgument, shortened

#: {action: {state: utility}}, a data frame with an action a row and a state a column, or rows of numbers.
PayoffsLike: TypeAlias = "Mapping[Hashable, Mapping[Hashable, float]] | Sequence[Sequence[float]] | Floats | Any"
_FORM = (
    "write {action: {state: utility}}, or give a pandas data frame with an action a row and a state a column, or "
    "rows of numbers such as [[10, 0], [4, 4]]"
)


@dataclass(frozen=True, slots=True)
class Payoffs:
    """Payoffs as a table."""

    #: Of the rows and of the columns; counted from 0 where they have no names.
    actions: tuple[Hashable, ...]
    states: tuple[Hashable, ...]
    utilities: Floats  # Actions × states


def read_payoffs(given: PayoffsLike) -> Payoffs:
    """Payoffs from dicts, a data frame, an array or a list of rows.

    >>> read = read_payoffs([[10, 0], [4, 4], [0, 9]])
    >>> read.actions, read.states
    ((0, 1, 2), (0, 1))
    """
    if isinstance(given, Mapping):
        actions, states, cells = _from_dicts(given)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        frame: Any = given
        actions, states, cells = tuple(frame.index), tuple(frame.columns), frame.to_numpy()
        _check_names("action", actions)
        _check_names("state", states)
    else:
        cells = _rows(given)
        actions, states = tuple(range(len(cells))), tuple(range(len(cells[0])))
    if not actions or not states:
        raise InvalidArgument(f"Regret needs actions and states, and there are none: {_FORM}.")
    return Payoffs(actions, states, _numbers(actions, states, cells))


def _from_dicts(given: Mapping[Any, Any]) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], list[list[Any]]]:
    states: tuple[Hashable, ...] = ()
    for action, row in given.items():
        if not isinstance(row, Mapping):
            raise InvalidArgument(f"The action {action!r} has {shortened(row)} for its payoffs: {_FORM}.")
        states = states or tuple(row)
        if set(row) != set(states):
            raise InvalidArgument(f"The action {action!r} needs a utility for each of the states {list(states)}.")
    return tuple(given), states, [[row[state] for state in states] for row in given.values()]


def _check_names(kind: str, names: tuple[Hashable, ...]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidArgument(f"The {kind} {twice[0]!r} stands twice in the data frame: give each its own name.")


def _rows(given: Any) -> list[list[Any]]:
    """Rows of equal length, if that is what was given."""
    try:
        rows = [] if isinstance(given, str) else [list(row) for row in given]
    except TypeError:
        rows = []
    if not rows:
        raise InvalidArgument(f"{shortened(given)} has no actions and states: {_FORM}.")
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidArgument(
                f"The payoffs have {len(rows[0])} states in row 0 and {len(row)} in row {place}: "
                f"each action needs a utility for each state."
            )
    return rows


def _numbers(actions: Sequence[Hashable], states: Sequence[Hashable], cells: Iterable[Iterable[Any]]) -> Floats:
    table = np.empty((len(actions), len(states)))
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            try:
                table[i, j] = float(cell)
            except (TypeError, ValueError):
                table[i, j] = np.nan
            if not np.isfinite(table[i, j]):
                raise InvalidArgument(
                    f"The action {actions[i]!r} brings {shortened(cell)} in the state {states[j]!r}: "
                    f"utilities are finite numbers."
                )
    return table


def read_chances(given: Mapping[Hashable, float] | Sequence[float] | Floats, states: Sequence[Hashable]) -> Floats:
    """The probability of each state, from a dict, or from a list in the order of the states.

    >>> read_chances([0.25, 0.75], ["rain", "sun"]).tolist()
    [0.25, 0.75]
    """
    table: Any = given.to_dict() if hasattr(given, "to_dict") else given
    if isinstance(table, Mapping):
        listed = [table.get(state) for state in states]
    else:
        listed = list(table) if isinstance(table, Iterable) and not isinstance(table, str) else []
    if len(listed) != len(states):
        raise InvalidArgument(
            f"{shortened(given)} has no probability for each of the {len(states)} states {shortened(list(states))}: "
            f"write {{state: probability}}, or a list in their order."
        )
    chances = np.array([_chance(state, chance) for state, chance in zip(states, listed, strict=True)])
    if abs(chances.sum() - 1) > WRITTEN_ROUNDING:
        raise InvalidArgument(f"The probabilities of the states sum to {chances.sum():.9g}, not to 1.")
    return chances


def _chance(state: Hashable, given: Any) -> float:
    try:
        chance = float(given)
    except (TypeError, ValueError):
        chance = np.nan
    if not 0 <= chance <= 1:
        raise InvalidArgument(f"The state {state!r} needs a probability between 0 and 1, not {shortened(given)}.")
    return chance
