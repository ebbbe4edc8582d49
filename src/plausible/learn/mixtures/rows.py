"""Rows as a mixture sees them: indicators of states, numbers in common units, equal rows and patterns together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Positions
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.variables import Variable

__all__ = ["MixtureRows", "MixtureSpace", "PatternBlock", "pattern_blocks"]


#: Rows that are worked on at once: few enough for the cache.
_MAX_ROWS = 1024
#: Entries of the matrices of a block, for each cluster.
_MAX_ENTRIES = 1 << 19


class PatternBlock(NamedTuple):
    """Neighbouring rows: `num_groups` groups of equally many rows, each with one pattern of known numbers."""

    start: int
    stop: int
    num_groups: int


@dataclass(frozen=True, slots=True, eq=False)
class MixtureSpace:
    """The features of a mixture, and the units of their numbers: (x - location) / scale.

    Attributes
    ----------
    discrete, continuous
        The features of each kind.
    offsets
        Where the states of each discrete feature start among those of all, and their total at the end.
    location, scale
        Of each continuous feature.
    """

    discrete: tuple[Variable, ...]
    continuous: tuple[Variable, ...]
    offsets: Positions
    location: Floats
    scale: Floats

    @classmethod
    def of(cls, table: Table, covariance: str) -> MixtureSpace:
        """Units in which the variance of each column is one; for spherical clusters, of all columns together."""
        _refuse_infinite(table)
        discrete = tuple(table.variables[name] for name in table.discrete)
        weights = table.row_weights
        known = ~np.isnan(table.numbers)
        totals = np.maximum((known * weights).sum(axis=1), np.finfo(float).tiny)
        numbers = np.where(known, table.numbers, 0.0)
        location = (numbers * weights).sum(axis=1) / totals
        variances = (np.where(known, numbers - location[:, None], 0.0) ** 2 * weights).sum(axis=1) / totals
        variances[variances <= (1e-12 * location) ** 2] = 0.0  # nothing but rounding
        if covariance == "spherical":
            variances[:] = variances.mean() if len(variances) else 1.0
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        if covariance == "unit":
            scale[:] = 1.0
        offsets = np.cumsum([0, *(variable.num_states for variable in discrete)])
        return cls(discrete, tuple(table.variables[name] for name in table.continuous), offsets, location, scale)

    @property
    def num_states(self) -> Positions:
        """The number of states of each discrete feature."""
        return np.diff(self.offsets)

    def encode(self, table: Table, *, is_grouped: bool = True) -> MixtureRows:
        """The rows of a table that has these features, equal rows as one if wanted."""
        _refuse_infinite(table)
        codes, raw = table.codes.astype(np.intp).T, table.numbers.T
        weights = table.row_weights
        known = ~np.isnan(raw)
        numbers = np.where(known, (raw - self.location) / self.scale, 0.0)
        first, place = _equal_rows(codes, known, numbers) if is_grouped else (np.arange(len(codes)),) * 2
        order, blocks = pattern_blocks(known[first])
        chosen = first[order]
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        return MixtureRows(
            self._indicators(codes[chosen]),
            np.ascontiguousarray(numbers[chosen]),
            known[chosen],
            np.bincount(position[place], weights=weights, minlength=len(order)).astype(np.float64),
            position[place],
            tuple(blocks),
        )

    def _indicators(self, codes: Positions) -> Floats:
        found = np.zeros((len(codes), int(self.offsets[-1])))
        row, feature = np.nonzero(codes >= 0)
        found[row, self.offsets[feature] + codes[row, feature]] = 1.0
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRows:
    """Encoded rows, sorted by pattern.

    Attributes
    ----------
    indicators
        (rows, states of all discrete features): one for the state that a row has, none where it is missing.
    numbers
        (rows, continuous features); zero where missing.
    known
        Which numbers are there.
    weights
        How often each row counts.
    places
        For each row of the table, the row here that it is.
    blocks
        Runs of rows of equally large groups with one pattern each.
    """

    indicators: Floats
    numbers: Floats
    known: Flags
    weights: Floats
    places: Positions
    blocks: tuple[PatternBlock, ...]

    def __len__(self) -> int:
        return len(self.weights)


def _refuse_infinite(table: Table) -> None:
    for name, column in zip(table.continuous, table.numbers, strict=True):
        if np.isinf(column).any():
            raise InvalidArgument(f"{name!r} has infinite values (inf): leave these rows out.")


def _equal_rows(codes: Positions, known: Flags, numbers: Floats) -> tuple[Positions, Positions]:
    """A row of each kind, and which kind each row is; equal rows share a random sum, and others hardly ever do."""
    columns = [*codes.T.astype(float), *np.where(known, numbers, np.pi * 1e3).T]
    sums = np.zeros(len(codes))
    for factor, column in zip(np.random.default_rng(0).normal(size=len(columns)), columns, strict=True):
        sums += factor * column
    _, first, place = np.unique(sums, return_index=True, return_inverse=True)
    if len(first) == len(sums):
        return first, place
    same = all((column == column[first[place]]).all() for column in columns)
    if not same:
        matrix = np.column_stack(columns)
        _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def pattern_blocks(known: Flags, num_clusters: int = 1) -> tuple[Positions, list[PatternBlock]]:
    """An order of the rows, and the blocks in it: groups of one pattern, those of equal size side by side.

    More clusters than usual make smaller blocks.
    """
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
    return order, list(_runs(np.sort(sizes), max(1, _MAX_ENTRIES // (max(1, num_numbers) ** 2 * num_clusters))))


def _runs(sizes: Positions, max_groups: int) -> Iterator[PatternBlock]:
    start = 0
    for size, num_groups in zip(*np.unique(sizes, return_counts=True), strict=True):
        at_once = max(1, min(max_groups, _MAX_ROWS // int(size)))
        for first in range(0, int(num_groups), at_once):
            count = min(at_once, int(num_groups) - first)
            yield PatternBlock(start, start + count * int(size), count)
            start += count * int(size)
