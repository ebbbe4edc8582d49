"""Expected second moments of rows with missing numbers, rows with the same cells missing together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Positions
from plausible.learn.mixtures.gaussians import MatrixBlock, matrix_block
from plausible.learn.mixtures.rows import PatternBlock, pattern_blocks

__all__ = ["PatternRows", "RowDensity"]


class RowDensity(NamedTuple):
    """log N(known numbers) of each row under C Gaussians, shape (rows, C), and what its moments are made of."""

    log_density: Floats
    parts: tuple[MatrixBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PatternRows:
    """Rows of n numbers in the order of their patterns; made by `of`.

    Attributes
    ----------
    order
        Which row is at each place.
    blocks
        Neighbouring places: groups of equally many rows with the same numbers known.
    numbers
        Shape (rows, n) in that order, zero where missing.
    known
        Which numbers are there.

    Examples
    --------
    >>> rows = PatternRows.of(np.array([[2.0, 1.0], [2.0, np.nan]]))
    >>> means, covariances = np.zeros((1, 2)), np.array([[[1.0, 0.5], [0.5, 1.0]]])
    >>> found = rows.density(means, covariances)
    >>> rows.moments(found, np.array([[0.0], [1.0]]), means, covariances)[0]
    array([[1.  , 2.  , 1.  ],
           [2.  , 4.  , 2.  ],
           [1.  , 2.  , 1.75]])
    """

    order: Positions
    blocks: tuple[PatternBlock, ...]
    numbers: Floats
    known: Flags

    @classmethod
    def of(cls, numbers: Floats, num_gaussians: int = 1) -> PatternRows:
        """From rows of numbers, NaN where missing, for so many Gaussians at once."""
        known = ~np.isnan(numbers)
        order, blocks = pattern_blocks(known, num_gaussians)
        return cls(order, tuple(blocks), np.where(known, numbers, 0.0)[order], known[order])

    def density(self, means: Floats, covariances: Floats) -> RowDensity:
        """The densities of what each row has, for means (C, n) and covariances (C, n, n).

        Cost: O(patterns C n³ + rows C n²).
        """
        log_density = np.empty((len(self.order), len(means)))
        parts = []
        for start, stop, num_groups in self.blocks:
            grouped = self.numbers[start:stop].reshape(num_groups, -1, means.shape[1])
            known = self.known[start : stop : (stop - start) // num_groups]
            part = matrix_block(grouped, known, means, covariances)
            log_density[self.order[start:stop]] = part.log_density.T
            parts.append(part)
        return RowDensity(log_density, tuple(parts))

    def moments(self, density: RowDensity, shares: Floats, means: Floats, covariances: Floats) -> Floats:
        """Σ_rows share · E[z zᵀ | row] for z = (1, numbers): shape (C, n + 1, n + 1).

        A missing number counts with its conditional mean, and with the conditional covariance in its square.

        Parameters
        ----------
        density
            Under the same means and covariances.
        shares
            Shape (rows, C): how much each row counts for each Gaussian.
        means, covariances
            (C, n) and (C, n, n).
        """
        size = means.shape[1] + 1
        total = np.zeros((len(means), size, size))
        for (start, stop, _), part in zip(self.blocks, density.parts, strict=True):
            total += _block_moments(part, shares[self.order[start:stop]].T, means, covariances)
        return total


def _block_moments(part: MatrixBlock, shares: Floats, means: Floats, covariances: Floats) -> Floats:
    num_groups, num_gaussians, num_rows, size = part.differences.shape
    numbers, spread = part.differences, np.zeros_like(covariances)
    if not part.known.all():
        gains = part.precisions @ covariances
        numbers = np.where(part.known[:, None, None, :], numbers, numbers @ gains)
        hidden = ~part.known[:, None, :, None] & ~part.known[:, None, None, :]
        left = np.where(hidden, covariances - covariances @ gains, 0.0)
        weights = shares.reshape(num_gaussians, num_groups, num_rows).sum(axis=2)
        spread = np.einsum("kg,gkij->kij", weights, left)
    filled = np.ones((num_gaussians, num_groups * num_rows, size + 1))
    filled[:, :, 1:] = np.swapaxes(numbers, 0, 1).reshape(num_gaussians, -1, size) + means[:, None, :]
    found = np.swapaxes(filled * shares[:, :, None], 1, 2) @ filled
    found[:, 1:, 1:] += spread
    return np.asarray(found)
