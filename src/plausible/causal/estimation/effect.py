"""Estimating an effect from data: one function for all methods."""

from __future__ import annotations

import numpy as np

from plausible.causal.adjustment.problem import AdjustableGraph, read_problem
from plausible.causal.estimation.bootstrap import Bootstrap, read_bootstrap, uncertainty
from plausible.causal.estimation.covariates import no_causal_path
from plausible.causal.estimation.estimate import EffectEstimate
from plausible.causal.estimation.experiment_rows import (
    ExperimentRows,
    KnownGraph,
    as_one_graph,
    experiment_rows,
    without_causes_of_set,
)
from plausible.causal.estimation.mediated_effects import read_levels
from plausible.causal.estimation.method import EffectMethod
from plausible.causal.estimation.method_choice import MethodName, method_by_graph, named_method
from plausible.causal.estimation.plug_in import PlugIn
from plausible.causal.estimation.rows import EffectTask
from plausible.causal.estimation.scores import scored_state, state_scores
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import State

__all__ = ["estimate_effect"]


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
    the columns there are. Several graphs that data can't tell apart (a PDAG or PAG) will do for adjustment.

    Parameters
    ----------
    graph
        A DAG, a causal graph, a network, or a PDAG, MAG or PAG.
    data
        Rows: a frame, columns, a file, a `Table` (which may have weights, and rows of experiments: those that tell
        another effect are left out, and where the treatment was set in all rows, or has to be for the effect to be
        identified, its causes do not matter; `rows` of the result says so).
    outcome, treatment
        Y and X.
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

    Raises
    ------
    NotIdentifiable
        Where no method can be right; the message names instruments, if there are any, and columns that are missing.

    Notes
    -----
    In resamples, both levels are averaged over the strata that have cases of both. Discrete rows are counted once, so
    that a resample costs what its different rows do; regressions are fitted anew for each.

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
    used = _used(table, as_one_graph(graph), outcome, treatment, named)
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
    for name in (outcome, treatment):
        if name not in table.variables:
            raise UnknownVariable.named(name, table.variables, "the data")
    return table


def _used(table: Table, graph: KnownGraph, outcome: str, treatment: str, method: EffectMethod | None) -> ExperimentRows:
    """The rows that a method can use, and the graph that holds for them."""
    if isinstance(method, PlugIn):  # learns each variable from the rows in which it was not set
        return ExperimentRows(table, without_causes_of_set(graph, table))
    return experiment_rows(table, graph, outcome, treatment)


def _task(
    table: Table, outcome: str, treatment: str, levels: tuple[State, State] | None, event: State | None
) -> EffectTask:
    y, x = table.variables[outcome], table.variables[treatment]
    scores = None if y.is_continuous and event is None else state_scores(y, event)
    if levels is None and x.is_continuous:
        levels = _one_unit(table, treatment)
    return EffectTask(table, y, x, read_levels(x, levels), scores)


def _one_unit(table: Table, treatment: str) -> tuple[State, State] | None:
    """The mean of a continuous treatment, where data can tell most, and one more; `None` without any number."""
    numbers = table.column(treatment)
    there = ~np.isnan(numbers)
    weights = None if table.weights is None else table.weights[there]
    if not (there.any() if weights is None else weights.sum() > 0):
        return None
    mean = float(np.average(numbers[there], weights=weights))
    return mean, mean + 1.0
