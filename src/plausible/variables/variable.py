"""A variable: a name and the states it can be in, or a real number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from plausible.errors import InvalidVariable, NotSupported, UnknownState, suggestion

__all__ = ["State", "Variable"]

#: Any hashable value: text, a number, a boolean, a tuple, an enum member ...
State: TypeAlias = Hashable


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Variable:
    """A random variable: discrete with named states, or continuous.

    Parameters
    ----------
    name
        Its name; any text but the empty one.
    states
        Its states in order, all different; a number n stands for the states 0, ..., n - 1.
        `None` makes the variable continuous.

    Examples
    --------
    >>> grade = Variable("G", ["A", "B", "C"])
    >>> grade.num_states, grade.index("B")
    (3, 1)
    >>> Variable("height").is_continuous
    True
    """

    name: str
    states: tuple[State, ...] | None
    _positions: dict[State, int] = field(compare=False)

    def __init__(self, name: str, states: Iterable[State] | int | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidVariable(f"A variable needs a name that is a non-empty text, not {name!r}.")
        if isinstance(states, int):
            states = range(states)
        elif isinstance(states, str):
            raise InvalidVariable(
                f"The states of {name!r} are a list, such as ['low', 'high'], not the text {states!r}."
            )
        ordered = None if states is None else tuple(states)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", ordered)
        object.__setattr__(self, "_positions", {} if ordered is None else _positions(name, ordered))

    @property
    def is_continuous(self) -> bool:
        """Whether the variable takes real values."""
        return self.states is None

    @property
    def num_states(self) -> int:
        """The number of states; a continuous variable has none to count."""
        if self.states is None:
            raise NotSupported(f"{self.name!r} is continuous: it has no states.")
        return len(self.states)

    def index(self, state: State) -> int:
        """The position of a state; an unknown one gets close matches."""
        try:
            return self._positions[state]
        except (KeyError, TypeError):
            raise self.unknown_state(state) from None

    def has_state(self, value: object) -> bool:
        """Whether `value` is one of the states."""
        return isinstance(value, Hashable) and value in self._positions

    def state_from_text(self, text: str) -> State:
        """The state that prints as `text`: how files and the command line name states.

        >>> Variable("X", [False, True]).state_from_text("True")
        True
        """
        if self.has_state(text):
            return text
        for state in self.states or ():
            if str(state) == text:
                return state
        raise self.unknown_state(text)

    def unknown_state(self, state: object) -> UnknownState:
        """The error for a value that is not a state."""
        if self.states is None:
            return UnknownState(f"{self.name!r} is continuous: expected a number, not {state!r}.")
        return UnknownState(f"{state!r} is not a state of {self.name!r}.{suggestion(_shown(state), self.states)}")

    def renamed(self, name: str) -> Variable:
        """The same states under another name."""
        return Variable(name, self.states)

    def __repr__(self) -> str:
        return f"Variable({self.name!r})" if self.states is None else f"Variable({self.name!r}, {list(self.states)!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: frozen slots can't be set from outside."""
        return Variable, (self.name, self.states)


def _positions(name: str, states: tuple[State, ...]) -> dict[State, int]:
    if not states:
        raise InvalidVariable(f"The variable {name!r} needs at least one state.")
    try:
        positions = {state: position for position, state in enumerate(states)}
    except TypeError:
        wrong = next(state for state in states if not isinstance(state, Hashable))
        raise InvalidVariable(
            f"The state {wrong!r} of {name!r} can't be hashed; use text, a number or a tuple."
        ) from None
    if len(positions) < len(states):
        repeated = next(state for position, state in enumerate(states) if positions[state] != position)
        raise InvalidVariable(f"The state {repeated!r} of {name!r} stands twice (1, 1.0 and True count as equal).")
    if any(state != state for state in states):
        raise InvalidVariable(f"NaN can't be a state of {name!r}: it does not equal itself.")
    return positions


def _shown(state: object) -> Hashable:
    return state if isinstance(state, Hashable) else repr(state)
