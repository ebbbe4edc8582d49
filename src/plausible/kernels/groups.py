"""Lists in one array, `items[starts[k]:starts[k + 1]]` being the k-th one: turned round, and multiplied up."""

from __future__ import annotations

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
