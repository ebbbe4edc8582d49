"""Messages renewed where there is most news: a tournament of the variables, and turns for its winners."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel
from plausible.kernels.messages import CONTRADICTION, MessageGraph, Messages, Rule, Workspace, pull, push


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
    """Play the matches of one variable again."""
    node = (urgencies.size + number) // 2
    while node >= 1:
        winners[node] = _winner(winners, urgencies, node)
        node //= 2
