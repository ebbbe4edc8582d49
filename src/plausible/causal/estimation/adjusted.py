"""Estimates by adjustment: standardisation, inverse probability weighting, both together, and their regressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from plausible.base import Argument, Call, Floats, Remedy
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.estimate import Means, PreparedEstimate, choose_covariates
from plausible.causal.estimation.rows import (
    EffectRows,
    EffectTask,
    effect_rows,
    positivity_report,
    totals,
)
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation

#: Precision of the Normal prior of each slope, per unit of weight: it only settles what the data leave open.
_RIDGE = 1e-8
_MAX_STEPS = 50


def linear_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """The coefficients that minimise Σ w (y - xᵀβ)², of these the shortest."""
    root = np.sqrt(weights)
    return np.asarray(np.linalg.lstsq(design * root[:, None], response * root, rcond=None)[0])


def logistic_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """Slopes of the largest Σ w (y log σ(η) + (1 - y) log σ(-η)), η = xᵀβ, with a slight ridge, by Newton's method."""
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
        means, design, outcome = [], self.rows.design, self.rows.outcome
        for code in self.codes:
            here = weights * (self.rows.treatment == code)
            if self.is_saturated:
                counts, sums = self._in_cells(here), self._in_cells(here * outcome)
                mean = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)[self.rows.cell]
            elif not here.any():
                mean = np.full(len(here), np.nan)
            elif self.is_binary:
                mean = logistic_mean(design, logistic_fit(design, outcome, here))
            else:
                mean = np.asarray(design @ linear_fit(design, outcome, here))
            means.append(mean)
        return means

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
            counts = self._in_cells(treated.astype(np.float64))
            if not self.is_saturated or counts.all():
                continue
            states = self.rows.stratum(int(np.argmin(counts)))
            place = ", ".join(f"{name}={state!r}" for name, state in states.items())
            model = Call("DoublyRobust", Argument("model", "regression"))
            raise PositivityViolation(
                f"No case with {place} has {task.treatment.name}={level!r} ({int((counts == 0).sum())} of "
                f"{self.rows.num_cells} strata lack this level), so the data do not tell what it does there.",
                [{**states, task.treatment.name: level}],
                remedies=[
                    *(Remedy("merge states"), Remedy("adjust for another set")),
                    Remedy("let a model fill in: ", Argument("method", model)),
                ],
            )


#: "saturated": a free number for each stratum, which needs discrete covariates; "regression": linear, or logistic for
#: what is zero or one.
Model: TypeAlias = Literal["saturated", "regression"]


@dataclass(frozen=True, slots=True)
class _Adjusted(ABC):
    """What the methods share: how covariates are chosen, rows read and positivity reported."""

    adjustment: str | Iterable[str] | None = None
    model: Model | None = None

    #: Whether cases count by one over the chance of what they got.
    _divides_by_chances: ClassVar[bool] = True

    name: ClassVar[str]

    @abstractmethod
    def _means(self, models: Nuisances, weights: Floats) -> Means:
        """The mean outcome at each level, with the rows weighted."""

    def _error(self, models: Nuisances) -> float | None:
        """The standard error of the difference, where a formula gives it."""
        return None

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        covariates = choose_covariates(task, graph, self.adjustment)
        # Which models to fit to the rows; refuses levels that lack cases.
        if task.treatment.is_continuous:
            raise NotSupported(
                f"The treatment {task.treatment.name!r} is continuous, and no case has exactly a given level.",
                remedies=[Remedy("use ", Argument("method", Call("Standardization"))), Remedy("discretize it")],
            )
        if self.model not in (None, "saturated", "regression"):
            raise InvalidArgument(f"model= is 'saturated' or 'regression', not {self.model!r}.")
        rows = effect_rows(task, covariates)
        if self.model == "saturated" and not rows.is_discrete:
            raise InvalidArgument(
                "A saturated model needs discrete covariates.",
                remedies=[Remedy("discretize them"), Remedy("take ", Argument("model", "regression"))],
            )
        is_saturated = self.model == "saturated" or (self.model is None and rows.is_discrete)
        models = Nuisances.of(rows, task.level_codes, is_saturated=is_saturated)
        models.check_levels(task)
        weights = models.rows.weights
        report = positivity_report(task, models.rows, models.propensities(weights))
        if self._divides_by_chances and not models.is_saturated and not report.has_overlap:
            levels = " and ".join(f"{task.treatment.name}={level!r}" for level in task.levels)
            trusted = "if you trust a model of the outcome far from the cases that it was fitted to, take "
            regression = Argument("method", Call("Standardization", Argument("model", "regression")))
            cases, other = Remedy("take cases that could have had both"), Remedy("adjust for another set")
            raise PositivityViolation(
                f"Only {report.comparable:.2%} of all cases had, by {', '.join(covariates)}, a chance of both {levels},"
                " so the data do not compare them.",
                remedies=[cases, other, Remedy(trusted, regression)],
            )
        return PreparedEstimate(
            weights,
            lambda resampled: self._means(models, models.comparable(resampled)),
            covariates,
            report,
            self._error(models),
        )


