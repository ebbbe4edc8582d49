"""Edits of an influence diagram: what is left to chance as in a network, decisions and utilities beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import InvalidArgument, InvalidModel
from plausible.models import BayesianNetwork
from plausible.studio import network_edits
from plausible.studio.asked import Asked
from plausible.utilities.local import Utility


def family(diagram: InfluenceDiagram, name: str) -> dict[str, Any]:
    """What there is to edit of a node: of a decision what it sees, of a utility its numbers."""
    told = {
        **network_edits.described(diagram, name),
        "text": "",
        "noisyOr": None,
        "tree": None,
        "table": None,
        "states": [],
    }
    if name in diagram.chance:
        return network_edits.family(diagram.network(), name)
    if name in diagram.decisions:
        seen = diagram.information(name)
        return {
            **told,
            "kind": "decision",
            "states": network_edits.texts(diagram.variables[name]),
            "parents": network_edits.parents(seen),
        }
    if name not in diagram.utilities:
        raise InvalidModel(f"{name!r} is no node of this diagram.")
    worth = diagram.utility_factors[name]
    if worth.values.size <= network_edits.MOST_CELLS:
        told["table"] = worth.values.reshape(-1, worth.scope[-1].num_states if worth.scope else 1).tolist()
    return {**told, "kind": "utility", "parents": network_edits.parents(worth.scope)}


def edited(diagram: InfluenceDiagram, action: str, asked: Asked) -> InfluenceDiagram:
    """The diagram after an edit."""
    if action in _ACTIONS:
        return _ACTIONS[action](diagram, asked)
    return _with_chance(diagram, network_edits.ACTIONS[action](diagram.network(), asked))


def _with_chance(diagram: InfluenceDiagram, network: BayesianNetwork) -> InfluenceDiagram:
    """Another distribution of what is left to chance, and other notes."""
    parts = network.cpds.values(), diagram.decisions.values(), diagram.utilities.values()
    return InfluenceDiagram(*parts, network.notes)


def _add_node(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    name, kind = network_edits.new_name(diagram.graph.nodes, asked.text("name")), asked.text("kind", "chance")
    if kind == "utility":
        return diagram.with_utility(Utility([], 0.0, name))
    if kind == "decision":
        return diagram.with_decision(Decision(name, network_edits.read_states(asked.texts("states"))))
    if kind != "chance":
        raise InvalidArgument(f"{kind!r} is no kind of node: chance, decision, utility.")
    return _with_chance(diagram, network_edits.ACTIONS["add-variable"](diagram.network(), asked))


def _remove_node(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    """What depends on it keeps what it does on average over it."""
    name = asked.text("name")
    for child in diagram.graph.children(name):
        diagram = _without_edge(diagram, name, str(child))
    return diagram.without(name)


def _rename(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    old, new = asked.text("name"), network_edits.new_name(diagram.graph.nodes, asked.text("to"))

    def named(name: str) -> str:
        return new if name == old else name

    network = diagram.network()
    if old in diagram.variables:
        network = network.renamed({old: new})
    else:
        network = network.with_notes(network.notes.renamed({old: new}))
    decisions = [
        Decision(network.variables[named(name)], sees=map(named, made.sees)) for name, made in diagram.decisions.items()
    ]
    utilities = [
        Utility(map(named, worth.names), worth.values, named(name)) for name, worth in diagram.utility_factors.items()
    ]
    return InfluenceDiagram(network.cpds.values(), decisions, utilities, network.notes)


def _set_states(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    """Other states or actions; a new one is worth nothing yet."""
    name = asked.text("name")
    if name not in diagram.variables:
        raise InvalidArgument(f"{name!r} has no states.")
    changed, was = network_edits.read_changed(diagram.variables[name], asked)
    network = network_edits.with_states(diagram.network(), changed, was)
    decisions = [Decision(network.variables[made.name], sees=made.sees) for made in diagram.decisions.values()]
    utilities = []
    for own, worth in diagram.utility_factors.items():
        values = worth.values
        if name in worth.names:
            axis = worth.names.index(name)
            values = network_edits.with_places(values, axis, was, np.zeros_like(values.take([0], axis)))
        utilities.append(Utility(worth.names, values, own))
    return InfluenceDiagram(network.cpds.values(), decisions, utilities, network.notes)


def _set_table(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    name = asked.text("name")
    if name not in diagram.utilities:
        return _with_chance(diagram, network_edits.ACTIONS["table"](diagram.network(), asked))
    worth = diagram.utility_factors[name]
    width = worth.scope[-1].num_states if worth.scope else 1
    rows = network_edits.read_rows(name, asked, worth.values.size // width, width)
    return diagram.with_utility(Utility(worth.names, np.reshape(rows, worth.values.shape), name))


def _add_edge(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    source, target = asked.text("source"), asked.text("target")
    if source in diagram.utilities:
        raise InvalidModel(f"{source!r} is a utility: nothing depends on it, utilities add up by themselves.")
    if target in diagram.decisions:
        return diagram.with_information({target: [*diagram.decision(target).sees, source]})
    if target in diagram.utilities:
        worth = diagram.utility_factors[target].extend([diagram.variables[source]])
        return diagram.with_utility(Utility.from_factor(worth, target))
    return _with_chance(diagram, diagram.network().with_edge(source, target))


def _remove_edge(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    return _without_edge(diagram, asked.text("source"), asked.text("target"))


def _without_edge(diagram: InfluenceDiagram, source: str, target: str) -> InfluenceDiagram:
    """What depended on the source keeps what it does on average, all actions being as probable."""
    if not diagram.graph.has_edge(source, target):
        raise InvalidModel(f"There is no edge {source!r} -> {target!r} to remove.")
    if target in diagram.decisions:
        sees = [name for name in diagram.decision(target).sees if name != source]
        return diagram.with_information({target: sees})
    by_chance = diagram.network(diagram.uniform_strategy())
    if target in diagram.chance:
        return diagram.with_chance(by_chance.without_edge(source, target).cpd(target))
    worth = diagram.utility_factors[target]
    axis = worth.names.index(source)
    mean = np.average(worth.values, axis, by_chance.query(source).values)
    return diagram.with_utility(Utility(worth.names[:axis] + worth.names[axis + 1 :], mean, target))


def _describe(diagram: InfluenceDiagram, asked: Asked) -> InfluenceDiagram:
    return diagram.with_notes(network_edits.described_anew(diagram.notes, diagram.graph.nodes, asked))


#: What differs from edits of a network.
_ACTIONS: Final[Mapping[str, Callable[[InfluenceDiagram, Asked], InfluenceDiagram]]] = {
    "add-variable": _add_node,
    "remove-variable": _remove_node,
    "rename": _rename,
    "states": _set_states,
    "add-edge": _add_edge,
    "remove-edge": _remove_edge,
    "table": _set_table,
    "describe": _describe,
}
