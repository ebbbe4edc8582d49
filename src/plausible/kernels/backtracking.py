"""An assignment in which no factor is zero, by backtracking."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel

FOUND, NONE, GAVE_UP = 1, 0, -1


@inlined_kernel
def _is_possible(sizes: Ints, scopes: Ints, first: int, last: int, table: Floats, states: Ints) -> bool:
    """Whether a table has a positive entry that agrees with the states, -1 for those still open."""
    for entry in range(len(table)):
        if table[entry] > 0.0:
            rest, agrees = entry, True
            for s in range(last - 1, first - 1, -1):
                size, state = sizes[scopes[s]], states[scopes[s]]
                agrees = agrees and (state < 0 or state == rest % size)
                rest //= size
            if agrees:
                return True
    return False


@kernel(steps=lambda *arguments: 10 * min(arguments[-2], 10 * arguments[4].size))
def find_possible(
    sizes: Ints,
    scope_starts: Ints,
    scopes: Ints,
    table_starts: Ints,
    tables: Floats,
    use_starts: Ints,
    uses: Ints,
    offsets: Ints,
    max_entries: int,
    states: Ints,
) -> int:
    """Give the variables states in turn, each checked at once with all factors that have it; FOUND, NONE or GAVE_UP.

    The factors of variable v are `uses[use_starts[v]:use_starts[v + 1]]`; its first state to try is `offsets[v]`.
    """
    states[:] = -1
    tried = np.zeros(len(sizes), dtype=np.int64)
    depth, seen = 0, 0
    while 0 <= depth < len(sizes):
        if tried[depth] == sizes[depth]:
            tried[depth], states[depth] = 0, -1
            depth -= 1
            continue
        states[depth] = (offsets[depth] + tried[depth]) % sizes[depth]
        tried[depth] += 1
        fits = True
        for u in range(use_starts[depth], use_starts[depth + 1]):
            f = uses[u]
            table = tables[table_starts[f] : table_starts[f + 1]]
            seen += len(table)
            if fits and not _is_possible(sizes, scopes, scope_starts[f], scope_starts[f + 1], table, states):
                fits = False
        if seen > max_entries:
            return GAVE_UP
        if fits:
            depth += 1
    return FOUND if depth == len(sizes) else NONE
