"""The distributions of a relational model: of which attribute, for which objects, and what depends on what by class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plausible.cpds import CPD
from plausible.errors import CyclicGraph, InvalidModel
from plausible.models.relations.references import ReferenceCPD, cells_variable, read_partition
from plausible.models.relations.schema import KEY, Schema, Slot
from plausible.models.relations.terms import Chain, Term, read_chain, read_term
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class Family:
    """An attribute and what it depends on, for all objects of a class."""

    child: Chain  # from the class to what it tells: its own attribute, or one of what its objects also are
    terms: tuple[Term, ...]  # its parents
    #: Of a reference that has a distribution: the attributes of its targets that it chooses by; else none.
    partition: tuple[Term, ...] | None = None

    @property
    def base(self) -> str:
        """The class whose objects have it."""
        return self.child.base

    @property
    def attribute(self) -> str:
        """ "class.attribute" of what it tells."""
        return self.child.target

    @property
    def name(self) -> str:
        """The same as seen from its class, which is how its distribution calls it."""
        return f"{self.base}.{self.child.attribute}"

    @property
    def is_reference(self) -> bool:
        """Whether it tells what a slot refers to."""
        return self.partition is not None

    def variables(self, schema: Schema) -> tuple[Variable, ...]:
        """Those of its distribution: parents, then the child; of a reference the cell of what it refers to."""
        if self.partition is None:
            child = schema.variable(self.attribute).renamed(self.name)
        else:
            child = cells_variable(schema, self.name, self.partition)
        return (*(term.variable(schema) for term in self.terms), child)

    def cell_terms(self, schema: Schema) -> tuple[Term, ...]:
        """The attributes of a partition as those of the one object that is referred to."""
        names = [term.text.partition(".")[2] for term in self.partition or ()]
        return tuple(read_term(f"{self.name}.{name}", schema) for name in names)


def read_family(schema: Schema, name: str, parents: Iterable[str]) -> Family:
    """The family of an attribute, "class.attribute", with parents as texts."""
    child = read_chain(name, schema)
    return Family(child, _read_parents(schema, name, child.base, parents))


def read_reference(schema: Schema, name: str, parents: Iterable[str], partition: Iterable[str]) -> Family:
    """The family of a reference, "class.slot"."""
    chosen_by = read_partition(schema, name, partition)
    owner, slot = name.split(".")
    if slot == KEY or owner in schema.existence:
        why = "says what an object also is" if slot == KEY else f"is an end of {owner!r}, which may exist or not"
        raise InvalidModel(f"{name!r} {why}: it has no distribution. Leave its ReferenceCPD out.")
    return Family(Chain(owner, (), slot), _read_parents(schema, name, owner, parents), chosen_by)


def _read_parents(schema: Schema, name: str, base: str, parents: Iterable[str]) -> tuple[Term, ...]:
    terms = tuple(read_term(text, schema) for text in parents)
    for term in terms:
        if term.chain.base != base:
            raise InvalidModel(
                f"{term.text!r} can't be a parent of {name!r}: parents are told from the same object, so their chains "
                f"begin with {base!r}."
            )
    return terms


def in_order(families: Iterable[Family]) -> list[int]:
    """The places of families attribute by attribute, as objects take them.

    Those of subclasses come first, and those whose parents all objects have, such as none, come last.
    """
    listed = list(families)
    ranks = {attribute: place for place, attribute in enumerate(dict.fromkeys(one.attribute for one in listed))}

    def rank(at: int) -> tuple[int, int, bool]:
        family = listed[at]
        return ranks[family.attribute], -len(family.child.slots), not any(map(_may_lack, family.terms))

    return sorted(range(len(listed)), key=rank)


def _may_lack(term: Term) -> bool:
    """Whether some objects may have no value of a parent."""
    return term.needs_objects and any(slot.is_inverse or slot.name != KEY for slot in term.chain.slots)


def read_families(schema: Schema, cpds: Iterable[CPD]) -> tuple[Schema, tuple[Family, ...], tuple[CPD, ...]]:
    """The schema with the variables of some distributions, their families, and these distributions bound to it.

    Where an attribute has several distributions, an object takes the first one whose parents it has.
    """
    given = list(cpds)
    listed = [cpd for cpd in given if not isinstance(cpd, ReferenceCPD)]
    for cpd in listed:
        schema = _with_child(schema, cpd)
    families = [read_family(schema, cpd.variable.name, cpd.parent_names) for cpd in listed]
    firsts: dict[str, CPD] = {}
    for cpd, family in zip(listed, families, strict=True):
        first = firsts.setdefault(family.attribute, cpd).variable
        if first.states != cpd.variable.states:
            raise InvalidModel(
                f"The distributions of {family.attribute!r} have the same states in the same order: that of "
                f"{first.name!r} has {list(first.states)}, "
                f"that of {cpd.variable.name!r} has {list(cpd.variable.states)}."
            )
    keys = [(family.name, frozenset(cpd.parent_names)) for family, cpd in zip(families, listed, strict=True)]
    if repeated := [name for name, parents in keys if keys.count((name, parents)) > 1]:
        raise InvalidModel(f"Two distributions of {repeated[0]!r} have the same parents, so that none has the second.")
    references = [cpd.on_schema(schema) for cpd in given if isinstance(cpd, ReferenceCPD)]
    families += [read_reference(schema, one.slot, one.parent_names, one.partition) for one in references]
    listed += references
    if twice := {one.slot for one in references if sum(other.slot == one.slot for other in references) > 1}:
        raise InvalidModel(f"{min(twice)!r} has two distributions, and a reference has one. Leave out one.")
    order = in_order(families)
    bound = [listed[at].bind({variable.name: variable for variable in families[at].variables(schema)}) for at in order]
    return schema, tuple(families[at] for at in order), tuple(bound)


def _with_child(schema: Schema, cpd: CPD) -> Schema:
    """The schema with the variable of a distribution: its own states, which those of the data must be among."""
    owner, attribute = schema.split(cpd.variable.name)
    name = cpd.variable.name
    if attribute not in schema.attributes(owner):
        try:
            name = read_chain(name, schema).target
        except LookupError:  # a hidden attribute
            return schema.with_variables([cpd.variable])
    known = schema.variable(name)
    if known.is_continuous != cpd.variable.is_continuous:
        kinds = ("numbers", "states") if known.is_continuous else ("states", "numbers")
        raise InvalidModel(f"{name!r} has {kinds[0]} in the schema, and {kinds[1]} in its distribution.")
    if not set(known.states) <= set(cpd.variable.states):
        lacking = next(state for state in known.states if not cpd.variable.has_state(state))
        raise InvalidModel(
            f"The tables have the state {lacking!r} of {name!r}, which its distribution over "
            f"{list(cpd.variable.states)} lacks. Name them in its order: states={list(known.states)}."
        )
    return schema.with_variables([cpd.variable.renamed(name)])


@dataclass(frozen=True, slots=True)
class Dependency:
    """That an attribute depends on another one, over a chain."""

    parent: str
    child: str
    #: Whether both are of the same object.
    is_inside: bool
    #: Whether the chain goes only over slots that never lead back to where one started.
    is_guarded: bool


def dependencies(schema: Schema, families: Iterable[Family]) -> list[Dependency]:
    """Which attributes depend on which, by class."""
    listed = list(families)
    uncertain = {family.attribute for family in listed if family.is_reference}
    found = []
    for family in listed:
        for term in family.terms:
            if not term.counts_objects:
                found.append(dependency(schema, family.child, term))
            found += _on_references(schema, family.child, term, uncertain)
        found += [Dependency(term.chain.target, family.attribute, False, False) for term in family.partition or ()]
    return found


def _on_references(schema: Schema, child: Chain, term: Term, uncertain: Collection[str]) -> Iterator[Dependency]:
    """That what goes over references that have a distribution depends on them."""
    for place, slot in enumerate(term.chain.slots):
        if slot.reference in uncertain:
            walk = term.chain.slots[: place + slot.is_inverse]
            yield Dependency(slot.reference, child.target, walk == child.slots, _is_guarded(schema, walk))


def refuse_reference_cycles(schema: Schema, families: Iterable[Family]) -> None:
    """Refuse dependencies in which a reference could depend on itself: they are looked at by class only."""
    if cycle := reference_cycle(schema, families):
        raise CyclicGraph(cycle[:-1], "A reference depends on its parents and on its partition, for all objects.")


def reference_cycle(schema: Schema, families: Iterable[Family]) -> list[str]:
    """Attributes and references on a cycle that may close on objects, where there are references on it."""
    listed = list(families)
    references = {family.attribute for family in listed if family.is_reference}
    if not references:
        return []
    import networkx as nx

    found = dependencies(schema, listed)
    for component in nx.strongly_connected_components(nx.DiGraph([(one.parent, one.child) for one in found])):
        if component & references:
            cycle = open_cycle([one for one in found if one.parent in component and one.child in component])
            if cycle:
                return cycle
    return []


def dependency(schema: Schema, child: Chain, term: Term) -> Dependency:
    """What one parent makes depend on another attribute."""
    slots = term.chain.slots
    return Dependency(term.chain.target, child.target, slots == child.slots, _is_guarded(schema, slots))


def _is_guarded(schema: Schema, slots: Sequence[Slot]) -> bool:
    return bool(slots) and all(slot.reference in schema.acyclic and not slot.is_inverse for slot in slots)


def open_cycle(found: Sequence[Dependency]) -> list[str]:
    """Attributes on a cycle that may close on objects, too; none where no skeleton can have one.

    A cycle by class is harmless where it takes a slot that never leads back, and otherwise stays in one object (Getoor
    et al. 2001).
    """
    import networkx as nx

    graph = nx.DiGraph([(one.parent, one.child) for one in found])
    for component in nx.strongly_connected_components(graph):
        inside = [one for one in found if one.parent in component and one.child in component]
        if not inside:
            continue
        if not all(one.is_inside or one.is_guarded for one in inside):
            return _cycle_of(inside)
        within = [one for one in inside if one.is_inside]
        if not nx.is_directed_acyclic_graph(nx.DiGraph([(one.parent, one.child) for one in within])):
            return _cycle_of(within)
    return []


def _cycle_of(found: Sequence[Dependency]) -> list[str]:
    import networkx as nx

    edges = nx.find_cycle(nx.DiGraph([(one.parent, one.child) for one in found]))
    return [edge[0] for edge in edges] + [edges[0][0]]


def layers(attributes: Iterable[str], found: Sequence[Dependency]) -> list[list[str]]:
    """The attributes in groups that depend on earlier ones only, or on one another within a group."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(attributes)
    graph.add_edges_from((one.parent, one.child) for one in found if one.parent in graph and one.child in graph)
    condensed = nx.condensation(graph)
    places = {name: place for place, name in enumerate(graph)}
    order = nx.lexicographical_topological_sort(
        condensed, key=lambda part: min(places[name] for name in condensed.nodes[part]["members"])
    )
    return [sorted(condensed.nodes[part]["members"], key=places.__getitem__) for part in order]


def by_attribute(families: Iterable[Family]) -> Mapping[str, list[Family]]:
    """ "class.attribute" -> its distributions, in the order in which objects take them."""
    grouped: dict[str, list[Family]] = {}
    for family in families:
        grouped.setdefault(family.attribute, []).append(family)
    return grouped
