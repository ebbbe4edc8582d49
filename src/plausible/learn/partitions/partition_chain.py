"""Markov chains over partitions: rows as arrays; sweeps, merges and splits, and draws of the concentration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plausible.base import SMALLEST, Checked, Floats, Ints, logarithms, real, whole
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.kernels.clusters import (
    BaseArrays,
    ClusterArrays,
    MoveArrays,
    RowArrays,
    fill_slots,
    gibbs_rows,
    log_predictives,
    merge_split,
)
from plausible.learn.partitions.base_measures import BaseMeasure, default_base, part_rows
from plausible.learn.partitions.partition_priors import (
    ChineseRestaurant,
    FiniteDirichlet,
    PartitionPrior,
    canonical_labels,
)

_PROPOSALS = ("sequential", "random")
_STARTS = ("prior", "one", "apart")


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProblem:
    """Rows to divide into clusters; made by `PartitionProblem.of`."""

    table: Table  # The rows; missing features are summed out
    base: BaseMeasure  # The distribution of the parameters of a cluster
    rows: RowArrays  # Both as arrays
    arrays: BaseArrays

    @classmethod
    def of(cls, data: TableLike, base: BaseMeasure | None = None) -> PartitionProblem:
        """Read rows; without a base measure that of `default_base`. Columns that the base measure lacks are left out.

        So are those that are hardly variables, such as ids, with a warning, unless the base measure names them.

        >>> PartitionProblem.of({"wet": ["no", "yes", None]}).rows.cells.tolist()
        [[0], [1], [-1]]
        """
        table = Table.for_learning(data, [name for part in base.parts for name in part.names] if base else ())
        if table.weights is not None:
            raise NotSupported("Rows that are to be clustered have no weights: repeat them instead.")
        if np.isinf(table.numbers).any():
            raise InvalidArgument(
                "The data has infinite numbers, which no cluster can hold: leave them out or cut them."
            )
        table = replace(table, variables=dict(table.variables), interventions={})  # as a value that can be pickled
        measure = base or default_base(table)
        from scipy.special import gammaln

        sizes = np.array([len(block.names) for block in measure.blocks], dtype=np.int64)
        degrees = np.array([block.degrees for block in measure.blocks], dtype=np.float64)
        strengths = np.array([block.strength for block in measure.blocks], dtype=np.float64)
        kinds, places = np.unique(np.column_stack([degrees, strengths, sizes]), axis=0, return_inverse=True)
        (after, weight), size = kinds.T[:2, :, None] + np.arange(table.num_rows + 1), kinds[:, 2:]
        constants = gammaln((after + 1) / 2) - gammaln((after + 1 - size) / 2)
        constants -= size / 2 * np.log(np.pi * (weight + 1) / weight)
        arrays = BaseArrays(
            _joined([np.array(part.pseudo_counts) for part in measure.states]),
            np.array([sum(part.pseudo_counts) for part in measure.states], dtype=np.float64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
            _joined([block.mean for block in measure.blocks]),
            _joined([np.linalg.cholesky(block.scale).ravel() for block in measure.blocks]),
            strengths,
            degrees,
            np.ascontiguousarray(constants),
            places.reshape(-1).astype(np.int64),
        )
        return cls(table, measure, _row_arrays(measure, table), arrays)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle rows and base measure alone: arrays are made anew, writable, as kernels are compiled for."""
        return PartitionProblem.of, (self.table, self.base)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self.table.num_rows

    def __repr__(self) -> str:
        return f"<PartitionProblem: {counted(self.num_rows, 'row')}, {len(self.base.parts)} parts>"


class Workspace:
    """Clusters of rows in slots, moved by kernels in place."""

    def __init__(self, problem: PartitionProblem, labels: Ints, capacity: int, word: int) -> None:
        self.problem, base, num_rows = problem, problem.arrays, len(labels)
        self.clusters = ClusterArrays(
            np.zeros(capacity, dtype=np.int64),
            np.empty((capacity, base.pseudo_counts.size)),
            np.empty((capacity, base.pseudo_totals.size)),
            np.empty((capacity, base.strengths.size), dtype=np.int64),
            np.empty((capacity, base.means.size)),
            np.empty((capacity, base.factors.size)),
            np.empty(max(base.means.size, 1)),
        )
        self.moves = MoveArrays(
            np.array(labels, dtype=np.int64),
            np.arange(capacity),
            np.arange(capacity),
            np.array([word], dtype=np.uint64),
            np.empty(capacity),
            np.empty(capacity),
            np.empty(num_rows, dtype=np.int64),
            np.empty(num_rows, dtype=np.int64),
        )
        self.num_active = int(labels.max()) + 1 if num_rows else 0
        self.log_marginal = float(fill_slots(problem.rows, base, self.clusters, self.moves.labels))


