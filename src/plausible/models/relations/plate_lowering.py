"""The relational model that a plate model stands for: its classes, slots and chains, and the tables of its objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from plausible.base.arrays import Ints
from plausible.cpds import CPD
from plausible.errors import InvalidModel, UnknownVariable, suggestion
from plausible.graphs import DAG
from plausible.models.relations.plate_members import CROSS, OUTSIDE, OWN, Plates
from plausible.models.relations.schema import KEY, Schema

_NAME = re.compile(r"([^\[\]]+?)\s*(?:\[([^\[\]]*)\])?")


class PlateName(NamedTuple):
    """An attribute, and the plates that it lies in or the members that it is of: "grade[student,course]"."""

    attribute: str
    inside: tuple[str, ...]

    @property
    def text(self) -> str:
        """How it is written."""
        return f"{self.attribute}[{','.join(self.inside)}]" if self.inside else self.attribute

    @classmethod
    def read(cls, text: str) -> PlateName | None:
        """From its text; `None` where it is no such name.

        >>> PlateName.read("grade[anna, algebra]")
        PlateName(attribute='grade', inside=('anna', 'algebra'))
        """
        parts = _NAME.fullmatch(text)
        if parts is None:
            return None
        return cls(parts[1], tuple(part.strip() for part in parts[2].split(",")) if parts[2] else ())


class _Own(NamedTuple):
    """A distribution of one instance: its name, and the names of its parents."""

    child: PlateName
    parents: tuple[PlateName, ...]


class Lowering:
    """The classes, slots and chains that plates stand for.

    Attributes in the same plates are those of one class, such as `student&course`, whose slots lead to classes of fewer
    plates. An instance with a distribution of its own is the one object of a subclass.
    """

    def __init__(self, cpds: Sequence[CPD], plates: Plates) -> None:
        self.plates = plates
        #: Attribute -> the plates that it lies in, in the order that its name has.
        self.declared: dict[str, tuple[str, ...]] = {}
        #: Class -> its plates, in the order that names of its objects have.
        self.orders: dict[str, tuple[str, ...]] = {}
        self.own: dict[str, _Own] = {}
        self.keys: dict[str, str] = {}
        self._classes: dict[frozenset[str], str] = {}
        names = [self._read(cpd.variable.name) for cpd in cpds]
        is_shared = [self._is_shared(name) for name in names]
        for name, shared in zip(names, is_shared, strict=True):
            if shared:
                self._declare(name)
        self.shared = [cpd for cpd, shared in zip(cpds, is_shared, strict=True) if shared]
        children = [name.attribute for name, shared in zip(names, is_shared, strict=True) if shared]
        if twice := next((name for name in children if children.count(name) > 1), None):
            raise InvalidModel(f"{self._named(twice)!r} has two distributions in this model.")
        self._declare_given()
        self.terms = {
            cpd.variable.name: tuple(self._term(cpd, text) for text in cpd.parent_names) for cpd in self.shared
        }
        for cpd, name, shared in zip(cpds, names, is_shared, strict=True):
            if not shared:
                self._add_own(cpd, name)
        texts = [(text, cpd.variable.name) for cpd in self.shared for text in cpd.parent_names]
        DAG([tuple(self._named(self._read(text).attribute) for text in edge) for edge in texts])  # refuses a cycle

    # --- names ---

    def _read(self, text: str) -> PlateName:
        name = PlateName.read(text)
        if name is None or not all(name.inside) or (name.attribute in self.plates.members):
            why = "is a plate" if name is not None and name.attribute in self.plates.members else "is no such name"
            raise InvalidModel(f"Attributes are called as 'grade[student,course]' or 'policy', and {text!r} {why}.")
        return name

    def _named(self, attribute: str) -> str:
        return PlateName(attribute, self.declared[attribute]).text

    def _is_shared(self, name: PlateName) -> bool:
        return all(plate in self.plates.members for plate in name.inside)

    def _declare(self, name: PlateName) -> None:
        if len(set(name.inside)) < len(name.inside):
            raise InvalidModel(
                f"{name.text!r} lies twice in one plate. What is between two members of a plate is a class with two "
                "slots of a RelationalModel, such as keys={'trust.from': 'student', 'trust.to': 'student'}."
            )
        before = self.declared.setdefault(name.attribute, name.inside)
        if set(before) != set(name.inside):
            raise InvalidModel(
                f"{name.attribute!r} stands as {name.text!r} and as {PlateName(name.attribute, before).text!r}: an "
                "attribute lies in the same plates everywhere."
            )
        owner = self._classes.setdefault(frozenset(name.inside), CROSS.join(name.inside) or OUTSIDE)
        self.orders.setdefault(owner, name.inside)

    def _declare_given(self) -> None:
        """Parents without distribution, which the tables of plates have."""
        for cpd in self.shared:
            for name in map(self._read, cpd.parent_names):
                given = next((cells for key, cells in self.plates.columns.items() if set(key) == set(name.inside)), {})
                is_shared = self._is_shared(name)
                if name.attribute not in self.declared and not (is_shared and name.attribute in given):
                    raise self._unknown(name, f", where it is a parent of {cpd.variable.name!r}")
                if is_shared:
                    self._declare(name)

    def _unknown(self, name: PlateName, where: str = "") -> UnknownVariable:
        """The error for a name of no attribute, or in no plates."""
        known = [self._named(attribute) for attribute in self.declared]
        wrong = next((part for part in name.inside if part not in self.plates.members), None)
        if wrong is not None and name.attribute not in self.declared:
            return UnknownVariable(
                f"{name.text!r} lies in {wrong!r}, which is no plate{where}.{suggestion(wrong, self.plates.members)}"
            )
        return UnknownVariable.named(name.text, known, f"this plate model{where}")

    def target(self, attribute: str) -> str:
        """ "class.attribute" of an attribute."""
        return f"{self._classes[frozenset(self.declared[attribute])]}.{attribute}"

    def key(self, instance: PlateName) -> str:
        """The id of the object that an instance is an attribute of."""
        parts = dict(zip(self.declared[instance.attribute], instance.inside, strict=True))
        return ",".join(parts[plate] for plate in self.orders[self.target(instance.attribute).partition(".")[0]])

    # --- parents ---

    def _term(self, cpd: CPD, text: str) -> str:
        """The chain that leads to a parent of a shared distribution."""
        child, parent = self._read(cpd.variable.name), self._read(text)
        if not self._is_shared(parent):
            raise InvalidModel(
                f"{text!r} is one instance, and {cpd.variable.name!r} stands for all of its plates: their parents are "
                f"told with plates. {text!r} can be one in the distribution of a single instance."
            )
        self._check_legal(cpd, text, set(parent.inside) - set(child.inside))
        owner, above = (self.target(name.attribute).partition(".")[0] for name in (child, parent))
        if owner == above:
            return f"{owner}.{parent.attribute}"
        self.keys[f"{owner}.{above}"] = above
        return f"{owner}.{above}.{parent.attribute}"

    def _check_legal(self, cpd: CPD, text: str, outside: set[str]) -> None:
        if outside:
            raise InvalidModel(
                f"{text!r} can't be a parent of {cpd.variable.name!r}, which does not lie in the plate "
                f"{min(outside)!r}: it would have as many parents as that has members. Aggregates of many objects "
                "are what a RelationalModel has, such as mean(student.registration.grade)."
            )

    # --- instances with a distribution of their own ---

    def _add_own(self, cpd: CPD, name: PlateName) -> None:
        child = self._instance(name)
        if child.attribute not in {self._read(one.variable.name).attribute for one in self.shared}:
            raise InvalidModel(
                f"{name.text!r} is one instance: all others need a CPD of {self._named(child.attribute)!r}."
            )
        parents = []
        members = dict(zip(self.declared[child.attribute], child.inside, strict=True))
        for text in cpd.parent_names:
            parent = self._read(text)
            if parent.attribute in self.declared and self._is_shared(parent):
                self._declare(parent)
                self._check_legal(cpd, text, set(parent.inside) - set(members))
                parent = PlateName(parent.attribute, tuple(members[p] for p in self.declared[parent.attribute]))
            parents.append(self._instance(parent))
        owner = self.target(child.attribute).partition(".")[0]
        own = f"{owner}{OWN}{len(self.own)}"
        if twice := next((one.text for one in parents if parents.count(one) > 1), None):
            raise InvalidModel(f"{twice!r} is a parent of {cpd.variable.name!r} twice.")
        if child in [one.child for one in self.own.values()]:
            raise InvalidModel(f"{child.text!r} has two distributions in this model.")
        self.own[own] = _Own(child, tuple(parents))
        self.keys[f"{own}.{KEY}"] = owner
        self.keys |= {f"{own}.{at}": self.target(one.attribute).partition(".")[0] for at, one in enumerate(parents)}

    def _instance(self, name: PlateName) -> PlateName:
        """The name of an instance, checked."""
        plates = self.declared.get(name.attribute)
        if plates is None or len(plates) != len(name.inside):
            raise self._unknown(name)
        for plate, member in zip(plates, name.inside, strict=True):
            if member not in self.plates.members[plate]:
                raise UnknownVariable(
                    f"{name.text!r}: the plate {plate!r} has no member {member!r}."
                    f"{suggestion(member, (*self.plates.members[plate], plate))}"
                )
        if not self.plates.has(plates, name.inside):
            raise InvalidModel(f"{name.text!r} is not there: plates= does not have these members together.")
        return name

    def is_shared(self, cpd: CPD) -> bool:
        """Whether a distribution is that of all members, not of one instance."""
        return self._is_shared(self._read(cpd.variable.name))

    def is_there(self, cpd: CPD, plates: Plates) -> bool:
        """Whether other plates have the instances that a distribution is of."""
        names = [self._read(text) for text in (cpd.variable.name, *cpd.parent_names)]
        return all(self._is_shared(name) or plates.has(self.declared[name.attribute], name.inside) for name in names)

    # --- what they become ---

    def schema(self, tables: Mapping[str, Any]) -> Schema:
        """The schema, with the variables of shared distributions and the states that these know of their parents."""
        known = {self._read(cpd.variable.name).attribute: cpd.variable for cpd in self.shared}
        for cpd in self.shared:
            for parent in cpd.parents if cpd.is_bound else ():
                known.setdefault(self._read(parent.name).attribute, parent)
        variables = {self.target(name): variable.renamed(self.target(name)) for name, variable in known.items()}
        return Schema(tables, keys=self.keys, variables=variables)

    def cpds(self, schema: Schema, cpds: Iterable[CPD]) -> tuple[tuple[CPD, ...], list[CPD]]:
        """The distributions bound to the variables of their plates, and the same over those of the schema."""
        own = {one.child.text: (name, one) for name, one in self.own.items()}
        bound, lowered = [], []
        for cpd in cpds:
            child = self._read(cpd.variable.name)
            targets = [self.target(self._read(text).attribute) for text in cpd.parent_names]
            parents = [schema.variable(one) for one in targets]
            names = dict(zip(cpd.parent_names, parents, strict=True))
            kept = cpd.bind({text: parent.renamed(text) for text, parent in names.items()})
            if child.text in own and not self._is_shared(child):
                name, one = own[child.text]
                shared = schema.variable(self.target(child.attribute))
                if shared.states != cpd.variable.states:
                    raise InvalidModel(
                        f"{child.text!r} has the states {list(cpd.variable.states)}, and all others have "
                        f"{list(shared.states)}: they have the same ones in the same order."
                    )
                terms: Sequence[str] = [f"{name}.{at}.{parent.attribute}" for at, parent in enumerate(one.parents)]
                variable = cpd.variable.renamed(f"{name}.{child.attribute}")
            else:
                terms, variable = self.terms[cpd.variable.name], cpd.variable.renamed(self.target(child.attribute))
            bound.append(kept)
            lowered.append(kept.over(variable, tuple(p.renamed(term) for p, term in zip(parents, terms, strict=True))))
        return tuple(bound), lowered

    def tables(self, plates: Plates) -> dict[str, dict[str, Any]]:
        """Class -> the table of its objects."""
        tables: dict[str, dict[str, Any]] = {}
        for owner, order in self.orders.items():
            rows = plates.objects(order)
            tables[owner] = {KEY: plates.texts(order, rows)}
            for reference, target in self.keys.items():
                if reference.partition(".")[0] == owner:
                    above = self.orders[target]
                    tables[owner][target] = plates.texts(above, rows[:, [order.index(plate) for plate in above]])
            tables[owner] |= self._cells(plates, owner, rows)
        for name, one in self.own.items():
            ends = {str(at): [self.key(parent)] for at, parent in enumerate(one.parents)}
            tables[name] = {KEY: [self.key(one.child)], **ends}
        return tables

    def _cells(self, plates: Plates, owner: str, rows: Ints) -> dict[str, Any]:
        """What the table of the same plates tells of attributes."""
        order = self.orders[owner]
        names = next((names for names in plates.columns if set(names) == set(order)), None)
        if names is None:
            return {}
        told = {name: plates.columns[names][name] for name in self.declared if name in plates.columns[names]}
        told = {name: cells for name, cells in told.items() if self.target(name) == f"{owner}.{name}"}
        return told if len(names) == 1 else plates.cells_of(names, told, rows[:, [order.index(name) for name in names]])


class PlateNaming:
    """How attributes of objects are called: "grade[anna,algebra]" for `student&course[anna,algebra].grade`."""

    def __init__(self, lowered: Lowering) -> None:
        self._lowered = lowered

    def join(self, attribute: str, key: str) -> str:
        owner, name = attribute.split(".")
        parts = dict(zip(self._lowered.orders[owner], key.split(","), strict=False))
        return PlateName(name, tuple(parts.get(plate, "...") for plate in self._lowered.declared[name])).text

    def split(self, name: str) -> tuple[str, str] | None:
        read = PlateName.read(name)
        plates = self._lowered.declared.get(read.attribute) if read is not None else None
        if read is None or plates is None or len(plates) != len(read.inside):
            return None
        return self._lowered.target(read.attribute), self._lowered.key(read)
