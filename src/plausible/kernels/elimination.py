"""Greedy elimination of numbered variables, and the cliques that it leaves.

A variable's *fill* is the sum, over the pairs of its neighbours that are not joined, of the product of their units:
what its elimination would add to the graph. Fills are computed once, from the triangles of the graph, and then kept up
to date edge by edge, so that a step costs no more than the lists that it changes (the heuristics: Koller & Friedman
2009, section 9.4.3.2).

Loops take the arrays out of their tuples first: inside, that would cost more than the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["MIN_FILL", "MIN_NEIGHBORS", "MIN_WEIGHT", "WEIGHTED_MIN_FILL", "eliminate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_NEIGHBORS, MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT = range(4)

# How many list items could be looked at while the heap moves a variable by one level.
_LEVEL_WORK = 7


class Lists(NamedTuple):
    """The neighbours of v are `pool[starts[v]:starts[v] + lengths[v]]`; eliminated ones may be among them.

    There is room for `capacities[v]`, and `pool[used:]` is free: a list that grows beyond its room moves there.
    """

    pool: Ints
    starts: Ints
    lengths: Ints
    capacities: Ints
    used: int


class State(NamedTuple):
    """What changes while variables leave.

    Attributes
    ----------
    alive
        1 for the variables that are left.
    units
        What a variable counts: its size, one, or the logarithm of its size, as the heuristic wants.
    weights
        The sum of the units of each one's neighbours that are left.
    fills
        See above; empty where the heuristic does not ask for them.
    marks
        Sets of variables: those with the latest mark, which is the last item.
    missing
        Scratch for a set of variables.
    touched, is_touched
        The variables whose costs may have changed, and whether one is among them; the last item of `touched` counts
        them.
    """

    alive: Ints
    units: Floats
    weights: Floats
    fills: Floats
    marks: Ints
    missing: Ints
    touched: Ints
    is_touched: Ints


class Heap(NamedTuple):
    """Variables by (cost, tie): `items` is a binary heap, and v is `items[places[v]]`."""

    items: Ints
    places: Ints
    costs: Floats
    ties: Ints


# --- lists of neighbours ---


@kernel
def _holders(scopes: Ints, scope_starts: Ints, num: int) -> tuple[Ints, Ints]:
    """The scopes that have v are `holders[starts[v]:starts[v + 1]]`."""
    counts = np.zeros(num + 1, dtype=np.int64)
    for variable in scopes:
        counts[variable + 1] += 1
    starts = np.cumsum(counts)
    places = starts.copy()
    holders = np.empty(scopes.size, dtype=np.int64)
    for scope in range(scope_starts.size - 1):
        for k in range(scope_starts[scope], scope_starts[scope + 1]):
            holders[places[scopes[k]]] = scope
            places[scopes[k]] += 1
    return holders, starts


@kernel
def _neighbors(scopes: Ints, scope_starts: Ints, num: int) -> Lists:
    """The variables that share a scope with each one."""
    holders, holder_starts = _holders(scopes, scope_starts, num)
    pool = np.empty(4 * scopes.size, dtype=np.int64)
    starts = np.empty(num, dtype=np.int64)
    lengths = np.empty(num, dtype=np.int64)
    seen = np.full(num, -1, dtype=np.int64)
    used = 0
    for variable in range(num):
        starts[variable] = used
        seen[variable] = variable
        for h in range(holder_starts[variable], holder_starts[variable + 1]):
            first, last = scope_starts[holders[h]], scope_starts[holders[h] + 1]
            pool = _grown(pool, used + last - first)
            for k in range(first, last):
                if seen[scopes[k]] != variable:
                    seen[scopes[k]] = variable
                    pool[used] = scopes[k]
                    used += 1
        lengths[variable] = used - starts[variable]
    return Lists(pool, starts, lengths, lengths.copy(), used)


@kernel
def _grown(array: Ints, needed: int) -> Ints:
    if needed <= array.size:
        return array
    larger = np.empty(2 * needed, dtype=np.int64)
    larger[: array.size] = array
    return larger


@kernel
def _items(lists: Lists, variable: int) -> Ints:
    """A view of one list."""
    return lists.pool[lists.starts[variable] : lists.starts[variable] + lists.lengths[variable]]


@kernel
def _prune(items: Ints, alive: Ints) -> int:
    """Bring to the front of a list those that are not eliminated; how many they are."""
    kept = 0
    for k in range(items.size):
        items[kept] = items[k]
        kept += alive[items[k]]
    return kept


@kernel
def _with_room(lists: Lists, alive: Ints, variable: int) -> Lists:
    """The lists with a full one pruned and, unless that halves it, moved to where it has twice the room."""
    pool, starts, lengths, capacities, used = lists
    lengths[variable] = _prune(_items(lists, variable), alive)
    if 2 * lengths[variable] < capacities[variable]:
        return lists
    start, length = starts[variable], lengths[variable]
    capacity = 2 * length + 2
    pool = _grown(pool, used + capacity)
    pool[used : used + length] = pool[start : start + length]
    starts[variable], capacities[variable] = used, capacity
    return Lists(pool, starts, lengths, capacities, used + capacity)


@kernel
def _mark_alive(pool: Ints, start: int, length: int, alive: Ints, marks: Ints) -> int:
    """Mark those of a list that are not eliminated, and drop the others; how many they are."""
    marks[-1] += 1
    mark, kept = marks[-1], start
    for k in range(start, start + length):
        other = pool[k]
        if alive[other]:
            marks[other] = mark
            pool[kept] = other
            kept += 1
    return kept - start


@kernel
def _unmarked(items: Ints, start: int, marks: Ints, found: Ints) -> int:
    """Write those of `items[start:]` that are not marked into `found`; how many they are."""
    mark, count = marks[-1], 0
    for k in range(start, items.size):
        found[count] = items[k]
        count += marks[items[k]] != mark
    return count


# --- the state ---


@kernel
def _units(sizes: Ints, heuristic: int) -> Floats:
    if heuristic == WEIGHTED_MIN_FILL:
        return sizes.astype(np.float64)
    return np.log(sizes) if heuristic == MIN_WEIGHT else np.ones(sizes.size)


@kernel
def _open(lists: Lists, sizes: Ints, heuristic: int, with_fills: bool) -> State:
    """The state before anything is eliminated."""
    num = sizes.size
    units = _units(sizes, heuristic)
    weights = np.zeros(num)
    for v in range(num):
        for other in _items(lists, v):
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


@kernel
def _touch(touched: Ints, is_touched: Ints, variable: int) -> None:
    touched[touched[-1]] = variable
    touched[-1] += 1 - is_touched[variable]
    is_touched[variable] = 1


# --- a heap of variables ---


@kernel
def _cost(units: Floats, weights: Floats, fills: Floats, heuristic: int, variable: int) -> float:
    """What the heuristic says of a variable: always a whole number, so that ties are ties."""
    if heuristic == MIN_NEIGHBORS:
        return float(weights[variable])
    if heuristic == MIN_WEIGHT:
        return float(np.rint(np.exp(weights[variable] + units[variable])))
    return float(fills[variable])


@kernel
def _ties(num: int, seed: int) -> Ints:
    """The variables' own numbers, or random ones, all different."""
    ties = np.arange(num)
    if seed:
        number = seed * 2654435761 + 12345
        for v in range(num):
            number = (number * 1103515245 + 12345) & 0x7FFFFFFF
            ties[v] = number
    return ties


