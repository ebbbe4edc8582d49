"""Noisy-or distributions by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.cpds import NoisyOr
from plausible.learn.estimation.families import FamilyFit, FamilyTask

#: exp(-w) of this is below what a probability next to one resolves: such causes never fail.
_SURE = 40.0
#: Below this total weight the effect counts as impossible, but not with an infinite slope.
_FAINT = 1e-12


@dataclass(frozen=True, slots=True)
class NoisyOrLearner:
    """The noisy-or of greatest likelihood.

    With w_i = -log(1 - λ_i) ≥ 0 the log-likelihood is Σ_off -w·x + Σ_on log(1 - exp(-w·x)), which is concave: bounded
    quasi-Newton steps (L-BFGS-B) find its maximum from any start. A parent that is never active is flagged; its
    activation is that of the start, else zero. Cost: O(different rows · parents) a step.

    Examples
    --------
    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"flu": [0, 0, 0, 0, 1, 1, 1, 1], "fever": [0, 0, 0, 1, 0, 1, 1, 1]}
    >>> cpd = NoisyOrLearner().fit(FamilyTask(read_families("flu -> fever", rows), "fever")).cpd
    >>> round(cpd.leak, 4), cpd.activation.round(4)
    (0.25, array([0.6667]))
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The noisy-or of a variable with two states, given parents with an active state each."""
        from scipy.optimize import minimize

        start = self._start(task)
        rows = task.rows()
        active = [np.asarray(rows.columns[p.name]) == p.index(start.active_states[p.name]) for p in task.parents]
        causes = np.column_stack([np.ones(len(rows.weights)), *active]) * 1.0
        is_on = np.asarray(rows.columns[task.name]) == 1
        first = _weights(np.array([start.leak, *start.activation]))
        found = minimize(
            _cost,
            np.clip(first, 0.01, 2.0),
            args=(causes, is_on, rows.weights),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, _SURE)] * len(first),
            options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
        ).x
        never = causes.sum(axis=0) == 0
        chances = np.where(found >= _SURE - 1.0, 1.0, -np.expm1(-found))
        chances = np.where(never, -np.expm1(-first), chances)
        learned = NoisyOr(
            task.child, task.parents, chances[1:], float(chances[0]), active_states=dict(start.active_states)
        )
        return FamilyFit(learned, never[1:])

    def _start(self, task: FamilyTask) -> NoisyOr:
        """The given start, or one that also finds the active states, and refuses what has none."""
        if isinstance(task.start, NoisyOr):
            by_name = dict(zip(task.start.parent_names, task.start.activation.tolist(), strict=True))
            bound = task.start.bind(task.families.variables)
            return NoisyOr(task.child, task.parents, by_name, task.start.leak, active_states=dict(bound.active_states))
        return NoisyOr(task.child, task.parents, [0.0] * len(task.parents), 0.0)


def _weights(chances: Floats) -> Floats:
    """-log(1 - λ), at most what counts as sure."""
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log1p(-chances), _SURE)


def _cost(w: Floats, causes: Floats, is_on: Flags, weights: Floats) -> tuple[float, Floats]:
    """The negative log-likelihood and its gradient."""
    total = np.maximum(causes @ w, _FAINT)
    cost = np.where(is_on, -np.log(-np.expm1(-total)), total)
    slope = np.where(is_on, -1.0 / np.expm1(total), 1.0)
    return float(weights @ cost), causes.T @ (weights * slope)
