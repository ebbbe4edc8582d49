"""Clusters of rows by variational Bayes."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.base.options import check_count
from plausible.base.seeds import Seed
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.bayesian.variational import Progress, VariationalFit, variational_bayes
from plausible.learn.estimation.priors import PriorLike

__all__ = ["cluster_by_variational_bayes"]


def cluster_by_variational_bayes(
    data: TableLike,
    num_clusters: int,
    prior: PriorLike = None,
    *,
    features: Iterable[str] | None = None,
    cluster: str = "cluster",
    restarts: int = 4,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> VariationalFit:
    """Cluster rows by variational Bayes for naive Bayes: a hidden class, features independent given it.

    `fit.probabilities(cluster)` has the cluster of each row, and clusters that the data do not need stay empty
    (Koller & Friedman 2009, example 19.13).

    Parameters
    ----------
    data
        Rows with discrete features; cells may be missing.
    num_clusters
        The most clusters.
    prior
        Of tables, with positive pseudo-counts; `K2` unless given.
    features
        The columns to use; all unless given.
    cluster
        The name of the hidden variable.
    restarts, seed, tolerance, max_steps, progress, time_limit
        As for `variational_bayes`.

    Examples
    --------
    >>> rows = {"a": [0, 0, 0, 1, 1, 1] * 5, "b": [0, 0, 0, 1, 1, 1] * 5, "c": [0, 0, 0, 1, 1, None] * 5}
    >>> found = cluster_by_variational_bayes(rows, 2).probabilities("cluster").argmax(axis=1)[:6]
    >>> bool((found[:3] == found[0]).all() and (found[3:] == 1 - found[0]).all())
    True
    """
    check_count("num_clusters", num_clusters, 1)
    table = Table.read(data)
    names = list(table.variables) if features is None else list(features)
    if cluster in names:
        raise InvalidArgument(f"The data have a column {cluster!r} already: give cluster= another name.")
    return variational_bayes(
        DAG([(cluster, name) for name in names], nodes=[cluster, *names]),
        table,
        prior,
        hidden={cluster: num_clusters},
        restarts=restarts,
        seed=seed,
        tolerance=tolerance,
        max_steps=max_steps,
        progress=progress,
        time_limit=time_limit,
    )
