"""What formulas speak of: predicates with typed arguments, and the constants of each type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.arrays import Ints, starts_of
from plausible.base.frozen import FrozenMapping
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, UnknownVariable, suggestion
from plausible.variables import Variable

#: Of more atoms nobody asks.
_MOST_ATOMS = 200_000_000


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate, or a function with states, over constants of some types."""

    types: tuple[str, ...]
    variable: Variable  # its name and states

    @property
    def is_boolean(self) -> bool:
        """Whether it is true or false."""
        return self.variable.states == (False, True)

    @property
    def text(self) -> str:
        """How it is written, with its types."""
        states = "" if self.is_boolean else f" = {' | '.join(map(str, self.variable.states))}"
        return f"{self.variable.name}({', '.join(self.types)}){states}"


def read_predicates(predicates: Mapping[str, Any]) -> Mapping[str, Predicate]:
    """Name -> predicate: a list of types, or (types, states).

    >>> read = read_predicates({"Friends": ["person", "person"], "Topic": (["paper"], ["AI", "DB"])})
    >>> print(*(one.text for one in read.values()))
    Friends(person, person) Topic(paper) = AI | DB
    """
    if not isinstance(predicates, Mapping) or not predicates:
        raise InvalidArgument(
            'predicates= tells the types of each predicate: {"Smokes": ["person"], "Topic": (["paper"], ["AI", "DB"])}.'
        )
    return FrozenMapping({name: _predicate(name, given) for name, given in predicates.items()})


def _predicate(name: str, given: Any) -> Predicate:
    if isinstance(given, Predicate):
        return given
    states: Any = (False, True)
    if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[1], str):
        given, states = given
    types = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(one, str) and one for one in types):
        raise InvalidArgument(
            f"The predicate {name!r} has a list of types, such as ['person', 'person'], or (types, states); "
            f"not {given!r}."
        )
    if not (isinstance(name, str) and name.isidentifier()):
        raise InvalidArgument(f"{name!r} is no name of a predicate: letters, digits and _ make one.")
    return Predicate(types, Variable(name, states))


@dataclass(frozen=True, eq=False)
class Universe:
    """All ground atoms over some constants, numbered: predicate after predicate, the last argument changing fastest."""

    predicates: Mapping[str, Predicate]
    constants: Mapping[str, Variable]  # type -> its constants, as states

    @classmethod
    def of(cls, predicates: Mapping[str, Predicate], constants: Mapping[str, Iterable[Any]]) -> Universe:
        """Read the constants of each type, which all types need."""
        types = dict.fromkeys(one for predicate in predicates.values() for one in predicate.types)
        if not isinstance(constants, Mapping):
            raise InvalidArgument(f'constants= is {{"person": ["anna", "bob"]}}: type -> constants; not {constants!r}.')
        for name in constants:
            if name not in types:
                raise InvalidArgument(f"constants= names {name!r}, which no predicate has.{suggestion(name, types)}")
        for name in types:
            if name not in constants:
                raise InvalidArgument(f"constants= has no {name!r}, a type of predicates: {name!r}: [...].")
        made = cls(predicates, MappingProxyType({name: _constants(name, constants[name]) for name in types}))
        if made.num_atoms > _MOST_ATOMS:
            largest = max(predicates, key=lambda name: math.prod(made.shapes[name]))
            raise TooLarge(
                f"There are {made.num_atoms:,} ground atoms, {math.prod(made.shapes[largest]):,} of them of "
                f"{predicates[largest]}; the limit is {_MOST_ATOMS:,}. Take fewer constants at a time."
            )
        return made

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Predicate -> the number of constants for each argument."""
        return {
            name: tuple(self.constants[one].num_states for one in predicate.types)
            for name, predicate in self.predicates.items()
        }

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """Predicate -> the number of its first atom."""
        return dict(zip(self.predicates, self._starts.tolist(), strict=False))

    @cached_property
    def _starts(self) -> Ints:
        return starts_of(math.prod(shape) for shape in self.shapes.values())

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, int]]:
        """Type -> the place of each constant, as it is written."""
        return {name: {str(one): n for n, one in enumerate(kind.states)} for name, kind in self.constants.items()}

    def place(self, name: str, kind: str, where: str) -> int:
        """The place of a constant of a type; an error if there is none."""
        places = self.places[kind]
        if name not in places:
            raise InvalidModel(f"{name!r} in {where} is no {kind}.{suggestion(name, places)}")
        return places[name]

    @property
    def num_atoms(self) -> int:
        """Of all predicates."""
        return int(self._starts[-1])

    def num_states(self, atoms: Ints) -> Ints:
        """Of each atom."""
        sizes = np.array([predicate.variable.num_states for predicate in self.predicates.values()])
        return np.asarray(sizes[np.searchsorted(self._starts, atoms, side="right") - 1])

    def variables(self, atoms: Ints) -> list[Variable]:
        """A variable for each of some atoms, in ascending order, named as it is written: "Friends(anna, bob)"."""
        made = list[Variable]()
        for (name, predicate), start, end in zip(
            self.predicates.items(), self._starts[:-1], self._starts[1:], strict=True
        ):
            chosen = atoms[(atoms >= start) & (atoms < end)] - start
            places = np.unravel_index(chosen, self.shapes[name]) if predicate.types else ()
            texts = [
                np.array(list(self.places[kind]), dtype=object)[place]
                for kind, place in zip(predicate.types, places, strict=True)
            ]
            rows = zip(*texts, strict=True) if texts else [()] * chosen.size
            made += [Variable(f"{name}({', '.join(row)})", predicate.variable.states) for row in rows]
        return made

    def names(self, atoms: Ints) -> list[str]:
        """What atoms are called, in ascending order."""
        return [variable.name for variable in self.variables(atoms)]


def _constants(name: str, given: Any) -> Variable:
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if isinstance(given, str) or not listed:
        problem = "is a text, not a list" if listed else "has none: leave out what speaks of it, or give some"
        raise InvalidArgument(f"The constants of the type {name!r} {problem}.")
    (text, times), *_ = Counter(map(str, listed)).most_common(1)
    if times > 1:
        raise InvalidArgument(f"The type {name!r} has the constant {text!r} twice.")
    return Variable(name, listed)


def predicate_named(name: str, predicates: Mapping[str, Predicate], where: str) -> Predicate:
    """The predicate of a name; close matches are told where there is none."""
    if name not in predicates:
        raise UnknownVariable(f"{name!r} in {where} is no predicate.{suggestion(name, predicates)}")
    return predicates[name]
