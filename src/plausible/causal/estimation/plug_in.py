"""Estimates by a fitted network: learn all of it, then intervene in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.method import Means, PreparedEstimate
from plausible.causal.estimation.rows import EffectTask, totals
from plausible.causal.estimation.scores import expected_outcome
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.learn.estimation.fit import fit_parameters
from plausible.learn.estimation.priors import PriorLike

__all__ = ["PlugIn"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlugIn:
    """E[Y | do(x)] in the network whose parameters are learned from the data; its graph has no latent causes.

    It uses all that the graph says, and so is precise where the graph and the kinds of distributions are right.
    Missing cells are completed, and rows with interventions are used.

    Parameters
    ----------
    prior
        Of the tables, as for `learn.parameters`.
    """

    prior: PriorLike = "bdeu:1"

    @property
    def name(self) -> str:
        """What the method is called."""
        return "plug-in"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        causes = CausalGraph(read_causes(graph))
        latent = next((edge for edge in causes.edges if edge.is_bidirected), None)
        if latent is not None:
            raise NotSupported(
                f"'{latent}' is a latent cause, which no network of the observed variables has. Use another method, or "
                "evaluate the estimand of identify() on a fitted network."
            )
        # What does not lead to the outcome once the treatment is set drops out of P(y | do(x)).
        names = (task.outcome.name, task.treatment.name)
        mutilated = causes.without_incoming(task.treatment.name)
        kept = mutilated.ancestors(task.outcome.name).union(names)
        dag = mutilated.subgraph([node for node in causes.nodes if node in kept]).directed_part()
        hidden = [node for node in dag.nodes if node not in task.table.variables]
        if hidden:
            raise InvalidArgument(
                f"The data have no column for {hidden[0]!r}. Ask about latent_projection(graph, observed=...)."
            )
        table, weights = _distinct(task.table.select([str(node) for node in dag.nodes]))

        def estimate(resampled: Floats) -> Means:
            fitted = fit_parameters(dag, table.weighted(resampled), self.prior).network
            return Means.of(
                [
                    expected_outcome(fitted, task.outcome, task.scores, {task.treatment.name: level})
                    for level in task.levels
                ]
            )

        return PreparedEstimate(weights, estimate, tuple(str(node) for node in dag.nodes if node not in names))


def _distinct(table: Table) -> tuple[Table, Floats]:
    """The different rows, where they can be told apart at once, and how often each occurs."""
    weights = np.ones(table.num_rows) if table.weights is None else np.asarray(table.weights)
    if table.continuous or table.interventions or not table.num_rows:
        return table, weights
    _, first, place = np.unique(table.codes, axis=1, return_index=True, return_inverse=True)
    return table.take(first), totals(place.reshape(-1), weights, len(first))
