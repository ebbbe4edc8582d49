"""Moves over directed acyclic graphs: who leads to whom, and what the best changes of an edge would gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel, twin_of

Mask = NDArray[np.bool_]


@kernel
def _unite(some: Mask, others: Mask) -> None:
    for place in range(some.size):
        some[place] |= others[place]


@twin_of(_unite)
def _unite_in_numpy(some: Mask, others: Mask) -> None:
    some |= others


@kernel
def find_descendants(parents: Ints, num_parents: Ints, reaches: Mask) -> None:
    """`reaches[u, v]`: whether a directed path leads from u to v; `parents` has a line for each child."""
    num, count = num_parents.size, 0
    reaches[:] = False
    waiting, ready = np.zeros(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    for child in range(num):
        for place in range(num_parents[child]):
            waiting[parents[child, place]] += 1
    for node in range(num):
        if waiting[node] == 0:
            ready[count] = node
            count += 1
    for turn in range(num):  # children before their parents
        node = ready[turn]
        for place in range(num_parents[node]):
            parent = parents[node, place]
            _unite(reaches[parent], reaches[node])
            reaches[parent, node] = True
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready[count] = parent
                count += 1


@kernel
def best_additions(additions: Floats, reaches: Mask, num_parents: Ints, max_parents: int, best: Floats) -> None:
    """The largest gain of a new parent that closes no cycle, for each child; -inf where there is none."""
    for child in range(best.size):
        top = -np.inf
        if num_parents[child] < max_parents:
            for parent in range(best.size):
                if additions[child, parent] > top and not reaches[child, parent]:
                    top = additions[child, parent]
        best[child] = top


@twin_of(best_additions)
def _best_additions(additions: Floats, reaches: Mask, num_parents: Ints, max_parents: int, best: Floats) -> None:
    is_open = ~reaches & (num_parents < max_parents)[:, None]
    best[:] = np.where(is_open, additions, -np.inf).max(axis=1, initial=-np.inf)


@kernel
def edge_gains(additions: Floats, deletions: Floats, parents: Ints, num_parents: Ints, reaches: Mask) -> Floats:
    """By child and place of the parent, the gains of deleting an edge and of reversing it; -inf where it can't be."""
    gains = np.full((2, *parents.shape), -np.inf)
    for child in range(num_parents.size):
        for place in range(num_parents[child]):
            parent, has_detour = parents[child, place], False
            for other in range(num_parents[child]):
                has_detour |= reaches[parent, parents[child, other]]
            gains[0, child, place] = deletions[child, place]
            if not has_detour:
                gains[1, child, place] = deletions[child, place] + additions[parent, child]
    return gains
