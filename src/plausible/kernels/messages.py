"""Messages between factors and variables, renewed in place: of one variable, of all, or where there is most news."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel
from plausible.kernels.records import record_dtype

Records = NDArray[Any]

#: The change that is returned where the messages leave some variable no state.
CONTRADICTION = -1.0

#: Sums above this have lost nothing that counts to numbers too small for a float.
_SAFE_SUM = 1e-200


class VariableRecord(np.void):  # type: ignore[misc]  # final in the stubs only
    """The record of a variable."""


class FactorRecord(np.void):  # type: ignore[misc]  # final in the stubs only
    """The record of a factor."""


class EdgeRecord(np.void):  # type: ignore[misc]  # final in the stubs only
    """The record of an edge."""


VARIABLE = record_dtype(VariableRecord, ["num_states", "start", "first", "last"])
FACTOR = record_dtype(FactorRecord, ["table", "first", "last"], ["weight"])
EDGE = record_dtype(EdgeRecord, ["variable", "factor", "start", "table", "step", "mate", "width"], ["weight"])


class MessageGraph(NamedTuple):
    """A factor graph, an edge for each variable of each factor; unary factors are fields of the variables."""

    variables: Records  # Records: the number of states, where its field starts, and its edges, which lie side by side
    factors: Records  # Records: where its table starts, where in `members` its edges are, and how often it counts
    #: Records: its variable, its factor, where its messages start, a number for each state; where the factor's table
    #: starts, and the step of the variable's states in it; where the messages of the factor's other variable start (-1
    #: unless there is exactly one) and how many states it has; and how often the factor counts.
    edges: Records
    members: Ints  # The edges of each factor, in axis order
    fields: Floats  # The sum of the logarithms of unary factors, for each state of each variable
    #: log φ / weight, one table after the other, and the exponential of that.
    logs: Floats
    tables: Floats


class Messages(NamedTuple):
    """Logarithms of messages from factors (`incoming`) and from variables (`outgoing`), and what the latter stand for.

    Those from variables have their peaks at one. `told` is not kept up to date where messages maximise.
    """

    incoming: Floats
    outgoing: Floats
    told: Floats


class Rule(NamedTuple):
    """How to renew messages: the share of the old one, whether to maximise, whether changes are those of logarithms."""

    damping: float
    is_max: bool
    in_logs: bool


class Workspace(NamedTuple):
    """Room to work in: for two whole tables, for three numbers for each state of a variable, for two for each edge.

    After a round `peaks` has those of the messages to variables before they were scaled, and `news` by how much the
    messages from variables changed.
    """

    others: Floats
    log_others: Floats
    per_state: Floats
    peaks: Floats
    news: Floats


# --- one message ---


@inlined_kernel
def send(graph: MessageGraph, messages: Messages, number: int, is_max: bool, space: Workspace) -> float:
    """From a factor to a variable: log Σ or max of φ^(1/weight) times what the others say; its peak.

    The message is written to the first row of `space.per_state`.
    """
    edge, peak = graph.edges[number], -np.inf
    if edge.mate < 0:
        return _send_wide(graph, messages, number, is_max, space)
    size, mate, step = graph.variables[edge.variable].num_states, edge.mate, edge.step
    mate_step = size if step == 1 else 1
    for x in range(size):
        cell, total, value = edge.table + x * step, 0.0, -np.inf
        if is_max:
            for y in range(edge.width):
                value = max(value, graph.logs[cell + y * mate_step] + messages.outgoing[mate + y])
        else:
            for y in range(edge.width):
                total += graph.tables[cell + y * mate_step] * messages.told[mate + y]
            if total > _SAFE_SUM:
                value = np.log(total)
            else:
                value = _by_logs(graph.logs, cell, size, step, messages.outgoing, mate, edge.width, False)
        space.per_state[0, x] = value
        peak = max(peak, value)
    return peak


@kernel
def _send_wide(graph: MessageGraph, messages: Messages, number: int, is_max: bool, space: Workspace) -> float:
    """The same for a factor of three variables or more."""
    edge, peak = graph.edges[number], -np.inf
    count = _spread(graph, messages, number, space)
    size, step = graph.variables[edge.variable].num_states, edge.step
    for x in range(size):
        total, cell = 0.0, edge.table + x * step
        for i in range(0, 0 if is_max else count, step):
            for a in range(step):
                total += graph.tables[cell + i * size + a] * space.others[i + a]
        if total > _SAFE_SUM:
            value = np.log(total)
        else:
            value = _by_logs(graph.logs, cell, size, step, space.log_others, 0, count, is_max)
        space.per_state[0, x] = value
        peak = max(peak, value)
    return peak


@kernel
def _spread(graph: MessageGraph, messages: Messages, number: int, space: Workspace) -> int:
    """The products of what the other variables of a factor say, for all their states; how many."""
    factor = graph.factors[graph.edges[number].factor]
    space.others[0], space.log_others[0] = 1.0, 0.0
    count = 1
    for k in range(factor.first, factor.last):
        other = graph.members[k]
        if other == number:
            continue
        width, start = graph.variables[graph.edges[other].variable].num_states, graph.edges[other].start
        for i in range(count - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
            value, log = space.others[i], space.log_others[i]
            for y in range(width):
                space.others[i * width + y] = value * messages.told[start + y]
                space.log_others[i * width + y] = log + messages.outgoing[start + y]
        count *= width
    return count


@kernel
def _by_logs(
    tables: Floats, cell: int, size: int, step: int, others: Floats, first: int, count: int, is_max: bool
) -> float:
    """The largest entry, or the logarithm of the sum of entries that are too small to be summed as they are."""
    largest = -np.inf
    for i in range(0, count, step):
        for a in range(step):
            largest = max(largest, tables[cell + i * size + a] + others[first + i + a])
    if is_max or largest == -np.inf:
        return largest
    total = 0.0
    for i in range(0, count, step):
        for a in range(step):
            total += np.exp(tables[cell + i * size + a] + others[first + i + a] - largest)
    return float(largest + np.log(total))


@kernel
def _larger(change: float, new: float, old: float, in_logs: bool) -> float:
    """`change`, or by how much a message changed where that is more; in logarithms below -1, their relative change."""
    if new == old or abs(new - old) <= change:
        return change
    if not in_logs:
        return max(change, float(abs(np.exp(new) - np.exp(old))))
    return max(change, abs(new - old) / (max(1.0, -new) if new > -np.inf else 1.0))


# --- the messages of one variable ---


@inlined_kernel
def pull(graph: MessageGraph, messages: Messages, number: int, rule: Rule, change: float, space: Workspace) -> float:
    """Renew the messages into a variable; `change`, or the largest change they would make undamped, if more."""
    variable = graph.variables[number]
    for edge in range(variable.first, variable.last):
        start, peak = graph.edges[edge].start, send(graph, messages, edge, rule.is_max, space)
        space.peaks[edge] = peak
        if peak == -np.inf:
            return CONTRADICTION
        for x in range(variable.num_states):
            new, old = space.per_state[0, x] - peak, messages.incoming[start + x]
            change = _larger(change, new, old, rule.in_logs)
            new = new if rule.damping == 0.0 else (1.0 - rule.damping) * new + rule.damping * old
            messages.incoming[start + x] = new
    return change


@inlined_kernel
def push(graph: MessageGraph, messages: Messages, number: int, rule: Rule, space: Workspace) -> bool:
    """Renew the messages out of a variable: its field + Σ weight · message into it - that of the receiver.

    Returns whether any state is left.
    """
    variable, per_state, num_open = graph.variables[number], space.per_state, 0
    for x in range(variable.num_states):
        total, num_zeros = 0.0, 0
        for k in range(variable.first - 1, variable.last):
            is_field = k < variable.first
            weight = 1.0 if is_field else graph.edges[k].weight
            log = graph.fields[variable.start + x] if is_field else messages.incoming[graph.edges[k].start + x]
            if log > -np.inf:
                total += weight * log
            else:
                num_zeros += 1
        per_state[1, x], per_state[2, x] = total, num_zeros
        num_open += num_zeros == 0
    for k in range(variable.first, variable.last if num_open > 0 else variable.first):
        space.news[k] = _release(graph, messages, k, rule, per_state)
    return num_open > 0


@inlined_kernel
def _release(graph: MessageGraph, messages: Messages, number: int, rule: Rule, per_state: Floats) -> float:
    """Renew the message along one edge from the sums of its variable and their zeros; its change.

    A factor that counts less than once and rules a state out gets that state back as impossible, so that zeros never
    come undone.
    """
    edge, peak, change = graph.edges[number], -np.inf, 0.0
    size = graph.variables[edge.variable].num_states
    for x in range(size):
        own, value = messages.incoming[edge.start + x], -np.inf
        if per_state[2, x] == 0.0:
            value = per_state[1, x] - own
        elif per_state[2, x] == 1.0 and own == -np.inf and edge.weight == 1.0:
            value = per_state[1, x]
        per_state[0, x] = value
        peak = max(peak, value)
    for x in range(size):
        place, new = edge.start + x, per_state[0, x] - peak
        if rule.in_logs:
            change = _larger(change, new, messages.outgoing[place], True)
        messages.outgoing[place] = new
        if not rule.is_max:
            word = np.exp(new)
            change = change if rule.in_logs else max(change, abs(word - messages.told[place]))
            messages.told[place] = word
    return change


# --- all variables ---


@kernel(steps=lambda graph, *_: 2 * graph.tables.size)
def pull_all(graph: MessageGraph, messages: Messages, rule: Rule, space: Workspace) -> float:
    """Renew the messages into all variables; the largest change."""
    largest = 0.0
    for number in range(graph.variables.size):
        largest = pull(graph, messages, number, rule, largest, space)
        if largest == CONTRADICTION:
            break
    return largest


@kernel(steps=lambda graph, *_: 30 * graph.edges.size)
def push_all(graph: MessageGraph, messages: Messages, rule: Rule, space: Workspace) -> bool:
    """Renew the messages out of all variables; whether each has a state left."""
    num_closed = 0
    for number in range(graph.variables.size):
        num_closed += not push(graph, messages, number, rule, space)
    return num_closed == 0


@kernel(steps=lambda graph, *_: 30 * graph.edges.size + 2 * graph.tables.size)
def sweep(graph: MessageGraph, messages: Messages, sequence: Ints, rule: Rule, space: Workspace) -> float:
    """Renew the messages of the variables in a sequence, one after the other; the largest change."""
    largest = 0.0
    for number in sequence:
        largest = pull(graph, messages, number, rule, largest, space)
        if largest == CONTRADICTION or not push(graph, messages, number, rule, space):
            return CONTRADICTION
    return largest


@kernel(steps=lambda graph, *_: 60 * graph.edges.size + 4 * graph.tables.size)
def chase(
    graph: MessageGraph, messages: Messages, urgencies: Floats, rule: Rule, target: float, space: Workspace
) -> float:
    """Give as many turns as there are variables, each to the most urgent one, or until none is above the target.

    A variable is as urgent as the changes in what its factors were told since its last turn add up to, and what
    damping held back then. Returns the largest urgency that is left.
    """
    winners = _tournament(urgencies)
    for _ in range(urgencies.size):
        number = winners[1]
        if urgencies[number] <= target:
            break
        change = pull(graph, messages, number, rule, 0.0, space)
        if change == CONTRADICTION or not push(graph, messages, number, rule, space):
            return CONTRADICTION
        urgencies[number] = rule.damping * change if rule.damping > 0.0 else 0.0  # the change may be infinite
        _play(winners, urgencies, number)
        for edge in range(graph.variables[number].first, graph.variables[number].last):
            if space.news[edge] > 0.0:
                _alert(graph, edge, space.news[edge], winners, urgencies)
    return float(urgencies[winners[1]])


@kernel
def _alert(graph: MessageGraph, edge: int, news: float, winners: Ints, urgencies: Floats) -> None:
    """Make the other variables of a factor more urgent."""
    factor = graph.factors[graph.edges[edge].factor]
    for k in range(factor.first, factor.last):
        other = graph.members[k]
        if other != edge:
            urgencies[graph.edges[other].variable] += news
            _play(winners, urgencies, graph.edges[other].variable)


@kernel
def _tournament(urgencies: Floats) -> Ints:
    """All matches: node k has the more urgent winner of nodes 2k and 2k + 1; the leaves are the variables."""
    num = urgencies.size
    winners = np.empty(2 * num, dtype=np.int64)
    for node in range(2 * num - 1, 0, -1):
        winners[node] = node - num if node >= num else _winner(winners, urgencies, node)
    return winners


@kernel
def _winner(winners: Ints, urgencies: Floats, node: int) -> int:
    left, right = winners[2 * node], winners[2 * node + 1]
    return int(right if urgencies[right] > urgencies[left] else left)


@kernel
def _play(winners: Ints, urgencies: Floats, number: int) -> None:
    """Play the matches of one variable again, up to one that another one wins as before."""
    node = (urgencies.size + number) // 2
    while node >= 1:
        before = winners[node]
        winners[node] = _winner(winners, urgencies, node)
        if winners[node] == before != number:
            break
        node //= 2
