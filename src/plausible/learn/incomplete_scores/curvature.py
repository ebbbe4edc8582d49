"""What derivatives of the likelihood tell: how many parameters data show, and Laplace's approximation of P(data)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.errors import InvalidArgument
from plausible.learn.gradients.information import Entries, FreeParameters, entry_posteriors, pair_counts
from plausible.learn.gradients.space import ObservedLikelihood, ParameterSpace, tables_of
from plausible.learn.incomplete.cases import distinct_rows
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.models import BayesianNetwork

#: Up to so many configurations of what is observed are all listed; of more, some are drawn.
_MOST_CONFIGURATIONS = 1024

#: Drawn configurations are added until so many lots of them in a row tell nothing new.
_LOTS = 2

#: Singular values below this share of the largest count as zero.
_NOTHING = 1e-8


def effective_dimension(task: ScoreTask) -> int:
    """The rank, nearly everywhere, of θ -> P(what is observed): the dimension of the model (Geiger et al. 1996).

    The patterns of observed cells matter, not the values in them. It is the number of free parameters where some row is
    complete, else the rank of d log P(o) / dθ at random tables, over all configurations o of a pattern, or so many
    drawn ones that more tell nothing new. Cost: a run for each configuration and entry.
    """
    if not task.cases.num_cases:
        return 0
    # the different patterns that are not part of another: P of a part follows from that of the whole
    distinct, network = np.unique(task.cases.codes >= 0, axis=0), task.random_network()
    patterns = distinct[[((one & distinct) == one).all(axis=1).sum() <= 1 for one in distinct]]
    likelihood = ObservedLikelihood.of(network, task.data)
    if patterns.all(axis=1).any():
        return task.tables.num_free
    sizes = np.array([variable.num_states for variable in task.cases.variables.values()])
    configurations = sum(math.prod(sizes[pattern].tolist()) for pattern in patterns)
    if configurations <= _MOST_CONFIGURATIONS:
        rows = []
        for pattern in patterns:  # each configuration of the observed variables, -1 for the others
            shape = sizes[pattern].tolist()
            rows.append(np.full((math.prod(shape), len(sizes)), -1, dtype=np.int32))
            rows[-1][:, pattern] = np.indices(shape).reshape(len(shape), math.prod(shape)).T
        return _rank(_scores(network, likelihood, np.concatenate(rows)))
    rng = np.random.default_rng(task.seed)
    scores, rank, idle = np.zeros((0, task.tables.num_free)), 0, 0
    while idle < _LOTS and rank < task.tables.num_free:
        drawn = _scores(network, likelihood, _some(task, sizes, patterns, rng))
        scores, before = np.concatenate([scores, drawn]), rank
        rank = _rank(scores)
        idle = 0 if rank > before else idle + 1
    return rank


def _some(task: ScoreTask, sizes: Ints, patterns: Flags, rng: np.random.Generator) -> Codes:
    """A configuration for each entry of each table, which agrees with it; the rest of it is drawn."""
    rows = []
    for name, shape in task.tables.shapes.items():
        num = math.prod(shape)
        drawn = rng.integers(sizes, size=(num, len(sizes)), dtype=np.int32)
        drawn[:, task.tables.scopes[name]] = np.indices(shape).reshape(len(shape), num).T
        drawn[~patterns[rng.integers(len(patterns), size=num)]] = -1
        rows.append(drawn)
    return np.concatenate(rows)


def _scores(network: BayesianNetwork, likelihood: ObservedLikelihood, rows: Codes) -> Floats:
    """d log P(o) / dθ, a row for each different configuration, a column for each free parameter."""
    distinct = distinct_rows(rows)[0]
    asked = likelihood.of_rows(distinct, np.ones(len(distinct)), np.arange(len(distinct)))
    tables = tables_of(network)
    entries = Entries.of(tables)
    slopes = FreeParameters.of(ParameterSpace.of(network), entries).slopes
    return np.asarray((entry_posteriors(asked, tables, entries) / entries.taken(tables)) @ slopes)


def _rank(scores: Floats) -> int:
    sizes = np.linalg.norm(scores, axis=0)
    values = np.linalg.svd(scores / np.where(sizes > 0, sizes, 1.0), compute_uv=False)
    return int((values > _NOTHING * values.max(initial=0.0)).sum()) if values.size else 0


#: Eigenvalues below this count as zero, where the matrix has been scaled to a diagonal of ones.
_FLAT = 1e-10


class LaplaceIntegral(NamedTuple):
    """log ∫ exp g ≈ g(w₀) + volume + curvature."""

    peak: float  # g(w₀)
    volume: float  # (d/2) log 2π, where d is the rank
    #: -½ log |C|, over the directions that have a curvature.
    curvature: float
    rank: int  # How many these are
    num_upward: int  # Directions in which g curves upwards: the point is no maximum

    @property
    def value(self) -> float:
        """The logarithm of the integral."""
        return self.peak + self.volume + self.curvature


def laplace_integral(peak: float, curvature: Any) -> LaplaceIntegral:
    """log ∫ exp g(w) dw ≈ g(w₀) + (d/2) log 2π - ½ log |C|, with C = -g'' at the maximum w₀.

    `peak` is g(w₀), and `curvature` the symmetric C. Exact where g is quadratic. Where C is not of full rank, its
    pseudo-determinant stands for |C| and its rank for d: the integral over the directions that the data tell anything
    of (Koller & Friedman 2009, box 19.F).

    >>> round(laplace_integral(0.0, np.diag([4.0, 1.0])).value, 6)  # log(2π / 2)
    1.14473
    """
    matrix = np.asarray(curvature, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"A curvature is a square matrix, but this one has the shape {matrix.shape}.")
    diagonal = np.abs(np.diag(matrix))
    scales = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(scales, scales))
    is_kept = values > _FLAT
    # det* (S R S) = det S² det* R det(NᵀS⁻²N), where the columns of N are an orthonormal basis of what R leaves out.
    left_out = vectors[:, ~is_kept] / scales[:, None]
    log_determinant = 2 * np.log(scales).sum() + np.log(values[is_kept]).sum()
    log_determinant += np.linalg.slogdet(left_out.T @ left_out).logabsdet
    rank = int(is_kept.sum())
    volume = rank / 2 * math.log(2 * math.pi)
    return LaplaceIntegral(peak, volume, -0.5 * float(log_determinant), rank, int((values < -_FLAT).sum()))


def posterior_curvature(task: ScoreTask) -> Floats:
    """C = -d²[ℓ + log P(λ)] / dλ², where θ_x = exp λ_x / Σ exp λ, the last λ of each row being zero.

    In these coordinates the Dirichlet density is ∝ Π θ^α, so that the fit of EM is its mode for any α > 0, and
    C = Σ_u (M̄[u] + α_u) (diag θ - θθᵀ) - Σ_m Cov(s | o[m]), s = 1{x, u} - θ_x 1{u}: the information in the completed
    data, less what is missing of it (Louis 1982). Cost: a run for each different row and entry.
    """
    network = task.fit.network
    likelihood = ObservedLikelihood.of(network, task.data)
    tables = {name: tables_of(network)[name] for name in task.tables.shapes}
    entries = Entries.of(tables)
    posteriors = entry_posteriors(likelihood, tables, entries)
    joints = pair_counts(likelihood, tables, entries, posteriors)
    counts = likelihood.weights @ posteriors
    spread = (joints + joints.T) / 2 + np.diag(counts) - posteriors.T @ (likelihood.weights[:, None] * posteriors)
    theta, row = task.theta, task.tables.row_of_entry
    is_free = np.append(row[1:] == row[:-1], False) if len(row) else np.zeros(0, dtype=np.bool_)
    same = row[:, None] == row
    scores = (np.eye(len(theta)) - same * theta)[:, is_free]
    complete = task.tables.row_sums(counts + task.pseudo_counts)[row] * (np.diag(theta) - same * np.outer(theta, theta))
    return np.asarray(complete[np.ix_(is_free, is_free)] - scores.T @ spread @ scores)
