"""What a question about adjustment comes to: a graph with edges cut, and nodes that may not be adjusted for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from plausible.base import html_of_print, repr_of_print
from plausible.causal.queries.observed import read_nodes, refuse_overlap
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, suggestion, warn_caller
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph, Edge, Mark, Trail, apply_meek_rules, consistent_extension
from plausible.graphs.ancestral_class import ancestral_member
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.listing import Listing, checked_limit
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.pag_questions import is_visible, possible_causes, possible_effects

#: "adjustment" is complete: a set satisfies it if and only if adjustment for it is right in all models of the graph.
#: "back-door" is Pearl's stronger condition.
Criterion: TypeAlias = Literal["adjustment", "back-door"]

#: So many sets are listed where no limit is given.
USUAL_LIMIT = 100

#: A causal graph, or one that stands for a class of them; also as text, as networkx graph, or in a model.
AdjustableGraph: TypeAlias = "GraphLike[DAG | CausalGraph | PDAG | MAG | PAG]"
#: The graph itself.
KnownGraph: TypeAlias = DAG | CausalGraph | PDAG | MAG | PAG


def read_known(graph: AdjustableGraph) -> KnownGraph:
    """The graph that this is, has or writes."""
    known: KnownGraph = read_as(graph, DAG, CausalGraph, PDAG, MAG, PAG)
    return known


class Check(ABC):
    """Whether a choice is right by the graph; prints what is wrong with it."""

    __slots__ = ()

    _also: ClassVar[tuple[str, ...]] = ("is_valid",)

    @property
    @abstractmethod
    def _verdicts(self) -> tuple[str, str]:
        """What to say of a choice that is right, and of one that is not."""

    @property
    @abstractmethod
    def _wrong(self) -> list[str]:
        """What is wrong, a line for each reason."""

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self._wrong

    def require(self) -> None:
        """Refuse what is not valid, with the reason."""
        if not self.is_valid:
            raise InvalidArgument(str(self))

    def __str__(self) -> str:
        right, wrong = self._verdicts
        return "\n".join([f"{wrong}:", *(f"  {line}" for line in self._wrong)]) if self._wrong else f"{right}."

    _repr_html_ = html_of_print
    __repr__ = repr_of_print


@dataclass(frozen=True, slots=True)
class AdjustmentProblem:
    """A set is right if it avoids `forbidden` and separates treatment from outcome in `cut`; no set, if `unclear`."""

    # The graph, or a member of the class that it stands for: with the nodes forbidden that are so in some member, the
    # same sets separate in all.
    causes: CausalGraph
    outcome: tuple[Node, ...]  # Y and X.
    treatment: tuple[Node, ...]
    forbidden: frozenset[Node]  # What may not be adjusted for, besides X and Y.
    # `causes` without the causal paths: for "adjustment" without the first edge of every directed path to Y that meets
    # X only once, for "back-door" without all edges out of X.
    cut: CausalGraph
    # An edge at a treatment that may begin a causal path and may not: then no adjustment is right in all members.
    unclear: Edge | None = None

    def separates(self, given: Nodes) -> bool:
        """Whether a set blocks all trails between treatment and outcome that are not causal."""
        return self.cut.m_separated(self.treatment, self.outcome, given)


def open_trail(graph: CausalGraph, x: Nodes, y: Nodes, given: Nodes = ()) -> Trail | None:
    """A trail between two sets that a third leaves open; `None` where it separates them."""
    return None if graph.m_separated(x, y, given) else graph.explain_separation(x, y, given, limit=1).trails[0]


def read_problem(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, criterion: Criterion = "adjustment"
) -> AdjustmentProblem:
    """The problem that a graph poses.

    Shpitser, VanderWeele & Robins (2010), On the validity of covariate adjustment, UAI. Perkovic, Textor, Kalisch &
    Maathuis (2018), Complete graphical characterization and construction of adjustment sets in Markov equivalence
    classes of ancestral graphs, Journal of Machine Learning Research 18.
    """
    if criterion not in get_args(Criterion):
        raise InvalidArgument(f"There is no criterion {criterion!r}.{suggestion(criterion, get_args(Criterion))}")
    known = read_known(graph)
    y, x = read_sides(known, outcome, treatment)
    if isinstance(known, DAG | CausalGraph):
        causes = CausalGraph(known)
        if criterion == "back-door":
            return AdjustmentProblem(causes, y, x, causes.descendants(x) - frozenset(x), causes.without_outgoing(x))
        between = causal_nodes(causes, y, x)
        forbidden = between | causes.descendants(between)
        return AdjustmentProblem(causes, y, x, forbidden, without_first_edges(causes, x, between))
    if criterion == "back-door":
        raise NotSupported(f"The back-door criterion is about one graph; a {type(known).__name__} has 'adjustment'.")
    if isinstance(known, PDAG):
        known = apply_meek_rules(known)
        return _in_class(known, CausalGraph(consistent_extension(known)), y, x)
    return _in_class(known, ancestral_member(known), y, x)


def listed(find: Callable[[], Iterator[frozenset[Node]]], limit: int | None) -> Listing[frozenset[Node]]:
    """The first sets, up to a limit; where the usual limit leaves some out, a warning says so at the end."""
    number = checked_limit(limit)

    def first() -> Iterator[frozenset[Node]]:
        sets = find()
        yield from islice(sets, number)
        if number == USUAL_LIMIT and next(sets, None) is not None:
            warn_caller(f"There are more than these {number} sets: limit=None lists all of them.", PlausibleWarning)

    return Listing(first)


def read_sides(graph: Any, outcome: Nodes, treatment: Nodes) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Y and X, of which there must be some, and which share nothing."""
    y, x = read_nodes(graph, outcome), read_nodes(graph, treatment)
    for role, nodes in (("outcome", y), ("treatment", x)):
        if not nodes:
            raise InvalidArgument(f"There is no {role}: {role}= is empty.")
    refuse_overlap({"outcome": y, "treatment": x})
    return y, x


