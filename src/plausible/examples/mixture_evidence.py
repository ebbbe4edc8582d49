"""The marginal likelihood of a mixture of discrete features by the candidate method: slow, and nearly exact."""

from __future__ import annotations

import math
from itertools import permutations
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.mixtures.clustering import MixtureClustering

#: 8! = 40,320 relabellings are summed for each sweep.
_MOST_CLUSTERS = 8


class CandidateEvidence(NamedTuple):
    """An estimate of log P(D), and how many of the draws carry it.

    `num_effective` is (Σ p)² / Σ p² for the densities p(θ | D, C) of all draws. Where it is near one, the draw that
    matters most may have been missed, and the estimate is then too great: take more sweeps.
    """

    log_evidence: float
    num_effective: float


def candidate_evidence(
    clustering: MixtureClustering, data: Table, *, num_sweeps: int = 300, burn_in: int = 50, seed: Seed = 0
) -> CandidateEvidence:
    """log P(D) = log P(D | θ) + log p(θ) - log p(θ | D), at one θ (Chib 1995; K&F 19.4.1.3).

    p(θ | D) is the mean of p(θ | D, C) over clusters C drawn by Gibbs sampling, each time a product of Dirichlet
    densities. Permuted clusters are as probable, but a chain seldom visits them, so that the mean is taken over all
    K! relabellings of each draw, which makes the estimate right without that the chain mixes over labels. θ is the
    posterior mean of the chain, relabelled as the fit: at the mode of a mixture with needless clusters there is hardly
    any mass, so that p(θ | D) would be missed. Priors are those of the fit: Dirichlet distributions with one case and
    the pseudo-count for each cell.

    Notes
    -----
    A sweep costs O(rows K states), and O(K! K) for relabellings; at most eight clusters.

    >>> table = Table.read({"x": [0, 0, 1, 0], "y": [1, 1, 0, 1]})
    >>> one = MixtureClustering(1, prior=1.0).fit(table)  # closed form: Beta(2, 2) marginals, 3 and 1 of each
    >>> round(candidate_evidence(one, table).log_evidence, 6) == round(2 * math.log(6 * 24 / 5040 * 2), 6)
    True
    """
    chain = _Chain(clustering, data)
    generator = generator_of(seed)
    theta = MixtureTheta(clustering.parameters_.weights, clustering.parameters_.tables)
    draws, aligned = list[Draw](), list[Draw]()
    here = theta
    for sweep in range(burn_in + num_sweeps):
        drawn = chain.clusters(here, generator)
        here = chain.parameters(drawn, generator)
        if sweep >= burn_in:
            draws.append(drawn)
            aligned.append(chain.aligned(drawn, theta))
    theta = chain.mean(aligned)
    densities = np.array([chain.log_density(drawn, theta) for drawn in draws])
    posterior = _log_mean(densities)
    nothing = Draw(np.zeros_like(theta.tables), np.zeros_like(theta.weights))
    shares = np.exp(densities - posterior) / len(densities)
    estimate = chain.log_likelihood(theta) + chain.log_density(nothing, theta) - posterior
    return CandidateEvidence(estimate, float(1 / (shares**2).sum()))


class MixtureTheta(NamedTuple):
    """Parameters: the weights of clusters, and P(state | cluster) for the states of all features."""

    weights: Floats
    tables: Floats


class Draw(NamedTuple):
    """Clusters of all rows, as counts of states, and of rows, in each cluster."""

    counts: Floats
    sizes: Floats


