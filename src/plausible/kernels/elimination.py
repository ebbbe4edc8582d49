"""Greedy elimination of numbered variables, that which the heuristic wants next on top of a heap, and the cliques left.

What the heuristics look at is kept up to date edge by edge, so a step costs no more than the lists that it changes.
Loops take the arrays out of their tuples first: inside, that would cost more than the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.groups import (
    Lists,
    grown,
    items_of,
    mark_alive,
    neighbors,
    unmarked,
    with_room,
)
from plausible.kernels.heuristics import (
    MIN_FILL,
    MIN_NEIGHBORS,
    WEIGHTED_MIN_FILL,
    State,
    change_fills,
    cost_of,
    leave,
    open_state,
)
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


# How many list items could be looked at while the heap moves a variable by one level.
_LEVEL_WORK = 7


@kernel(steps=lambda scopes, *_: 50 * scopes.size)
def eliminate(
    scopes: Ints, scope_starts: Ints, sizes: Ints, heuristic: int, order: Ints, seed: int, limit: float
) -> tuple[Ints, Ints, Ints, float, int]:
    """Eliminate all variables: in a given order or, where that is empty, greedily by a heuristic.

    `seed` breaks ties, 0 by the variables' numbers. Gives up, with an infinite cost, when the cliques have more than
    `limit` entries in all.

    Returns
    -------
    order, cliques, clique_starts, cost, work
        The clique of step s is `cliques[clique_starts[s]:clique_starts[s + 1]]`, the eliminated variable first; the
        cost is the entries of all cliques; the work is how many list items were looked at, or could have been in the
        time that the heap took.
    """
    greedy = order.size == 0
    lists = neighbors(scopes, scope_starts, sizes.size)
    state = open_state(lists, sizes, heuristic, greedy and heuristic in (MIN_FILL, WEIGHTED_MIN_FILL))
    heap = make_heap(state, heuristic if greedy else MIN_NEIGHBORS, ties_from(sizes.size, seed), np.arange(sizes.size))
    return _run(lists, state, heap, sizes, heuristic, order, limit)


@kernel(steps=lambda scopes, *_: 50 * scopes.size)
def greedy_order(scopes: Ints, scope_starts: Ints, sizes: Ints, heuristic: int, ties: Ints, candidates: Ints) -> Ints:
    """The order in which a heuristic eliminates some variables; of equals, the one that has the smallest of `ties`."""
    lists = neighbors(scopes, scope_starts, sizes.size)
    state = open_state(lists, sizes, heuristic, heuristic in (MIN_FILL, WEIGHTED_MIN_FILL))
    heap = make_heap(state, heuristic, ties, candidates)
    order, _, _, _, _ = _run(lists, state, heap, sizes, heuristic, np.empty(0, dtype=np.int64), np.inf)
    return order


@kernel
def _run(
    lists: Lists, state: State, heap: Heap, sizes: Ints, heuristic: int, order: Ints, limit: float
) -> tuple[Ints, Ints, Ints, float, int]:
    """Eliminate in the given order or, where that is empty, whatever the heap has on top."""
    num, greedy = sizes.size, order.size == 0
    num_steps = heap.items.size if greedy else order.size
    alive, fills, lengths = state.alive, state.fills, lists.lengths
    chosen, starts = np.empty(num_steps, dtype=np.int64), np.zeros(num_steps + 1, dtype=np.int64)
    cliques = np.empty(2 * lists.used + num, dtype=np.int64)
    cost, work, is_complete = 0.0, 0, False
    heap_work = int(_LEVEL_WORK * np.log2(num + 1))
    for step in range(num_steps):
        v = pop(heap, num_steps - step) if greedy else order[step]
        chosen[step], alive[v] = v, 0
        cliques = grown(cliques, starts[step] + lengths[v] + 1)
        size = _write_clique(cliques[starts[step] :], v, items_of(lists, v), alive, lengths)
        starts[step + 1] = starts[step] + size
        around = cliques[starts[step] + 1 : starts[step + 1]]
        cost += sizes[v] * _entries(around, sizes)
        work += lengths[v] + heap_work * size
        if cost > limit:
            return chosen, cliques[: starts[step + 1]], starts, np.inf, work
        if not is_complete and (fills.size == 0 or fills[v] > 0.0):
            lists, looked = _join(lists, state, v, around)
            work += looked
        is_complete |= size == num - step  # all that are left are joined now
        leave(state, v, around)
        if greedy:
            reorder(heap, num_steps - step - 1, state, heuristic)
    return chosen, cliques[: starts[num_steps]], starts, cost, work


@kernel
def _write_clique(clique: Ints, variable: int, items: Ints, alive: Ints, lengths: Ints) -> int:
    """Write a variable and its neighbours, the one with the longest list last; how many they are."""
    clique[0] = variable
    count = 1
    for other in items:
        if alive[other]:
            clique[count] = other
            if count > 1 and lengths[other] < lengths[clique[count - 1]]:
                clique[count - 1], clique[count] = other, clique[count - 1]
            count += 1
    return count


@kernel
def _entries(clique: Ints, sizes: Ints) -> float:
    entries = 1.0
    for variable in clique:
        entries *= sizes[variable]
    return entries


@kernel
def _join(lists: Lists, state: State, leaving: int, around: Ints) -> tuple[Lists, int]:
    """Join the neighbours of a variable with one another; also, how many list items were looked at.

    The last one's list is gone through only for a new edge: so in a star it costs nothing to take a leaf off.
    """
    pool, starts, lengths = lists.pool, lists.starts, lists.lengths
    alive, marks, missing = state.alive, state.marks, state.missing
    work = 0
    for i in range(around.size - 1):
        first = around[i]
        work += lengths[first] + around.size - i
        lengths[first] = mark_alive(pool, starts[first], lengths[first], alive, marks)
        count = unmarked(around, i + 1, marks, missing)
        if count:
            lists, looked = _connect(lists, state, leaving, first, missing[:count])
            pool = lists.pool
            work += looked
    return lists, work


@kernel
def _connect(lists: Lists, state: State, leaving: int, first: int, missing: Ints) -> tuple[Lists, int]:
    """Join a neighbour of the variable that leaves with others; its own neighbours are marked."""
    pool, starts, lengths, capacities, _ = lists
    alive, units, weights, fills, marks = state.alive, state.units, state.weights, state.fills, state.marks
    work = 0
    for second in missing:
        if fills.size:
            items = pool[starts[second] : starts[second] + lengths[second]]
            change_fills(state, items, leaving, first, second)
            work += items.size
        for one, other in ((first, second), (second, first)):
            if lengths[one] == capacities[one]:
                lists = with_room(lists, alive, one)
                pool = lists.pool
            pool[starts[one] + lengths[one]] = other
            lengths[one] += 1
            weights[one] += units[other]
        marks[second] = marks[-1]
    return lists, work
