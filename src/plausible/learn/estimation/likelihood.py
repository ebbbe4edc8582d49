"""How well networks and graphs explain data: likelihood, entropy and divergence, which are one identity.

LL(θ | D) = Σ_rows log P_θ(row) = -N [H(P_D) + KL(P_D, P_θ)], and for the parameters of greatest likelihood
LL = -N Σ_families H_D(X | U), where P_D is the empirical distribution. Natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike
from plausible.errors import NotSupported
from plausible.learn.estimation.families import read_families
from plausible.models import BayesianNetwork


def log_likelihood(network: BayesianNetwork, data: TableLike) -> float:
    """Σ log P(row), case by case; -inf where a row is impossible.

    Parameters
    ----------
    network
        Any network, with densities where variables are continuous.
    data
        Complete rows, weighted or not. Where a variable was set from outside, its own distribution does not count.

    Examples
    --------
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
    """-N Σ H_D(X | U): the greatest log-likelihood that tables on a graph can reach, by entropies of families.

    Parameters
    ----------
    graph
        A DAG, arrow text, or a network.
    data
        Complete rows of discrete variables, or statistics of them.
    """
    families = read_families(graph, data)
    terms = [
        _entropy_terms(counts.sum(axis=-1)) - _entropy_terms(counts)
        for counts in families.counts_of(families.parents).values()
    ]
    return math.fsum(terms)


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
