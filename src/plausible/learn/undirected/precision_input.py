"""What a Gaussian Markov network is learned from: rows of numbers or their covariance, and penalties of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.base.options import check_number
from plausible.data.moments import Moments
from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.factors.definite import definite, symmetric
from plausible.learn.undirected.precision import Problem
from plausible.variables import Variable

#: A number for each pair of variables: a matrix, a frame, or (name, name) -> number.
PairsLike: TypeAlias = ArrayLike | Mapping[tuple[str, str], float]
#: Penalties where none is given: so many, down to this share of the smallest that leaves no edge.
_NUM_PENALTIES, _SMALLEST = 20, 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What is known of the rows."""

    names: tuple[str, ...]
    mean: Floats
    covariance: Floats
    num_rows: float  # nan where that is not known
    statistics: Statistics | None  # none of a covariance matrix

    @classmethod
    def read(cls, data: DataLike | None, covariance: ArrayLike | None, num_rows: float | None) -> Source:
        if (data is None) == (covariance is None):
            raise InvalidArgument("Give either data, which are rows or their statistics, or covariance=.")
        if covariance is not None:
            names = tuple(
                map(str, getattr(covariance, "columns", [f"X{i}" for i in range(len(np.atleast_1d(covariance)))]))
            )
            matrix = symmetric(covariance, names, "The covariance")
            _refuse_impossible(names, matrix)
            if num_rows is not None:
                check_number("num_rows", num_rows, least=1)
            return cls(names, np.zeros(len(names)), matrix, math.nan if num_rows is None else num_rows, None)
        statistics = data if isinstance(data, Statistics) else TableStatistics(_read_numbers(data))
        if statistics.discrete:
            raise NotSupported(
                f"{statistics.discrete[0]!r} has states, not numbers: leave it out, or use pb.learn.markov."
            )
        if not statistics.continuous:
            raise InvalidArgument("There are no columns of numbers.")
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            moments = statistics.moments(statistics.continuous[0])
        return cls._of(tuple(statistics.continuous), moments, statistics)

    @classmethod
    def _of(cls, names: tuple[str, ...], moments: Moments, statistics: Statistics | None) -> Source:
        if not moments.weight > 0:
            raise InvalidArgument("There are no rows.")
        covariance = moments.scatter / moments.weight
        if not np.isfinite(covariance).all():
            name = names[int(np.argmin(np.isfinite(covariance.diagonal())))]
            raise InvalidArgument(f"The variance of {name!r} is too large for a number: divide the column by its size.")
        return cls(names, moments.mean, covariance, moments.weight, statistics)

    def part(self, names: Sequence[str]) -> Source:
        """What is known of some of the variables."""
        for name in names:
            if name not in self.names:
                raise UnknownVariable.named(name, self.names, "the data")
        places = [self.names.index(name) for name in names]
        return replace(
            self, names=tuple(names), mean=self.mean[places], covariance=self.covariance[np.ix_(places, places)]
        )

    @property
    def table(self) -> Table:
        """The rows; refused where there are none."""
        if self.statistics is None:
            raise NotSupported("This needs rows: give data, not covariance=.")
        return self.statistics.table

    def rows(self, chosen: Any) -> Source:
        """What is known of some of the rows."""
        table = self.table.take(chosen)
        return Source._of(self.names, Moments.of_rows(table.numbers, table.weights), None)


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Which pairs are penalised, and in which units."""

    weights: Floats
    correlation: bool = False

    def problem(self, source: Source, penalty: float) -> Problem:
        free = np.where(np.isinf(self.weights), np.inf, penalty * np.where(np.isinf(self.weights), 0.0, self.weights))
        if self.correlation:
            scale = np.sqrt(source.covariance.diagonal())
            free = free * np.outer(scale, scale)
        return Problem(source.covariance, free)


def _read_numbers(data: Any) -> Table:
    """The table, with whole numbers as numbers."""
    table = Table.read(data)
    whole = [
        name
        for name in table.discrete
        if all(
            isinstance(state, (int, float)) and not isinstance(state, bool) for state in table.variables[name].states
        )
    ]
    return Table.read(data, [Variable(name) for name in whole]) if whole else table


def _refuse_impossible(names: Sequence[str], matrix: Floats) -> None:
    diagonal = matrix.diagonal()
    if (diagonal < 0).any():
        raise InvalidArgument(f"The variance of {names[int(np.argmin(diagonal))]!r} is negative: {diagonal.min():g}.")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    correlation, room = matrix / np.outer(scale, scale), 1e-8 * len(names)
    if definite(correlation + room * np.eye(len(names))) is None:
        least = float(np.linalg.eigvalsh(correlation)[0])
        raise InvalidArgument(
            f"This is no covariance matrix: scaled to variances of one it has the eigenvalue {least:.3g}. Numbers "
            "that come from different rows, or are rounded, may do this: take them from complete rows."
        )


def refuse_singular(source: Source, cliques: Iterable[Sequence[int]]) -> None:
    for clique in cliques:
        if definite(source.covariance[np.ix_(clique, clique)]) is None:
            raise InvalidArgument(
                f"The covariance of the clique {[source.names[place] for place in clique]} is singular, so that the "
                "likelihood has no maximum: a column is constant or follows from others, or there are no more rows "
                "than variables. Take a graph of smaller cliques, leave columns out, or use graphical_lasso."
            )


def read_weights(weights: Any, names: Sequence[str], diagonal: bool) -> Floats:
    matrix = np.ones((len(names), len(names)))
    if isinstance(weights, Mapping):
        for pair, value in weights.items():
            for name in pair:
                if name not in names:
                    raise UnknownVariable.named(name, names, "the data, though weights= names it")
            i, j = (names.index(name) for name in pair)
            matrix[i, j] = matrix[j, i] = value
    elif weights is not None:
        if hasattr(weights, "columns"):
            weights = weights.loc[list(names), list(names)]
        matrix = np.array(weights, dtype=np.float64)
        if matrix.shape != (len(names), len(names)) or not np.array_equal(matrix, matrix.T):
            raise InvalidArgument(f"weights= must be a symmetric matrix of shape {(len(names), len(names))}.")
    if not diagonal:
        np.fill_diagonal(matrix, 0.0)
    if np.isnan(matrix).any() or (matrix < 0).any() or np.isinf(matrix.diagonal()).any():
        raise InvalidArgument("weights= must be numbers of at least 0, finite on the diagonal.")
    return matrix


def read_penalties(penalty: Any, source: Source, form: Form) -> list[float]:
    """The largest first."""
    if penalty is None:
        off = np.abs(form.problem(source, 1.0).covariance)
        bounds = form.problem(source, 1.0).penalty
        is_pair = np.isfinite(bounds) & (bounds > 0) & ~np.eye(len(off), dtype=bool)
        largest = float((off[is_pair] / bounds[is_pair]).max(initial=0.0))
        if not largest > 0:
            return [1.0]
        return [float(one) for one in np.geomspace(largest, _SMALLEST * largest, _NUM_PENALTIES)]
    if isinstance(penalty, str):
        raise InvalidArgument(
            f"penalty={penalty!r} must be a number, several of them, or None for a path; choose= says which is best."
        )
    listed = list(penalty) if isinstance(penalty, Iterable) else [penalty]
    for one in listed:
        check_number("penalty", one, least=0)
    if not listed:
        raise InvalidArgument("penalty= is empty: give a number, or several.")
    return sorted(map(float, listed), reverse=True)
