"""From what a caller gave to the child, the parents and the numbers of a CPD."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import by_label
from plausible.base.plain_values import shown
from plausible.errors import InvalidCPD, UnknownState, UnknownVariable
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
