"""Least squares from scatter matrices: what is left of a variable after its parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MIN_SHARE", "Residuals", "unexplained_shares"]

Floats = NDArray[np.float64]

#: A residual below this share of a variable's own scatter is rounding.
MIN_SHARE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A child and all other variables, regressed on some parents; in units of each variable's own scatter.

    Attributes
    ----------
    child
        Its place.
    scales
        The square roots of the diagonal of the matrix.
    shares
        For each variable the share of its scatter that the parents leave.
    shared
        For each variable what is left in common with the child.
    log_determinant
        Of the parents' matrix, whose directions without scatter count as nearly so.
    """

    child: int
    scales: Floats
    shares: Floats
    shared: Floats
    log_determinant: float

    @classmethod
    def of(cls, matrix: Floats, child: int, parents: Sequence[int]) -> Residuals:
        """Regress everything on the parents; O(n k² + k³) for k parents."""
        scales = np.sqrt(np.diag(matrix))
        units = np.where(scales > 0, scales, 1.0)
        places = list(parents)
        inner = matrix[np.ix_(places, places)] / np.outer(units[places], units[places])
        across = matrix[places] / np.outer(units[places], units)
        sizes, axes = np.linalg.eigh(inner)
        inverses = np.where(sizes > MIN_SHARE, 1 / np.maximum(sizes, MIN_SHARE), 0.0)
        slopes = (axes * inverses) @ (axes.T @ across)
        shares = np.maximum((scales > 0) - (across * slopes).sum(axis=0), 0.0)
        shared = matrix[child] / (units * units[child]) - across[:, child] @ slopes
        log_determinant = np.log(np.maximum(sizes, MIN_SHARE)).sum() + 2 * np.log(units[places]).sum()
        return cls(child, scales, shares, shared, float(log_determinant))

    @property
    def own(self) -> float:
        """The scatter of the child."""
        return float(self.scales[self.child] ** 2)

    @property
    def alone(self) -> tuple[float, float]:
        """What is left of the child, and the logarithm of the determinant of the parents' matrix."""
        return float(self.shares[self.child]) * self.own, self.log_determinant

    def with_each(self, candidates: Sequence[int]) -> tuple[Floats, Floats]:
        """The same for each candidate as another parent; one that the parents determine adds nothing."""
        places = list(candidates)
        left, common = self.shares[places], self.shared[places]
        is_new = left > MIN_SHARE
        gains = np.where(is_new, common**2 / np.where(is_new, left, 1.0), 0.0)
        residuals = np.maximum(self.shares[self.child] - gains, 0.0) * self.own
        squares = np.maximum(left, MIN_SHARE) * self.scales[places] ** 2
        return residuals, self.log_determinant + np.log(np.maximum(squares, np.finfo(np.float64).tiny))


def unexplained_shares(scatters: Floats) -> Floats:
    """For each of several scatter matrices the share of its last variable that the others leave.

    Parameters
    ----------
    scatters
        Axes: matrix, variable, variable.
    """
    scales = np.sqrt(np.diagonal(scatters, axis1=1, axis2=2))
    units = np.where(scales > 0, scales, 1.0)
    scaled = scatters / (units[:, :, None] * units[:, None, :])
    across = scaled[:, :-1, -1]
    inverses = np.linalg.pinv(scaled[:, :-1, :-1], rcond=MIN_SHARE, hermitian=True)
    explained = np.einsum("gi,gij,gj->g", across, inverses, across)
    return np.asarray(np.maximum((scales[:, -1] > 0) - explained, 0.0), dtype=np.float64)
