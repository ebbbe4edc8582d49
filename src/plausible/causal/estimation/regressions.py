"""Weighted regressions, and the models of outcome and treatment that adjusted estimates are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.estimation.rows import EffectRows, EffectTask, totals
from plausible.errors import InvalidArgument, PositivityViolation
from plausible.variables import State

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


@dataclass(frozen=True, slots=True, eq=False)
class Nuisances:
    """Models of the outcome and of the treatment given covariates, to be fitted to weighted rows."""

    rows: EffectRows
    codes: tuple[int, int]  # The positions of the two levels.
    is_saturated: bool  # Whether each stratum has numbers of its own.
    is_binary: bool  # Whether the outcome is zero or one, so that its regression is logistic.
    is_complete: bool  # Whether the two levels are all there are, so that their propensities sum to one.

    @classmethod
    def of(cls, rows: EffectRows, codes: tuple[int, int], *, is_saturated: bool) -> Nuisances:
        """Those that fit the rows."""
        is_binary = bool(np.isin(rows.outcome, (0.0, 1.0)).all())
        return cls(rows, codes, is_saturated, is_binary, bool(np.isin(rows.treatment, codes).all()))

    def comparable(self, weights: Floats) -> Floats:
        """The weights without those strata that lack one of the levels, in a model that has a number for each stratum.

        In a resample a stratum can lose its cases of a level. Averaged over different strata, the two levels would
        differ by what the strata do, and not by what the treatment does.
        """
        if not self.is_saturated:
            return weights
        has_all = np.ones(self.rows.num_cells, dtype=bool)
        for code in self.codes:
            has_all &= self._in_cells(weights * (self.rows.treatment == code)) > 0
        return weights * has_all[self.rows.cell]

    def outcome_means(self, weights: Floats) -> list[Floats]:
        """For each level the modelled E[Y | level, covariates] of every row; NaN in strata without cases of it."""
        return [self._outcome_mean(weights * (self.rows.treatment == code)) for code in self.codes]

    def _outcome_mean(self, weights: Floats) -> Floats:
        design, outcome = self.rows.design, self.rows.outcome
        if self.is_saturated:
            counts, sums = self._in_cells(weights), self._in_cells(weights * outcome)
            return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)[self.rows.cell]
        if not weights.any():
            return np.full(len(weights), np.nan)
        if self.is_binary:
            return logistic_mean(design, logistic_fit(design, outcome, weights))
        return np.asarray(design @ linear_fit(design, outcome, weights))

    def propensities(self, weights: Floats) -> list[Floats]:
        """For each level the modelled P(level | covariates) of every row."""
        low, high = self.codes
        first = self._propensity(low, weights)
        return [first, 1.0 - first if self.is_complete else self._propensity(high, weights)]

    def _propensity(self, code: int, weights: Floats) -> Floats:
        treated = (self.rows.treatment == code).astype(np.float64)
        if self.is_saturated:
            counts, here = self._in_cells(weights), self._in_cells(weights * treated)
            return (here / np.where(counts > 0, counts, 1.0))[self.rows.cell]
        return logistic_mean(self.rows.design, logistic_fit(self.rows.design, treated, weights))

    def _in_cells(self, values: Floats) -> Floats:
        return totals(self.rows.cell, values, self.rows.num_cells)

    def check_levels(self, task: EffectTask) -> None:
        """Refuse levels without cases: at all, or, in a saturated model, in some stratum."""
        for level, code in zip(task.levels, self.codes, strict=True):
            treated = self.rows.treatment == code
            if not treated.any():
                raise InvalidArgument(f"No row has {task.treatment.name}={level!r}: the data do not tell what it does.")
            if self.is_saturated:
                counts = self._in_cells(treated.astype(np.float64))
                if not counts.all():
                    _refuse_stratum(task, self.rows, level, int(np.argmin(counts)), int((counts == 0).sum()))


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
