"""Estimates by the front door, and by an instrument (two-stage least squares)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Remedy
from plausible.causal.adjustment.mediators import check_front_door, front_door_set
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.adjustment.sets import check_instrument, instruments
from plausible.causal.estimation.adjusted import linear_fit
from plausible.causal.estimation.covariates import BY_FORMULA, observed_nodes
from plausible.causal.estimation.estimate import Means, PreparedEstimate
from plausible.causal.estimation.rows import (
    EffectRows,
    EffectTask,
    PositivityReport,
    design_of,
    effect_rows,
    refuse_unusable,
    thin_cells,
    totals,
)
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation
from plausible.graphs.causal_graph import read_causes


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """E[Y | do(x)] = Σ_m P(m | x) Σ_x' E[Y | x', m] P(x').

    Where treatment or mediators are continuous, in linear models: the slopes of the mediators on the treatment times
    those of the outcome on the mediators, with the treatment held. See Pearl (1995), Causal diagrams for empirical
    research, Biometrika 82.

    Parameters
    ----------
    mediators
        M; chosen by the graph where left out.
    """

    mediators: str | Iterable[str] | None = None

    name: ClassVar[str] = "front-door"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        mediators = self._chosen(task, graph)
        rows = effect_rows(task, mediators)
        if task.treatment.is_continuous or not rows.is_discrete:
            return _linear(task, rows, mediators)
        _check_cells(task, rows)
        codes = task.level_codes

        def estimate(weights: Floats) -> Means:
            counts, sums = _tables(rows, weights)
            of_treatment = counts.sum(axis=1)
            means = sums / np.where(counts > 0, counts, 1.0)
            # A cell without cases in a resample: its treatment x' counts in no stratum, so that all average over one.
            used = counts[list(codes)].any(axis=0)
            shared = of_treatment * (counts[:, used] > 0).all(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                outcome = shared @ means / shared.sum()
                return Means.of([float(counts[code] @ outcome / of_treatment[code]) for code in codes])

        thin = [cell for code in np.unique(rows.treatment) for cell in thin_cells(task, rows, int(code))]
        return PreparedEstimate(rows.weights, estimate, mediators, PositivityReport.of(thin))

    def _chosen(self, task: EffectTask, graph: AdjustableGraph) -> tuple[str, ...]:
        causes = read_causes(graph)
        outcome, treatment = task.outcome.name, task.treatment.name
        if self.mediators is None:
            found = front_door_set(causes, outcome, treatment, allowed=observed_nodes(task, causes))
            if found is None:
                raise InvalidArgument(
                    f"No columns of the data are a front-door set for the effect of {treatment!r} on {outcome!r}.",
                    remedies=[Remedy("try adjustment or an instrument"), BY_FORMULA],
                )
            return task.ordered(found)
        names = task.named(self.mediators)
        check_front_door(causes, outcome, treatment, names).require()
        return names


def _tables(rows: EffectRows, weights: Floats) -> tuple[Floats, Floats]:
    """How much each (treatment, stratum of mediators) weighs, and the sum of its outcomes."""
    treatment = rows.treatment.astype(np.int64)
    shape = (int(treatment.max()) + 1, rows.num_cells)
    place = treatment * rows.num_cells + rows.cell
    size = shape[0] * shape[1]
    return totals(place, weights, size).reshape(shape), totals(place, weights * rows.outcome, size).reshape(shape)


def _check_cells(task: EffectTask, rows: EffectRows) -> None:
    counts, _ = _tables(rows, rows.weights)
    for level, code in zip(task.levels, task.level_codes, strict=True):
        if code >= len(counts) or not counts[code].any():
            raise InvalidArgument(f"No row has {task.treatment.name}={level!r}: the data do not tell what it does.")
    occurring = np.flatnonzero(counts.any(axis=1))
    used = counts[list(task.level_codes)].any(axis=0)
    for code in occurring.tolist():
        for cell in np.flatnonzero(used & (counts[code] == 0)).tolist():
            states = rows.stratum(cell)
            place = ", ".join(f"{name}={state!r}" for name, state in states.items())
            state = task.treatment.states[code]
            raise PositivityViolation(
                f"No case with {place} has {task.treatment.name}={state!r}, so the data do not tell what the "
                "mediators do there. Merge states, or take other mediators.",
                [{**states, task.treatment.name: state}],
            )


def _linear(task: EffectTask, rows: EffectRows, mediators: tuple[str, ...]) -> PreparedEstimate:
    discrete = [name for name in mediators if not task.table.variables[name].is_continuous]
    if any(task.table.variables[name].num_states > 2 for name in discrete) or (
        not task.treatment.is_continuous and task.treatment.num_states > 2
    ):
        raise InvalidArgument(
            "With continuous and discrete variables the front door is linear: discrete ones can have two states only."
        )
    ones, others = rows.design[:, :1], rows.design[:, 1:]
    levels = task.level_numbers

    def estimate(weights: Floats) -> Means:
        causes = np.column_stack([ones, rows.treatment])
        moves = np.array([linear_fit(causes, column, weights)[1] for column in others.T])
        effects = linear_fit(np.column_stack([causes, others]), rows.outcome, weights)[2:]
        slope, total = float(moves @ effects), weights.sum()
        middle = float(weights @ rows.outcome / total) - slope * float(weights @ rows.treatment / total)
        return Means.of(middle + slope * levels)

    through = ", ".join(mediators)
    assumption = f"{through} are linear in {task.treatment.name}, and {task.outcome.name} in both, without products"
    return PreparedEstimate(rows.weights, estimate, mediators, assumption=assumption if mediators else "")


@dataclass(frozen=True, slots=True)
class InstrumentalVariable:
    """The effect of one unit of the treatment: the outcome on the treatment as the instrument predicts it.

    With a binary instrument and no conditions it is Wald's (E[Y | z'] - E[Y | z]) / (E[X | z'] - E[X | z]). It is the
    effect where it is the same for all cases (linear models); for a binary treatment that no case takes against the
    instrument, it is that of the compliers. See Wald (1940), The fitting of straight lines if both variables are
    subject to error, Annals of Mathematical Statistics 11; Imbens & Angrist (1994), Identification and estimation of
    local average treatment effects, Econometrica 62.

    Parameters
    ----------
    instrument
        Z; chosen by the graph where left out, one without conditions first.
    given
        W, the set that it is an instrument given; looked for where `instrument` is left out.
    """

    instrument: str | None = None
    given: str | Iterable[str] = ()

    name: ClassVar[str] = "instrument"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        if not task.treatment.is_continuous and task.treatment.num_states > 2:
            raise NotSupported(f"An instrument needs a treatment with two states or numbers, not {task.treatment!r}.")
        instrument, given = self._chosen(task, graph)
        refuse_unusable(task.table, (task.outcome.name, task.treatment.name, instrument, *given))
        weights = task.table.row_weights
        y, x = task.numbers(task.outcome.name), task.numbers(task.treatment.name)
        covariates = _design(task, given, weights)
        first = np.column_stack([covariates, _design(task, (instrument,), weights)[:, 1:]])
        strength = _strength(x, covariates, first, weights)
        if not strength > 1e-9:
            raise InvalidArgument(f"{instrument!r} does not move {task.treatment.name!r} in these data: no instrument.")
        low, high = task.level_numbers.tolist()

        def estimate(resampled: Floats) -> Means:
            predicted = first @ linear_fit(first, x, resampled)
            slope = linear_fit(np.column_stack([predicted, covariates]), y, resampled)[0]
            return Means(float("nan"), float("nan"), float(slope * (high - low)))

        # White's robust standard error of the slope.
        predicted = first @ linear_fit(first, x, weights)
        slopes = linear_fit(np.column_stack([predicted, covariates]), y, weights)
        residual = y - slopes[0] * x - covariates @ slopes[1:]
        apart = predicted - covariates @ linear_fit(covariates, predicted, weights)
        error = float(np.sqrt(weights @ (apart * residual) ** 2) / (weights @ apart**2)) * abs(high - low)
        assumption = f"the effect of {task.treatment.name} is linear and the same for all cases"
        return PreparedEstimate(weights, estimate, (instrument, *given), None, error, strength, assumption)

    def _chosen(self, task: EffectTask, graph: AdjustableGraph) -> tuple[str, tuple[str, ...]]:
        causes = read_causes(graph)
        outcome, treatment = task.outcome.name, task.treatment.name
        if self.instrument is None:
            found = instruments(causes, outcome, treatment, allowed=observed_nodes(task, causes))
            if not found:
                raise InvalidArgument(
                    f"No column of the data is an instrument for the effect of {treatment!r} on {outcome!r}, with or "
                    "without conditions."
                )
            best = min(found, key=lambda each: len(each.given))
            return str(best.node), task.ordered(best.given)
        (instrument,), given = task.named(self.instrument), task.named(self.given)
        check_instrument(causes, outcome, treatment, instrument, given).require()
        return instrument, given


def _design(task: EffectTask, names: tuple[str, ...], weights: Floats) -> Floats:
    variables = [task.table.variables[name] for name in names]
    columns = np.array([task.numbers(name) for name in names]).reshape(len(names), task.table.num_rows)
    return design_of(columns, variables, weights)


def _strength(x: Floats, covariates: Floats, first: Floats, weights: Floats) -> float:
    """The F statistic of the instrument in the regression of the treatment on it and the covariates."""
    without = float(weights @ (x - covariates @ linear_fit(covariates, x, weights)) ** 2)
    within = float(weights @ (x - first @ linear_fit(first, x, weights)) ** 2)
    num_added = int(np.linalg.matrix_rank(first) - np.linalg.matrix_rank(covariates))
    left = weights.sum() - np.linalg.matrix_rank(first)
    if num_added == 0 or without - within <= 1e-12 * without:
        return 0.0
    return float("inf") if within <= 1e-12 * without else (without - within) / num_added / (within / max(left, 1.0))
