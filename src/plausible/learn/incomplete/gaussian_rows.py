"""Rows of numbers with some missing: units, patterns, and their densities and expected moments under Gaussians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base import Flags, Floats, Positions
from plausible.learn.incomplete.cases import Cases, IncompleteRows

LOG_TWO_PI = math.log(2 * math.pi)
#: A deviation below this share of the mean is rounding of the numbers as they were written.
_ROUNDING = 1e-12
#: Rows that are worked on at once: few enough for the cache.
_MAX_ROWS = 1024
#: Entries of the matrices of a block, for each Gaussian.
_MAX_ENTRIES = 1 << 19


class ColumnSpread(NamedTuple):
    """What is observed of each column: how much it weighs, its mean, and the squares of deviations from that."""

    totals: Floats
    center: Floats
    squares: Floats

    @classmethod
    def of(cls, numbers: Floats, weights: Floats) -> ColumnSpread:
        """That of columns of numbers, NaN where missing."""
        known = ~np.isnan(numbers)
        totals = weights @ known
        center = weights @ np.where(known, numbers, 0.0) / np.where(totals > 0, totals, 1.0)
        return cls(totals, center, weights @ np.where(known, numbers - center, 0.0) ** 2)

    def joined(self, other: ColumnSpread) -> ColumnSpread:
        """That of the rows of both."""
        totals = self.totals + other.totals
        share = other.totals / np.where(totals > 0, totals, 1.0)
        apart = other.center - self.center
        squares = self.squares + other.squares + apart**2 * self.totals * share
        return ColumnSpread(totals, self.center + share * apart, squares)

    @property
    def units(self) -> tuple[Floats, Floats]:
        """The mean and the variance of each column; zero where it never varies but by rounding."""
        variance = self.squares / np.where(self.totals > 0, self.totals, 1.0)
        return self.center, np.where(variance > (_ROUNDING * self.center) ** 2, variance, 0.0)


def column_units(numbers: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The mean and the variance of each column, NaN where missing; zero where a column never varies but by rounding."""
    return ColumnSpread.of(numbers, weights).units


def _column_spread(cases: Cases) -> ColumnSpread:
    return ColumnSpread.of(cases.numbers, cases.weights)


class NumberUnits(NamedTuple):
    """(x - center) / scale for each continuous variable, so that each column has mean zero and variance one.

    Digits are lost where large means are summed, and a floor of variances means something only relative to the spread
    of a column. A variable that no case observes, or that never varies, has the scale one.
    """

    names: tuple[str, ...]
    center: Floats
    scale: Floats

    @classmethod
    def of(cls, cases: IncompleteRows) -> NumberUnits:
        """The units of the numbers that are observed."""
        center, variance = cases.summed(_column_spread, ColumnSpread.joined).units
        return cls(tuple(cases.continuous), center, np.sqrt(np.where(variance > 0, variance, 1.0)))

    def some(self, names: Sequence[str]) -> NumberUnits:
        """The units of some of the variables, in the order given."""
        places = [self.names.index(name) for name in names]
        return NumberUnits(tuple(names), self.center[places], self.scale[places])

    def standard(self, numbers: Floats) -> Floats:
        """Numbers in these units; the last axis is that of the variables."""
        return np.asarray((numbers - self.center) / self.scale)


class PatternBlock(NamedTuple):
    """Neighbouring rows: `num_groups` groups of equally many rows, each with one pattern of known numbers."""

    start: int
    stop: int
    num_groups: int


