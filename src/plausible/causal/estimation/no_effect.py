"""The effect of what is no cause: nothing has to be adjusted for, and nothing is left to estimate but one mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.method import Means, PreparedEstimate
from plausible.causal.estimation.rows import EffectTask, effect_rows
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.class_paths import possible_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import read_as
from plausible.graphs.meek import apply_meek_rules
from plausible.graphs.pdag import PDAG

__all__ = ["NoEffect", "may_cause"]


@dataclass(frozen=True, slots=True)
class NoEffect:
    """E[Y | do(x)] = E[Y] for every x: no path of the graph leads from the treatment to the outcome."""

    @property
    def name(self) -> str:
        """What the method is called."""
        return "no causal path, by the graph"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """The mean of the outcome, whatever the treatment."""
        rows = effect_rows(task, ())

        def estimate(weights: Floats) -> Means:
            mean = float(np.average(rows.outcome, weights=weights))
            return Means(mean, mean, 0.0)

        return PreparedEstimate(rows.weights, estimate, standard_error=0.0)


def may_cause(graph: AdjustableGraph, outcome: str, treatment: str) -> bool:
    """Whether the treatment causes the outcome in the graph, or in some member of the class that it stands for.

    >>> may_cause("X -> Y", "Y", "X"), may_cause("X -> Y", "X", "Y"), may_cause("A o-> B; B <-> C; D o-> C", "C", "B")
    (True, False, False)
    """
    known: DAG | CausalGraph | PDAG | MAG | PAG = read_as(graph, DAG, CausalGraph, PDAG, MAG, PAG)
    if isinstance(known, DAG | CausalGraph):
        return treatment in known.ancestors(outcome)
    members = apply_meek_rules(known) if isinstance(known, PDAG) else known
    return treatment in possible_causes(members, [outcome], frozenset())