class _Chain:
    """Gibbs sampling of clusters and parameters, and p(θ | clusters) under all relabellings."""

    def __init__(self, clustering: MixtureClustering, data: Table) -> None:
        space, found, prior = clustering.space_, clustering.parameters_, clustering.kind_.prior
        if space.continuous or clustering.kind_.has_equal_weights or clustering.kind_.is_hard:
            raise NotSupported("The candidate method is for soft mixtures of discrete features with free weights.")
        if not (found.tables > 0).all() or not (found.weights > 0).all():
            raise InvalidArgument("Some parameters are zero: fit with a prior above zero, MixturePrior(0.1, 0.1).")
        if len(found.weights) > _MOST_CLUSTERS:
            raise NotSupported(f"{len(found.weights)} clusters have too many relabellings: {_MOST_CLUSTERS} at most.")
        if data.weights is not None:
            raise NotSupported("The candidate method draws a cluster for each row: repeat rows rather than weigh them.")
        self.indicators = space.encode(data, is_grouped=False).indicators
        self.starts, self.num_states = space.offsets[:-1], space.num_states
        self.of_weights, self.of_cells = 1 + prior.weights, 1 + prior.cells
        self.clusters_range = np.arange(len(found.weights))
        self.relabellings = np.array(list(permutations(self.clusters_range)))

    def log_likelihood(self, theta: MixtureTheta) -> float:
        """Σ log P(row | θ)."""
        return float(np.logaddexp.reduce(self._log_joint(theta), axis=1).sum())

    def clusters(self, theta: MixtureTheta, generator: np.random.Generator) -> Draw:
        """A cluster for each row, given the parameters."""
        logs = self._log_joint(theta)
        # Adding Gumbel noise and taking the greatest is a draw from the softmax.
        drawn = (logs + generator.gumbel(size=logs.shape)).argmax(axis=1)
        members = np.equal.outer(self.clusters_range, drawn).astype(np.float64)
        return Draw(members @ self.indicators, members.sum(axis=1))

    def parameters(self, drawn: Draw, generator: np.random.Generator) -> MixtureTheta:
        """Parameters, given the clusters."""
        floor = np.finfo(float).tiny
        cells = np.maximum(generator.standard_gamma(drawn.counts + self.of_cells), floor)
        weights = np.maximum(generator.standard_gamma(drawn.sizes + self.of_weights), floor)
        return self._normalised(weights, cells)

    def aligned(self, drawn: Draw, theta: MixtureTheta) -> Draw:
        """The draw with its clusters named as those of θ that they fit best."""
        best = self.relabellings[self._fits(drawn, theta).argmax()]
        order = np.argsort(best)
        return Draw(drawn.counts[order], drawn.sizes[order])

    def mean(self, draws: list[Draw]) -> MixtureTheta:
        """Where the posterior is: the mean of the parameters given the mean of counts."""
        counts = np.mean([drawn.counts for drawn in draws], axis=0)
        sizes = np.mean([drawn.sizes for drawn in draws], axis=0)
        return self._normalised(sizes + self.of_weights, counts + self.of_cells)

    def log_density(self, drawn: Draw, theta: MixtureTheta) -> float:
        """log of the mean over relabellings π of p(θ_π | draw): products of Dirichlet densities."""
        from scipy.special import gammaln

        shape, weight = drawn.counts + self.of_cells, drawn.sizes + self.of_weights
        whole = gammaln(np.add.reduceat(shape, self.starts, axis=1)).sum() - gammaln(shape).sum()
        return float(whole + gammaln(weight.sum()) - gammaln(weight).sum()) + _log_mean(self._fits(drawn, theta))

    def _fits(self, drawn: Draw, theta: MixtureTheta) -> Floats:
        """For each relabelling Σ (cases - 1) log θ: one term for each cluster of the draw and its one of θ."""
        pairs = (drawn.counts + self.of_cells - 1) @ np.log(theta.tables).T
        pairs += np.outer(drawn.sizes + self.of_weights - 1, np.log(theta.weights))
        return np.asarray(pairs[self.clusters_range, self.relabellings].sum(axis=1))

    def _log_joint(self, theta: MixtureTheta) -> Floats:
        return np.asarray(self.indicators @ np.log(theta.tables).T + np.log(theta.weights))

    def _normalised(self, weights: Floats, cells: Floats) -> MixtureTheta:
        totals = np.repeat(np.add.reduceat(cells, self.starts, axis=1), self.num_states, axis=1)
        return MixtureTheta(weights / weights.sum(), cells / totals)


def _log_mean(logs: Floats) -> float:
    peak = float(logs.max())
    return peak + math.log(float(np.exp(logs - peak).mean()))
