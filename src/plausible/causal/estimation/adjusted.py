"""Estimates by adjustment: standardisation, inverse probability weighting, and both together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.covariates import choose_covariates
from plausible.causal.estimation.estimate import Means, PreparedEstimate
from plausible.causal.estimation.positivity import PositivityReport, positivity_report
from plausible.causal.estimation.regressions import Nuisances, linear_fit
from plausible.causal.estimation.rows import EffectRows, EffectTask, effect_rows
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation

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
        models = _prepared(task, covariates, self.model)
        weights = models.rows.weights
        report = positivity_report(task, models.rows, models.propensities(weights))
        if self._divides_by_chances and not models.is_saturated and not report.has_overlap:
            _refuse_apart(task, covariates, report)
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
        """Read the columns, check the graph, and refuse what can't be estimated."""
        if task.treatment.is_continuous:
            return _linear(task, choose_covariates(task, graph, self.adjustment))
        return _Adjusted.prepare(self, task, graph)

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
    no resampling is needed. Parameters are those of `Standardization`.

    References
    ----------
    Robins, Rotnitzky & Zhao (1994), Estimation of regression coefficients when some regressors are not always observed,
    Journal of the American Statistical Association 89.
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


def _prepared(task: EffectTask, covariates: tuple[str, ...], model: Model | None) -> Nuisances:
    """Which models to fit to the rows; refuses levels that lack cases."""
    if task.treatment.is_continuous:
        raise NotSupported(
            f"The treatment {task.treatment.name!r} is continuous, and no case has exactly a given level.",
            remedies=[Remedy("use ", Argument("method", Call("Standardization"))), Remedy("discretize it")],
        )
    if model not in (None, "saturated", "regression"):
        raise InvalidArgument(f"model= is 'saturated' or 'regression', not {model!r}.")
    rows = effect_rows(task, covariates)
    if model == "saturated" and not rows.is_discrete:
        raise InvalidArgument(
            "A saturated model needs discrete covariates.",
            remedies=[Remedy("discretize them"), Remedy("take ", Argument("model", "regression"))],
        )
    is_saturated = model == "saturated" or (model is None and rows.is_discrete)
    models = Nuisances.of(rows, task.level_codes, is_saturated=is_saturated)
    models.check_levels(task)
    return models


def _refuse_apart(task: EffectTask, covariates: tuple[str, ...], report: PositivityReport) -> None:
    levels = " and ".join(f"{task.treatment.name}={level!r}" for level in task.levels)
    raise PositivityViolation(
        f"Only {report.comparable:.2%} of all cases had, by {', '.join(covariates)}, a chance of both {levels}, so the "
        "data do not compare them.",
        remedies=[
            Remedy("take cases that could have had both"),
            Remedy("adjust for another set"),
            Remedy(
                "if you trust a model of the outcome far from the cases that it was fitted to, take ",
                Argument("method", Call("Standardization", Argument("model", "regression"))),
            ),
        ],
    )


def _linear(task: EffectTask, covariates: tuple[str, ...]) -> PreparedEstimate:
    """The effect of a continuous treatment: its slope, linear in the covariates, averaged over the cases."""
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


def _inverse(rows: EffectRows, code: int, chance: Floats) -> Floats:
    """1(X = x) / e_x, zero for the cases with other treatments, whatever their chance."""
    treated = rows.treatment == code
    return np.where(treated, 1.0 / np.where(treated, np.maximum(chance, 1e-12), 1.0), 0.0)


def _mean(weights: Floats, values: Floats) -> float:
    """The mean over the rows that weigh something; the others need have no value."""
    used = weights > 0
    total = weights[used].sum()
    return float(weights[used] @ values[used] / total) if total > 0 else float("nan")
