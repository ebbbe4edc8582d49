"""Hedges: the structures that make an effect impossible to identify."""

from __future__ import annotations

from plausible.base.records import record
from plausible.causal.identification.districts import Failure
from plausible.causal.identification.masks import MaskGraph
from plausible.causal.identification.question import Effect, node_list
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.mark_masks import bits
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node

#: At most so many nodes are named in a short message.
_SHOWN = 8


@record
class Hedge:
    """Two forests that prove an effect not identifiable (Shpitser & Pearl 2006, theorem 4).

    Both are connected by edges `<->`, in both every node has at most one child, and both lead to the same roots, which
    are ancestors of the outcome that no treatment cuts off. The outer one holds treatments, the inner one none.
    """

    effect: Effect  # What is not identifiable
    outer: CausalGraph  # F: a subgraph, its nodes and its edges
    inner: CausalGraph  # F′: a subgraph of F
    roots: tuple[Node, ...]  # The nodes without children, the same in both

    def explain(self) -> str:
        """Why the effect is not identifiable, in words.

        >>> from plausible.causal.identification.algorithm import find_hedge
        >>> print(find_hedge("X -> Y; X <-> Y", "Y", "X").explain())
        P(Y | do(X)) is not identifiable, as there is a hedge:
          F  = {X, Y}, with X in it, which is set:  X <-> Y; X -> Y
          F' = {Y}, with no treatment in it:  Y
        In each, latent common causes join all nodes, and all lead to the same roots: Y.
        Two models can agree on everything observed and differ in what the intervention does to Y.
        """
        treated = tuple(node for node in self.outer.nodes if node in self.effect.treatment)
        roots, verb = node_list(self.roots), "is" if len(treated) == 1 else "are"
        return "\n".join(
            [
                f"{self.effect} is not identifiable, as there is a hedge:",
                f"  F  = {_braced(self.outer)}, with {node_list(treated)} in it, which {verb} set:  {self.outer}",
                f"  F' = {_braced(self.inner)}, with no treatment in it:  {self.inner}",
                f"In each, latent common causes join all nodes, and all lead to the same roots: {roots}.",
                f"Two models can agree on everything observed and differ in what the intervention does to {roots}.",
            ]
        )

    def __str__(self) -> str:
        return f"hedge with F = {_braced(self.outer)} and F' = {_braced(self.inner)}"


def _braced(graph: CausalGraph) -> str:
    more = f", ... ({len(graph)} nodes)" if len(graph) > _SHOWN else ""
    return "{" + node_list(graph.nodes[:_SHOWN]) + more + "}"


def hedge_of(graph: MaskGraph, failure: Failure, effect: Effect) -> Hedge:
    """A hedge inside of the graph at which the algorithm failed, from which no node can be spared."""
    treatment = graph.mask(effect.treatment)
    sinks = sum(1 << place for place in bits(failure.inner) if not graph.children[place] & failure.inner)
    singles = (1 << place for place in bits(failure.inner))
    rooted = (_smallest(graph, failure.outer, roots, treatment) for roots in (*singles, sinks))
    outer, inner, roots = next(found for found in rooted if found is not None)
    inner_edges = _trees(graph, inner, roots & -roots) + _child_edges(graph, inner & ~roots, inner)
    outer_edges = inner_edges + _trees(graph, outer, inner) + _child_edges(graph, outer & ~inner, outer)
    names = graph.names
    return Hedge(
        effect,
        CausalGraph(outer_edges, nodes=names(outer)),
        CausalGraph(inner_edges, nodes=names(inner)),
        names(roots),
    )


def _smallest(graph: MaskGraph, within: int, roots: int, treatment: int) -> tuple[int, int, int] | None:
    """The nodes of F and F′ with these roots, after dropping each node that can be spared; `None` if there are none."""
    best = _forests(graph, within, roots, treatment)
    if best is None:
        return None
    for place in bits(best[0] & ~roots):
        best = _forests(graph, best[0] & ~(1 << place), roots, treatment) or best
    return best[0], best[1], roots


def _forests(graph: MaskGraph, within: int, roots: int, treatment: int) -> tuple[int, int] | None:
    outer, inner = _forest(graph, within, roots), _forest(graph, within & ~treatment, roots)
    return (outer, inner) if outer & treatment and inner else None


def _forest(graph: MaskGraph, within: int, roots: int) -> int:
    """The largest part of `within` that is one district and consists of ancestors of the roots; empty if none is."""
    while roots & within == roots:
        smaller = graph.ancestors(roots, graph.district(roots & -roots, within))
        if roots & smaller == roots and smaller == within:
            return within
        within = smaller
    return 0


def _child_edges(graph: MaskGraph, nodes: int, within: int) -> list[Edge]:
    """One edge to a child for each of the nodes."""
    children = {place: next(bits(graph.children[place] & within)) for place in bits(nodes)}
    return [Edge.of(graph.nodes[place], "->", graph.nodes[child]) for place, child in children.items()]


def _trees(graph: MaskGraph, within: int, found: int) -> list[Edge]:
    """Edges `<->` that join the rest of a district to what is found of it, as few as will do."""
    edges: list[Edge] = []
    frontier = list(bits(found))
    while frontier:
        place = frontier.pop()
        for other in bits(graph.siblings[place] & within & ~found):
            found |= 1 << other
            edges.append(Edge.of(graph.nodes[place], "<->", graph.nodes[other]))
            frontier.append(other)
    return edges
