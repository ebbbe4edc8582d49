"""What each decision has to know and which others it relies on: the order in which a diagram can be solved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.graphs.separation import FROM_CHILD, FROM_PARENT, CompressedRows, compress, roll

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Structure", "decisions_in_time", "read_structure"]

#: From so many nodes on the ball rolls in compiled code, which solving such a diagram needs anyway.
_LARGE = 60


@dataclass(frozen=True, slots=True)
class Structure:
    """What can be said about a solution before a number is looked at.

    Attributes
    ----------
    information
        Decision -> what it has to know, of what it sees.
    relies_on
        Decision -> the decisions whose rules matter to its own.
    components
        The decisions in an order in which they can be settled; those that rely on each other together.
    relevant
        The variables that matter to any utility or decision.
    """

    information: Mapping[str, tuple[str, ...]]
    relies_on: Mapping[str, tuple[str, ...]]
    components: tuple[tuple[str, ...], ...]
    relevant: frozenset[str]


def decisions_in_time(diagram: InfluenceDiagram) -> list[str]:
    """The decisions in an order in which they can be made."""
    return [str(node) for node in diagram.graph.topological_order if node in diagram.decisions]


def read_structure(diagram: InfluenceDiagram, evidence: Iterable[str] = ()) -> Structure:
    """Drop what decisions need not know until nothing is left to drop, then see which of them rely on which.

    One Bayes ball for each decision answers both questions: it starts from the utilities that the decision influences,
    with the decision and what it sees observed. What it sees and the ball never meets is of no use; a decision whose
    rule the ball would reach is relied on.

    Parameters
    ----------
    diagram
        The influence diagram.
    evidence
        What is known beforehand.

    Notes
    -----
    O((n + k) k) for n nodes and edges and k decisions, times the rounds of dropping, of which the last drops nothing.

    References
    ----------
    Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information. Shachter (1998),
    Bayes-ball. Koller & Friedman (2009), Probabilistic graphical models, 23.5 and 23.6.
    """
    analysis = _Analysis(diagram, tuple(evidence))
    while analysis.drops():
        pass
    information = {name: analysis.needs(name) for name in diagram.decisions}
    return Structure(information, analysis.relied, _components(analysis.relied), analysis.relevant())


class _Analysis:
    """The graph while edges of information are dropped from it."""

    def __init__(self, diagram: InfluenceDiagram, evidence: tuple[str, ...]) -> None:
        graph = diagram.graph
        self.nodes = [str(node) for node in graph.nodes]
        self.place = {name: number for number, name in enumerate(self.nodes)}
        self.parents, self.children = list(graph.parent_rows), list(graph.child_rows)
        self.in_time = [self.place[str(node)] for node in graph.topological_order]
        self.decisions = decisions_in_time(diagram)[::-1]
        self.numbers = {self.place[name]: name for name in diagram.decisions}
        self.utilities = [self.place[name] for name in diagram.utilities]
        self.sees = {name: tuple(self.place[seen] for seen in diagram.decisions[name].sees) for name in self.decisions}
        self.relied: dict[str, tuple[str, ...]] = {}
        self.findings: list[int] = []  # an observed child of each variable that something is known about
        for name in evidence:
            variable = self.place[name]
            self.findings.append(len(self.parents))
            self.children[variable] = (*self.children[variable], len(self.parents))
            self.parents.append((variable,))
            self.children.append(())
        self.compressed: tuple[CompressedRows, CompressedRows] | None = None

    def drops(self) -> bool:
        """Go through the decisions once, the latest first; whether anything was dropped."""
        influenced = self._influenced()
        dropped = [self._drops(name, influenced[self.place[name]]) for name in self.decisions]
        return any(dropped)

    def _drops(self, name: str, influenced: int) -> bool:
        number, seen = self.place[name], self.sees[name]
        observed = frozenset((number, *seen, *self.findings))
        starts = [utility for place, utility in enumerate(self.utilities) if influenced >> place & 1]
        visits = self._visits(starts, observed)
        self.relied[name] = tuple(
            other
            for node, other in self.numbers.items()
            if node != number and visits.get(node, 0) & (FROM_PARENT if node in observed else FROM_CHILD)
        )
        useless = [other for other in seen if other not in visits]
        if useless:
            self.compressed = None
            self.sees[name] = tuple(other for other in seen if other in visits)
            self.parents[number] = self.sees[name]
            for other in useless:
                self.children[other] = tuple(child for child in self.children[other] if child != number)
        return bool(useless)

    def _visits(self, starts: list[int], observed: frozenset[int]) -> dict[int, int]:
        """For each node that the ball comes to, observed or not, the sides from which it comes."""
        if len(self.nodes) < _LARGE:
            return roll(self.parents, self.children, starts, frozenset(), observed)[1]
        from plausible.kernels.reachability import bayes_ball  # loads the compiler

        if self.compressed is None:
            self.compressed = compress(self.parents), compress(self.children)
        size = len(self.parents)
        flags, visited = np.zeros((2, size), dtype=np.uint8), np.zeros(size, dtype=np.uint8)
        flags[0, list(observed)] = 1
        room = np.empty(2 * size, dtype=np.int32)
        up, down = self.compressed
        bayes_ball(*up, *down, np.array(starts, dtype=np.int32), flags[0], flags[1], visited, room)
        found = np.flatnonzero(visited)
        return dict(zip(found.tolist(), visited[found].tolist(), strict=True))

    def _influenced(self) -> list[int]:
        """For each node the utilities that directed paths lead to, one bit for each."""
        masks = [0] * len(self.parents)
        for place, utility in enumerate(self.utilities):
            masks[utility] = 1 << place
        for node in reversed(self.in_time):
            for child in self.children[node]:
                masks[node] |= masks[child]
        return masks

    def needs(self, name: str) -> tuple[str, ...]:
        """What is left of what a decision sees."""
        return tuple(self.nodes[number] for number in self.sees[name])

    def relevant(self) -> frozenset[str]:
        """All variables but the barren ones: what utilities, findings and decisions descend from."""
        stack = [*self.utilities, *self.findings, *self.numbers]
        reached = set(stack)
        while stack:
            fresh = [parent for parent in self.parents[stack.pop()] if parent not in reached]
            reached.update(fresh)
            stack.extend(fresh)
        return frozenset(self.nodes[number] for number in reached.difference(self.utilities, self.findings))


def _components(relied: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Decisions that rely on each other together, those relied on first; `relied` has the latest decision first."""
    place = {name: number for number, name in enumerate(relied)}
    if all(place[other] < place[name] for name, others in relied.items() for other in others):
        return tuple((name,) for name in relied)
    import networkx as nx

    graph = nx.DiGraph([(name, other) for name, others in relied.items() for other in others])
    graph.add_nodes_from(relied)
    parts = nx.strongly_connected_components(graph)  # those that have no edge to others come first
    return tuple(tuple(sorted(part, key=place.__getitem__, reverse=True)) for part in parts)
