"""Estimating an effect from data: one function for all methods, its result, and how intervals are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.causal.adjustment.criteria import unclear_reason
from plausible.causal.adjustment.front_door import front_door_set
from plausible.causal.adjustment.instruments import instruments
from plausible.causal.adjustment.problem import AdjustableGraph, read_problem
from plausible.causal.adjustment.sets import adjustment_set
from plausible.causal.estimation.adjusted import DoublyRobust, Standardization, Weighting
from plausible.causal.estimation.covariates import missing_columns, no_causal_path, observed_nodes
from plausible.causal.estimation.experiment_rows import (
    ExperimentRows,
    KnownGraph,
    as_one_graph,
    experiment_rows,
    without_causes_of_set,
)
from plausible.causal.estimation.front_door_method import FrontDoor
from plausible.causal.estimation.identified import Identified
from plausible.causal.estimation.instrument_method import InstrumentalVariable
from plausible.causal.estimation.mediated_effects import read_levels
from plausible.causal.estimation.method import EffectMethod, PreparedEstimate
from plausible.causal.estimation.no_effect import NoEffect, may_cause
from plausible.causal.estimation.plug_in import PlugIn
from plausible.causal.estimation.positivity import PositivityReport
from plausible.causal.estimation.rows import EffectTask
from plausible.causal.estimation.scores import scored_state, state_scores
from plausible.causal.identification.algorithm import identify
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotIdentifiable, UnknownVariable, suggestion
from plausible.factors.display import format_number
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.pdag import PDAG
from plausible.models import BayesianNetwork
from plausible.variables import State

__all__ = ["Bootstrap", "EffectEstimate", "MethodName", "estimate_effect", "method_suggestion"]

Floats = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | None
MethodName: TypeAlias = Literal[
    "doubly-robust", "standardization", "weighting", "plug-in", "front-door", "instrument", "identified"
]

_METHODS: Mapping[str, EffectMethod] = MappingProxyType(
    {
        "doubly-robust": DoublyRobust(),
        "standardization": Standardization(),
        "weighting": Weighting(),
        "plug-in": PlugIn(),
        "front-door": FrontDoor(),
        "instrument": InstrumentalVariable(),
        "identified": Identified(),
    }
)

#: What others call a method -> its name here.
_OTHER_NAMES: Mapping[str, MethodName] = MappingProxyType(
    {
        "aipw": "doubly-robust",
        "augmented-ipw": "doubly-robust",
        "dr": "doubly-robust",
        "g-formula": "standardization",
        "g-computation": "standardization",
        "backdoor": "standardization",
        "back-door": "standardization",
        "regression": "standardization",
        "standardisation": "standardization",
        "ipw": "weighting",
        "iptw": "weighting",
        "inverse-probability-weighting": "weighting",
        "propensity": "weighting",
        "plugin": "plug-in",
        "frontdoor": "front-door",
        "iv": "instrument",
        "2sls": "instrument",
        "instrumental-variable": "instrument",
    }
)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Intervals from estimates of resampled cases.

    Parameters
    ----------
    resamples
        How often cases are drawn anew; with 0 the interval is that of the influence function, where a method has one.
    confidence
        The chance that the interval covers the effect.
    seed
        Of the draws.
    """

    resamples: int = 200
    confidence: float = 0.95
    seed: Seed = field(default=0)

    def __post_init__(self) -> None:
        if self.resamples < 0 or 0 < self.resamples < 10:
            raise InvalidArgument(f"resamples={self.resamples!r} tell nothing; draw some 200, or 0 for none.")
        if not 0 < self.confidence < 1:
            raise InvalidArgument(f"confidence= lies between 0 and 1, not at {self.confidence!r}.")


