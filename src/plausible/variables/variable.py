"""A variable: a name and the states it can be in, or a real number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import TypeAlias

from plausible.base.display import html_of_repr
from plausible.base.plain_values import plain, shown
from plausible.errors import InvalidVariable, NotSupported, UnknownState, suggestion

#: Any hashable value but `None`: text, a number, a boolean, a tuple, an enum member ...
State: TypeAlias = Hashable
#: Of more states only some are printed.
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Variable:
    """A random variable: discrete with named states, or continuous.

    Parameters
    ----------
    name
        The name: any non-empty string.
    states
        The distinct states, in order; an integer n means the states 0, ..., n - 1. `None` makes the variable
        continuous: the attribute `states` is then empty, and `is_continuous` is true.

    Examples
    --------
    >>> grade = Variable("G", ["A", "B", "C"])
    >>> grade.num_states, grade.index("B")
    (3, 1)
    >>> height = Variable("height")
    >>> height.is_continuous, height.states
    (True, ())
    """

    name: str
    states: tuple[State, ...]
    #: Whether the variable takes real values.
    is_continuous: bool = field(compare=False)
    _positions: dict[State, int] = field(compare=False)

    def __init__(self, name: str, states: Iterable[State] | int | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidVariable(f"A variable needs a name that is a non-empty text, not {name!r}.")
        ordered = () if states is None else _ordered(name, states)
        object.__setattr__(self, "name", plain(name))
        object.__setattr__(self, "states", ordered)
        object.__setattr__(self, "is_continuous", states is None)
        object.__setattr__(self, "_positions", {} if states is None else _positions(name, ordered))

    @property
    def num_states(self) -> int:
        """The number of states; an error if the variable is continuous."""
        if self.is_continuous:
            raise NotSupported(f"{self.name!r} is continuous: it has no states.")
        return len(self.states)

    def index(self, state: State) -> int:
        """The position of a state; the error for an unknown state suggests similar ones."""
        try:
            return self._positions[state]
        except (KeyError, TypeError):
            raise self.unknown_state(state) from None

    def has_state(self, value: object) -> bool:
        """Whether `value` is one of the states."""
        try:
            return value in self._positions
        except TypeError:
            return False

    def state_from_text(self, text: str) -> State:
        """Find the state that prints as `text`, which is how files and the command line name states.

        >>> Variable("X", [False, True]).state_from_text("True")
        True
        """
        if self.has_state(text):
            return text
        for state in self.states:
            if str(state) == text:
                return state
        raise self.unknown_state(text)

    def unknown_state(self, state: object) -> UnknownState:
        """The error for a value that is not a state."""
        if self.is_continuous:
            return UnknownState(f"{self.name!r} is continuous: expected a number, not {shown(state)}.")
        near = suggestion(state if _is_hashable(state) else repr(state), self.states)
        return UnknownState(f"{shown(state)} is not a state of {self.name!r}.{near}")

    def renamed(self, name: str) -> Variable:
        """Return a variable with the same states and another name."""
        return Variable(name, None if self.is_continuous else self.states)

    def __repr__(self) -> str:
        if self.is_continuous:
            return f"Variable({self.name!r})"
        if self.num_states <= _MOST_SHOWN:
            return f"Variable({self.name!r}, {list(self.states)!r})"
        first, second, *_, last = map(repr, self.states)
        return f"<Variable {self.name!r}: {self.num_states} states, {first}, {second}, ..., {last}>"

    def __str__(self) -> str:
        return self.name

    _repr_html_ = html_of_repr

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: frozen slots can't be set from outside."""
        return Variable, (self.name, None if self.is_continuous else self.states)


def _ordered(name: str, states: object) -> tuple[State, ...]:
    no_list = isinstance(states, (bool, str, bytes, set, frozenset))
    if not no_list and isinstance(states, Integral):
        return tuple(range(int(states)))
    if no_list or not isinstance(states, Iterable):
        raise InvalidVariable(
            f"The states of {name!r} are a list in a fixed order, such as ['low', 'high'], or their number; "
            f"not {states!r}."
        )
    return tuple(map(plain, states))


def _positions(name: str, states: tuple[State, ...]) -> dict[State, int]:
    if not states:
        raise InvalidVariable(f"The variable {name!r} needs at least one state.")
    positions: dict[State, int] = {}
    for position, state in enumerate(states):
        if not _is_hashable(state):
            raise InvalidVariable(f"The state {state!r} of {name!r} can't be hashed; use text, a number or a tuple.")
        if state is None:
            raise InvalidVariable(
                f"None can't be a state of {name!r}: in tables of data it stands for what is not observed. "
                "Name the state, as in 'none'."
            )
        if is_missing(state):
            raise InvalidVariable(f"{state!r} can't be a state of {name!r}: it does not equal itself.")
        if positions.setdefault(state, position) != position:
            raise InvalidVariable(f"The state {state!r} of {name!r} stands twice (1, 1.0 and True count as equal).")
    return positions


def _is_hashable(state: object) -> bool:
    try:
        hash(state)
    except TypeError:
        return False
    return True


def is_missing(state: object) -> bool:
    """Whether the value is NaN or its like: one that does not equal itself, or that can't tell (pandas' NA)."""
    try:
        return bool(state != state)
    except (TypeError, ValueError):
        return True
