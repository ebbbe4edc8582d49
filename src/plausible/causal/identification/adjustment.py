"""One valid set to adjust for, so that an effect that has one gets its shortest estimand."""

from __future__ import annotations

from plausible.causal.adjustment.problem import causal_nodes, without_first_edges
from plausible.causal.identification.question import Effect
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node

__all__ = ["minimal_adjustment"]


def minimal_adjustment(graph: CausalGraph, effect: Effect) -> tuple[Node, ...] | None:
    """A minimal W with P(y | do(x), z) = Σ_w P(y | x, w, z) P(w | z); `None` where there is none.

    Without conditions z: no member of W lies on or below a proper causal path, and W separates x from y once the first
    edges of these paths are cut, which is the complete criterion. With conditions: W and z are no descendants of x, and
    together they separate x from y once all edges out of x are cut (rules 2 and 3). Linear in the edges of the moral
    graph.

    References
    ----------
    van der Zander, Liskiewicz & Textor (2014), Constructing separators and adjustment sets in ancestral graphs, UAI.

    Parameters
    ----------
    graph
        The causal graph over the observed variables.
    effect
        The effect in question.
    """
    y, x, given = effect.outcome, effect.treatment, effect.given
    if given:
        forbidden = graph.descendants(x).union(x)
        if not forbidden.isdisjoint(given):
            return None
        cut = graph.without_outgoing(x)
    else:
        between = causal_nodes(graph, y, x)
        forbidden = between.union(graph.descendants(between), x)
        cut = without_first_edges(graph, x, between)
    allowed = [node for node in graph.nodes if node not in forbidden and node not in y]
    found = cut.minimal_separator(x, y, given, allowed)
    return None if found is None else tuple(node for node in graph.nodes if node in found and node not in given)
