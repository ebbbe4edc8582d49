"""From XDSL to a network or an influence diagram."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats, Positions
from plausible.cpds import CPD, DeterministicCPD, NoisyMax, NoisyOr, TableCPD
from plausible.cpds.rows import Rounding, checked_rows
from plausible.decisions import InfluenceDiagram
from plausible.errors import suggestion
from plausible.io.assembly import MAX_AXES, Assembly
from plausible.io.identifiers import restore_name, restore_states
from plausible.io.xdsl_notes import (
    AUTOMATIC,
    STATES,
    genie_nodes,
    grid_position,
    identifier,
    network_notes,
    user_properties,
    variable_notes,
)
from plausible.io.xdsl_weights import utility_weights, warn_of_sums
from plausible.io.xml_source import Element, is_agrum_xdsl, last_parent_fastest, parse_xml
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

#: A noisy-max of another program is read as a table of at most this many numbers.
MAX_NOISY_ENTRIES = 2**24

_Make: TypeAlias = Callable[[Variable, tuple[Variable, ...]], tuple[CPD, Rounding | None]]
_Number = TypeVar("_Number", np.float64, np.intp)

_PARTS = {
    "cpt": ("state", "probabilities"),
    "deterministic": ("state", "resultingstates"),
    "noisymax": ("state", "strengths", "parameters"),
    "decision": ("state",),
    "utility": ("utilities",),
    "mau": ("weights", "expressions", "expression"),
}


def parse_xdsl(text: str) -> BayesianNetwork | InfluenceDiagram:
    """The network in an XDSL text: its nodes of the types `cpt`, `deterministic` and `noisymax`.

    With nodes of the types `decision` and `utility` it is an influence diagram. A `mau` node that adds utilities up is
    left out; its weights multiply the numbers of those utilities, with a warning where they change them.

    >>> network = parse_xdsl('''<smile version="1.0" id="coin"><nodes>
    ... <cpt id="toss"><state id="heads"/><state id="tails"/><probabilities>0.5 0.5</probabilities></cpt>
    ... </nodes></smile>''')
    >>> network.variables["toss"]
    Variable('toss', ['heads', 'tails'])
    """
    root = parse_xml(text, "smile")
    for temporal in root.named("dynamic"):
        raise temporal.error("This is a temporal network (<dynamic>), which can't be read as a Bayesian network.")
    reader = _Reader(Assembly(notes=network_notes(root)), is_agrum_xdsl(root))
    drawn = genie_nodes(root)
    has_grid = AUTOMATIC in (key for block in root.named("properties") for key in user_properties(block))
    nodes = root.one("nodes")
    for element in (root, nodes):
        element.check_no_text()
    for number, node in enumerate(nodes.children):
        reader.add_node(node, drawn.get(node.attribute("id")), grid_position(number) if has_grid else None)
    reader.weights = utility_weights(nodes)
    for node in nodes.children:
        reader.add_definition(node)
    for name, (element, _) in drawn.items():
        if name not in reader.names:
            raise element.error(f"There is no node {name!r}.{suggestion(name, reader.names)}")
    model = reader.assembly.model()
    warn_of_sums(reader.sums, reader.weights)
    return model


@dataclass(slots=True)
class _Reader:
    """What is known of the nodes: names for identifiers, state identifiers, and which list states backwards.

    Also the weights of utilities, and the identifiers of the nodes that give them by adding utilities up.

    SMILE grades the states of a noisy-max from the strongest to none, this library from none to the strongest: the
    writer turns them around, says so in a property, and the reader turns them back.
    """

    assembly: Assembly
    is_agrum: bool
    names: dict[str, str] = field(default_factory=dict)
    states: dict[str, dict[str, int]] = field(default_factory=dict)
    backwards: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    sums: set[str] = field(default_factory=set)

    def add_node(
        self, node: Element, drawn: tuple[Element, str] | None, no_position: tuple[float, float] | None
    ) -> None:
        """The variable or utility of a node and the notes on it."""
        self._check_type(node)
        written = node.attribute("id")
        if written in self.names:
            raise node.error(f"There are two nodes {written!r}.")
        properties = user_properties(node)
        name = restore_name(written, properties.pop("plausible_name", None), identifier)
        self.names[written] = name
        states = [] if node.tag in ("utility", "mau") else self._states(node, name, properties)
        notes = variable_notes(node, properties, (written, name), drawn, no_position)
        if node.tag == "utility":
            self.assembly.add_utility(name, node.place, notes)
        elif node.tag == "decision":
            self.assembly.add_decision(name, states, node.place, notes)
        elif node.tag == "mau":
            self.sums.add(written)
        else:
            self.assembly.add_variable(name, states, node.place, notes)

    def _states(self, node: Element, name: str, properties: dict[str, str]) -> list[State]:
        """The states of a node; what `properties` say of them is taken out."""
        written = node.attribute("id")
        noisy = properties.pop("plausible_noisy", None) if node.tag == "noisymax" else None
        state_elements = list(node.named("state"))
        identifiers = [element.attribute("id") for element in state_elements]
        self.states[written] = {state: position for position, state in enumerate(identifiers)}
        extras = [{k: v for k, v in element.attributes.items() if k != "id"} for element in state_elements]
        if noisy in ("or", "max"):
            self.backwards[name] = noisy
            identifiers.reverse()
            extras.reverse()
        if any(extras):
            properties.setdefault(STATES, json.dumps(extras))
        return restore_states(identifiers, properties.pop("plausible_states", None), identifier)

    def _check_type(self, node: Element) -> None:
        if node.tag == "equation":
            raise node.error("<equation> nodes are continuous: only networks over variables with states can be read.")
        if node.tag not in _PARTS:
            raise node.error(f"Nodes of the type <{node.tag}> can't be read.{suggestion(node.tag, _PARTS)}")
        node.check_children(("parents", "property", *_PARTS[node.tag]))
        if "dynamic" in node.attributes:
            raise node.error("This node is of a temporal network, which can't be read as a Bayesian network.")

    def add_definition(self, node: Element) -> None:
        """The distribution of a node, the numbers of a utility, or what a decision sees."""
        child = self.names[node.attribute("id")]
        given = node.at_most_one("parents")
        words = given.words() if given else []
        for word in words:
            if given is not None and word not in self.names:
                raise given.place_of(word).error(f"There is no node {word!r}.{suggestion(word, self.names)}")
            if given is not None and word in self.sums and node.tag != "mau":
                raise given.place_of(word).error(f"{word!r} adds utilities up; only another <mau> can depend on it.")
        parents = [self.names[word] for word in words]
        if node.tag == "decision":
            self.assembly.add_information(child, parents, given.place if given else node.place)
        if node.tag in ("decision", "mau"):
            return
        numbers = node.one(_PARTS[node.tag][-1])
        if node.tag == "utility":
            scope = self.assembly.parents(child, parents, given.place if given else node.place)
            with np.errstate(over="ignore", invalid="ignore"):
                values = self._shaped(numbers.numbers(), scope, numbers) * self.weights[node.attribute("id")]
            self.assembly.add_utility_values(child, parents, values.ravel(), numbers.place)
            return
        read = {"cpt": self._table, "deterministic": self._function, "noisymax": self._noisy_max}[node.tag]
        self.assembly.add_distribution(child, parents, read(node, numbers), numbers.place)

    def _table(self, node: Element, element: Element) -> _Make:
        values = element.numbers()

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            sizes = [axis.num_states for axis in (*given, variable)]
            listed = last_parent_fastest(values, sizes) if self.is_agrum else values
            table = self._shaped(listed, (*given, variable), element)
            return TableCPD.from_rows(variable, given, table)

        return make

    def _function(self, node: Element, element: Element) -> _Make:
        states = self.states[node.attribute("id")]
        words = element.words()
        for word in words:
            if word not in states:
                raise element.place_of(word).error(f"There is no state {word!r}.{suggestion(word, states)}")
        positions = np.array([states[word] for word in words], dtype=np.intp)

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            table = self._shaped(positions, given, element)
            return DeterministicCPD.from_record(variable, given, {"positions": table.ravel().tolist()}), None

        return make

    def _shaped(
        self, values: npt.NDArray[_Number], scope: Sequence[Variable], element: Element
    ) -> npt.NDArray[_Number]:
        """Values in a row as a table, the states of its axes in the order of the variables."""
        if len(scope) > MAX_AXES:
            raise element.error(f"There are {len(scope)} variables here; a table has at most {MAX_AXES}.")
        shape = [variable.num_states for variable in scope]
        if values.size != prod(shape):
            raise element.error(f"<{element.tag}> needs {prod(shape)} entries, and has {values.size}.")
        turned = tuple(axis for axis, variable in enumerate(scope) if variable.name in self.backwards)
        return np.flip(values.reshape(shape), turned)

    def _noisy_max(self, node: Element, element: Element) -> _Make:
        values = element.numbers()
        strengths = node.at_most_one("strengths")

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            num_rows = 1 + sum(parent.num_states for parent in given)
            if values.size != num_rows * variable.num_states:
                needed = f"{num_rows} × {variable.num_states} numbers"
                raise element.error(f"<parameters> needs {needed}, a row for each state of the parents and the leak.")
            rows, rounding = checked_rows(values.reshape(num_rows, variable.num_states))
            orders = self._orders(strengths, given)
            return self._noisy(variable, given, rows, orders), rounding

        return make

    def _orders(self, strengths: Element | None, given: Sequence[Variable]) -> list[Positions]:
        """For each parent the positions of its states, from the strongest to the weakest."""
        sizes = [parent.num_states for parent in given]
        if strengths is None:
            listed = np.concatenate([np.arange(size) for size in (0, *sizes)]).astype(np.float64)
        else:
            listed = strengths.numbers()
            if listed.size != sum(sizes):
                raise strengths.error(f"<strengths> needs {sum(sizes)} numbers, one for each state of the parents.")
        orders = []
        for parent, end in zip(given, accumulate(sizes), strict=True):
            block = listed[end - parent.num_states : end]
            if strengths is not None and sorted(block.tolist()) != list(range(parent.num_states)):
                raise strengths.error(f"<strengths> should list each state of {parent.name!r} once, by its number.")
            order = block.astype(np.intp)
            orders.append(parent.num_states - 1 - order if parent.name in self.backwards else order)
        return orders

    def _noisy(self, variable: Variable, given: tuple[Variable, ...], rows: Floats, orders: Sequence[Positions]) -> CPD:
        """The noisy-max with these rows, in each the strongest effect first; as a table, if it is not of our making."""
        *blocks, leak = np.split(rows, np.cumsum([parent.num_states for parent in given]))
        is_or = all(np.array_equal(block[1:], np.eye(1, 2, 1).repeat(len(block) - 1, axis=0)) for block in blocks)
        if self.backwards.get(variable.name) == "or" and is_or:
            active = {parent.name: parent.states[order[0]] for parent, order in zip(given, orders, strict=True)}
            return NoisyOr(variable, given, [block[0, 0] for block in blocks], leak[0, 0], active_states=active)
        effects = [block[np.argsort(order), ::-1] for block, order in zip(blocks, orders, strict=True)]
        if variable.name in self.backwards:
            return NoisyMax(variable, given, effects, leak[0, ::-1])
        turned = Variable(variable.name, variable.states[::-1])
        table = NoisyMax(turned, given, effects, leak[0, ::-1]).to_factor(MAX_NOISY_ENTRIES)
        return TableCPD(variable, table.values[..., ::-1], given)
