"""Layers of a drawing: which row each node stands in, so that edges go down and are short together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Ints


class Link(NamedTuple):
    """An edge to be drawn, between nodes by their numbers."""

    tail: int
    head: int
    goes_down: bool  # whether its head belongs below its tail; else either may be the upper one


def layers_of(num_nodes: int, links: Sequence[Link]) -> Ints:
    """The layer of each node, from 0 at the top: no link within a layer, and the least sum of all lengths.

    The layers are an optimum of a linear program (Gansner, Koutsofios, North & Vo 1993), which has many. The links that
    any one dual solution gives a positive price are tight in all of them, and whatever keeps those tight is optimal; of
    these the one in which every node stands as high as it can is taken, so nothing hangs on how the program was solved.

    >>> layers_of(4, [Link(0, 1, True), Link(1, 2, True), Link(0, 2, True), Link(3, 2, True)]).tolist()
    [0, 1, 2, 1]
    """
    place = downward_order(num_nodes, links)
    pairs = {(a, b) if place[a] < place[b] else (b, a) for a, b, _ in links if a != b}
    if not pairs:
        return np.zeros(num_nodes, dtype=np.int64)
    upper, lower = np.array(sorted(pairs), dtype=np.int64).T
    tight = _tight(num_nodes, upper, lower)
    sources, targets = np.r_[upper, lower[tight]], np.r_[lower, upper[tight]]
    least = np.r_[np.ones(len(upper), dtype=np.int64), np.full(int(tight.sum()), -1)]
    return _highest(num_nodes, sources, targets, least)


def _tight(num_nodes: int, upper: Ints, lower: Ints) -> np.ndarray:
    """Which links have length one in every optimum: those with a price in the dual of the program."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rows = np.arange(len(upper))
    signs = np.repeat([1.0, -1.0], len(rows))
    matrix = coo_array((signs, (np.r_[rows, rows], np.r_[upper, lower])), shape=(len(rows), num_nodes))
    cost = np.bincount(lower, minlength=num_nodes) - np.bincount(upper, minlength=num_nodes)
    lengths: Any = matrix.tocsr()
    solved = linprog(
        cost.astype(float), A_ub=lengths, b_ub=-np.ones(len(rows)), bounds=(0, num_nodes), method="highs-ds"
    )
    # Prices are whole numbers; the bounds have none in an optimum that uses less room than there is.
    return np.asarray(solved.ineqlin.marginals < -0.5)


def _highest(num_nodes: int, sources: Ints, targets: Ints, least: Ints) -> Ints:
    """The least numbers from 0 with number[target] >= number[source] + least."""
    found = np.zeros(num_nodes, dtype=np.int64)
    while True:
        raised = found.copy()
        np.maximum.at(raised, targets, found[sources] + least)
        if np.array_equal(raised, found):
            return found
        found = raised


def downward_order(num_nodes: int, links: Iterable[Link]) -> list[int]:
    """The place of each node in an order in which links that go down do, but for those that a cycle does not let.

    Nodes that are free come breadth first from an end of their component, which puts undirected graphs in rows.

    >>> downward_order(3, [Link(2, 1, True), Link(1, 0, True)])
    [2, 1, 0]
    """
    around: list[list[int]] = [[] for _ in range(num_nodes)]
    below: list[list[int]] = [[] for _ in range(num_nodes)]
    for tail, head, goes_down in links:
        around[tail].append(head)
        around[head].append(tail)
        if goes_down:
            below[tail].append(head)
    breadth = _breadth_first(around)
    waiting = [0] * num_nodes
    for row in below:
        for head in row:
            waiting[head] += 1
    ready = sorted((breadth[node], node) for node in range(num_nodes) if not waiting[node])
    place = [-1] * num_nodes
    for number in range(num_nodes):
        while ready and place[ready[0][1]] >= 0:
            heappop(ready)
        if not ready:  # a cycle: the node that waits for fewest, and that most wait for, goes first
            open_nodes = [node for node in range(num_nodes) if place[node] < 0]
            ready = [min((waiting[node], -len(below[node]), breadth[node], node) for node in open_nodes)[2:]]
        node = heappop(ready)[1]
        place[node] = number
        for head in below[node]:
            waiting[head] -= 1
            if not waiting[head] and place[head] < 0:
                heappush(ready, (breadth[head], head))
    return place


def _breadth_first(around: Sequence[Sequence[int]]) -> list[int]:
    """The place of each node, component by component, each from a node as far from its first one as there is."""
    number = [-1] * len(around)
    count = 0
    for first in range(len(around)):
        if number[first] < 0:
            for node in reached(around, reached(around, first)[-1]):
                number[node] = count
                count += 1
    return number


def reached(around: Sequence[Sequence[int]], start: int) -> list[int]:
    """The nodes of a component, breadth first."""
    found = [start]
    seen, queue = {start}, deque([start])
    while queue:
        fresh = [node for node in dict.fromkeys(around[queue.popleft()]) if node not in seen]
        seen.update(fresh)
        found.extend(fresh)
        queue.extend(fresh)
    return found
