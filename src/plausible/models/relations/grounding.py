"""A relational model on an instance: which objects have which distribution, what depends on what, all as integers.

A *node* is the attribute of one object, if the model has a distribution of it; nodes are numbered attribute by
attribute. Nothing here is made object by object but the names, variables and distributions that somebody asks for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from plausible.base import shown
from plausible.base.arrays import Flags, Ints, starts_of
from plausible.cpds import CPD, AggregateCPD, Multiplexer, TableCPD
from plausible.cpds.aggregate import AggregateFunction
from plausible.cpds.summaries import Ties
from plausible.errors import CyclicGraph, InvalidModel, NotSupported, TooLarge, UnknownVariable, suggestion
from plausible.models.lowering import point_mass
from plausible.models.relations.families import Family, by_attribute, dependencies, layers
from plausible.models.relations.instance import Instance, Links
from plausible.models.relations.references import reference_variable
from plausible.models.relations.schema import Schema
from plausible.models.relations.term_values import chosen_links, has_value, term_values
from plausible.models.relations.terms import COUNT_FUNCTIONS, Chain, Term, inherited
from plausible.variables import Variable

#: The entries of the tables by which a reference that is not known copies a value, at the most.
_MOST_COPIED = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """A reference on a chain that is not known of some objects, so that the chain may go on from any target."""

    selectors: Ints  # for each object the node of the reference, -1 where it is known
    ends: Ints  # for each target the object at the end of the chain, -1 where there is none
    nodes: Ints  # their nodes, -1 where there are none


@dataclass(frozen=True, slots=True, eq=False)
class GroundTerm:
    """A parent, for each of the objects of a family: a node, a value that is known for certain, or many nodes."""

    term: Term
    variable: Variable  # by class
    #: The node of each object, -1 where it has `constants`; none at all where the parent is no random variable.
    nodes: Ints | None
    constants: NDArray[Any] | None  # positions of states, or numbers
    ends: Ints | None  # the objects at the end of a plain chain
    links: Links | None  # to the nodes that an aggregate is of
    fork: Fork | None = None  # where the chain goes over a reference that is not known


@dataclass(frozen=True, slots=True, eq=False)
class GroundFamily:
    """A distribution and the objects that have it."""

    family: Family
    rows: Ints  # the objects, of the family's class
    children: Ints  # their nodes
    terms: tuple[GroundTerm, ...]

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of parents and children, as nodes."""
        for ground in self.terms:
            if ground.nodes is not None:
                there = ground.nodes >= 0
                yield ground.nodes[there], self.children[there]
            if ground.links is not None:
                yield ground.links.ends, self.children[ground.links.owners]
            if ground.fork is not None:
                there = ground.fork.selectors >= 0
                yield ground.fork.selectors[there], self.children[there]
                nodes = np.unique(ground.fork.nodes[ground.fork.nodes >= 0])
                yield np.tile(nodes, int(there.sum())), np.repeat(self.children[there], len(nodes))


