"""Strategic relevance: which decisions have to be settled before which others can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.graphs.nodes import Node

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["RelevanceGraph", "influenced_utilities", "relevance_graph", "relies_on", "s_reachable"]


@dataclass(frozen=True, slots=True)
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

    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
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
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> first, second = Decision("first", 2), Decision("second", 2, sees=["first"])
    >>> diagram = InfluenceDiagram([], [first, second], [Utility(["first", "second"], [[1, 0], [0, 2]])])
    >>> s_reachable(diagram, "first", "second"), s_reachable(diagram, "second", "first")
    (True, False)
    """
    diagram.decision(other)
    if decision == other:
        raise InvalidArgument(f"A decision does not rely on itself: name two different ones, not {decision!r} twice.")
    return other in _reached(diagram, _with_rules(diagram), decision)


def relies_on(diagram: InfluenceDiagram) -> dict[str, tuple[str, ...]]:
    """For each decision those that it relies on, in the diagram's order: see `s_reachable`.

    One Bayes ball for each of the k decisions: O((n + k) k) for n nodes and edges.

    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> blind = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> relies_on(blind)
    {'D': ('E',), 'E': ('D',)}
    """
    graph = _with_rules(diagram)
    return {name: _reached(diagram, graph, name) for name in diagram.decisions}


def relevance_graph(diagram: InfluenceDiagram) -> RelevanceGraph:
    """Which decisions rely on which, and the order in which they can be settled.

    With perfect recall the graph is acyclic, and the order is the reverse of time.

    Parameters
    ----------
    diagram
        The influence diagram.

    Notes
    -----
    O((n + k) k) for n nodes and edges and k decisions.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, definition 23.9 and theorem 23.4.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> first, second = Decision("first", 2), Decision("second", 2, sees=["first"])
    >>> diagram = InfluenceDiagram([], [first, second], [Utility(["first", "second"], [[1, 0], [0, 2]])])
    >>> print(relevance_graph(diagram))
    second relies on no other
    first relies on second
    """
    relied = relies_on(diagram)
    edges = tuple((other, name) for name, others in relied.items() for other in others)
    return RelevanceGraph(tuple(relied), edges, _components(tuple(relied), edges))


def _rule_of(decision: str) -> Node:
    """The node that stands for the rule of a decision; a pair, so that it can't be the name of a variable."""
    return "rule of", decision


def _with_rules(diagram: InfluenceDiagram) -> DAG:
    """The graph of the diagram with the rule of each decision as one more parent of it."""
    return DAG([*diagram.graph.edges, *((_rule_of(name), name) for name in diagram.decisions)], diagram.graph.nodes)


def _reached(diagram: InfluenceDiagram, graph: DAG, decision: str) -> tuple[str, ...]:
    """The decisions whose rules the best rule of one may depend on."""
    utilities = influenced_utilities(diagram, decision)
    found = graph.d_connected(utilities, given=(decision, *diagram.decision(decision).sees))
    return tuple(name for name in diagram.decisions if name != decision and _rule_of(name) in found)


def _components(decisions: tuple[str, ...], edges: tuple[tuple[str, str], ...]) -> tuple[tuple[str, ...], ...]:
    """The strongly connected components in topological order."""
    if not edges:
        return tuple((name,) for name in reversed(decisions))
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {name: position for position, name in enumerate(decisions)}
    sources, targets = ([place[edge[side]] for edge in edges] for side in (0, 1))
    adjacency = coo_array((np.ones(len(edges)), (sources, targets)), shape=(len(decisions), len(decisions)))
    _, labels = connected_components(adjacency, connection="strong")
    members: dict[int, list[str]] = {}
    for name, label in zip(decisions, labels.tolist(), strict=True):
        members.setdefault(label, []).append(name)
    parts = sorted(map(tuple, members.values()), key=lambda part: -place[part[-1]])  # free choices: the latest first
    part_of = {name: part for part in parts for name in part}
    between = {(part_of[source], part_of[target]) for source, target in edges}
    order = DAG([(a, b) for a, b in between if a != b], nodes=parts).topological_order
    return tuple(sorted(parts, key={part: rank for rank, part in enumerate(order)}.__getitem__))
