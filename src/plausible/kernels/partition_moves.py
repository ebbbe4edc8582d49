"""Moves of Markov chains over partitions of rows: one row at a time, or the merge of two clusters and its undoing.

Priors over partitions are pairs (a, K): to join cluster I has the weight |I| + a / K, to open one beside L others
a (1 - L / K). For a Dirichlet process K is infinite.
"""

from __future__ import annotations

import math

import numpy as np

from plausible.kernels.cluster_arrays import BaseArrays, ClusterArrays, MoveArrays, RowArrays
from plausible.kernels.clusters import add_row, clear_slot, log_predictive
from plausible.kernels.gibbs import uniform
from plausible.kernels.jit import kernel


@kernel
def _free(moves: MoveArrays, num_active: int, slot: int) -> None:
    """Swap a slot with the last one in use, which then is out of use."""
    place, last = moves.positions[slot], moves.active[num_active - 1]
    moves.active[place], moves.active[num_active - 1] = last, slot
    moves.positions[last], moves.positions[slot] = place, num_active - 1


@kernel
def _draw(weights: np.ndarray, size: int, level: float) -> int:
    """A choice in proportion to exp(weights), which are used up."""
    peak = -np.inf
    for choice in range(size):
        peak = max(peak, weights[choice])
    total = 0.0
    for choice in range(size):
        weights[choice] = np.exp(weights[choice] - peak)
        total += weights[choice]
    left, chosen = level * total, 0
    for choice in range(size):
        if weights[choice] > 0:
            chosen = choice
            if left < weights[choice]:
                break
            left -= weights[choice]
    return chosen


@kernel(steps=lambda rows, base, clusters, moves, *_: 50 * moves.labels.size * clusters.sizes.size)
def gibbs_rows(
    rows: RowArrays,
    base: BaseArrays,
    clusters: ClusterArrays,
    moves: MoveArrays,
    prior: tuple[float, float],
    span: tuple[int, int],
    keeps_empty: bool,
) -> tuple[int, int, float]:
    """Draw the clusters of rows `span[0]`, `span[0] + 1`, ... given the others, in turn.

    `span[1]` is the number of clusters; with `keeps_empty` it stays, and empty ones are drawn as
    all others. Needs a free slot for a cluster to open, so it stops when there is none.

    Returns the row where it stopped, the number of clusters, and the change of log P(rows | partition).
    """
    row, num_active, change = span[0], span[1], 0.0
    while row < moves.labels.size and (keeps_empty or num_active < clusters.sizes.size):
        old = moves.labels[row]
        add_row(rows, base, clusters, row, old, -1.0)
        if clusters.sizes[old] == 0 and not keeps_empty:
            _free(moves, num_active, old)
            num_active -= 1
        num_choices = num_active + (not keeps_empty)
        for place in range(num_choices):
            slot = moves.active[place]
            opens = place == num_active
            weight = prior[0] * (1 - num_active / prior[1]) if opens else clusters.sizes[slot] + prior[0] / prior[1]
            moves.logs[place] = log_predictive(rows, base, clusters, row, slot)
            moves.weights[place] = moves.logs[place] + np.log(weight)
        chosen = _draw(moves.weights, num_choices, uniform(moves.generators, 0))
        change += moves.logs[chosen] - moves.logs[moves.positions[old]]  # one that was freed is the next to open
        num_active += chosen == num_active
        moves.labels[row] = moves.active[chosen]
        add_row(rows, base, clusters, row, moves.labels[row], 1.0)
        row += 1
    return row, num_active, change


