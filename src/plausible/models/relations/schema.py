"""Relational schemas: classes of objects, their attributes, and the slots by which objects refer to one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.frozen import Frozen
from plausible.base.records import TextTable
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.column_types import doubt_of, read_column, warn_of_doubtful
from plausible.data.columns import has_values
from plausible.data.sources import OpenColumns, open_columns
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, counted, shortened, suggestion
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.shown_parts import title_of
from plausible.variables import Variable
from plausible.variables.variable import states_cell

#: The column that tells objects of a class apart.
KEY = "id"
#: The attribute of links that may exist or not.
EXISTS = "exists"
#: Between a class and the slot of it that is followed backwards: "registration~student".
BACKWARDS = "~"
#: No name may have these: they separate the parts of names.
_SEPARATORS = ".~[](),="


@dataclass(frozen=True, slots=True)
class Slot:
    """A step from objects of one class to objects of another: along a reference, or against it."""

    owner: str  # The class that has the reference
    name: str
    target: str  # The class that it refers to
    is_inverse: bool = False

    @property
    def source(self) -> str:
        """The class that the step starts from."""
        return self.target if self.is_inverse else self.owner

    @property
    def end(self) -> str:
        """The class that the step leads to."""
        return self.owner if self.is_inverse else self.target

    @property
    def reference(self) -> str:
        """The reference that is followed, as `keys=` has it."""
        return f"{self.owner}.{self.name}"


class Schema(Frozen):
    """What kinds of objects there are, what is known of each, and which refer to which.

    Parameters
    ----------
    tables
        Class -> its table, one row an object: a data frame, columns, a file, or all else that `Table.read` takes; also
        as keyword arguments. Only the names and the types of columns are kept. A column called "id" tells objects
        apart; without one they are numbered from 0. Columns without any value are left out, as are those that are
        hardly attributes, such as names and dates, of which a warning tells, unless `variables` has them.
    keys
        "class.slot" -> the class that this column refers to, by its ids; a missing cell refers to nothing. A slot
        called "id" says that each object is one of another class, too, and has all of its attributes.
    variables
        "class.attribute" -> its states, where the tables don't say them as they are meant; an attribute that no table
        has is a hidden one. A `Variable`, a list of states, how many there are, or `None` for numbers.
    inverse
        "class.slot" -> what the way back is called. By default it is called as the class, where only one of its slots
        refers to the target; "class~slot" always will do.
    acyclic
        The slots that never lead back to where one started, such as those to the parents of a person.
    existence
        Classes of links that may exist or not, between any of the objects that their slots refer to: each gets the
        attribute "exists". Those that its table has exist, all others do not; where the table has a column "exists", a
        missing cell is a link that may exist. Two slots that refer to one class lead to different objects.

    Examples
    --------
    >>> schema = Schema(
    ...     student={"id": ["anna", "bob"], "intelligence": ["high", "low"]},
    ...     registration={"student": ["anna", "bob", "bob"], "grade": ["A", "A", "B"]},
    ...     keys={"registration.student": "student"},
    ... )
    >>> print(schema)
    Schema: 2 classes, 2 attributes, 1 reference
    <BLANKLINE>
    class        | attribute    | states
    -------------+--------------+-----------
    student      | intelligence | high, low
    registration | grade        | A, B
    registration | student      | -> student
    """

    __slots__ = ("_attributes", "_inverse", "acyclic", "classes", "existence", "references")

    #: The names of the classes.
    classes: tuple[str, ...]
    #: "class.slot" -> the class that it refers to.
    references: Mapping[str, str]
    #: The slots that never lead back to where one started.
    acyclic: tuple[str, ...]
    #: The classes of links that may exist or not.
    existence: tuple[str, ...]

    def __init__(
        self,
        tables: Mapping[str, Any] | None = None,
        /,
        *,
        keys: Mapping[str, str] | None = None,
        variables: Mapping[str, Any] | None = None,
        inverse: Mapping[str, str] | None = None,
        acyclic: Iterable[str] = (),
        existence: Iterable[str] = (),
        **more: Any,
    ) -> None:
        mappings: dict[str, Any] = {"": tables, "keys=": keys, "variables=": variables, "inverse=": inverse}
        for name, mapping in mappings.items():
            if mapping is not None and not isinstance(mapping, Mapping):
                example = "keys={'registration.student': 'student'}" if name else "Schema(student=students)"
                raise InvalidModel(f"{name or 'A schema'} takes a mapping, as in {example}, not {shortened(mapping)}.")
        given = {**(tables or {}), **more}
        if not given:
            raise InvalidModel("A schema needs the table of a class at least, such as Schema(student=students).")
        for name in given:
            check_name(name, "A class")
        self.classes = tuple(given)
        self.references = MappingProxyType(_references(keys or {}, self.classes))
        named = {name: _variable(name, states) for name, states in (variables or {}).items()}
        self._attributes = {name: _attributes_of(name, table, self.references, named) for name, table in given.items()}
        for name, variable in named.items():
            self._add(name, variable)
        self._inverse = self._read_inverse(inverse or {})
        self.acyclic = self._read_acyclic(acyclic)
        self._read_existence(existence)

    def _add(self, name: str, variable: Variable) -> None:
        owner, attribute = self.split(name)
        if name in self.references or attribute == KEY:
            raise InvalidModel(f"{name!r} is a key of {owner!r}: it has no states. Leave it out of variables=.")
        check_name(attribute, "An attribute")
        self._attributes[owner][attribute] = variable

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """ "class.attribute" -> its variable, of that name."""
        every = (variable for attributes in self._attributes.values() for variable in attributes.values())
        return MappingProxyType({variable.name: variable for variable in every})

    def attributes(self, name: str) -> Mapping[str, Variable]:
        """Attribute -> its variable, of one class."""
        self.check_class(name)
        return MappingProxyType(self._attributes[name])

    def slots(self, name: str) -> Mapping[str, Slot]:
        """What leads on from objects of a class: its references, and the ways back to those that refer to them."""
        self.check_class(name)
        forward = {slot: Slot(name, slot, target) for slot, target in self.own_references(name).items()}
        backward = {
            way: slot for way, slot in self._inverse.items() if slot.target == name and _way_name(way) not in forward
        }
        return {**forward, **{_way_name(way): slot for way, slot in backward.items()}}

    def split(self, name: str) -> tuple[str, str]:
        """Class and attribute of "class.attribute"."""
        owner, dot, attribute = name.partition(".") if isinstance(name, str) else ("", "", "")
        if not dot or not attribute:
            raise InvalidArgument(f"An attribute is named with its class, such as 'student.grade', not {name!r}.")
        self.check_class(owner)
        return owner, attribute

    def variable(self, name: str) -> Variable:
        """The variable of "class.attribute"."""
        owner, attribute = self.split(name)
        if attribute not in self._attributes[owner]:
            raise UnknownVariable.named(name, self.variables, "this schema")
        return self._attributes[owner][attribute]

    def check_class(self, name: str) -> None:
        """Refuse a class that is not there."""
        if name not in self.classes:
            raise UnknownVariable(f"{name!r} is not a class of this schema.{suggestion(name, self.classes)}")

    def with_variables(self, variables: Mapping[str, Any] | Iterable[Variable]) -> Schema:
        """The schema with other states of some attributes, or with more of them.

        >>> schema = Schema(student={"id": ["anna"]}).with_variables({"student.intelligence": ["low", "high"]})
        >>> schema.variable("student.intelligence").states
        ('low', 'high')
        """
        if not isinstance(variables, Mapping):
            variables = {variable.name: variable for variable in variables}
        changed = object.__new__(Schema)
        changed.classes, changed.references, changed._inverse = self.classes, self.references, self._inverse
        changed.acyclic, changed.existence = self.acyclic, self.existence
        changed._attributes = {name: dict(attributes) for name, attributes in self._attributes.items()}
        for name, states in variables.items():
            changed._add(name, _variable(name, states))
        changed._refuse_link_attributes()
        return changed

    # --- slots ---

    def _read_inverse(self, given: Mapping[str, str]) -> dict[str, Slot]:
        """(class, way back) as "class|way" -> the slot that is followed backwards."""
        for reference, way in given.items():
            if reference not in self.references:
                raise UnknownVariable.named(reference, self.references, "the references of this schema")
            check_name(way, "A way back")
        ways: dict[str, Slot] = {}
        for reference, target in self.references.items():
            owner, name = reference.split(".")
            slot = Slot(owner, name, target, is_inverse=True)
            ways[f"{target}|{owner}{BACKWARDS}{name}"] = slot
            alone = sum(other == target for key, other in self.references.items() if key.startswith(f"{owner}.")) == 1
            way = given.get(reference, owner if alone else "")
            if way and (reference in given or f"{target}|{way}" not in ways):
                if reference in given and f"{target}|{way}" in ways:
                    raise InvalidModel(f"Two ways back of {target!r} would be called {way!r}.")
                ways[f"{target}|{way}"] = slot
        return ways

    def _read_acyclic(self, slots: Iterable[str]) -> tuple[str, ...]:
        listed = (slots,) if isinstance(slots, str) else tuple(slots)
        for slot in listed:
            if slot not in self.references:
                raise UnknownVariable.named(slot, self.references, "the references of this schema")
        return listed

    def own_references(self, name: str) -> dict[str, str]:
        """Slot -> the class that it refers to, of one class."""
        own = {key: target for key, target in self.references.items() if key.startswith(f"{name}.")}
        return {key.partition(".")[2]: target for key, target in own.items()}

    def _read_existence(self, names: Iterable[str]) -> None:
        listed = (names,) if isinstance(names, str) else tuple(names)
        for name in listed:
            self.check_class(name)
            if len(self.own_references(name)) < 2:
                raise InvalidModel(
                    f"existence= names {name!r}, which is no link: it needs two slots in keys= at least."
                )
            self._attributes[name][EXISTS] = Variable(f"{name}.{EXISTS}", [False, True])
        self.existence = listed
        self._refuse_link_attributes()

    def _refuse_link_attributes(self) -> None:
        for name in self.existence:
            others = [attribute for attribute in self._attributes[name] if attribute != EXISTS]
            if others:
                raise InvalidModel(
                    f"{name!r} are links that may not exist, and such links have no {others[0]!r}: leave the column "
                    f"out, or {name!r} out of existence=."
                )

    # --- files ---

    def to_record(self) -> dict[str, Any]:
        """Classes, attributes and references as plain lists and texts, for files."""
        return {
            "classes": {
                name: [variable_record(variable) for variable in attributes.values()]
                for name, attributes in self._attributes.items()
            },
            "keys": dict(self.references),
            "inverse": {slot.reference: _way_name(way) for way, slot in self._inverse.items() if BACKWARDS not in way},
            "acyclic": list(self.acyclic),
            "existence": list(self.existence),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Schema:
        """The inverse of `to_record`."""
        classes: Mapping[str, Any] = record["classes"]
        variables = {one["name"]: variable_of(one) for own in classes.values() for one in own}
        empty: dict[str, Any] = {name: {} for name in classes}
        options = {key: record[key] for key in ("keys", "inverse", "acyclic", "existence")}
        return cls(empty, variables=variables, **options)

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((frozenset(self.classes), frozenset(self.references.items())))

    def __reduce__(self) -> tuple[object, ...]:
        return Schema.from_record, (self.to_record(),)

    def __repr__(self) -> str:
        sizes = {"class": len(self.classes), "attribute": len(self.variables), "reference": len(self.references)}
        return f"<Schema: {', '.join(counted(size, thing) for thing, size in sizes.items())}>"

    def _shown(self) -> TextTable:
        rows = []
        for name in self.classes:
            rows += [(name, attribute, states_cell(variable)) for attribute, variable in self._attributes[name].items()]
            rows += [(name, slot, f"-> {target}") for slot, target in self.own_references(name).items()]
        return TextTable(("class", "attribute", "states"), tuple(rows), 3)

    def __str__(self) -> str:
        return f"{title_of(self)}\n\n{self._shown()}"

    def _repr_html_(self) -> str:
        return f"<p>{title_of(self)}</p>{self._shown().to_html()}"


def _way_name(way: str) -> str:
    return way.partition("|")[2]


def check_name(name: object, what: str, forbidden: str = "") -> None:
    """Refuse what can't be part of a longer name."""
    if not isinstance(name, str) or not name or set(f"{_SEPARATORS}{forbidden} ") & set(name):
        signs = " ".join(f"{_SEPARATORS}{forbidden}")
        raise InvalidModel(f"{what} is named by a text without any of {signs} and blanks, not {name!r}. Rename it.")


