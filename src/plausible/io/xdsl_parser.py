"""From XDSL to a network or an influence diagram."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Positions
from plausible.cpds import CPD, DeterministicCPD, NoisyMax, NoisyOr, TableCPD
from plausible.cpds.reading import Rounding, checked_rows
from plausible.decisions import InfluenceDiagram
from plausible.decisions.structure.relevance import has_perfect_recall
from plausible.errors import CyclicGraph, PlausibleWarning, counted, suggestion
from plausible.graphs import DAG
from plausible.io.assembly import MAX_AXES, Assembly, Make, warn_reader
from plausible.io.formats import restore_name, restore_states
from plausible.io.scanner import shown
from plausible.io.xdsl_notes import (
    AUTOMATIC,
    LIMITED,
    STATES,
    genie_nodes,
    grid_position,
    identifier,
    network_notes,
    user_properties,
    variable_notes,
)
from plausible.io.xml_source import Element, last_parent_fastest, parse_xml
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

#: A noisy-max of another program is read as a table of at most this many numbers.
MAX_NOISY_ENTRIES = 2**24
#: Decisions may remember this many things, all together.
MAX_REMEMBERED = 2**20
_MAX_TOLD: Final = 8

_Entry = TypeVar("_Entry", np.float64, np.intp)

_PARTS = {
    "cpt": ("state", "probabilities"),
    "deterministic": ("state", "resultingstates"),
    "noisymax": ("state", "strengths", "parameters"),
    "decision": ("state",),
    "utility": ("utilities",),
    "mau": ("weights", "expressions", "expression"),
}

_NUMBER: Final = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
#: A sign (or several, or none), and a name that may have a number before or behind it.
_TERM: Final = re.compile(
    rf"(?P<signs>[+\-\s]*+)(?:(?P<before>{_NUMBER})\s*+\*\s*+)?(?P<name>[A-Za-z_]\w*+)"
    rf"(?:\s*+\*\s*+(?P<behind>{_NUMBER}))?\s*+(?=[+-]|$)"
)


def parse_xdsl(text: str, *, lenient: bool = False) -> BayesianNetwork | InfluenceDiagram:
    """The network in an XDSL text: its nodes of the types `cpt`, `deterministic` and `noisymax`.

    With nodes of the types `decision` and `utility` it is an influence diagram. A `mau` node that adds utilities up is
    left out; its weights multiply the numbers of those utilities, with a warning where they change them. As in GeNIe,
    decisions see all that earlier ones saw and chose, with a warning where the file leaves links out for that reason.
    `lenient` is as for `load`.

    >>> network = parse_xdsl('''<smile version="1.0" id="coin"><nodes>
    ... <cpt id="toss"><state id="heads"/><state id="tails"/><probabilities>0.5 0.5</probabilities></cpt>
    ... </nodes></smile>''')
    >>> network.variables["toss"]
    Variable('toss', ['heads', 'tails'])
    """
    root = parse_xml(text, "smile")
    for temporal in root.named("dynamic"):
        raise temporal.error("This is a temporal network (<dynamic>), which can't be read as a Bayesian network.")
    blocks = (genie for extensions in root.named("extensions") for genie in extensions.named("genie"))
    is_agrum = any(genie.attributes.get("app", "").startswith("aGrUM") for genie in blocks)
    reader = _Reader(Assembly(lenient, notes=network_notes(root)), is_agrum)
    drawn = genie_nodes(root)
    said = {key for block in root.named("properties") for key in user_properties(block)}
    nodes = root.one("nodes")
    for element in (root, nodes):
        element.check_no_text()
    for number, node in enumerate(nodes.children):
        reader.add_node(node, drawn.get(node.attribute("id")), grid_position(number) if AUTOMATIC in said else None)
    reader.weights = _utility_weights(nodes)
    for node in nodes.children:
        reader.add_definition(node)
    for name, (element, _) in drawn.items():
        if name not in reader.names:
            raise element.error(f"There is no node {name!r}.{suggestion(name, reader.names)}")
    model = reader.assembly.model()
    _warn_of_sums(reader.sums, reader.weights)
    return _remembering(model, nodes) if isinstance(model, InfluenceDiagram) and LIMITED not in said else model


def _remembering(diagram: InfluenceDiagram, nodes: Element) -> InfluenceDiagram:
    """The diagram as GeNIe takes it, where nothing is forgotten; told, if links had to be added for that."""
    if has_perfect_recall(diagram):
        return diagram
    most_links = len(diagram.decisions) * sum(1 + len(decision.sees) for decision in diagram.decisions.values())
    if most_links > MAX_REMEMBERED:
        raise nodes.error(
            f"There are {len(diagram.decisions)} decisions; if each sees all that was known before, as in GeNIe, that "
            f"makes more than {MAX_REMEMBERED} links."
        )
    forgotten = diagram.recall().forgotten
    told = ", ".join(f"{name} -> {decision}" for name, decision in forgotten[:_MAX_TOLD])
    more = ", ..." if len(forgotten) > _MAX_TOLD else ""
    warn_reader(
        f"As in GeNIe, decisions remember what earlier ones saw and chose: {counted(len(forgotten), 'link')} added "
        f"({told}{more}). For other information call with_information().",
        PlausibleWarning,
    )
    return diagram.with_recall()


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
        if node.tag == "equation":
            raise node.error("<equation> nodes are continuous: only networks over variables with states can be read.")
        if node.tag not in _PARTS:
            raise node.error(f"Nodes of the type <{node.tag}> can't be read.{suggestion(node.tag, _PARTS)}")
        node.check_children(("parents", "property", *_PARTS[node.tag]))
        if "dynamic" in node.attributes:
            raise node.error("This node is of a temporal network, which can't be read as a Bayesian network.")
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

    def _table(self, node: Element, element: Element) -> Make:
        values = element.numbers()

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            sizes = [axis.num_states for axis in (*given, variable)]
            listed = last_parent_fastest(values, sizes) if self.is_agrum else values
            table = self._shaped(listed, (*given, variable), element)
            return self.assembly.table(variable, given, table, element.place)

        return make

    def _function(self, node: Element, element: Element) -> Make:
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

    def _shaped(self, values: npt.NDArray[_Entry], scope: Sequence[Variable], element: Element) -> npt.NDArray[_Entry]:
        """Values in a row as a table, the states of its axes in the order of the variables."""
        if len(scope) > MAX_AXES:
            raise element.error(f"There are {len(scope)} variables here; a table has at most {MAX_AXES}.")
        shape = [variable.num_states for variable in scope]
        if values.size != prod(shape):
            raise element.error(f"<{element.tag}> needs {prod(shape)} entries, and has {values.size}.")
        turned = tuple(axis for axis, variable in enumerate(scope) if variable.name in self.backwards)
        return np.flip(values.reshape(shape), turned)

    def _noisy_max(self, node: Element, element: Element) -> Make:
        values = element.numbers()
        strengths = node.at_most_one("strengths")

        def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            num_rows = 1 + sum(parent.num_states for parent in given)
            if values.size != num_rows * variable.num_states:
                needed = f"{num_rows} × {variable.num_states} numbers"
                raise element.error(f"<parameters> needs {needed}, a row for each state of the parents and the leak.")
            listed = values.reshape(num_rows, variable.num_states)
            what = f"the noisy-max of {variable.name!r}"
            rows, rounding = self.assembly.of_probabilities(checked_rows, listed, what, element.place)
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


def _utility_weights(nodes: Element) -> dict[str, float]:
    """Identifier -> what the numbers of each <utility> count with in the total.

    A <mau> node is the sum of its parents, each times its weight, which is one if there are no <weights>; or it has an
    expression, such as `Gain + 2*Fun`, which is read if it is such a sum. Its own weight is one, unless other such
    nodes add it up; so the weight of a utility is the sum, over the paths down from it, of the product of the weights
    on them. A node that combines its parents in another way, such as by multiplying them, is refused: utilities of an
    influence diagram add.
    """
    utilities = [node.attribute("id") for node in nodes.named("utility")]
    sums = {node.attribute("id"): node for node in nodes.named("mau")}
    known = (*utilities, *sums)
    weighted = {name: _weights(node, known) for name, node in sums.items()}
    edges = [(part, name) for name, parts in weighted.items() for part in parts]
    try:
        graph = DAG(edges, nodes=known)
    except CyclicGraph as error:
        raise sums[str(error.cycle[0])].error(str(error)) from None
    found: dict[str, float] = {}
    for name in map(str, reversed(graph.topological_order)):
        users = [str(user) for user in graph.children(name)]
        found[name] = sum(found[user] * weighted[user][name] for user in users) if users else 1.0
    return {name: found[name] for name in utilities}


def _weights(node: Element, known: Collection[str]) -> dict[str, float]:
    """Identifier -> weight of each part of a sum."""
    name = node.attribute("id")
    given = node.at_most_one("parents")
    parts = given.words() if given else []
    if name in parts:
        raise node.error(f"{name!r} adds itself up.")
    for part in parts:
        if given is not None and part not in known:
            raise given.place_of(part).error(f"{name!r} adds utilities up, and {part!r} is none.")
    found = dict.fromkeys(parts, 0.0)
    for part, weight in _listed_terms(node, parts):
        found[part] += weight
    return found


def _listed_terms(node: Element, parts: Sequence[str]) -> list[tuple[str, float]]:
    """The parts of a sum with their weights; a part may come more than once."""
    ways = list(node.named("weights", "expressions", "expression"))
    if len(ways) > 1:
        raise ways[1].error("<mau> has either <weights> or one expression.")
    if not ways:
        return [(part, 1.0) for part in parts]
    if ways[0].tag != "weights":
        return _linear_terms(node.attribute("id"), ways[0], parts)
    weights = ways[0].numbers()
    if weights.size != len(parts):
        raise ways[0].error(f"<weights> needs a number for each of the {len(parts)} parents, and has {weights.size}.")
    return list(zip(parts, weights.tolist(), strict=True))


def _linear_terms(name: str, element: Element, parts: Sequence[str]) -> list[tuple[str, float]]:
    """The terms of an expression that is a weighted sum: names with or without a number, between plus and minus."""
    inner = list(element.named("expression")) or [element]
    if len(inner) > 1:
        raise inner[1].error(f"{name!r} has several expressions; only one, a weighted sum, can be read.")
    if inner[0] is not element:
        element.check_children(("expression",))
    text = re.sub(rf"^\s*{re.escape(name)}\s*=", "", inner[0].content())
    terms: list[tuple[str, float]] = []
    start = 0
    while start < len(text) or not terms:
        term = _TERM.match(text, start)
        if term is None:
            raise element.error(
                f"{name!r} combines utilities by the expression {shown(text)}. Utilities of an influence diagram add: "
                "only weighted sums, such as U + 2*V - W, can be read. Put the combination into one utility with all "
                "the parents."
            )
        if term["name"] not in parts:
            hint = suggestion(term["name"], parts)
            raise element.error(f"{term['name']!r}, in the expression of {name!r}, is none of its parents.{hint}")
        size = float(term["before"] or 1) * float(term["behind"] or 1)
        if not math.isfinite(size):
            raise element.error(f"The weight of {term['name']!r}, in the expression of {name!r}, is not finite.")
        terms.append((term["name"], -size if term["signs"].count("-") % 2 else size))
        start = term.end()
    return terms


def _warn_of_sums(sums: Collection[str], weights: Mapping[str, float]) -> None:
    """Say that weighted sums are in the numbers of the utilities now; plain sums are what utilities make anyway."""
    told = ", ".join(f"{name} by {weight:g}" for name, weight in weights.items() if weight != 1)
    if told:
        warn_reader(
            f"The weighted sums {sorted(sums)} of utilities are left out; instead, the numbers of the utilities were "
            f"multiplied: {told}.",
            PlausibleWarning,
        )
