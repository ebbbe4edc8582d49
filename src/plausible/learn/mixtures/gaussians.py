"""Gaussian densities of rows with missing numbers, and the moments that the next parameters are made of."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats

__all__ = [
    "MatrixBlock",
    "Moments",
    "VectorBlock",
    "clipped",
    "matrix_block",
    "matrix_moments",
    "no_moments",
    "vector_block",
    "vector_moments",
]


_LOG_TWO_PI = math.log(2 * math.pi)


class MatrixBlock(NamedTuple):
    """Rows of a block beside the clusters: G groups of c rows, K clusters, d numbers.

    `log_density` is (K, G·c); `differences`, x - μ_k with zero where missing, is (G, K, c, d);
    `precisions` are Σ_oo⁻¹ of the known numbers, zero elsewhere: (G, K, d, d), with G = 1 where all is known.
    """

    log_density: Floats
    differences: Floats
    precisions: Floats
    known: Flags


class Moments(NamedTuple):
    """Expected sums around the present means: of cases, of differences, of their products.

    `counts` is (K, d): cases that tell of each number. `firsts` is (K, d); `seconds` (K, d, d), or (K, d).
    """

    counts: Floats
    firsts: Floats
    seconds: Floats

    def plus(self, other: Moments) -> Moments:
        """The moments of both sets of rows."""
        return Moments(self.counts + other.counts, self.firsts + other.firsts, self.seconds + other.seconds)


def no_moments(means: Floats, covariances: Floats) -> Moments:
    """Those of no rows."""
    return Moments(np.zeros_like(means), np.zeros_like(means), np.zeros_like(covariances))


# --- numbers that depend on each other within a cluster ---


def matrix_block(numbers: Floats, known: Flags, means: Floats, covariances: Floats) -> MatrixBlock:
    """log N(x_o; μ_o, Σ_oo) of the numbers known, for each cluster.

    A pattern's matrix is Σ with rows and columns of missing numbers replaced by those of the unit matrix, so that all
    patterns have one shape. Cost: O(groups K d³ + rows K d²).

    Parameters
    ----------
    numbers
        (G, c, d); zero where missing.
    known
        (G, d)
    means, covariances
        (K, d) and (K, d, d).
    """
    patterns = known[:1] if known.all() else known
    both = patterns[:, None, :, None] & patterns[:, None, None, :]
    matrices = np.where(both, covariances, np.eye(means.shape[1]))
    lower = np.linalg.cholesky(matrices)
    log_determinant = 2 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    inverse = np.linalg.inv(lower)
    precisions = np.where(both, np.swapaxes(inverse, -1, -2) @ inverse, 0.0)
    differences = numbers[:, None] - means[:, None, :]
    if not known.all():
        differences *= known[:, None, None, :]
    white = differences @ np.swapaxes(inverse, -1, -2)
    distance = np.einsum("gkcd,gkcd->gkc", white, white)
    constant = log_determinant + patterns.sum(axis=1)[:, None] * _LOG_TWO_PI
    log_density = -0.5 * (distance + constant[:, :, None])
    return MatrixBlock(_by_cluster(log_density), differences, precisions, known)


def matrix_moments(block: MatrixBlock, shares: Floats, covariances: Floats) -> Moments:
    """Expected moments around the means, missing numbers filled by their conditional means and covariances.

    E[(x - μ)(x - μ)ᵀ] = Σ u uᵀ Σ + Σ - Σ Σ_oo⁻¹ Σ summed by share; where all is known, (x - μ)(x - μ)ᵀ itself.

    Parameters
    ----------
    block
        Of `matrix_block`.
    shares
        (K, G·c): how much of each row belongs to each cluster, times its weight.
    covariances
        (K, d, d)
    """
    num_groups, num_clusters, size, num_numbers = block.differences.shape
    parts = np.swapaxes(shares.reshape(num_clusters, num_groups, size), 0, 1)[..., None]
    is_complete = bool(block.known.all())
    # u = Σ_oo⁻¹ (x_o - μ_o), zero where missing: the numbers expected are μ + Σ u.
    vectors = block.differences if is_complete else block.differences @ block.precisions
    weighted = vectors * parts
    firsts = weighted.sum(axis=(0, 2))
    seconds = (np.swapaxes(weighted, -1, -2) @ vectors).sum(axis=0)
    totals = shares.sum(axis=1)
    if not is_complete:
        firsts = (firsts[:, None, :] @ covariances)[:, 0]
        explained = np.einsum("gk,gkij->kij", parts.sum(axis=(2, 3)), block.precisions)
        seconds = covariances @ (seconds - explained) @ covariances + totals[:, None, None] * covariances
    return Moments(np.repeat(totals[:, None], num_numbers, axis=1), firsts, seconds)


# --- numbers that are independent within a cluster ---


class VectorBlock(NamedTuple):
    """Rows of a block, c of them, beside K clusters: `log_density` is (K, c), `numbers` and `known` (c, d)."""

    log_density: Floats
    numbers: Floats
    known: Floats
    means: Floats


def vector_block(numbers: Floats, known: Flags, means: Floats, variances: Floats) -> VectorBlock:
    """The log density of the numbers known, for each cluster. Cost: O(rows K d), in matrix products.

    (x - μ)²/σ² is taken apart into products. In units where columns vary by about one, and variances have a floor, what
    this loses by rounding is below 1e-15 x² / floor.

    Parameters
    ----------
    numbers, known
        (c, d)
    means, variances
        (K, d)
    """
    there = known.astype(np.float64)
    constant = (means**2 / variances + np.log(variances) + _LOG_TWO_PI) @ there.T
    distance = (1 / variances) @ (numbers**2).T - (2 * means / variances) @ numbers.T
    return VectorBlock(-0.5 * (distance + constant), numbers, there, means)


def vector_moments(block: VectorBlock, shares: Floats) -> Moments:
    """Moments of the numbers known: those missing tell nothing, as others don't tell of them."""
    counts, sums = shares @ block.known, shares @ block.numbers
    squares = shares @ block.numbers**2 - 2 * block.means * sums + counts * block.means**2
    return Moments(counts, sums - counts * block.means, np.maximum(squares, 0.0))


def clipped(covariances: Floats, floor: float) -> Floats:
    """The covariances whose eigenvalues are at least `floor`: of greatest likelihood among those (K&F exercise 19.10).

    >>> clipped(np.array([[[1.0, 0.0], [0.0, 0.0]]]), 0.25).round(9).tolist()
    [[[1.0, 0.0], [0.0, 0.25]]]
    """
    if not covariances.size:
        return covariances
    values, vectors = np.linalg.eigh(covariances)
    if (values >= floor).all():
        return covariances
    return np.asarray((vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, -1, -2))


def _by_cluster(values: Floats) -> Floats:
    """(G, K, c) as (K, G·c)."""
    return np.swapaxes(values, 0, 1).reshape(values.shape[1], -1)
