"""Symmetric matrices: which are positive definite, up to the rounding of their entries; and conditioning on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import WRITTEN_ROUNDING, Floats
from plausible.errors import InvalidArgument, InvalidFactor

Vector: TypeAlias = npt.NDArray[np.float64]
Matrix: TypeAlias = npt.NDArray[np.float64]

LOG_2PI = math.log(2 * math.pi)
#: The relative error of one rounding.
_UNIT = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Definite:
    """A positive definite matrix D C D: D a diagonal of `scale`, C a `correlation` matrix with ones on its diagonal.

    Scaling first makes the verdict and the accuracy independent of the units of each variable.
    """

    scale: Vector
    correlation: Matrix
    log_determinant: float

    def solve(self, right: Matrix) -> Matrix:
        """The X with matrix · X = right; `right` is a vector or has one column for each problem."""
        scale = self.scale.reshape(-1, *[1] * (right.ndim - 1))
        return np.linalg.solve(self.correlation, right / scale) / scale

    def inverse(self) -> Matrix:
        """The inverse, exactly symmetric."""
        inverse = self.solve(np.eye(len(self.scale)))
        return (inverse + inverse.T) / 2


def definite(matrix: Matrix) -> Definite | None:
    """The matrix prepared for solving, or None where it is not positive definite (rounding counts as zero)."""
    diagonal = matrix.diagonal()
    if not np.all(diagonal > 0):
        return None
    scale = np.sqrt(diagonal)
    correlation = matrix / scale[:, None] / scale
    try:
        pivots = np.linalg.cholesky(correlation).diagonal()
    except np.linalg.LinAlgError:
        return None
    if np.min(pivots, initial=1.0) ** 2 <= rounding(len(pivots)):
        return None
    return Definite(scale, correlation, 2 * float(np.log(pivots).sum() + np.log(scale).sum()))


@dataclass(frozen=True, slots=True, eq=False)
class SemiDefinite:
    """A positive semi-definite matrix D C D with C = V diag(λ) Vᵀ: only the directions with λ > 0 are kept."""

    scale: Vector  # The square roots of the diagonal; one where the diagonal is zero
    eigenvalues: Vector  # The positive λ; their number is the rank
    directions: Matrix  # The columns V of these λ
    defect: float  # How far the smallest λ is below zero; more than rounding means that the matrix is indefinite

    @property
    def rank(self) -> int:
        """The dimension of the space that the matrix spans."""
        return len(self.eigenvalues)

    @property
    def log_pseudo_determinant(self) -> float:
        """The log of the product of the non-zero eigenvalues of the matrix itself, which is (DV) diag(λ) (DV)ᵀ."""
        if self.rank == len(self.scale):
            volume = 2 * float(np.log(self.scale).sum())
        else:
            _, triangle = np.linalg.qr(self.directions * self.scale[:, None])
            volume = 2 * float(np.log(np.abs(triangle.diagonal())).sum())
        return volume + float(np.log(self.eigenvalues).sum())

    def pseudo_solve(self, right: Matrix) -> Matrix:
        """An X with matrix · X = right, for a `right` in the space that the matrix spans."""
        tail = [1] * (right.ndim - 1)
        scale, eigenvalues = self.scale.reshape(-1, *tail), self.eigenvalues.reshape(-1, *tail)
        return self.directions @ (self.directions.T @ (right / scale) / eigenvalues) / scale

    def outside(self, vector: Vector) -> Vector:
        """What is left of a vector, in units of `scale`, after its projection on the space that the matrix spans."""
        scaled = vector / self.scale
        return scaled - self.directions @ (self.directions.T @ scaled)


def semi_definite(matrix: Matrix) -> SemiDefinite:
    """The matrix by its positive directions; directions within rounding of zero, or below it, are dropped."""
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0, np.sqrt(np.maximum(diagonal, 0.0)), 1.0)
    eigenvalues, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
    kept = eigenvalues > rounding(len(eigenvalues))
    defect = max(0.0, -float(np.min(eigenvalues, initial=0.0)))
    return SemiDefinite(scale, eigenvalues[kept], vectors[:, kept], defect)


@dataclass(frozen=True, slots=True, eq=False)
class Conditioned:
    """The moments of the variables that are left, and the log-density of those that were seen."""

    mean: Vector
    covariance: Matrix
    log_density: float


def condition_definite(
    mean: Vector, covariance: Matrix, seen: Sequence[int], kept: Sequence[int], point: Vector
) -> Conditioned | None:
    """The Gaussian of `kept` given values of `seen`; None where the covariance of `seen` is singular.

    Each observed variable e in turn takes Σ_ie Σ_ej / Σ_ee off Σ_ij, the one with the largest share of its variance
    left going first. Along goes a bound on what rounding, that of the given entries included, may have done to each
    entry. A variance within its bound is zero; one above it is real, however small it is beside the variance before:
    under the prior N(0, 1e15) an observation with noise 1 leaves a variance of 1. Costs O(|seen| n²).
    """
    order = [*seen, *kept]
    left, moved = np.array(covariance[np.ix_(order, order)]), np.array(mean[order])
    bound = _UNIT * np.abs(left)
    before = left.diagonal().copy()
    log_density, open_axes = 0.0, list(range(len(seen)))
    while open_axes:
        pivot = max(open_axes, key=lambda axis: left[axis, axis] / before[axis] if before[axis] > 0 else 0.0)
        variance = float(left[pivot, pivot])
        if variance <= bound[pivot, pivot]:
            return None
        open_axes.remove(pivot)
        surprise = float(point[pivot] - moved[pivot])
        log_density -= 0.5 * (LOG_2PI + math.log(variance) + surprise * surprise / variance)
        gain = left[:, pivot] / variance
        moved += gain * surprise
        bound = _grown(bound, np.abs(gain), np.abs(left[pivot]), pivot)
        left -= np.outer(gain, left[pivot])
    tail = slice(len(seen), None)
    return Conditioned(moved[tail], settled(left[tail, tail], bound[tail, tail].diagonal()), log_density)


def _grown(bound: Matrix, gain: Vector, row: Vector, pivot: int) -> Matrix:
    """The bound after a step: errors of the pivot's row carried along by the gain, and three new roundings."""
    carried = np.outer(gain, bound[pivot])
    return np.asarray(
        bound + carried + carried.T + np.outer(gain, gain) * bound[pivot, pivot] + 3 * _UNIT * np.outer(gain, row)
    )


