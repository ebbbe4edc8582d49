"""Directed acyclic graphs: who leads to whom, what the best changes of an edge would gain, which parent sets fit."""

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


Words = NDArray[np.uint64]


@kernel(steps=lambda masks, firsts, children, *_: children.size * max(1.0, masks.size / firsts.size))
def find_fitting(masks: Words, firsts: Ints, children: Ints, allowed: Words, found: Ints) -> None:
    """For each query the first set of a child within what is allowed; -1 for none.

    The sets of v are `masks[firsts[v]:firsts[v + 1]]`, one bit a variable; `allowed` has a row for each query.
    """
    for query in range(children.size):
        child = children[query]
        found[query] = -1
        for place in range(firsts[child], firsts[child + 1]):
            outside = np.uint64(0)
            for word in range(masks.shape[1]):
                outside |= masks[place, word] & ~allowed[query, word]
            if outside == 0:
                found[query] = place
                break


@kernel(steps=lambda masks, scores, firsts, values, start, end: 5 * (end - start) * firsts.size)
def best_of_subsets(masks: Ints, scores: Floats, firsts: Ints, values: Floats, start: int, end: int) -> None:
    """The score of the best graph on each set of variables, which is the number of its place in `values`.

    Each has a sink v: value(S) = max over v of value(S - v) + the score of the first set of v within S - v. Those from
    `start` to before `end` are found; all before them, and 0 for the empty set, are there.
    """
    for chosen in range(start, end):
        best = -np.inf
        for v in range(firsts.size - 1):
            if chosen >> v & 1:
                rest = chosen ^ (1 << v)
                # the first set of a list is its best, so that most lists need not be looked through
                if values[rest] + scores[firsts[v]] > best:
                    for place in range(firsts[v], firsts[v + 1]):
                        if masks[place] & ~rest == 0:
                            best = max(best, values[rest] + scores[place])
                            break
        values[chosen] = best
