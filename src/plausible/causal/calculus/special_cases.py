"""What needs no search: requisite distributions, effects that are associations, and effects that are none."""

from __future__ import annotations

from plausible.causal.calculus.rules import Quantity, RuleStep, rule_2, rule_3
from plausible.causal.queries.arguments import CausalLike, read_causal, read_nodes
from plausible.causal.queries.augmented import augmented_graph, intervention_name
from plausible.graphs.nodes import Node, Nodes


def has_requisite_cpd(graph: CausalLike, node: Node, outcome: Nodes, given: Nodes = (), intervened: Nodes = ()) -> bool:
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


def requisite_cpds(graph: CausalLike, outcome: Nodes, given: Nodes = (), intervened: Nodes = ()) -> frozenset[Node]:
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


def effect_is_association(graph: CausalLike, outcome: Nodes, treatment: Nodes) -> RuleStep:
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


def effect_is_absent(graph: CausalLike, outcome: Nodes, treatment: Nodes) -> RuleStep:
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
