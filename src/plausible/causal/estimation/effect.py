"""Estimating an effect from data: one function for all methods, and which of them the graph allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.causal.adjustment.mediators import front_door_set
from plausible.causal.adjustment.problem import AdjustableGraph, KnownGraph, may_cause, read_problem
from plausible.causal.adjustment.sets import adjustment_set, instruments, unclear_reason
from plausible.causal.estimation.adjusted import DoublyRobust, Standardization, Weighting
from plausible.causal.estimation.estimate import (
    Bootstrap,
    EffectEstimate,
    EffectMethod,
    ExperimentRows,
    Means,
    PreparedEstimate,
    as_one_graph,
    experiment_rows,
    missing_columns,
    no_causal_path,
    observed_nodes,
    read_bootstrap,
    uncertainty,
    without_causes_of_set,
)
from plausible.causal.estimation.methods import FrontDoor, Identified, InstrumentalVariable, PlugIn
from plausible.causal.estimation.rows import EffectTask, effect_rows, read_levels, scored_state, state_scores
from plausible.causal.identification.algorithm import identify
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotIdentifiable, UnknownVariable, suggestion
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from plausible.variables import State


@dataclass(frozen=True, slots=True)
class NoEffect:
    """E[Y | do(x)] = E[Y] for every x: no path of the graph leads from the treatment to the outcome."""

    name: ClassVar[str] = "no causal path, by the graph"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """The mean of the outcome, whatever the treatment."""
        rows = effect_rows(task, ())

        def estimate(weights: Floats) -> Means:
            mean = float(np.average(rows.outcome, weights=weights))
            return Means(mean, mean, 0.0)

        return PreparedEstimate(rows.weights, estimate, standard_error=0.0)


MethodName: TypeAlias = Literal[
    "doubly-robust", "standardization", "weighting", "plug-in", "front-door", "instrument", "identified"
]

_ALL: tuple[EffectMethod, ...] = (
    DoublyRobust(),
    Standardization(),
    Weighting(),
    PlugIn(),
    FrontDoor(),
    InstrumentalVariable(),
    Identified(),
)
_METHODS: Mapping[str, EffectMethod] = MappingProxyType({method.name: method for method in _ALL})

#: The name of a method -> what others call it.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "doubly-robust": ("aipw", "augmented-ipw", "dr"),
        "standardization": ("g-formula", "g-computation", "backdoor", "back-door", "regression", "standardisation"),
        "weighting": ("ipw", "iptw", "inverse-probability-weighting", "propensity"),
        "plug-in": ("plugin",),
        "front-door": ("frontdoor",),
        "instrument": ("iv", "2sls", "instrumental-variable"),
    }
)


def named_method(method: EffectMethod | MethodName | None) -> EffectMethod | None:
    """The method that was asked for."""
    if isinstance(method, str):
        if method not in _METHODS:
            raise InvalidArgument(f"There is no method {method!r}.{method_suggestion(method)}")
        return _METHODS[method]
    if method is not None and not isinstance(method, EffectMethod):
        raise InvalidArgument(f"method= is a method, such as DoublyRobust(), or its name, not {method!r}.")
    return method


def method_suggestion(name: str) -> str:
    """A sentence (with a leading space) that names the method someone meant, also by what others call it."""
    written = name.strip().lower().replace(" ", "-").replace("_", "-")
    meant = next((method for method, others in _OTHER_NAMES.items() if written in others), written)
    return f" Did you mean {meant!r}?" if meant in _METHODS else suggestion(name, _METHODS)


def method_by_graph(task: EffectTask, graph: KnownGraph) -> EffectMethod:
    """A method that the graph allows."""
    y, x, allowed = task.outcome.name, task.treatment.name, observed_nodes(task, graph)
    if not may_cause(graph, y, x):
        return NoEffect()
    if adjustment_set(graph, y, x, allowed=allowed) is not None:
        return Standardization() if task.treatment.is_continuous else DoublyRobust()
    if isinstance(graph, DAG | CausalGraph):
        if front_door_set(graph, y, x, allowed=allowed) is not None:
            return FrontDoor()
        _refuse_unidentified(task, graph, allowed)
        return Identified()
    unclear = read_problem(graph, y, x).unclear
    reason = "" if unclear is None else f": {unclear_reason(unclear)}"
    raise NotIdentifiable(
        f"No columns of the data are a set to adjust for in all members of this {type(graph).__name__}{reason}."
        f"{(unseen := missing_columns(task, graph))}",
        unseen=unseen.strip(),
    )


def _refuse_unidentified(task: EffectTask, graph: DAG | CausalGraph, allowed: list[str]) -> None:
    """Say what else may help where no distribution of the columns determines the effect."""
    y, x = task.outcome.name, task.treatment.name
    try:
        identify(graph, outcome=y, treatment=x, observed=[*allowed, y, x])
    except NotIdentifiable as error:
        found = "; ".join(map(str, instruments(graph, y, x, allowed=allowed)))
        by = f" method='instrument' estimates it by an instrument ({found}) if it is linear and the same for all cases."
        unseen = missing_columns(task, graph)
        message = f"{error}{unseen}{by if found else ''} What it can be at least and at most: causal.bounds."
        raise NotIdentifiable(message, error.hedge, unseen.strip()) from None


def estimate_effect(
    graph: AdjustableGraph,
    data: TableLike,
    outcome: str,
    treatment: str,
    *,
    method: EffectMethod | MethodName | None = None,
    levels: tuple[State, State] | None = None,
    event: State | None = None,
    bootstrap: Bootstrap | int | None = None,
) -> EffectEstimate:
    """E[Y | do(x')] - E[Y | do(x)], estimated from rows, with an interval.

    The graph says what the method may do: sets, mediators and instruments are checked against it, or chosen by it among
    the columns there are. Several graphs that data can't tell apart (a PDAG or PAG) will do for adjustment. In
    resamples, both levels are averaged over the strata that have cases of both. Discrete rows are counted once, so that
    a resample costs what its different rows do; regressions are fitted anew for each. Raises `NotIdentifiable` where no
    method can be right; the message names instruments, if there are any, and columns that are missing.

    Parameters
    ----------
    graph
        A DAG, a causal graph, a network, or a PDAG, MAG or PAG.
    data
        Rows: a frame, columns, a file, a `Table` (which may have weights, and rows of experiments: those that tell
        another effect are left out, and where the treatment was set in all rows, or has to be for the effect to be
        identified, its causes do not matter; `rows` of the result says so).
    method
        A method or its name: `DoublyRobust` ("doubly-robust"), `Standardization`, `Weighting`, `PlugIn` ("plug-in"),
        `FrontDoor` ("front-door"), `InstrumentalVariable` ("instrument"). Where left out: doubly robust if a set to
        adjust for is there (standardisation for a continuous treatment), else by the front door, else by the estimand
        that `identify` finds ("identified"). An instrument is never taken unasked, as it assumes more than the graph
        says: that the effect is linear and the same for all cases. What is no cause by the graph has no effect, and
        needs no method.
    levels
        x and x'; where left out the two states of the treatment, or for a continuous one its mean and one more, so that
        the difference is that of one unit.
    event
        The state of a discrete outcome whose probability is the mean; see `state_scores`.
    bootstrap
        How intervals are made, or with how many resamples; 200 with a fixed seed by default.

    Examples
    --------
    >>> rows = {"gender": ["m"] * 200 + ["f"] * 200, "drug": ([1] * 150 + [0] * 50) + ([1] * 50 + [0] * 150)}
    >>> rows["cured"] = [1] * 105 + [0] * 45 + [1] * 40 + [0] * 10 + [1] * 10 + [0] * 40 + [1] * 60 + [0] * 90
    >>> estimate = estimate_effect("gender -> drug -> cured; gender -> cured", rows, "cured", "drug")
    >>> estimate.variables, [round(mean, 3) for mean in estimate.means], round(estimate.difference, 3)
    (('gender',), [0.6, 0.45], -0.15)
    """
    named = named_method(method)
    table = _read(graph, data, outcome, treatment)
    known = as_one_graph(graph)
    if isinstance(named, PlugIn):  # learns each variable from the rows in which it was not set
        used = ExperimentRows(table, without_causes_of_set(known, table))
    else:
        used = experiment_rows(table, known, outcome, treatment)
    task = _task(used.table, outcome, treatment, levels, event)
    chosen = named or method_by_graph(task, used.graph)
    prepared = chosen.prepare(task, used.graph)
    means = prepared.estimate(prepared.weights)
    plan = read_bootstrap(bootstrap)
    error, interval = uncertainty(prepared, means.difference, plan)
    return EffectEstimate(
        outcome=outcome,
        treatment=treatment,
        levels=task.levels,
        event=scored_state(task.outcome, event),
        method=chosen.name,
        variables=prepared.variables,
        means=(means.low, means.high),
        difference=means.difference,
        standard_error=error,
        interval=interval,
        confidence=plan.confidence,
        num_cases=float(prepared.weights.sum()),
        positivity=prepared.positivity,
        strength=prepared.strength,
        assumption=prepared.assumption or no_causal_path(task, used.graph).strip(" ."),
        rows=used.told,
    )


def _read(graph: AdjustableGraph, data: TableLike, outcome: str, treatment: str) -> Table:
    """All rows; refuses names that the data or the graph don't have."""
    for role, name in (("outcome", outcome), ("treatment", treatment)):
        if not isinstance(name, str):
            raise InvalidArgument(
                f"An estimate is about one {role}, named as a text, not {name!r}. For several at once, evaluate the "
                "estimand of identify() on a fitted network."
            )
    read_problem(graph, outcome, treatment)  # refuses what is no graph, and names that it does not have
    table = Table.read(data)
    if isinstance(graph, BayesianNetwork):
        table = Table.read(table, {name: v for name, v in graph.variables.items() if name in table.variables})
    UnknownVariable.check_all((outcome, treatment), table.variables, "the data")
    return table


def _task(
    table: Table, outcome: str, treatment: str, levels: tuple[State, State] | None, event: State | None
) -> EffectTask:
    y, x = table.variables[outcome], table.variables[treatment]
    scores = None if y.is_continuous and event is None else state_scores(y, event)
    if levels is None and x.is_continuous:
        # The mean of a continuous treatment, where data can tell most, and one more.
        numbers = table.column(treatment)
        there = ~np.isnan(numbers)
        weights = None if table.weights is None else table.weights[there]
        if there.any() if weights is None else weights.sum() > 0:
            mean = float(np.average(numbers[there], weights=weights))
            levels = mean, mean + 1.0
    return EffectTask(table, y, x, read_levels(x, levels), scores)
