"""Lists in one array, `items[starts[k]:starts[k + 1]]` being the k-th one: turned round, multiplied up, and grown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel


@kernel
def grouped(keys: Ints, num: int) -> tuple[Ints, Ints]:
    """The places at which key k stands are `places[starts[k]:starts[k + 1]]`; negative keys are left out."""
    starts = np.zeros(num + 1, dtype=np.int64)
    for key in keys:
        if key >= 0:
            starts[key + 1] += 1
    starts = np.cumsum(starts)
    places, free = np.empty(starts[-1], dtype=np.int64), starts.copy()
    for place in range(keys.size):
        if keys[place] >= 0:
            places[free[keys[place]]] = place
            free[keys[place]] += 1
    return starts, places


@kernel
def holders_of(members: Ints, starts: Ints, num: int) -> tuple[Ints, Ints]:
    """The lists that have v are `holders[holder_starts[v]:holder_starts[v + 1]]`, for v below `num`."""
    holder_starts, holders = grouped(members, num)
    owners = np.empty(members.size, dtype=np.int64)
    for c in range(starts.size - 1):
        owners[starts[c] : starts[c + 1]] = c
    for h in range(holders.size):
        holders[h] = owners[holders[h]]
    return holder_starts, holders


@kernel
def products(variables: Ints, starts: Ints, sizes: Ints) -> Floats:
    """The entries of tables over `variables[starts[i]:starts[i + 1]]`; floats, for they may be beyond all bounds."""
    entries = np.ones(starts.size - 1)
    for i in range(entries.size):
        for k in range(starts[i], starts[i + 1]):
            entries[i] *= sizes[variables[k]]
    return entries


class Lists(NamedTuple):
    """The neighbours of v are `pool[starts[v]:starts[v] + lengths[v]]`; eliminated ones may be among them.

    There is room for `capacities[v]`, and `pool[used:]` is free: a list that grows beyond its room moves there.
    """

    pool: Ints
    starts: Ints
    lengths: Ints
    capacities: Ints
    used: int


@kernel
def neighbors(scopes: Ints, scope_starts: Ints, num: int) -> Lists:
    """The variables that share a scope with each one."""
    holder_starts, holders = holders_of(scopes, scope_starts, num)
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
            pool = grown(pool, used + last - first)
            for k in range(first, last):
                if seen[scopes[k]] != variable:
                    seen[scopes[k]] = variable
                    pool[used] = scopes[k]
                    used += 1
        lengths[variable] = used - starts[variable]
    return Lists(pool, starts, lengths, lengths.copy(), used)


@kernel
def grown(array: Ints, needed: int) -> Ints:
    if needed <= array.size:
        return array
    larger = np.empty(2 * needed, dtype=np.int64)
    larger[: array.size] = array
    return larger


@kernel
def items_of(lists: Lists, variable: int) -> Ints:
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
def with_room(lists: Lists, alive: Ints, variable: int) -> Lists:
    """The lists with a full one pruned and, unless that halves it, moved to where it has twice the room."""
    pool, starts, lengths, capacities, used = lists
    lengths[variable] = _prune(items_of(lists, variable), alive)
    if 2 * lengths[variable] < capacities[variable]:
        return lists
    start, length = starts[variable], lengths[variable]
    capacity = 2 * length + 2
    pool = grown(pool, used + capacity)
    pool[used : used + length] = pool[start : start + length]
    starts[variable], capacities[variable] = used, capacity
    return Lists(pool, starts, lengths, capacities, used + capacity)


@kernel
def mark_alive(pool: Ints, start: int, length: int, alive: Ints, marks: Ints) -> int:
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
def unmarked(items: Ints, start: int, marks: Ints, found: Ints) -> int:
    """Write those of `items[start:]` that are not marked into `found`; how many they are."""
    mark, count = marks[-1], 0
    for k in range(start, items.size):
        found[count] = items[k]
        count += marks[items[k]] != mark
    return count