def _references(keys: Mapping[str, str], classes: tuple[str, ...]) -> dict[str, str]:
    for reference, target in keys.items():
        owner, dot, slot = reference.partition(".") if isinstance(reference, str) else ("", "", "")
        if not dot or not slot:
            raise InvalidModel(
                f"keys= maps 'class.slot' to a class, such as {{'registration.student': 'student'}}; "
                f"{reference!r} is no slot of a class."
            )
        for name in (owner, target):
            if name not in classes:
                raise InvalidModel(
                    f"keys= says {reference!r}: {target!r}, but {name!r} is not a class of this schema."
                    f"{suggestion(name, classes)}"
                )
        check_name(slot, "A slot")
        if slot == KEY and owner == target:
            raise InvalidModel(f"keys= says that each {owner!r} is a {target!r}, which says nothing: leave it out.")
    for name in classes:
        lineage = [name]
        while (up := keys.get(f"{lineage[-1]}.{KEY}")) is not None:
            lineage.append(up)
            if up == name:
                raise InvalidModel(
                    f"keys= says in a circle which objects are also others: {' -> '.join(map(repr, lineage))}. Leave "
                    f"out one of the slots called {KEY!r}."
                )
            if lineage.count(up) > 1:  # a circle of others, which is told when it is their turn
                break
    return dict(keys)