@kernel
def _heap(state: State, heuristic: int, seed: int) -> Heap:
    units, weights, fills = state.units, state.weights, state.fills
    num = units.size
    items, places, costs, ties = np.arange(num), np.arange(num), np.empty(num), _ties(num, seed)
    for v in range(num):
        costs[v] = _cost(units, weights, fills, heuristic, v)
    for v in range(num):
        _sift(items, places, costs, ties, v + 1, v)
    return Heap(items, places, costs, ties)


@kernel
def _less(costs: Floats, ties: Ints, first: int, second: int) -> bool:
    return bool(costs[first] < costs[second] or (costs[first] == costs[second] and ties[first] < ties[second]))


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
def _pop(heap: Heap, count: int) -> int:
    """Take the first of `count` items out of the heap."""
    items, places, costs, ties = heap
    first = items[0]
    if count > 1:
        items[0] = items[count - 1]
        _sift(items, places, costs, ties, count - 1, 0)
    return int(first)


@kernel
def _reorder(heap: Heap, count: int, state: State, heuristic: int) -> None:
    """Move the touched variables to where their new costs put them."""
    units, weights, fills = state.units, state.weights, state.fills
    items, places, costs, ties = heap
    touched, is_touched = state.touched, state.is_touched
    for k in range(touched[-1]):
        variable = touched[k]
        is_touched[variable] = 0
        cost = _cost(units, weights, fills, heuristic, variable)
        if cost != costs[variable]:
            costs[variable] = cost
            _sift(items, places, costs, ties, count, places[variable])
    touched[-1] = 0


