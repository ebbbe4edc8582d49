"""What clusters of rows say about other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.data.table import Table
from plausible.kernels.clusters import log_predictives
from plausible.learn.partitions.partition_priors import PartitionPrior
from plausible.learn.partitions.partition_problem import PartitionProblem, Workspace
from plausible.learn.partitions.product_base import BaseMeasure

__all__ = ["cluster_posteriors", "cluster_weights", "log_joint", "sample_rows"]


def cluster_weights(labels: Ints, prior: PartitionPrior) -> Floats:
    """P(cluster of the next row): (|I| + α₀/K) / (α₀ + M) for each, and α₀ (1 - L/K) / (α₀ + M) for a new one, last.

    >>> from plausible.learn.partitions.partition_priors import ChineseRestaurant
    >>> cluster_weights(np.array([0, 0, 1]), ChineseRestaurant(1.0))
    array([0.5 , 0.25, 0.25])
    """
    sizes, alpha = np.bincount(labels), prior.concentration
    opening = alpha * (1 - len(sizes) / prior.max_clusters)
    return np.append(sizes + alpha / prior.max_clusters, opening) / (alpha + len(labels))


def log_joint(problem: PartitionProblem, labels: Ints, prior: PartitionPrior, table: Table) -> Floats:
    """log P(cluster, x) of new rows for each cluster and, last, a new one: (rows, L + 1); O(rows L) densities."""

    space = Workspace(problem, labels, int(labels.max(initial=-1)) + 2, 0)
    logs = np.empty((table.num_rows, len(space.clusters.sizes)))
    log_predictives(problem.rows_of(table), problem.arrays, space.clusters, logs)
    with np.errstate(divide="ignore"):
        return np.asarray(logs + np.log(cluster_weights(labels, prior)))


def cluster_posteriors(problem: PartitionProblem, labels: Ints) -> tuple[BaseMeasure, ...]:
    """The distribution of the parameters of each cluster given its rows."""
    clusters = range(int(labels.max(initial=-1)) + 1)
    return tuple(problem.base.updated(problem.table.take(labels == cluster)) for cluster in clusters)


def sample_rows(base: BaseMeasure, num_rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Name -> independent draws of Q(x), as codes or numbers."""
    drawn: dict[str, NDArray[Any]] = {}
    for part in base.parts:
        drawn.update(zip(part.names, part.sample(num_rows, rng).T, strict=True))
    return drawn
