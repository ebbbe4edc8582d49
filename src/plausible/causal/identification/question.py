"""What identification is asked: an effect, and the causal graph over the observed variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph, latent_projection, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, NodeIndex, Nodes

__all__ = ["Effect", "Question", "node_list", "read_question"]


@dataclass(frozen=True, slots=True)
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
    """The question in names that the graph knows, with latent variables projected out.

    Parameters
    ----------
    graph
        A DAG or causal graph, a model with one, or arrow text.
    outcome, treatment, given
        A node or several each.
    observed
        The nodes that can be measured; all, where left out.
    """
    causes = read_causes(graph)
    index = NodeIndex(causes.nodes)
    effect = Effect(*(index.names(index.select(nodes)) for nodes in (outcome, treatment, given)))
    _refuse_overlap(effect)
    if observed is None:
        return Question(causes if isinstance(causes, CausalGraph) else CausalGraph(causes), effect)
    seen = set(index.names(index.select(observed)))
    for node in (*effect.outcome, *effect.treatment, *effect.given):
        if node not in seen:
            raise InvalidArgument(
                f"{effect} asks about {node!r}, which observed= leaves out: nothing is known of its distribution."
            )
    return Question(latent_projection(causes, seen), effect)


def _refuse_overlap(effect: Effect) -> None:
    if not effect.outcome:
        raise InvalidArgument("An effect needs an outcome: name at least one node.")
    roles = {"outcome": effect.outcome, "treatment": effect.treatment, "given": effect.given}
    seen: dict[Node, str] = {}
    for role, nodes in roles.items():
        for node in nodes:
            if node in seen:
                raise InvalidArgument(f"{node!r} is both {seen[node]} and {role}; let it have one role only.")
            seen[node] = role
