"""Laplace's approximation of P(data | graph): a Gaussian put under the peak of the posterior."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.learn.gradients.free_parameters import Entries
from plausible.learn.gradients.observed import ObservedLikelihood, tables_of
from plausible.learn.gradients.pairs import entry_posteriors, pair_counts
from plausible.learn.incomplete_scores.task import ScoreTask

__all__ = ["LaplaceIntegral", "laplace_integral", "posterior_curvature"]

#: Eigenvalues below this count as zero, where the matrix has been scaled to a diagonal of ones.
_FLAT = 1e-10


class LaplaceIntegral(NamedTuple):
    """log ∫ exp g ≈ g(w₀) + volume + curvature.

    Attributes
    ----------
    peak
        g(w₀).
    volume
        (d/2) log 2π, where d is the rank.
    curvature
        -½ log |C|, over the directions that have a curvature.
    rank
        How many these are.
    num_upward
        Directions in which g curves upwards: the point is no maximum.
    """

    peak: float
    volume: float
    curvature: float
    rank: int
    num_upward: int

    @property
    def value(self) -> float:
        """The logarithm of the integral."""
        return self.peak + self.volume + self.curvature


def laplace_integral(peak: float, curvature: Any) -> LaplaceIntegral:
    """log ∫ exp g(w) dw ≈ g(w₀) + (d/2) log 2π - ½ log |C|, with C = -g'' at the maximum w₀.

    Exact where g is quadratic. Where C is not of full rank, its pseudo-determinant stands for |C| and its rank for d:
    the integral over the directions that the data tell anything of (Koller & Friedman 2009, box 19.F).

    Parameters
    ----------
    peak
        g(w₀).
    curvature
        C, symmetric.

    Examples
    --------
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

    Parameters
    ----------
    task
        The graph, the data and the prior.
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
