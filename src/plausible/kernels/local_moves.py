"""Flips of one variable at a time, the effect of every possible flip kept up to date.

A table entry that is zero has logarithm 0 here and a mark in `zeros`: zeros are counted, other logarithms are added.
An assignment's score is its sum of logarithms minus `penalty` for each zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.base.tolerances import SCORE_NOISE
from plausible.kernels.gibbs import uniform
from plausible.kernels.jit import kernel

#: What `climb` returns: all flips made, no flip that improves, no flip that is allowed, patience over.
RUNNING, MAXIMUM, STUCK, IDLE = 0, 1, 2, 3


class FlipLayout(NamedTuple):
    """The model: state s of variable v has the number `starts[v] + s`; an entry is a variable of a table.

    `scopes[scope_starts[f]:scope_starts[f + 1]]` are the variables of table f, `strides` the steps of their states in
    it, `tables` the table of each entry, and `entries[entry_starts[v]:entry_starts[v + 1]]` the entries of v.
    """

    starts: Ints
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    tables: Ints
    entry_starts: Ints
    entries: Ints
    logs: Floats
    zeros: NDArray[np.uint8]
    penalty: float


class FlipFields(NamedTuple):
    """Where a search is: `sums` and `counts` say what the tables of v would add if v were in a state, all else as is.

    `cells` has the entry of each table at the states.
    """

    states: Ints
    cells: Ints
    sums: Floats
    counts: Ints


class Tally(NamedTuple):
    """The score, the best score seen, the steps made, and those since the best score improved."""

    score: float
    best_score: float
    steps: int
    idle: int


class Moves(NamedTuple):
    """The best flip of each variable, its gain, and a tournament of the variables, whose winner is `nodes[:, 1]`.

    Row 0 is for flips that are allowed; row 1, which only tabu searches have, for all of them. Room to work in.
    """

    gains: Floats
    targets: Ints
    nodes: Ints


class Tabu(NamedTuple):
    """Until which step each state is barred, the variables of the last flips, the idle steps to bear, and room to work.

    A state that is left is barred for the next `ring.size - 1` steps; the variable of each place of the ring is looked
    at again when its time is over. Where the ring is empty nothing is barred, and only flips that improve are made.
    """

    barred: Ints
    ring: Ints
    patience: int
    moves: Moves


class Attempts(NamedTuple):
    """Each variable once for each of its states but one, a temperature for each attempt, and the random numbers."""

    flips: Ints
    temperatures: Floats
    seed: NDArray[np.uint64]


@kernel(steps=lambda layout, fields: 5 * fields.sums.size)
def fill(layout: FlipLayout, fields: FlipFields) -> None:
    """Set all but the states; `cells` has the first entry of each table when called."""
    starts, scopes, strides, states = layout.starts, layout.scopes, layout.strides, fields.states
    fields.sums[:] = 0.0
    fields.counts[:] = 0
    for f in range(fields.cells.size):
        for e in range(layout.scope_starts[f], layout.scope_starts[f + 1]):
            fields.cells[f] += strides[e] * states[scopes[e]]
        for e in range(layout.scope_starts[f], layout.scope_starts[f + 1]):
            v = scopes[e]
            first = fields.cells[f] - strides[e] * states[v]
            for s in range(starts[v + 1] - starts[v]):
                fields.sums[starts[v] + s] += layout.logs[first + s * strides[e]]
                fields.counts[starts[v] + s] += layout.zeros[first + s * strides[e]]


@kernel
def _improves(gain: float, score: float) -> bool:
    return gain > SCORE_NOISE * max(1.0, abs(score))


@kernel
def _gain(layout: FlipLayout, fields: FlipFields, v: int, number: int) -> float:
    """What it adds to the score to put a variable into the state with a number."""
    own = layout.starts[v] + fields.states[v]
    num_zeros = fields.counts[number] - fields.counts[own]
    return float((fields.sums[number] - fields.sums[own]) - layout.penalty * num_zeros)


@kernel
def _choose(layout: FlipLayout, fields: FlipFields, v: int, barred: Ints, step: int, moves: Moves) -> None:
    """The best flip of a variable, of those that are not barred any more and of all; a gain of -inf for none."""
    first, gains = layout.starts[v], moves.gains
    for row in range(gains.shape[0]):
        gains[row, v] = -np.inf
    for k in range(first, layout.starts[v + 1]):
        if k != first + fields.states[v]:
            gain = _gain(layout, fields, v, k)
            for row in range(int(barred[k] >= step), gains.shape[0]):
                if gain > gains[row, v]:
                    gains[row, v], moves.targets[row, v] = gain, k - first


@kernel
def _winner(moves: Moves, row: int, node: int) -> int:
    """The winner of a match; the lower number wins a tie."""
    left, right = moves.nodes[row, 2 * node], moves.nodes[row, 2 * node + 1]
    return int(right if right >= 0 and moves.gains[row, right] > moves.gains[row, left] else left)


@kernel
def _all_moves(layout: FlipLayout, fields: FlipFields, barred: Ints, step: int, moves: Moves) -> None:
    """All matches: node k is the better one of nodes 2k and 2k + 1, the leaves are the variables; -1 for nobody."""
    size = moves.nodes.shape[1] // 2
    for v in range(fields.states.size):
        _choose(layout, fields, v, barred, step, moves)
    for row in range(moves.nodes.shape[0]):
        for v in range(size):
            moves.nodes[row, size + v] = v if v < fields.states.size else -1
        for node in range(size - 1, 0, -1):
            moves.nodes[row, node] = _winner(moves, row, node)


@kernel
def _renew(layout: FlipLayout, fields: FlipFields, v: int, barred: Ints, step: int, moves: Moves) -> None:
    """Choose a variable's flip anew and play its matches again, up to the root."""
    _choose(layout, fields, v, barred, step, moves)
    nodes = moves.nodes
    for row in range(nodes.shape[0]):
        node = (nodes.shape[1] // 2 + v) // 2
        while node >= 1:
            winner = _winner(moves, row, node)
            if winner == nodes[row, node] and winner != v:  # v lost here before, too: nothing changes above
                break
            nodes[row, node] = winner
            node //= 2


@kernel
def _pick(moves: Moves, score: float, best_score: float) -> tuple[int, int]:
    """The variable to flip and the row of its move: the best of all if it beats the best score, else of the allowed."""
    if moves.nodes.shape[0] > 1:
        winner = moves.nodes[1, 1]
        if winner >= 0 and _improves(score + moves.gains[1, winner] - best_score, best_score):
            return winner, 1
    return moves.nodes[0, 1], 0


@kernel
def _flip(layout: FlipLayout, fields: FlipFields, v: int, state: int) -> None:
    """Put a variable into a state, and tell those that share a table with it."""
    starts, logs, zeros, states = layout.starts, layout.logs, layout.zeros, fields.states
    for place in range(layout.entry_starts[v], layout.entry_starts[v + 1]):
        entry = layout.entries[place]
        f = layout.tables[entry]
        before = fields.cells[f]
        after = before + layout.strides[entry] * (state - states[v])
        fields.cells[f] = after
        for e in range(layout.scope_starts[f], layout.scope_starts[f + 1]):
            u = layout.scopes[e]
            if u != v:
                for s in range(starts[u + 1] - starts[u]):
                    move = layout.strides[e] * (s - states[u])
                    fields.sums[starts[u] + s] += logs[after + move] - logs[before + move]
                    fields.counts[starts[u] + s] += np.int64(zeros[after + move]) - np.int64(zeros[before + move])
    states[v] = state


@kernel
def _renew_around(layout: FlipLayout, fields: FlipFields, v: int, barred: Ints, step: int, moves: Moves) -> None:
    """Choose anew for a variable that was flipped and for all that share a table with it."""
    for place in range(layout.entry_starts[v], layout.entry_starts[v + 1]):
        f = layout.tables[layout.entries[place]]
        for e in range(layout.scope_starts[f], layout.scope_starts[f + 1]):
            if layout.scopes[e] != v:
                _renew(layout, fields, layout.scopes[e], barred, step, moves)
    _renew(layout, fields, v, barred, step, moves)


@kernel
def _reason(gain: float, score: float, idle: int, tabu: Tabu) -> int:
    """Why no flip is made, or that one is."""
    if tabu.ring.size > 0 and idle >= tabu.patience:
        return IDLE
    if gain == -np.inf:
        return STUCK
    return RUNNING if tabu.ring.size > 0 or _improves(gain, score) else MAXIMUM


@kernel(steps=lambda layout, fields, tabu, num_flips, *_: 150 * num_flips)
def climb(
    layout: FlipLayout, fields: FlipFields, tabu: Tabu, num_flips: int, tally: Tally, best: Ints
) -> tuple[int, Tally]:
    """The best allowed flip, again and again; a barred one that beats the best score is allowed.

    `best` is set to the best states seen, `fields` and `tabu` are brought up to date.
    """
    barred, ring, moves = tabu.barred, tabu.ring, tabu.moves
    score, best_score, step, idle = tally.score, tally.best_score, tally.steps, tally.idle
    _all_moves(layout, fields, barred, step, moves)
    is_best, reason = False, RUNNING
    for _ in range(num_flips):
        if ring.size > 0 and ring[step % ring.size] >= 0:
            _renew(layout, fields, ring[step % ring.size], barred, step, moves)
        winner, row = _pick(moves, score, best_score)
        gain = moves.gains[row, winner] if winner >= 0 else -np.inf
        reason = _reason(gain, score, idle, tabu)
        if reason != RUNNING:
            break
        score += gain
        is_better = _improves(score - best_score, best_score)
        if is_best and not is_better:  # copied only when left, not at each step of an ascent
            best[:] = fields.states
        is_best, idle = is_better, 0 if is_better else idle + 1
        best_score = score if is_better else best_score
        if ring.size > 0:
            barred[layout.starts[winner] + fields.states[winner]] = step + ring.size - 1
            ring[step % ring.size] = winner
        _flip(layout, fields, winner, moves.targets[row, winner])
        step += 1
        _renew_around(layout, fields, winner, barred, step, moves)
    if is_best:
        best[:] = fields.states
    return reason, Tally(score, best_score, step, idle)


@kernel
def _is_made(gain: float, temperature: float, score: float, seed: NDArray[np.uint64]) -> bool:
    """Whether a flip is made at a temperature."""
    if temperature > 0:
        return gain >= 0 or uniform(seed, 0) < np.exp(gain / temperature)
    return _improves(gain, score)


@kernel(steps=lambda layout, fields, attempts, *_: 25 * attempts.temperatures.size)
def wander(layout: FlipLayout, fields: FlipFields, attempts: Attempts, tally: Tally, best: Ints) -> tuple[int, Tally]:
    """A random flip at each temperature, made with probability min(1, exp(gain / τ)); how many were made.

    At τ = 0 only flips that improve are made. Each attempt counts as a step.
    """
    starts, seed = layout.starts, attempts.seed
    score, best_score, idle = tally.score, tally.best_score, tally.idle
    is_best, num_made = False, 0
    for temperature in attempts.temperatures:
        v = attempts.flips[int(uniform(seed, 0) * attempts.flips.size)]
        state = int(uniform(seed, 0) * (starts[v + 1] - starts[v] - 1))
        state += state >= fields.states[v]
        gain = _gain(layout, fields, v, starts[v] + state)
        idle += 1
        if _is_made(gain, temperature, score, seed):
            num_made += 1
            score += gain
            is_better = _improves(score - best_score, best_score)
            if is_best and not is_better:
                best[:] = fields.states
            is_best = is_better
            if is_better:
                best_score, idle = score, 0
            _flip(layout, fields, v, state)
    if is_best:
        best[:] = fields.states
    return num_made, Tally(score, best_score, tally.steps + attempts.temperatures.size, idle)
