"""From what a caller gave to child, parents and numbers of a CPD, up to rounding; and from these to lines of text."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from plausible.base import (
    PROBABILITY_NOISE,
    WRITTEN_ROUNDING,
    Floats,
    TextTable,
    by_label,
    format_number,
    html_of_print,
    num_shown,
    one_line,
    shown,
)
from plausible.errors import InvalidCPD, RoundedProbabilities, UnknownState, UnknownVariable, counted
from plausible.variables import State, Variable

VariableLike: TypeAlias = str | Variable


def name_of(variable: VariableLike) -> str:
    """The name of a variable that may be given by it."""
    return variable.name if isinstance(variable, Variable) else variable


def read_child(variable: VariableLike, states: Iterable[State] | int | None, num_states: int | None = None) -> Variable:
    """The child as a discrete variable: states as given, else 0, 1, ... as many as there are numbers."""
    if not isinstance(variable, Variable):
        if states is None and num_states is None:
            raise InvalidCPD(f"The CPD of {variable!r} needs the states of its variable: states=[...].")
        return Variable(variable, num_states if states is None else states)
    if states is not None:
        raise InvalidCPD(f"{variable.name!r} is a Variable with states of its own; leave out states=.")
    if variable.is_continuous:
        raise InvalidCPD(f"{variable.name!r} is continuous; its CPD can be a LinearGaussianCPD, for example.")
    return variable


def read_continuous_child(variable: VariableLike) -> Variable:
    """The child as a continuous variable."""
    child = variable if isinstance(variable, Variable) else Variable(variable)
    if not child.is_continuous:
        raise InvalidCPD(f"{child.name!r} has states, but a Gaussian CPD needs a continuous variable.")
    return child


def read_parents(
    child: str, parents: VariableLike | Iterable[VariableLike]
) -> tuple[tuple[str, ...], tuple[Variable | None, ...]]:
    """The names of the parents and, where they were given as variables, the variables."""
    if isinstance(parents, Mapping) and parents:
        name, states = next(iter(parents.items()))
        raise InvalidCPD(
            f"The parents of {child!r} are names or Variable objects, not a mapping. Give names, "
            f"parents={list(parents)}, or variables with their states, such as pb.Variable({name!r}, {shown(states)})."
        )
    given = (parents,) if isinstance(parents, (str, Variable)) or not isinstance(parents, Iterable) else parents
    listed: tuple[Any, ...] = tuple(given)
    for parent in listed:
        if not isinstance(parent, (str, Variable)):
            advice = " Its states, or their number, are states=." if isinstance(parent, int) else ""
            raise InvalidCPD(f"The parents of {child!r} are names or Variable objects, not {parent!r}.{advice}")
    names = tuple(name_of(parent) for parent in listed)
    if child in names:
        raise InvalidCPD(f"{child!r} stands twice in the CPD of {child!r}: nothing is its own parent.")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidCPD(f"{repeated!r} stands twice in the CPD of {child!r}.")
    return names, tuple(parent if isinstance(parent, Variable) else None for parent in listed)


def check_discrete(child: Variable, parents: Iterable[Variable | None], what: str) -> None:
    """Refuse continuous parents; `what` names the kind of CPD, with its article."""
    for parent in parents:
        if parent is not None and parent.is_continuous:
            raise InvalidCPD(f"{what} can't have the continuous parent {parent.name!r} (child {child.name!r}).")


def values_by_parent(child: str, what: str, parent_names: tuple[str, ...], values: Any) -> tuple[Any, ...]:
    """One value for each parent, in their order: from a mapping or a pandas series by name, or from a list."""
    values = by_label(values)
    if isinstance(values, Mapping):
        for name in values:
            if name not in parent_names:
                raise UnknownVariable.named(name, parent_names, f"the parents of {child!r}")
        missing = [name for name in parent_names if name not in values]
        if missing:
            raise InvalidCPD(f"The {what} of {child!r}: there is nothing for the parent {missing[0]!r}.")
        return tuple(values[name] for name in parent_names)
    if not isinstance(values, Iterable):
        raise InvalidCPD(f"The {what} of {child!r}: expected a list, or a mapping by parent, not {values!r}.")
    listed = tuple(values)
    if len(listed) != len(parent_names):
        raise InvalidCPD(
            f"The {what} of {child!r}: expected {len(parent_names)}, one for each parent in {list(parent_names)}, "
            f"not {len(listed)}."
        )
    return listed


def numbers(values: Any, what: str) -> Floats:
    """A new read-only array of finite numbers."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCPD(f"{what}: expected a regular array of numbers, not {values!r}.") from None
    if not np.isfinite(array).all():
        raise InvalidCPD(f"{what}: expected finite numbers, not {array.tolist()}.")
    array.setflags(write=False)
    return array


