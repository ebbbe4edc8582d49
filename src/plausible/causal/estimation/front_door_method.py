"""Estimates by the front door: how the treatment moves the mediators, and how these move the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Remedy
from plausible.causal.adjustment.front_door import check_front_door, front_door_set
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.covariates import BY_FORMULA, observed_nodes
from plausible.causal.estimation.estimate import Means, PreparedEstimate
from plausible.causal.estimation.positivity import PositivityReport, thin_cells
from plausible.causal.estimation.regressions import linear_fit
from plausible.causal.estimation.rows import EffectRows, EffectTask, effect_rows, totals
from plausible.errors import InvalidArgument, PositivityViolation
from plausible.graphs.causal_graph import read_causes


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """E[Y | do(x)] = Σ_m P(m | x) Σ_x' E[Y | x', m] P(x').

    Where treatment or mediators are continuous, in linear models: the slopes of the mediators on the treatment times
    those of the outcome on the mediators, with the treatment held.

    Parameters
    ----------
    mediators
        M; chosen by the graph where left out.

    References
    ----------
    Pearl (1995), Causal diagrams for empirical research, Biometrika 82.
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
            return _from_counts(rows, codes, weights)

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


def _from_counts(rows: EffectRows, codes: tuple[int, int], weights: Floats) -> Means:
    counts, sums = _tables(rows, weights)
    of_treatment = counts.sum(axis=1)
    means = sums / np.where(counts > 0, counts, 1.0)
    # In a resample a cell can be empty: its treatment x' then counts in no stratum, so that all average over the same.
    used = counts[list(codes)].any(axis=0)
    shared = of_treatment * (counts[:, used] > 0).all(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        outcome = shared @ means / shared.sum()
        return Means.of([float(counts[code] @ outcome / of_treatment[code]) for code in codes])


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
