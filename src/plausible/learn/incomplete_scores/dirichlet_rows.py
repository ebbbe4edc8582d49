"""The rows of all tables of a graph as one flat array, and Dirichlet densities of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["DirichletRows", "Floats"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DirichletRows:
    """Independent Dirichlet(α) densities of all rows of all tables, whose entries lie one table after the other.

    Attributes
    ----------
    tables
        Name -> α, positive, with axes (parents..., child).

    Examples
    --------
    Three tosses of a coin, two of them heads, under a uniform prior: 2! 1! / 4!.

    >>> coin = DirichletRows({"coin": np.ones(2)})
    >>> float(np.exp(coin.log_marginal(np.array([2.0, 1.0]))).round(6))
    0.083333
    """

    tables: Mapping[str, Floats]

    @cached_property
    def pseudo_counts(self) -> Floats:
        """α of all entries."""
        return self.flat(self.tables)

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Name -> the entries of its table."""
        ends = np.cumsum([0, *(table.size for table in self.tables.values())]).tolist()
        return {name: slice(*ends[place : place + 2]) for place, name in enumerate(self.tables)}

    @cached_property
    def row_lengths(self) -> NDArray[np.intp]:
        """How many entries each row has."""
        shapes = [table.shape for table in self.tables.values()]
        lengths = np.array([shape[-1] for shape in shapes], dtype=np.intp)
        return np.repeat(lengths, [math.prod(shape[:-1]) for shape in shapes])

    @cached_property
    def row_of_entry(self) -> NDArray[np.intp]:
        """The row that each entry is in."""
        return np.repeat(np.arange(len(self.row_lengths)), self.row_lengths)

    def flat(self, tables: Mapping[str, Floats]) -> Floats:
        """Tables of these shapes as one array."""
        return np.concatenate([np.zeros(0), *(np.ravel(tables[name]) for name in self.tables)])

    def row_sums(self, entries: Floats) -> Floats:
        """Sums over rows, along the last axis."""
        starts = np.cumsum(self.row_lengths) - self.row_lengths
        return np.add.reduceat(entries, starts, axis=-1) if len(starts) else np.zeros((*entries.shape[:-1], 0))

    def log_marginal(self, counts: Floats) -> Floats:
        """log ∫ Π θ^N Dirichlet(θ; α) dθ for each array of counts along the last axis; they need not be whole."""
        from scipy.special import gammaln

        alpha = self.pseudo_counts
        sums = self.row_sums(alpha)
        entries = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)
        return np.asarray(entries - (gammaln(sums + self.row_sums(counts)) - gammaln(sums)).sum(axis=-1))

    def log_density(self, thetas: Floats, counts: Floats | float = 0.0) -> Floats:
        """log Dirichlet(θ; α + N), by the first K - 1 probabilities of each row; axes but the last are broadcast."""
        from scipy.special import gammaln

        after = self.pseudo_counts + counts
        constants = gammaln(self.row_sums(after)).sum(axis=-1) - gammaln(after).sum(axis=-1)
        return np.asarray(constants + ((after - 1.0) * np.log(thetas)).sum(axis=-1))