def record_field(variable: Variable, record: Any, field: str) -> Any:
    """A field of a CPD's record in a file."""
    if not isinstance(record, Mapping) or field not in record:
        raise InvalidCPD(f"The record of the CPD of {variable.name!r} has no field {field!r}.")
    return record[field]


def record_list(variable: Variable, record: Any, field: str, length: int | None = None) -> list[Any]:
    """A field that holds a list; with `length`, a list of lists of that length."""
    values = record_field(variable, record, field)
    if not isinstance(values, list):
        raise InvalidCPD(f"The field {field!r} of the CPD of {variable.name!r} must be a list, not {values!r}.")
    if length is not None and any(not isinstance(value, list) or len(value) != length for value in values):
        raise InvalidCPD(f"The field {field!r} of the CPD of {variable.name!r} must list {length} things at a time.")
    return values


def state_index(variable: Variable, state: Any, place: str) -> int:
    """The position of a state; the error for an unknown one says in which `place` of which CPD it stands."""
    if not variable.has_state(state):
        raise UnknownState(f"{place}: {variable.unknown_state(state)}")
    return variable.index(state)


def states_at(variable: Variable, positions: Any) -> tuple[State, ...]:
    """The states at some positions, as a file lists them."""
    states = variable.states
    found = []
    for position in positions if isinstance(positions, (list, tuple)) else (positions,):
        if not isinstance(position, int) or not 0 <= position < len(states):
            raise InvalidCPD(f"{variable.name!r} has {len(states)} states; {position!r} is not the position of one.")
        found.append(states[position])
    return tuple(found)


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


_MAX_STATES = 12


@dataclass(frozen=True, slots=True)
class TextLines:
    """Lines under a heading, of which very many are cut short; `what` says what they are, in the plural.

    `num_lines` counts them all, where only the first ones are there.
    """

    heading: str
    lines: Sequence[str]
    what: str
    num_lines: int | None = None

    def __str__(self) -> str:
        total = len(self.lines) if self.num_lines is None else self.num_lines
        shown = self.lines[: num_shown(total)]
        more = total - len(shown)
        rest = [f"... {more} more {self.what}"] if more else []
        return "\n".join(one_line(line) for line in (*([self.heading] if self.heading else []), *shown, *rest))

    _repr_html_ = html_of_print

    def to_html(self) -> str:
        """The same lines as HTML, escaped."""
        return f"<pre>{html.escape(str(self))}</pre>"


def excerpt(header: Iterable[str], rows: Iterator[Sequence[str]], num_rows: int, num_labels: int = 1) -> TextTable:
    """A table of rows of text; only those that are shown are taken from `rows`."""
    shown = num_shown(num_rows)
    listed = tuple(tuple(row) for row, _ in zip(rows, range(shown), strict=False))
    return TextTable(tuple(header), listed, num_labels, num_rows - shown)


def state_header(variable: Variable, first: int = 0) -> list[str]:
    """`X=x0`, `X=x1`, ...: a column for each state from the `first` on."""
    return [f"{variable.name}={state}" for state in variable.states[first:]]


def state_label(name: str, variable: Variable | None, position: int) -> str:
    """`A=a1`; `A=[1]` where only the name of the variable is known."""
    return f"{name}={f'[{position}]' if variable is None else variable.states[position]}"


def heading(variable: Variable, parents: Sequence[str]) -> str:
    """`P(X=[x0, x1] | U, V)`: which numbers the rows below list."""
    return f"P({variable.name}={states_text(variable.states)}{given_text(parents)})"


def given_text(parents: Sequence[str]) -> str:
    """` | U, V`, or nothing; of very many parents the first ones and their number."""
    more = f", ... ({len(parents)} parents)" if len(parents) > _MAX_STATES else ""
    return f" | {', '.join(parents[:_MAX_STATES])}{more}" if parents else ""


def states_text(states: Iterable[object]) -> str:
    """`[x0, x1]`; the end of a long list is left out."""
    listed = [str(state) for state in states]
    return f"[{', '.join(listed[:_MAX_STATES])}{', ...' if len(listed) > _MAX_STATES else ''}]"


def row_text(row: Iterable[float]) -> str:
    """`[0.2, 0.8]`: a row of probabilities in state order."""
    return states_text(format_number(float(number)) for number in row)


def linear_text(intercept: float, terms: Iterable[tuple[str, float]]) -> str:
    """`-3.5 + 0.5 X`: a constant, left out where it is zero and something follows, and multiples of variables."""
    listed = list(terms)
    text = format_number(intercept) if intercept or not listed else ""
    for name, coefficient in listed:
        size = "" if abs(coefficient) == 1 else f"{format_number(abs(coefficient))} "
        sign = "-" if coefficient < 0 else "+"
        text = f"{text} {sign} {size}{name}" if text else f"{'-' if coefficient < 0 else ''}{size}{name}"
    return text
