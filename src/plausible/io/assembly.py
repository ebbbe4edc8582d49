"""From what a parser found, piece by piece and in any order, to a checked network or influence diagram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

import numpy as np

from plausible.base import Argument, Floats, Remedy
from plausible.cpds import CPD, DeterministicCPD, TableCPD
from plausible.cpds.reading import MAX_ROUNDING, Rounding
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import (
    CyclicGraph,
    FormatError,
    InvalidCPD,
    PlausibleError,
    PlausibleWarning,
    RoundedProbabilities,
    counted,
    suggestion,
    warn_caller,
)
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.utilities import Utility
from plausible.variables import State, Variable

_FILE: ContextVar[str] = ContextVar("file that is being read", default="")


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Let warnings name this file, which may itself stand for another: parsers see its text only."""
    token = _FILE.set(_FILE.get() or file)
    try:
        yield
    finally:
        _FILE.reset(token)


def warn_reader(text: str, category: type[Warning]) -> None:
    """Warn about the text that is being read."""
    file = _FILE.get()
    warn_caller(f"{file}: {text}" if file else text, category)


#: NumPy's limit on the axes of an array.
MAX_AXES = 64
#: What strict readers advise where lenient ones go on.
LENIENTLY: Final = Remedy("have it mended by ", Argument("lenient", True))
#: So many of the things that were mended are told.
_MAX_TOLD: Final = 20

_Made = TypeVar("_Made")


class Place:
    """A line and a column of the text that is read, both counted from one.

    A place made by `at` counts the lines before it only when an error asks for them.

    >>> place = Place.at("net {\\n  nodde", 8)
    >>> place.line, place.column
    (2, 3)
    """

    __slots__ = ("_found", "_offset", "_text")
    _text: str
    _offset: int

    def __init__(self, line: int, column: int) -> None:
        self._found: tuple[int, int] | None = (line, column)

    @classmethod
    def at(cls, text: str, offset: int) -> Place:
        """The place of a character."""
        place = object.__new__(cls)
        place._found, place._text, place._offset = None, text, offset
        return place

    @property
    def line(self) -> int:
        """The line, counted from one."""
        return self._line_and_column()[0]

    @property
    def column(self) -> int:
        """The column, counted from one."""
        return self._line_and_column()[1]

    def _line_and_column(self) -> tuple[int, int]:
        if self._found is None:
            start_of_line = self._text.rfind("\n", 0, self._offset) + 1
            self._found = self._text.count("\n", 0, start_of_line) + 1, self._offset - start_of_line + 1
        return self._found

    def error(self, problem: str, *remedies: Remedy) -> FormatError:
        """The error for a problem at this place."""
        return FormatError(problem, line=self.line, column=self.column, remedies=remedies)


#: Makes a distribution once its variables are known; tells how far its rows missed one.
Make: TypeAlias = Callable[[Variable, tuple[Variable, ...]], tuple[CPD, Rounding | None]]