@kernel
def weigh_split(
    rows: RowArrays,
    base: BaseArrays,
    clusters: ClusterArrays,
    moves: MoveArrays,
    prior: tuple[float, float],
    slots: tuple[int, int, int],
    chosen: tuple[int, int, bool, bool],
) -> tuple[float, float]:
    """Divide a cluster that rows m and l share in two, or weigh the division that there is.

    Rows `moves.order[2:n]` follow m and l, which stand first, in this order: to either side with probability 1/2, or,
    if sequential, in proportion to (size + a / K) Q(x | side). `slots` are three free ones: for the side of m,
    the side of l, and all.

    Parameters
    ----------
    chosen
        (n, number of clusters when these rows are one, sequential, forced). If forced, `moves.sides` says where each
        row goes; else it is told there.

    Returns
    -------
    log of P(split) P(rows | split) / (P(merged) P(rows | merged)) over the probability of the division, and the log
    ratio of the P(rows | ·) alone.
    """
    size, num_merged, sequential, forced = chosen
    share, log_ratio, log_proposal = prior[0] / prior[1], 0.0, 0.0
    for slot in slots:
        clear_slot(base, clusters, slot)
    for place in range(size):
        row = moves.order[place]
        first = log_predictive(rows, base, clusters, row, slots[0])
        second = log_predictive(rows, base, clusters, row, slots[1])
        if place < 2:
            side = place
        else:
            odds = math.log((clusters.sizes[slots[0]] + share) / (clusters.sizes[slots[1]] + share)) + first - second
            log_first = -np.logaddexp(0.0, -odds) if sequential else -math.log(2.0)
            side = moves.sides[place] if forced else int(math.log(1 - uniform(moves.generators, 0)) >= log_first)
            log_proposal += log_first if side == 0 or not sequential else log_first - odds
        moves.sides[place] = side
        log_ratio += (first if side == 0 else second) - log_predictive(rows, base, clusters, row, slots[2])
        add_row(rows, base, clusters, row, slots[side], 1.0)
        add_row(rows, base, clusters, row, slots[2], 1.0)
    opening = prior[0] * (1 - num_merged / prior[1])
    ways = math.lgamma(clusters.sizes[slots[0]] + share) + math.lgamma(clusters.sizes[slots[1]] + share)
    ways += np.log(opening) - math.lgamma(size + share) - math.lgamma(1.0 + share)
    return ways + log_ratio - log_proposal, log_ratio


@kernel
def _line_up(moves: MoveArrays, m: int, l: int) -> int:  # noqa: E741
    """Write m, l and all others of their clusters in random order into `order`, their sides into `sides`; how many."""
    first, second = moves.labels[m], moves.labels[l]
    moves.order[0], moves.order[1], size = m, l, 2
    for row in range(moves.labels.size):
        if (moves.labels[row] == first or moves.labels[row] == second) and row != m and row != l:
            place = 2 + int(uniform(moves.generators, 0) * (size - 1))
            moves.order[size] = moves.order[place]
            moves.order[place] = row
            size += 1
    for place in range(size):
        moves.sides[place] = moves.labels[moves.order[place]] == second
    return size


@kernel(steps=lambda rows, base, clusters, moves, *_: 150 * moves.labels.size)
def merge_split(
    rows: RowArrays,
    base: BaseArrays,
    clusters: ClusterArrays,
    moves: MoveArrays,
    prior: tuple[float, float],
    num_active: int,
    sequential: bool,
) -> tuple[int, float, bool]:
    """Propose to merge the clusters of two random rows, or to split the one that they share.

    Needs three free slots. Returns the number of clusters, the change of log P(rows | partition), and whether the
    proposal was taken.
    """
    num_rows = moves.labels.size
    m = int(uniform(moves.generators, 0) * num_rows)
    l = int(uniform(moves.generators, 0) * (num_rows - 1))  # noqa: E741
    l += l >= m  # noqa: E741
    merges, size = moves.labels[m] != moves.labels[l], _line_up(moves, m, l)
    free = moves.active[num_active : num_active + 3]
    slots = (free[1], free[2], free[0]) if merges else (free[0], free[1], free[2])  # the first to use come first
    chosen = (size, num_active - merges, sequential, merges)
    log_ratio, change = weigh_split(rows, base, clusters, moves, prior, slots, chosen)
    accepted = math.log(1 - uniform(moves.generators, 0)) < (-log_ratio if merges else log_ratio)
    first, second = moves.labels[m], moves.labels[l]
    if accepted:
        for place in range(size):
            moves.labels[moves.order[place]] = slots[2] if merges else slots[moves.sides[place]]
        num_active += 1 if merges else 2
        _free(moves, num_active, first)
        num_active -= 1
        if merges:
            _free(moves, num_active, second)
            num_active -= 1
    for slot in (slots[0], slots[1], slots[2], first, second):
        if moves.positions[slot] >= num_active:
            clear_slot(base, clusters, slot)
    return num_active, (-change if merges else change) * accepted, accepted
