"""One valid set to adjust for, so that an effect that has one gets its shortest estimand."""

from __future__ import annotations

from plausible.causal.identification.masks import MaskGraph, bits
from plausible.causal.identification.question import Effect
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node

__all__ = ["adjustment_set"]


def adjustment_set(graph: CausalGraph, masks: MaskGraph, effect: Effect) -> tuple[Node, ...] | None:
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
    masks
        The same graph as bit sets.
    effect
        The effect in question.
    """
    outcome, treatment, given = (masks.mask(nodes) for nodes in (effect.outcome, effect.treatment, effect.given))
    if given:
        forbidden = masks.descendants(treatment, masks.members)
        if forbidden & given:
            return None
        cut = graph.without_outgoing(effect.treatment)
    else:
        causal = _proper_causal_nodes(masks, outcome, treatment)
        forbidden = treatment | masks.descendants(causal, masks.members)
        cut = _without_first_edges(graph, effect.treatment, frozenset(masks.names(causal)))
    allowed = masks.names(masks.members & ~forbidden & ~outcome)
    found = cut.minimal_separator(effect.treatment, effect.outcome, effect.given, allowed)
    return None if found is None else tuple(node for node in masks.nodes if node in found.difference(effect.given))


def _proper_causal_nodes(masks: MaskGraph, outcome: int, treatment: int) -> int:
    """The nodes after the treatment on directed paths to the outcome that meet no second treatment."""
    rest = masks.members & ~treatment
    first = 0
    for place in bits(treatment):
        first |= masks.children[place]
    return masks.descendants(first & rest, rest) & masks.ancestors(outcome, rest)


def _without_first_edges(graph: CausalGraph, treatment: tuple[Node, ...], causal: frozenset[Node]) -> CausalGraph:
    cut = {(source, target) for source in treatment for target in causal.intersection(graph.children(source))}
    return CausalGraph(
        (edge for edge in graph.edges if not (edge.is_directed and edge.ends in cut)),
        nodes=graph.nodes,
    )