def settled(covariance: Matrix, noise: Vector) -> Matrix:
    """A conditional covariance, exactly symmetric, with zeros where variances are within the noise of rounding."""
    covariance = (covariance + covariance.T) / 2
    certain = covariance.diagonal() <= noise
    covariance[certain, :] = covariance[:, certain] = 0.0
    return covariance


class PivotedRoot(NamedTuple):
    """L with L Lᵀ = A, and for each of its columns the row where it has its positive pivot: see `pivoted_root`."""

    root: Matrix
    pivots: tuple[int, ...]


def pivoted_root(matrix: Matrix, room: float) -> PivotedRoot:
    """The root of a semi-definite matrix that its numbers determine, by Cholesky's method with pivots.

    Eigenvectors may have any sign, and those of equal eigenvalues are any basis of their space; here each column starts
    at the row of which most is left, the first among equals. The root of a projection has orthonormal columns: a basis
    of its space. Differences up to `room` are rounding: such pivots are equal, and such rests are nothing.
    """
    left, columns, pivots = matrix, list[Vector](), list[int]()
    while len(pivots) < len(matrix) and left.diagonal().max() > room:
        sizes = left.diagonal()
        pivots.append(int(np.argmax(sizes >= sizes.max() - room)))
        columns.append(left[pivots[-1]] / math.sqrt(sizes[pivots[-1]]))
        left = left - np.outer(columns[-1], columns[-1])
    return PivotedRoot(np.array(columns).reshape(len(columns), len(matrix)).T, tuple(pivots))


def rounding(size: int) -> float:
    """What arithmetic may add to an eigenvalue, or to a difference of entries, of a correlation matrix."""
    return 8 * float(np.finfo(np.float64).eps) * max(size, 1)


def real_numbers(values: npt.ArrayLike, what: str) -> Floats:
    """A copy of the values as an array of numbers."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidFactor(f"{what} is no array of numbers: {values!r}.") from None


def symmetric(values: npt.ArrayLike, names: Sequence[str], what: str) -> Matrix:
    """A read-only, exactly symmetric copy of a square matrix over `names`."""
    matrix = real_numbers(values, f"{what} over {list(names)}")
    if matrix.shape != (len(names), len(names)):
        raise InvalidFactor(f"{what} over {list(names)} needs shape {(len(names), len(names))}, not {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise InvalidFactor(f"{what} over {list(names)} has an entry that is no finite number.")
    size = np.sqrt(np.abs(matrix.diagonal()))
    if np.any(np.abs(matrix - matrix.T) > WRITTEN_ROUNDING * (size[:, None] * size + np.abs(matrix))):
        i, j = divmod(int(np.argmax(np.abs(matrix - matrix.T))), len(names))
        raise InvalidFactor(
            f"{what} is not symmetric: {matrix[i, j]:g} at ({names[i]}, {names[j]}) "
            f"and {matrix[j, i]:g} at ({names[j]}, {names[i]})."
        )
    matrix = (matrix + matrix.T) / 2
    matrix.setflags(write=False)
    return matrix


def finite_vector(values: npt.ArrayLike, names: Sequence[str], what: str) -> Vector:
    """A read-only copy of one finite number for each of `names`."""
    vector = real_numbers(values, f"{what} over {list(names)}")
    if vector.shape != (len(names),):
        raise InvalidFactor(f"{what} over {list(names)} needs {len(names)} numbers, not shape {vector.shape}.")
    if not np.isfinite(vector).all():
        wrong = int(np.argmin(np.isfinite(vector)))
        raise InvalidFactor(
            f"{what} over {list(names)} is {vector[wrong]} at {names[wrong]!r}: expected a finite number."
        )
    vector.setflags(write=False)
    return vector


def finite_number(name: str, value: object) -> float:
    """The value of a continuous variable or parameter, as a finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name!r} is continuous: expected a number, not {value!r}.") from None
    if not math.isfinite(number):
        raise InvalidArgument(f"The value of {name!r} is {number}: expected a finite number.")
    return number
