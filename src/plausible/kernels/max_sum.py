"""Loops for the largest sum of log factors: messages that shift values between factors, and coordinate ascent.

In both of them `logs` are the logarithms of the tables, with a low number for that of zero; an *entry* is a variable of
a factor, a place in `scopes`; `strides` has the step of each entry in its table, `message_starts` where its message
begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["ascend", "shift_all"]

#: Rounding must not make an ascent go round in circles; those that end take a few sweeps.
_MOST_SWEEPS = 200

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def shift_all(
    logs: Floats,
    table_starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    sizes: Ints,
    belief_starts: Ints,
    message_starts: Ints,
    backward: bool,
    beliefs: Floats,
    messages: Floats,
) -> None:
    """One sweep of MPLP updates over all factors, in `beliefs` and `messages`, the sums of a variable's messages.

    A factor takes back what it sent, and shares its max-marginals out evenly among its variables.
    """
    num_factors = table_starts.size - 1
    table = np.empty(0)
    for turn in range(num_factors):
        f = num_factors - 1 - turn if backward else turn
        if table.size != table_starts[f + 1] - table_starts[f]:
            table = np.empty(table_starts[f + 1] - table_starts[f])
        for cell in range(table.size):
            table[cell] = logs[table_starts[f] + cell]
        arity = scope_starts[f + 1] - scope_starts[f]
        for e in range(scope_starts[f], scope_starts[f + 1]):
            v, message = scopes[e], messages[message_starts[e] : message_starts[e + 1]]
            others = beliefs[belief_starts[v] : belief_starts[v + 1]]
            for s in range(sizes[v]):
                others[s] -= message[s]
            _add_along(table, others, strides[e])
        for e in range(scope_starts[f], scope_starts[f + 1]):
            v, message = scopes[e], messages[message_starts[e] : message_starts[e + 1]]
            belief = beliefs[belief_starts[v] : belief_starts[v + 1]]
            for s in range(sizes[v]):
                message[s] = -belief[s]
                belief[s] = -np.inf
            _max_along(table, belief, strides[e])
            for s in range(sizes[v]):
                belief[s] /= arity
                message[s] += belief[s]


@kernel
def _add_along(table: Floats, numbers: Floats, stride: int) -> None:
    """Add a number for each state of an axis to all entries with this state."""
    cell = 0
    while cell < table.size:
        for s in range(numbers.size):
            for _ in range(stride):
                table[cell] += numbers[s]
                cell += 1


@kernel
def _max_along(table: Floats, numbers: Floats, stride: int) -> None:
    """Raise a number for each state of an axis to the largest entry with this state."""
    cell = 0
    while cell < table.size:
        for s in range(numbers.size):
            for _ in range(stride):
                numbers[s] = max(numbers[s], table[cell])
                cell += 1


@kernel
def ascend(
    logs: Floats,
    table_starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    sizes: Ints,
    entry_starts: Ints,
    entries: Ints,
    owners: Ints,
    states: Ints,
) -> float:
    """Change one state after the other, in `states`, while that makes the sum larger; return the sum.

    The entries of variable v are `entries[entry_starts[v]:entry_starts[v + 1]]`; `owners` has the factor of each.
    """
    cells = np.empty(table_starts.size - 1, dtype=np.int64)
    for f in range(cells.size):
        cells[f] = table_starts[f]
    for e in range(scopes.size):
        cells[owners[e]] += strides[e] * states[scopes[e]]
    changed = True
    for _ in range(_MOST_SWEEPS):
        if not changed:
            break
        changed = False
        for v in range(sizes.size):
            old = best_state = states[v]
            best = 0.0
            for s in range(sizes[v]):
                gain = 0.0
                for k in range(entry_starts[v], entry_starts[v + 1]):
                    e = entries[k]
                    gain += logs[cells[owners[e]] + (s - old) * strides[e]] - logs[cells[owners[e]]]
                if gain > best + 1e-12:
                    best, best_state = gain, s
            if best_state != old:
                changed = True
                states[v] = best_state
                for k in range(entry_starts[v], entry_starts[v + 1]):
                    e = entries[k]
                    cells[owners[e]] += (best_state - old) * strides[e]
    total = 0.0
    for f in range(cells.size):
        total += logs[cells[f]]
    return total
