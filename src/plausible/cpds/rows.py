"""Rows of probabilities: reading them, and what is one up to rounding and what is not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import by_label
from plausible.base.tolerances import PROBABILITY_NOISE, WRITTEN_ROUNDING
from plausible.cpds.reading import state_index
from plausible.errors import InvalidCPD, RoundedProbabilities, counted
from plausible.variables import State, Variable

#: Rows that miss one by more than a thousandth are an error; binary fractions such as 1 - 0.999 may miss by a bit more.
MAX_ROUNDING = 1e-3 * (1 + 1e-9)

#: Probabilities in state order, or keyed by state.
Row: TypeAlias = Sequence[float] | Floats | Mapping[State, float]


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rows that missed one by so much rounding that it is told, and were divided by their sums."""

    num_rows: int
    worst: float
    row: tuple[int, ...]


class BadRow(InvalidCPD):
    """A row that is no distribution; `row` has the positions of the parents' states."""

    def __init__(self, row: tuple[int, ...], problem: str) -> None:
        self.row, self.problem = row, problem
        super().__init__(f"Row {row} {problem}.")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the row when the error is copied or crosses a process boundary."""
        return BadRow, (self.row, self.problem)


@np.errstate(over="ignore")
def checked_rows(values: Floats) -> tuple[Floats, Rounding | None]:
    """Probabilities whose last axis sums to one, renormalised where rounding made it miss; what of it is to be told.

    What is renormalised is left as it is when it comes again, so that a network equals what is read from its file.
    Raises `BadRow` for a negative or non-finite number, or a sum that misses one by more than `MAX_ROUNDING`.
    """
    if not values.size:
        return values, None
    if not (values.min() >= 0 and values.max() < np.inf):
        wrong = ~((values >= 0) & (values < np.inf))
        place = np.unravel_index(int(np.argmax(wrong)), values.shape)
        raise BadRow(
            tuple(int(i) for i in place[:-1]), f"has the entry {float(values[place]):g}, which is no probability"
        )
    sums = values.sum(axis=-1)
    misses = np.abs(sums - 1.0)
    worst = float(misses.max())
    if worst <= PROBABILITY_NOISE:
        return values, None
    row = tuple(int(i) for i in np.unravel_index(int(np.argmax(misses)), misses.shape))
    if worst > MAX_ROUNDING:
        raise BadRow(row, f"sums to {float(sums[row]):.10g}, not to one")
    values = values / np.where(misses > PROBABILITY_NOISE, sums, 1.0)[..., None]
    return values, Rounding(int((misses > WRITTEN_ROUNDING).sum()), worst, row) if worst > WRITTEN_ROUNDING else None


def normalized_rows(variable: Variable, values: Floats, place: Callable[[tuple[int, ...]], str]) -> Floats:
    """`checked_rows` as read-only rows; errors and the one warning name the variable and the `place` of the row."""
    try:
        rows, rounding = checked_rows(values)
    except BadRow as error:
        where = place(error.row)
        raise InvalidCPD(f"The row of {variable.name!r}{f' for {where}' if where else ''} {error.problem}.") from None
    if rounding is not None:
        _warn_rounding(variable, rounding, place(rounding.row))
    rows.setflags(write=False)
    return rows


def _warn_rounding(variable: Variable, rounding: Rounding, place: str) -> None:
    """The one warning for all rows of a CPD that were renormalised."""
    worst = f" (worst: {place})" if place else ""
    was = counted(rounding.num_rows, "row")
    text = f"{was} of {variable.name!r} missed one by up to {rounding.worst:.3g}{worst}; renormalised."
    warnings.warn(text, RoundedProbabilities, stacklevel=5)


def place_text(parents: Sequence[Variable | None], row: tuple[int, ...]) -> str:
    """`A=a0, B=b1` for the positions of a row; a parent known by name only shows its position."""
    return ", ".join(
        f"{parent.name}={parent.states[position]}" if parent is not None else f"[{position}]"
        for parent, position in zip(parents, row, strict=True)
    )


def read_row(variable: Variable, key: Any, row: Any) -> Floats:
    """One row in state order; `key` says in errors which."""
    given = by_label(row)
    listed = _in_state_order(variable, key, given) if isinstance(given, Mapping) else given
    try:
        array = np.array(listed, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCPD(
            f"The row {key!r} of {variable.name!r} is no list of numbers, one for each state: {row!r}."
        ) from None
    if array.shape != (variable.num_states,):
        raise InvalidCPD(
            f"The row {key!r} of {variable.name!r} has shape {array.shape}; it needs {variable.num_states} numbers, "
            f"one for each of {list(variable.states)}."
        )
    return array


def check_row(variable: Variable, key: Any, row: Any) -> None:
    """Refuse a row that is no distribution, before the parents are known; rounding passes."""
    try:
        checked_rows(read_row(variable, key, row))
    except BadRow as error:
        raise InvalidCPD(f"The row {key!r} of {variable.name!r} {error.problem}.") from None


def _in_state_order(variable: Variable, key: Any, row: Mapping[State, float]) -> list[float]:
    for state in row:
        state_index(variable, state, f"The row {key!r} of {variable.name!r}")
    missing = [state for state in variable.states if state not in row]
    if missing:
        raise InvalidCPD(f"The row {key!r} of {variable.name!r} has no probability for {missing[0]!r}.")
    return [row[state] for state in variable.states]


def keyed_rows(variable: Variable, parents: Sequence[Variable], rows: Mapping[Any, Row]) -> Floats:
    """Rows keyed by parent states as an array; every assignment to the parents must have one."""
    shape = tuple(parent.num_states for parent in parents)
    array = np.full((*shape, variable.num_states), np.nan)
    seen = np.zeros(shape, dtype=bool)
    for key, row in rows.items():
        single = len(parents) == 1 and (parents[0].has_state(key) or not isinstance(key, tuple))
        states = (key,) if single else key
        check_key(variable, key, states, [parent.name for parent in parents])
        where = f"The row {key!r} of {variable.name!r}"
        place = tuple(state_index(parent, state, where) for parent, state in zip(parents, states, strict=True))
        array[place], seen[place] = read_row(variable, key, row), True
    if not seen.all():
        place = tuple(int(i) for i in np.unravel_index(int(np.argmin(seen)), shape))
        raise InvalidCPD(f"The table of {variable.name!r} has no row for {place_text(parents, place)}.")
    return array


def check_key(variable: Variable, key: Any, states: Any, parents: Sequence[str]) -> None:
    """Refuse the key of a row, read as `states`, that does not give one for each parent."""
    if not isinstance(states, tuple) or len(states) != len(parents):
        wanted = list(parents)
        raise InvalidCPD(f"The row {key!r} of {variable.name!r} must be keyed by a state of each parent {wanted}.")


def probability(value: Any, what: str) -> float:
    """A number in [0, 1]; `what` says in errors which."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidCPD(f"{what}: expected a probability, not {value!r}.") from None
    if not 0.0 <= number <= 1.0:
        raise InvalidCPD(f"{what}: expected a probability between 0 and 1, not {number:g}.")
    return number
