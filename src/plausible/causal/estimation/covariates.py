"""What a graph says of data: the covariates of an estimate, and which rows of experiments tell an effect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.adjustment.problem import AdjustableGraph, KnownGraph, may_cause, read_known, read_problem
from plausible.causal.adjustment.sets import adjustment_set, check_adjustment
from plausible.causal.estimation.rows import EffectTask
from plausible.causal.identification.algorithm import identify
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.marks import Edge
from plausible.graphs.meek import apply_meek_rules
from plausible.graphs.mixed import PDAG
from plausible.graphs.pag_questions import possible_causes

BY_FORMULA = Remedy("evaluate the formula of ", Call("identify"), " on a fitted network")
_OTHER_WAYS = (
    Remedy("try ", Argument("method", Call("FrontDoor"))),
    Remedy(Argument("method", Call("InstrumentalVariable"))),
    BY_FORMULA,
)


_BY_PLUG_IN = Remedy(
    *("where they are different rows for each variable, take ", Argument("method", Call("PlugIn"))),
    ", which puts together what they tell",
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
    known = read_known(graph)
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


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentRows:
    """The rows that an effect is told by."""

    table: Table  # The rows.
    graph: KnownGraph  # What causes what in them.
    told: str = ""  # Which rows they are, as a clause; empty where they are all rows as they were observed.


def as_one_graph(graph: AdjustableGraph) -> KnownGraph:
    """The graph that is meant; a PDAG of a class with one member is that member."""
    known = read_known(graph)
    if not isinstance(known, PDAG):
        return known
    closed = apply_meek_rules(known)
    return known if closed.undirected_edges else DAG(closed.directed_edges, nodes=closed.nodes)


def experiment_rows(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> ExperimentRows:
    """Leave out the rows of experiments that change P(y | do(x)); use the others by what they are.

    Where a variable that leads to the outcome past the treatment was set, or the outcome itself, the effect is another
    one. Where anything else was set in some rows, its causes are the same and only act in fewer rows, so that the graph
    holds for all rows together. What was set in all rows has no causes in them. An effect that the graph leaves open is
    told by the rows in which the treatment was set.
    """
    if not table.interventions:
        return ExperimentRows(table, graph)
    used, told = _as_things_are(table, graph, outcome, treatment)
    is_set = used.interventions.get(treatment)
    if is_set is None or (isinstance(graph, DAG | CausalGraph) and is_set.all()):
        clauses = [told, f"{treatment!r} was set from outside in all rows" if is_set is not None else ""]
        return ExperimentRows(used, without_causes_of_set(graph, used), "; ".join(filter(None, clauses)))
    if _is_identified(used, graph, outcome, treatment):
        return ExperimentRows(used, without_causes_of_set(graph, used), told)
    experiment = used.take(is_set)
    cut = (
        without_causes_of_set(graph, experiment)
        if isinstance(graph, DAG | CausalGraph)
        else CausalGraph([Edge.of(treatment, "->", outcome)])
    )
    of_which = "of the others" if told else f"of {table.num_rows} rows"
    clauses = [told, f"{of_which} the {experiment.num_rows} in which {treatment!r} was set from outside"]
    return ExperimentRows(experiment, cut, "; ".join(filter(None, clauses)))


def without_causes_of_set(graph: KnownGraph, table: Table) -> KnownGraph:
    """The graph without edges into what was set in all rows; one that stands for a class is left as it is."""
    if not isinstance(graph, DAG | CausalGraph):
        return graph
    always = [node for node in graph.nodes if node in table.interventions and table.interventions[str(node)].all()]
    return graph.without_incoming(always) if always else graph


def _as_things_are(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> tuple[Table, str]:
    """The rows in which nothing was set that acts on the outcome past the treatment, and what was left out."""
    # The outcome, and what may act on it once the treatment is set.
    if isinstance(graph, DAG | CausalGraph):
        acting = frozenset({outcome, *graph.without_incoming([treatment]).ancestors(outcome)} - {treatment})
    else:
        members = apply_meek_rules(graph) if isinstance(graph, PDAG) else graph
        acting = possible_causes(members, [outcome], frozenset({treatment}))
    names = [name for name in table.interventions if name in acting]
    if not names:
        return table, ""
    is_changed = np.logical_or.reduce([table.interventions[name] for name in names])
    listed = " or ".join(map(repr, names))
    if is_changed.all():
        raise NotSupported(
            f"In all {table.num_rows} rows {listed} was set from outside, so that none tells how {outcome!r} comes "
            f"about by itself once {treatment!r} is set.",
            remedies=[Remedy("give rows in which that was not so"), _BY_PLUG_IN],
        )
    left_out = f"{int(is_changed.sum())} of {table.num_rows} rows left out, in which {listed} was set from outside"
    return table.take(~is_changed), left_out


def _is_identified(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> bool:
    columns = [node for node in graph.nodes if isinstance(node, str) and node in table.variables]
    if not isinstance(graph, DAG | CausalGraph):
        others = [node for node in columns if node not in (outcome, treatment)]
        is_open = may_cause(graph, outcome, treatment)
        return not is_open or adjustment_set(graph, outcome, treatment, allowed=others) is not None
    try:
        identify(graph, outcome=outcome, treatment=treatment, observed=columns)
    except NotIdentifiable:
        return False
    return True
