"""Sums over one variable at a time, the others as they are in a row: what pseudolikelihoods subtract."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Codes, Floats, starts_of
from plausible.errors import InvalidArgument
from plausible.kernels.local_sums import Tables, add_local_sums
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.partition import Kind, Part


class LocalPart(Part):
    """A part that needs no inference but sums over single variables, and is what it says."""

    __slots__ = ()

    @property
    def kind(self) -> Kind:
        """It is what it says."""
        return "exact"

    @property
    def num_inferences(self) -> int:
        """No inference but sums over single variables."""
        return 0


class LocalPartitions(LocalPart):
    """Σ_m w_m Σ_j log Σ_{x_j} Π φ(x_j, others as in row m): what the pseudolikelihood subtracts."""

    __slots__ = ("_tables", "_weights", "rows", "targets")

    def __init__(self, design: Design, rows: Codes, weights: Floats, targets: Sequence[int]) -> None:
        self.rows, self._weights = rows, weights
        self._tables = _kernel_tables(design)
        held = np.diff(self._tables.holder_starts) > 0
        self.targets = np.array([place for place in targets if held[place]], dtype=np.int64)
        lonely = [place for place in targets if not held[place]]
        if lonely:
            name = list(design.variables)[lonely[0]]
            raise InvalidArgument(f"{name!r} is in no feature: give it one, such as Feature([{name!r}]).")

    @property
    def num_rivals(self) -> int:
        """How many rows there are that differ from one of the data in one target."""
        return len(self.rows) * int((self._tables.sizes[self.targets] - 1).sum())

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """The sum, and the counts of entries that it expects."""
        expected, sums = np.zeros(logs.size), np.empty(len(self.rows))
        add_local_sums(self._tables, self.rows, self._weights, self.targets, logs, expected, sums)
        return float(self._weights @ sums), expected


def _kernel_tables(design: Design) -> Tables:
    starts, flat, strides = design.axes
    table_of = np.repeat(np.arange(len(design.scopes)), np.diff(starts))
    order = np.argsort(flat, kind="stable")
    holder_starts = starts_of(np.bincount(flat, minlength=len(design.sizes)).tolist())
    return Tables(
        starts, flat, strides, design.starts[:-1].copy(), holder_starts, table_of[order], strides[order], design.sizes
    )
