"""Clusterings and mixtures compared whatever their clusters are called."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.errors import InvalidArgument
from plausible.learn.mixtures.clustering import MixtureClustering


class ClusteringComparison(NamedTuple):
    """How far two clusterings of the same rows agree.

    `counts[i, j]` are the rows in cluster `first_names[i]` of the one and `second_names[j]` of the other; `matching` is
    the pairing of names with most rows in common, and `agreement` the share of these rows. `adjusted_rand` is 1 for
    equal clusterings and 0 on average for independent ones (Hubert & Arabie 1985).
    """

    adjusted_rand: float
    agreement: float
    matching: dict[Any, Any]
    counts: Floats
    first_names: tuple[Any, ...]
    second_names: tuple[Any, ...]


def compare_clusterings(first: Any, second: Any) -> ClusteringComparison:
    """Compare two lists of clusters, one for each row; names make no difference. O(rows + K³).

    ARI = (Σ C(n_ij, 2) - e) / ((Σ C(a_i, 2) + Σ C(b_j, 2)) / 2 - e), e = Σ C(a_i, 2) Σ C(b_j, 2) / C(n, 2).

    Parameters
    ----------
    first, second
        The cluster of each row.

    Examples
    --------
    >>> compare_clusterings([0, 0, 1, 1], ["b", "b", "a", "a"]).adjusted_rand
    1.0
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != two.shape:
        raise InvalidArgument(
            f"A clustering is a cluster for each row, but the shapes are {one.shape} and {two.shape}."
        )
    names_one, codes_one = np.unique(one, return_inverse=True)
    names_two, codes_two = np.unique(two, return_inverse=True)
    counts = np.zeros((len(names_one), len(names_two)))
    np.add.at(counts, (codes_one, codes_two), 1)
    pairs, by_first, by_second = (float((c * (c - 1) / 2).sum()) for c in (counts, counts.sum(1), counts.sum(0)))
    expected = by_first * by_second / max(1.0, len(one) * (len(one) - 1) / 2)
    possible = (by_first + by_second) / 2 - expected
    adjusted = (pairs - expected) / possible if possible else 1.0
    rows, columns = _assignment(-counts)
    matching = {names_one[i].item(): names_two[j].item() for i, j in zip(rows, columns, strict=True)}
    agreement = float(counts[rows, columns].sum() / len(one)) if len(one) else 1.0
    return ClusteringComparison(
        adjusted, agreement, matching, counts, tuple(names_one.tolist()), tuple(names_two.tolist())
    )


class MixtureComparison(NamedTuple):
    """Clusters of two mixtures side by side: cluster i of the first is cluster `order[i]` of the second.

    `distances[i]` is the Hellinger distance of the distributions of the features in the pair, from 0 to 1;
    `weight_differences` what the first weighs more. `order` pairs as few as the smaller mixture has.
    """

    order: tuple[int, ...]
    distances: Floats
    weight_differences: Floats


def compare_mixtures(first: MixtureClustering, second: MixtureClustering) -> MixtureComparison:
    """Pair the clusters of two mixtures so that their squared Hellinger distances have the least sum.

    H² = 1 - Π_i Σ_x √(p(x) q(x)) · |Σ_p|^¼ |Σ_q|^¼ |S|^-½ exp(-δᵀ S⁻¹ δ / 8), with S the mean of both matrices.
    Permuting the clusters of a mixture changes no likelihood, so that no parameters can be compared without this.

    Parameters
    ----------
    first, second
        Fitted to the same features.

    Examples
    --------
    >>> X = [[0.0], [0.5], [9.0], [9.5]]
    >>> one, two = (MixtureClustering(2, start=start).fit(X) for start in ([0, 0, 1, 1], [1, 1, 0, 0]))
    >>> compare_mixtures(one, two).order
    (1, 0)
    """
    for clustering in (first, second):
        clustering._check_fitted()
    if first._variables_ != second._variables_:
        raise InvalidArgument("The mixtures have different features, or states: they can't be compared.")
    affinity = _gaussian_log_affinity(first, second)
    for name, table in first.tables_.items():
        with np.errstate(divide="ignore"):
            affinity = affinity + np.log(np.sqrt(table) @ np.sqrt(second.tables_[name]).T)
    squares = np.clip(1 - np.exp(affinity), 0.0, 1.0)
    rows, columns = _assignment(squares)
    distances = np.sqrt(squares[rows, columns])
    differences = first.weights_[rows] - second.weights_[columns]
    return MixtureComparison(tuple(int(column) for column in columns), distances, differences)


def _gaussian_log_affinity(first: MixtureClustering, second: MixtureClustering) -> Floats:
    one, two = (
        c.covariances_ if c.covariances_.ndim == 3 else c.covariances_[:, :, None] * np.eye(c.means_.shape[1])
        for c in (first, second)
    )
    middle = (one[:, None] + two[None]) / 2
    differences = first.means_[:, None] - second.means_[None]
    solved = np.linalg.solve(middle, differences[..., None])[..., 0]
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (one, two, middle)]
    determinants = logs[0][:, None] / 4 + logs[1][None] / 4 - logs[2] / 2
    return np.asarray(determinants - (differences * solved).sum(axis=-1) / 8)


def _assignment(costs: Floats) -> tuple[Positions, Positions]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return rows, columns