@dataclass(slots=True)
class Assembly:
    """Collects nodes, distributions and notes while a file is read; `model` checks that they fit together.

    Every complaint is a `FormatError` at the place in the file that it is about. Rows that miss one by rounding are
    renormalised, and reported in one warning for the whole file. So is all that a lenient reader mends.

    A distribution, the numbers of a utility or what a decision sees may be repeated word for word.
    """

    lenient: bool = False
    variables: dict[str, Variable] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    _variable_notes: dict[str, VariableNotes] = field(default_factory=dict)
    _distributions: dict[str, list[tuple[tuple[str, ...], Make, Place]]] = field(default_factory=dict)
    _decisions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _utilities: dict[str, tuple[tuple[str, ...], Floats, Place] | None] = field(default_factory=dict)
    _places: dict[str, Place] = field(default_factory=dict)
    _mended: list[tuple[Place, str]] = field(default_factory=list)

    def add_variable(
        self, name: str, states: Iterable[State] | None, place: Place, notes: VariableNotes | None = None
    ) -> None:
        """A variable and, where the file has some, the notes on it."""
        self._add_node(name, "variable", place, notes)
        with _told_at(place):
            self.variables[name] = Variable(name, states)

    def add_decision(
        self, name: str, states: Iterable[State] | None, place: Place, notes: VariableNotes | None = None
    ) -> None:
        """A decision, which sees nothing until `add_information` says what."""
        self.add_variable(name, states, place, notes)
        self._decisions[name] = ()

    def make_decision(self, name: str, place: Place) -> None:
        """Say that a variable is a decision; the first to be called so comes first."""
        if name in self._decisions:
            raise place.error(f"The decision {name!r} is listed twice.")
        self._decisions[self.variable(name, place).name] = ()

    def add_information(self, decision: str, sees: Sequence[str], place: Place) -> None:
        """What a decision sees, in order."""
        if self._decisions[decision] not in ((), tuple(sees)):
            raise place.error(f"What the decision {decision!r} sees is said twice.")
        for name in sees:
            self._variable(name, f"which the decision {decision!r} sees", place)
        self._decisions[decision] = tuple(sees)

    def add_utility(self, name: str, place: Place, notes: VariableNotes | None = None) -> None:
        """A utility, which `add_utility_values` gives its numbers."""
        self._add_node(name, "utility", place, notes)
        self._utilities[name] = None

    def add_utility_values(self, utility: str, parents: Sequence[str], values: Floats, place: Place) -> None:
        """The numbers of a utility in a row, parents in order, the last parent's state changing fastest."""
        scope = self.parents(utility, parents, place)
        check_axes(utility, parents, place)
        for parent in scope:
            if parent.is_continuous:
                raise place.error(f"{parent.name!r}, a parent of {utility!r}, is continuous; it needs states.")
        shape = [parent.num_states for parent in scope]
        if values.size != prod(shape):
            needed = count_text(prod(shape))
            raise place.error(f"The utility {utility!r} needs {needed} numbers; the file has {values.size}.")
        if not np.isfinite(values).all():
            raise place.error(f"The utility {utility!r} has a number that is not finite.")
        known, found = self._utilities[utility], (tuple(parents), values.reshape(shape), place)
        if known is not None and not (known[0] == found[0] and np.array_equal(known[1], found[1])):
            raise place.error(f"The utility {utility!r} has two tables.")
        self._utilities[utility] = found

    def is_decision(self, name: str) -> bool:
        """Whether a node is a decision."""
        return name in self._decisions

    def is_utility(self, name: str) -> bool:
        """Whether a node is a utility."""
        return name in self._utilities

    def _add_node(self, name: str, kind: str, place: Place, notes: VariableNotes | None) -> None:
        if name in self._places:
            raise place.error(f"The {kind} {name!r} is declared twice.")
        self._places[name] = place
        if notes is not None and notes != VariableNotes():
            self._variable_notes[name] = notes

    def add_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """More properties in the notes on a variable."""
        if properties:
            notes = self._variable_notes.get(name, VariableNotes())
            self._variable_notes[name] = replace(notes, properties={**notes.properties, **properties})

    def add_table(self, child: str, parents: Sequence[str], values: Floats, place: Place) -> None:
        """A table: numbers in a row, parents in order, the child's state changing fastest."""

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            check_axes(child, given, place)
            shape = [parent.num_states for parent in given] + [variable.num_states]
            if values.size != prod(shape):
                needed = count_text(prod(shape))
                raise place.error(f"The table of {child!r} needs {needed} numbers; the file has {values.size}.")
            return self.table(variable, given, values.reshape(shape), place)

        self.add_distribution(child, parents, make, place)

    def add_function(self, child: str, parents: Sequence[str], positions: Sequence[int], place: Place) -> None:
        """A deterministic distribution: positions of the child's states, the last parent's state changing fastest."""

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            check_axes(child, given, place)
            num_rows = prod(parent.num_states for parent in given)
            if len(positions) != num_rows:
                needed = count_text(num_rows)
                raise place.error(f"The function of {child!r} needs {needed} states; the file has {len(positions)}.")
            return DeterministicCPD.from_record(variable, given, {"positions": list(positions)}), None

        self.add_distribution(child, parents, make, place)

    def add_distribution(self, child: str, parents: Sequence[str], make: Make, place: Place) -> None:
        """Any distribution, made once the variables of the whole file are known."""
        if child in self._decisions or child in self._utilities:
            kind = "decision" if child in self._decisions else "utility"
            raise place.error(f"{child!r} is a {kind}, which has no distribution.")
        known = self._distributions.setdefault(child, [])
        if known and known[0][0] != tuple(parents):
            raise place.error(f"{child!r} has two distributions.")
        known.append((tuple(parents), make, place))

    def table(
        self, variable: Variable, parents: tuple[Variable, ...], values: Floats, place: Place
    ) -> tuple[TableCPD, Rounding | None]:
        """A table whose rows are probabilities, or are mended."""

        def make(rows: Floats) -> tuple[TableCPD, Rounding | None]:
            return TableCPD.from_rows(variable, parents, rows)

        return self.of_probabilities(make, values, f"the table of {variable.name!r}", place)

    def of_probabilities(self, make: Callable[[Floats], _Made], values: Floats, what: str, place: Place) -> _Made:
        """What `make` makes of rows; where it refuses them for their sums, of rows that a lenient reader mends."""
        try:
            return make(values)
        except InvalidCPD as error:
            with np.errstate(over="ignore"):
                sums = values.sum(axis=-1, keepdims=True)
            if not (values.min() >= 0 and np.isfinite(sums).all()):
                raise
            if not self.lenient:
                raise place.error(str(error), LENIENTLY) from None
        is_empty, is_wrong = sums == 0, np.abs(sums - 1.0) > MAX_ROUNDING
        if num_empty := int(is_empty.sum()):
            self.mend(f"{counted(num_empty, 'row')} of zeros in {what} read as uniform", place)
        if num_wrong := int(is_wrong.sum()) - num_empty:
            worst = float(sums.flat[np.argmax(np.abs(sums - 1.0) * ~is_empty)])
            by = "their sums, the worst of which is" if num_wrong > 1 else "the sum,"
            self.mend(f"{counted(num_wrong, 'row')} of {what} divided by {by} {worst:.4g}", place)
        filled = np.where(is_empty, 1.0, values)
        return make(np.where(is_wrong, filled / filled.sum(axis=-1, keepdims=True), values))

    def mend(self, what_was_done: str, place: Place) -> None:
        """Keep what a lenient reader did, to be told once all is read."""
        self._mended.append((place, what_was_done))

    def _warn(self, roundings: list[tuple[str, Rounding]]) -> None:
        """One warning of all rows that missed one by rounding, and one of all that was mended."""
        _warn_of(roundings)
        if self._mended:
            told = [f"  line {place.line}: {text}" for place, text in self._mended[:_MAX_TOLD]]
            more = len(self._mended) - len(told)
            told += [f"  and {counted(more, 'other place')}"] if more else []
            warn_reader("\n".join(["What was mended:", *told]), PlausibleWarning)

    def parents(self, child: str, names: Sequence[str], place: Place) -> tuple[Variable, ...]:
        """The variables of these names, for a parser that needs their states at once."""
        return tuple(self._variable(name, f"a parent of {child!r}", place) for name in names)

    def variable(self, name: str, place: Place) -> Variable:
        """The variable of this name, or an error at `place`."""
        return self._variable(name, "used here", place)

    def _variable(self, name: str, role: str, place: Place) -> Variable:
        if name in self._utilities:
            raise place.error(f"{name!r}, {role}, is a utility, which nothing can depend on.")
        if name not in self.variables:
            raise place.error(f"{name!r}, {role}, is not declared.{suggestion(name, self.variables)}")
        return self.variables[name]

    def model(self) -> BayesianNetwork | InfluenceDiagram:
        """The influence diagram, where there are decisions or utilities, else the network."""
        return self.diagram() if self._decisions or self._utilities else self.network()

    def network(self) -> BayesianNetwork:
        """The network, its variables in the order of their declaration."""
        cpds, roundings = self._made()
        try:
            network = BayesianNetwork(*cpds, notes=self._all_notes())
        except CyclicGraph as error:
            raise self._distributions[str(error.cycle[0])][0][2].error(str(error)) from None
        self._warn(roundings)
        return network

    def diagram(self) -> InfluenceDiagram:
        """The influence diagram; chance variables, decisions and utilities in the order of their declaration."""
        cpds, roundings = self._made()
        for name, variable in self.variables.items():
            if variable.is_continuous:
                raise self._places[name].error(f"{name!r} is continuous; an influence diagram has states only.")
        decisions, utilities = [], []
        for name, sees in self._decisions.items():
            with _told_at(self._places[name]):
                decisions.append(Decision(self.variables[name], sees=sees))
        for name, numbers in self._utilities.items():
            if numbers is None:
                raise self._places[name].error(f"The utility {name!r} has no table.")
            with _told_at(numbers[2]):
                utilities.append(Utility(numbers[0], numbers[1], name))
        try:
            diagram = InfluenceDiagram(cpds, decisions, utilities, self._all_notes())
        except CyclicGraph as error:
            raise self._places[str(error.cycle[0])].error(str(error)) from None
        self._warn(roundings)
        return diagram

    def _made(self) -> tuple[list[CPD], list[tuple[str, Rounding]]]:
        """The distributions of all variables but decisions, and where rows missed one by rounding."""
        for name, written in self._distributions.items():
            self._variable(name, "which this distribution is of,", written[0][2])
        cpds: list[CPD] = []
        roundings: list[tuple[str, Rounding]] = []
        for name, variable in self.variables.items():
            if name in self._decisions:
                continue
            if name not in self._distributions:
                raise self._places[name].error(f"The variable {name!r} has no distribution.")
            first, *copies = self._distributions[name]
            cpd, rounding = self._cpd(variable, *first)
            for copy in copies:
                if self._cpd(variable, *copy)[0] != cpd:
                    raise copy[2].error(f"{name!r} has two distributions.")
            cpds.append(cpd)
            roundings += [] if rounding is None else [(name, rounding)]
        return cpds, roundings

    def _cpd(self, variable: Variable, parents: Sequence[str], make: Make, place: Place) -> tuple[CPD, Rounding | None]:
        given = self.parents(variable.name, parents, place)
        repeated = [name for name, count in Counter((variable.name, *parents)).items() if count > 1]
        if repeated:
            raise place.error(f"{repeated[0]!r} stands twice in the distribution of {variable.name!r}.")
        with _told_at(place):
            return make(variable, given)

    def _all_notes(self) -> Notes:
        return replace(self.notes, variables=MappingProxyType(self._variable_notes))


