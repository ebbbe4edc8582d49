"""Markov chains over partitions: Gibbs sweeps over rows, merges and splits, and draws of the concentration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Ints
from plausible.base.options import check_count, check_number
from plausible.errors import InvalidArgument, counted
from plausible.kernels.partition_moves import gibbs_rows, merge_split
from plausible.learn.partitions.partition_priors import (
    ChineseRestaurant,
    FiniteDirichlet,
    PartitionPrior,
    canonical_labels,
)
from plausible.learn.partitions.partition_problem import PartitionProblem, Workspace

_PROPOSALS = ("sequential", "random")
_STARTS = ("prior", "one", "apart")


@dataclass(frozen=True, slots=True)
class GammaPrior:
    """A gamma distribution of the concentration α₀ of a Dirichlet process, with mean `shape / rate`."""

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        check_number("shape", self.shape, above=0)
        check_number("rate", self.rate, above=0)

    def log_density(self, concentration: float) -> float:
        """log p(α₀).

        >>> GammaPrior(1.0, 2.0).log_density(0.5) == math.log(2) - 1
        True
        """
        total = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return total + (self.shape - 1) * math.log(concentration) - self.rate * concentration

    def draw(self, concentration: float, num_rows: int, num_clusters: int, rng: np.random.Generator) -> float:
        """A Gibbs draw of α₀ given the number of clusters, by an auxiliary beta variable (Escobar & West 1995, §6)."""
        if not num_rows:
            return float(rng.gamma(self.shape, 1 / self.rate))
        rate = self.rate - math.log(max(rng.beta(concentration + 1, num_rows), 1e-300))
        odds = (self.shape + num_clusters - 1) / (num_rows * rate)
        shape = self.shape + num_clusters - (rng.random() * (1 + odds) >= odds)
        return max(float(rng.gamma(shape, 1 / rate)), 1e-300)


@dataclass(frozen=True, slots=True)
class PartitionMoves:
    """What one step of a chain does.

    Parameters
    ----------
    sweeps
        Gibbs sweeps over all rows: each row leaves its cluster and joins one, or opens one (Koller & Friedman 2009,
        eqs. 19.17-19.20). A sweep over M rows and L clusters costs M L predictive densities, whatever K is.
    merge_splits
        Metropolis-Hastings proposals after the sweeps, each to merge the clusters of two random rows or to split the
        one that they share (algorithm 19.6). They take chains where single rows would have to cross a valley.
    proposal
        How rows are divided in a split: "random" tosses a coin for each; "sequential" lets them follow the side that
        predicts them, in random order, and is taken much more often (Dahl 2005).
    labelled
        Draw labels of all K clusters, empty ones too, instead of partitions (eqs. 19.9-19.10): costs M K.
    """

    sweeps: int = 1
    merge_splits: int = 1
    proposal: str = "sequential"
    labelled: bool = False

    def __post_init__(self) -> None:
        check_count("sweeps", self.sweeps)
        check_count("merge_splits", self.merge_splits)
        if self.proposal not in _PROPOSALS:
            raise InvalidArgument(f"proposal is one of {', '.join(map(repr, _PROPOSALS))}, not {self.proposal!r}.")
        if self.labelled and self.merge_splits:
            raise InvalidArgument(
                "Merges and splits move partitions, not labels: use labelled=False or merge_splits=0."
            )


@dataclass(frozen=True, slots=True, eq=False)
class PartitionState:
    """Where a chain is; the same state always goes on in the same way, and it can be pickled."""

    labels: Ints  # The cluster of each row; numbered in order of appearance, or the labels where these are drawn
    concentration: float  # α₀
    log_posterior: float  # log P(partition) + log P(rows | partition), and log p(α₀) where it is drawn
    num_accepted: int  # Merges and splits taken so far
    #: Random numbers of the next step are those of this pair.
    seed: int
    num_steps: int

    @property
    def num_clusters(self) -> int:
        """How many clusters have rows."""
        return len(np.unique(self.labels))

    def __repr__(self) -> str:
        return (
            f"<PartitionState: {counted(self.num_clusters, 'cluster')} of "
            f"{counted(len(self.labels), 'row')}, {counted(self.num_steps, 'step')}>"
        )


@dataclass(frozen=True, slots=True)
class PartitionModel:
    """A prior over partitions; its concentration is fixed, or drawn along with them.

    Parameters
    ----------
    prior
        `ChineseRestaurant` or `FiniteDirichlet`.
    concentration_prior
        Of α₀, which then starts at that of `prior`; for `ChineseRestaurant` only.
    """

    prior: PartitionPrior = field(default_factory=ChineseRestaurant)
    concentration_prior: GammaPrior | None = None

    def __post_init__(self) -> None:
        if self.concentration_prior is not None and not isinstance(self.prior, ChineseRestaurant):
            raise InvalidArgument(
                "A concentration is drawn for ChineseRestaurant only: give FiniteDirichlet a fixed one."
            )

    def log_probability(self, labels: ArrayLike, concentration: float) -> float:
        """log P(partition | α₀), and log p(α₀) where it is drawn."""
        total = self.prior.with_concentration(concentration).log_probability(labels)
        return total + (self.concentration_prior.log_density(concentration) if self.concentration_prior else 0.0)


def partition_init(
    problem: PartitionProblem, model: PartitionModel, *, start: str | ArrayLike = "prior", seed: int = 0
) -> PartitionState:
    """The state of a chain that has made no step.

    Parameters
    ----------
    problem
        The rows.
    model
        The prior over partitions.
    start
        "prior" for a draw of it, "one" cluster, all rows "apart", or a label for each row.
    """
    num = problem.num_rows
    if isinstance(start, str):
        if start not in _STARTS:
            raise InvalidArgument(f"start is one of {', '.join(map(repr, _STARTS))} or labels of rows, not {start!r}.")
        draws = {"one": np.zeros(num, dtype=np.int64), "apart": np.arange(num)}
        labels = draws[start] if start in draws else model.prior.sample(num, seed=np.random.default_rng([seed, 0, 1]))
    else:
        labels = canonical_labels(start)
    if len(labels) != num:
        raise InvalidArgument(f"start= has {len(labels)} labels for {num} rows.")
    if num and labels.max() >= model.prior.max_clusters:
        raise InvalidArgument(
            f"start= has {labels.max() + 1} clusters, more than the prior's {model.prior.max_clusters}."
        )
    alpha = model.prior.concentration
    log_marginal = Workspace(problem, labels, int(labels.max(initial=0)) + 1, seed).log_marginal
    return PartitionState(labels, alpha, log_marginal + model.log_probability(labels, alpha), 0, seed, 0)


def partition_step(
    problem: PartitionProblem, model: PartitionModel, moves: PartitionMoves, state: PartitionState
) -> PartitionState:
    """Sweeps, merges and splits, and a draw of the concentration: each leaves P(partition, α₀ | rows) as it is.

    Clusters are summed up anew first, so that what rounding leaves behind can't add up over steps.
    """
    rng = np.random.default_rng([state.seed, state.num_steps])
    prior = (state.concentration, model.prior.max_clusters)
    capacity = 2 * state.num_clusters + 16
    if moves.labelled:
        if not isinstance(model.prior, FiniteDirichlet):
            raise InvalidArgument("labelled=True draws the labels of K clusters: use FiniteDirichlet as the prior.")
        capacity = model.prior.num_clusters
    space = Workspace(problem, state.labels, capacity, int(rng.integers(2**63)))
    for _ in range(moves.sweeps):
        space = _sweep(space, prior, moves.labelled)
    num_accepted = state.num_accepted
    for _ in range(moves.merge_splits if problem.num_rows > 1 else 0):
        space, accepted = _merge_split(space, prior, moves.proposal == "sequential")
        num_accepted += accepted
    labels = space.moves.labels if moves.labelled else canonical_labels(space.moves.labels)
    labels.setflags(write=False)
    alpha = state.concentration
    if model.concentration_prior is not None:
        alpha = model.concentration_prior.draw(alpha, problem.num_rows, space.num_active, rng)
    log_posterior = space.log_marginal + model.log_probability(labels, alpha)
    return PartitionState(labels, alpha, log_posterior, num_accepted, state.seed, state.num_steps + 1)


def _sweep(space: Workspace, prior: tuple[float, float], labelled: bool) -> Workspace:

    row = 0
    while True:
        problem, num = space.problem, len(space.clusters.sizes) if labelled else space.num_active
        row, space.num_active, change = gibbs_rows(
            problem.rows, problem.arrays, space.clusters, space.moves, prior, (row, num), labelled
        )
        space.log_marginal += change
        if row == problem.num_rows:
            return space
        space = _with_room(space)


def _merge_split(space: Workspace, prior: tuple[float, float], sequential: bool) -> tuple[Workspace, bool]:

    if space.num_active + 3 > len(space.clusters.sizes):
        space = _with_room(space)
    problem = space.problem
    space.num_active, change, accepted = merge_split(
        problem.rows, problem.arrays, space.clusters, space.moves, prior, space.num_active, sequential
    )
    space.log_marginal += change
    return space, bool(accepted)


def _with_room(space: Workspace) -> Workspace:
    """The same partition with twice as many slots."""
    word = int(space.moves.generators[0])
    return Workspace(space.problem, canonical_labels(space.moves.labels), 2 * len(space.clusters.sizes) + 3, word)
