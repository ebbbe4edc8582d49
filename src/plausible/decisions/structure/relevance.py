"""What decisions remember, which have to be settled before which others, and which information makes no difference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Generic

from plausible.base import Result, record
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.information_flow import Drop, Reliance, information_flow, reduced_information
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG


@record
class Recall(Result):
    """What the decisions of a diagram remember."""

    order: tuple[str, ...]  # The decisions in time
    #: Pairs (name, decision): what an earlier decision saw or chose and a later one does not see.
    forgotten: tuple[tuple[str, str], ...]

    @property
    def is_perfect(self) -> bool:
        """Whether nothing is forgotten."""
        return not self.forgotten

    def forgotten_by(self, decision: str) -> tuple[str, ...]:
        """What a decision does not see, though an earlier one saw or chose it."""
        return tuple(name for name, forgetful in self.forgotten if forgetful == decision)

    def __str__(self) -> str:
        forgetful = [
            f"{decision} forgets {', '.join(names)}"
            for decision in self.order
            if (names := self.forgotten_by(decision))
        ]
        return "\n".join([f"order: {' < '.join(self.order)}", *(forgetful or ["perfect recall"])])


def temporal_order(diagram: Diagram) -> tuple[str, ...]:
    """The decisions in time: an order that agrees with the graph; among free choices the diagram's own.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> temporal_order(InfluenceDiagram(decisions=[Decision("late", 2, sees=["early"]), Decision("early", 2)]))
    ('early', 'late')
    """
    return tuple(str(name) for name in diagram.graph.topological_order if name in diagram.decisions)


def check_recall(diagram: Diagram) -> Recall:
    """Whether each decision sees all that earlier ones saw and chose, and what is missing.

    Decisions D_1, ..., D_k in time have perfect recall if D_j sees D_i and all that D_i sees, for all i < j
    (Koller & Friedman 2009, definition 23.5). There can be only one such order: the edges D_i -> D_j force it.

    >>> import plausible as pb
    >>> print(pb.InfluenceDiagram(decisions=[pb.Decision("early", 2), pb.Decision("late", 2)]).recall())
    order: early < late
    late forgets early
    """
    order = temporal_order(diagram)
    known: dict[str, None] = {}
    forgotten = []
    for name in order:
        sees = dict.fromkeys(diagram.decisions[name].sees)
        forgotten += [(other, name) for other in known if other not in sees]
        known |= {**sees, name: None}
    return Recall(order, tuple(forgotten))


def has_perfect_recall(diagram: Diagram) -> bool:
    """Whether nothing is forgotten, in linear time: not from one decision to the next."""
    sees = {name: frozenset(decision.sees) for name, decision in diagram.decisions.items()}
    return all(sees[first] | {first} <= sees[second] for first, second in pairwise(temporal_order(diagram)))


def require_recall(diagram: Diagram, what: str) -> Recall:
    """The recall of a diagram, if it is perfect; else the error for `what`, which needs that."""
    recall = check_recall(diagram)
    if not recall.is_perfect:
        name, decision = recall.forgotten[0]
        raise NotSupported(
            f"{what} needs perfect recall, but the decision {decision!r} does not see {name!r}, which was known "
            f"before it. Add what is missing with with_recall(), or solve() the diagram as it is."
        )
    return recall


def with_recall(diagram: DiagramT) -> DiagramT:
    """The diagram with perfect recall: each decision also sees what earlier ones saw and chose.

    What is remembered comes after what the decision sees anyway, the oldest first.

    >>> import plausible as pb
    >>> forgetful = pb.InfluenceDiagram(decisions=[pb.Decision("early", 2), pb.Decision("late", 2)])
    >>> forgetful.with_recall().decisions["late"]
    Decision('late', [0, 1], sees=['early'])
    """
    sees = {name: list(decision.sees) for name, decision in diagram.decisions.items()}
    for forgotten, name in check_recall(diagram).forgotten:
        sees[name].append(forgotten)
    return diagram.with_information(sees)


def new_information(diagram: Diagram) -> dict[str, tuple[str, ...]]:
    """For each decision, in time, the chance variables that are first seen there.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> coins = [TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])]
    >>> new_information(InfluenceDiagram(coins, [Decision("D", 2, sees="A"), Decision("E", 2, sees=["A", "B", "D"])]))
    {'D': ('A',), 'E': ('B',)}
    """
    known: set[str] = set()
    first_seen = {}
    for name in temporal_order(diagram):
        sees = diagram.decisions[name].sees
        first_seen[name] = tuple(seen for seen in sees if seen in diagram.chance and seen not in known)
        known.update(sees)
    return first_seen


def without_recall_edges(diagram: DiagramT) -> DiagramT:
    """The diagram with only what is new at each decision, for drawings: `with_recall` brings back the rest.

    The edge from a decision to the next stays where nothing else says which one comes first. The diagram must have
    perfect recall.

    >>> import plausible as pb
    >>> coin = pb.TableCPD("A", [0.5, 0.5])
    >>> full = pb.InfluenceDiagram([coin], [pb.Decision("D", 2, sees="A"), pb.Decision("E", 2, sees=["A", "D"])])
    >>> without_recall_edges(full).graph
    DAG('A -> D; D -> E')
    """
    order = require_recall(diagram, "Hiding what is remembered").order
    shown = {name: list(seen) for name, seen in new_information(diagram).items()}
    hidden = diagram.with_information(shown)
    for earlier, later in pairwise(order):
        if later not in hidden.graph.descendants(earlier):
            shown[later].append(earlier)
            hidden = diagram.with_information(shown)
    return hidden


@record
class RelevanceGraph(Result):
    """Which decisions rely on which: an edge from D' to D where the best rule of D may depend on the rule of D'.

    It may be cyclic: then decisions have to be settled together.
    """

    decisions: tuple[str, ...]  # All decisions, in the diagram's order
    edges: tuple[tuple[str, str], ...]  # Pairs (D', D): D relies on D'
    #: The strongly connected components, those relied on first; among free choices the one with the latest decision.
    #: Solving them in this order, each jointly, gives a global optimum.
    components: tuple[tuple[str, ...], ...]

    @property
    def is_acyclic(self) -> bool:
        """Whether every decision can be settled alone, once those that it relies on are."""
        return all(len(component) == 1 for component in self.components)

    def relied_on_by(self, decision: str) -> tuple[str, ...]:
        """The decisions that a decision relies on."""
        return tuple(source for source, target in self.edges if target == decision)

    def __str__(self) -> str:
        lines = []
        for component in self.components:
            for decision in component:
                others = ", ".join(self.relied_on_by(decision)) or "no other"
                lines.append(f"{decision} relies on {others}")
            if len(component) > 1:
                lines.append(f"  ({', '.join(component)} rely on each other)")
        return "\n".join(lines)


def influenced_utilities(diagram: Diagram, decision: str) -> tuple[str, ...]:
    """The utilities that a decision can change: those that a directed path leads to, in the diagram's order.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [0, 1], name="V"), Utility([], 3, name="W")])
    >>> influenced_utilities(diagram, "D")
    ('V',)
    """
    below = diagram.graph.descendants(diagram.decision(decision).name)
    return tuple(name for name in diagram.utilities if name in below)


def s_reachable(diagram: Diagram, decision: str, other: str) -> bool:
    """Whether `other` is strategically reachable from `decision`: its best rule may depend on the rule of `other`.

    A parent is added to `other`, standing for its rule; `other` is reachable if an active trail leads from there to a
    utility that `decision` influences, given `decision` and all that it sees. This is sound for all numbers: if it is
    not reachable, its rule makes no difference; and complete: if it is, it makes one for some numbers.

    Koller & Milch (2003), Multi-agent influence diagrams for representing and solving games, Games and Economic
    Behavior 45. Koller & Friedman (2009), Probabilistic graphical models, definition 23.8.

    >>> import plausible as pb
    >>> first, second = pb.Decision("first", 2), pb.Decision("second", 2, sees=["first"])
    >>> diagram = pb.InfluenceDiagram([], [first, second], [pb.Utility(["first", "second"], [[1, 0], [0, 2]])])
    >>> s_reachable(diagram, "first", "second"), s_reachable(diagram, "second", "first")
    (True, False)
    """
    diagram.decision(decision), diagram.decision(other)
    if decision == other:
        raise InvalidArgument(f"A decision does not rely on itself: name two different ones, not {decision!r} twice.")
    return other in information_flow(diagram).reliance[decision]


def relevance_graph(diagram: Diagram) -> RelevanceGraph:
    """Which decisions rely on which, and the order in which they can be settled.

    With perfect recall the graph is acyclic, and the order is the reverse of time. One Bayes ball for each
    decision, all at once: O(n + k²) for n nodes and k decisions (Koller & Friedman 2009, definition 23.9 and
    theorem 23.4).

    >>> import plausible as pb
    >>> steps = [pb.Decision("first", 2), pb.Decision("second", 2, sees=["first"])]
    >>> print(pb.InfluenceDiagram([], steps, [pb.Utility(["first", "second"], [[1, 0], [0, 2]])]).relevance_graph())
    second relies on no other
    first relies on second
    """
    reliance = information_flow(diagram).reliance
    relied = {name: frozenset(reliance[name]) for name in diagram.decisions}
    edges = tuple((other, name) for name, others in relied.items() for other in relied if other in others)
    return RelevanceGraph(tuple(relied), edges, ordered_components(reliance))


def ordered_components(reliance: Reliance) -> tuple[tuple[str, ...], ...]:
    """Decisions that rely on each other together, those relied on first; among free choices the one with the latest."""
    if reliance.is_on_later_ones:
        return tuple((name,) for name in reversed(reliance.in_time))
    size = len(reliance.in_time)
    edges = [(i, j) for i, users in enumerate(reliance.relied_by) for j in range(size) if users >> j & 1]
    # Components such that all edges lead to later ones; among free choices the one with the largest number.
    latest_first = sorted(_strong_parts(reliance.relied_by), key=lambda part: -part[-1])
    part_of = {position: part for part in latest_first for position in part}
    between = {(part_of[source], part_of[target]) for source, target in edges}
    graph = DAG([(a, b) for a, b in between if a != b], nodes=latest_first)
    rank = {part: number for number, part in enumerate(graph.topological_order)}
    parts = sorted(latest_first, key=rank.__getitem__)
    return tuple(tuple(reliance.in_time[position] for position in part) for part in parts)


def _strong_parts(following: Sequence[int]) -> list[tuple[int, ...]]:
    """The strongly connected components of a graph on numbers, from the bit set of those that follow each."""
    size = len(following)
    reached = [users | 1 << place for place, users in enumerate(following)]
    for middle in range(size):
        for start in range(size):
            if reached[start] >> middle & 1:
                reached[start] |= reached[middle]
    both = (
        tuple(j for j in range(size) if reached[place] >> j & 1 and reached[j] >> place & 1) for place in range(size)
    )
    return list(dict.fromkeys(both))


@record
class DroppedInformation(Result):
    """Something that a decision no longer looks at, and why."""

    #: The ends of the information edge.
    seen: str
    decision: str
    utilities: tuple[str, ...]  # What the decision can still change; `seen` says nothing about it, given the rest
    given: tuple[str, ...]  # The rest: what else the decision saw, and the decision itself

    def __str__(self) -> str:
        edge = f"{self.seen} -> {self.decision}"
        if not self.utilities:
            return f"{edge}: {self.decision} changes no utility"
        return f"{edge}: {self.seen} says nothing about {', '.join(self.utilities)} given {', '.join(self.given)}"


@record
class InformationReduction(Result, Generic[DiagramT]):
    """A diagram whose decisions see less, without a loss of expected utility."""

    #: The diagram before and after.
    original: DiagramT
    diagram: DiagramT
    #: The information edges that went, in that order; the reason of each holds once those before it are gone.
    dropped: tuple[DroppedInformation, ...]

    def lift(self, strategy: Strategy) -> Strategy:
        """A strategy of the reduced diagram as one of the original: its rules ignore what was dropped.

        If it is optimal there, it is here.
        """
        rules = {}
        for name, rule in strategy.items():
            scope = (*self.original.information(name), self.original.variables[name])
            rules[name] = rule.extend(scope).reorder([variable.name for variable in scope])
        return Strategy(rules)

    def __str__(self) -> str:
        return "\n".join(map(str, self.dropped)) or "All information is relevant."


def is_irrelevant(diagram: Diagram, seen: str, decision: str) -> bool:
    """Whether an information edge can go: `seen` says nothing about what the decision can still change.

    The edge W -> D is irrelevant if no active trail leads from W to a utility that D influences, given D and all else
    that D sees. D is given too: else the trail W -> D -> V would keep every edge.

    Koller & Friedman (2009), Probabilistic graphical models, definition 23.10 with the condition of the proof of
    proposition 23.5; Shachter (1999), Efficient value of information computation.

    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("rain", [0.7, 0.3]), pb.TableCPD("coin", [0.5, 0.5])],
    ...     [pb.Decision("umbrella", 2, sees=["rain", "coin"])],
    ...     [pb.Utility(["rain", "umbrella"], [[1, 0], [-5, 0]])],
    ... )
    >>> is_irrelevant(diagram, "coin", "umbrella"), is_irrelevant(diagram, "rain", "umbrella")
    (True, False)
    """
    sees = diagram.decision(decision).sees
    if seen not in sees:
        raise InvalidArgument(f"The decision {decision!r} does not see {seen!r}; it sees {list(sees)}.")
    given = (decision, *(other for other in sees if other != seen))
    return diagram.graph.d_separated(seen, influenced_utilities(diagram, decision), given)


def irrelevant_information(diagram: Diagram) -> tuple[DroppedInformation, ...]:
    """The information edges that are irrelevant as the diagram stands; they can go all at once.

    Others may become irrelevant when these are gone: see `minimal_reduction`. Linear in the graph for each decision.

    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram([pb.TableCPD("coin", [0.5, 0.5])], [pb.Decision("D", 2, sees=["coin"])],
    ...                            [pb.Utility("D", [0, 1], name="V")])
    >>> print(irrelevant_information(diagram)[0])
    coin -> D: coin says nothing about V given D
    """
    useless = information_flow(diagram).useless
    drops = [
        Drop(name, useless[name], decision.sees, influenced_utilities(diagram, name))
        for name, decision in diagram.decisions.items()
        if name in useless
    ]
    return tuple(edge for drop in drops for edge in _edges(drop))


def minimal_reduction(diagram: DiagramT) -> InformationReduction[DiagramT]:
    """The diagram with irrelevant information removed until none is left; its best strategy is as good.

    An edge may turn irrelevant only after others are gone, when a decision no longer influences some utility: hence
    passes over the decisions, the last first, until nothing more goes. The result does not depend on the order.
    Rules get smaller, and the relevance graph loses edges. A pass is linear in the graph for each decision; there
    are two mostly (Koller & Friedman 2009, theorems 23.6 and 23.7).

    >>> import plausible as pb
    >>> steps = [pb.Decision("call", 2, sees=["coin"]), pb.Decision("echo", 2, sees=["call"])]
    >>> diagram = pb.InfluenceDiagram([pb.TableCPD("coin", [0.5, 0.5])], steps, [pb.Utility("echo", [0, 1], "V")])
    >>> print(diagram.minimal_reduction())
    call -> echo: call says nothing about V given echo
    coin -> call: call changes no utility
    """
    reduced = reduced_information(diagram)
    dropped = tuple(edge for drop in reduced.drops for edge in _edges(drop))
    return InformationReduction(diagram, diagram.with_information(reduced.sees), dropped)


def _edges(drop: Drop) -> list[DroppedInformation]:
    """The edges of a decision that go, each with its reason."""
    name, gone, sees, utilities = drop
    return [
        DroppedInformation(seen, name, utilities, (name, *(other for other in sees if other != seen))) for seen in gone
    ]
