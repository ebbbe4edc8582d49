"""Paths that are directed in some member of a class of graphs, and one member of it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from plausible.errors import NotSupported
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.ancestral_class import directed_ends
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.mark_masks import MarkMasks
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.marks import Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node


def possible_effects(graph: PDAG | MAG | PAG, starts: Iterable[Node], blocked: AbstractSet[Node]) -> frozenset[Node]:
    """The starts and what possibly directed paths lead to from them, along no blocked node.

    Such a path has no arrowhead towards its beginning, and no tail towards its end (`-` and `-o` tell of selection). In
    a PDAG, where `-` is an open direction, that is closed under Meek's rules it also has no two neighbours of a node on
    it adjacent: only then no edge outside of the path can contradict it (Perkovic, Kalisch & Maathuis 2017, lemma 3.6).
    Linear in the edges; in a PDAG times the degree.

    Examples
    --------
    >>> sorted(possible_effects(PAG("A o-> B; C o-> B; B -> D"), "A", frozenset()))
    ['A', 'B', 'D']
    """
    return _reach(graph, starts, blocked, forwards=True)


def possible_causes(graph: PDAG | MAG | PAG, starts: Iterable[Node], blocked: AbstractSet[Node]) -> frozenset[Node]:
    """The starts and all from which possibly directed paths lead to them, along no blocked node.

    Examples
    --------
    >>> sorted(possible_causes(PDAG("A - B; B -> D; C -> D"), "D", {"B"}))
    ['C', 'D']
    """
    return _reach(graph, starts, blocked, forwards=False)


def _reach(
    graph: MarkedGraph, starts: Iterable[Node], blocked: AbstractSet[Node], *, forwards: bool
) -> frozenset[Node]:
    index, incident = graph._index, graph._incident
    closed = set(index.select(blocked))
    found = set(index.select(list(starts))) - closed
    nearby = [{other for other, _, _ in row} for row in incident] if isinstance(graph, PDAG) else None
    frontier = [(-1, start) for start in found]
    seen = set(frontier)
    while frontier:
        before, node = frontier.pop()
        for other, here, there in incident[node]:
            near, far = (here, there) if forwards else (there, here)
            if other in closed or near is Mark.ARROW or (nearby is None and far is Mark.TAIL):
                continue
            if nearby and before >= 0 and (other == before or other in nearby[before]):
                continue
            state = (node if nearby else -1, other)
            if state not in seen:
                seen.add(state)
                found.add(other)
                frontier.append(state)
    return frozenset(index.names(found))


def ancestral_member(graph: MAG | PAG) -> CausalGraph:
    """One MAG of the class: `o->` as `->`, and the edges `o-o` directed without a new collider.

    Whether the graph stands for a class is not checked, so that one with marks from knowledge will do.

    Examples
    --------
    >>> ancestral_member(PAG("A o-o B o-o C"))
    CausalGraph('A -> B; B -> C')
    """
    for edge in graph.edges:
        if Mark.ARROW not in (edge.left_mark, edge.right_mark) and Mark.TAIL in (edge.left_mark, edge.right_mark):
            raise NotSupported(f"'{edge}' tells of selection: no effect in the selected can be told from this graph.")
    return CausalGraph(directed_ends(MarkMasks.of(graph)).edges(graph.nodes), nodes=graph.nodes)
