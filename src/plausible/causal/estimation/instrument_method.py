"""Estimates by an instrument: two-stage least squares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.adjustment.instruments import check_instrument, instruments
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.covariates import observed_nodes
from plausible.causal.estimation.estimate import Means, PreparedEstimate
from plausible.causal.estimation.regressions import linear_fit
from plausible.causal.estimation.rows import EffectTask, design_of, refuse_unusable
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs.causal_graph import read_causes


@dataclass(frozen=True, slots=True)
class InstrumentalVariable:
    """The effect of one unit of the treatment: the outcome on the treatment as the instrument predicts it.

    With a binary instrument and no conditions it is Wald's (E[Y | z'] - E[Y | z]) / (E[X | z'] - E[X | z]). It is the
    effect where it is the same for all cases (linear models); for a binary treatment that no case takes against the
    instrument, it is that of the compliers.

    Parameters
    ----------
    instrument
        Z; chosen by the graph where left out, one without conditions first.
    given
        W, the set that it is an instrument given; looked for where `instrument` is left out.

    References
    ----------
    Wald (1940), The fitting of straight lines if both variables are subject to error, Annals of Mathematical
    Statistics 11; Imbens & Angrist (1994), Identification and estimation of local average treatment effects,
    Econometrica 62.
    """

    instrument: str | None = None
    given: str | Iterable[str] = ()

    name: ClassVar[str] = "instrument"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        if not task.treatment.is_continuous and task.treatment.num_states > 2:
            raise NotSupported(f"An instrument needs a treatment with two states or numbers, not {task.treatment!r}.")
        instrument, given = self._chosen(task, graph)
        table = task.table
        names = (task.outcome.name, task.treatment.name, instrument, *given)
        refuse_unusable(table, names)
        weights = table.row_weights
        y, x = task.numbers(task.outcome.name), task.numbers(task.treatment.name)
        covariates = _design(task, given, weights)
        moving = _design(task, (instrument,), weights)[:, 1:]
        first = np.column_stack([covariates, moving])
        strength = _strength(x, covariates, first, weights)
        if not strength > 1e-9:
            raise InvalidArgument(f"{instrument!r} does not move {task.treatment.name!r} in these data: no instrument.")
        low, high = task.level_numbers.tolist()

        def estimate(resampled: Floats) -> Means:
            predicted = first @ linear_fit(first, x, resampled)
            slope = linear_fit(np.column_stack([predicted, covariates]), y, resampled)[0]
            return Means(float("nan"), float("nan"), float(slope * (high - low)))

        error = _standard_error((y, x), covariates, first, weights) * abs(high - low)
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


def _standard_error(variables: tuple[Floats, Floats], covariates: Floats, first: Floats, weights: Floats) -> float:
    """White's robust standard error of the slope."""
    y, x = variables
    predicted = first @ linear_fit(first, x, weights)
    slopes = linear_fit(np.column_stack([predicted, covariates]), y, weights)
    residual = y - slopes[0] * x - covariates @ slopes[1:]
    apart = predicted - covariates @ linear_fit(covariates, predicted, weights)
    return float(np.sqrt(weights @ (apart * residual) ** 2) / (weights @ apart**2))
