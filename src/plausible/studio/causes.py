"""Causes: whether an effect follows from what is observed, by which formula, and what it is in this model."""

from __future__ import annotations

from typing import Any

from plausible.base.records import one_line
from plausible.causal import adjustment_sets, estimate_effect, identify
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported, UnknownVariable
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk

#: No more sets to adjust for are told, and no more states of causes and effects.
_MOST_SETS, _MOST_STATES = 12, 24


def effect(desk: Desk, asked: Asked) -> dict[str, Any]:
    """P(outcome | do(treatment)): by a formula in what is observed, or why by none; beside P(outcome | treatment)."""
    network, graph, observed = _causes(desk, asked)
    treatment, outcome = asked.text("treatment"), asked.text("outcome")
    told = _identified(graph, outcome, treatment, observed)
    return {**told, "treatment": treatment, "outcome": outcome, **_tables(network, treatment, outcome)}


def estimate(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The effect as rows tell it, by the graph and what nobody observes: a difference of means, with its interval."""
    _, graph, observed = _causes(desk, asked)
    table = desk.table(asked.text("table"))
    seen = table.select([name for name in observed if name in table.variables])
    return {"text": str(estimate_effect(graph, seen, asked.text("outcome"), asked.text("treatment")))}


def _causes(desk: Desk, asked: Asked) -> tuple[BayesianNetwork, CausalGraph, list[str]]:
    """The network, its arrows with the hidden common causes that were added, and what is observed."""
    network, hidden = desk.version(asked.text("model")).shown, asked.texts("hidden", [])
    if not isinstance(network, BayesianNetwork):
        raise NotSupported("Only the arrows of a Bayesian network can be taken for causes.")
    for name in (asked.text("treatment"), asked.text("outcome"), *hidden):
        if name not in network.variables:
            raise UnknownVariable.named(name, network.variables, "this model")
    graph = CausalGraph([*network.graph.edges, *_confounded(asked, network.graph)], nodes=network.graph.nodes)
    return network, graph, [name for name in network.variables if name not in hidden]


def _confounded(asked: Asked, graph: DAG) -> list[Any]:
    """The pairs with a hidden common cause, as edges of a causal graph."""
    pairs = asked.items("confounded", [])
    if not all(isinstance(pair, list) and len(pair) == 2 and all(name in graph for name in pair) for pair in pairs):
        raise InvalidArgument("'confounded' is a list of pairs of names.")
    return [(first, "<->", second) for first, second in pairs]


def _identified(graph: CausalGraph, outcome: str, treatment: str, observed: list[str]) -> dict[str, Any]:
    """The formula, its derivation and the sets to adjust for; or the hedge that shows that there is none."""
    try:
        estimand = identify(graph, outcome, treatment, observed=observed)
    except NotIdentifiable as error:
        hedge: Any = error.hedge
        nodes = [] if hedge is None else [str(node) for node in hedge.outer.nodes]
        return {
            "isIdentified": False,
            "text": str(error),
            "why": "" if hedge is None else hedge.explain(),
            "hedge": nodes,
        }
    allowed = [name for name in observed if name not in (outcome, treatment)]
    sets = adjustment_sets(graph, outcome, treatment, allowed=allowed, limit=_MOST_SETS)
    return {
        "isIdentified": True,
        "text": f"{estimand.query} = {estimand.formula}",
        "why": str(estimand.derivation),
        "sets": [sorted(map(str, chosen)) for chosen in sets],
    }


def _tables(network: BayesianNetwork, treatment: str, outcome: str) -> dict[str, Any]:
    """What follows of setting each state of the cause, and of seeing it, by this model."""
    cause, target = network.variables[treatment], network.variables[outcome]
    if cause.is_continuous or target.is_continuous or max(cause.num_states, target.num_states) > _MOST_STATES:
        return {"states": [], "rows": []}
    chances = network.query(treatment).values
    rows = [
        {
            "state": one_line(str(state)),
            "set": network.query(outcome, do={treatment: state}).values.tolist(),
            "seen": network.query(outcome, evidence={treatment: state}).values.tolist() if chance > 0 else None,
        }
        for state, chance in zip(cause.states, chances.tolist(), strict=True)
    ]
    return {"states": [one_line(str(state)) for state in target.states], "rows": rows}