def pattern_blocks(known: Flags, num_gaussians: int = 1) -> tuple[Positions, list[PatternBlock]]:
    """An order of the rows, and the blocks in it, the smaller the more Gaussians: groups of equal size side by side."""
    num_rows, num_numbers = known.shape
    pattern = np.zeros(num_rows, dtype=np.intp)
    if not known.all():
        _, pattern = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)
        pattern = pattern.reshape(-1)
    order = np.argsort(pattern, kind="stable")
    ordered = pattern[order]
    rank = np.arange(num_rows) - np.searchsorted(ordered, ordered)
    group = np.cumsum((rank % _MAX_ROWS == 0) & (num_rows > 0)) - 1
    sizes = np.bincount(group) if num_rows else np.zeros(0, dtype=np.intp)
    order = order[np.lexsort((group, sizes[group]))]
    return order, list(_runs(np.sort(sizes), max(1, _MAX_ENTRIES // (max(1, num_numbers) ** 2 * num_gaussians))))


def _runs(sizes: Positions, max_groups: int) -> Iterator[PatternBlock]:
    start = 0
    for size, num_groups in zip(*np.unique(sizes, return_counts=True), strict=True):
        at_once = max(1, min(max_groups, _MAX_ROWS // int(size)))
        for first in range(0, int(num_groups), at_once):
            count = min(at_once, int(num_groups) - first)
            yield PatternBlock(start, start + count * int(size), count)
            start += count * int(size)


class MatrixBlock(NamedTuple):
    """Rows of a block beside the Gaussians: G groups of c rows, K Gaussians, d numbers."""

    log_density: Floats  # (K, G·c)
    differences: Floats  # x - μ_k, zero where missing: (G, K, c, d)
    precisions: Floats  # Σ_oo⁻¹ of the known numbers, zero elsewhere: (G, K, d, d), with G = 1 where all is known
    known: Flags  # (G, d)


class Moments(NamedTuple):
    """Expected sums around the present means: of cases, of differences, of their products."""

    counts: Floats  # (K, d): the cases that tell of each number
    firsts: Floats  # (K, d)
    seconds: Floats  # (K, d, d), or (K, d) where numbers are independent

    def plus(self, other: Moments) -> Moments:
        """The moments of both sets of rows."""
        return Moments(self.counts + other.counts, self.firsts + other.firsts, self.seconds + other.seconds)


def matrix_block(numbers: Floats, known: Flags, means: Floats, covariances: Floats) -> MatrixBlock:
    """log N(x_o; μ_o, Σ_oo) of the numbers known, (G, c, d) and zero where missing: O(groups K d³ + rows K d²).

    A pattern's matrix is Σ with rows and columns of missing numbers replaced by those of the unit matrix, so that all
    patterns have one shape.
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
    constant = log_determinant + patterns.sum(axis=1)[:, None] * LOG_TWO_PI
    log_density = -0.5 * (distance + constant[:, :, None])
    by_gaussian = np.swapaxes(log_density, 0, 1).reshape(log_density.shape[1], -1)
    return MatrixBlock(by_gaussian, differences, precisions, known)


def expected_moments(block: MatrixBlock, shares: Floats, covariances: Floats) -> Moments:
    """Moments around the means; missing numbers are filled by their conditional means, and add their covariances.

    E[x - μ] = Σ Σ_oo⁻¹ (x_o - μ_o) and Var[x_h] = Σ_hh - Σ_ho Σ_oo⁻¹ Σ_oh; `shares` (K, G·c) says how much of each row
    belongs to each Gaussian, times its weight.
    """
    num_groups, num_gaussians, num_rows, size = block.differences.shape
    parts = np.swapaxes(shares.reshape(num_gaussians, num_groups, num_rows), 0, 1)[..., None]
    filled = block.differences
    if not block.known.all():
        gains = block.precisions @ covariances
        filled = np.where(block.known[:, None, None, :], filled, filled @ gains)
    weighted = filled * parts
    seconds = (np.swapaxes(weighted, -1, -2) @ filled).sum(axis=0)
    if not block.known.all():
        hidden = ~block.known[:, None, :, None] & ~block.known[:, None, None, :]
        left = np.where(hidden, covariances - covariances @ gains, 0.0)
        seconds += np.einsum("gk,gkij->kij", parts.sum(axis=(2, 3)), left)
    counts = np.repeat(shares.sum(axis=1)[:, None], size, axis=1)
    return Moments(counts, weighted.sum(axis=(0, 2)), seconds)


class RowDensity(NamedTuple):
    """log N(known numbers) of each row under K Gaussians, shape (rows, K), and what its moments are made of."""

    log_density: Floats
    parts: tuple[MatrixBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PatternRows:
    """Rows of n numbers in the order of their patterns; made by `of`."""

    order: Positions  # which row is at each place
    blocks: tuple[PatternBlock, ...]  # neighbouring places
    numbers: Floats  # (rows, n) in that order, zero where missing
    known: Flags  # which numbers are there

    @classmethod
    def of(cls, numbers: Floats, num_gaussians: int = 1) -> PatternRows:
        """From rows of numbers, NaN where missing, for so many Gaussians at once."""
        known = ~np.isnan(numbers)
        order, blocks = pattern_blocks(known, num_gaussians)
        return cls(order, tuple(blocks), np.where(known, numbers, 0.0)[order], known[order])

    def density(self, means: Floats, covariances: Floats) -> RowDensity:
        """The densities of what each row has, for means (K, n) and covariances (K, n, n)."""
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
        """Σ_rows share · E[z zᵀ | row] for z = (1, numbers): shape (K, n + 1, n + 1), for shares (rows, K)."""
        size = means.shape[1]
        total = Moments(np.zeros_like(means), np.zeros_like(means), np.zeros_like(covariances))
        for (start, stop, _), part in zip(self.blocks, density.parts, strict=True):
            total = total.plus(expected_moments(part, shares[self.order[start:stop]].T, covariances))
        found = np.empty((len(means), size + 1, size + 1))
        found[:, 0, 0] = shares.sum(axis=0)
        found[:, 0, 1:] = found[:, 1:, 0] = total.firsts + found[:, :1, 0] * means
        crossed = means[:, :, None] * total.firsts[:, None, :]
        squares = found[:, :1, :1] * means[:, :, None] * means[:, None, :]
        found[:, 1:, 1:] = total.seconds + crossed + np.swapaxes(crossed, 1, 2) + squares
        return found
