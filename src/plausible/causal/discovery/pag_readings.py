"""What a PAG says: of causes, with what certainty, and of effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

from plausible.base import Result, record
from plausible.causal.queries.observed import fresh_name
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.ancestral_class import pag_member, pag_of, stands_for_class
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import consistent_extension, essential_graph
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.pag_questions import active_steps, ancestry, definite_ancestors, pag_separated
from plausible.graphs.pag_rules import collider_path_start, uncovered_reach
from plausible.learn.constraint_based.orientation import ConstraintBasedResult


@dataclass(frozen=True, slots=True)
class HiddenStructure:
    """A causal DAG, of whose nodes some are not observed and some are selected on."""

    graph: DAG
    latent: tuple[Node, ...] = ()
    selection: tuple[Node, ...] = ()


@final
@record
class CausalCertainty(Result):
    """The causal paths that are there whatever structure of the class is true."""

    graph: PDAG | PAG  # The class: an essential graph without hidden variables, else a PAG
    pairs: frozenset[tuple[Node, Node]]  # The pairs (cause, effect) with a causal path in every structure
    hidden: bool  # Whether there may be latent variables
    selection: bool  # Whether the data may have been selected by effects of the variables

    def __str__(self) -> str:
        place = {node: number for number, node in enumerate(self.graph.nodes)}
        pairs = sorted(self.pairs, key=lambda pair: (place[pair[0]], place[pair[1]]))
        paths = "; ".join(f"{cause} ~> {effect}" for cause, effect in pairs) or "none"
        allowed = ["hidden variables"] * self.hidden + ["selection"] * self.selection
        return f"causal paths that are sure with {' and '.join(allowed) or 'all variables observed'}: {paths}"

    def counterexample(self, cause: Node, effect: Node) -> HiddenStructure:
        """A structure of the class without a causal path from one node to another."""
        index = NodeIndex(self.graph.nodes)
        if index.position(cause) == index.position(effect):
            raise InvalidArgument(f"A causal path joins two variables, not {cause!r} with itself.")
        if (cause, effect) in self.pairs:
            raise InvalidArgument(f"There is none: every structure of the class has a causal path {cause} ~> {effect}.")
        if isinstance(self.graph, PDAG):
            essential = self.graph
            # The neighbours of the cause that could lead on to the effect point into it.
            for first in _critical(_with_circles(essential), cause, effect):
                essential = essential.with_direction(first, cause)
            return HiddenStructure(consistent_extension(essential))
        if cause in definite_ancestors(self.graph, effect):
            # Only what selects can deny this path, and only if no arrowhead points into the cause.
            marks = [(cause, other, Mark.TAIL) for other in self.graph.adjacent(cause)]
            lines = [e.other(cause) for e in self.graph.edges if cause in e.ends and e.symbol == "o-o"]
            return _selected(pag_member(self.graph, [*marks, *((end, cause, Mark.ARROW) for end in lines)]), cause)
        away = [(cause, first, Mark.ARROW) for first in _critical(self.graph, cause, effect)]
        return _selected(pag_member(self.graph, away))


def causal_certainty(
    graph: GraphLike[DAG | PDAG | PAG], *, hidden: bool = True, selection: bool = False
) -> CausalCertainty:
    """The pairs with a causal path in every structure that fits a learned graph as well as this one does.

    Without hidden variables these are the certain ancestors in the essential graph, with hidden ones those in the PAG.
    With selection a tail at A on an edge to B says only that A causes B or what selects; then an arrowhead that points
    into A rules out the latter, and without one the former can't be sure. O(n² × edges × degree). Raises `InvalidGraph`
    if a PAG stands for no class, as one learned from few rows may not, or a search by tests left triples ambiguous: see
    `read_settled`.

    Parameters
    ----------
    graph
        A DAG or PDAG that is a perfect map of the distribution, or a PAG; or what a search by tests found.
    hidden
        Whether there may be latent variables.
    selection
        Whether the data may have been selected by effects of the variables; only with `hidden`.

    Examples
    --------
    >>> student = DAG("D -> G <- I -> S; G -> J")
    >>> sorted(causal_certainty(student, hidden=False).pairs)
    [('D', 'G'), ('D', 'J'), ('G', 'J'), ('I', 'G'), ('I', 'J')]
    >>> found = causal_certainty(student)
    >>> print(found)
    causal paths that are sure with hidden variables: G ~> J
    >>> found.counterexample("D", "G").graph
    DAG('G -> J; I -> G; I -> S; U_D_G -> G; U_D_G -> D')
    """
    known: DAG | PDAG | PAG = read_settled(graph, DAG, PDAG, PAG)
    if hidden:
        dag = consistent_extension(known) if isinstance(known, PDAG) else known
        members = dag if isinstance(dag, PAG) else pag_of(dag)
        pairs = frozenset(_certain(members))
        if selection:
            pointed = {end for edge in members.edges for end in edge.ends if edge.mark_at(end) is Mark.ARROW}
            pairs = frozenset((cause, effect) for cause, effect in pairs if cause in pointed)
        return CausalCertainty(members, pairs, hidden, selection)
    if selection:
        raise InvalidArgument("What selects is not observed either: give hidden=True with selection=True.")
    if isinstance(known, PAG):
        raise NotSupported("A PAG allows for hidden variables: hidden=False needs a DAG or a PDAG, as pc learns.")
    essential = essential_graph(known if isinstance(known, DAG) else consistent_extension(known))
    return CausalCertainty(essential, frozenset(_certain(_with_circles(essential))), hidden, selection)


def _with_circles(pdag: PDAG) -> PAG:
    """The graph with circles where the direction is open."""
    return PAG([edge if edge.is_directed else Edge.of(edge.left, "o-o", edge.right) for edge in pdag.edges], pdag.nodes)


def _certain(pag: PAG) -> Iterator[tuple[Node, Node]]:
    for effect in pag.nodes:
        yield from ((cause, effect) for cause in definite_ancestors(pag, effect))


def _critical(pag: PAG, cause: Node, effect: Node) -> list[Node]:
    """The second nodes of uncovered possibly directed paths: if all point into the cause, no path is directed."""
    masks, index = MarkMasks.of(pag), NodeIndex(pag.nodes)
    start, goal = index.position(cause), index.position(effect)

    def beyond(before: int, _: int) -> int:
        return ~(masks.adjacent[before] | 1 << before)

    firsts = [b for b in bits(masks.onward(start)) if b == goal or uncovered_reach(masks, start, b, beyond) >> goal & 1]
    return list(index.names(firsts))


def _selected(member: MAG, denied: Node | None = None) -> HiddenStructure:
    """The DAG with a latent node for each `<->` and a selected one for each `-`.

    Each `denied -> B` becomes `denied -> S <- U -> B` with S selected: that says the same about the observed nodes if
    nothing points into the denied cause, but has no causal path from it.
    """
    taken, latent, selected = set(member.nodes), [], []
    pairs: list[tuple[Node, Node]] = []
    for edge in member.edges:
        a, b = edge.ends
        denies = edge.is_directed and a == denied
        if edge.is_directed and not denies:
            pairs.append((a, b))
        if edge.is_undirected or denies:
            selected.append(fresh_name(f"S_{a}_{b}", taken))
            pairs.append((a, selected[-1]))
        if edge.is_undirected:
            pairs.append((b, selected[-1]))
        if edge.is_bidirected or denies:
            latent.append(fresh_name(f"U_{a}_{b}", taken))
            pairs += [(latent[-1], b), (latent[-1], selected[-1] if denies else a)]
    return HiddenStructure(DAG(pairs, nodes=member.nodes), tuple(latent), tuple(selected))


#: So many triples are named.
_MAX_SHOWN = 3


def read_settled(source: object, *kinds: type[Any]) -> Any:
    """The graph of one of these kinds that the source is, has or writes, unless it leaves open what its class is.

    A triple A o-o B o-o C says that B is no collider; where a search left it ambiguous, it says nothing. Then the graph
    stands for no class even if the same marks could mean one, unless other triples settle by marks at B what it is.
    """
    graph = read_as(source, *kinds)
    triples = []
    for left, middle, right in source.ambiguous if isinstance(source, ConstraintBasedResult) else ():
        edges = [edge for end in (left, right) for edge in graph.edges_between(end, middle)]
        undirected = {edge for edge in edges if isinstance(graph, PDAG) and edge.is_undirected}
        marks = {Mark.CIRCLE if edge in undirected else edge.mark_at(middle) for edge in edges}
        if Mark.TAIL not in marks and marks != {Mark.ARROW}:
            triples.append(f"({left}, {middle}, {right})")
    if triples:
        more = f" and of {len(triples) - _MAX_SHOWN} more" if len(triples) > _MAX_SHOWN else ""
        raise InvalidGraph(
            f"The tests do not tell whether the middle of {', '.join(triples[:_MAX_SHOWN])}{more} is a collider: with "
            "ambiguous triples a graph stands for no class, and makes nothing certain. More rows, another alpha=, or "
            "knowledge= about these edges may settle them; variant='stable' decides by one test of each."
        )
    if isinstance(graph, PAG) and not stands_for_class(graph, narrowed=True):
        raise InvalidGraph(
            "No class of MAGs was found with members that have these marks, so this graph makes nothing certain. Its "
            "marks tell of selection, feedback or unfaithfulness, or of tests that err. Where a search made it, see "
            "the conflicts and ambiguous triples of its result, and try another alpha=, variant= or selection=."
        )
    return graph


Reading: TypeAlias = Literal["none", "conditional", "open"]

_ADVICE = (
    "A set to adjust for may be right in all members: adjustment_sets(pag, outcome, treatment). Otherwise, as a PAG "
    "stands for many models and is none itself, choose a member, add latent variables where it has '<->', "
    "and learn its parameters by EM: pag_member(pag), pb.learn.em. Or write down the latent causes that you assume as "
    "a CausalGraph and ask identify; or measure what knowledge= could tell fci."
)


@record
class PAGEffect(Result):
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
    common cause, above all. It is the generalised adjustment criterion for the empty set. Without selection. O(edges ×
    degree), once the graph is found to stand for a class. Raises `InvalidGraph` if the graph stands for no class, or
    the search left triples ambiguous: see `read_settled`. See Perković, Textor, Kalisch & Maathuis (2015), A complete
    generalized adjustment criterion, UAI.

    Parameters
    ----------
    graph
        The PAG of a class, something that has one, such as the result of `fci`, or arrow text.

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
    path = _invisible_path(masks, start, goal) or _shortest(
        start, goal, bits(masks.arrow[start]), lambda before, node: active_steps(masks, before, node, False)
    )
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
