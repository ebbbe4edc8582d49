"""What kind of mixture is fitted, what is believed of its parameters beforehand, and the network that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.cpds import CPD, ConditionalGaussianCPD, TableCPD
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.mixtures.rows import MixtureSpace
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: How the variances of numbers are restricted.
COVARIANCES = ("full", "tied", "diagonal", "spherical", "unit")


@dataclass(frozen=True, slots=True)
class MixturePrior:
    """Pseudo-counts whose posterior mode EM climbs to; all zero for the greatest likelihood.

    Dirichlet distributions of parameters 1 + pseudo-count, and the normal-Wishart kernel
    |Σ|^(-s/2) exp(-s tr(Σ⁻¹ V)/2 - κ (μ - m)ᵀ Σ⁻¹ (μ - m)/2), m and V the means and variances of the whole columns.

    Parameters
    ----------
    weights
        Cases added to each cluster.
    cells
        Cases added to each state of each discrete feature, in each cluster.
    means
        κ: cases at the mean of the column.
    variances
        s: cases that are spread as the column is.

    Examples
    --------
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

    @property
    def is_k_means(self) -> bool:
        """Whether rows go to the nearest mean."""
        return self.is_hard and self.has_equal_weights and self.covariance == "unit"

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
    if not kind.has_matrices:
        variances = parameters.covariances * space.scale**2
        for number, variable in enumerate(space.continuous):
            cpds.append(ConditionalGaussianCPD(variable, means[:, number], {}, variances[:, number], [cluster]))
        return BayesianNetwork(*cpds)
    covariances = parameters.covariances * np.outer(space.scale, space.scale)
    cpds += [_regression(number, space.continuous, cluster, means, covariances) for number in range(means.shape[1])]
    return BayesianNetwork(*cpds)


def _regression(
    number: int, variables: tuple[Variable, ...], cluster: Variable, means: Floats, covariances: Floats
) -> ConditionalGaussianCPD:
    """The distribution of a number given those before it, in each cluster."""
    before, across = covariances[:, :number, :number], covariances[:, :number, number]
    slopes = np.linalg.solve(before, across[:, :, None])[:, :, 0]
    intercepts = means[:, number] - (slopes * means[:, :number]).sum(axis=1)
    variances = covariances[:, number, number] - (slopes * across).sum(axis=1)
    parents = variables[:number]
    coefficients = {parent.name: slopes[:, place] for place, parent in enumerate(parents)}
    return ConditionalGaussianCPD(variables[number], intercepts, coefficients, variances, [cluster, *parents])
