"""The augmented graph: a parent for every node that stands for an intervention on it."""

from __future__ import annotations

from plausible.causal.queries.arguments import read_nodes
from plausible.errors import InvalidGraph
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, Nodes

__all__ = ["augmented_graph", "intervention_name"]


def intervention_name(node: Node) -> str:
    """The name of the node, or variable, that stands for an intervention on `node`.

    >>> intervention_name("S")
    'do(S)'
    """
    return f"do({node})"


def augmented_graph(
    graph: GraphLike[DAG | CausalGraph], variables: Nodes | None = None, intervened: Nodes = ()
) -> DAG | CausalGraph:
    """G†: the graph with a new parent `do(X)` for each X; and G†_Z̄, in which each Z keeps that parent only.

    What separates `do(X)` from Y tells whether it matters that X was set rather than seen: rules 2 and 3 of the
    do-calculus are separations in this graph. Linear in the edges.

    Parameters
    ----------
    graph
        A DAG, or a causal graph; its kind is kept.
    variables
        The nodes that get the new parent; all where left out.
    intervened
        Z: nodes that are set. They get the new parent too, and lose all other edges into them.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 21.3.1.

    Examples
    --------
    >>> augmented_graph("S -> T -> C; S <-> C", variables="T", intervened="S")
    CausalGraph('S -> T; T -> C; do(T) -> T; do(S) -> S')
    """
    causes = read_causes(graph)
    cut = read_nodes(causes, intervened)
    chosen = dict.fromkeys((*(causes.nodes if variables is None else read_nodes(causes, variables)), *cut))
    taken = set(causes.nodes)
    for name in map(intervention_name, chosen):
        if name in taken:
            raise InvalidGraph(
                f"There would be two nodes {name!r}. Give the graph before it was augmented, or rename one."
            )
        taken.add(name)
    kept = causes.without_incoming(cut)
    return type(kept)([*kept.edges, *((intervention_name(node), node) for node in chosen)], nodes=kept.nodes)
