"""Flips of one variable at a time, the effect of every possible flip kept up to date.

A table entry that is zero has logarithm 0 here and a mark in `zeros`: zeros are counted, other logarithms are added.
An assignment's score is its sum of logarithms minus `penalty` for each zero. State s of variable v has the number
`starts[v] + s`: `sums` and `counts` say what the tables with v would add to both if v were in state s, all else as is.
`nodes` is a tournament of variables over `gains`, the best gain of any allowed flip of each; the winner is `nodes[1]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["IDLE", "MAXIMUM", "RUNNING", "STUCK", "climb", "fill", "wander"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Marks = NDArray[np.uint8]

#: What the runs return: all flips made, no flip that improves, no flip that is allowed, patience over.
RUNNING, MAXIMUM, STUCK, IDLE = 0, 1, 2, 3


@kernel
def fill(
    starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    cells: Ints,
    logs: Floats,
    zeros: Marks,
    states: Ints,
    sums: Floats,
    counts: Ints,
) -> None:
    """Set `cells`, the entry of each table at the states (its first entry when called), and `sums` and `counts`."""
    sums[:] = 0.0
    counts[:] = 0
    for f in range(cells.size):
        for e in range(scope_starts[f], scope_starts[f + 1]):
            cells[f] += strides[e] * states[scopes[e]]
        for e in range(scope_starts[f], scope_starts[f + 1]):
            v = scopes[e]
            first = cells[f] - strides[e] * states[v]
            for s in range(starts[v + 1] - starts[v]):
                sums[starts[v] + s] += logs[first + s * strides[e]]
                counts[starts[v] + s] += zeros[first + s * strides[e]]


@kernel
def _choose(
    v: int,
    starts: Ints,
    penalty: float,
    states: Ints,
    sums: Floats,
    counts: Ints,
    barred: Ints,
    step: int,
    gains: Floats,
    targets: Ints,
) -> None:
    """The best flip of a variable to a state that is not barred any more; a gain of -inf where there is none."""
    own = starts[v] + states[v]
    gains[v] = -np.inf
    for k in range(starts[v], starts[v + 1]):
        if k != own and barred[k] < step:
            gain = (sums[k] - sums[own]) - penalty * (counts[k] - counts[own])
            if gain > gains[v]:
                gains[v], targets[v] = gain, k - starts[v]


@kernel
def _tournament(gains: Floats) -> Ints:
    """All matches: node k is the better one of nodes 2k and 2k + 1, the leaves are the variables; -1 for nobody."""
    size = 1
    while size < gains.size:
        size *= 2
    nodes = np.full(2 * size, -1)
    nodes[size : size + gains.size] = np.arange(gains.size)
    for node in range(size - 1, 0, -1):
        left, right = nodes[2 * node], nodes[2 * node + 1]
        nodes[node] = right if right >= 0 and gains[right] > gains[left] else left
    return nodes


@kernel
def _lift(nodes: Ints, gains: Floats, v: int) -> None:
    """Play the matches of one variable again, up to the root; the lower number wins a tie."""
    node = (nodes.size // 2 + v) // 2
    while node >= 1:
        left, right = nodes[2 * node], nodes[2 * node + 1]
        winner = right if right >= 0 and gains[right] > gains[left] else left
        if winner == nodes[node] and winner != v:  # v lost here before, too: nothing changes above
            break
        nodes[node] = winner
        node //= 2


@kernel
def _flip(
    v: int,
    state: int,
    starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    entry_starts: Ints,
    entries: Ints,
    tables: Ints,
    cells: Ints,
    logs: Floats,
    zeros: Marks,
    states: Ints,
    sums: Floats,
    counts: Ints,
) -> None:
    """Put a variable into a state, and tell those that share a table with it."""
    for place in range(entry_starts[v], entry_starts[v + 1]):
        f = tables[entries[place]]
        before = cells[f]
        after = before + strides[entries[place]] * (state - states[v])
        cells[f] = after
        for e in range(scope_starts[f], scope_starts[f + 1]):
            u = scopes[e]
            if u != v:
                for s in range(starts[u + 1] - starts[u]):
                    move = strides[e] * (s - states[u])
                    sums[starts[u] + s] += logs[after + move] - logs[before + move]
                    counts[starts[u] + s] += np.int64(zeros[after + move]) - np.int64(zeros[before + move])
    states[v] = state


@kernel
def climb(
    starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    entry_starts: Ints,
    entries: Ints,
    tables: Ints,
    cells: Ints,
    logs: Floats,
    zeros: Marks,
    penalty: float,
    states: Ints,
    sums: Floats,
    counts: Ints,
    barred: Ints,
    ring: Ints,
    patience: int,
    num_flips: int,
    progress: Floats,
    best: Ints,
) -> int:
    """The best allowed flip, again and again; in `progress`: score, best score, steps, idle steps.

    Where `ring` is empty only flips that improve are made. Else the state that a flip leaves is barred for the next
    `ring.size - 1` steps; `ring` has the variables of the last flips, each looked at again when its time is over.
    """
    is_tabu = ring.size > 0
    step = int(progress[2])
    gains, targets = np.empty(states.size), np.zeros(states.size, dtype=np.int64)
    for v in range(states.size):
        _choose(v, starts, penalty, states, sums, counts, barred, step, gains, targets)
    nodes = _tournament(gains)
    is_best = False
    reason = RUNNING
    for _ in range(num_flips):
        if is_tabu and ring[step % ring.size] >= 0:
            v = ring[step % ring.size]
            _choose(v, starts, penalty, states, sums, counts, barred, step, gains, targets)
            _lift(nodes, gains, v)
        winner = nodes[1]
        if is_tabu and progress[3] >= patience:
            reason = IDLE
        elif winner < 0 or gains[winner] == -np.inf:
            reason = STUCK
        elif not is_tabu and not gains[winner] > 1e-12 * max(1.0, abs(progress[0])):
            reason = MAXIMUM
        if reason != RUNNING:
            break
        better = progress[0] + gains[winner] - progress[1] > 1e-12 * max(1.0, abs(progress[1]))
        if is_best and not better:  # copied only when left, not at each step of an ascent
            best[:] = states
        is_best = better
        progress[0] += gains[winner]
        if is_tabu:
            barred[starts[winner] + states[winner]] = step + ring.size - 1
            ring[step % ring.size] = winner
        _flip(
            winner,
            targets[winner],
            starts,
            scope_starts,
            scopes,
            strides,
            entry_starts,
            entries,
            tables,
            cells,
            logs,
            zeros,
            states,
            sums,
            counts,
        )
        step += 1
        progress[2] = step
        progress[3] = 0 if better else progress[3] + 1
        if better:
            progress[1] = progress[0]
        for place in range(entry_starts[winner], entry_starts[winner + 1]):
            f = tables[entries[place]]
            for e in range(scope_starts[f], scope_starts[f + 1]):
                if scopes[e] != winner:
                    _choose(scopes[e], starts, penalty, states, sums, counts, barred, step, gains, targets)
                    _lift(nodes, gains, scopes[e])
        _choose(winner, starts, penalty, states, sums, counts, barred, step, gains, targets)
        _lift(nodes, gains, winner)
    if is_best:
        best[:] = states
    return reason


@kernel
def _number(seed: NDArray[np.uint64]) -> float:
    """The next random number between 0 and 1 (SplitMix64)."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    z = seed[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@kernel
