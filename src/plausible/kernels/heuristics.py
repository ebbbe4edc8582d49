"""What the greedy heuristics say of each variable, kept true while others are eliminated.

A variable's *fill* is the sum, over the pairs of its neighbours that are not joined, of the product of their units:
what its elimination would add to the graph. Fills are computed once, from the triangles of the graph, and then kept up
to date edge by edge (the heuristics: Koller & Friedman 2009, section 9.4.3.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.groups import Lists, items_of
from plausible.kernels.jit import kernel

MIN_NEIGHBORS, MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT = range(4)


class State(NamedTuple):
    """What changes while variables leave."""

    alive: Ints  # 1 for the variables that are left
    units: Floats  # What a variable counts: its size, one, or the logarithm of its size, as the heuristic wants
    weights: Floats  # The sum of the units of each one's neighbours that are left
    fills: Floats  # See above; empty where the heuristic does not ask for them
    marks: Ints  # Sets of variables: those with the latest mark, which is the last item
    missing: Ints  # Scratch for a set of variables
    #: The variables whose costs may have changed, and whether one is among them; the last item of `touched` counts
    #: them.
    touched: Ints
    is_touched: Ints


# --- at the beginning ---


@kernel
def open_state(lists: Lists, sizes: Ints, heuristic: int, with_fills: bool) -> State:
    """The state before anything is eliminated."""
    num = sizes.size
    units = _units(sizes, heuristic)
    weights = np.zeros(num)
    for v in range(num):
        for other in items_of(lists, v):
            weights[v] += units[other]
    marks = np.zeros(num + 1, dtype=np.int64)
    fills = _fills(lists, units, weights, marks) if with_fills else np.empty(0)
    touched, is_touched = np.zeros(num + 2, dtype=np.int64), np.zeros(num, dtype=np.int64)
    return State(
        np.ones(num, dtype=np.int64),
        units,
        weights,
        fills,
        marks,
        np.empty(num + 1, dtype=np.int64),
        touched,
        is_touched,
    )


@kernel
def _units(sizes: Ints, heuristic: int) -> Floats:
    if heuristic == WEIGHTED_MIN_FILL:
        return sizes.astype(np.float64)
    return np.log(sizes) if heuristic == MIN_WEIGHT else np.ones(sizes.size)


@kernel
def _fills(lists: Lists, units: Floats, weights: Floats, marks: Ints) -> Floats:
    """All pairs of each one's neighbours, less those that are joined, that is, the triangles.

    Each triangle is found once, from the corner with the shortest list: with m edges that takes O(m^1.5).
    """
    pool, starts = lists.pool, lists.starts
    ends = _longer_first(lists)
    fills = np.empty(units.size)
    for v in range(units.size):
        pairs = weights[v] * weights[v]
        for k in range(starts[v], starts[v] + lists.lengths[v]):
            pairs -= units[pool[k]] * units[pool[k]]
        fills[v] = pairs / 2.0
    for v in range(units.size):
        marks[-1] += 1
        for k in range(starts[v], ends[v]):
            marks[pool[k]] = marks[-1]
        for k in range(starts[v], ends[v]):
            u = pool[k]
            for j in range(starts[u], ends[u]):
                w = pool[j]
                if marks[w] == marks[-1]:
                    fills[v] -= units[u] * units[w]
                    fills[u] -= units[v] * units[w]
                    fills[w] -= units[v] * units[u]
    return fills


@kernel
def _longer_first(lists: Lists) -> Ints:
    """Bring to the front of each list those whose own lists are longer (or as long: larger numbers); where they end."""
    pool, starts, lengths = lists.pool, lists.starts, lists.lengths
    ends = starts.copy()
    for v in range(ends.size):
        for k in range(starts[v], starts[v] + lengths[v]):
            u = pool[k]
            if lengths[u] > lengths[v] or (lengths[u] == lengths[v] and u > v):
                pool[k], pool[ends[v]] = pool[ends[v]], u
                ends[v] += 1
    return ends


# --- one by one ---


@kernel
def cost_of(units: Floats, weights: Floats, fills: Floats, heuristic: int, variable: int) -> float:
    """What the heuristic says of a variable: always a whole number, so that ties are ties."""
    if heuristic == MIN_NEIGHBORS:
        return float(weights[variable])
    if heuristic == MIN_WEIGHT:
        return float(np.rint(np.exp(weights[variable] + units[variable])))
    return float(fills[variable])


@kernel
def change_fills(state: State, items: Ints, leaving: int, first: int, second: int) -> None:
    """Account for a new edge between two neighbours of the variable that leaves.

    What the two have in common misses one pair less. Each of the two misses new ones: the other one, with every
    neighbour that the other one does not have. Those of `first` are marked, those of `second` are the items.
    """
    units, weights, fills, marks = state.units, state.weights, state.fills, state.marks
    touched, is_touched = state.touched, state.is_touched
    mark, product, common = marks[-1], units[first] * units[second], units[leaving]
    for other in items:
        if marks[other] == mark:
            fills[other] -= product
            common += units[other]
            _touch(touched, is_touched, other)
    fills[first] += units[second] * (weights[first] - common)
    fills[second] += units[first] * (weights[second] - common)


@kernel
def leave(state: State, leaving: int, around: Ints) -> None:
    """Take a variable whose neighbours are joined out of their weights and fills."""
    weights, units, fills = state.weights, state.units, state.fills
    touched, is_touched = state.touched, state.is_touched
    for u in around:
        weights[u] -= units[leaving]
        if fills.size:
            fills[u] -= units[leaving] * (weights[u] - (weights[leaving] - units[u]))
        _touch(touched, is_touched, u)


@kernel
def _touch(touched: Ints, is_touched: Ints, variable: int) -> None:
    touched[touched[-1]] = variable
    touched[-1] += 1 - is_touched[variable]
    is_touched[variable] = 1
