"""A heap of variables, the one that the heuristic wants next on top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.heuristics import State, cost_of
from plausible.kernels.jit import kernel


class Heap(NamedTuple):
    """Variables by (cost, tie): `items` is a binary heap, and v is `items[places[v]]`.

    Variables that are never to be eliminated are not in it: their place is -1.
    """

    items: Ints
    places: Ints
    costs: Floats
    ties: Ints


@kernel
def make_heap(state: State, heuristic: int, ties: Ints, candidates: Ints) -> Heap:
    """The candidates by what the heuristic says of them now."""
    units, weights, fills = state.units, state.weights, state.fills
    items, places = candidates.copy(), np.full(units.size, -1, dtype=np.int64)
    costs = np.empty(units.size)
    for place in range(items.size):
        v = items[place]
        places[v] = place
        costs[v] = cost_of(units, weights, fills, heuristic, v)
        _sift(items, places, costs, ties, place + 1, place)
    return Heap(items, places, costs, ties)


@kernel
def ties_from(num: int, seed: int) -> Ints:
    """The variables' own numbers where the seed is 0, else random ones, all different."""
    ties = np.arange(num)
    if seed:
        number = seed * 2654435761 + 12345
        for v in range(num):
            number = (number * 1103515245 + 12345) & 0x7FFFFFFF
            ties[v] = number
    return ties


@kernel
def pop(heap: Heap, count: int) -> int:
    """Take the first of `count` items out of the heap."""
    items, places, costs, ties = heap
    first = items[0]
    if count > 1:
        items[0] = items[count - 1]
        _sift(items, places, costs, ties, count - 1, 0)
    return int(first)


@kernel
def reorder(heap: Heap, count: int, state: State, heuristic: int) -> None:
    """Move the touched variables to where their new costs put them."""
    units, weights, fills = state.units, state.weights, state.fills
    items, places, costs, ties = heap
    touched, is_touched = state.touched, state.is_touched
    for k in range(touched[-1]):
        variable = touched[k]
        is_touched[variable] = 0
        cost = cost_of(units, weights, fills, heuristic, variable)
        if places[variable] >= 0 and cost != costs[variable]:
            costs[variable] = cost
            _sift(items, places, costs, ties, count, places[variable])
    touched[-1] = 0


@kernel
def _sift(items: Ints, places: Ints, costs: Floats, ties: Ints, count: int, place: int) -> None:
    """Move the variable at `place` up or down to where it belongs among the first `count` items."""
    variable = items[place]
    while place > 0 and _less(costs, ties, variable, items[(place - 1) // 2]):
        items[place] = items[(place - 1) // 2]
        places[items[place]] = place
        place = (place - 1) // 2
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _less(costs, ties, items[child + 1], items[child]):
            child += 1
        if not _less(costs, ties, items[child], variable):
            break
        items[place] = items[child]
        places[items[place]] = place
        place = child
    items[place] = variable
    places[variable] = place


@kernel
def _less(costs: Floats, ties: Ints, first: int, second: int) -> bool:
    return bool(costs[first] < costs[second] or (costs[first] == costs[second] and ties[first] < ties[second]))
