"""Meek's rules: the directions of edges that follow from the directions of others."""

from __future__ import annotations

from itertools import combinations

from plausible.errors import InvalidGraph
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.pdag import PDAG

__all__ = ["Orientation", "apply_meek_rules"]


def apply_meek_rules(pdag: PDAG) -> PDAG:
    """Direct every edge whose direction the four rules force.

    A direction is forced if the other one would make a directed cycle or an immorality that is not there yet:

    1. `A -> B - C`, A and C not adjacent: `B -> C`.
    2. `A -> B -> C`, `A - C`: `A -> C`.
    3. `A - B`, `A - C -> B`, `A - D -> B`, C and D not adjacent: `A -> B`.
    4. `A - B`, `A - D -> C -> B`, A and C adjacent, D and B not: `A -> B`.

    They are sound for every PDAG, and complete if all its immoralities are directed: for a skeleton with immoralities
    and any further directions known beforehand (where rule 4 is needed) exactly the edges that stay undirected occur
    in both directions among the DAGs of the class. Each direction found makes the rules look again at the edges of
    its two ends, so sparse graphs cost little more than their edges.

    Raises
    ------
    InvalidGraph
        If both directions of an edge are excluded: then no DAG fits.

    References
    ----------
    Meek (1995), Causal inference and causal explanation with background knowledge, UAI.

    Examples
    --------
    >>> apply_meek_rules(PDAG("A -> B - C - D"))
    PDAG('A -> B; B -> C; C -> D')
    """
    work = Orientation(pdag)
    work.close()
    return work.to_pdag()


class Orientation:
    """The working state of the algorithms on PDAGs: sets of positions that change as edges get directions.

    Parameters
    ----------
    pdag
        Where to start.

    Attributes
    ----------
    adjacent
        For every node the nodes joined to it; never changes.
    parents, children, neighbors
        For every node those with an edge into it, from it, and undirected at it.
    """

    __slots__ = ("_nodes", "adjacent", "children", "neighbors", "parents")

    def __init__(self, pdag: PDAG) -> None:
        self._nodes: tuple[Node, ...] = pdag.nodes
        position = NodeIndex(pdag.nodes).positions
        self.adjacent: list[set[int]] = [set() for _ in position]
        self.parents: list[set[int]] = [set() for _ in position]
        self.children: list[set[int]] = [set() for _ in position]
        self.neighbors: list[set[int]] = [set() for _ in position]
        for edge in pdag.edges:
            a, b = position[edge.left], position[edge.right]
            self.adjacent[a].add(b)
            self.adjacent[b].add(a)
            (self.children if edge.is_directed else self.neighbors)[a].add(b)
            (self.parents if edge.is_directed else self.neighbors)[b].add(a)

    def copy(self) -> Orientation:
        """A state that can go another way."""
        twin = object.__new__(Orientation)
        twin._nodes, twin.adjacent = self._nodes, self.adjacent
        twin.parents = [set(row) for row in self.parents]
        twin.children = [set(row) for row in self.children]
        twin.neighbors = [set(row) for row in self.neighbors]
        return twin

    def undirected_edges(self) -> list[tuple[int, int]]:
        """The edges without direction, each once."""
        return [(a, b) for a, row in enumerate(self.neighbors) for b in sorted(row) if a < b]

    def orient(self, source: int, target: int) -> None:
        """Direct the undirected edge `source - target`."""
        self.neighbors[source].remove(target)
        self.neighbors[target].remove(source)
        self.children[source].add(target)
        self.parents[target].add(source)

    def close(self, fresh: tuple[int, int] | None = None) -> None:
        """Apply the rules until they find nothing more; `fresh` is the only edge directed since the last time."""
        waiting = self.undirected_edges() if fresh is None else self._touched(*fresh)
        while waiting:
            a, b = waiting.pop()
            if b not in self.neighbors[a]:
                continue
            forward, backward = self._is_forced(a, b), self._is_forced(b, a)
            if forward and backward:
                raise InvalidGraph(
                    f"No DAG fits this PDAG: both directions of {self._nodes[a]!r} - {self._nodes[b]!r} would make a "
                    "directed cycle or a new immorality."
                )
            if forward or backward:
                source, target = (a, b) if forward else (b, a)
                self.orient(source, target)
                waiting += self._touched(source, target)

    def _is_forced(self, a: int, b: int) -> bool:
        """Whether one of the rules directs `a - b` from a to b."""
        if not self.parents[a] <= self.adjacent[b] or self.children[a] & self.parents[b]:
            return True  # rules 1 and 2
        inner = self.neighbors[a] & self.parents[b]
        if any(d not in self.adjacent[c] for c, d in combinations(inner, 2)):
            return True  # rule 3
        between = self.adjacent[a] & self.parents[b]
        return any((self.parents[c] & self.neighbors[a]) - self.adjacent[b] for c in between)  # rule 4

    def _touched(self, source: int, target: int) -> list[tuple[int, int]]:
        """The undirected edges that a rule may now see differently: those at both ends, and of rule 4 with `d -> c`."""
        edges = [(end, other) for end in (source, target) for other in self.neighbors[end]]
        around = self.neighbors[source]
        return edges + [(a, b) for b in self.children[target] for a in self.neighbors[b] & around]

    def to_pdag(self) -> PDAG:
        """The state as a graph."""
        nodes = self._nodes
        directed = [Edge.of(nodes[a], "->", nodes[b]) for a, row in enumerate(self.children) for b in sorted(row)]
        undirected = [Edge.of(nodes[a], "-", nodes[b]) for a, b in self.undirected_edges()]
        return PDAG(directed + undirected, nodes=nodes)
