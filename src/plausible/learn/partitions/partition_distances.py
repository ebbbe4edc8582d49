"""How far partitions are from each other, whatever their clusters are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats, Ints
from plausible.errors import InvalidArgument
from plausible.learn.partitions.partition_priors import canonical_labels

__all__ = ["overlap_terms", "pair_distance", "variation_of_information"]


def variation_of_information(first: ArrayLike, second: ArrayLike) -> float:
    """H(first | second) + H(second | first) of the cluster of a random row: zero for equal partitions (Meilă 2007).

    Parameters
    ----------
    first, second
        A label for each row.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], [5, 5, 2, 2]), round(variation_of_information([0, 0], [0, 1]), 4)
    (0.0, 0.6931)
    """
    return _distance(first, second, "variation of information")


def pair_distance(first: ArrayLike, second: ArrayLike) -> float:
    """The share of ordered pairs of rows that only one of the partitions puts together (Binder 1978).

    >>> round(pair_distance([0, 0, 1], [0, 1, 1]), 4)  # four of nine
    0.4444
    """
    return _distance(first, second, "least squares")


def _distance(first: ArrayLike, second: ArrayLike, loss: str) -> float:
    one, other = canonical_labels(first), canonical_labels(second)
    if one.shape != other.shape:
        raise InvalidArgument(f"The partitions are of {one.size} and {other.size} rows: they must be of the same.")
    apart = overlap_terms(one, other[None], loss)[0]
    mine, yours = overlap_terms(one, one[None], loss)[0], overlap_terms(other, other[None], loss)[0]
    return max(0.0, float(mine + yours - 2 * apart))


def overlap_terms(labels: Ints, others: Ints, loss: str) -> Floats:
    """Σ f(n_ij / M) over the overlaps of clusters with those of each of `others`, (partitions, rows).

    With f(p) = p log p, or p² for "least squares", the distance of partitions a and b is Σ f(a, a) + Σ f(b, b) -
    2 Σ f(a, b). Costs O(partitions rows), plus the products of the numbers of clusters.
    """
    if not labels.size:
        return np.zeros(len(others))
    width, height = int(labels.max()) + 1, int(others.max()) + 1
    places = (np.arange(len(others))[:, None] * height + others) * width + labels
    counts = np.bincount(places.ravel(), minlength=len(others) * height * width).reshape(len(others), -1)
    shares = counts / labels.size
    if loss == "least squares":
        return np.asarray((shares**2).sum(axis=1))
    return np.asarray((shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))