@dataclass(frozen=True, slots=True)
class EffectEstimate:
    """The effect of x' instead of x on the mean of Y, as data tell it.

    Attributes
    ----------
    outcome, treatment
        Y and X.
    levels
        x and x'.
    event
        The state of the outcome whose probability the mean is; `None` where it is the mean of numbers.
    method
        How it was estimated.
    variables
        What was used besides: covariates, mediators, or an instrument and its conditions.
    means
        E[Y | do(x)] and E[Y | do(x')]; NaN for instruments, which tell only the difference.
    difference
        E[Y | do(x')] - E[Y | do(x)].
    standard_error
        Of the difference; `None` where nothing was resampled and the method has no formula.
    interval
        For the difference: the quantiles of the resamples, or the Normal interval of the standard error.
    confidence
        Of the interval.
    num_cases
        How much the rows weigh.
    positivity
        For methods that compare within strata.
    strength
        The F statistic of the first stage, for instruments; below 10 the instrument is weak.
    assumption
        What the estimate takes for granted besides the graph, such as linearity; empty where nothing.
    rows
        Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    """

    outcome: str
    treatment: str
    levels: tuple[State, State]
    event: State | None
    method: str
    variables: tuple[str, ...]
    means: tuple[float, float]
    difference: float
    standard_error: float | None
    interval: tuple[float, float] | None
    confidence: float
    num_cases: float
    positivity: PositivityReport | None
    strength: float | None
    assumption: str = ""
    rows: str = ""

    def __str__(self) -> str:
        used = f", using {', '.join(self.variables)}" if self.variables else ""
        change = " -> ".join(format_number(level) if type(level) is float else str(level) for level in self.levels)
        measure = self.outcome if self.event is None else f"P({self.outcome}={self.event})"
        lines = [
            f"Effect of {self.treatment}: {change} on {measure} ({self.method}{used})",
            f"  difference {format_number(self.difference)}",
        ]
        if self.interval is not None:
            low, high = (format_number(end) for end in self.interval)
            lines[1] += f", {self.confidence:.0%} interval {low} to {high}"
        if not np.isnan(self.means[0]):
            low, high = (format_number(mean) for mean in self.means)
            lines.append(f"  means      {low} and {high}")
        if self.strength is not None:
            lines.append(f"  strength   F = {format_number(self.strength)}")
        if self.positivity is not None:
            lines += [f"  {line}" for line in str(self.positivity).splitlines()]
        if self.rows:
            lines.append(f"  rows       {self.rows}")
        if self.assumption:
            lines.append(f"  assuming   {self.assumption}")
        return "\n".join([*lines, *(f"  caution    {line}" for line in self._cautions())])

    __repr__ = __str__

    def _cautions(self) -> Iterator[str]:
        if self.positivity is None:
            return
        if self.positivity.empty:
            yield "where there are no cases, a model or a prior fills in, and not the data"
        if self.positivity.unlikely:
            yield (
                f"only {self.positivity.comparable:.2%} of all cases had a real chance of both levels; for the others "
                "very few cases tell, or a model alone. Take cases that could have had both, or adjust for another set"
            )
        if self.positivity.sparse and self.interval is not None:
            yield "where there are few cases, their mean hardly varies over resamples: the interval may be too narrow"


