"""Requisite distributions: those that a conditional probability can depend on."""

from __future__ import annotations

from plausible.causal.queries.arguments import read_causal, read_nodes
from plausible.causal.queries.augmented_graph import augmented_graph, intervention_name
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, Nodes

__all__ = ["has_requisite_cpd", "requisite_cpds"]


def has_requisite_cpd(
    graph: GraphLike[DAG | CausalGraph], node: Node, outcome: Nodes, given: Nodes = (), intervened: Nodes = ()
) -> bool:
    """Whether P(outcome | given) can depend on the mechanism of a node: its intervention node has an active trail.

    With the node in `given` this is the test of rule 2 (it does not matter whether the node was seen or set), without
    it that of rule 3 (it does not matter whether it was set). Linear in the edges.

    Parameters
    ----------
    graph
        A DAG or a causal graph.
    node
        Whose conditional distribution to ask about.
    outcome, given
        The question P(outcome | given); a node or several each.
    intervened
        Nodes that are set; they count as given, and their own mechanisms are gone.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 21.3.1 and exercise 3.20.

    Examples
    --------
    >>> has_requisite_cpd("D -> G <- I -> S; G -> L", "L", outcome="I", given="G")
    False
    """
    causes = read_causal(graph)
    return set(read_nodes(causes, node)) <= requisite_cpds(causes, outcome, given, intervened)


def requisite_cpds(
    graph: GraphLike[DAG | CausalGraph], outcome: Nodes, given: Nodes = (), intervened: Nodes = ()
) -> frozenset[Node]:
    """The nodes whose conditional distributions P(outcome | given) can depend on.

    Parameters
    ----------
    graph
        A DAG or a causal graph.
    outcome, given
        The question P(outcome | given); a node or several each. Outcomes that are given have no say.
    intervened
        Nodes that are set; they count as given, and their own mechanisms are gone.

    Notes
    -----
    One separation for each node: O(nodes x edges).

    Examples
    --------
    >>> sorted(requisite_cpds("D -> G <- I -> S; G -> L", outcome="I", given="G"))
    ['D', 'G', 'I']
    >>> sorted(requisite_cpds("D -> G <- I -> S; G -> L", outcome="I", given="L", intervened="G"))
    ['I']
    """
    causes = read_causal(graph)
    cut = read_nodes(causes, intervened)
    observed = (*read_nodes(causes, given), *cut)
    asked = read_nodes(causes, outcome)
    hats = read_causal(augmented_graph(causes, None, cut))
    return frozenset(
        node
        for node in causes.nodes
        if node not in cut and not hats.m_separated(intervention_name(node), asked, observed)
    )
