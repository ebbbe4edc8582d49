"""From what a caller gave to the matrices of a linear dynamical system: shapes, symmetry, infinite variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.options import read_names
from plausible.base.remedies import Argument, Remedy
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.errors import InvalidArgument, InvalidModel, PlausibleError
from plausible.factors.definite import rounding, semi_definite, symmetric

#: What `initial_covariance` may be instead of numbers.
DIFFUSE, STATIONARY = "diffuse", "stationary"


def read_matrix(option: str, values: npt.ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> Floats:
    """A finite matrix with a row and a column for each name; a number stands for a matrix of one entry."""
    matrix = _numbers(option, values)
    if matrix.ndim == 0 and len(rows) == len(columns) == 1:
        matrix = matrix.reshape(1, 1)
    if matrix.ndim == 1 and 1 in (len(rows), len(columns)) and matrix.size == len(rows) * len(columns):
        matrix = matrix.reshape(len(rows), len(columns))
    if matrix.shape != (len(rows), len(columns)):
        told = f"a row for each of {list(rows)} and a column for each of {list(columns)}"
        raise InvalidModel(
            Argument(option), f" has the shape {matrix.shape}; it needs {(len(rows), len(columns))}, {told}."
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidModel(Argument(option), f" has {matrix[i, j]} at ({rows[i]}, {columns[j]}): give finite numbers.")
    return _frozen(matrix)


def read_covariance(option: str, values: npt.ArrayLike, names: Sequence[str]) -> Floats:
    """A symmetric, positive semi-definite matrix; a vector is its diagonal, a number that of one entry."""
    matrix = _numbers(option, values)
    if matrix.ndim <= 1 and matrix.size == len(names):
        matrix = np.diag(matrix.reshape(-1))
    matrix = read_matrix(option, matrix, names, names)
    try:
        matrix = symmetric(matrix, names, f"{option}=")
    except PlausibleError as error:
        raise InvalidModel(*error.args, remedies=[Remedy("give the same number on both sides")]) from None
    if (matrix.diagonal() < 0).any():
        wrong = int(np.argmin(matrix.diagonal()))
        raise InvalidModel(Argument(option), f" has the variance {matrix[wrong, wrong]:g} for {names[wrong]!r}.")
    if semi_definite(matrix).defect > max(WRITTEN_ROUNDING, rounding(len(names))):
        raise InvalidModel(
            Argument(option),
            f" over {list(names)} is no covariance: some combination of these would have a negative variance.",
            remedies=[Remedy("check the signs and the sizes of what stands off its diagonal")],
        )
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The state of the first step before its observation: N(mean, covariance), and directions of infinite variance."""

    mean: Floats
    covariance: Floats  # zero where variances are infinite
    diffuse: Floats  # [direction, state]

    @property
    def told(self) -> Floats:
        """The covariance with its infinite variances."""
        covariance = self.covariance.copy()
        covariance[np.diag(self.diffuse.sum(axis=0) > 0)] = np.inf
        return covariance


def read_start(mean: Any, covariance: Any, names: Sequence[str], transition: Floats, noise: Floats) -> Start:
    """The start from `initial_mean` and `initial_covariance`."""
    center = np.zeros(len(names)) if mean is None else _numbers("initial_mean", mean).reshape(-1)
    if center.shape != (len(names),) or not np.isfinite(center).all():
        raise InvalidModel(Argument("initial_mean"), f" needs a finite number for each of {list(names)}, not {mean!r}.")
    if covariance is None or isinstance(covariance, str):
        if covariance == STATIONARY:
            return Start(_frozen(center), _stationary(transition, noise), np.zeros((0, len(names))))
        if covariance not in (None, DIFFUSE):
            expected = f"a matrix, {DIFFUSE!r} or {STATIONARY!r}"
            raise InvalidArgument(Argument("initial_covariance", covariance), f": expected {expected}.")
        covariance = np.full(len(names), np.inf)
    matrix = _numbers("initial_covariance", covariance)
    if matrix.ndim <= 1 and matrix.size == len(names):
        matrix = np.diag(matrix.reshape(-1)) if np.isfinite(matrix).all() else _with_diagonal(matrix.reshape(-1))
    is_diffuse = np.isposinf(matrix.diagonal()) if matrix.shape == (len(names),) * 2 else np.zeros(0, dtype=bool)
    if is_diffuse.any():
        matrix = matrix.copy()
        matrix[np.diag_indices(len(names))] = np.where(is_diffuse, 0.0, matrix.diagonal())
        if matrix[is_diffuse].any() or matrix[:, is_diffuse].any():
            raise InvalidModel(
                Argument("initial_covariance"),
                f" has an infinite variance for {names[int(np.argmax(is_diffuse))]!r}, so its covariances with other "
                "states must be zero.",
            )
    read = read_covariance("initial_covariance", matrix, names)
    return Start(_frozen(center), read, _frozen(np.eye(len(names))[is_diffuse]))


def _with_diagonal(variances: Floats) -> Floats:
    matrix = np.zeros((variances.size, variances.size))
    np.fill_diagonal(matrix, variances)
    return matrix


def _stationary(transition: Floats, noise: Floats) -> Floats:
    """The covariance P = A P Aᵀ + Q that the states have in the long run."""
    from scipy.linalg import solve_discrete_lyapunov

    radius = float(np.abs(np.linalg.eigvals(transition)).max(initial=0.0))
    if radius >= 1.0:
        raise InvalidModel(
            f"The states have no stationary distribution: the transition has an eigenvalue of size {radius:g}, "
            "which is not below 1.",
            remedies=[Remedy("give ", Argument("initial_covariance", DIFFUSE), " or a matrix")],
        )
    solved = solve_discrete_lyapunov(transition, noise) if len(transition) else np.zeros((0, 0))
    return _frozen((solved + solved.T) / 2)


def root_of(covariance: Floats) -> Floats:
    """U with Uᵀ U the covariance, of as many rows."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(eigenvalues, 0.0))).T)


def triangle_of(covariance: Floats) -> Floats:
    """The same as an upper triangle."""
    return np.ascontiguousarray(np.linalg.qr(root_of(covariance), mode="r"))


def read_columns(option: str, names: Any, number: int, stem: str) -> tuple[str, ...]:
    """Names, or a number of them that nobody gave: x1, x2, ..."""
    if names is None:
        return tuple(f"{stem}{place}" for place in range(1, number + 1))
    listed = read_names(option, names)
    if len(listed) != number or len(set(listed)) < len(listed):
        raise InvalidModel(Argument(option), f" needs {number} different names, not {list(listed)}.")
    return listed


def num_rows(option: str, values: Any) -> tuple[int, int]:
    """The shape of a matrix; a number and a list of numbers are one row."""
    matrix = np.atleast_2d(_numbers(option, values))
    return matrix.shape[0], matrix.shape[-1]


def _numbers(option: str, values: Any) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidModel(Argument(option), f" is no array of numbers: {values!r}.") from None


def _frozen(array: Floats) -> Floats:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
