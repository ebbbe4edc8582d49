"""From an elimination run to a forest of its maximal cliques."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.groups import grouped, products
from plausible.kernels.jit import kernel


@kernel(steps=lambda order, cliques, *_: 10 * cliques.size)
def join_cliques(order: Ints, cliques: Ints, clique_starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The maximal cliques of an elimination run as a forest, children before parents: (members, starts, parents).

    The clique of a step hangs under that of the next variable in it. One that a child contains (it then has one
    variable less) is taken over by that child. Each tree is rooted at its smallest clique.
    """
    above = _steps_above(order, cliques, clique_starts)
    keepers = _keepers(above, clique_starts)
    walk, uppers = _rooted(above, keepers, products(cliques, clique_starts, sizes))
    count = walk.size
    positions = np.empty(order.size, dtype=np.int64)
    for k in range(count):
        positions[walk[k]] = count - 1 - k
    starts, parents = np.zeros(count + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
    for position in range(count):
        step, upper = walk[count - 1 - position], uppers[count - 1 - position]
        starts[position + 1] = starts[position] + clique_starts[step + 1] - clique_starts[step]
        parents[position] = positions[upper] if upper >= 0 else -1
    members = np.empty(starts[-1], dtype=np.int64)
    for position in range(count):
        step = walk[count - 1 - position]
        members[starts[position] : starts[position + 1]] = cliques[clique_starts[step] : clique_starts[step + 1]]
    return members, starts, parents


@kernel
def _steps_above(order: Ints, cliques: Ints, clique_starts: Ints) -> Ints:
    """For each step the next one that eliminates a variable of its clique; -1 for none."""
    ranks = np.empty(order.size, dtype=np.int64)
    for step in range(order.size):
        ranks[order[step]] = step
    above = np.full(order.size, -1, dtype=np.int64)
    for step in range(order.size):
        for k in range(clique_starts[step] + 1, clique_starts[step + 1]):
            if above[step] < 0 or ranks[cliques[k]] < above[step]:
                above[step] = ranks[cliques[k]]
    return above


@kernel
def _keepers(above: Ints, clique_starts: Ints) -> Ints:
    """For each step the one whose clique contains that of this step, itself where it is maximal."""
    keepers = np.arange(above.size)
    for step in range(above.size):
        parent = above[step]
        if parent >= 0 and keepers[parent] == parent:
            size = clique_starts[parent + 1] - clique_starts[parent]
            if clique_starts[step + 1] - clique_starts[step] == size + 1:
                keepers[parent] = keepers[step]
    return keepers


@kernel
def _rooted(above: Ints, keepers: Ints, entries: Floats) -> tuple[Ints, Ints]:
    """The kept cliques from the roots down, and the one above each, -1 above a root."""
    num = keepers.size
    ends = np.full(2 * num, -1, dtype=np.int64)  # of the edge of step s: at 2s and 2s + 1
    for step in range(num):
        if above[step] >= 0 and keepers[step] != keepers[above[step]]:
            ends[2 * step], ends[2 * step + 1] = keepers[step], keepers[above[step]]
    starts, places = grouped(ends, num)
    walk, uppers = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    seen = np.zeros(num, dtype=np.int64)
    count = 0
    for start in range(num):
        if keepers[start] == start and not seen[start]:
            size = _walk(start, 1, ends, starts, places, seen, walk[count:], uppers[count:])
            root = start
            for clique in walk[count : count + size]:
                if entries[clique] < entries[root]:
                    root = clique
            _walk(root, 2, ends, starts, places, seen, walk[count:], uppers[count:])
            count += size
    return walk[:count], uppers[:count]


@kernel
def _walk(root: int, mark: int, ends: Ints, starts: Ints, places: Ints, seen: Ints, walk: Ints, uppers: Ints) -> int:
    """Walk through a tree, nearest first, and mark it; how many cliques it has."""
    walk[0], uppers[0], seen[root] = root, -1, mark
    begin, end = 0, 1
    while begin < end:
        clique = walk[begin]
        for k in range(starts[clique], starts[clique + 1]):
            other = ends[places[k] ^ 1]
            if seen[other] != mark:
                walk[end], uppers[end], seen[other] = other, clique, mark
                end += 1
        begin += 1
    return end
