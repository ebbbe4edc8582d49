"""Least squares from scatter matrices: what is left of a variable after its parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import DETERMINED

__all__ = ["DETERMINED", "Residuals", "unexplained_shares"]


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A child and all other variables, regressed on sets of parents; in units of each variable's own scatter.

    Attributes
    ----------
    child
        Its place.
    scales
        The square roots of the diagonal of the matrix.
    shares
        Axes: set of parents, variable. The share of its scatter that the parents leave.
    shared
        Axes: set of parents, variable. What is left in common with the child.
    log_determinants
        For each set, of the parents' matrix, whose directions without scatter count as nearly so.
    """

    child: int
    scales: Floats
    shares: Floats
    shared: Floats
    log_determinants: Floats

    @classmethod
    def of(cls, matrix: Floats, child: int, sets: Sequence[Sequence[int]]) -> Residuals:
        """Regress everything on each of several sets of k parents; O(n k² + k³) for a set."""
        scales = np.sqrt(np.diag(matrix))
        units = np.where(scales > 0, scales, 1.0)
        places = np.array(sets, dtype=np.intp).reshape(len(sets), -1)
        scaled = matrix / np.outer(units, units)
        across = scaled[places]  # axes: set, parent, variable
        sizes, axes = np.linalg.eigh(scaled[places[:, :, None], places[:, None, :]])
        inverses = np.where(sizes > DETERMINED, 1 / np.maximum(sizes, DETERMINED), 0.0)
        slopes = (axes * inverses[:, None, :]) @ (axes.transpose(0, 2, 1) @ across)
        shares = np.maximum((scales > 0) - (across * slopes).sum(axis=1), 0.0)
        shared = scaled[child] - (across[:, None, :, child] @ slopes)[:, 0]
        log_sizes, log_units = np.log(np.maximum(sizes, DETERMINED)), np.log(units[places])
        return cls(child, scales, shares, shared, log_sizes.sum(axis=1) + 2 * log_units.sum(axis=1))

    @property
    def own(self) -> float:
        """The scatter of the child."""
        return float(self.scales[self.child] ** 2)

    @property
    def alone(self) -> tuple[Floats, Floats]:
        """What each set leaves of the child, and the logarithm of the determinant of its matrix."""
        return self.shares[:, self.child] * self.own, self.log_determinants

    def with_each(self, sets: Sequence[int], candidates: Sequence[int]) -> tuple[Floats, Floats]:
        """The same for each of some sets with a candidate as another parent; one that is determined adds nothing."""
        rows, places = np.array(sets, dtype=np.intp), np.array(candidates, dtype=np.intp)
        left, common = self.shares[rows, places], self.shared[rows, places]
        is_new = left > DETERMINED
        gains = np.where(is_new, common**2 / np.where(is_new, left, 1.0), 0.0)
        residuals = np.maximum(self.shares[rows, self.child] - gains, 0.0) * self.own
        squares = np.maximum(left, DETERMINED) * self.scales[places] ** 2
        return residuals, self.log_determinants[rows] + np.log(np.maximum(squares, np.finfo(np.float64).tiny))


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
    inverses = np.linalg.pinv(scaled[:, :-1, :-1], rcond=DETERMINED, hermitian=True)
    explained = np.einsum("gi,gij,gj->g", across, inverses, across)
    return np.asarray(np.maximum((scales[:, -1] > 0) - explained, 0.0), dtype=np.float64)