def _row_arrays(base: BaseMeasure, table: Table) -> RowArrays:
    """Codes as places among the states of all features; numbers with those of a block side by side."""
    sizes = [len(part.pseudo_counts) for part in base.states]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = _side_by_side([part_rows(part, table) for part in base.states], table.num_rows).astype(np.int64)
    for feature, part in enumerate(base.states):
        if len(cells) and cells[:, feature].max() >= sizes[feature]:
            raise InvalidArgument(
                f"{part.name!r} has {table.variables[part.name].num_states} states, but the base measure "
                f"{sizes[feature]} pseudo-counts."
            )
    blocks = [part_rows(part, table) for part in base.blocks]
    for normal, block in zip(base.blocks, blocks, strict=True):
        normal.complete(block)
    numbers = _side_by_side(blocks, table.num_rows).astype(np.float64)
    places = np.where(cells < 0, -1, cells + starts[:-1])
    return RowArrays(np.ascontiguousarray(places), np.ascontiguousarray(numbers))  # one layout, compiled once


def _joined(arrays: Sequence[NDArray[Any]]) -> Floats:
    return np.concatenate([np.empty(0), *arrays])


def _side_by_side(columns: list[NDArray[Any]], num_rows: int) -> NDArray[Any]:
    return np.concatenate([np.empty((num_rows, 0)), *columns], axis=1)


def cluster_weights(labels: Ints, prior: PartitionPrior) -> Floats:
    """P(cluster of the next row): (|I| + α₀/K) / (α₀ + M) for each, and α₀ (1 - L/K) / (α₀ + M) for a new one, last."""
    sizes, alpha = np.bincount(labels), prior.concentration
    opening = alpha * (1 - len(sizes) / prior.max_clusters)
    return np.append(sizes + alpha / prior.max_clusters, opening) / (alpha + len(labels))


def log_joint(problem: PartitionProblem, labels: Ints, prior: PartitionPrior, table: Table) -> Floats:
    """log P(cluster, x) of new rows for each cluster and, last, a new one: (rows, L + 1); O(rows L) densities."""
    space = Workspace(problem, labels, int(labels.max(initial=-1)) + 2, 0)
    logs = np.empty((table.num_rows, len(space.clusters.sizes)))
    log_predictives(_row_arrays(problem.base, table), problem.arrays, space.clusters, logs)
    return np.asarray(logs + logarithms(cluster_weights(labels, prior)))


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


@dataclass(frozen=True, slots=True)
class GammaPrior(Checked, shape=real(above=0), rate=real(above=0)):
    """A gamma distribution of the concentration α₀ of a Dirichlet process, with mean `shape / rate`."""

    shape: float = 1.0
    rate: float = 1.0

    def log_density(self, concentration: float) -> float:
        """log p(α₀)."""
        total = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return total + (self.shape - 1) * math.log(concentration) - self.rate * concentration

    def draw(self, concentration: float, num_rows: int, num_clusters: int, rng: np.random.Generator) -> float:
        """A Gibbs draw of α₀ given the number of clusters, by an auxiliary beta variable (Escobar & West 1995, §6)."""
        if not num_rows:
            return float(rng.gamma(self.shape, 1 / self.rate))
        rate = self.rate - math.log(max(rng.beta(concentration + 1, num_rows), SMALLEST))
        odds = (self.shape + num_clusters - 1) / (num_rows * rate)
        shape = self.shape + num_clusters - (rng.random() * (1 + odds) >= odds)
        return max(float(rng.gamma(shape, 1 / rate)), SMALLEST)


@dataclass(frozen=True, slots=True)
class PartitionMoves(Checked, sweeps=whole(), merge_splits=whole()):
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
        Checked.__post_init__(self)
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
    seed: int  # Random numbers of the next step are those of this pair
    num_steps: int

    @property
    def num_clusters(self) -> int:
        """How many clusters have rows."""
        return len(np.unique(self.labels))

    def __repr__(self) -> str:
        where = f"{counted(self.num_clusters, 'cluster')} of {counted(len(self.labels), 'row')}"
        return f"<PartitionState: {where}, {counted(self.num_steps, 'step')}>"


@dataclass(frozen=True, slots=True)
class PartitionModel:
    """A prior over partitions; its concentration is fixed, or drawn along with them.
    A `concentration_prior` of α₀, which then starts at that of `prior`, is for `ChineseRestaurant` only.
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

    It starts from a draw of the "prior", "one" cluster, all rows "apart", or a label for each row.
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
