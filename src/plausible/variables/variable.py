"""A variable: a name and the states it can be in, or a real number; and which state each of some variables is in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from plausible.base import Frozen, QueryInfo, TextTable, format_number, html_of, html_of_repr, plain, shown
from plausible.errors import InvalidVariable, NotSupported, UnknownState, UnknownVariable, suggestion

if TYPE_CHECKING:
    import pandas as pd


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
        other = Variable(name)
        object.__setattr__(other, "states", self.states)  # checked and numbered once
        object.__setattr__(other, "is_continuous", self.is_continuous)
        object.__setattr__(other, "_positions", self._positions)
        return other

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


class Assignment(Frozen, Mapping[str, State]):
    """A mapping from names to states; the answers of `mpe`, `map` and `k_best` also have a log-probability.

    Examples
    --------
    >>> best = Assignment({"I": "high", "G": "A"}, log_probability=-1.31)
    >>> best["G"]
    'A'
    >>> best.restrict(["G", "L"])
    Assignment(G='A')
    """

    __slots__ = ("_info", "_log_probability", "_log_product", "_states")

    def __init__(
        self,
        states: Mapping[str, State],
        *,
        log_probability: float | None = None,
        log_product: float | None = None,
        info: QueryInfo | None = None,
    ) -> None:
        self._states = dict(states)
        self._log_probability = log_probability
        self._log_product = log_product
        self._info = info

    @property
    def log_probability(self) -> float | Any:
        """The natural logarithm of the probability of an assignment that answers a query; None where it is not known.

        For type checkers a number, which it is in almost every answer.
        """
        return self._log_probability

    @property
    def log_product(self) -> float | None:
        """The natural logarithm of the product of a Markov network's factors, where it answers a query about one.

        It is the log-probability but for log Z, which engines that look for best assignments don't find.
        """
        return self._log_product

    @property
    def info(self) -> QueryInfo | Any:
        """How the assignment was found, where it answers a query; else None.

        For type checkers always the record, which every answer has.
        """
        return self._info

    def __getitem__(self, name: str) -> State:
        if name in self._states:
            return self._states[name]
        raise UnknownVariable.named(name, self._states, "this assignment")

    def __contains__(self, name: object) -> bool:
        return name in self._states

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def restrict(self, names: Iterable[str]) -> Assignment:
        """The part that speaks of `names`; other names are no error, as in ξ⟨U⟩."""
        wanted = set(names)
        return Assignment({name: state for name, state in self._states.items() if name in wanted})

    def is_consistent(self, other: Mapping[str, State]) -> bool:
        """Whether the two agree on every variable that both assign."""
        return all(other[name] == state for name, state in self._states.items() if name in other)

    def to_dict(self) -> dict[str, State]:
        """Name -> state, a plain dictionary."""
        return dict(self._states)

    def to_frame(self) -> pd.DataFrame:
        """A row for each variable, with columns variable and state."""
        import pandas as pd

        return pd.DataFrame(list(self._states.items()), columns=["variable", "state"])

    def __hash__(self) -> int:
        return hash(frozenset(self._states.items()))

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{name}={state!r}" if name.isidentifier() else f"{name!r}: {state!r}"
            for name, state in self._states.items()
        )
        return f"Assignment({inside})"

    def _repr_html_(self) -> str:
        rows = tuple((name, str(state)) for name, state in self._states.items())
        known = {"log-probability": self._log_probability, "log-product": self._log_product}
        told = "\n".join(f"{what} {format_number(x)}" for what, x in known.items() if x is not None)
        return f"{TextTable(('variable', 'state'), rows, 1).to_html()}{html_of(told)}"


#: Of longer lists of states the end is not shown.
_MAX_SHOWN = 12


def states_cell(variable: Variable) -> str:
    """The states of a variable in a cell of a table."""
    if variable.is_continuous:
        return "continuous"
    return ", ".join([*map(str, variable.states[:_MAX_SHOWN]), *["..."] * (variable.num_states > _MAX_SHOWN)])
