"""Greedy elimination of numbered variables, and the cliques that it leaves.

Neighbours are lists in one pool: those of v are `pool[starts[v]:starts[v] + lengths[v]]`. Eliminated ones stay in the
lists until a scan meets them; `degrees` and `weights` count those that are left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["MIN_FILL", "MIN_NEIGHBORS", "MIN_WEIGHT", "WEIGHTED_MIN_FILL", "eliminate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_NEIGHBORS, MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT = range(4)


@kernel
def _neighbors(scopes: Ints, scope_starts: Ints, num: int) -> tuple[Ints, Ints, Ints]:
    """The variables that share a scope with each one: (pool, starts, lengths)."""
    counts = np.zeros(num + 1, dtype=np.int64)
    for variable in scopes:
        counts[variable + 1] += 1
    starts = np.cumsum(counts)
    holders = np.empty(scopes.size, dtype=np.int64)
    places = starts[:-1].copy()
    for scope in range(scope_starts.size - 1):
        for k in range(scope_starts[scope], scope_starts[scope + 1]):
            holders[places[scopes[k]]] = scope
            places[scopes[k]] += 1
    pool = np.empty(max(16, 4 * scopes.size), dtype=np.int64)
    list_starts = np.empty(num, dtype=np.int64)
    lengths = np.zeros(num, dtype=np.int64)
    seen = np.full(num, -1, dtype=np.int64)
    used = 0
    for variable in range(num):
        list_starts[variable] = used
        seen[variable] = variable
        for h in range(starts[variable], starts[variable + 1]):
            scope = holders[h]
            for k in range(scope_starts[scope], scope_starts[scope + 1]):
                other = scopes[k]
                if seen[other] != variable:
                    seen[other] = variable
                    if used == pool.size:
                        pool = _grown(pool)
                    pool[used] = other
                    used += 1
        lengths[variable] = used - list_starts[variable]
    return pool[:used].copy(), list_starts, lengths


@kernel
def _grown(array: Ints) -> Ints:
    larger = np.empty(2 * array.size + 16, dtype=np.int64)
    larger[: array.size] = array
    return larger


# --- a heap of variables by (cost, tie) ---


@kernel
def _less(first: int, second: int, costs: Floats, ties: Ints) -> bool:
    return bool(costs[first] < costs[second] or (costs[first] == costs[second] and ties[first] < ties[second]))


@kernel
def _sift(heap: Ints, places: Ints, count: int, place: int, costs: Floats, ties: Ints) -> None:
    """Move the variable at `place` up or down to where it belongs."""
    variable = heap[place]
    while place > 0 and _less(variable, heap[(place - 1) // 2], costs, ties):
        heap[place] = heap[(place - 1) // 2]
        places[heap[place]] = place
        place = (place - 1) // 2
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _less(heap[child + 1], heap[child], costs, ties):
            child += 1
        if not _less(heap[child], variable, costs, ties):
            break
        heap[place] = heap[child]
        places[heap[place]] = place
        place = child
    heap[place] = variable
    places[variable] = place


# --- costs ---


@kernel
def _fill(variable: int, pool: Ints, starts: Ints, lengths: Ints, sizes: Ints, alive: Ints, marks: Ints) -> float:
    """Σ over the pairs of neighbours that are not joined of the product of their weights."""
    marks[-1] += 1
    mark = marks[-1]
    total, squares = 0.0, 0.0
    for k in range(starts[variable], starts[variable] + lengths[variable]):
        other = pool[k]
        if alive[other]:
            marks[other] = mark
            total += sizes[other]
            squares += sizes[other] * sizes[other]
    joined = 0.0
    for k in range(starts[variable], starts[variable] + lengths[variable]):
        other = pool[k]
        if alive[other]:
            for j in range(starts[other], starts[other] + lengths[other]):
                if marks[pool[j]] == mark and alive[pool[j]]:
                    joined += sizes[other] * sizes[pool[j]]
    return (total * total - squares - joined) / 2.0


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
        cost is the entries of all cliques; the work is how many list items were looked at.
    """
    num = sizes.size
    pool, starts, lengths = _neighbors(scopes, scope_starts, num)
    used = pool.size
    capacities = lengths.copy()
    alive = np.ones(num, dtype=np.int64)
    marks = np.zeros(num + 1, dtype=np.int64)  # the last is the current mark
    degrees = lengths.copy()
    weights = np.zeros(num)  # Σ of the neighbours' sizes
    fills = np.zeros(num)  # Σ over missing pairs of neighbours
    costs = np.zeros(num)
    ties = np.arange(num)
    greedy = order.size == 0
    weighs_fill = heuristic in (MIN_FILL, WEIGHTED_MIN_FILL)
    units = sizes if heuristic == WEIGHTED_MIN_FILL else np.ones(num, dtype=np.int64)
    if seed:
        state = seed * 2654435761 + 12345
        for v in range(num):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            ties[v] = state
    work = 0
    for v in range(num):
        for k in range(starts[v], starts[v] + lengths[v]):
            weights[v] += units[pool[k]]
    heap = np.arange(num)
    places = np.arange(num)
    count = num if greedy else 0
    if greedy:
        for v in range(num):
            if weighs_fill:
                fills[v] = _fill(v, pool, starts, lengths, units, alive, marks)
            costs[v] = _cost(v, heuristic, pool, starts, lengths, sizes, alive, degrees, fills)
        for place in range(num):
            _sift(heap, places, place + 1, place, costs, ties)
    chosen = np.empty(num, dtype=np.int64)
    cliques = np.empty(max(16, 2 * used + num), dtype=np.int64)
    clique_starts = np.zeros(num + 1, dtype=np.int64)
    touched = np.empty(num, dtype=np.int64)
    total = 0.0
    for step in range(num):
        v = heap[0] if greedy else order[step]
        if greedy:
            count -= 1
            if count:
                heap[0] = heap[count]
                places[heap[0]] = 0
                _sift(heap, places, count, 0, costs, ties)
        chosen[step] = v
        alive[v] = 0
        first = clique_starts[step]
        last = first
        while last + lengths[v] + 1 > cliques.size:
            cliques = _grown(cliques)
        cliques[last] = v
        last += 1
        entries = float(sizes[v])
        for k in range(starts[v], starts[v] + lengths[v]):
            if alive[pool[k]]:
                cliques[last] = pool[k]
                last += 1
                entries *= sizes[pool[k]]
        work += lengths[v]
        clique_starts[step + 1] = last
        total += entries
        if total > limit:
            return chosen, cliques[:last], clique_starts, np.inf, work
        num_touched = 0
        around = cliques[first + 1 : last]
        if greedy and weighs_fill and fills[v] == 0.0:  # its neighbours are joined: they only lose it
            for u in around:
                fills[u] -= units[v] * (weights[u] - units[v] - (weights[v] - units[u]))
                degrees[u] -= 1
                weights[u] -= units[v]
                touched[num_touched] = u
                num_touched += 1
        else:
            for u in around:
                marks[-1] += 1
                mark = marks[-1]
                marks[u] = mark
                kept = starts[u]
                for k in range(starts[u], starts[u] + lengths[u]):
                    if alive[pool[k]]:
                        marks[pool[k]] = mark
                        pool[kept] = pool[k]
                        kept += 1
                work += lengths[u] + around.size
                lengths[u] = kept - starts[u]
                missing = 0
                for other in around:
                    if marks[other] != mark:
                        missing += 1
                if lengths[u] + missing > capacities[u]:
                    capacities[u] = 2 * (lengths[u] + missing)
                    while used + capacities[u] > pool.size:
                        pool = _grown(pool)
                    pool[used : used + lengths[u]] = pool[starts[u] : starts[u] + lengths[u]]
                    starts[u] = used
                    used += capacities[u]
                weights[u] -= units[v]
                for other in around:
                    if marks[other] != mark:
                        pool[starts[u] + lengths[u]] = other
                        lengths[u] += 1
                        weights[u] += units[other]
                degrees[u] = lengths[u]
            if greedy:
                marks[-1] += 1
                mark = marks[-1]
                for u in around:
                    if marks[u] != mark:
                        marks[u] = mark
                        touched[num_touched] = u
                        num_touched += 1
                    if weighs_fill:
                        for k in range(starts[u], starts[u] + lengths[u]):
                            if alive[pool[k]] and marks[pool[k]] != mark:
                                marks[pool[k]] = mark
                                touched[num_touched] = pool[k]
                                num_touched += 1
                if weighs_fill:
                    for k in range(num_touched):
                        u = touched[k]
                        fills[u] = _fill(u, pool, starts, lengths, units, alive, marks)
                        work += degrees[u] * degrees[u]
        for k in range(num_touched):
            u = touched[k]
            cost = _cost(u, heuristic, pool, starts, lengths, sizes, alive, degrees, fills)
            if cost != costs[u]:
                costs[u] = cost
                _sift(heap, places, count, places[u], costs, ties)
    return chosen, cliques[: clique_starts[num]], clique_starts, total, work


@kernel
def _cost(
    v: int,
    heuristic: int,
    pool: Ints,
    starts: Ints,
    lengths: Ints,
    sizes: Ints,
    alive: Ints,
    degrees: Ints,
    fills: Floats,
) -> float:
    if heuristic == MIN_NEIGHBORS:
        return float(degrees[v])
    if heuristic == MIN_WEIGHT:
        entries = float(sizes[v])
        for k in range(starts[v], starts[v] + lengths[v]):
            if alive[pool[k]]:
                entries *= sizes[pool[k]]
        return entries
    return float(fills[v])
