"""Messages between factors and variables, as logarithms: a sweep over the variables, and an assignment at the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["CONTRADICTION", "EDGE", "FACTOR", "VARIABLE", "MessageGraph", "Workspace", "decode", "sweep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

#: What a sweep returns where the messages leave some variable no state.
CONTRADICTION = -1.0

#: Sums above this have lost nothing that counts to numbers too small for a float.
_SAFE_SUM = 1e-200

VARIABLE = np.dtype([("size", np.int64), ("first", np.int64), ("last", np.int64)])
FACTOR = np.dtype([("first", np.int64), ("last", np.int64), ("table", np.int64), ("weight", np.float64)])
EDGE = np.dtype([("variable", np.int64), ("factor", np.int64), ("start", np.int64)])


class MessageGraph(NamedTuple):
    """A factor graph, an edge for each variable of each factor.

    Attributes
    ----------
    variables
        Records: the number of states, and where in `around` the edges of the variable are.
    factors
        Records: its edges, in axis order, where its table starts, and how often it counts.
    edges
        Records: its variable, its factor, and where its messages start, a number for each state of the variable.
    around
        The edges of each variable.
    logs, tables
        log φ / weight, one table after the other, and the exponential of that.
    """

    variables: Records
    factors: Records
    edges: Records
    around: Ints
    logs: Floats
    tables: Floats


class Workspace(NamedTuple):
    """Room to work in: for two whole tables, for three numbers for each state of a variable, for one for each edge.

    After a sweep `per_edge` has the peaks of the messages to variables before they were scaled to one (row 0), and by
    how much those from variables changed (row 1).
    """

    others: Floats
    per_state: Floats
    per_edge: Floats


# --- one message ---


@kernel
def _send(graph: MessageGraph, outgoing: Floats, edge: int, is_max: bool, others: Floats, message: Floats) -> float:
    """From a factor to the variable of an edge: log Σ or max of φ^(1/weight) times what the others say; its peak."""
    factor = graph.factors[graph.edges[edge].factor]
    size = graph.variables[graph.edges[edge].variable].size
    others[0, 0] = 0.0
    count, after = 1, 1
    for other in range(factor.first, factor.last):
        if other == edge:
            after = 1
            continue
        width, start = graph.variables[graph.edges[other].variable].size, graph.edges[other].start
        for i in range(count - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
            value = others[0, i]
            for y in range(width):
                others[0, i * width + y] = value + outgoing[start + y]
        count, after = count * width, after * width
    is_plain = not is_max and count > 1
    if is_plain:
        for i in range(count):
            others[1, i] = np.exp(others[0, i])
    peak = -np.inf
    for x in range(size):
        total = 0.0
        if is_plain:
            for b in range(count // after):
                cell = factor.table + (b * size + x) * after
                for a in range(after):
                    total += graph.tables[cell + a] * others[1, b * after + a]
        if total > _SAFE_SUM:
            message[x] = np.log(total)
        else:
            message[x] = _in_logarithms(graph.logs, others, factor.table + x * after, size, count, after, is_plain)
        peak = max(peak, message[x])
    return peak


@kernel
def _in_logarithms(logs: Floats, others: Floats, cell: int, size: int, count: int, after: int, is_sum: bool) -> float:
    """The largest entry, or the logarithm of the sum of entries that are too small to be summed as they are."""
    largest = -np.inf
    for i in range(count):
        largest = max(largest, logs[cell + (i // after) * size * after + i % after] + others[0, i])
    if not is_sum or largest == -np.inf:
        return largest
    total = 0.0
    for i in range(count):
        total += np.exp(logs[cell + (i // after) * size * after + i % after] + others[0, i] - largest)
    return float(largest + np.log(total))


@kernel
def _larger(change: float, new: float, old: float, in_logs: bool) -> float:
    """`change`, or by how much a number changed where that is more."""
    if new == old or abs(new - old) <= change:
        return change
    return abs(new - old) if in_logs else max(change, abs(np.exp(new) - np.exp(old)))


# --- the messages of one variable ---


@kernel
def _pull(
    graph: MessageGraph,
    incoming: Floats,
    outgoing: Floats,
    number: int,
    damping: float,
    is_max: bool,
    in_logs: bool,
    space: Workspace,
) -> float:
    """Renew the messages into a variable; the largest change that they would make undamped."""
    variable, message, change = graph.variables[number], space.per_state[0], 0.0
    for k in range(variable.first, variable.last):
        edge = graph.around[k]
        start = graph.edges[edge].start
        peak = _send(graph, outgoing, edge, is_max, space.others, message)
        space.per_edge[0, edge] = peak
        if peak == -np.inf:
            return CONTRADICTION
        for x in range(variable.size):
            new, old = message[x] - peak, incoming[start + x]
            change = _larger(change, new, old, in_logs)
            incoming[start + x] = new if damping == 0.0 else (1.0 - damping) * new + damping * old
    return change


@kernel
def _push(
    graph: MessageGraph, incoming: Floats, outgoing: Floats, number: int, in_logs: bool, space: Workspace
) -> bool:
    """Renew the messages out of a variable: Σ weight · message into it, less that of the receiver; is any state left?

    A factor that counts less than once and rules a state out gets that state back as impossible, so that zeros never
    come undone.
    """
    variable = graph.variables[number]
    sums, zeros, message = space.per_state[0], space.per_state[1], space.per_state[2]
    sums[:], zeros[:] = 0.0, 0.0
    for k in range(variable.first, variable.last):
        edge = graph.edges[graph.around[k]]
        weight = graph.factors[edge.factor].weight
        for x in range(variable.size):
            if incoming[edge.start + x] > -np.inf:
                sums[x] += weight * incoming[edge.start + x]
            else:
                zeros[x] += 1.0
    num_open = 0
    for x in range(variable.size):
        num_open += zeros[x] == 0.0
    if num_open == 0:
        return False
    for k in range(variable.first, variable.last):
        edge = graph.edges[graph.around[k]]
        counts_once = graph.factors[edge.factor].weight == 1.0
        peak, change = -np.inf, 0.0
        for x in range(variable.size):
            own = incoming[edge.start + x]
            if zeros[x] == 0.0:
                message[x] = sums[x] - own
            elif zeros[x] == 1.0 and own == -np.inf and counts_once:
                message[x] = sums[x]
            else:
                message[x] = -np.inf
            peak = max(peak, message[x])
        for x in range(variable.size):
            change = _larger(change, message[x] - peak, outgoing[edge.start + x], in_logs)
            outgoing[edge.start + x] = message[x] - peak
        space.per_edge[1, graph.around[k]] = change
    return True


@kernel
def _alert(graph: MessageGraph, number: int, changes: Floats, urgencies: Floats) -> None:
    """Make the neighbours of a variable more urgent, by how much its messages to their factors changed."""
    for k in range(graph.variables[number].first, graph.variables[number].last):
        edge = graph.around[k]
        factor = graph.factors[graph.edges[edge].factor]
        for other in range(factor.first, factor.last):
            if other != edge:
                urgencies[graph.edges[other].variable] += changes[edge]


# --- all variables ---


@kernel
def sweep(
    graph: MessageGraph,
    incoming: Floats,
    outgoing: Floats,
    sequence: Ints,
    is_at_once: bool,
    damping: float,
    is_max: bool,
    in_logs: bool,
    urgencies: Floats,
    threshold: float,
    space: Workspace,
) -> tuple[float, int]:
    """Renew the messages of the variables in a sequence; the largest change, and how many had their turn.

    At once: all messages into variables first, then all out of them. Else one variable after the other, those passed
    over whose urgency is below the threshold: the sum of the changes in what its factors were told since its last
    turn, and what damping held back then.
    """
    largest, num_turns = 0.0, 0
    for number in sequence:
        if urgencies[number] < threshold:
            continue
        num_turns += 1
        change = _pull(graph, incoming, outgoing, number, damping, is_max, in_logs, space)
        if change == CONTRADICTION:
            return CONTRADICTION, num_turns
        largest = max(largest, change)
        if not is_at_once:
            urgencies[number] = damping * change
            if not _push(graph, incoming, outgoing, number, in_logs, space):
                return CONTRADICTION, num_turns
            _alert(graph, number, space.per_edge[1], urgencies)
    if is_at_once:
        for number in sequence:
            if not _push(graph, incoming, outgoing, number, in_logs, space):
                return CONTRADICTION, num_turns
    return largest, num_turns


@kernel
def decode(graph: MessageGraph, outgoing: Floats, sequence: Ints, space: Workspace, states: Ints) -> None:
    """Choose a state for each variable in sequence, given those chosen before; spoils `outgoing`.

    On a forest, with final messages and a sequence that walks through it, each choice is part of a best assignment.
    """
    message, sums = space.per_state[0], space.per_state[1]
    for number in sequence:
        variable, best = graph.variables[number], 0
        sums[:] = 0.0
        for k in range(variable.first, variable.last):
            edge = graph.around[k]
            _send(graph, outgoing, edge, True, space.others, message)
            for x in range(variable.size):
                sums[x] += graph.factors[graph.edges[edge].factor].weight * message[x]
        for x in range(1, variable.size):
            if sums[x] > sums[best]:
                best = x
        states[number] = best
        for k in range(variable.first, variable.last):
            start = graph.edges[graph.around[k]].start
            for x in range(variable.size):
                outgoing[start + x] = 0.0 if x == best else -np.inf
