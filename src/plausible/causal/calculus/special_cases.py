"""The two easiest effects: the one that is an association, and the one that is none."""

from __future__ import annotations

from plausible.causal.calculus.quantity import Quantity
from plausible.causal.calculus.rules import RuleStep, rule_2, rule_3
from plausible.causal.queries.arguments import read_causal, read_nodes
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Nodes

__all__ = ["effect_is_absent", "effect_is_association"]


def effect_is_association(graph: GraphLike[DAG | CausalGraph], outcome: Nodes, treatment: Nodes) -> RuleStep:
    """Whether P(Y | do(x)) = P(Y | x): rule 2 with nothing else set or seen, Y ⟂ X̂ | X in G†.

    Parameters
    ----------
    graph
        A DAG or a causal graph.
    outcome, treatment
        Y and X, a node or several each.

    Examples
    --------
    >>> bool(effect_is_association("D -> G <- I -> S; G -> J", "J", "G"))
    True
    >>> bool(effect_is_association("D -> G <- I -> S; G -> J; S -> J", "J", "G"))
    False
    """
    causes = read_causal(graph)
    x = read_nodes(causes, treatment)
    return rule_2(causes, Quantity(read_nodes(causes, outcome), do=x), x)


def effect_is_absent(graph: GraphLike[DAG | CausalGraph], outcome: Nodes, treatment: Nodes) -> RuleStep:
    """Whether P(Y | do(x)) = P(Y): rule 3 with nothing else set or seen; no directed path leads from X to Y.

    Parameters
    ----------
    graph, outcome, treatment
        As for `effect_is_association`.

    Examples
    --------
    >>> print(effect_is_absent("D -> G <- I -> S; G -> J", "S", "G"))
    P(S | do(g)) = P(S)   [rule 3: S ⟂ do(G) in G†]
    """
    causes = read_causal(graph)
    x = read_nodes(causes, treatment)
    return rule_3(causes, Quantity(read_nodes(causes, outcome), do=x), x)
