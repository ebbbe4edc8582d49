"""Loops for the largest sum of log factors: messages that shift values between factors, and coordinate ascent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel

#: Rounding must not make an ascent go round in circles; those that end take a few sweeps.
_MOST_SWEEPS = 200


class SumLayout(NamedTuple):
    """Where everything lies; an *entry* is a variable of a factor, in scope order."""

    #: The logarithms of the tables, a low number for that of zero, and where each begins.
    logs: Floats
    table_starts: Ints
    #: The variable of each entry, and where those of each factor begin.
    scopes: Ints
    scope_starts: Ints
    #: The factor of each entry, and the step of its variable in the factor's table.
    owners: Ints
    strides: Ints
    #: Where the numbers of each variable begin, one for each state, and those of each entry.
    belief_starts: Ints
    message_starts: Ints
    #: The entries of variable v are `entries[entry_starts[v]:entry_starts[v + 1]]`.
    entry_starts: Ints
    entries: Ints


# --- messages ---


@kernel(steps=lambda layout, *_: 2 * layout.logs.size)
def shift_all(layout: SumLayout, backward: bool, beliefs: Floats, messages: Floats) -> None:
    """One sweep of MPLP updates over all factors, in `beliefs` and `messages`, the sums of a variable's messages.

    A factor takes back what it sent, and shares its max-marginals out evenly among its variables.
    """
    num_factors = layout.table_starts.size - 1
    table = np.empty(np.max(np.diff(layout.table_starts)) if num_factors > 0 else 0)
    for turn in range(num_factors):
        f = num_factors - 1 - turn if backward else turn
        start, size = layout.table_starts[f], layout.table_starts[f + 1] - layout.table_starts[f]
        for cell in range(size):
            table[cell] = layout.logs[start + cell]
        first, last = layout.scope_starts[f], layout.scope_starts[f + 1]
        for e in range(first, last):
            v, message = layout.scopes[e], messages[layout.message_starts[e] : layout.message_starts[e + 1]]
            others = beliefs[layout.belief_starts[v] : layout.belief_starts[v + 1]]
            others -= message
            _add_along(table, size, others, layout.strides[e])
        for e in range(first, last):
            v, message = layout.scopes[e], messages[layout.message_starts[e] : layout.message_starts[e + 1]]
            belief = beliefs[layout.belief_starts[v] : layout.belief_starts[v + 1]]
            message[:], belief[:] = -belief, -np.inf
            _max_along(table, size, belief, layout.strides[e])
            for s in range(belief.size):
                belief[s] /= last - first
                message[s] += belief[s]


@kernel
def _add_along(table: Floats, size: int, numbers: Floats, stride: int) -> None:
    """Add a number for each state of an axis to all entries with this state."""
    cell = 0
    while cell < size:
        for s in range(numbers.size):
            for _ in range(stride):
                table[cell] += numbers[s]
                cell += 1


@kernel
def _max_along(table: Floats, size: int, numbers: Floats, stride: int) -> None:
    """Raise a number for each state of an axis to the largest entry with this state."""
    cell = 0
    while cell < size:
        for s in range(numbers.size):
            for _ in range(stride):
                numbers[s] = max(numbers[s], table[cell])
                cell += 1


# --- coordinate ascent ---


@kernel(steps=lambda layout, states: 20 * layout.scopes.size)
def ascend(layout: SumLayout, states: Ints) -> float:
    """Change one state after the other, in `states`, while that makes the sum larger; return the sum."""
    cells = layout.table_starts[:-1].copy()
    for e in range(layout.scopes.size):
        cells[layout.owners[e]] += layout.strides[e] * states[layout.scopes[e]]
    for _ in range(_MOST_SWEEPS):
        num_changes = 0
        for v in range(states.size):
            best = _best_state(layout, cells, v, states[v])
            if best != states[v]:
                num_changes += 1
                for k in range(layout.entry_starts[v], layout.entry_starts[v + 1]):
                    e = layout.entries[k]
                    cells[layout.owners[e]] += (best - states[v]) * layout.strides[e]
                states[v] = best
        if num_changes == 0:
            break
    total = 0.0
    for cell in cells:
        total += layout.logs[cell]
    return total


@kernel
def _best_state(layout: SumLayout, cells: Ints, v: int, current: int) -> int:
    """The state of a variable with the largest sum, those of the others as they are; the current one in a tie."""
    best_state, best = current, 0.0
    for s in range(layout.belief_starts[v + 1] - layout.belief_starts[v]):
        gain = 0.0
        for k in range(layout.entry_starts[v], layout.entry_starts[v + 1]):
            e = layout.entries[k]
            cell = cells[layout.owners[e]]
            gain += layout.logs[cell + (s - current) * layout.strides[e]] - layout.logs[cell]
        if gain > best + 1e-12:
            best_state, best = s, gain
    return best_state