# --- elimination ---


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
def _change_fills(state: State, items: Ints, leaving: int, first: int, second: int) -> None:
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
def _connect(lists: Lists, state: State, leaving: int, first: int, missing: Ints) -> tuple[Lists, int]:
    """Join a neighbour of the variable that leaves with others; its own neighbours are marked."""
    pool, starts, lengths, capacities, _ = lists
    alive, units, weights, fills, marks = state.alive, state.units, state.weights, state.fills, state.marks
    work = 0
    for second in missing:
        if fills.size:
            items = pool[starts[second] : starts[second] + lengths[second]]
            _change_fills(state, items, leaving, first, second)
            work += items.size
        for one, other in ((first, second), (second, first)):
            if lengths[one] == capacities[one]:
                lists = _with_room(lists, alive, one)
                pool = lists.pool
            pool[starts[one] + lengths[one]] = other
            lengths[one] += 1
            weights[one] += units[other]
        marks[second] = marks[-1]
    return lists, work


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
        lengths[first] = _mark_alive(pool, starts[first], lengths[first], alive, marks)
        count = _unmarked(around, i + 1, marks, missing)
        if count:
            lists, looked = _connect(lists, state, leaving, first, missing[:count])
            pool = lists.pool
            work += looked
    return lists, work


@kernel
def _leave(state: State, leaving: int, around: Ints) -> None:
    """Take a variable whose neighbours are joined out of their weights and fills."""
    weights, units, fills = state.weights, state.units, state.fills
    touched, is_touched = state.touched, state.is_touched
    for u in around:
        weights[u] -= units[leaving]
        if fills.size:
            fills[u] -= units[leaving] * (weights[u] - (weights[leaving] - units[u]))
        _touch(touched, is_touched, u)


@kernel
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
    num, greedy = sizes.size, order.size == 0
    lists = _neighbors(scopes, scope_starts, num)
    state = _open(lists, sizes, heuristic, greedy and heuristic in (MIN_FILL, WEIGHTED_MIN_FILL))
    heap = _heap(state, heuristic if greedy else MIN_NEIGHBORS, seed)
    alive, fills, lengths = state.alive, state.fills, lists.lengths
    chosen, starts = np.empty(num, dtype=np.int64), np.zeros(num + 1, dtype=np.int64)
    cliques = np.empty(2 * lists.used + num, dtype=np.int64)
    cost, work, is_complete = 0.0, 0, False
    heap_work = int(_LEVEL_WORK * np.log2(num + 1))
    for step in range(num):
        v = _pop(heap, num - step) if greedy else order[step]
        chosen[step], alive[v] = v, 0
        cliques = _grown(cliques, starts[step] + lengths[v] + 1)
        size = _write_clique(cliques[starts[step] :], v, _items(lists, v), alive, lengths)
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
        _leave(state, v, around)
        if greedy:
            _reorder(heap, num - step - 1, state, heuristic)
    return chosen, cliques[: starts[num]], starts, cost, work
