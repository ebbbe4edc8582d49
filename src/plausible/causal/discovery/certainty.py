"""Which causal paths are sure, under which assumptions, and what the world may be like where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from plausible.base.records import record
from plausible.causal.discovery.pag_effects import read_settled
from plausible.causal.queries.arguments import fresh_name
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.ancestral_class import pag_member, pag_of
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.pag_questions import definite_ancestors
from plausible.graphs.pag_rules import uncovered_reach


@dataclass(frozen=True, slots=True)
class HiddenStructure:
    """A causal DAG, of whose nodes some are not observed and some are selected on."""

    graph: DAG
    latent: tuple[Node, ...] = ()
    selection: tuple[Node, ...] = ()


@final
@record
class CausalCertainty:
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
        """A structure of the class without a causal path from one node to another.

        Parameters
        ----------
        cause, effect
            Two nodes whose causal path is not certain.
        """
        index = NodeIndex(self.graph.nodes)
        if index.position(cause) == index.position(effect):
            raise InvalidArgument(f"A causal path joins two variables, not {cause!r} with itself.")
        if (cause, effect) in self.pairs:
            raise InvalidArgument(f"There is none: every structure of the class has a causal path {cause} ~> {effect}.")
        if isinstance(self.graph, PDAG):
            return HiddenStructure(_without_path(self.graph, cause, effect))
        if cause in definite_ancestors(self.graph, effect):
            # Only what selects can deny this path, and only if nothing points into the cause.
            return _selected(_root_member(self.graph, cause), cause)
        away = [(cause, first, Mark.ARROW) for first in _critical(self.graph, cause, effect)]
        return _selected(pag_member(self.graph, away))


def causal_certainty(
    graph: GraphLike[DAG | PDAG | PAG], *, hidden: bool = True, selection: bool = False
) -> CausalCertainty:
    """The pairs with a causal path in every structure that fits a learned graph as well as this one does.

    Without hidden variables these are the certain ancestors in the essential graph, with hidden ones those in the PAG.
    With selection a tail at A on an edge to B says only that A causes B or what selects; then an arrowhead that points
    into A rules out the latter, and without one the former can't be sure. O(n² × edges × degree).

    Parameters
    ----------
    graph
        A DAG or PDAG that is a perfect map of the distribution, or a PAG; or what a search by tests found.
    hidden
        Whether there may be latent variables.
    selection
        Whether the data may have been selected by effects of the variables; only with `hidden`.

    Raises
    ------
    InvalidGraph
        If a PAG stands for no class, as one learned from few rows may not, or a search by tests left triples ambiguous:
        see `read_settled`.

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
        members = _class_pag(known)
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


def _class_pag(known: DAG | PDAG | PAG) -> PAG:
    if isinstance(known, PAG):
        return known
    return pag_of(consistent_extension(known) if isinstance(known, PDAG) else known)


def _with_circles(pdag: PDAG) -> PAG:
    """The graph with circles where the direction is open."""
    return PAG([edge if edge.is_directed else Edge.of(edge.left, "o-o", edge.right) for edge in pdag.edges], pdag.nodes)


def _certain(pag: PAG) -> Iterator[tuple[Node, Node]]:
    for effect in pag.nodes:
        yield from ((cause, effect) for cause in definite_ancestors(pag, effect))


# --- counterexamples ---


def _critical(pag: PAG, cause: Node, effect: Node) -> list[Node]:
    """The second nodes of uncovered possibly directed paths: if all point into the cause, no path is directed."""
    masks, index = MarkMasks.of(pag), NodeIndex(pag.nodes)
    start, goal = index.position(cause), index.position(effect)

    def beyond(before: int, _: int) -> int:
        return ~(masks.adjacent[before] | 1 << before)

    firsts = [b for b in bits(masks.onward(start)) if b == goal or uncovered_reach(masks, start, b, beyond) >> goal & 1]
    return list(index.names(firsts))


def _without_path(essential: PDAG, cause: Node, effect: Node) -> DAG:
    """A DAG of the class in which the neighbours of the cause that could lead on to the effect point into it."""
    for first in _critical(_with_circles(essential), cause, effect):
        essential = essential.with_direction(first, cause)
    return consistent_extension(essential)


def _root_member(pag: PAG, cause: Node) -> MAG:
    """A member in which no arrowhead points into the cause."""
    marks = [(cause, other, Mark.TAIL) for other in pag.adjacent(cause)]
    lines = [edge.other(cause) for edge in pag.edges if cause in edge.ends and edge.symbol == "o-o"]
    return pag_member(pag, [*marks, *((other, cause, Mark.ARROW) for other in lines)])


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
