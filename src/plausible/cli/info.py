"""`plausible info`: the facts about a model at a glance."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plausible.cli.commands import command
from plausible.cli.output import AsJson, print_json
from plausible.cli.source import ModelSource, read_model
from plausible.cli.terminal import facts
from plausible.decisions import InfluenceDiagram
from plausible.graphs import DAG, elimination_order, induced_width
from plausible.io import Model
from plausible.models import BayesianNetwork


@command(examples=("plausible info asia",))
def run_info(model: ModelSource, as_json: AsJson = False) -> None:
    """Show the size, structure, parameters and width of a model."""
    found = model_facts(read_model(model))
    if as_json:
        print_json(found)
    else:
        print_facts(found, title=model)


def model_facts(model: Model) -> dict[str, Any]:
    """What there is to say about a model without asking it anything."""
    graph = model.graph
    order = elimination_order(graph)
    states = [variable.num_states for variable in model.variables.values() if not variable.is_continuous]
    common: dict[str, Any] = {
        "name": model.notes.name,
        "kind": _kind(model),
        "description": model.notes.description,
        "reference": model.notes.reference,
        "variables": len(model.variables),
        "edges": graph.num_edges,
        "fewest_states": min(states, default=None),
        "most_states": max(states, default=None),
        "continuous_variables": len(model.variables) - len(states),
        "components": len(graph.components),
        "induced_width": induced_width(graph, order),
    }
    return {**common, **_own_facts(model)}


def _kind(model: Model) -> str:
    if isinstance(model, InfluenceDiagram):
        return "influence diagram"
    return "Bayesian network" if isinstance(model, BayesianNetwork) else "Markov network"


def print_facts(found: dict[str, Any], title: str) -> None:
    """The facts as text, without those that say nothing."""
    named = str(found["name"]) or title
    told = {label: value for label, value in found.items() if label != "name" and value not in ("", None)}
    facts(named, [(label.replace("_", " "), _shown(value)) for label, value in told.items()])


def _own_facts(model: Model) -> dict[str, Any]:
    if isinstance(model, InfluenceDiagram):
        return _diagram_facts(model)
    if not isinstance(model, BayesianNetwork):
        return {"factors": len(model.factors), "pairwise": model.is_pairwise}
    graph: DAG = model.graph
    kinds = Counter(cpd.kind for cpd in model.cpds.values())
    return {
        "parameters": model.num_parameters,
        "distributions": dict(kinds.most_common()),
        "most_parents": max((len(graph.parents(node)) for node in graph.nodes), default=0),
        "roots": len(graph.roots),
        "leaves": len(graph.leaves),
        "polytree": graph.is_polytree,
        **({"inputs": list(model.inputs)} if model.inputs else {}),
    }


def _diagram_facts(diagram: InfluenceDiagram) -> dict[str, Any]:
    return {
        "chance": list(diagram.chance),
        "decisions": {name: list(decision.sees) for name, decision in diagram.decisions.items()},
        "utilities": {name: list(utility.parent_names) for name, utility in diagram.utilities.items()},
        "distributions": dict(Counter(cpd.kind for cpd in diagram.chance.values()).most_common()),
    }


def _shown(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict) and all(isinstance(names, list) for names in value.values()):
        return ", ".join(f"{name}({', '.join(names)})" for name, names in value.items()) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind}" for kind, count in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
