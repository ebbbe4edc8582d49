"""A mixture: its features and encoded rows, its kind, prior and parameters, and the network that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from plausible.base import Flags, Floats, Positions
from plausible.cpds import CPD, ConditionalGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.incomplete.gaussian_rows import PatternBlock, column_units, pattern_blocks
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class MixtureSpace:
    """The features of a mixture, and the units of their numbers: (x - location) / scale."""

    discrete: tuple[Variable, ...]
    continuous: tuple[Variable, ...]
    offsets: Positions  # where the states of each discrete feature start among those of all; their total at the end
    location: Floats  # of each continuous feature
    scale: Floats

    @classmethod
    def of(cls, table: Table, covariance: str) -> MixtureSpace:
        """Units in which the variance of each column is one; for spherical clusters, of all columns together."""
        _refuse_infinite(table)
        discrete = tuple(table.variables[name] for name in table.discrete)
        location, variances = column_units(table.numbers.T, table.row_weights)
        if covariance == "spherical":
            variances[:] = variances.mean() if len(variances) else 1.0
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        if covariance == "unit":
            scale[:] = 1.0
        offsets = np.cumsum([0, *(variable.num_states for variable in discrete)])
        return cls(discrete, tuple(table.variables[name] for name in table.continuous), offsets, location, scale)

    @property
    def num_states(self) -> Positions:
        """The number of states of each discrete feature."""
        return np.diff(self.offsets)

    def encode(self, table: Table, *, is_grouped: bool = True) -> MixtureRows:
        """The rows of a table that has these features, equal rows as one if wanted."""
        _refuse_infinite(table)
        codes, raw = table.codes.astype(np.intp).T, table.numbers.T
        known = ~np.isnan(raw)
        numbers = np.where(known, (raw - self.location) / self.scale, 0.0)
        first, place = _equal_rows(codes, known, numbers) if is_grouped else (np.arange(len(codes)),) * 2
        order, blocks = pattern_blocks(known[first])
        chosen = first[order]
        position = np.empty(len(order), dtype=np.intp)
        position[order] = np.arange(len(order))
        places = position[place]
        weights = np.bincount(places, weights=table.row_weights, minlength=len(order)).astype(np.float64)
        indicators = np.zeros((len(chosen), int(self.offsets[-1])))
        row, feature = np.nonzero(codes[chosen] >= 0)
        indicators[row, self.offsets[feature] + codes[chosen][row, feature]] = 1.0
        there = np.ascontiguousarray(numbers[chosen]), known[chosen]
        return MixtureRows(indicators, *there, weights, places, tuple(blocks))


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRows:
    """Encoded rows, sorted by pattern."""

    indicators: Floats  # (rows, states of all discrete features): one for the state that a row has
    numbers: Floats  # (rows, continuous features); zero where missing
    known: Flags  # which numbers are there
    weights: Floats  # how often each row counts
    places: Positions  # for each row of the table, the row here that it is
    blocks: tuple[PatternBlock, ...]

    def __len__(self) -> int:
        return len(self.weights)


def _refuse_infinite(table: Table) -> None:
    for name, column in zip(table.continuous, table.numbers, strict=True):
        if np.isinf(column).any():
            raise InvalidArgument(f"{name!r} has infinite values (inf): leave these rows out.")


def _equal_rows(codes: Positions, known: Flags, numbers: Floats) -> tuple[Positions, Positions]:
    """A row of each kind, and which kind each row is; equal rows share a random sum, and others hardly ever do."""
    columns = [*codes.T.astype(float), *np.where(known, numbers, np.pi * 1e3).T]
    sums = np.zeros(len(codes))
    for factor, column in zip(np.random.default_rng(0).normal(size=len(columns)), columns, strict=True):
        sums += factor * column
    _, first, place = np.unique(sums, return_index=True, return_inverse=True)
    if len(first) == len(sums):
        return first, place
    same = all((column == column[first[place]]).all() for column in columns)
    if not same:
        matrix = np.column_stack(columns)
        _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


COVARIANCES = ("full", "tied", "diagonal", "spherical", "unit")  # How the variances of numbers are restricted


@dataclass(frozen=True, slots=True)
class MixturePrior:
    """Pseudo-counts whose posterior mode EM climbs to; all zero for the greatest likelihood.

    Dirichlet distributions of parameters 1 + pseudo-count, and the normal-Wishart kernel |Σ|^(-s/2) exp(-s tr(Σ⁻¹ V)/2
    - κ (μ - m)ᵀ Σ⁻¹ (μ - m)/2), m and V the means and variances of the whole columns. `weights` are cases added to each
    cluster, `cells` to each state of each discrete feature in each cluster; `means` is κ, cases at the mean of the
    column, and `variances` is s, cases that are spread as the column is.

    >>> MixturePrior(cells=1.0)
    MixturePrior(weights=0.0, cells=1.0, means=0.0, variances=0.0)
    """

    weights: float = 0.0
    cells: float = 0.0
    means: float = 0.0
    variances: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise InvalidArgument(f"MixturePrior: {field.name}={value!r} is a number of cases, zero or more.")


class MixtureParameters(NamedTuple):
    """All parameters of K clusters; numbers in the units of `MixtureSpace`."""

    weights: Floats
    tables: Floats  # P(state | k) for the states of all discrete features, one feature after the other
    means: Floats  # (K, d)
    covariances: Floats  # (K, d, d), or (K, d) where the features are independent given the cluster


@dataclass(frozen=True, slots=True)
class MixtureKind:
    """The model and the objective: covariances, assignments, prior."""

    covariance: str = "full"  # one of `COVARIANCES`
    is_hard: bool = False  # whether each row belongs wholly to its most probable cluster
    has_equal_weights: bool = False  # whether all clusters weigh the same, rather than as much as their rows
    variance_floor: float = 1e-6  # the least variance, or eigenvalue of a covariance, in the units of `MixtureSpace`
    prior: MixturePrior = MixturePrior()

    def __post_init__(self) -> None:
        if self.covariance not in COVARIANCES:
            raise InvalidArgument(
                f"covariance= is one of {', '.join(COVARIANCES)}, not {self.covariance!r}."
                f"{suggestion(self.covariance, COVARIANCES)}"
            )
        if not 0 < self.variance_floor < math.inf:
            raise InvalidArgument(
                f"variance_floor={self.variance_floor!r} must be above zero: without it the likelihood has no bound."
            )

    @property
    def has_matrices(self) -> bool:
        """Whether numbers may depend on each other within a cluster."""
        return self.covariance in ("full", "tied")

    def num_parameters(self, num_clusters: int, num_states: Positions, num_numbers: int) -> int:
        """How many numbers are free: the dimension that BIC and AIC count."""
        weights = 0 if self.has_equal_weights else num_clusters - 1
        tables = num_clusters * int((num_states - 1).sum())
        matrix = num_numbers * (num_numbers + 1) // 2
        variances = {
            "full": num_clusters * matrix,
            "tied": matrix,
            "diagonal": num_clusters * num_numbers,
            "spherical": num_clusters if num_numbers else 0,
            "unit": 0,
        }
        return weights + tables + num_clusters * num_numbers + variances[self.covariance]


def mixture_network(space: MixtureSpace, kind: MixtureKind, parameters: MixtureParameters) -> BayesianNetwork:
    """The mixture as a network: the cluster above all features, dependent numbers as a chain of regressions."""
    name, taken = "cluster", {variable.name for variable in (*space.discrete, *space.continuous)}
    while name in taken:
        name += "_"
    cluster = Variable(name, len(parameters.weights))
    cpds: list[CPD] = [TableCPD(cluster, parameters.weights)]
    for number, variable in enumerate(space.discrete):
        columns = slice(space.offsets[number], space.offsets[number + 1])
        cpds.append(TableCPD(variable, parameters.tables[:, columns], parents=[cluster]))
    means = space.location + space.scale * parameters.means
    scales = np.outer(space.scale, space.scale) if kind.has_matrices else space.scale**2
    spread = parameters.covariances * scales
    for number, variable in enumerate(space.continuous):
        if not kind.has_matrices:
            cpds.append(ConditionalGaussianCPD(variable, means[:, number], {}, spread[:, number], [cluster]))
            continue
        # in each cluster, given the numbers before it
        before, across = spread[:, :number, :number], spread[:, :number, number]
        slopes = np.linalg.solve(before, across[:, :, None])[:, :, 0]
        intercepts = means[:, number] - (slopes * means[:, :number]).sum(axis=1)
        variances = spread[:, number, number] - (slopes * across).sum(axis=1)
        parents = space.continuous[:number]
        coefficients = {parent.name: slopes[:, place] for place, parent in enumerate(parents)}
        cpds.append(ConditionalGaussianCPD(variable, intercepts, coefficients, variances, [cluster, *parents]))
    return BayesianNetwork(*cpds)
