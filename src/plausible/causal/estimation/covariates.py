"""The covariates of an estimate: checked against the graph, or chosen by it."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.adjustment.problem import AdjustableGraph, read_problem
from plausible.causal.adjustment.sets import adjustment_set, check_adjustment
from plausible.causal.estimation.rows import EffectTask
from plausible.errors import InvalidArgument
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import read_as
from plausible.graphs.pdag import PDAG

__all__ = ["BY_FORMULA", "choose_covariates", "missing_columns", "no_causal_path", "observed_nodes"]

BY_FORMULA = Remedy("evaluate the formula of ", Call("identify"), " on a fitted network")
_OTHER_WAYS = (
    Remedy("try ", Argument("method", Call("FrontDoor"))),
    Remedy(Argument("method", Call("InstrumentalVariable"))),
    BY_FORMULA,
)


def choose_covariates(
    task: EffectTask, graph: AdjustableGraph, adjustment: str | Iterable[str] | None
) -> tuple[str, ...]:
    """The set to adjust for: the given one if it is right, else one with the fewest columns."""
    outcome, treatment = task.outcome.name, task.treatment.name
    if adjustment is None:
        found = adjustment_set(graph, outcome, treatment, allowed=observed_nodes(task, graph), costs={})
        if found is None:
            no_path = no_causal_path(task, graph)
            raise InvalidArgument(
                f"No columns of the data are a set to adjust for: the effect of {treatment!r} on {outcome!r} can't be "
                f"had by adjustment in this graph.{no_path}{missing_columns(task, graph)}",
                remedies=() if no_path else _OTHER_WAYS,
            )
        return task.ordered(found)
    names = task.named(adjustment)
    check_adjustment(graph, outcome, treatment, names).require()
    return names


def no_causal_path(task: EffectTask, graph: AdjustableGraph) -> str:
    """A sentence (with a leading space) where the graph has no directed path from treatment to outcome, else none."""
    outcome, treatment = task.outcome.name, task.treatment.name
    known = read_as(graph, DAG, CausalGraph, PDAG, MAG, PAG)
    if not isinstance(known, DAG | CausalGraph) or outcome in known.descendants(treatment):
        return ""
    return f" No causal path leads from {treatment!r} to {outcome!r} in this graph: there is no effect to estimate."


def missing_columns(task: EffectTask, graph: AdjustableGraph) -> str:
    """A sentence (with a leading space) about nodes of the graph that the data have no columns for, else none."""
    nodes = read_problem(graph, task.outcome.name, task.treatment.name).causes.nodes
    missing = [node for node in nodes if node not in task.table.variables]
    return f" The data have no column for {', '.join(map(repr, missing))}, which the graph has." if missing else ""


def observed_nodes(task: EffectTask, graph: AdjustableGraph) -> list[str]:
    """The nodes of a graph that the data have columns for, other than treatment and outcome."""
    nodes = read_problem(graph, task.outcome.name, task.treatment.name).causes.nodes
    taken = (task.outcome.name, task.treatment.name)
    return [node for node in nodes if isinstance(node, str) and node in task.table.variables and node not in taken]
