"""Rows enter and leave clusters, whose predictive distributions stay in closed form."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.cluster_arrays import BaseArrays, ClusterArrays, RowArrays
from plausible.kernels.jit import kernel

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
