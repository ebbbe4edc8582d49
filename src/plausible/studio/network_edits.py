"""Edits of a Bayesian network, or of what is left to chance in a diagram: its decisions are inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import one_line
from plausible.cpds import NoisyOr, TableCPD, TreeCPD
from plausible.errors import InvalidArgument, InvalidCPD, UnknownVariable
from plausible.models import BayesianNetwork, Notes
from plausible.studio.asked import Asked
from plausible.variables import State, Variable

#: A page shows no grid with more cells, a variable made there has no more states.
MOST_CELLS, MOST_STATES = 4096, 64


def family(network: BayesianNetwork, name: str) -> dict[str, Any]:
    """What there is to edit of a variable: its states, its parents, its table, its noisy-or or tree."""
    cpd = network.cpd(name)
    told = {
        **described(network, name),
        "kind": cpd.kind,
        "states": texts(cpd.variable),
        "parents": parents(cpd.parents),
        "text": str(cpd),
        "table": None,
        "noisyOr": None,
        "tree": cpd.to_record()["tree"] if isinstance(cpd, TreeCPD) else None,
    }
    if isinstance(cpd, NoisyOr):
        activation = dict(zip(cpd.parent_names, cpd.activation.tolist(), strict=True))
        told["noisyOr"] = {"activation": activation, "leak": cpd.leak}
    if all(not variable.is_continuous for variable in cpd.scope) and _num_cells(cpd.scope) <= MOST_CELLS:
        told["table"] = cpd.to_table().values.reshape(-1, cpd.variable.num_states).tolist()
    return told


def described(model: Any, name: str) -> dict[str, Any]:
    """What is told of a node, whatever its kind."""
    notes = model.notes.of(name)
    return {"name": name, "label": notes.label, "description": notes.description}


def parents(scope: Iterable[Variable]) -> list[dict[str, Any]]:
    """What a node depends on, or sees."""
    return [{"name": one.name, "states": texts(one)} for one in scope]


def _add_variable(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    name, states = new_name(network.variables, asked.text("name")), read_states(asked.texts("states"))
    return network.with_cpd(TableCPD(name, np.full(len(states), 1 / len(states)), states=states))


def _remove_variable(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    """Its children keep what they do on average over it."""
    name = asked.text("name")
    for child in network.graph.children(network.cpd(name).variable.name):
        network = network.without_edge(name, str(child))
    return network.without_variable(name)


def _rename(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.renamed({asked.text("name"): new_name(network.variables, asked.text("to"))})


def _set_states(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    variable = network.cpd(asked.text("name")).variable
    return with_states(network, *read_changed(variable, asked))


def read_changed(variable: Variable, asked: Asked) -> tuple[Variable, list[int]]:
    """A variable with other states, in another order: each is a new one or, by its place, one that was there."""
    states = read_states(asked.texts("states"))
    places = asked.items("places")
    was = [-1 if place is None else place for place in places]
    known = [place for place in was if place != -1]
    if (
        len(was) != len(states)
        or len(set(known)) < len(known)
        or not all(isinstance(place, int) and -1 <= place < variable.num_states for place in was)
    ):
        name = variable.name
        raise InvalidArgument(f"'places' says of each state of {name!r} which one it was, or null of a new one.")
    kept: list[State] = [
        variable.states[place] if place >= 0 and str(variable.states[place]) == state else state
        for state, place in zip(states, was, strict=True)
    ]
    return Variable(variable.name, kept), was


def with_states(network: BayesianNetwork, changed: Variable, was: Sequence[int]) -> BayesianNetwork:
    """A new state of a parent says nothing, one of the child never happens; one that goes leaves a share to others."""
    name, cpds = changed.name, []
    for other, cpd in network.cpds.items():
        if other != name and name not in cpd.parent_names:
            cpds.append(cpd)
            continue
        scope = [changed if one.name == name else one for one in cpd.scope]
        axis = next(place for place, one in enumerate(cpd.scope) if one.name == name)
        values = cpd.to_table().values
        entry = np.zeros_like if other == name else partial(np.full_like, fill_value=1 / values.shape[-1])
        table = with_places(values, axis, was, entry(values.take([0], axis)))
        sums, uniform = table.sum(-1, keepdims=True), np.full_like(table, 1 / table.shape[-1])
        normalised = np.divide(table, sums, out=uniform, where=sums > 0)
        cpds.append(TableCPD(scope[-1], normalised, scope[:-1]))
    inputs = [changed if one == name else network.variables[one] for one in network.inputs]
    return BayesianNetwork(cpds, inputs=inputs, notes=network.notes)


def with_places(values: Floats, axis: int, was: Sequence[int], new: Floats) -> Floats:
    """A table whose axis has other entries: some that it had, by their places, and new ones."""
    return np.concatenate([new if place < 0 else values.take([place], axis) for place in was], axis)


def _add_edge(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.with_edge(asked.text("source"), asked.text("target"))


def _remove_edge(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.without_edge(asked.text("source"), asked.text("target"))


def _set_table(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    cpd = network.cpd(asked.text("name"))
    width = cpd.variable.num_states
    values = read_rows(cpd.variable.name, asked, _num_cells(cpd.scope) // width, width)
    shape = [variable.num_states for variable in cpd.scope]
    return network.with_cpd(TableCPD(cpd.variable, values.reshape(shape), cpd.parents))


def read_rows(name: str, asked: Asked, num_rows: int, width: int) -> Floats:
    """The rows of a grid."""
    rows = asked.items("rows")
    if len(rows) == num_rows and all(_is_row(row, width) for row in rows):
        with suppress(OverflowError):  # a whole number beyond all others
            return np.array(rows, dtype=np.float64)
    raise InvalidCPD(f"The table of {name!r} needs {num_rows} rows of {width} numbers.")


def _set_noisy_or(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    cpd = network.cpd(asked.text("name"))
    active = cpd.active_states if isinstance(cpd, NoisyOr) else None
    activation = [asked.inner("activation").number(name) for name in cpd.parent_names]
    return network.with_cpd(NoisyOr(cpd.variable, cpd.parents, activation, asked.number("leak"), active_states=active))


def _set_tree(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    """A tree as files tell it: leaves and splits, depth first."""
    cpd = network.cpd(asked.text("name"))
    return network.with_cpd(TreeCPD.from_record(cpd.variable, cpd.parents, {"tree": asked.items("nodes")}))


def _describe(network: BayesianNetwork, asked: Asked) -> BayesianNetwork:
    return network.with_notes(described_anew(network.notes, network.variables, asked))


def described_anew(notes: Notes, names: Collection[Any], asked: Asked) -> Notes:
    """What is told of the model, or of one of its nodes; what is left out stays."""
    if not asked.has("name"):
        title, text = asked.text("title", notes.name), asked.text("description", notes.description)
        return replace(notes, name=title, description=text)
    name = asked.text("name")
    if name not in names:
        raise UnknownVariable.named(name, names, "this model")
    own = notes.of(name)
    label, text = asked.text("label", own.label), asked.text("description", own.description)
    return notes.with_variable(name, replace(own, label=label, description=text))


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
    "tree": _set_tree,
    "describe": _describe,
}


def new_name(taken: Collection[Any], name: str) -> str:
    """A name that no other node has."""
    if not name.strip():
        raise InvalidArgument("A variable needs a name.")
    if name in taken:
        raise InvalidArgument(f"There is a variable {name!r} already.")
    return name


def read_states(states: Sequence[str]) -> list[str]:
    """The names of states, as many as a page can show."""
    if not 1 <= len(states) <= MOST_STATES:
        raise InvalidArgument(f"A variable has 1 to {MOST_STATES} states here, not {len(states)}.")
    return [state.strip() for state in states]


def texts(variable: Variable) -> list[str]:
    """The states as pages show them."""
    return [] if variable.is_continuous else [one_line(str(state)) for state in variable.states]


def _num_cells(scope: Sequence[Variable]) -> int:
    return int(np.prod([variable.num_states for variable in scope], dtype=object))


def _is_row(row: Any, width: int) -> bool:
    is_listed = isinstance(row, list) and len(row) == width
    return is_listed and all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in row)
