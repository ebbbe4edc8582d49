"""Markov equivalence classes of ancestral graphs: the PAG of a graph, and the members of a PAG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from plausible.errors import InvalidArgument, InvalidGraph, NotSupported
from plausible.graphs.ancestral import MAG, PAG, mag_of
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import consistent_extension
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.listing import Listing
from plausible.graphs.mark_masks import MarkMasks, bits, reach
from plausible.graphs.marks import Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.pag_rules import DiscriminatingPath, MarkRules

#: So many completions are tried before a graph with knowledge in its marks counts as one without a member.
_MAX_TRIES = 100


def pag_of(graph: GraphLike[DAG | CausalGraph | MAG], *, latent: Nodes = (), selection: Nodes = ()) -> PAG:
    """The PAG that endless data about the observed nodes could tell: the marks that all equivalent MAGs share.

    The MAG over the observed nodes gives the skeleton and the unshielded colliders; the other marks follow by rules
    R1 to R10, where the MAG says which nodes of discriminating paths are colliders. Polynomial. For `latent` and
    `selection` see `mag_of`.

    Zhang (2008), On the completeness of orientation rules for causal discovery in the presence of latent confounders
    and selection bias, Artificial Intelligence 172.

    >>> pag_of("D -> G <- I -> S; G -> J")
    PAG('D o-> G; I o-> G; G -> J; I o-o S')
    >>> pag_of("A -> B <- L -> C <- D", latent="L")
    PAG('A o-> B; B <-> C; D o-> C')
    """
    known: DAG | CausalGraph | MAG = read_as(graph, DAG, CausalGraph, MAG)
    if not isinstance(known, MAG):
        mag = mag_of(known, latent=latent, selection=selection)
    elif (latent, selection) == ((), ()):
        mag = known
    else:
        raise InvalidArgument("A MAG is about observed nodes already: give latent= and selection= with a DAG.")
    return PAG(_class_marks(mag).edges(mag.nodes), nodes=mag.nodes)


def _class_marks(mag: MAG) -> MarkMasks:
    """The marks that all members of the class of a MAG share."""
    true = MarkMasks.of(mag)
    masks = MarkMasks(true.adjacent)
    for b in range(len(true)):
        for a in bits(true.arrow[b]):
            if true.arrow[b] & ~(true.adjacent[a] | 1 << a):
                masks.put(b, a, Mark.ARROW)

    _rules(masks, true).close()
    return masks


def _rules(masks: MarkMasks, member: MarkMasks) -> MarkRules:
    """The rules, told by a member what separates the ends of discriminating paths: all that is anterior to them."""

    def is_collider(path: DiscriminatingPath) -> bool:
        anterior = reach(1 << path.theta | 1 << path.gamma, member.tail_from.__getitem__)
        return not anterior >> path.beta & 1

    # Without an undirected edge in one member no undirected edge is in all.
    return MarkRules(masks, is_collider, selection=any(_lines(member)))


def pag_member(pag: GraphLike[PAG], having: Iterable[tuple[Node, Node, Mark]] = ()) -> MAG:
    """One MAG of the class, with as few arrowheads as there can be.

    `o->` and `-o` become `->`, and the edges `o-o`, which form a chordal graph, are directed without a new unshielded
    collider. Marks that are asked for come first, with what follows from them; the others are then tried one by one,
    tails first, and those that lead to a contradiction are given up. The PAG may be a result that has one, or arrow
    text. `having` are marks (node, other end, mark) that the member must have: each at a node on its edge to another.

    Raises
    ------
    InvalidGraph
        If the graph is no PAG of any MAG, as the one learned from few rows may not be; or if no member has the marks.

    Zhang (2008), On the completeness of orientation rules, theorem 2.

    >>> pag_member(PAG("D o-> G; I o-> G; G -> J; I o-o S"))
    MAG('D -> G; I -> G; G -> J; I -> S')
    >>> pag_member(PAG("D o-> G; I o-> G; G -> J; I o-o S"), having=[("D", "G", Mark.ARROW), ("I", "S", Mark.ARROW)])
    MAG('D <-> G; I -> G; G -> J; S -> I')
    """
    known: PAG = read_as(pag, PAG)
    masks = MarkMasks.of(known)
    member = _mag(masks, known)
    if member is None or not is_member(member, known):
        raise InvalidGraph(
            "No MAG has exactly these marks in all members of its class, so this graph stands for no class. One "
            "learned from few rows can have marks that contradict each other: see its conflicts, and try another "
            "alpha= or variant='conservative'."
        )
    wanted = list(_read_marks(known, having))
    if not wanted:
        return member
    for node, other, mark in wanted:
        masks.want(node, other, mark)
    masks.settle()
    true = MarkMasks.of(member)
    found = _first_completion(
        masks,
        known,
        [node for node, _, _ in wanted],
        close=lambda work: _rules(work, true).close(),
        accepts=lambda mag: is_member(mag, known),
    )
    if found is None:
        shown = ", ".join(
            f"{mark.name.lower()} at {known.nodes[node]!r} towards {known.nodes[other]!r}"
            for node, other, mark in wanted
        )
        raise InvalidGraph(f"No member of the class without further edges '-' has all these marks: {shown}.")
    return found


def _read_marks(pag: PAG, having: Iterable[tuple[Node, Node, Mark]]) -> Iterator[tuple[int, int, Mark]]:
    """The marks that are asked for, with positions for nodes."""
    index = NodeIndex(pag.nodes)
    for asked in having:
        if not isinstance(asked, tuple) or len(asked) != 3:
            raise InvalidArgument(f"having= lists marks such as ('A', 'B', Mark.TAIL), for a tail at A, not {asked!r}.")
        node, other, mark = asked
        a, b = index.position(node), index.position(other)
        if mark not in (Mark.TAIL, Mark.ARROW):
            raise InvalidArgument(f"having= asks for {mark!r} at {node!r}: a member has Mark.TAIL or Mark.ARROW there.")
        if not pag.is_adjacent(node, other):
            raise InvalidArgument(f"having= asks for a mark at {node!r} on an edge to {other!r}, but there is no edge.")
        yield a, b, mark


def stands_for_class(pag: GraphLike[PAG], *, narrowed: bool = False) -> bool:
    """Whether some MAG has exactly these marks in all members of its class.

    The checks of a PAG itself look at marks one by one; a cycle of `o-o` without chord passes them, though without
    selection no MAG has it. O(n² × edges) at worst; with `narrowed` at most 100 times that. With `narrowed` knowledge
    may have made more marks than the class has: then it is enough that some of its members have them. Members are
    looked for, and not all where there are many.

    >>> stands_for_class("A o-> B; C o-> B"), stands_for_class("A o-o B o-o C o-o D o-o A")
    (True, False)
    >>> stands_for_class("A -> B"), stands_for_class("A -> B", narrowed=True)
    (False, True)
    """
    known: PAG = read_as(pag, PAG)
    masks = MarkMasks.of(known)
    if not narrowed:
        member = _mag(masks, known)
        return member is not None and is_member(member, known)

    def rules(work: MarkMasks) -> MarkRules:
        return MarkRules(work, lambda _: None, selection=any(_lines(masks)))

    if any(rules(masks).circle_cycles()):
        return False
    found = _first_completion(
        masks.copy(),
        known,
        (),
        close=lambda work: rules(work).close(),
        accepts=lambda mag: _is_narrower(masks, _class_marks(mag)),
        max_tries=_MAX_TRIES,
    )
    return found is not None


def _is_narrower(masks: MarkMasks, of_class: MarkMasks) -> bool:
    """Whether all marks of a class are there."""
    return all(
        not (of_class.arrow[node] & ~masks.arrow[node] or of_class.tail[node] & ~masks.tail[node])
        for node in range(len(masks))
    )


def directed_ends(masks: MarkMasks) -> MarkMasks:
    """The marks with `->` for `o->` and `-o`, and `o-o` directed without an unshielded collider among them.

    In the PAG of a class this makes a member (Zhang 2008, On the completeness of orientation rules, theorem 2). Where
    the edges `o-o` do not form a chordal graph they can't be directed: `InvalidGraph`.
    """
    circles = [(a, b) for a in range(len(masks)) for b in bits(masks.circle(a) & masks.circle_from(a)) if a < b]
    lines = PDAG([(a, "-", b) for a, b in circles], nodes=range(len(masks)))
    full = masks.copy()
    for tail, head in consistent_extension(lines).edges:
        a, b = int(str(tail)), int(str(head))
        full.put(a, b, Mark.TAIL)
        full.put(b, a, Mark.ARROW)
    for node in range(len(masks)):
        for other in bits(masks.circle(node) & masks.arrow_from[node]):
            full.put(node, other, Mark.TAIL)
        for other in bits(masks.circle(node) & masks.tail_from[node]):
            full.put(node, other, Mark.ARROW)
    return full


def is_member(mag: GraphLike[MAG], pag: GraphLike[PAG]) -> bool:
    """Whether the PAG is that of the class of a MAG.

    >>> is_member(MAG("A <-> B"), PAG("A o-o B")), is_member(MAG("A -> B <- C"), PAG("A o-o B o-o C"))
    (True, False)
    """
    member: MAG = read_as(mag, MAG)
    known: PAG = read_as(pag, PAG)
    return pag_of(member) == known


def pag_members(pag: GraphLike[PAG], limit: int | None = None, *, selection: bool = False) -> Listing[MAG]:
    """The MAGs of the class, each once.

    Circles become tails and arrowheads one by one, each followed by what the rules make of it; a try that leads to a
    contradiction is given up. There can be exponentially many. With `selection` members may have edges `-` beyond those
    in all members.

    >>> [str(member) for member in pag_members(PAG("A o-o B"))]
    ['A -> B', 'B -> A', 'A <-> B']
    """
    known: PAG = read_as(pag, PAG)
    member = pag_member(known)
    return Listing(lambda: _completions(MarkMasks.of(known), member, known, selection), limit)


def _completions(masks: MarkMasks, member: MAG, pag: PAG, selection: bool) -> Iterator[MAG]:
    """The members with the marks that there are, those with few arrowheads first."""
    true, waiting = MarkMasks.of(member), [masks]
    fixed_lines = {(a, b) for a, row in enumerate(_lines(MarkMasks.of(pag))) for b in bits(row)}
    while waiting:
        work = waiting.pop()
        _rules(work, true).close()
        if work.conflicts or not _is_consistent(work, pag, fixed_lines, selection):
            continue
        end = next(((a, b) for a in range(len(work)) for b in bits(work.circle(a))), None)
        if end is not None:
            waiting += _tries(work, *end)
        elif (found := _mag(work, pag)) is not None and is_member(found, pag):
            yield found


def _first_completion(
    masks: MarkMasks,
    pag: PAG,
    nodes: Sequence[int],
    *,
    close: Callable[[MarkMasks], None],
    accepts: Callable[[MAG], bool],
    max_tries: int | None = None,
) -> MAG | None:
    """A MAG with the marks that there are: circles next to some nodes are tried until the others need no trying."""
    waiting, num_tries = [masks], 0
    fixed_lines = {(a, b) for a, row in enumerate(_lines(MarkMasks.of(pag))) for b in bits(row)}
    around = [*nodes, *(b for a in nodes for b in bits(masks.adjacent[a]))]
    order = list(dict.fromkeys([*around, *range(len(masks))]))
    while waiting and num_tries != max_tries:
        num_tries += 1
        work = waiting.pop()
        close(work)
        if work.conflicts or not _is_consistent(work, pag, fixed_lines, selection=False):
            continue
        found = _mag(work, pag)
        if found is not None and accepts(found):
            return found
        end = next(((a, b) for a in order for b in bits(work.circle(a))), None)
        if end is not None:
            waiting += _tries(work, *end)
    return None


def _tries(masks: MarkMasks, node: int, other: int) -> Iterator[MarkMasks]:
    """Both marks for a circle; the last is tried first: a tail, unless the other end has one."""
    marks = (Mark.ARROW, Mark.TAIL)
    for mark in reversed(marks) if masks.mark(other, node) is Mark.TAIL else marks:
        turned = masks.copy()
        turned.put(node, other, mark)
        yield turned


def _is_consistent(masks: MarkMasks, pag: PAG, fixed_lines: set[tuple[int, int]], selection: bool) -> bool:
    """Whether the marks agree with each other as far as they are known, and edges `-` are where they may be."""
    lines = ((a, b) for a, row in enumerate(_lines(masks)) for b in bits(row))
    if not selection and any(line not in fixed_lines for line in lines):
        return False
    try:
        PAG(masks.edges(pag.nodes), nodes=pag.nodes)
    except InvalidGraph:
        return False
    return True


def _lines(masks: MarkMasks) -> list[int]:
    """For each node the other ends of its edges `-`."""
    return [masks.tail[node] & masks.tail_from[node] for node in range(len(masks))]


def _mag(masks: MarkMasks, pag: PAG) -> MAG | None:
    """The graph with its open ends directed; `None` if that is no MAG."""
    try:
        return MAG(directed_ends(masks).edges(pag.nodes), nodes=pag.nodes)
    except InvalidGraph:
        return None


def ancestral_member(graph: MAG | PAG) -> CausalGraph:
    """One MAG of the class: `o->` as `->`, and the edges `o-o` directed without a new collider.

    Whether the graph stands for a class is not checked, so that one with marks from knowledge will do.
    """
    for edge in graph.edges:
        if Mark.ARROW not in (edge.left_mark, edge.right_mark) and Mark.TAIL in (edge.left_mark, edge.right_mark):
            raise NotSupported(f"'{edge}' tells of selection: no effect in the selected can be told from this graph.")
    return CausalGraph(directed_ends(MarkMasks.of(graph)).edges(graph.nodes), nodes=graph.nodes)
