"""Edits of a Bayesian network: each makes another network, so that a step back is the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import one_line
from plausible.cpds import NoisyOr, TableCPD
from plausible.errors import InvalidArgument, InvalidCPD
from plausible.models import BayesianNetwork
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.seeing import told_of
from plausible.variables import State, Variable

#: A page shows no grid with more cells, a variable made there has no more states.
MOST_CELLS, MOST_STATES = 4096, 64


def edit(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the network after an edit; `action` says which."""
    before = desk.version(asked.text("model"))
    action = asked.text("action")
    if action not in ACTIONS:
        raise InvalidArgument(f"{action!r} is no edit: {', '.join(ACTIONS)}.")
    network = ACTIONS[action](desk.network(before.number), asked)
    return told_of(desk.put(network, before.name, before))


def family(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What there is to edit of a variable: its states, its parents, its table or the numbers of its noisy-or."""
    network, name = desk.network(asked.text("model")), asked.text("name")
    cpd, notes = network.cpd(name), network.notes.of(name)
    told: dict[str, Any] = {
        "name": name,
        "kind": cpd.kind,
        "label": notes.label,
        "description": notes.description,
        "states": _texts(cpd.variable),
        "parents": [{"name": parent.name, "states": _texts(parent)} for parent in cpd.parents],
        "children": [str(child) for child in network.graph.children(name)],
        "text": str(cpd),
        "table": None,
        "noisyOr": None,
    }
    if isinstance(cpd, NoisyOr):
        activation = dict(zip(cpd.parent_names, cpd.activation.tolist(), strict=True))
        told["noisyOr"] = {"activation": activation, "leak": cpd.leak}
    if all(not variable.is_continuous for variable in cpd.scope) and _num_cells(cpd.scope) <= MOST_CELLS:
        told["table"] = cpd.to_table().values.reshape(-1, cpd.variable.num_states).tolist()
    return told


def _add_variable(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    name, states = _new_name(network, asked.text("name")), _states(asked.texts("states"))
    return network.with_cpd(TableCPD(name, np.full(len(states), 1 / len(states)), states=states))


def _remove_variable(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    """Its children keep what they do on average over it."""
    name = asked.text("name")
    for child in network.graph.children(network.cpd(name).variable.name):
        network = network.without_edge(name, str(child))
    return network.without_variable(name)


def _rename(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.renamed({asked.text("name"): _new_name(network, asked.text("to"))})


def _set_states(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    """Other states, in another order: each is a new one or, by its place, one that was there."""
    name, states = asked.text("name"), _states(asked.texts("states"))
    variable = network.cpd(name).variable
    places = asked.items("places")
    was = [-1 if place is None else place for place in places]
    known = [place for place in was if place != -1]
    if (
        len(was) != len(states)
        or len(set(known)) < len(known)
        or not all(isinstance(place, int) and -1 <= place < variable.num_states for place in was)
    ):
        raise InvalidArgument(f"'places' says of each state of {name!r} which one it was, or null of a new one.")
    kept: list[State] = [
        variable.states[place] if place >= 0 and str(variable.states[place]) == state else state
        for state, place in zip(states, was, strict=True)
    ]
    changed = Variable(name, kept)
    cpds = []
    for other, cpd in network.cpds.items():
        if other != name and name not in cpd.parent_names:
            cpds.append(cpd)
            continue
        scope = [changed if one.name == name else one for one in cpd.scope]
        axis = next(place for place, one in enumerate(cpd.scope) if one.name == name)
        values = _with_places(cpd.to_table().values, axis, was)
        cpds.append(TableCPD(scope[-1], values, scope[:-1]))
    return BayesianNetwork(cpds, inputs=[network.variables[one] for one in network.inputs], notes=network.notes)


def _with_places(values: Floats, axis: int, was: Sequence[int]) -> Floats:
    """A table whose axis has other entries; a new state of a parent says nothing, one of the child never happens."""
    is_child = axis == values.ndim - 1
    new = (
        np.zeros_like(values.take([0], axis))
        if is_child
        else np.full_like(values.take([0], axis), 1 / values.shape[-1])
    )
    parts = [new if place < 0 else values.take([place], axis) for place in was]
    table = np.concatenate(parts, axis)
    sums = table.sum(-1, keepdims=True)
    uniform = np.full_like(table, 1 / table.shape[-1])
    return np.asarray(np.divide(table, sums, out=uniform, where=sums > 0))


def _add_edge(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.with_edge(asked.text("source"), asked.text("target"))


def _remove_edge(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.without_edge(asked.text("source"), asked.text("target"))


def _set_table(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    cpd = network.cpd(asked.text("name"))
    rows = asked.items("rows")
    width = cpd.variable.num_states
    if len(rows) * width != _num_cells(cpd.scope) or not all(_is_row(row, width) for row in rows):
        raise InvalidCPD(
            f"The table of {cpd.variable.name!r} needs {_num_cells(cpd.scope) // width} rows of {width} numbers."
        )
    shape = [variable.num_states for variable in cpd.scope]
    return network.with_cpd(TableCPD(cpd.variable, np.array(rows, dtype=np.float64).reshape(shape), cpd.parents))


def _set_noisy_or(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    cpd = network.cpd(asked.text("name"))
    active = cpd.active_states if isinstance(cpd, NoisyOr) else None
    activation = [asked.inner("activation").number(name) for name in cpd.parent_names]
    return network.with_cpd(NoisyOr(cpd.variable, cpd.parents, activation, asked.number("leak"), active_states=active))


def _describe(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    """What is told of the model, or of one of its variables; what is left out stays."""
    notes = network.notes
    if not asked.has("name"):
        title, text = asked.text("title", notes.name), asked.text("description", notes.description)
        return network.with_notes(replace(notes, name=title, description=text))
    name = network.cpd(asked.text("name")).variable.name
    own = notes.of(name)
    label, text = asked.text("label", own.label), asked.text("description", own.description)
    return network.with_notes(notes.with_variable(name, replace(own, label=label, description=text)))


#: What pages call edits.
ACTIONS: Final[Mapping[str, Callable[[BayesianNetwork, Asked], BayesianNetwork]]] = {
    "add-variable": _add_variable,
    "remove-variable": _remove_variable,
    "rename": _rename,
    "states": _set_states,
    "add-edge": _add_edge,
    "remove-edge": _remove_edge,
    "table": _set_table,
    "noisy-or": _set_noisy_or,
    "describe": _describe,
}


def _new_name(network: BayesianNetwork, name: str) -> str:
    if not name.strip():
        raise InvalidArgument("A variable needs a name.")
    if name in network.variables:
        raise InvalidArgument(f"There is a variable {name!r} already.")
    return name


def _states(states: Sequence[str]) -> list[str]:
    if not 1 <= len(states) <= MOST_STATES:
        raise InvalidArgument(f"A variable has 1 to {MOST_STATES} states here, not {len(states)}.")
    return [state.strip() for state in states]


def _texts(variable: Variable) -> list[str]:
    return [] if variable.is_continuous else [one_line(str(state)) for state in variable.states]


def _num_cells(scope: Sequence[Variable]) -> int:
    return int(np.prod([variable.num_states for variable in scope], dtype=object))


def _is_row(row: Any, width: int) -> bool:
    is_listed = isinstance(row, list) and len(row) == width
    return is_listed and all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in row)
