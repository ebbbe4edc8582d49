"""Ancestral graphs: what a DAG with latent and selected nodes says about the others, without these nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import final

from plausible.base import own_methods
from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.mark_masks import MarkMasks, reach
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.marks import Edge, Incidence, Mark, closure, walk_reach
from plausible.graphs.mixed import SeparationGraph
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.text import quote


@final
@own_methods
class MAG(SeparationGraph):
    """A maximal ancestral graph: tails say "ancestor", arrowheads "no ancestor", and every absent edge a separation.

    Edges are `->`, `<->` and `-`, at most one between two nodes. It is *ancestral*: there is no directed cycle, no
    `A <-> B` with A an ancestor of B, and no arrowhead at an end of `-`. It is *maximal*: nodes that are not adjacent
    are m-separated by some set of the others, that is, no inducing path joins them. It is made as a `MixedGraph` is.

    Richardson & Spirtes (2002), Ancestral graph Markov models, Annals of Statistics 30.

    >>> MAG("A -> B <-> C <- D").m_separated("A", "D")
    True
    >>> MAG("A -> B -> C <-> A")
    Traceback (most recent call last):
    ...
    plausible.errors.InvalidGraph: 'A <-> C' says that neither end is an ancestor of the other, but A is one of C.
    """

    __slots__ = ()

    def _check(self) -> None:
        self._allow_only("->", "<->", "-")
        self._allow_one_edge_per_pair()
        _check_ancestral(self)
        for pair in _missing_edges(MarkMasks.of(self)):
            left, right = self._index.names(pair)
            raise InvalidGraph(
                f"This graph is not maximal: {left!r} and {right!r} are not adjacent, yet an inducing path joins "
                "them, so no set separates them. Add the edge between them that agrees with their ancestry."
            )


@final
@own_methods
class PAG(MarkedGraph):
    """A partial ancestral graph: the marks that all MAGs of a Markov equivalence class share; a circle is no such mark.

    A tail at A on an edge to B says that A is an ancestor of B (or of a selected node) in every member, an arrowhead
    that it is in none. At most one edge joins two nodes, and the marks that are known must agree as those of an
    ancestral graph do: no directed cycle, no `A <-> B` with A an ancestor of B, no arrowhead at an end of `-`.
    Whether the class has a member is not checked, and a PAG is no model: it does not answer causal queries. It is
    made as a `MixedGraph` is.

    Zhang (2008), Causal reasoning with ancestral graphs, Journal of Machine Learning Research 9.

    >>> PAG("I o-o S; D o-> G; I o-> G; G -> J").edges_between("D", "G")[0].mark_at("D")
    <Mark.CIRCLE: 'o'>
    """

    __slots__ = ()

    def _check(self) -> None:
        self._allow_one_edge_per_pair()
        _check_ancestral(self)


def _check_ancestral(graph: MarkedGraph) -> None:
    """Refuse marks that contradict each other as statements about ancestors."""
    directed = graph.directed_part()
    pointed_by = {end: edge for edge in graph.edges for end in edge.ends if edge.mark_at(end) is Mark.ARROW}
    for edge in graph.edges:
        for end in edge.ends:
            other = edge.other(end)
            if edge.is_bidirected and end in directed.ancestors(other):
                claim = f"{quote(end)} is one of {quote(other)}"
                raise InvalidGraph(f"'{edge}' says that neither end is an ancestor of the other, but {claim}.")
            if edge.is_undirected and end in pointed_by:
                raise InvalidGraph(f"The undirected edge '{edge}' meets the arrowhead of '{pointed_by[end]}'.")


def mag_of(graph: GraphLike[DAG | CausalGraph], *, latent: Nodes = (), selection: Nodes = ()) -> MAG:
    """The MAG over the nodes that are neither latent nor selected on.

    Nodes A and B are adjacent if an inducing path joins them: each of its colliders is an ancestor of A, B or a
    selected node, and its other inner nodes are latent. The mark at A is a tail if A is an ancestor of B or of a
    selected node. The m-separations of the result are those of the graph given the selected nodes. Costs one search,
    linear in the edges, for every pair that would be joined if all colliders were open.

    In a causal graph `<->` are latent common causes. Nodes that are `latent` are never observed; those of `selection`
    always, in one and the same state: what decides who enters the data.

    Richardson & Spirtes (2002), Ancestral graph Markov models, Annals of Statistics 30, section 4.2.

    >>> mag_of(DAG("A -> B <- L -> C <- D; B -> D"), latent="L")
    MAG('A -> B; A -> C; B -> C; B -> D; D -> C')
    >>> mag_of(DAG("A -> S <- B"), selection="S")
    MAG('A - B')
    """
    causes = CausalGraph(read_causes(graph))
    index = NodeIndex(causes.nodes)
    hidden, selected = set(index.select(latent)), set(index.select(selection))
    if hidden & selected:
        raise InvalidArgument(f"{index.names(hidden & selected)[0]!r} can't be both latent and selected on.")
    names = [node for i, node in enumerate(index.nodes) if i not in hidden and i not in selected]
    pairs = _inducing_pairs(causes._incident, hidden, selected)
    above = {node: causes.ancestors((node, *index.names(selected))) for node in names}

    def mark(node: Node, other: Node) -> Mark:
        return Mark.TAIL if node in above[other] else Mark.ARROW

    edges = [Edge(a, b, mark(a, b), mark(b, a)) for a, b in map(index.names, pairs)]
    return MAG(edges, nodes=names)


def _inducing_pairs(incident: Incidence, latent: set[int], selected: set[int]) -> Iterator[tuple[int, int]]:
    """The pairs of positions, neither latent nor selected, that an inducing path joins."""
    size = len(incident)
    is_latent = [node in latent for node in range(size)]
    ancestral = [
        {node, *closure(incident, [node], Mark.ARROW, Mark.TAIL)} if node not in latent else set()
        for node in range(size)
    ]
    of_selected = set().union(*(ancestral[node] for node in selected))
    kept = [node for node in range(size) if node not in latent and node not in selected]
    # Opening all colliders first leaves few pairs to look at closely.
    within_reach = {node: walk_reach(incident, [node], [True] * size, is_latent) for node in kept}
    for a, b in combinations(kept, 2):
        if b in within_reach[a]:
            opened = ancestral[a] | ancestral[b] | of_selected
            if b in walk_reach(incident, [a], [node in opened for node in range(size)], is_latent):
                yield a, b


def _missing_edges(masks: MarkMasks) -> Iterator[tuple[int, int]]:
    """The pairs of an ancestral graph that are not adjacent, yet joined by an inducing path.

    Its inner nodes are colliders and ancestors of an end; one that both ends point into is no ancestor of either, so
    that edges `<->` join two or more of them.
    """
    siblings = [masks.arrow[node] & masks.arrow_from[node] for node in range(len(masks))]
    inner = sum(1 << node for node, row in enumerate(siblings) if row)
    ends = [node for node in range(len(masks)) if masks.arrow_from[node] & inner]
    above = {node: reach(1 << node, masks.parents) for node in ends}
    for a, b in combinations(ends, 2):
        opened = (above[a] | above[b]) & inner
        first, last = masks.arrow_from[a] & opened, masks.arrow_from[b] & opened
        if first and last and not masks.adjacent[a] >> b & 1 and reach(first, siblings.__getitem__, opened) & last:
            yield a, b
