"""Base measures of rows with features of all kinds: products of independent parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import check_number
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.partitions.base_measures import BasePart, DirichletStates, NormalInverseWishart

__all__ = ["BaseMeasure", "default_base", "part_rows"]


@dataclass(frozen=True, slots=True)
class BaseMeasure:
    """The distribution of the parameters of a cluster: parts that are independent given the cluster.

    Parameters
    ----------
    parts
        `DirichletStates` and `NormalInverseWishart` values; each feature is in one of them.

    Examples
    --------
    >>> base = BaseMeasure((DirichletStates("wet", (1.0, 1.0)),))
    >>> round(float(np.exp(base.log_marginal(Table.read({"wet": [0, 0, 1]})))), 4)  # 1/2 · 2/3 · 1/4
    0.0833
    """

    parts: tuple[DirichletStates | NormalInverseWishart, ...]

    def __post_init__(self) -> None:
        names = [name for part in self.parts for name in part.names]
        for name in names:
            if names.count(name) > 1:
                raise InvalidArgument(f"{name!r} is in {names.count(name)} parts of the base measure: leave it in one.")

    @property
    def states(self) -> tuple[DirichletStates, ...]:
        """The parts of discrete features."""
        return tuple(part for part in self.parts if isinstance(part, DirichletStates))

    @property
    def blocks(self) -> tuple[NormalInverseWishart, ...]:
        """The parts of numbers."""
        return tuple(part for part in self.parts if isinstance(part, NormalInverseWishart))

    def updated(self, table: Table) -> BaseMeasure:
        """The distribution given rows of a cluster."""
        return BaseMeasure(tuple(part.updated(part_rows(part, table)) for part in self.parts))

    def log_marginal(self, table: Table) -> float:
        """log P(rows) when all of them are one cluster; missing features are summed out."""
        return sum(part.log_marginal(part_rows(part, table)) for part in self.parts)

    def log_predictive(self, table: Table) -> Floats:
        """log Q(x) of each row for itself; missing features are summed out."""
        return sum((part.log_predictive(part_rows(part, table)) for part in self.parts), np.zeros(table.num_rows))


def default_base(
    table: Table, *, pseudo_count: float = 1.0, covariance: str = "diagonal", within: float = 0.1
) -> BaseMeasure:
    """A weak base measure that fits the scales of the columns.

    Clusters are expected to have the share `within` of the variance of a column, and their means to spread as the
    column does: κ = `within`, ν = d + 2, Ψ = `within` times the variances.

    Parameters
    ----------
    table
        Rows.
    pseudo_count
        α of each state of discrete features.
    covariance
        "diagonal" for numbers that are independent within a cluster, "full" for all in one block.
    within
        The share of the variance within clusters.

    Examples
    --------
    >>> [part.names for part in default_base(Table.read({"age": [1.5, 2.5], "sex": ["f", "m"]})).parts]
    [('sex',), ('age',)]
    """
    check_number("pseudo_count", pseudo_count, above=0)
    check_number("within", within, above=0)
    if covariance not in ("diagonal", "full"):
        raise InvalidArgument(f'covariance is "diagonal" or "full", not {covariance!r}.')
    parts: list[DirichletStates | NormalInverseWishart] = [
        DirichletStates(name, (pseudo_count,) * table.variables[name].num_states) for name in table.discrete
    ]
    names, means, variances = table.continuous, _moments(table.numbers, 1), _moments(table.numbers, 2)
    blocks = [list(range(len(names)))] if covariance == "full" and names else [[i] for i in range(len(names))]
    for block in blocks:
        scale = np.diag(within * variances[block])
        chosen = tuple(names[i] for i in block)
        parts.append(NormalInverseWishart(chosen, means[block], within, len(block) + 2.0, scale))
    return BaseMeasure(tuple(parts))


def part_rows(part: BasePart, table: Table) -> NDArray[Any]:
    """The features of a part as (rows, features): codes or numbers."""
    for name in part.names:
        if name not in table.variables:
            raise UnknownVariable.named(name, table.variables, "the data, though the base measure has it")
        if table.variables[name].is_continuous == isinstance(part, DirichletStates):
            kinds = ("states", "numbers")[:: 1 if isinstance(part, DirichletStates) else -1]
            raise InvalidArgument(f"The base measure has {kinds[0]} for {name!r}, which holds {kinds[1]}.")
    chosen = table.select(part.names)
    return (chosen.codes if isinstance(part, DirichletStates) else chosen.numbers).T


def _moments(numbers: Floats, order: int) -> Floats:
    """The mean or the variance of each row of what is there; of a column that does not vary the variance is one."""
    there = ~np.isnan(numbers)
    totals = np.maximum(there.sum(axis=1), 1)
    means = np.where(there, numbers, 0.0).sum(axis=1) / totals
    if order == 1:
        return np.asarray(means)
    variances = np.where(there, (numbers - means[:, None]) ** 2, 0.0).sum(axis=1) / totals
    # The mean of equal numbers may be off by rounding, and their variance then not zero.
    lowest = np.where(there, numbers, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(there, numbers, -np.inf).max(axis=1, initial=-np.inf)
    return np.where((lowest < highest) & (variances > 0), variances, 1.0)
