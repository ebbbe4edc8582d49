"""Depth-first branch and bound over assignments, bounded by tables made beforehand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["depth_first"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _entry(table: int, scope_starts: Ints, scopes: Ints, strides: Ints, table_starts: Ints, states: Ints) -> int:
    """The number of a table's entry at the states."""
    cell = table_starts[table]
    for e in range(scope_starts[table], scope_starts[table + 1]):
        cell += strides[e] * states[scopes[e]]
    return int(cell)


@kernel
def depth_first(
    sizes: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    table_starts: Ints,
    logs: Floats,
    added_starts: Ints,
    added: Ints,
    taken_starts: Ints,
    taken: Ints,
    states: Ints,
    bounds: Floats,
    depth: int,
    num_nodes: int,
    best: Ints,
    value: Floats,
) -> int:
    """Go on from a depth for some nodes, and return the depth then, -1 at the end; `value`: that of `best`, and nodes.

    Variables are numbered in the order in which they are set. `bounds[d, s]` bounds what state s of variable d can lead
    to, all before it set; -inf where that was followed already. To set variable d changes a bound by the entries of
    the tables `added` at d, minus those of the tables `taken` away there, which bounded them until then.
    """
    for _ in range(num_nodes):
        cutoff = value[0] + 1e-12 * max(1.0, abs(value[0])) if value[0] > -np.inf else -np.inf
        state = -1
        while depth >= 0 and state < 0:
            for s in range(bounds.shape[1]):
                if bounds[depth, s] > (cutoff if state < 0 else bounds[depth, state]):
                    state = s
            depth -= state < 0
        if depth < 0:
            break
        bound = bounds[depth, state]
        bounds[depth, state] = -np.inf
        states[depth] = state
        value[1] += 1
        depth += 1
        if depth == sizes.size:
            value[0] = bound
            best[:] = states
            depth -= 1
            continue
        for k in range(taken_starts[depth], taken_starts[depth + 1]):
            bound -= logs[_entry(taken[k], scope_starts, scopes, strides, table_starts, states)]
        for s in range(bounds.shape[1]):
            states[depth] = s
            bounds[depth, s] = bound if s < sizes[depth] else -np.inf
            for k in range(added_starts[depth], added_starts[depth + 1]):
                if bounds[depth, s] > -np.inf:
                    entry = _entry(added[k], scope_starts, scopes, strides, table_starts, states)
                    bounds[depth, s] += logs[entry]
    return depth