def wander(
    starts: Ints,
    scope_starts: Ints,
    scopes: Ints,
    strides: Ints,
    entry_starts: Ints,
    entries: Ints,
    tables: Ints,
    cells: Ints,
    logs: Floats,
    zeros: Marks,
    penalty: float,
    states: Ints,
    sums: Floats,
    counts: Ints,
    flips: Ints,
    temperatures: Floats,
    seed: NDArray[np.uint64],
    progress: Floats,
    best: Ints,
) -> int:
    """A random flip at each temperature, made with probability min(1, exp(gain / τ)); how many were made.

    At τ = 0 only flips that improve are made. `flips` has each variable once for each of its states but one;
    `progress` is as in `climb`, each attempt a step.
    """
    is_best = False
    num_made = 0
    for t in range(temperatures.size):
        v = flips[int(_number(seed) * flips.size)]
        state = int(_number(seed) * (starts[v + 1] - starts[v] - 1))
        state += state >= states[v]
        own, other = starts[v] + states[v], starts[v] + state
        gain = (sums[other] - sums[own]) - penalty * (counts[other] - counts[own])
        progress[2] += 1
        progress[3] += 1
        if temperatures[t] > 0:
            is_made = gain >= 0 or _number(seed) < np.exp(gain / temperatures[t])
        else:
            is_made = gain > 1e-12 * max(1.0, abs(progress[0]))
        if is_made:
            num_made += 1
            better = progress[0] + gain - progress[1] > 1e-12 * max(1.0, abs(progress[1]))
            if is_best and not better:
                best[:] = states
            is_best = better
            progress[0] += gain
            if better:
                progress[1], progress[3] = progress[0], 0
            _flip(
                v,
                state,
                starts,
                scope_starts,
                scopes,
                strides,
                entry_starts,
                entries,
                tables,
                cells,
                logs,
                zeros,
                states,
                sums,
                counts,
            )
    if is_best:
        best[:] = states
    return num_made
