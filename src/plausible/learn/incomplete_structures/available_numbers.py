"""Scores of numbers from the rows that happen to have them: family by family, or pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from plausible.data.moment_statistics import Moments, MomentStatistics
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.scores.gaussian import GaussianScore
from plausible.learn.scores.score import FamilyScores

__all__ = ["AvailableNumberScores", "pairwise_moments"]

Floats = NDArray[np.float64]

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


class AvailableNumberScores(FamilyScores):
    """Scores of families of numbers, each in the rows that are complete in it.

    What a parent gains is told, as by `SeparateScores`, by the rows that have the family, and is scaled up to all rows.

    Parameters
    ----------
    score
        A Gaussian score.
    table
        Numbers, NaN where missing.
    """

    __slots__ = ("_kept", "_score", "_table")

    def __init__(self, score: GaussianScore, table: Table) -> None:
        self._score, self._table = score, table
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
        places = [self._table.continuous.index(name) for name in (*parents, child)]
        rows = np.flatnonzero(~np.isnan(self._table.numbers[places]).any(axis=0))
        scale = self._table.num_rows / max(len(rows), 1)
        if parents and len(rows) <= len(places):
            return -np.inf
        there = self._on(rows, [*parents, child])
        whole = there.family(child, parents)
        without = [[*parents[:place], *parents[place + 1 :]] for place in range(len(parents))]
        gained = (self.family(child, others) + scale * (whole - there.family(child, others)) for others in without)
        return min(gained, default=scale * whole)

    def _on(self, rows: NDArray[np.intp], names: Sequence[str]) -> FamilyScores:
        places = [self._table.continuous.index(name) for name in names]
        moments = Moments.of_rows(self._table.numbers[places][:, rows])
        return self._score.on(MomentStatistics({name: self._table.variables[name] for name in names}, moments))


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