@dataclass(frozen=True, slots=True)
class Standardization(_Adjusted):
    """E[Y | do(x)] = Σ_w E[Y | x, w] P(w): the outcome is predicted for each case as if treated, and averaged.

    Also called the g-formula. For a continuous treatment the prediction is a linear regression on the treatment, the
    covariates and their products with the treatment, so that the slope may differ from case to case.

    Parameters
    ----------
    adjustment
        What to adjust for; chosen by the graph where left out.
    model
        "saturated" or "regression"; the first where all covariates are discrete, if left out.
    """

    _divides_by_chances: ClassVar[bool] = False

    name: ClassVar[str] = "standardization"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        if not task.treatment.is_continuous:
            return _Adjusted.prepare(self, task, graph)
        # The effect of a continuous treatment is its slope, linear in the covariates, averaged over the cases.
        covariates = choose_covariates(task, graph, self.adjustment)
        rows = effect_rows(task, covariates)
        levels = np.array(task.levels, dtype=np.float64)

        def estimate(weights: Floats) -> Means:
            # Without centring, the products would be all but collinear with the treatment.
            centred = rows.design - weights @ rows.design / weights.sum()
            centred[:, 0] = 1.0
            coefficients = linear_fit(np.hstack([centred, centred * rows.treatment[:, None]]), rows.outcome, weights)
            height, slope = coefficients[0], coefficients[centred.shape[1]]
            return Means.of(height + slope * levels)

        name = task.treatment.name
        products = f", {', '.join(covariates)} and their products with {name}" if covariates else ""
        assumption = f"{task.outcome.name} is linear in {name}{products}"
        return PreparedEstimate(rows.weights, estimate, covariates, assumption=assumption)

    def _means(self, models: Nuisances, weights: Floats) -> Means:
        return Means.of([_mean(weights, mean) for mean in models.outcome_means(weights)])


@dataclass(frozen=True, slots=True)
class Weighting(_Adjusted):
    """E[Y | do(x)] = E[1(X = x) Y / P(x | W)]: treated cases count for those like them that were not.

    The weights are divided by their sum (Hájek). Parameters are those of `Standardization`; `model` is that of
    P(x | w).
    """

    name: ClassVar[str] = "weighting"

    def _means(self, models: Nuisances, weights: Floats) -> Means:
        rows, pairs = models.rows, zip(models.codes, models.propensities(weights), strict=True)
        return Means.of([_mean(weights * _inverse(rows, code, chance), rows.outcome) for code, chance in pairs])


@dataclass(frozen=True, slots=True)
class DoublyRobust(_Adjusted):
    """E[Y | do(x)] = E[m_x(W) + 1(X = x) (Y - m_x(W)) / e_x(W)]: right if one of the two models is.

    m_x(w) models E[Y | x, w] and e_x(w) P(x | w); also called augmented inverse probability weighting. With free
    numbers for each stratum it equals standardisation. The standard error follows from the influence function, so that
    no resampling is needed. Parameters are those of `Standardization`. See Robins, Rotnitzky & Zhao (1994), Estimation
    of regression coefficients when some regressors are not always observed, Journal of the American Statistical
    Association 89.
    """

    name: ClassVar[str] = "doubly-robust"

    def _means(self, models: Nuisances, weights: Floats) -> Means:
        return Means.of([_mean(weights, value) for value in _augmented(models, weights)])

    def _error(self, models: Nuisances) -> float:
        weights = models.rows.weights
        low, high = _augmented(models, weights)
        apart = high - low - _mean(weights, high - low)
        return float(np.sqrt(weights @ apart**2) / weights.sum())


def _augmented(models: Nuisances, weights: Floats) -> list[Floats]:
    """m_x + 1(X = x) (Y - m_x) / e_x of every case, for each level x."""
    rows, means, chances = models.rows, models.outcome_means(weights), models.propensities(weights)
    return [
        mean + _inverse(rows, code, chance) * (rows.outcome - mean)
        for code, mean, chance in zip(models.codes, means, chances, strict=True)
    ]


def _inverse(rows: EffectRows, code: int, chance: Floats) -> Floats:
    """1(X = x) / e_x, zero for the cases with other treatments, whatever their chance."""
    treated = rows.treatment == code
    return np.where(treated, 1.0 / np.where(treated, np.maximum(chance, 1e-12), 1.0), 0.0)


def _mean(weights: Floats, values: Floats) -> float:
    """The mean over the rows that weigh something; the others need have no value."""
    used = weights > 0
    total = weights[used].sum()
    return float(weights[used] @ values[used] / total) if total > 0 else float("nan")
