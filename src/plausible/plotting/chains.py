"""Pictures of chains: a box for each state with what it lets us see, an arrow for each transition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plausible.base.records import format_number, one_line
from plausible.graphs.dag import DAG
from plausible.models.sequences.emissions import Forecast
from plausible.models.sequences.hidden_state_model import HiddenStateModel
from plausible.models.sequences.linear_answers import LinearAnswers
from plausible.models.sequences.semi_markov import HiddenSemiMarkovModel
from plausible.plotting.drawing import Arc, Look, Node, drawn
from plausible.plotting.graphs import picture_of_graph, width_of
from plausible.plotting.nodes import PLAIN, Row, belief_node, name_node, percentage, table_node
from plausible.plotting.picture import Picture

#: Chains of more states are told by what depends on what.
_MOST_STATES = 24
#: So many states stand in a row, with the probabilities of transitions; of more states the most probable transitions
#: are drawn, as wide as they are.
_MOST_IN_A_ROW, _MOST_DRAWN = 5, 60
#: Columns of an observation that are told of a state.
_MOST_COLUMNS = 6
#: How probable the intervals of numbers are.
_LEVEL = 0.9


def picture_of_chain(states: Sequence[Any], transition: Any) -> Picture:
    """States, and where they lead: a matrix from rows to columns, dense or sparse."""
    if len(states) > _MOST_STATES:
        return picture_of_graph(DAG("state[-1] -> state"))
    return _chain([name_node(str(state)) for state in states], _known_transitions(transition), [])


def picture_of_hidden_chain(model: HiddenStateModel) -> Picture:
    """The states of a hidden Markov model with what each lets us see."""
    emission, states = model.emission, model.states
    if len(states) > _MOST_STATES:
        state = model.state.name
        seen = [(state, name) for name in model.variables if name != state]
        return picture_of_graph(DAG([(f"{state}[-1]", state), *seen]))
    notes = [f"At first: {', '.join(f'{one_line(str(s))} {percentage(p)}' for s, p in _starts(model))}."]
    if emission.inputs or emission.looks_back:
        nodes = [name_node(str(state)) for state in states]
        notes.append(f"What is seen: {emission!r}.")
    else:
        told = emission.forecast(np.eye(model.num_states), _LEVEL)
        nodes = [_state(str(state), told, place) for place, state in enumerate(states)]
        if any(forecast.columns[0] == "mean" for forecast in told.values()):
            notes.append(f"Numbers: the mean, and where {_LEVEL:.0%} lie.")
    if isinstance(model, HiddenSemiMarkovModel):
        steps = model.durations @ np.arange(1, model.durations.shape[1] + 1)
        lasting = zip(states, steps.tolist(), strict=True)
        notes.append(f"States last, on average: {', '.join(f'{s} {format_number(n)}' for s, n in lasting)} steps.")
    matrix = model.transition
    if matrix.ndim > 2:
        matrix = matrix.reshape(-1, *matrix.shape[-2:]).mean(axis=0)
        notes.append("Transitions: the mean over the inputs that they depend on.")
    return _chain(nodes, _known_transitions(matrix), notes)


def picture_of_system(system: LinearAnswers) -> Picture:
    """What each number of a linear system is made of, the step before to the left."""
    gains = ((system.transition, "[-1]", system.states), (system.observation, "", system.observations))
    edges = [
        (f"{system.states[source]}{before}", names[target])
        for matrix, before, names in gains
        for target, source in np.argwhere(np.asarray(matrix) != 0).tolist()
    ]
    return picture_of_graph(DAG(edges, nodes=[*system.states, *system.observations]))


def _starts(model: HiddenStateModel) -> list[tuple[Any, float]]:
    """The states that a sequence may begin in, the likeliest first."""
    order = [place for place in np.argsort(-model.initial, kind="stable").tolist() if model.initial[place] > 0]
    return [(model.states[place], float(model.initial[place])) for place in order[:_MOST_COLUMNS]]


def _state(name: str, told: dict[str, Forecast], place: int) -> Node:
    """A state: bars of the one thing that it lets us see, or a row for each of several."""
    if len(told) == 1:
        forecast = next(iter(told.values()))
        if forecast.columns[0] != "mean":
            pairs = zip(forecast.columns, forecast.values[place].tolist(), strict=True)
            return belief_node(name, [Row(str(symbol), chance) for symbol, chance in pairs])
    rows = [(column, _in_words(forecast, place)) for column, forecast in list(told.items())[:_MOST_COLUMNS]]
    more = len(told) - len(rows)
    title = f"{one_line(name)}: {'; '.join(map(' '.join, rows))}"
    return table_node(name, ("sees", ""), [*rows, *([(f"{more} more", "")] if more else [])], PLAIN, title)


def _in_words(forecast: Forecast, place: int) -> str:
    values = forecast.values[place].tolist()
    if forecast.columns[0] == "mean":
        mean, low, high = (format_number(float(f"{value:.3g}")) for value in values)
        return f"{mean} ({low} to {high})"
    best = int(np.argmax(values))
    return f"{forecast.columns[best]} {percentage(values[best])}"


def _known_transitions(transition: Any) -> list[tuple[int, int, float]]:
    """From, to, probability: the most probable first, zeros left out."""
    from scipy.sparse import coo_array

    found = coo_array(transition)
    triples = zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True)
    return sorted((t for t in triples if t[2] > 0), key=lambda t: (-round(t[2], 12), t[:2]))


def _chain(nodes: Sequence[Node], transitions: list[tuple[int, int, float]], notes: list[str]) -> Picture:
    has_labels = len(nodes) <= _MOST_IN_A_ROW
    leaving = [(tail, head, chance) for tail, head, chance in transitions if tail != head]
    shown = transitions if has_labels else leaving[:_MOST_DRAWN]
    if len(shown) < len(transitions):
        least = "" if len(shown) == len(leaving) else f", and {len(leaving) - len(shown)} of the least probable ones"
        notes = [*notes, f"Left out: transitions from a state to itself{least}."]
    arcs = []
    for tail, head, chance in sorted(shown):
        told = percentage(chance)
        look = Look(thickness=width_of(chance), says=told, label=told if has_labels else "")
        arcs.append(Arc(tail, head, look=look))
    return drawn(nodes, arcs, notes=notes, form="row" if has_labels else "down")
