"""Steps uphill that need more than a gradient: Newton's, iterative scaling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST
from plausible.errors import NotSupported
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.objectives import Objective, SteeredObjective
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.penalized import Climb
from plausible.search.ascent import AscentState

#: Covariances take an inference for each place of each feature, differences of gradients two for each weight.
_MANY_PLACES = 20


def quotient_inverse(curvature: Floats, units: Floats) -> Floats:
    """The inverse of a curvature, directions that change nothing left out; judged in units of the weights."""
    scaled = np.linalg.pinv(curvature / units[:, None] / units, rcond=1e-10, hermitian=True)
    return np.asarray(scaled / units[:, None] / units)


def newton_step(climbed: Climb[Objective], state: AscentState) -> AscentState:
    """One Newton step on the space of distributions: directions that change nothing are left out.

    The step is halved until the value rises.
    """
    curvature = information_matrix(climbed.objective, state.point) + np.diag(climbed.penalty.curvature(state.point))
    direction = quotient_inverse(curvature, climbed.units) @ state.gradient
    for power in range(40):
        point = state.point + 0.5**power * direction
        value, gradient = climbed.smooth(point)
        if value > state.value:
            return climbed.moved(state, point, value, gradient)
    return state._replace(is_stuck=True)


def information_matrix(objective: Objective, weights: Floats) -> Floats:
    """Minus the Hessian of the objective: M Cov[f; f] for the likelihood of complete data, differences otherwise."""
    if isinstance(objective, SteeredObjective):
        raise NotSupported("This objective has no curvature to tell of: it has kinks, or is told by draws.")
    size = weights.size
    hessian = np.zeros((size, size))
    trees = [(factor, part) for factor, part in objective.parts if isinstance(part, TreePartition)]
    if len(trees) == len(objective.parts) and objective.design.matrix.nnz <= _MANY_PLACES * size:
        logs = objective.design.logs(weights)
        for factor, part in trees:
            hessian += factor * part.covariance(logs)
        return -hessian
    for place in range(size):
        step = 1e-5 * max(1.0 / objective.spreads[place], abs(weights[place]))
        move = np.zeros(size)
        move[place] = step
        hessian[place] = (objective.at(weights + move)[1] - objective.at(weights - move)[1]) / (2 * step)
    return -(hessian + hessian.T) / 2


class Scaling(NamedTuple):
    """Iterative scaling: θ_k ← θ_k + log(E_D[f_k] / E_θ[f_k]) / C, one weight after the other (IPS), or all (GIS)."""

    climbed: Climb[Objective]
    means: Floats  # Σ f over the data
    bound: float  # C: for IPS the largest f, for GIS the largest Σ_k f_k
    is_joint: bool

    @classmethod
    def of(cls, climbed: Climb[Objective], name: str) -> Scaling:
        """Refuse features that are negative, and priors."""
        objective, design = climbed.objective, climbed.objective.design
        if not climbed.penalty.is_none or len(objective.parts) != 1 or objective.is_own:
            raise NotSupported(f"optimizer={name!r} is for the likelihood of complete data without a prior.")
        if design.matrix.nnz and design.matrix.data.min() < 0:
            place = int(design.matrix.tocoo().col[int(np.argmin(design.matrix.tocoo().data))])
            raise NotSupported(f"optimizer={name!r} needs features that are not negative; {design.names[place]!r} is.")
        is_joint = name == "gis"
        return cls(climbed, objective.linear, _largest_sum(design) if is_joint else 1.0, is_joint)

    def step(self, state: AscentState) -> AscentState:
        """One sweep over all weights."""
        design, point = self.climbed.objective.design, state.point.copy()
        if self.is_joint:
            point += self._moves(state.gradient) / self.bound
            return self.climbed.moved(state, point, *self.climbed.smooth(point))
        value, gradient = state.value, state.gradient
        tops = _largest_sums(design)
        for weight in range(design.num_weights):
            point = point.copy()
            point[weight] += self._moves(gradient)[weight] / max(tops[weight], SMALLEST)
            value, gradient = self.climbed.smooth(point)
        return self.climbed.moved(state, point, value, gradient)

    def _moves(self, gradient: Floats) -> Floats:
        expected = self.means - gradient
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = np.log(self.means / expected)
        return np.where(np.isfinite(moves), moves, 0.0)


def _largest_sums(design: Design) -> Floats:
    """For each weight an upper bound on Σ over its places of f."""
    per_scope = _scope_peaks(design)
    return np.asarray(per_scope.sum(axis=0)).ravel()


def _largest_sum(design: Design) -> float:
    """An upper bound on Σ_k f_k over all assignments: of each table the entry with the largest sum."""
    sums = np.asarray(design.matrix.sum(axis=1)).ravel()
    return float(np.maximum.reduceat(sums, design.starts[:-1]).sum())


def _scope_peaks(design: Design) -> Floats:
    from scipy.sparse import coo_array

    coo = design.matrix.tocoo()
    scope = np.searchsorted(design.starts, coo.row, side="right") - 1
    keys = scope * max(1, design.num_weights) + coo.col
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    peaks = np.maximum.reduceat(coo.data[order], first) if first.size else coo.data
    shape = (len(design.scopes), design.num_weights)
    return coo_array((peaks, (found // shape[1], found % shape[1])), shape=shape)  # type: ignore[return-value]
