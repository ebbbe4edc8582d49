"""The curvature of the log-likelihood of incomplete data, and what it tells about estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.data.table import TableLike
from plausible.errors import counted
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.gradients.free_parameters import Entries, FreeParameters, entry_posteriors, pair_counts
from plausible.learn.gradients.observed import ObservedLikelihood, tables_of
from plausible.learn.gradients.space import ParameterSpace
from plausible.models import BayesianNetwork

#: Eigenvalues below this, of a matrix with a unit diagonal, count as zero.
_FLAT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodHessian:
    """d²ℓ / dθ_i dθ_j by the entries of tables, each changed by itself; made by `log_likelihood_hessian`."""

    #: Name -> the number of each entry in the matrix, in the shape of its table; -1 where the entry is zero.
    numbers: Mapping[str, Positions]
    matrix: Floats  # The second derivatives of entries that are not zero

    def block(self, first: str, second: str) -> Floats:
        """The part of two variables: axes of the first one's table, then of the second's; NaN at zero entries."""
        one, two = self.numbers[first], self.numbers[second]
        part = self.matrix[np.ix_(one.ravel(), two.ravel())].copy() if self.matrix.size else np.zeros((one.size, 0))
        part[one.ravel() < 0] = np.nan
        part[:, two.ravel() < 0] = np.nan
        return part.reshape(*one.shape, *two.shape)


def log_likelihood_hessian(
    network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
) -> LikelihoodHessian:
    """d²ℓ/dθ_i dθ_j = Σ_m w_m [P(e_i, e_j | o[m]) - P(e_i | o[m]) P(e_j | o[m])] / (θ_i θ_j), for entries e = (x, u).

    The joint term is zero for two entries of one family and for an entry with itself, as P(o) is linear in each:
    the diagonal is -Σ w (P(e | o) / θ)². (Koller & Friedman 2009, exercise 19.9, prints the joint term there, too.)
    Cost: a run for each different row and entry, since pairs of families share no clique.

    Parameters
    ----------
    network
        Discrete; the derivatives are of the tables, whatever distributions are made of.
    data
        Rows with cells missing, or whole columns.
    weights
        How often each row counts; as the table says where left out.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.25, 0.75]], ["A"]))
    >>> log_likelihood_hessian(net, {"B": [0]}).block("A", "A").round(3)
    array([[-1.778, -0.889],
           [-0.889, -0.444]])
    """
    likelihood = ObservedLikelihood.of(network, data, weights)
    tables = tables_of(network)
    entries = Entries.of(tables)
    numbers = {}
    for name, table in tables.items():
        found = np.full(table.size, -1, dtype=np.intp)
        found[entries.places[name]] = np.arange(entries.parts[name].start, entries.parts[name].stop)
        numbers[name] = found.reshape(table.shape)
    return LikelihoodHessian(MappingProxyType(numbers), _hessian(likelihood, tables, entries))


def _hessian(likelihood: ObservedLikelihood, tables: Mapping[str, Floats], entries: Entries) -> Floats:
    posteriors = entry_posteriors(likelihood, tables, entries)
    joints = pair_counts(likelihood, tables, entries, posteriors)
    products = posteriors.T @ (likelihood.weights[:, None] * posteriors)
    theta = entries.taken(tables)
    found = (joints - products) / theta[:, None] / theta
    return np.asarray((found + found.T) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedInformation:
    """How sharply incomplete data determine the parameters of a network; made by `observed_information`."""

    labels: tuple[str, ...]  # The free parameters, "P(X=x | U=u)": all states but the last possible one of each row
    #: -d²(ℓ + log prior) / dθ_i dθ_j of these.
    matrix: Floats
    #: How many directions have a curvature: the effective dimension, where this is less than the number of labels.
    rank: int
    is_maximum: bool  # Whether no direction curves upwards
    #: The inverse of the matrix within the directions that have a curvature; of all, where there is no flat one.
    covariance: Floats
    #: Name -> the standard error of each entry of its table: infinite where the data leave it open, NaN for entries
    #: that are zero, where normal theory fails, and of all where the point is no maximum.
    standard_errors: Mapping[str, Floats]

    def __repr__(self) -> str:
        return f"<ObservedInformation: {counted(len(self.labels), 'parameter')}, rank {self.rank}>"


def observed_information(
    network: BayesianNetwork,
    data: TableLike,
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> ObservedInformation:
    """-d²ℓ/dθ² in free parameters at a network, and standard errors from its inverse; at a maximum of ℓ it is sound.

    Entries of tables are linear in the free parameters, so that the matrix is -CᵀHC with H that of
    `log_likelihood_hessian`. Cost: a run for each different row and entry.

    Parameters
    ----------
    network
        Of tables and trees, such as the result of `learn_by_gradient`.
    data
        The rows that it was learned from.
    prior
        The prior that it was learned with: its curvature (α - 1)/θ² is added.
    weights
        How often each row counts; as the table says where left out.
    knowledge
        Fixed CPDs, which have no error, and tied tables.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> observed_information(coin, {"coin": [0] * 25 + [1] * 75}).standard_errors["coin"].round(4)
    array([0.0433, 0.0433])
    """
    space = ParameterSpace.of(network, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data, weights)
    tables = tables_of(space.network)
    entries = Entries.of(tables)
    free = FreeParameters.of(space, entries)
    hessian = _hessian(likelihood, tables, entries)
    pulls = {name: np.zeros(table.shape) for name, table in tables.items()} | dict(space.log_prior_weights(prior))
    hessian[np.diag_indices(len(entries))] -= entries.taken(pulls) / entries.taken(tables) ** 2
    matrix = -free.slopes.T @ hessian @ free.slopes
    rank, is_maximum, covariance, flat = _inverse(matrix)
    errors = _errors(free.slopes, covariance, flat) if is_maximum else np.full(len(entries), np.nan)
    shaped = {}
    for name, table in tables.items():
        found = np.full(table.size, np.nan)
        found[entries.places[name]] = errors[entries.parts[name]]
        shaped[name] = found.reshape(table.shape)
    return ObservedInformation(free.labels, matrix, rank, is_maximum, covariance, MappingProxyType(shaped))


def _inverse(matrix: Floats) -> tuple[int, bool, Floats, Floats]:
    """Rank, whether nothing curves upwards, the inverse where there is curvature, and a basis of where there is none.

    Parameters differ in scale as 1/θ², so that the diagonal is made one first.
    """
    diagonal = np.abs(np.diag(matrix))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
    largest = np.abs(values).max(initial=0.0)
    curved = np.abs(values) > _FLAT * max(largest, 1e-300)
    inverse = (vectors[:, curved] / values[curved]) @ vectors[:, curved].T / scale[:, None] / scale
    flat = vectors[:, ~curved] / scale[:, None]
    return int(curved.sum()), bool((values > -_FLAT * max(largest, 1e-300)).all()), inverse, flat


def _errors(slopes: Floats, covariance: Floats, flat: Floats) -> Floats:
    """The standard error of each entry; infinite where a flat direction moves it."""
    variances = np.einsum("ei,ij,ej->e", slopes, covariance, slopes)
    moved = slopes @ flat
    sizes = np.linalg.norm(flat, axis=0) if flat.size else np.ones(flat.shape[1])
    is_open = (np.abs(moved) > 1e-6 * sizes).any(axis=1)
    return np.where(is_open, np.inf, np.sqrt(np.maximum(variances, 0.0)))
