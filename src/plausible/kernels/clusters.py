"""Rows in clusters, whose predictive distributions stay in closed form, and moves of Markov chains over partitions.

Clusters are kept in slots: one slot holds the conjugate posterior of the parameters of one cluster. Numbers come in
blocks, each with a normal inverse-Wishart distribution of its own; a block of one is a normal inverse-gamma.

Priors over partitions are pairs (a, K): to join cluster I has the weight |I| + a / K, to open one beside L others
a (1 - L / K). For a Dirichlet process K is infinite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.gibbs import drawn_by_logs, uniform
from plausible.kernels.jit import kernel


class RowArrays(NamedTuple):
    """Rows of features."""

    #: (rows, discrete features): the place of the row's state among the states of all features; -1 where missing.
    cells: Ints
    #: (rows, continuous features), those of a block side by side; a block that begins with NaN is missing.
    numbers: Floats


class BaseArrays(NamedTuple):
    """The distribution of the parameters of a cluster before it has rows."""

    #: Of each state of all discrete features, and their sum for each feature.
    pseudo_counts: Floats
    pseudo_totals: Floats
    #: Block b has the numbers `block_starts[b]` to `block_starts[b + 1]`; its triangular factor begins at
    #: `factor_starts[b]`, row after row.
    block_starts: Ints
    factor_starts: Ints
    #: The expected means, and the Cholesky factors of the scale matrices of all blocks.
    means: Floats
    factors: Floats
    #: How many rows each mean is worth, and the degrees of freedom of each block.
    strengths: Floats
    degrees: Floats
    #: (kinds, number of rows + 1): log Γ((ν + 1) / 2) - log Γ((ν + 1 - d) / 2) - d log(π (κ + 1) / κ) / 2 after so many
    #: rows.
    constants: Floats
    kinds: Ints  # The row of `constants` that a block goes by


class ClusterArrays(NamedTuple):
    """Slots of clusters; the first axis of each array runs over them."""

    sizes: Ints  # How many rows a cluster has
    #: Pseudo-counts of states with those of the rows, and their sums for each feature.
    counts: Floats
    totals: Floats
    block_sizes: Ints  # In how many rows each block of numbers is there
    #: As in `BaseArrays`, given the rows.
    means: Floats
    factors: Floats
    scratch: Floats  # As many numbers as the largest block has


class MoveArrays(NamedTuple):
    """What a sampler moves in place, and its scratch."""

    labels: Ints  # The slot of each row
    #: The slots in use come first in `active`, then the free ones; `positions[slot]` is a slot's place there.
    active: Ints
    positions: Ints
    generators: NDArray[np.uint64]  # One word: random numbers go on from there
    #: Scratch: a number for each slot.
    weights: Floats
    logs: Floats
    #: Scratch: a whole number for each row.
    order: Ints
    sides: Ints


#: Products below this are turned into logarithms before they lose digits.
_TINY = 1e-200


@kernel
def clear_slot(base: BaseArrays, clusters: ClusterArrays, slot: int) -> None:
    """Bring a slot back to the base measure."""
    clusters.sizes[slot] = 0
    for cell in range(base.pseudo_counts.size):
        clusters.counts[slot, cell] = base.pseudo_counts[cell]
    for feature in range(base.pseudo_totals.size):
        clusters.totals[slot, feature] = base.pseudo_totals[feature]
    for block in range(base.strengths.size):
        clusters.block_sizes[slot, block] = 0
    for place in range(base.means.size):
        clusters.means[slot, place] = base.means[place]
    for place in range(base.factors.size):
        clusters.factors[slot, place] = base.factors[place]


@kernel
def _log_block(base: BaseArrays, clusters: ClusterArrays, slot: int, block: int, numbers: Floats) -> float:
    """The log density of a multivariate t; (x - μ)ᵀ Ψ⁻¹ (x - μ) comes from forward substitution."""
    first, size = base.block_starts[block], base.block_starts[block + 1] - base.block_starts[block]
    factor, count = clusters.factors[slot, base.factor_starts[block] :], clusters.block_sizes[slot, block]
    strength = base.strengths[block] + count
    solved, squares, log_scale = clusters.scratch, 0.0, 0.0
    for i in range(size):
        rest = numbers[first + i] - clusters.means[slot, first + i]
        for j in range(i):
            rest -= factor[i * size + j] * solved[j]
        solved[i] = rest / factor[i * size + i]
        squares += solved[i] * solved[i]
        log_scale += np.log(factor[i * size + i])
    power = 0.5 * (base.degrees[block] + count + 1)
    log_kernel = power * math.log1p(squares * strength / (strength + 1))
    return float(base.constants[base.kinds[block], count] - log_scale - log_kernel)


@kernel
def log_predictive(rows: RowArrays, base: BaseArrays, clusters: ClusterArrays, row: int, slot: int) -> float:
    """log Q(x | rows of the cluster); missing features are summed out."""
    log_density, product = 0.0, 1.0
    for feature in range(rows.cells.shape[1]):
        cell = rows.cells[row, feature]
        if cell >= 0:
            product *= clusters.counts[slot, cell] / clusters.totals[slot, feature]
            if product < _TINY:
                log_density += math.log(product)
                product = 1.0
    for block in range(base.strengths.size):
        if not np.isnan(rows.numbers[row, base.block_starts[block]]):
            log_density += _log_block(base, clusters, slot, block, rows.numbers[row])
    return log_density + math.log(product)


@kernel
def _move_factor(factor: Floats, size: int, change: Floats, sign: float) -> None:
    """L Lᵀ ± v vᵀ in place of L Lᵀ by plane rotations (Golub & Van Loan 2013, §6.5.4); v is used up."""
    for j in range(size):
        old = factor[j * size + j]
        square = old * old + sign * change[j] * change[j]
        new = np.sqrt(max(square, 1e-14 * old * old))
        cosine, sine = new / old, change[j] / old
        factor[j * size + j] = new
        for i in range(j + 1, size):
            factor[i * size + j] = (factor[i * size + j] + sign * sine * change[i]) / cosine
            change[i] = cosine * change[i] - sine * factor[i * size + j]


@kernel
def _move_block(base: BaseArrays, clusters: ClusterArrays, slot: int, block: int, numbers: Floats, sign: float) -> None:
    """Ψ ± κ / (κ + 1) (x - μ)(x - μ)ᵀ and the mean that goes with it; κ and μ are those without x."""
    first, size = base.block_starts[block], base.block_starts[block + 1] - base.block_starts[block]
    before = base.strengths[block] + clusters.block_sizes[slot, block]
    least = min(before, before + sign)
    change = clusters.scratch
    for i in range(size):
        mean = clusters.means[slot, first + i]
        change[i] = (numbers[first + i] - mean) * np.sqrt(least / (least + 1))
        if sign < 0:  # the distance to the mean without x
            change[i] *= before / least
        clusters.means[slot, first + i] = mean + sign * (numbers[first + i] - mean) / (before + sign)
    _move_factor(clusters.factors[slot, base.factor_starts[block] :], size, change, sign)
    clusters.block_sizes[slot, block] += int(sign)


@kernel
def add_row(rows: RowArrays, base: BaseArrays, clusters: ClusterArrays, row: int, slot: int, sign: float) -> None:
    """A row enters a cluster (sign 1.0) or leaves it (-1.0); one that leaves nothing behind leaves the base measure."""
    if clusters.sizes[slot] + sign == 0:
        clear_slot(base, clusters, slot)
        return
    clusters.sizes[slot] += int(sign)
    for feature in range(rows.cells.shape[1]):
        cell = rows.cells[row, feature]
        if cell >= 0:
            clusters.counts[slot, cell] += sign
            clusters.totals[slot, feature] += sign
    for block in range(base.strengths.size):
        if not np.isnan(rows.numbers[row, base.block_starts[block]]):
            _move_block(base, clusters, slot, block, rows.numbers[row], sign)


@kernel(steps=lambda rows, base, clusters, labels: 100 * labels.size)
def fill_slots(rows: RowArrays, base: BaseArrays, clusters: ClusterArrays, labels: Ints) -> float:
    """Put all rows where their labels say; log P(rows | partition), the sum of what each said before it entered."""
    total = 0.0
    for slot in range(clusters.sizes.size):
        clear_slot(base, clusters, slot)
    for row in range(labels.size):
        total += log_predictive(rows, base, clusters, row, labels[row])
        add_row(rows, base, clusters, row, labels[row], 1.0)
    return total


@kernel(steps=lambda rows, base, clusters, answer: 50 * answer.size)
def log_predictives(rows: RowArrays, base: BaseArrays, clusters: ClusterArrays, answer: Floats) -> None:
    """log Q(x | cluster) of each row for each slot, (rows, slots)."""
    for row in range(answer.shape[0]):
        for slot in range(answer.shape[1]):
            answer[row, slot] = log_predictive(rows, base, clusters, row, slot)


@kernel
def _free(moves: MoveArrays, num_active: int, slot: int) -> None:
    """Swap a slot with the last one in use, which then is out of use."""
    place, last = moves.positions[slot], moves.active[num_active - 1]
    moves.active[place], moves.active[num_active - 1] = last, slot
    moves.positions[last], moves.positions[slot] = place, num_active - 1


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
        chosen = drawn_by_logs(moves.weights, num_choices, uniform(moves.generators, 0))
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
