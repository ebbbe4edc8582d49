"""Rows as a mixture sees them: indicators of states, numbers in common units, equal rows and patterns together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Floats, Positions
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.incomplete.gaussian_rows import PatternBlock, column_units, pattern_blocks
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class MixtureSpace:
    """The features of a mixture, and the units of their numbers: (x - location) / scale."""

    discrete: tuple[Variable, ...]
    continuous: tuple[Variable, ...]
    offsets: Positions  # where the states of each discrete feature start among those of all; their total at the end
    location: Floats  # of each continuous feature
    scale: Floats

    @classmethod
    def of(cls, table: Table, covariance: str) -> MixtureSpace:
        """Units in which the variance of each column is one; for spherical clusters, of all columns together."""
        _refuse_infinite(table)
        discrete = tuple(table.variables[name] for name in table.discrete)
        location, variances = column_units(table.numbers.T, table.row_weights)
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
    """Encoded rows, sorted by pattern."""

    indicators: Floats  # (rows, states of all discrete features): one for the state that a row has
    numbers: Floats  # (rows, continuous features); zero where missing
    known: Flags  # which numbers are there
    weights: Floats  # how often each row counts
    places: Positions  # for each row of the table, the row here that it is
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