class Grounding:
    """A model on an instance."""

    def __init__(self, schema: Schema, families: Sequence[Family], instance: Instance) -> None:
        self.schema, self.instance = schema, instance
        grouped = by_attribute(families)
        self.attributes = tuple(grouped)
        sizes = [instance.num_objects(schema.split(name)[0]) for name in self.attributes]
        self.starts = dict(zip(self.attributes, starts_of(sizes).tolist(), strict=False))
        self.num_nodes = sum(sizes)
        #: The families, in the order given, which is attribute by attribute.
        self.families = [ground for name in self.attributes for ground in self._ground(name, grouped[name])]
        self._variables: dict[int, Variable] = {}
        self._references: dict[str, Variable] = {}

    # --- families on objects ---

    def _ground(self, attribute: str, families: Sequence[Family]) -> list[GroundFamily]:
        """The objects of an attribute, each under the first family whose parents it has."""
        owner = self.schema.split(attribute)[0]
        is_open = np.ones(self.instance.num_objects(owner), dtype=np.bool_)
        grounded = []
        for family in families:
            ends = self.instance.ends(family.child)
            fits = ends >= 0
            fits[fits] = is_open[ends[fits]]
            for term in family.terms:
                fits &= self._has_value(term)
            rows = np.flatnonzero(fits)
            is_open[ends[rows]] = False
            terms = tuple(self._ground_term(term, rows) for term in family.terms)
            grounded.append(GroundFamily(family, rows, self.starts[attribute] + ends[rows], terms))
        if is_open.any():
            raise self._no_family(attribute, families, int(np.argmax(is_open)))
        return grounded

    def _has_value(self, term: Term) -> Flags:
        found, fork = has_value(term, self.instance), self._fork(term)
        return found if fork is None else found | (fork.selectors >= 0)

    def _fork(self, term: Term) -> Fork | None:
        """Where a chain goes over a reference that is not known, if it does, for all objects of its class."""
        chain, column = term.chain, self.instance.column
        open_slots = [
            place
            for place, slot in enumerate(chain.slots)
            if slot.reference in self.starts and (column(slot.reference) < 0).any()
        ]
        if not open_slots:
            return None
        place = open_slots[0]
        slot = chain.slots[place]
        if len(open_slots) > 1 or not chain.is_single or term.function in COUNT_FUNCTIONS:
            raise NotSupported(
                f"{term.text!r} goes over {slot.reference!r}, which is not known of all objects: what is made of "
                "several objects, or goes over two such references, is out of reach. Fill in the missing references."
            )
        before = self.instance.ends(Chain(chain.base, chain.slots[:place], None))
        is_open = np.append(column(slot.reference) < 0, False)[before]
        ends = self.instance.ends(Chain(slot.target, chain.slots[place + 1 :], None))
        if term.needs_objects and is_open.any() and (ends < 0).any():
            lost = self.instance.key_text(slot.target, int(np.argmax(ends < 0)))
            raise InvalidModel(
                f"{term.text!r} leads nowhere from {slot.target}[{lost}], which {slot.reference!r} may be: "
                f"write 'value({term.text}, empty=none)'."
            )
        if term.variable(self.schema).is_continuous:
            raise NotSupported(f"{term.text!r} is a number over references that are not known: fill these in.")
        start = self.starts.get(chain.target)
        nodes = np.full(len(ends), -1) if start is None else np.where(ends >= 0, start + ends, -1)
        return Fork(np.where(is_open, self.starts[slot.reference] + before, -1), ends, nodes)

    def _ground_term(self, term: Term, rows: Ints) -> GroundTerm:
        ground, fork = self.certain_term(term, rows), self._fork(term)
        return ground if fork is None else replace(ground, fork=replace(fork, selectors=fork.selectors[rows]))

    def certain_term(self, term: Term, rows: Ints) -> GroundTerm:
        """A parent of some objects, as far as references are known."""
        variable, chain = term.variable(self.schema), term.chain
        ends = self.instance.ends(chain)[rows] if chain.is_single else None
        if term.counts_objects or chain.target not in self.starts:
            return GroundTerm(term, variable, None, self._constants(term, rows), ends, None)
        start = self.starts[chain.target]
        if ends is not None and term.function not in COUNT_FUNCTIONS:
            if term.empty is None:
                return GroundTerm(term, variable, np.where(ends >= 0, start + ends, -1), None, ends, None)
            empty = np.full(len(rows), variable.index(term.empty))
            return GroundTerm(term, variable, np.where(ends >= 0, start + ends, -1), empty, ends, None)
        links = chosen_links(self.instance.links(chain), rows)
        constants = term_values(term, self.instance.skeleton, rows)  # of those without objects
        return GroundTerm(term, variable, None, constants, None, Links(links.starts, start + links.ends))

    def _constants(self, term: Term, rows: Ints) -> NDArray[Any]:
        """The values of a parent without a distribution, which have to be known."""
        values = term_values(term, self.instance, rows)
        unknown = np.isnan(values) if values.dtype.kind == "f" else values < 0
        if (fork := self._fork(term)) is not None:
            unknown &= fork.selectors[rows] < 0
        if unknown.any():
            place = int(rows[np.argmax(unknown)])
            name = f"{term.chain.base}[{self.instance.key_text(term.chain.base, place)}]"
            raise InvalidModel(
                f"{term.text!r} is not known of {name}, and {term.chain.target!r} has no distribution in this model: "
                "give its value in the tables, or a CPD."
            )
        return values

    def _no_family(self, attribute: str, families: Sequence[Family], place: int) -> InvalidModel:
        name = self.instance.ground_name(attribute, place)
        term = next((term for term in families[-1].terms if term.needs_objects), None)
        why = f": {term.text!r} leads nowhere there" if term else ""
        function = (term.function if term and term.function else "value") if term else ""
        inside = term.text.partition("(")[2].rstrip(") ") if term and term.function else term.text if term else ""
        return InvalidModel(
            f"No distribution of {attribute!r} fits {name!r}{why}. Add a CPD of {attribute!r} without that parent, "
            f"which such objects take, or a state for it: '{function}({inside}, empty=none)'."
        )

    # --- names ---

    def node(self, name: str) -> int:
        """The node that a name such as "student[anna].grade" means."""
        parts = self.instance.naming.split(name) if isinstance(name, str) else None
        if parts is None:
            example, *others = [self._example(attribute) for attribute in self.schema.variables]
            raise UnknownVariable(
                f"{shown(name)} names no attribute of an object: they are called as {example!r}."
                f"{suggestion(name, [example, *others])}"
            )
        full, key = parts
        owner = self.schema.split(full)[0]
        if full not in self.schema.variables and full not in self.starts:
            raise self._not_its_own(name, full, key)
        place = self.instance.place(owner, key)
        if full not in self.starts:
            raise UnknownVariable(f"{name!r} has no distribution in this model: its value is given by the tables.")
        return int(self.starts[full] + place)

    def _not_its_own(self, name: str, full: str, key: str) -> UnknownVariable:
        """The error for an attribute that a class lacks, or has from another that its objects also are."""
        target = inherited(full, self.schema)
        if not target:
            return UnknownVariable.named(full, self.schema.variables, "this schema")
        own = self.instance.naming.join(target, key)
        return UnknownVariable(f"{name!r} is {target!r} of an object that is both: ask for {own!r}.")

    def _example(self, attribute: str) -> str:
        owner = self.schema.split(attribute)[0]
        key = self.instance.key_text(owner, 0) if self.instance.num_objects(owner) else "..."
        return self.instance.naming.join(attribute, key)

    def attribute_of(self, node: int) -> tuple[str, int]:
        """ "class.attribute" of a node, and the number of its object."""
        place = bisect_right(self._first_nodes, node) - 1
        return self.attributes[place], node - self._first_nodes[place]

    def name(self, node: int) -> str:
        """What a node is called."""
        return self.instance.ground_name(*self.attribute_of(node))

    def variable(self, node: int) -> Variable:
        """The variable of a node."""
        if node not in self._variables:
            attribute, place = self.attribute_of(node)
            name = self.instance.ground_name(attribute, place)
            self._variables[node] = self.class_variable(attribute).renamed(name)
        return self._variables[node]

    def class_variable(self, attribute: str) -> Variable:
        """The variable of an attribute, or of a reference, whose states are the ids of what it may refer to."""
        if attribute not in self.schema.references:
            return self.schema.variable(attribute)
        if attribute not in self._references:
            self._references[attribute] = reference_variable(self.instance, attribute)
        return self._references[attribute]

    @property
    def has_open_references(self) -> bool:
        """Whether a reference that has a distribution is not known."""
        return any(not self.instance.is_known(name).all() for name in self.starts if name in self.schema.references)

    @cached_property
    def _first_nodes(self) -> list[int]:
        return list(self.starts.values())  # of attributes without objects, too: the last of equal ones has the node

    # --- the graph ---

    @cached_property
    def _edges(self) -> tuple[Ints, Ints]:
        pairs = [pair for family in self.families for pair in family.edges()]
        nothing = np.empty(0, dtype=np.int64)
        return (
            np.concatenate([nothing, *(parents for parents, _ in pairs)]),
            np.concatenate([nothing, *(children for _, children in pairs)]),
        )

    @cached_property
    def parents(self) -> Links:
        """The parents of each node."""
        parents, children = self._edges
        return _grouped(children, parents, self.num_nodes)

    @cached_property
    def children(self) -> Links:
        """The children of each node."""
        parents, children = self._edges
        return _grouped(parents, children, self.num_nodes)

    @cached_property
    def generations(self) -> Ints:
        """For each node how many steps lie before it, at the most; a cycle is an error that names it."""
        self.refuse_cycles()
        depth, waiting = np.zeros(self.num_nodes, dtype=np.int64), self.parents.lengths.copy()
        ready, generation = np.flatnonzero(waiting == 0), 0
        while ready.size:
            depth[ready] = generation
            below = chosen_links(self.children, ready).ends
            np.subtract.at(waiting, below, 1)
            ready, generation = np.unique(below[waiting[below] == 0]), generation + 1
        return depth

    def refuse_cycles(self) -> None:
        """Refuse tables in which something depends on itself, by the names of its objects. O(nodes + edges)."""
        if not self._may_be_cyclic:
            return
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        parents, children = self._edges
        graph = csr_array((np.ones(len(parents)), (parents, children)), (self.num_nodes,) * 2)
        components = connected_components(graph, connection="strong")[1]
        closed = children[components[parents] == components[children]]
        if closed.size:
            cycle = self._cycle(np.flatnonzero(components == components[closed[0]]))
            raise CyclicGraph([self.name(node) for node in cycle])

    @property
    def _may_be_cyclic(self) -> bool:
        """Whether attributes depend on each other in a circle by class."""
        found = dependencies(self.schema, [ground.family for ground in self.families])
        groups = layers(self.attributes, found)
        return len(groups) < len(self.attributes) or any(one.parent == one.child for one in found)

    def _cycle(self, nodes: Ints) -> list[int]:
        """A cycle among nodes each of which has a parent among them."""
        among = set(nodes.tolist())
        walk, seen = [int(nodes[0])], {int(nodes[0]): 0}
        while True:
            here = walk[-1]
            parents = self.parents.ends[self.parents.starts[here] : self.parents.starts[here + 1]].tolist()
            before = next(parent for parent in parents if parent in among)
            if before in seen:
                return [before, *reversed(walk[seen[before] + 1 :])]
            seen[before] = len(walk)
            walk.append(before)

    # --- what is known ---

    @cached_property
    def codes(self) -> NDArray[Any]:
        """The observed position of each node, or its number; -1 and NaN where there is none."""
        parts = [self.instance.column(name) for name in self.attributes]
        return np.concatenate([np.empty(0, dtype=np.int8), *parts])

    @cached_property
    def is_known(self) -> Flags:
        """Which nodes are observed in the tables."""
        parts = [self.instance.is_known(name) for name in self.attributes]
        return np.concatenate([np.empty(0, dtype=np.bool_), *parts])

    def finding(self, node: int) -> Any:
        """The observed state or number of a node."""
        attribute, place = self.attribute_of(node)
        variable, cell = self.class_variable(attribute), self.instance.column(attribute)[place]
        return float(cell) if variable.is_continuous else variable.states[cell]

    # --- distributions of single nodes ---

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """For each node the number of its family, and its place in it."""
        owners, places = np.empty(self.num_nodes, dtype=np.int64), np.empty(self.num_nodes, dtype=np.int64)
        for number, family in enumerate(self.families):
            owners[family.children], places[family.children] = number, np.arange(len(family.children))
        return owners, places

    def cpds(self, nodes: Iterable[int], cpds: Sequence[CPD], fixed: Flags | None = None) -> list[CPD]:
        """The distributions of some nodes, with those of constants, aggregates and copies that they need.

        Parameters
        ----------
        cpds
            That of each family.
        fixed
            Which nodes have no other value than that of the tables, so that targets of a reference that is not known
            are told apart by it; by default none.
        """
        owners, places = self._places
        found: dict[str, CPD] = {}
        for node in nodes:
            number, place = int(owners[node]), int(places[node])
            ground = self.families[number]
            parents: list[Variable] = []
            for term in ground.terms:
                parent = self._parent(ground, term, place, found, fixed)
                while parent in parents:  # a distribution has each parent once
                    copied = parent.renamed(f"{parent.name}'")
                    found[copied.name], parent = _widened(copied, parent), copied
                parents.append(parent)
            variable = self.variable(node)
            found[variable.name] = cpds[number].over(variable, tuple(parents))
        return list(found.values())

    def _parent(
        self, ground: GroundFamily, term: GroundTerm, place: int, found: dict[str, CPD], fixed: Flags | None
    ) -> Variable:
        """The variable that is a parent of one object, with what defines it."""
        is_fork = term.fork is not None and term.fork.selectors[place] >= 0
        is_plain = term.term.function is None and not is_fork
        if term.nodes is not None and term.nodes[place] >= 0:
            node = int(term.nodes[place])
            if is_plain or term.variable.num_states == self.variable(node).num_states:
                return self.variable(node)
        if is_plain and term.ends is not None:  # a value that the tables give
            name = self.instance.ground_name(term.term.chain.target, int(term.ends[place]))
        else:
            name = f"{term.term.text}[{self.instance.key_text(term.term.chain.base, ground.rows[place])}]"
        variable = term.variable.renamed(name)
        if name not in found:
            for cpd in self._forked(variable, term, place, fixed) if is_fork else self._derived(variable, term, place):
                found[cpd.variable.name] = cpd
        return variable

    def _forked(self, variable: Variable, term: GroundTerm, place: int, fixed: Flags | None) -> Iterator[CPD]:
        """A value over a reference that is not known: a copy of that of the object which it selects.

        Targets that lead to one node, or to one value, are one input, so that inputs are few where much is known.
        """
        assert term.fork is not None
        ends, nodes, target = term.fork.ends, term.fork.nodes, term.term.chain.target
        codes = np.append(self.instance.column(target), -1)[ends].astype(np.int64)
        if (unknown := (ends >= 0) & (nodes < 0) & (codes < 0)).any():
            name = self.instance.ground_name(target, int(ends[np.argmax(unknown)]))
            raise InvalidModel(
                f"{name!r} is not known, and has no distribution in this model: give its value, or a CPD."
            )
        is_node = nodes >= 0 if fixed is None else (nodes >= 0) & ~fixed[nodes]
        empty = 0 if term.term.empty is None else variable.index(term.term.empty)
        keys, route = np.unique(
            np.where(is_node, nodes + variable.num_states, np.where(ends >= 0, codes, empty)), return_inverse=True
        )
        selector = self.variable(int(term.fork.selectors[place]))
        if len(keys) ** 2 > _MOST_COPIED or len(ends) * len(keys) > _MOST_COPIED:
            raise TooLarge(
                f"{selector.name!r} may be any of {len(ends):,} objects, of which {len(keys):,} have a {target!r} of "
                "their own that is not known: too many to copy one. Give the reference, or more of these values."
            )
        inputs = []
        for key in keys.tolist():
            if key >= variable.num_states:
                inputs.append(self.variable(key - variable.num_states))
                continue
            state = variable.states[key]
            inputs.append(variable.renamed(f"{variable.name}={state}"))
            yield point_mass(inputs[-1], state)
        way = Variable(f"{variable.name} by {selector.name}", len(inputs))
        yield TableCPD(way, np.eye(len(inputs))[route], [selector])
        yield Multiplexer(variable, way, inputs)

    def _derived(self, variable: Variable, term: GroundTerm, place: int) -> Iterator[CPD]:
        """What defines a variable that is no node."""
        if term.nodes is not None and term.nodes[place] >= 0:
            yield _widened(variable, self.variable(int(term.nodes[place])))
            return
        nodes = [] if term.links is None else term.links.ends[slice(*term.links.starts[place : place + 2])].tolist()
        if not nodes:
            assert term.constants is not None
            value = term.constants[place]
            yield point_mass(variable, float(value) if variable.is_continuous else variable.states[value])
            return
        one, sources = term.term, []
        for node in nodes:
            source = self.variable(node)
            while source in sources:  # an object that several ways lead to counts as often
                copied = source.renamed(f"{source.name}'")
                yield _widened(copied, source)
                source = copied
            sources.append(source)
        inner = variable
        if one.empty is not None and variable.num_states > sources[0].num_states:
            inner = sources[0].renamed(f"{variable.name}'")
            yield _widened(variable, inner)
        yield aggregate_cpd(one, inner, sources)


def aggregate_cpd(term: Term, child: Variable, parents: Sequence[Variable]) -> AggregateCPD:
    """The aggregate of a term, of so many variables."""
    function, ties = cast(AggregateFunction, term.function), cast(Ties, term.ties)
    return AggregateCPD(child, function, parents, of=term.of, ties=ties)


def _widened(variable: Variable, source: Variable) -> CPD:
    """The same state under another name, where one more is possible."""
    return TableCPD(variable, np.eye(source.num_states, variable.num_states), [source])


def _grouped(keys: Ints, values: Ints, num: int) -> Links:
    order = np.argsort(keys, kind="stable")
    return Links(starts_of(np.bincount(keys, minlength=num)), values[order])


def observed_evidence(grounding: Grounding, nodes: Iterable[int]) -> Mapping[str, Any]:
    """Name -> what the tables have, of those of the nodes that they have."""
    known = grounding.is_known
    return {grounding.name(node): grounding.finding(node) for node in nodes if known[node]}
