"""What a partial ancestral graph says of the effect of an intervention, and what it refuses to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from plausible.base.records import record
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported
from plausible.graphs.ancestral import PAG
from plausible.graphs.ancestral_class import stands_for_class
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.graphs.marks import Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.pag_questions import active_steps, ancestry, pag_separated
from plausible.graphs.pag_rules import collider_path_start
from plausible.learn.constraint_based.orientation import ConstraintBasedResult, Triple

#: So many triples are named.
_MAX_SHOWN = 3


def read_settled(source: object, *kinds: type[Any]) -> Any:
    """The graph of one of these kinds that the source is, has or writes, unless it leaves open what its class is.

    A triple A o-o B o-o C says that B is no collider; where a search left it ambiguous, it says nothing. Then the graph
    stands for no class even if the same marks could mean one, unless other triples settle by marks at B what it is.

    >>> read_settled("A o-o B o-o C o-o D o-o A", PAG)
    Traceback (most recent call last):
    ...
    plausible.errors.InvalidGraph: No class of MAGs was found with members that have these marks, ...
    """
    graph = read_as(source, *kinds)
    if isinstance(source, ConstraintBasedResult):
        _refuse_open([triple for triple in source.ambiguous if _is_open(graph, triple)])
    if isinstance(graph, PAG) and not stands_for_class(graph, narrowed=True):
        raise InvalidGraph(
            "No class of MAGs was found with members that have these marks, so this graph makes nothing certain. Its "
            "marks tell of selection, feedback or unfaithfulness, or of tests that err. Where a search made it, see "
            "the conflicts and ambiguous triples of its result, and try another alpha=, variant= or selection=."
        )
    return graph


def _is_open(graph: PDAG | PAG, triple: Triple) -> bool:
    """Whether the marks at the middle leave it open if this is a collider."""
    left, middle, right = triple
    edges = [edge for end in (left, right) for edge in graph.edges_between(end, middle)]
    undirected = {edge for edge in edges if isinstance(graph, PDAG) and edge.is_undirected}
    marks = {Mark.CIRCLE if edge in undirected else edge.mark_at(middle) for edge in edges}
    return Mark.TAIL not in marks and marks != {Mark.ARROW}


def _refuse_open(triples: Sequence[Triple]) -> None:
    """Refuse triples that may be colliders, and name them."""
    if not triples:
        return
    shown = [f"({', '.join(triple)})" for triple in triples[:_MAX_SHOWN]]
    more = len(triples) - len(shown)
    raise InvalidGraph(
        f"The tests do not tell whether the middle of {', '.join(shown)}{f' and of {more} more' if more else ''} is a "
        "collider: with ambiguous triples a graph stands for no class, and makes nothing certain. More rows, another "
        "alpha=, or knowledge= about these edges may settle them; variant='stable' decides by one test of each."
    )


Reading: TypeAlias = Literal["none", "conditional", "open"]

_ADVICE = (
    "A set to adjust for may be right in all members: adjustment_sets(pag, outcome, treatment). Otherwise, as a PAG "
    "stands for many models and is none itself, choose a member, add latent variables where it has '<->', "
    "and learn its parameters by EM: pag_member(pag), pb.learn.em. Or write down the latent causes that you assume as "
    "a CausalGraph and ask identify; or measure what knowledge= could tell fci."
)


@record
class PAGEffect:
    """What all structures of a class agree on about P(outcome | do(treatment))."""

    #: Two nodes.
    outcome: Node
    treatment: Node
    #: "none": it is P(outcome). "conditional": it is P(outcome | treatment). "open": this graph alone does not tell.
    reading: Reading
    path: tuple[Node, ...] = ()  # A path that may confound the two where it is open, else ()

    def __str__(self) -> str:
        outcome, treatment = self.outcome, self.treatment
        if self.reading == "none":
            return f"P({outcome} | do({treatment})) = P({outcome}): {treatment} is no cause of it in any member."
        if self.reading == "conditional":
            return f"P({outcome} | do({treatment})) = P({outcome} | {treatment}): nothing can confound the two."
        shown = " - ".join(map(str, self.path))
        return f"P({outcome} | do({treatment})) is open: {shown} may be more than the effect of {treatment}."


def effect_in_pag(graph: GraphLike[PAG], outcome: Node, treatment: Node) -> PAGEffect:
    """Whether all structures of the class give the effect as P(outcome) or as P(outcome | treatment).

    The latter holds if all possibly directed paths from the treatment to the outcome begin with visible edges `->`, and
    no other path between them is active: if all trails between the two are directed paths whose first edge hides no
    common cause, above all. It is the generalised adjustment criterion for the empty set. Without selection.
    O(edges × degree), once the graph is found to stand for a class.

    Parameters
    ----------
    graph
        The PAG of a class, something that has one, such as the result of `fci`, or arrow text.
    outcome, treatment
        Two nodes.

    Raises
    ------
    InvalidGraph
        If the graph stands for no class, or the search left triples ambiguous: see `read_settled`.

    References
    ----------
    Perković, Textor, Kalisch & Maathuis (2015), A complete generalized adjustment criterion, UAI.

    Examples
    --------
    >>> pag = PAG("D o-> G; I o-> G; G -> J; I o-o S")
    >>> effect_in_pag(pag, outcome="J", treatment="G").reading, effect_in_pag(pag, outcome="G", treatment="J").reading
    ('conditional', 'none')
    >>> print(effect_in_pag(pag, outcome="J", treatment="I"))
    P(J | do(I)) is open: I - G - J may be more than the effect of I.
    """
    pag: PAG = read_settled(graph, PAG)
    index = NodeIndex(pag.nodes)
    start, goal = index.position(treatment), index.position(outcome)
    if start == goal:
        raise InvalidArgument(f"Treatment and outcome are both {treatment!r}: an effect is one on another variable.")
    if ancestry(pag, treatment, outcome) == "impossible":
        return PAGEffect(outcome, treatment, "none")
    masks = MarkMasks.of(pag)
    path = _invisible_path(masks, start, goal) or _open_path(masks, start, goal)
    return PAGEffect(outcome, treatment, "open" if path else "conditional", index.names(path))


def effect_is_conditional(graph: GraphLike[PAG], outcome: Node, treatment: Node) -> bool:
    """Whether P(outcome | do(treatment)) = P(outcome | treatment) in all structures of the class.

    >>> effect_is_conditional(PAG("D o-> G; I o-> G; G -> J; I o-o S"), outcome="J", treatment="G")
    True
    """
    reading = effect_in_pag(graph, outcome, treatment).reading
    return pag_separated(graph, treatment, outcome) if reading == "none" else reading == "conditional"


def refuse_query(graph: GraphLike[PAG], outcome: Node, treatment: Node) -> None:
    """Refuse a causal query that a PAG leaves open: say why, and what to do. One that it answers passes.

    >>> refuse_query(PAG("X o-> Y"), outcome="Y", treatment="X")
    Traceback (most recent call last):
    ...
    plausible.errors.NotSupported: P(Y | do(X)) is open: X - Y may be more than the effect of X. A set to ...
    >>> refuse_query(PAG("D o-> G; I o-> G; G -> J"), outcome="J", treatment="G")
    """
    found = effect_in_pag(graph, outcome, treatment)
    if found.reading == "open":
        raise NotSupported(f"{found} {_ADVICE}")


def _invisible_path(masks: MarkMasks, start: int, goal: int) -> tuple[int, ...]:
    """A possibly directed path whose first edge may hide a common cause; () if there is none."""
    visible = {other for other in bits(masks.children(start)) if collider_path_start(masks, start, other) is not None}
    firsts = [other for other in bits(masks.onward(start)) if other not in visible]
    return _shortest(start, goal, firsts, lambda _, node: masks.onward(node))


def _open_path(masks: MarkMasks, start: int, goal: int) -> tuple[int, ...]:
    """An active path into the start; () if there is none. One out of it without colliders is directed."""
    return _shortest(
        start, goal, bits(masks.arrow[start]), lambda before, node: active_steps(masks, before, node, False)
    )


def _shortest(start: int, goal: int, firsts: Iterable[int], step: Callable[[int, int], int]) -> tuple[int, ...]:
    """A shortest path that goes on as `step`, told the last two nodes, lets it; () if there is none."""
    came_from: dict[tuple[int, int], tuple[int, int] | None] = {(start, first): None for first in firsts}
    frontier = list(came_from)
    for before, node in frontier:
        if node == goal:
            path, last = [node, before], came_from[before, node]
            while last is not None:
                path.append(last[0])
                last = came_from[last]
            return tuple(reversed(path))
        for after in bits(step(before, node) & ~(1 << start)):
            if (node, after) not in came_from:
                came_from[node, after] = (before, node)
                frontier.append((node, after))
    return ()
