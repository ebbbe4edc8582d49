"""From messages that maximise to an assignment: one variable after the other, then coordinate ascent."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel
from plausible.kernels.messages import MessageGraph, Messages, Workspace, send

#: An ascent that rounding sends round in circles ends here; others take a few sweeps.
_MOST_SWEEPS = 50


@kernel(steps=lambda graph, *_: 30 * graph.edges.size)
def decode(graph: MessageGraph, messages: Messages, sequence: Ints, space: Workspace, states: Ints) -> None:
    """Choose a state for each variable in sequence, given those chosen before; spoils the outgoing messages.

    On a forest, with final messages and a sequence that walks through it, each choice is part of a best assignment.
    """
    message, sums = space.per_state[0], space.per_state[1]
    for number in sequence:
        variable = graph.variables[number]
        for x in range(variable.num_states):
            sums[x] = graph.fields[variable.start + x]
        for edge in range(variable.first, variable.last):
            send(graph, messages, edge, True, space)
            for x in range(variable.num_states):
                sums[x] += graph.edges[edge].weight * message[x]
        best = states[number] = _top(sums, variable.num_states, 0)
        for edge in range(variable.first, variable.last):
            start = graph.edges[edge].start
            for x in range(variable.num_states):
                messages.outgoing[start + x] = 0.0 if x == best else -np.inf


@kernel(steps=lambda graph, *_: 30 * graph.edges.size)
def improve(graph: MessageGraph, states: Ints, space: Workspace) -> None:
    """Change one state after the other, in `states`, while that makes the product larger."""
    sums = space.per_state[1]
    for _ in range(_MOST_SWEEPS):
        num_changes = 0
        for number in range(states.size):
            variable = graph.variables[number]
            for x in range(variable.num_states):
                sums[x] = graph.fields[variable.start + x]
            for edge in range(variable.first, variable.last):
                _add_slice(graph, edge, states, variable.num_states, sums)
            best = _top(sums, variable.num_states, states[number])
            num_changes += best != states[number]
            states[number] = best
        if num_changes == 0:
            break


@kernel
def _top(sums: Floats, size: int, current: int) -> int:
    """The state with the largest sum, the current one if that is as good."""
    best = current
    for x in range(size):
        if sums[x] > sums[best]:
            best = x
    return best


@kernel
def _add_slice(graph: MessageGraph, number: int, states: Ints, size: int, sums: Floats) -> None:
    """Add a factor's logarithms for the states of one of its variables, the others as they are."""
    edge = graph.edges[number]
    factor, cell = graph.factors[edge.factor], edge.table
    for k in range(factor.first, factor.last):
        other = graph.edges[graph.members[k]]
        if other.variable != edge.variable:
            cell += states[other.variable] * other.step
    for x in range(size):
        sums[x] += edge.weight * graph.logs[cell + x * edge.step]
