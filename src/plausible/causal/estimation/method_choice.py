"""Which method estimates an effect: the one that is named, or one that the graph allows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from plausible.causal.adjustment.criteria import unclear_reason
from plausible.causal.adjustment.front_door import front_door_set
from plausible.causal.adjustment.instruments import instruments
from plausible.causal.adjustment.problem import read_problem
from plausible.causal.adjustment.sets import adjustment_set
from plausible.causal.estimation.adjusted import DoublyRobust, Standardization, Weighting
from plausible.causal.estimation.covariates import missing_columns, observed_nodes
from plausible.causal.estimation.experiment_rows import KnownGraph
from plausible.causal.estimation.front_door_method import FrontDoor
from plausible.causal.estimation.identified import Identified
from plausible.causal.estimation.instrument_method import InstrumentalVariable
from plausible.causal.estimation.method import EffectMethod
from plausible.causal.estimation.no_effect import NoEffect, may_cause
from plausible.causal.estimation.plug_in import PlugIn
from plausible.causal.estimation.rows import EffectTask
from plausible.causal.identification.algorithm import identify
from plausible.errors import InvalidArgument, NotIdentifiable, suggestion
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG

__all__ = ["MethodName", "method_by_graph", "method_suggestion", "named_method"]

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
    """A sentence (with a leading space) that names the method someone meant, also by what others call it.

    >>> method_suggestion("IPW"), method_suggestion("doubly robust")
    (" Did you mean 'weighting'?", " Did you mean 'doubly-robust'?")
    """
    written = name.strip().lower().replace(" ", "-").replace("_", "-")
    meant = _OTHER_NAMES.get(written, written)
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