def estimate_effect(
    data: TableLike,
    graph: AdjustableGraph,
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
    data
        Rows: a frame, columns, a file, a `Table` (which may have weights, and rows of experiments: those that tell
        another effect are left out, and where the treatment was set in all rows, or has to be for the effect to be
        identified, its causes do not matter; `rows` of the result says so).
    graph
        A DAG, a causal graph, a network, or a PDAG, MAG or PAG.
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
    >>> estimate = estimate_effect(rows, "gender -> drug -> cured; gender -> cured", "cured", "drug")
    >>> estimate.variables, [round(mean, 3) for mean in estimate.means], round(estimate.difference, 3)
    (('gender',), [0.6, 0.45], -0.15)
    """
    named = _named(method)
    table = _read(data, graph, outcome, treatment)
    used = _used(table, as_one_graph(graph), outcome, treatment, named)
    task = _task(used.table, outcome, treatment, levels, event)
    chosen = named or _by_graph(task, used.graph)
    prepared = chosen.prepare(task, used.graph)
    means = prepared.estimate(prepared.weights)
    plan = _plan(bootstrap)
    error, interval = _uncertainty(prepared, means.difference, plan)
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


def _plan(bootstrap: Bootstrap | int | None) -> Bootstrap:
    if bootstrap is None or isinstance(bootstrap, Bootstrap):
        return bootstrap or Bootstrap()
    if isinstance(bootstrap, bool) or not isinstance(bootstrap, int):
        raise InvalidArgument(f"bootstrap= is a Bootstrap(...) or a number of resamples, not {bootstrap!r}.")
    return Bootstrap(resamples=bootstrap)


def _read(data: TableLike, graph: AdjustableGraph, outcome: str, treatment: str) -> Table:
    """All rows; refuses names that the data or the graph don't have."""
    if _is_graph(data):
        raise InvalidArgument(
            "The first argument is a graph: data come first, then the graph, as in "
            "estimate_effect(data, graph, outcome, treatment)."
        )
    for role, name in (("outcome", outcome), ("treatment", treatment)):
        if not isinstance(name, str):
            raise InvalidArgument(
                f"An estimate is about one {role}, named as a text, not {name!r}. For several at once, evaluate the "
                "estimand of identify() on a fitted network."
            )
    table = Table.read(data)
    if isinstance(graph, BayesianNetwork):
        table = Table.read(table, {name: v for name, v in graph.variables.items() if name in table.variables})
    read_problem(graph, outcome, treatment)  # refuses names that are not in the graph
    for name in (outcome, treatment):
        if name not in table.variables:
            raise UnknownVariable.named(name, table.variables, "the data")
    return table


def _is_graph(data: object) -> bool:
    """Whether someone gave a graph, or a model with one, in place of data."""
    if isinstance(data, str):
        return any(arrow in data for arrow in ("->", "<-", "o-o")) and not Path(data).is_file()
    return isinstance(data, DAG | CausalGraph | PDAG | MAG | PAG | BayesianNetwork)


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


def _named(method: EffectMethod | MethodName | None) -> EffectMethod | None:
    """The method that was asked for."""
    if isinstance(method, str):
        if method not in _METHODS:
            raise InvalidArgument(f"There is no method {method!r}.{method_suggestion(method)}")
        return _METHODS[method]
    if method is not None and not isinstance(method, EffectMethod):
        raise InvalidArgument(f"method= is a method, such as DoublyRobust(), or its name, not {method!r}.")
    return method


def method_suggestion(name: str) -> str:
    """A sentence (with a leading space) that names the method someone meant, also by what others call it.

    >>> method_suggestion("IPW"), method_suggestion("doubly robust")
    (" Did you mean 'weighting'?", " Did you mean 'doubly-robust'?")
    """
    written = name.strip().lower().replace(" ", "-").replace("_", "-")
    meant = _OTHER_NAMES.get(written, written)
    return f" Did you mean {meant!r}?" if meant in _METHODS else suggestion(name, _METHODS)


def _by_graph(task: EffectTask, graph: KnownGraph) -> EffectMethod:
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
        f"{missing_columns(task, graph)}"
    )


def _refuse_unidentified(task: EffectTask, graph: DAG | CausalGraph, allowed: list[str]) -> None:
    """Say what else may help where no distribution of the columns determines the effect."""
    y, x = task.outcome.name, task.treatment.name
    try:
        identify(graph, outcome=y, treatment=x, observed=[*allowed, y, x])
    except NotIdentifiable as error:
        found = "; ".join(map(str, instruments(graph, y, x, allowed=allowed)))
        advice = (
            f" method='instrument' estimates it by an instrument ({found}) if it is linear and the same for all cases."
            if found
            else ""
        )
        raise NotIdentifiable(
            f"{error}{missing_columns(task, graph)}{advice} What it can be at least and at most: causal.bounds.",
            error.hedge,
        ) from None


def _uncertainty(
    prepared: PreparedEstimate, difference: float, plan: Bootstrap
) -> tuple[float | None, tuple[float, float] | None]:
    """The standard error and the interval."""
    if plan.resamples:
        draws = _resampled(prepared, plan)
        tail = (1.0 - plan.confidence) / 2
        # Weibull's positions allow for the tails that few draws do not reach.
        low, high = np.quantile(draws, [tail, 1.0 - tail], method="weibull").tolist()
        return float(draws.std(ddof=1)), (low, high)
    if prepared.standard_error is None:
        return None, None
    half = NormalDist().inv_cdf(0.5 + plan.confidence / 2) * prepared.standard_error
    return prepared.standard_error, (difference - half, difference + half)


def _resampled(prepared: PreparedEstimate, plan: Bootstrap) -> Floats:
    """The differences in resamples; those in which a level does not occur have none and are drawn without."""
    rng = np.random.default_rng(plan.seed)
    weights = prepared.weights
    total = weights.sum()
    num_cases = max(1, round(total))
    draws = []
    for _ in range(plan.resamples):
        counts = rng.multinomial(num_cases, weights / total) * (total / num_cases)
        draws.append(prepared.estimate(counts).difference)
    known = np.array([draw for draw in draws if np.isfinite(draw)])
    if len(known) < max(2, plan.resamples // 2):
        raise InvalidArgument(
            f"Only {len(known)} of {plan.resamples} resamples have cases of both levels: the rows are too few for an "
            "interval. Give more rows, or Bootstrap(resamples=0)."
        )
    return known
