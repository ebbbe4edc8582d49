"""What the graph of a class says, mostly a partial ancestral graph: ancestors, visible edges, paths, separation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias

from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.listing import Listing
from plausible.graphs.mark_masks import MarkMasks, bits, reach
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.pag_rules import collider_path_start, has_two_ways, uncovered_reach

#: Whether a node is an ancestor of another in all members of a class, in some but not all, or in none.
Ancestry: TypeAlias = Literal["certain", "possible", "impossible"]


def _read(pag: GraphLike[PAG]) -> tuple[MarkMasks, NodeIndex]:
    """The marks of a PAG that this is, has or writes, and the positions of its nodes."""
    known: PAG = read_as(pag, PAG)
    return MarkMasks.of(known), NodeIndex(known.nodes)


def possible_effects(graph: PDAG | MAG | PAG, starts: Iterable[Node], blocked: AbstractSet[Node]) -> frozenset[Node]:
    """The starts and what possibly directed paths lead to from them, along no blocked node.

    Such a path has no arrowhead towards its beginning, and no tail towards its end (`-` and `-o` tell of selection). In
    a PDAG, where `-` is an open direction, that is closed under Meek's rules it also has no two neighbours of a node on
    it adjacent: only then no edge outside of the path can contradict it (Perkovic, Kalisch & Maathuis 2017, lemma 3.6).
    Linear in the edges; in a PDAG times the degree.
    """
    return _possible_reach(graph, starts, blocked, forwards=True)


def possible_causes(graph: PDAG | MAG | PAG, starts: Iterable[Node], blocked: AbstractSet[Node]) -> frozenset[Node]:
    """The starts and all from which possibly directed paths lead to them, along no blocked node."""
    return _possible_reach(graph, starts, blocked, forwards=False)


def _possible_reach(
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


def definite_ancestors(pag: GraphLike[PAG], nodes: Nodes) -> frozenset[Node]:
    """The nodes that are ancestors of one of `nodes` in every member of the class.

    From such a node edges `->` lead to one of `nodes`, or two uncovered possibly directed paths lead to them or to
    such ancestors of them, whose second nodes are neither the same nor adjacent: as the node is no collider between
    these, one of the paths is directed. O(n × edges × degree). With selection, such a node is an ancestor of a
    selected one instead, unless an arrowhead points into it: see `causal_certainty`.

    Mooij & Claassen (2020), Constraint-based causal discovery using partial ancestral graphs in the presence of cycles,
    UAI, proposition 5.

    >>> sorted(definite_ancestors(PAG("D o-> G; I o-> G; G -> J; I o-o S"), "J"))
    ['G']
    """
    masks, index = _read(pag)
    goals = sum(1 << place for place in index.select(nodes))
    certain = reach(goals, masks.parents)
    found = {place for place in range(len(masks)) if certain >> place & 1 or _has_two_paths(masks, place, certain)}
    return frozenset(index.names(found)) - frozenset(index.names(index.select(nodes)))


def _has_two_paths(masks: MarkMasks, a: int, goals: int) -> bool:
    def beyond(node: int, _: int) -> int:
        return ~(masks.adjacent[node] | 1 << node)

    reach = {b: uncovered_reach(masks, a, b, beyond) for b in bits(masks.onward(a))}
    return has_two_ways(a, goals, reach, beyond)


def possible_ancestors(pag: GraphLike[PAG], nodes: Nodes) -> frozenset[Node]:
    """The nodes that are ancestors of one of `nodes` in some member: those with a possibly directed path. Linear.

    >>> sorted(possible_ancestors(PAG("D o-> G; I o-> G; G -> J; I o-o S"), "J"))
    ['D', 'G', 'I', 'S']
    """
    known: PAG = read_as(pag, PAG)
    index = NodeIndex(known.nodes)
    goals = index.names(index.select(nodes))
    return possible_causes(known, goals, frozenset()) - frozenset(goals)


def ancestry(pag: GraphLike[PAG], ancestor: Node, descendant: Node) -> Ancestry:
    """Whether a node is an ancestor of another in all members, in some, or in none.

    >>> pag = PAG("X o-> Y")
    >>> ancestry(pag, "X", "Y"), ancestry(pag, "Y", "X")
    ('possible', 'impossible')
    """
    if ancestor in definite_ancestors(pag, descendant):
        return "certain"
    return "possible" if ancestor in possible_ancestors(pag, descendant) else "impossible"


def is_visible(pag: GraphLike[PAG | MAG], cause: Node, effect: Node) -> bool:
    """Whether `cause -> effect` is there and no latent common cause of the two can be.

    Some node that is not adjacent to the effect then points into the cause, or begins a path into the cause whose
    inner nodes are colliders and parents of the effect. O(edges).

    Zhang (2008), Causal reasoning with ancestral graphs, Journal of Machine Learning Research 9, definition 8.

    >>> pag = PAG("D o-> G; I o-> G; G -> J; I o-o S")
    >>> is_visible(pag, "G", "J"), is_visible(pag, "D", "G")
    (True, False)
    """
    graph: PAG | MAG = read_as(pag, PAG, MAG)
    if not graph.has_edge(cause, effect):
        return False
    index = NodeIndex(graph.nodes)
    return collider_path_start(MarkMasks.of(graph), index.position(cause), index.position(effect)) is not None


def visible_edges(pag: GraphLike[PAG]) -> tuple[Edge, ...]:
    """The edges `->` that hide no latent common cause.

    >>> visible_edges(PAG("A o-> B; C o-> B; B -> D"))
    (Edge.of('B', '->', 'D'),)
    """
    known: PAG = read_as(pag, PAG)
    masks, index = _read(known)
    return tuple(
        edge
        for edge in known.edges
        if edge.is_directed
        and collider_path_start(masks, index.position(edge.left), index.position(edge.right)) is not None
    )


def possibly_directed_paths(
    pag: GraphLike[PAG], source: Node, target: Node, limit: int = 100
) -> Listing[tuple[Node, ...]]:
    """The paths from a node to another without an arrowhead towards the source or a tail towards the target.

    Each is directed in some member if it is uncovered. Shortest first are not promised; only nodes from which the
    target can be reached are visited. There can be exponentially many.

    >>> possibly_directed_paths(PAG("A o-o B o-o C; A o-> C"), "A", "C")
    [('A', 'C'), ('A', 'B', 'C')]
    """
    masks, index = _read(pag)
    start, goal = index.position(source), index.position(target)
    useful = frozenset(index.positions[node] for node in possible_ancestors(pag, target)) | {goal}
    return Listing(lambda: map(index.names, _open_paths(masks, start, goal, useful)), limit)


def _open_paths(masks: MarkMasks, start: int, goal: int, useful: frozenset[int]) -> Iterator[tuple[int, ...]]:
    """The paths by position, through useful nodes only."""
    stack: list[tuple[int, ...]] = [(start,)]
    while stack:
        path = stack.pop()
        if path[-1] == goal:
            yield path
            continue
        onward = [node for node in bits(masks.onward(path[-1])) if node in useful and node not in path]
        stack += [(*path, node) for node in sorted(onward, key=lambda node: (node != goal, node), reverse=True)]


def pag_separated(pag: GraphLike[PAG], x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
    """Whether `x` and `y` are m-separated given others, in all members: they agree on that.

    So they are if no path is active on which it is clear of every inner node whether it is a collider: two arrowheads,
    or a tail, or two circles and neighbours that are not adjacent. Of `x` and `y`, nodes that are also given are
    ignored. O(edges × degree).

    Zhang (2008), Causal reasoning with ancestral graphs, Journal of Machine Learning Research 9, section 3.

    >>> pag = PAG("D o-> G; I o-> G; G -> J; I o-o S")
    >>> pag_separated(pag, "D", "S"), pag_separated(pag, "D", "S", given="J")
    (True, False)
    """
    masks, index = _read(pag)
    observed = sum(1 << place for place in index.select(given))
    starts = [place for place in index.select(x) if not observed >> place & 1]
    targets = sum(1 << place for place in index.select(y)) & ~observed
    seen = {(start, first) for start in starts for first in bits(masks.adjacent[start])}
    frontier, reached = list(seen), sum(1 << start for start in starts)
    while frontier:
        before, node = frontier.pop()
        reached |= 1 << node
        for after in bits(active_steps(masks, before, node, bool(observed >> node & 1))):
            if (node, after) not in seen:
                seen.add((node, after))
                frontier.append((node, after))
    return not reached & targets


def active_steps(masks: MarkMasks, before: int, node: int, is_observed: bool) -> int:
    """Where an active walk may go after two nodes; it passes a collider by going down to an observed one and back."""
    bit = 1 << before
    if is_observed:
        return masks.arrow[node] if masks.arrow[node] & bit else 0
    if masks.tail[node] & bit:
        return masks.adjacent[node] & ~bit
    open_ends = masks.tail[node] & ~bit
    if not masks.arrow[node] & bit:
        open_ends |= masks.circle(node) & ~(masks.adjacent[before] | bit)
    return open_ends