def _variable(name: str, states: Any) -> Variable:
    """A variable of this name, from its states, their number, `None` for numbers, or a variable."""
    if isinstance(states, Variable):
        return states if states.name == name else states.renamed(name)
    return Variable(name, states)


def _attributes_of(
    name: str, table: Any, references: Mapping[str, str], named: Mapping[str, Variable]
) -> dict[str, Variable]:
    """Attribute -> variable, of the columns of a table that are no keys."""
    opened = open_class(name, table)
    slots = {reference.partition(".")[2] for reference in references if reference.startswith(f"{name}.")}
    for slot in slots:
        if slot not in opened.names and opened.names:
            raise UnknownVariable(
                f"keys= says that {name!r} has a column {slot!r}, which its table lacks."
                f"{suggestion(slot, map(str, opened.names))}"
            )
    found: dict[str, Variable] = {}
    doubtful: dict[str, str] = {}
    for column, cells in opened.read([one for one in opened.names if one not in slots and one != KEY]).items():
        attribute = f"{name}.{column}"
        check_name(column, f"A column of {name!r}")
        if attribute in named:
            found[column] = named[attribute]
        elif has_values(column, cells):
            variable, encoded = read_column(attribute, cells)
            if why := doubt_of(attribute, variable, np.asarray(encoded)):
                doubtful[attribute] = why
            else:
                found[column] = variable
    if doubtful:
        naming = Call("Schema", Argument("variables", {next(iter(doubtful)): None}))
        warn_of_doubtful(doubtful, [Remedy("keep one by naming its states, or None for numbers: ", naming)])
    return found


def open_class(name: str, table: Any, attributes: Mapping[str, Variable] = MappingProxyType({})) -> OpenColumns:
    """The columns of the table of a class, in files with the states of known attributes; errors name the class."""
    try:
        return open_columns(table, {column: variable.renamed(column) for column, variable in attributes.items()})
    except InvalidArgument as error:
        raise InvalidArgument(f"The table of {name!r}: {error}") from None
