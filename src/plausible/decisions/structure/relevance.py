"""Strategic relevance: which decisions have to be settled before which others can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from plausible.base.records import record
from plausible.decisions.structure.information_flow import Reliance, information_flow
from plausible.errors import InvalidArgument
from plausible.graphs import DAG

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = [
    "RelevanceGraph",
    "influenced_utilities",
    "ordered_components",
    "relevance_graph",
    "relies_on",
    "s_reachable",
]


@record
class RelevanceGraph:
    """Which decisions rely on which: an edge from D' to D where the best rule of D may depend on the rule of D'.

    It may be cyclic: then decisions have to be settled together.

    Attributes
    ----------
    decisions
        All decisions, in the diagram's order.
    edges
        Pairs (D', D): D relies on D'.
    components
        The strongly connected components, those relied on first; among free choices the one with the latest decision.
        Solving them in this order, each jointly, gives a global optimum.
    """

    decisions: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
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


def influenced_utilities(diagram: InfluenceDiagram, decision: str) -> tuple[str, ...]:
    """The utilities that a decision can change: those that a directed path leads to, in the diagram's order.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [0, 1], name="V"), Utility([], 3, name="W")])
    >>> influenced_utilities(diagram, "D")
    ('V',)
    """
    below = diagram.graph.descendants(diagram.decision(decision).name)
    return tuple(name for name in diagram.utilities if name in below)


def s_reachable(diagram: InfluenceDiagram, decision: str, other: str) -> bool:
    """Whether `other` is strategically reachable from `decision`: its best rule may depend on the rule of `other`.

    A parent is added to `other`, standing for its rule; `other` is reachable if an active trail leads from there to a
    utility that `decision` influences, given `decision` and all that it sees. This is sound for all numbers: if it is
    not reachable, its rule makes no difference; and complete: if it is, it makes one for some numbers.

    Parameters
    ----------
    diagram
        The influence diagram.
    decision, other
        Names of two decisions. The relation is not symmetric.

    References
    ----------
    Koller & Milch (2003), Multi-agent influence diagrams for representing and solving games, Games and Economic
    Behavior 45. Koller & Friedman (2009), Probabilistic graphical models, definition 23.8.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> first, second = Decision("first", 2), Decision("second", 2, sees=["first"])
    >>> diagram = InfluenceDiagram([], [first, second], [Utility(["first", "second"], [[1, 0], [0, 2]])])
    >>> s_reachable(diagram, "first", "second"), s_reachable(diagram, "second", "first")
    (True, False)
    """
    diagram.decision(decision), diagram.decision(other)
    if decision == other:
        raise InvalidArgument(f"A decision does not rely on itself: name two different ones, not {decision!r} twice.")
    return other in information_flow(diagram).reliance[decision]


def relies_on(diagram: InfluenceDiagram) -> dict[str, tuple[str, ...]]:
    """For each decision those that it relies on, in the diagram's order: see `s_reachable`.

    A Bayes ball for each decision, all at once: see `plausible.decisions.structure.information_flow`.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> blind = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> relies_on(blind)
    {'D': ('E',), 'E': ('D',)}
    """
    return _in_order(diagram, information_flow(diagram).reliance)


def relevance_graph(diagram: InfluenceDiagram) -> RelevanceGraph:
    """Which decisions rely on which, and the order in which they can be settled.

    With perfect recall the graph is acyclic, and the order is the reverse of time.

    Parameters
    ----------
    diagram
        The influence diagram.

    Notes
    -----
    One Bayes ball for each decision, all at once, and what is written down: O(n + k²) for n nodes and k decisions.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, definition 23.9 and theorem 23.4.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> first, second = Decision("first", 2), Decision("second", 2, sees=["first"])
    >>> diagram = InfluenceDiagram([], [first, second], [Utility(["first", "second"], [[1, 0], [0, 2]])])
    >>> print(relevance_graph(diagram))
    second relies on no other
    first relies on second
    """
    reliance = information_flow(diagram).reliance
    relied = _in_order(diagram, reliance)
    edges = tuple((other, name) for name, others in relied.items() for other in others)
    return RelevanceGraph(tuple(relied), edges, ordered_components(reliance))


def _in_order(diagram: InfluenceDiagram, reliance: Reliance) -> dict[str, tuple[str, ...]]:
    """For each decision those that it relies on, in the diagram's order."""
    relied = {name: frozenset(reliance[name]) for name in diagram.decisions}
    return {name: tuple(other for other in relied if other in others) for name, others in relied.items()}


def ordered_components(reliance: Reliance) -> tuple[tuple[str, ...], ...]:
    """Decisions that rely on each other together, those relied on first; among free choices the one with the latest.

    >>> ordered_components(Reliance(["C", "D", "E"], [0b000, 0b100, 0b011]))
    (('D', 'E'), ('C',))
    """
    if reliance.is_on_later_ones:
        return tuple((name,) for name in reversed(reliance.in_time))
    size = len(reliance.in_time)
    edges = [(i, j) for i, users in enumerate(reliance.relied_by) for j in range(size) if users >> j & 1]
    parts = _ordered_parts(_strong_parts(reliance.relied_by), edges)
    return tuple(tuple(reliance.in_time[position] for position in part) for part in parts)


def _strong_parts(following: Sequence[int]) -> list[tuple[int, ...]]:
    """The strongly connected components of a graph on numbers, from the bit set of those that follow each."""
    size = len(following)
    reached = list(following)
    for middle in range(size):
        for start in range(size):
            if reached[start] >> middle & 1:
                reached[start] |= reached[middle]
    parts: dict[int, tuple[int, ...]] = {}
    for place in range(size):
        if place not in parts:
            both = [j for j in range(size) if reached[place] >> j & 1 and reached[j] >> place & 1]
            parts.update(dict.fromkeys({place, *both}, tuple(sorted({place, *both}))))
    return list(dict.fromkeys(parts.values()))


def _ordered_parts(parts: Iterable[tuple[int, ...]], edges: Iterable[tuple[int, int]]) -> Sequence[tuple[int, ...]]:
    """Components such that all edges lead to later ones; among free choices the one with the largest number."""
    latest_first = sorted(parts, key=lambda part: -part[-1])
    part_of = {position: part for part in latest_first for position in part}
    between = {(part_of[source], part_of[target]) for source, target in edges}
    graph = DAG([(a, b) for a, b in between if a != b], nodes=latest_first)
    rank = {part: number for number, part in enumerate(graph.topological_order)}
    return sorted(latest_first, key=rank.__getitem__)
