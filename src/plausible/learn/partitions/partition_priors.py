"""Priors over partitions: K clusters with Dirichlet weights, or a Dirichlet process, with the weights summed out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Ints
from plausible.base.options import check_count, check_number
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.learn.log_gamma import log_rising
from plausible.learn.partitions.dirichlet_draws import sample_dirichlet

__all__ = ["ChineseRestaurant", "FiniteDirichlet", "PartitionPrior", "canonical_labels"]


class PartitionPrior(Protocol):
    """A distribution of partitions that does not depend on the order of the rows."""

    @property
    def concentration(self) -> float:
        """α₀: how readily clusters open."""

    @property
    def max_clusters(self) -> float:
        """K, or infinity."""

    def with_concentration(self, concentration: float) -> PartitionPrior:
        """The same prior with another α₀."""

    def log_probability(self, labels: ArrayLike) -> float:
        """log P(partition)."""

    def expected_clusters(self, num_rows: int) -> float:
        """The expected number of clusters."""

    def sample(self, num_rows: int, *, seed: Seed = 0) -> Ints:
        """Draw a partition."""


@dataclass(frozen=True, slots=True)
class ChineseRestaurant:
    """The Chinese restaurant process: a row joins cluster I in proportion to |I|, or opens one in proportion to α₀.

    P(partition) = α₀^L Π_I (|I| - 1)! / Π_{i<M} (α₀ + i), in whatever order rows come: the Dirichlet process with its
    weights summed out. Aldous 1985; Koller & Friedman 2009, exercise 19.30.

    Parameters
    ----------
    concentration
        α₀ > 0.

    Examples
    --------
    >>> prior = ChineseRestaurant(1.0)
    >>> round(math.exp(prior.log_probability([0, 0, 1])), 4), round(prior.expected_clusters(4), 6)
    (0.1667, 2.083333)
    """

    concentration: float = 1.0

    def __post_init__(self) -> None:
        check_number("concentration", self.concentration, above=0)

    @property
    def max_clusters(self) -> float:
        """There may be as many clusters as rows."""
        return math.inf

    def with_concentration(self, concentration: float) -> ChineseRestaurant:
        """The process with another α₀."""
        return ChineseRestaurant(concentration)

    def log_probability(self, labels: ArrayLike) -> float:
        """log P(partition) of the rows that share labels; O(rows)."""
        sizes = _sizes(labels)
        total = len(sizes) * math.log(self.concentration) + sum(map(math.lgamma, sizes))
        return total - float(log_rising(self.concentration, sum(sizes)))

    def expected_clusters(self, num_rows: int) -> float:
        """Σ_{i<M} α₀ / (α₀ + i): row i + 1 opens a cluster with this probability."""
        return float((self.concentration / (self.concentration + np.arange(num_rows))).sum())

    def asymptotic_clusters(self, num_rows: int) -> float:
        """α₀ log(1 + M / α₀), which `expected_clusters` tends to as M grows, up to a constant.

        >>> prior = ChineseRestaurant(3.0)
        >>> round(prior.expected_clusters(100_000), 1), round(prior.asymptotic_clusters(100_000), 1)
        (31.8, 31.2)
        """
        return self.concentration * math.log1p(num_rows / self.concentration)

    def sample(self, num_rows: int, *, seed: Seed = 0) -> Ints:
        """Seat the rows one after the other; O(rows).

        A row opens a cluster, or follows one of those before it, all equally likely: so that clusters are joined in
        proportion to their sizes.
        """
        rng = generator_of(seed)
        before = np.arange(num_rows)
        opens = rng.random(num_rows) * (self.concentration + before) < self.concentration
        leaders = np.where(opens, before, (rng.random(num_rows) * before).astype(np.int64))
        while (leaders != leaders[leaders]).any():  # the row that opened it, in O(log rows) rounds
            leaders = leaders[leaders]
        return canonical_labels(leaders)


@dataclass(frozen=True, slots=True)
class FiniteDirichlet:
    """K clusters whose weights are Dirichlet(α₀/K, ..., α₀/K), weights and labels summed out.

    P(partition) = K! / (K - L)! Π_I Γ(|I| + α₀/K) / Γ(α₀/K) · Γ(α₀) / Γ(α₀ + M). Joining has the weight |I| + α₀/K,
    opening (K - L) α₀/K; as K grows this becomes `ChineseRestaurant`. Koller & Friedman 2009, eqs. 19.17-19.18.

    Parameters
    ----------
    concentration
        α₀ > 0, spread over all clusters.
    num_clusters
        K, of which some may stay empty.

    Examples
    --------
    >>> round(math.exp(FiniteDirichlet(1.0, 1000).log_probability([0, 0, 1])), 3)
    0.167
    """

    concentration: float
    num_clusters: int

    def __post_init__(self) -> None:
        check_number("concentration", self.concentration, above=0)
        check_count("num_clusters", self.num_clusters, 1)

    @property
    def max_clusters(self) -> float:
        """K."""
        return float(self.num_clusters)

    def with_concentration(self, concentration: float) -> FiniteDirichlet:
        """As many clusters with another α₀."""
        return FiniteDirichlet(concentration, self.num_clusters)

    def log_probability(self, labels: ArrayLike) -> float:
        """log P(partition) of the rows that share labels; -inf for more than K clusters; O(rows)."""
        sizes, share = _sizes(labels), self.concentration / self.num_clusters
        if len(sizes) > self.num_clusters:
            return -math.inf
        ways = log_rising(self.num_clusters - len(sizes) + 1, len(sizes))
        return float(ways + log_rising(share, sizes).sum() - log_rising(self.concentration, sum(sizes)))

    def expected_clusters(self, num_rows: int) -> float:
        """K (1 - Π_{i<M} (α₀ - α₀/K + i) / (α₀ + i)): the product is the probability that one stays empty."""
        before = np.arange(num_rows) + self.concentration
        share = self.concentration / self.num_clusters
        with np.errstate(divide="ignore"):
            empty = np.exp(np.log1p(-share / before).sum())
        return float(self.num_clusters * (1 - empty))

    def sample(self, num_rows: int, *, seed: Seed = 0) -> Ints:
        """Draw weights, then a label for each row; O(rows log K)."""
        rng = generator_of(seed)
        weights = sample_dirichlet(np.full(self.num_clusters, self.concentration / self.num_clusters), seed=rng)[0]
        return canonical_labels(rng.choice(self.num_clusters, num_rows, p=weights))


def canonical_labels(labels: ArrayLike) -> Ints:
    """The same partition with clusters numbered in the order in which they appear.

    >>> canonical_labels([7, 2, 7, 5]).tolist()
    [0, 1, 0, 2]
    """
    values = np.asarray(labels)
    _, firsts, places = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(len(firsts), dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(len(firsts))
    return np.asarray(ranks[places.reshape(-1)])


def _sizes(labels: ArrayLike) -> list[int]:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise InvalidArgument(
            f"A partition is a list with the label of each row, not an array of shape {values.shape}."
        )
    return [int(n) for n in np.unique(values, return_counts=True)[1]]