@contextmanager
def _told_at(place: Place) -> Iterator[None]:
    """Errors of the library as errors at a place of the file."""
    try:
        yield
    except FormatError:
        raise
    except PlausibleError as error:
        raise place.error(str(error)) from None


def check_axes(child: str, parents: Sequence[object], place: Place) -> None:
    """Refuse a table of more axes than NumPy has."""
    if len(parents) >= MAX_AXES:
        raise place.error(f"{child!r} has {len(parents)} parents; a table has at most {MAX_AXES - 1}.")


def count_text(number: int) -> str:
    """A count for an error message; one that is out of all bounds (and too long to print) is cut short."""
    return str(number) if number <= 10**30 else "over 10**30"


def _warn_of(roundings: list[tuple[str, Rounding]]) -> None:
    """One warning of all rows that missed one by rounding."""
    if not roundings:
        return
    rows = sum(rounding.num_rows for _, rounding in roundings)
    name, worst = max(roundings, key=lambda pair: pair[1].worst)
    where = f"{rows} row{'s' * (rows != 1)} in the tables of {len(roundings)} variable{'s' * (len(roundings) != 1)}"
    warn_reader(
        f"{where} missed one by rounding and {'were' if rows != 1 else 'was'} renormalised; "
        f"the worst, in the table of {name!r}, missed it by {worst.worst:.3g}.",
        RoundedProbabilities,
    )
