"""Rows and a base measure as the flat arrays that kernels work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.kernels.cluster_arrays import BaseArrays, ClusterArrays, MoveArrays, RowArrays
from plausible.kernels.clusters import fill_slots, log_predictives
from plausible.learn.partitions.base_measures import BaseMeasure, default_base, part_rows
from plausible.learn.partitions.partition_priors import PartitionPrior


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProblem:
    """Rows to divide into clusters; made by `PartitionProblem.of`."""

    table: Table  # The rows; missing features are summed out
    base: BaseMeasure  # The distribution of the parameters of a cluster
    #: Both as arrays.
    rows: RowArrays
    arrays: BaseArrays

    @classmethod
    def of(cls, data: TableLike, base: BaseMeasure | None = None) -> PartitionProblem:
        """Read rows; without a base measure that of `default_base`. Columns that the base measure lacks are left out.

        >>> PartitionProblem.of({"wet": ["no", "yes", None]}).rows.cells.tolist()
        [[0], [1], [-1]]
        """
        table = Table.read(data)
        if table.weights is not None:
            raise NotSupported("Rows that are to be clustered have no weights: repeat them instead.")
        if np.isinf(table.numbers).any():
            raise InvalidArgument(
                "The data has infinite numbers, which no cluster can hold: leave them out or cut them."
            )
        table = replace(table, variables=dict(table.variables), interventions={})  # as a value that can be pickled
        measure = base or default_base(table)
        return cls(table, measure, _row_arrays(measure, table), _base_arrays(measure, table.num_rows))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle rows and base measure alone: arrays are made anew, writable, as kernels are compiled for."""
        return PartitionProblem.of, (self.table, self.base)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self.table.num_rows

    def __repr__(self) -> str:
        return f"<PartitionProblem: {counted(self.num_rows, 'row')}, {len(self.base.parts)} parts>"

    def rows_of(self, table: Table) -> RowArrays:
        """Other rows of the same features as arrays."""
        return _row_arrays(self.base, table)


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


def _base_arrays(base: BaseMeasure, num_rows: int) -> BaseArrays:
    from scipy.special import gammaln

    sizes = np.array([len(block.names) for block in base.blocks], dtype=np.int64)
    degrees = np.array([block.degrees for block in base.blocks])
    strengths = np.array([block.strength for block in base.blocks], dtype=np.float64)
    kinds, places = np.unique(np.column_stack([degrees, strengths, sizes]), axis=0, return_inverse=True)
    (after, weight), size = kinds.T[:2, :, None] + np.arange(num_rows + 1), kinds[:, 2:]
    constants = gammaln((after + 1) / 2) - gammaln((after + 1 - size) / 2)
    constants -= size / 2 * np.log(np.pi * (weight + 1) / weight)
    return BaseArrays(
        _joined([np.array(part.pseudo_counts) for part in base.states]),
        np.array([sum(part.pseudo_counts) for part in base.states], dtype=np.float64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
        _joined([block.mean for block in base.blocks]),
        _joined([np.linalg.cholesky(block.scale).ravel() for block in base.blocks]),
        strengths,
        degrees.astype(np.float64),
        np.ascontiguousarray(constants),
        places.reshape(-1).astype(np.int64),
    )


def _joined(arrays: Sequence[NDArray[Any]]) -> Floats:
    return np.concatenate([np.empty(0), *arrays])


def _side_by_side(columns: list[NDArray[Any]], num_rows: int) -> NDArray[Any]:
    return np.concatenate([np.empty((num_rows, 0)), *columns], axis=1)


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
