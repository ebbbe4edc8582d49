"""Assignments, depth first: one in which no factor is zero, and the best one, bounded by tables made beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.tolerances import SCORE_NOISE
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


class BoundingTables(NamedTuple):
    """What bounds: variables are numbered in the order in which they are set.

    The entries `logs[table_starts[t]:table_starts[t + 1]]` of table t are over the variables
    `scopes[scope_starts[t]:scope_starts[t + 1]]`, with `strides`. To set variable d changes a bound by the entries of
    the tables `added` at d, minus those of the tables `taken` away there, which bounded them until then.
    """

    sizes: Ints
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    table_starts: Ints
    logs: Floats
    added_starts: Ints
    added: Ints
    taken_starts: Ints
    taken: Ints


class Path(NamedTuple):
    """The states set, what is open beside them, and the best assignment.

    `bounds[d, s]` bounds what state s of variable d can lead to, all before it set; -inf where that was followed.
    """

    states: Ints
    bounds: Floats
    best: Ints


@kernel
def _entry(tables: BoundingTables, table: int, states: Ints) -> float:
    """A table's entry at the states."""
    cell = tables.table_starts[table]
    for e in range(tables.scope_starts[table], tables.scope_starts[table + 1]):
        cell += tables.strides[e] * states[tables.scopes[e]]
    return float(tables.logs[cell])


@kernel
def _open(tables: BoundingTables, path: Path, depth: int, bound: float) -> None:
    """Bound all states of the variable at a depth, given the bound of those before it."""
    states, bounds = path.states, path.bounds
    for k in range(tables.taken_starts[depth], tables.taken_starts[depth + 1]):
        bound -= _entry(tables, tables.taken[k], states)
    for s in range(bounds.shape[1]):
        states[depth] = s
        bounds[depth, s] = bound if s < tables.sizes[depth] else -np.inf
        for k in range(tables.added_starts[depth], tables.added_starts[depth + 1]):
            if bounds[depth, s] > -np.inf:
                bounds[depth, s] += _entry(tables, tables.added[k], states)


@kernel(steps=lambda tables, path, depth, value, num_nodes: 20 * num_nodes)
def depth_first(tables: BoundingTables, path: Path, depth: int, value: float, num_nodes: int) -> tuple[int, float, int]:
    """Go on from a depth, with the value of the best assignment, for some nodes: the depth, value and nodes then.

    The depth is -1 at the end. `path` is brought up to date.
    """
    bounds = path.bounds
    for node in range(num_nodes):
        cutoff = value + SCORE_NOISE * max(1.0, abs(value)) if value > -np.inf else -np.inf
        state = -1
        while depth >= 0 and state < 0:
            for s in range(bounds.shape[1]):
                if bounds[depth, s] > (cutoff if state < 0 else bounds[depth, state]):
                    state = s
            depth -= state < 0
        if depth < 0:
            return depth, value, node
        bound = bounds[depth, state]
        bounds[depth, state] = -np.inf
        path.states[depth] = state
        if depth + 1 == tables.sizes.size:
            value = bound
            path.best[:] = path.states
        else:
            depth += 1
            _open(tables, path, depth, bound)
    return depth, value, num_nodes
