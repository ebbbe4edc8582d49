"""Logistic and softmax distributions by regularised maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.cpds import LogisticCPD
from plausible.data.statistics import FamilyRows
from plausible.errors import InvalidArgument
from plausible.learn.estimation.families import FamilyFit, FamilyTask
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class LogisticLearner:
    """The logistic (two states) or softmax CPD that maximises Σ log P(y | x) - penalty/2 · ‖w‖².

    A discrete parent has a weight for each of its states, a continuous one a slope, which is penalised on the scale of
    its standard deviation; the intercept is penalised, too. So there is one maximum, whatever the data: L-BFGS finds
    it. The penalty is the precision of a Normal prior of each weight. Parents that never vary are flagged.
    Cost: O(different rows · weights) a step.

    Parameters
    ----------
    penalty
        Positive; the smaller, the closer to maximum likelihood.

    Examples
    --------
    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"dose": [0.5, 1.5, 2.5, 3.5], "cured": ["no", "no", "yes", "yes"]}
    >>> cpd = LogisticLearner(1.0).fit(FamilyTask(read_families("dose -> cured", rows), "cured")).cpd
    >>> cpd.weights["dose"].round(3)
    array([0.844])
    """

    penalty: float = 0.1

    def __post_init__(self) -> None:
        if not self.penalty > 0:
            raise InvalidArgument(f"The penalty of a logistic distribution is positive, not {self.penalty!r}.")

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a discrete variable given parents of both kinds."""
        from scipy.optimize import minimize

        if task.child.is_continuous:
            raise InvalidArgument(f"{task.name!r} is continuous: a logistic distribution is one of states.")
        rows, free = task.rows(), task.child.num_states - 1
        blocks = [_block(rows, parent) for parent in task.parents]
        design = np.column_stack([np.ones(len(rows.weights)), *(block for block, _, _ in blocks)])
        states = np.asarray(rows.columns[task.name], dtype=np.intp)
        found = minimize(
            _cost,
            np.zeros(design.shape[1] * free),
            args=(design, states, rows.weights, self.penalty),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9},
        ).x.reshape(design.shape[1], free)
        return FamilyFit(
            _cpd(task, found, blocks), np.array([not (b != b[:1]).any() for b, _, _ in blocks], dtype=np.bool_)
        )


def _block(rows: FamilyRows, parent: Variable) -> tuple[Floats, float, float]:
    """The columns of a parent, and the centre and the scale that its numbers were taken from and divided by."""
    column: NDArray[Any] = np.asarray(rows.columns[parent.name])
    if not parent.is_continuous:
        return (column[:, None] == np.arange(parent.num_states)) * 1.0, 0.0, 1.0
    total = rows.weights.sum()
    if not total:
        return column[:, None], 0.0, 1.0
    centre = float(rows.weights @ column / total)
    scale = float(np.sqrt(rows.weights @ (column - centre) ** 2 / total)) or 1.0
    return ((column - centre) / scale)[:, None], centre, scale


def _cost(flat: Floats, design: Floats, states: Positions, weights: Floats, penalty: float) -> tuple[float, Floats]:
    """The negative penalised log-likelihood and its gradient; the first state has log-odds zero."""
    w = flat.reshape(design.shape[1], -1)
    odds = np.column_stack([np.zeros(len(design)), design @ w])
    odds -= odds.max(axis=1, keepdims=True)
    chances = np.exp(odds)
    totals = chances.sum(axis=1, keepdims=True)
    chances /= totals
    each = np.arange(len(states))
    cost = weights @ (np.log(totals[:, 0]) - odds[each, states])
    chances[each, states] -= 1.0
    slopes = design.T @ (weights[:, None] * chances[:, 1:]) + penalty * w
    return float(cost + 0.5 * penalty * (w**2).sum()), slopes.ravel()


def _cpd(task: FamilyTask, found: Floats, blocks: list[tuple[Floats, float, float]]) -> LogisticCPD:
    """The CPD, its slopes on the scale of the data."""
    intercept, first = found[0].copy(), 1
    weights = []
    for (block, centre, scale), parent in zip(blocks, task.parents, strict=True):
        part = found[first : first + block.shape[1]] / scale
        first += block.shape[1]
        intercept -= centre * part[0] if parent.is_continuous else 0.0
        weights.append(part[0] if parent.is_continuous else part)
    if task.child.num_states == 2:
        shaped: list[Any] = [w.item() if w.ndim == 1 else w[:, 0] for w in weights]
        return LogisticCPD(task.child, task.parents, shaped, intercept.item())
    return LogisticCPD(task.child, task.parents, weights, intercept)