def read_allowed(
    causes: CausalGraph, roles: Mapping[str, tuple[Node, ...]], included: Nodes, allowed: Nodes | None
) -> tuple[tuple[Node, ...], frozenset[Node]]:
    """What a set must contain, and what it may be taken from; neither touches what has a role already."""
    taken = frozenset(node for nodes in roles.values() for node in nodes)
    needed = read_nodes(causes, included)
    refuse_overlap({**roles, "included": needed})
    free = causes.nodes if allowed is None else read_nodes(causes, allowed)
    outside = [node for node in needed if node not in free]
    if outside:
        raise InvalidArgument(f"included= asks for {outside[0]!r}, which allowed= leaves out; add it there, too.")
    return needed, frozenset(free) - taken


def may_cause(graph: AdjustableGraph, outcome: str, treatment: str) -> bool:
    """Whether the treatment causes the outcome in the graph, or in some member of the class that it stands for."""
    known = read_known(graph)
    if isinstance(known, DAG | CausalGraph):
        return treatment in known.ancestors(outcome)
    members = apply_meek_rules(known) if isinstance(known, PDAG) else known
    return treatment in possible_causes(members, [outcome], frozenset())


def causal_nodes(causes: CausalGraph, outcome: tuple[Node, ...], treatment: tuple[Node, ...]) -> frozenset[Node]:
    """The nodes after the treatment on directed paths to the outcome that meet no second treatment."""
    below = causes.without_incoming(treatment).descendants(treatment)
    above = causes.without_outgoing(treatment).ancestors(outcome).union(outcome)
    return (below & above) - frozenset(treatment)


def without_first_edges(causes: CausalGraph, treatment: tuple[Node, ...], between: frozenset[Node]) -> CausalGraph:
    """The graph without the edges from the treatment to the nodes between it and the outcome."""
    starts = frozenset(treatment)
    kept = (edge for edge in causes.edges if not (edge.is_directed and edge.left in starts and edge.right in between))
    return CausalGraph(kept, nodes=causes.nodes)


def _in_class(
    graph: PDAG | MAG | PAG, member: CausalGraph, y: tuple[Node, ...], x: tuple[Node, ...]
) -> AdjustmentProblem:
    treatments = frozenset(x)
    # Where no edge is unclear, edges `->` lead from X to every node of a possibly directed path to Y.
    below = graph.without_incoming(x).descendants(x)
    between = (below & possible_causes(graph, y, treatments)) - treatments
    forbidden = possible_effects(graph, between, frozenset())
    cut = without_first_edges(member, x, causal_nodes(member, y, x))
    return AdjustmentProblem(member, y, x, forbidden, cut, _unclear_edge(graph, y, treatments))


def _unclear_edge(graph: PDAG | MAG | PAG, y: tuple[Node, ...], treatments: frozenset[Node]) -> Edge | None:
    """An edge at a treatment that begins a possibly directed path to the outcome and need not be causal."""
    reaching = possible_causes(graph, y, treatments)
    for x in treatments:
        # In a PDAG an edge from further down a path back to the treatment contradicts the path.
        ahead = (
            reaching if not isinstance(graph, PDAG) else possible_causes(graph, y, treatments.union(graph.parents(x)))
        )
        for other in graph.adjacent(x):
            (edge,) = graph.edges_between(x, other)
            if other not in ahead or edge.mark_at(x) is Mark.ARROW:
                continue
            if not edge.is_directed or not (isinstance(graph, PDAG) or is_visible(graph, x, other)):
                return edge
    return None
