"""Scores of tables with numbers from the rows that happen to have them: family by family, or pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats
from plausible.data.moment_statistics import Moments, MomentStatistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument
from plausible.learn.scores.score import FamilyScores, Score

__all__ = ["AvailableRowScores", "pairwise_moments"]


#: A correlation matrix has no smaller eigenvalues after it was made positive definite.
_LEAST_EIGENVALUE = 1e-3


def pairwise_moments(table: Table) -> MomentStatistics:
    """Means of columns and covariances of pairs, each from all rows that have them; right only where cells are missing
    completely at random.

    Correlations that no data could have together are made so: eigenvalues below a thousandth are raised to it, and the
    diagonal is brought back to ones. They count as many rows as the pair has that fewest rows have.

    >>> rows = Table.read({"x": [1.2, 2.1, 3.4, None, 5.3], "y": [1.5, 2.5, 3.1, 4.2, None]})
    >>> pairwise_moments(rows).total
    3.0
    """
    seen = ~np.isnan(table.numbers)
    filled, have = np.where(seen, table.numbers, 0.0), seen.astype(np.float64)
    pairs = have @ have.T
    _refuse_few(table, pairs)
    means = filled.sum(axis=1) / have.sum(axis=1)
    centred = np.where(seen, table.numbers - means[:, None], 0.0)
    covariances = (centred @ centred.T) / pairs
    deviations = np.sqrt(np.diag(covariances))
    scale = np.outer(deviations, deviations)
    correlations = np.divide(covariances, scale, out=np.eye(len(means)), where=scale > 0)
    num = int(pairs.min())
    moments = Moments(float(num), num, means, _positive_definite(correlations) * scale * num)
    return MomentStatistics(dict(table.variables), moments)


class AvailableRowScores(FamilyScores):
    """Scores of families of numbers, or of numbers and states, each in the rows that are complete in it.

    What a parent gains is told, as by `SeparateScores`, by the rows that have the family, and is scaled up to all rows.

    Parameters
    ----------
    score
        A Gaussian score, or a conditional Gaussian one.
    table
        Rows with missing cells.

    Examples
    --------
    >>> from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
    >>> rows = {"drug": ["no", None, "no", "yes", "yes", "yes"] * 2, "effect": [0.1, -0.2, 0.3, None, 5.2, 5.0] * 2}
    >>> scores = AvailableRowScores(ConditionalGaussian(), Table.read(rows))
    >>> scores.family("effect", ["drug"]) > scores.family("effect", [])
    True
    """

    __slots__ = ("_has", "_kept", "_score", "_table")

    def __init__(self, score: Score, table: Table) -> None:
        self._score, self._table = score, table
        self._has = {name: _observed(table.column(name)) for name in table.variables}
        self._kept: dict[tuple[str, frozenset[str]], float] = {}
        _refuse_few(table, (~np.isnan(table.numbers)).astype(np.float64) @ (~np.isnan(table.numbers)).T)

    @property
    def names(self) -> Sequence[str]:
        """The variables."""
        return list(self._table.variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        """The score of a variable with these parents; -inf where no more rows than cells have the family."""
        ordered = sorted(parents)
        key = (child, frozenset(ordered))
        if key not in self._kept:
            self._kept[key] = self._scored(child, ordered)
        return self._kept[key]

    def _scored(self, child: str, parents: Sequence[str]) -> float:
        family = [*parents, child]
        rows = np.logical_and.reduce([self._has[name] for name in family])
        if parents and np.count_nonzero(rows) <= len(family):
            return -np.inf
        there = self._score.on(TableStatistics(self._table.select(family).take(rows)))
        whole, scale = there.family(child, parents), self._scale(child, rows)
        if not np.isfinite(whole):
            return -np.inf
        without = [[*parents[:place], *parents[place + 1 :]] for place in range(len(parents))]
        gained = (self.family(child, others) + scale * (whole - there.family(child, others)) for others in without)
        return min(gained, default=scale * whole)

    def _scale(self, child: str, rows: Flags) -> float:
        """How often some rows go into all, those in which the child was set aside."""
        free = ~self._table.interventions.get(child, np.zeros(self._table.num_rows, dtype=np.bool_))
        weights = free * (1.0 if self._table.weights is None else self._table.weights)
        there = float(weights[rows].sum())
        return float(weights.sum()) / there if there > 0 else 1.0


def _observed(column: NDArray[Any]) -> Flags:
    """For each cell, a position or a number, whether it is there."""
    return ~np.isnan(column) if np.issubdtype(column.dtype, np.floating) else column >= 0


def _refuse_few(table: Table, pairs: Floats) -> None:
    one, two = np.unravel_index(int(pairs.argmin()), pairs.shape)
    if pairs[one, two] < 2:
        names = table.continuous[int(one)], table.continuous[int(two)]
        raise InvalidArgument(
            f"{int(pairs[one, two])} rows have both {names[0]!r} and {names[1]!r}; two are needed. Take missing='sem'."
        )


def _positive_definite(correlations: Floats) -> Floats:
    values, vectors = np.linalg.eigh(correlations)
    if values.min() >= _LEAST_EIGENVALUE:
        return correlations
    raised = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    ends = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(ends, ends))
