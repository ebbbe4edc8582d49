"""How well networks and graphs explain data, and how thinly the data are spread over the rows of tables.

Likelihood, entropy and divergence are one identity: LL(θ | D) = Σ_rows log P_θ(row) = -N [H(P_D) + KL(P_D, P_θ)], and
for the parameters of greatest likelihood LL = -N Σ_families H_D(X | U), where P_D is the empirical distribution.
Natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.records import Result, record
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.learn.estimation.families import read_families
from plausible.models import BayesianNetwork


def log_likelihood(network: BayesianNetwork, data: TableLike) -> float:
    """Σ log P(row), or its density, of complete rows, weighted or not; -inf where a row is impossible.

    Where a variable was set from outside, its own distribution does not count.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> round(log_likelihood(coin, {"coin": [1, 1, 0]}), 6)
    -1.961659
    """
    table = read_families(network, data).statistics.table
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    weights = table.row_weights
    total = 0.0
    for name, cpd in network.cpds.items():
        counting = weights > 0
        if name in table.interventions:
            counting = counting & ~table.interventions[name]
        logs = np.broadcast_to(cpd.log_probability(columns), counting.shape)
        total += float(weights[counting] @ logs[counting])
    return total


def graph_log_likelihood(graph: object, data: DataLike) -> float:
    """-N Σ H_D(X | U): the greatest log-likelihood that tables on a graph can reach, by entropies of families."""
    families = read_families(graph, data)
    counted_families = families.counts_of(families.parents).values()
    return math.fsum(_entropy_terms(counts.sum(axis=-1)) - _entropy_terms(counts) for counts in counted_families)


def empirical_entropy(data: TableLike, names: Iterable[str] | None = None) -> float:
    """H(P_D), of the joint distribution of some variables, or of all, in the data. O(rows log rows)."""
    table = Table.read(data)
    weights = _distinct(table if names is None else table.select(names))[1]
    total = weights.sum()
    return float(_entropy_terms(weights) / total + np.log(total)) if total else 0.0


def empirical_divergence(network: BayesianNetwork, data: TableLike) -> float:
    """KL(P_D, P_θ) = Σ P_D(row) log P_D(row) / P_θ(row) ≥ 0; infinite where the network rules a row out.

    Its minimum over parameters is at those of greatest likelihood.
    """
    table = read_families(network, data).statistics.table.select(network.variables)
    codes, weights = _distinct(table)
    shares = weights / weights.sum() if weights.sum() else weights
    columns = dict(zip(table.discrete, codes.astype(np.intp), strict=True))
    logs = sum((cpd.log_probability(columns) for cpd in network.cpds.values()), np.zeros(len(weights)))
    return max(float(shares @ (np.log(shares) - logs)), 0.0)


def _distinct(table: Table) -> tuple[NDArray[Any], Floats]:
    """The rows that differ, as columns, and how much each weighs."""
    if table.continuous:
        raise NotSupported(f"{table.continuous[0]!r} is continuous: it has a density, and no empirical entropy.")
    rows, places = np.unique(table.codes, axis=1, return_inverse=True)
    weights = np.bincount(places.ravel(), table.weights, rows.shape[1]).astype(np.float64)
    return rows[:, weights > 0], weights[weights > 0]


def _entropy_terms(counts: Floats) -> float:
    """-Σ n log n, with 0 log 0 = 0."""
    live = counts[counts > 0]
    return -float(live @ np.log(live))


@dataclass(frozen=True, slots=True, eq=False)
class FamilyFragmentation:
    """How many cases there are for each joint state of the parents of one variable."""

    cases: Floats  # the numbers; an axis for each parent
    num_parameters: int  # the free parameters of the table
    num_unseen: int  # joint states of the parents without a case
    num_thin: int  # those with fewer cases than asked for
    median: float  # the number of cases that half of the joint states do not reach

    @property
    def cases_per_parameter(self) -> float:
        """All cases over all free parameters; infinite where there is nothing to learn."""
        return float(self.cases.sum()) / self.num_parameters if self.num_parameters else float("inf")


@record(eq=False)
class Fragmentation(Result):
    """The report on all families; `print` shows the thinnest first."""

    families: Mapping[str, FamilyFragmentation]
    fewest: float

    def __str__(self) -> str:
        lines = []
        for name, family in sorted(self.families.items(), key=lambda item: (item[1].cases_per_parameter, item[0])):
            thin = f"{family.num_thin} with fewer than {self.fewest:g}, median {family.median:g}"
            lines.append(f"{name}: {counted(family.cases.size, 'row')}, {family.num_unseen} without cases, {thin}")
        return "\n".join(lines)


def data_fragmentation(graph: object, data: DataLike, fewest: float = 5.0) -> Fragmentation:
    """How many cases there are to learn each row of each table from; those with fewer than `fewest` count as thin.

    Families with continuous variables are left out.

    >>> rows = {"rain": [0, 0, 0, 1], "wind": [0, 0, 1, 1], "wet": [0, 1, 0, 1]}
    >>> print(data_fragmentation("rain -> wet <- wind", rows, fewest=2))
    wet: 4 rows, 1 without cases, 3 with fewer than 2, median 1
    rain: 1 row, 0 without cases, 0 with fewer than 2, median 4
    wind: 1 row, 0 without cases, 0 with fewer than 2, median 4
    """
    if not fewest >= 0:
        raise InvalidArgument(f"fewest= is a number of cases, not {fewest!r}.")
    families = read_families(graph, data)
    numbers = {name for name, variable in families.variables.items() if variable.is_continuous}
    tables = [name for name in families.variables if not numbers & {name, *families.parents[name]}]
    found = {}
    for name, counts in families.counts_of(tables).items():
        variable, cases = families.variables[name], np.asarray(counts.sum(axis=-1))
        thin, unseen = int((cases < fewest).sum()), int((cases <= 0).sum())
        parameters = cases.size * (variable.num_states - 1)
        found[name] = FamilyFragmentation(cases, parameters, unseen, thin, float(np.median(cases)))
    return Fragmentation(MappingProxyType(found), fewest)
