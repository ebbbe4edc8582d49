"""Weighted regressions, and the models of outcome and treatment that adjusted estimates are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.estimation.rows import EffectRows, EffectTask, totals
from plausible.errors import InvalidArgument, PositivityViolation
from plausible.variables import State

__all__ = [
    "Nuisances",
    "check_levels",
    "comparable",
    "linear_fit",
    "logistic_fit",
    "logistic_mean",
    "outcome_means",
    "propensities",
]

#: Precision of the Normal prior of each slope, per unit of weight: it only settles what the data leave open.
_RIDGE = 1e-8
_MAX_STEPS = 50


def linear_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """The coefficients that minimise Σ w (y - xᵀβ)², of these the shortest.

    >>> linear_fit(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3)).round(6)
    array([1., 2.])
    """
    root = np.sqrt(weights)
    return np.asarray(np.linalg.lstsq(design * root[:, None], response * root, rcond=None)[0])


def logistic_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """The coefficients that maximise Σ w (y log σ(η) + (1 - y) log σ(-η)), η = xᵀβ, by Newton's method.

    A slight ridge keeps them finite where the data are separable; steps that would lower the objective are halved.

    >>> design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> slopes = logistic_fit(design, np.array([0.0, 1.0, 0.0, 1.0]), np.array([3.0, 1.0, 1.0, 1.0]))
    >>> logistic_mean(design, slopes).round(4)
    array([0.25, 0.25, 0.5 , 0.5 ])
    """
    ridge = _RIDGE * max(weights.sum(), 1.0)
    slopes = np.zeros(design.shape[1])
    value = _objective(design, response, weights, slopes, ridge)
    for _ in range(_MAX_STEPS):
        mean = logistic_mean(design, slopes)
        gradient = design.T @ (weights * (response - mean)) - ridge * slopes
        curvature = (design * (weights * mean * (1 - mean))[:, None]).T @ design + ridge * np.eye(len(slopes))
        step = np.linalg.solve(curvature, gradient)
        for _ in range(30):
            tried = _objective(design, response, weights, slopes + step, ridge)
            if tried >= value:
                break
            step = step / 2
        slopes, gain, value = slopes + step, tried - value, tried
        if gain <= 1e-12 * (abs(value) + 1):
            break
    return slopes


def logistic_mean(design: Floats, slopes: Floats) -> Floats:
    """σ(xᵀβ) for each row."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (design @ slopes))))


def _objective(design: Floats, response: Floats, weights: Floats, slopes: Floats, ridge: float) -> float:
    odds = design @ slopes
    return float(weights @ (response * odds - np.logaddexp(0.0, odds)) - 0.5 * ridge * slopes @ slopes)


@dataclass(frozen=True, slots=True)
class Nuisances:
    """Which models are fitted."""

    codes: tuple[int, int]  # The positions of the two levels.
    is_saturated: bool  # Whether each stratum has numbers of its own.
    is_binary: bool  # Whether the outcome is zero or one, so that its regression is logistic.
    is_complete: bool  # Whether the two levels are all there are, so that their propensities sum to one.

    @classmethod
    def of(cls, rows: EffectRows, codes: tuple[int, int], *, is_saturated: bool) -> Nuisances:
        """Those that fit the rows."""
        is_binary = bool(np.isin(rows.outcome, (0.0, 1.0)).all())
        return cls(codes, is_saturated, is_binary, bool(np.isin(rows.treatment, codes).all()))


def comparable(rows: EffectRows, nuisances: Nuisances, weights: Floats) -> Floats:
    """The weights without those strata that lack one of the levels, in a model that has a number for each stratum.

    In a resample a stratum can lose its cases of a level. Averaged over different strata, the two levels would differ
    by what the strata do, and not by what the treatment does.
    """
    if not nuisances.is_saturated:
        return weights
    has_all = np.ones(rows.num_cells, dtype=bool)
    for code in nuisances.codes:
        has_all &= totals(rows.cell, weights * (rows.treatment == code), rows.num_cells) > 0
    return weights * has_all[rows.cell]


def outcome_means(rows: EffectRows, nuisances: Nuisances, weights: Floats) -> list[Floats]:
    """For each level the modelled E[Y | level, covariates] of every row; NaN in strata without cases of it."""
    return [_outcome_mean(rows, nuisances, weights * (rows.treatment == code)) for code in nuisances.codes]


def _outcome_mean(rows: EffectRows, nuisances: Nuisances, weights: Floats) -> Floats:
    if nuisances.is_saturated:
        counts = totals(rows.cell, weights, rows.num_cells)
        sums = totals(rows.cell, weights * rows.outcome, rows.num_cells)
        return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)[rows.cell]
    if not weights.any():
        return np.full(len(weights), np.nan)
    if nuisances.is_binary:
        return logistic_mean(rows.design, logistic_fit(rows.design, rows.outcome, weights))
    return np.asarray(rows.design @ linear_fit(rows.design, rows.outcome, weights))


def propensities(rows: EffectRows, nuisances: Nuisances, weights: Floats) -> list[Floats]:
    """For each level the modelled P(level | covariates) of every row."""
    low, high = nuisances.codes
    first = _propensity(rows, nuisances, low, weights)
    return [first, 1.0 - first if nuisances.is_complete else _propensity(rows, nuisances, high, weights)]


def _propensity(rows: EffectRows, nuisances: Nuisances, code: int, weights: Floats) -> Floats:
    treated = (rows.treatment == code).astype(np.float64)
    if nuisances.is_saturated:
        counts = totals(rows.cell, weights, rows.num_cells)
        here = totals(rows.cell, weights * treated, rows.num_cells)
        return (here / np.where(counts > 0, counts, 1.0))[rows.cell]
    return logistic_mean(rows.design, logistic_fit(rows.design, treated, weights))


def check_levels(task: EffectTask, rows: EffectRows, nuisances: Nuisances) -> None:
    """Refuse levels without cases: at all, or, in a saturated model, in some stratum."""
    for level, code in zip(task.levels, nuisances.codes, strict=True):
        treated = rows.treatment == code
        if not treated.any():
            raise InvalidArgument(f"No row has {task.treatment.name}={level!r}: the data do not tell what it does.")
        if nuisances.is_saturated:
            counts = totals(rows.cell, treated.astype(np.float64), rows.num_cells)
            if not counts.all():
                _refuse_stratum(task, rows, level, int(np.argmin(counts)), int((counts == 0).sum()))


def _refuse_stratum(task: EffectTask, rows: EffectRows, level: State, cell: int, number: int) -> None:
    states = rows.stratum(cell)
    place = ", ".join(f"{name}={state!r}" for name, state in states.items())
    raise PositivityViolation(
        f"No case with {place} has {task.treatment.name}={level!r} ({number} of {rows.num_cells} strata lack this "
        "level), so the data do not tell what it does there.",
        [{**states, task.treatment.name: level}],
        remedies=[
            Remedy("merge states"),
            Remedy("adjust for another set"),
            Remedy(
                "let a model fill in: ",
                Argument("method", Call("DoublyRobust", Argument("model", "regression"))),
            ),
        ],
    )
