"""What identification is asked: an effect, and the causal graph over the observed variables."""

from __future__ import annotations

from typing import NamedTuple

from plausible.base.records import record
from plausible.causal.discovery.pag_effects import effect_in_pag, refuse_query
from plausible.causal.queries.arguments import refuse_overlap
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph, latent_projection, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.pdag import PDAG

__all__ = ["Effect", "Question", "node_list", "read_question"]


@record
class Effect:
    """The question P(outcome | do(treatment), given), about variables and not yet about their values.

    >>> print(Effect(("C",), ("S",), ("G",)))
    P(C | do(S), G)
    """

    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...] = ()
    given: tuple[Node, ...] = ()

    def __str__(self) -> str:
        conditions = [f"do({node_list(self.treatment)})"] if self.treatment else []
        conditions += [node_list(self.given)] if self.given else []
        return f"P({node_list(self.outcome)}{' | ' if conditions else ''}{', '.join(conditions)})"


def node_list(nodes: tuple[Node, ...]) -> str:
    """The nodes with commas between."""
    return ", ".join(map(str, nodes))


class Question(NamedTuple):
    """An effect and the graph over the observed variables that it is about."""

    graph: CausalGraph
    effect: Effect


def read_question(
    graph: GraphLike[DAG | CausalGraph], outcome: Nodes, treatment: Nodes, given: Nodes, observed: Nodes | None
) -> Question:
    """The question in names that the graph knows, with latent variables projected out."""
    _refuse_class(graph, outcome, treatment)
    causes = read_causes(graph)
    index = NodeIndex(causes.nodes)
    effect = Effect(*(index.names(index.select(nodes)) for nodes in (outcome, treatment, given)))
    if not effect.outcome:
        raise InvalidArgument("An effect needs an outcome: name at least one node.")
    refuse_overlap({"outcome": effect.outcome, "treatment": effect.treatment, "given": effect.given})
    if observed is None:
        return Question(causes if isinstance(causes, CausalGraph) else CausalGraph(causes), effect)
    seen = set(index.names(index.select(observed)))
    for node in (*effect.outcome, *effect.treatment, *effect.given):
        if node not in seen:
            raise InvalidArgument(
                f"{effect} asks about {node!r}, which observed= leaves out: nothing is known of its distribution."
            )
    return Question(latent_projection(causes, observed=seen), effect)


def _refuse_class(graph: object, outcome: Nodes, treatment: Nodes) -> None:
    found = getattr(graph, "graph", graph)
    if isinstance(found, PAG) and outcome in found.nodes and treatment in found.nodes:
        refuse_query(found, outcome, treatment)
        raise NotSupported(
            "Identification is about one graph, and a PAG stands for a class of them; here all of them agree: "
            f"{effect_in_pag(found, outcome, treatment)} Ask effect_in_pag(...), or estimate_effect(...) with data."
        )
    if isinstance(found, PDAG | MAG | PAG):
        raise NotSupported(
            f"Identification is about one graph, and a {type(found).__name__} stands for a class of them. What all "
            "members agree on: adjustment_sets(...) or estimate_effect(...), and effect_in_pag(...) for a PAG."
        )
