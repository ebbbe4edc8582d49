"""Estimates of whatever is identified: the estimand evaluated on the observed frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.covariates import observed_nodes
from plausible.causal.estimation.method import Means, PreparedEstimate
from plausible.causal.estimation.positivity import FEW_CASES, PositivityReport, ThinCell
from plausible.causal.estimation.rows import EffectTask, refuse_unusable, totals
from plausible.causal.expressions.tree import Probability
from plausible.causal.expressions.visiting import distinct_parts
from plausible.causal.identification.algorithm import identify
from plausible.causal.identification.estimand import Estimand
from plausible.errors import NotSupported, PositivityViolation, TooLarge
from plausible.factors import Factor
from plausible.graphs.causal_graph import read_causes

__all__ = ["Identified"]


#: More joint states of the variables of an estimand are not tabulated.
_MAX_STATES = 2**20


@dataclass(frozen=True, slots=True)
class Identified:
    """The estimand that the complete identification algorithm finds, with frequencies for its probabilities.

    All variables in it must be discrete. It needs neither a set to adjust for nor a front door.

    References
    ----------
    Shpitser & Pearl (2006), Identification of joint interventional distributions in recursive semi-Markovian causal
    models, AAAI.
    """

    @property
    def name(self) -> str:
        """What the method is called."""
        return "identified"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Identify the effect among the columns there are, and count their joint states."""
        causes = read_causes(graph)
        names = (task.outcome.name, task.treatment.name)
        observed = [*observed_nodes(task, causes), *names]
        estimand = identify(causes, outcome=names[0], treatment=names[1], observed=observed)
        used = [name for name in task.table.variables if name in {*estimand.variables, *names}]
        weights, states = _joint_states(task, used)
        variables = [task.table.variables[name] for name in used]
        shape = tuple(variable.num_states for variable in variables)

        def joint(resampled: Floats) -> Factor:
            counts = totals(states, resampled, math.prod(shape)).reshape(shape)
            return Factor(variables, counts / counts.sum())

        def estimate(resampled: Floats) -> Means:
            try:
                return _means(task, estimand, joint(resampled))
            except PositivityViolation:  # in a resample, what the estimand conditions on can be missing
                return Means(math.nan, math.nan, math.nan)

        _means(task, estimand, joint(weights))
        thin = _thin_cells(task, estimand, totals(states, weights, math.prod(shape)).reshape(shape), used)
        others = tuple(name for name in used if name not in names)
        return PreparedEstimate(weights, estimate, others, PositivityReport.of(thin))


def _means(task: EffectTask, estimand: Estimand, joint: Factor) -> Means:
    assert task.scores is not None
    treatment = task.treatment.name
    return Means.of(
        [float(estimand.evaluate(joint, do={treatment: level}).values @ task.scores) for level in task.levels]
    )


def _thin_cells(task: EffectTask, estimand: Estimand, counts: Floats, names: list[str]) -> Iterator[ThinCell]:
    """What the estimand conditions on and few cases have; what no case has does not matter, or was refused."""
    parts = distinct_parts(estimand.expression, lambda part: part.parts)
    conditions = (part.given for part in parts if isinstance(part, Probability) and part.given)
    for given in dict.fromkeys(frozenset(symbol.variable for symbol in symbols) for symbols in conditions):
        kept = [task.table.variables[name] for name in names if name in given]
        table = counts.sum(axis=tuple(place for place, name in enumerate(names) if name not in given))
        for place in np.argwhere((table > 0) & (table < FEW_CASES)).tolist():
            states = {variable.name: variable.states[i] for variable, i in zip(kept, place, strict=True)}
            number = float(table[tuple(place)])
            yield ThinCell(None, MappingProxyType(states), number, number / float(counts.sum()))


def _joint_states(task: EffectTask, names: list[str]) -> tuple[Floats, Ints]:
    """The different joint states of some columns: how much each weighs, and its place in their joint table."""
    table = task.table
    refuse_unusable(table, names)
    for name in names:
        if table.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: this estimand needs states. Discretize it.")
    shape = tuple(table.variables[name].num_states for name in names)
    if math.prod(shape) > _MAX_STATES:
        raise TooLarge(
            f"The estimand is about {len(names)} columns with {math.prod(shape):,} joint states; merge some."
        )
    columns = tuple(np.asarray(table.column(name), dtype=np.int64) for name in names)
    places, row_of = np.unique(np.ravel_multi_index(columns, shape), return_inverse=True)
    weights = table.row_weights
    return totals(row_of.reshape(-1), weights, len(places)), places.astype(np.int64)
