"""Priors over partitions: K clusters with Dirichlet weights, or a Dirichlet process, with the weights summed out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import SMALLEST, Checked, Floats, Ints, Seed, check_count, check_number, generator_of, real, whole
from plausible.errors import InvalidArgument
from plausible.learn.estimation.priors import log_rising


def sample_dirichlet(pseudo_counts: ArrayLike, size: int = 1, *, seed: Seed = 0) -> Floats:
    """Draw probabilities θ ~ Dirichlet(α): independent gammas γ_i ~ Gamma(α_i, 1) over their sum.

    A gamma of shape one is -ln U, so Dirichlet(1, ..., 1) takes k uniform numbers. Others come from the gamma of shape
    α + 1, by rejection, times U^{1/α}; logarithms keep α near zero from losing all its digits. Koller & Friedman 2009,
    box 19.E and theorem 19.7.

    Costs O(size k) for rows (size, k) that sum to one.

    >>> sample_dirichlet([3.0, 1.0, 1.0], 10_000).mean(axis=0).round(1)
    array([0.6, 0.2, 0.2])
    """
    alpha = np.asarray(pseudo_counts, dtype=np.float64)
    if alpha.ndim != 1 or not alpha.size or not (np.isfinite(alpha) & (alpha > 0)).all():
        raise InvalidArgument(
            f"Pseudo-counts are a list of positive numbers, one for each state; not {pseudo_counts!r}."
        )
    rng = generator_of(seed)
    uniforms = np.log1p(-rng.random((size, alpha.size)))
    if (alpha == 1).all():
        logs = np.log(np.maximum(-uniforms, SMALLEST))
    else:
        logs = np.log(rng.standard_gamma(alpha + 1.0, (size, alpha.size))) + uniforms / alpha
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class Sticks:
    """The first weights of a Dirichlet process."""

    weights: Floats  # λ_1, λ_2, ... of the first clusters.
    remainder: float  # What all others have together: weights and remainder sum to one
    expected_remainder: float  # Its mean over draws


def break_sticks(concentration: float, num_sticks: int, *, seed: Seed = 0) -> Sticks:
    """Draw λ_k = β_k Π_{l<k} (1 - β_l), β_k ~ Beta(1, α₀), for k up to `num_sticks`.

    1 - β = U^{1/α₀}, so log remainders are sums of -Exponential(1) / α₀. Sethuraman 1994; Koller & Friedman 2009,
    §19.5.2.2.

    >>> sticks = break_sticks(2.0, 50)
    >>> bool(abs(sticks.weights.sum() + sticks.remainder - 1) < 1e-12), sticks.expected_remainder < 1e-8
    (True, True)
    """
    left = expected_remainder(concentration, num_sticks)
    draws = generator_of(seed).standard_exponential(num_sticks) / concentration
    log_before = -np.concatenate([[0.0], np.cumsum(draws)])
    return Sticks(np.exp(log_before[:-1]) * -np.expm1(-draws), float(np.exp(log_before[-1])), left)


def expected_remainder(concentration: float, num_sticks: int) -> float:
    """(α₀ / (1 + α₀))^T: the probability that a row falls beyond the first T clusters."""
    check_number("concentration", concentration, above=0)
    check_count("num_sticks", num_sticks, 0)
    return math.exp(-num_sticks * math.log1p(1 / concentration))


def sticks_needed(concentration: float, num_rows: int, error: float) -> int:
    """The least T for which `num_rows` rows all lie within T clusters with probability at least 1 - error.

    >>> sticks_needed(1.0, 1000, 0.01)
    17
    """
    check_number("concentration", concentration, above=0)
    check_number("error", error, above=0, below=1)
    return max(0, math.ceil(math.log(max(num_rows, 1) / error) / math.log1p(1 / concentration)))


@dataclass(frozen=True, slots=True)
class ChineseRestaurant(Checked, concentration=real(above=0)):
    """The Chinese restaurant process: a row joins cluster I in proportion to |I|, or opens one in proportion to α₀.

    P(partition) = α₀^L Π_I (|I| - 1)! / Π_{i<M} (α₀ + i), in whatever order rows come: the Dirichlet process with its
    weights summed out. Aldous 1985; Koller & Friedman 2009, exercise 19.30.

    >>> prior = ChineseRestaurant(1.0)
    >>> round(math.exp(prior.log_probability([0, 0, 1])), 4), round(prior.expected_clusters(4), 6)
    (0.1667, 2.083333)
    """

    concentration: float = 1.0

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
        """α₀ log(1 + M / α₀), which `expected_clusters` tends to as M grows, up to a constant."""
        return self.concentration * math.log1p(num_rows / self.concentration)

    def sample(self, num_rows: int, *, seed: Seed = 0) -> Ints:
        """Seat the rows one after the other: each opens a cluster, or follows one before it, all equally likely."""
        rng = generator_of(seed)
        before = np.arange(num_rows)
        opens = rng.random(num_rows) * (self.concentration + before) < self.concentration
        leaders = np.where(opens, before, (rng.random(num_rows) * before).astype(np.int64))
        while (leaders != leaders[leaders]).any():  # the row that opened it, in O(log rows) rounds
            leaders = leaders[leaders]
        return canonical_labels(leaders)


@dataclass(frozen=True, slots=True)
class FiniteDirichlet(Checked, concentration=real(above=0), num_clusters=whole(1)):
    """K clusters whose weights are Dirichlet(α₀/K, ..., α₀/K), weights and labels summed out.

    P(partition) = K! / (K - L)! Π_I Γ(|I| + α₀/K) / Γ(α₀/K) · Γ(α₀) / Γ(α₀ + M). Joining has the weight |I| + α₀/K,
    opening (K - L) α₀/K; as K grows this becomes `ChineseRestaurant`. Koller & Friedman 2009, eqs. 19.17-19.18.

    Some of the K may stay empty.

    >>> round(math.exp(FiniteDirichlet(1.0, 1000).log_probability([0, 0, 1])), 3)
    0.167
    """

    concentration: float
    num_clusters: int

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


#: A distribution of partitions that does not depend on the order of the rows.
PartitionPrior: TypeAlias = ChineseRestaurant | FiniteDirichlet


def canonical_labels(labels: ArrayLike) -> Ints:
    """The same partition with clusters numbered in the order in which they appear: 7, 2, 7, 5 is 0, 1, 0, 2."""
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
