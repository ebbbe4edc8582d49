"""Immoralities, and Meek's rules: the directions of edges that follow from the directions of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from plausible.base import html_of_print
from plausible.errors import CyclicGraph, InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_as, read_pdag
from plausible.graphs.marks import Edge
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.text import quote


@dataclass(frozen=True, slots=True, eq=False)
class Immorality:
    """A child and two parents of it that are not adjacent: `left -> child <- right`, in whichever order.

    >>> Immorality("A", "C", "B") == Immorality("B", "C", "A")
    True
    """

    left: Node
    child: Node
    right: Node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Immorality):
            return NotImplemented
        return self.child == other.child and {self.left, self.right} == {other.left, other.right}

    def __hash__(self) -> int:
        return hash((self.child, frozenset((self.left, self.right))))

    def __str__(self) -> str:
        return f"{quote(self.left)} -> {quote(self.child)} <- {quote(self.right)}"

    _repr_html_ = html_of_print


def immoralities(graph: GraphLike[DAG | PDAG]) -> tuple[Immorality, ...]:
    """The immoralities (v-structures, unshielded colliders), ordered by child.

    >>> [str(immorality) for immorality in immoralities(DAG("D -> G <- I -> S; G -> L"))]
    ['D -> G <- I']
    """
    read: DAG | PDAG = read_as(graph, DAG, PDAG)
    return tuple(
        Immorality(left, child, right)
        for child in read.nodes
        for left, right in combinations(read.parents(child), 2)
        if not read.is_adjacent(left, right)
    )


def apply_meek_rules(pdag: GraphLike[PDAG]) -> PDAG:
    """Direct every edge whose direction the four rules force.

    A direction is forced if the other one would make a directed cycle or an immorality that is not there yet:

    1. `A -> B - C`, A and C not adjacent: `B -> C`.
    2. `A -> B -> C`, `A - C`: `A -> C`.
    3. `A - B`, `A - C -> B`, `A - D -> B`, C and D not adjacent: `A -> B`.
    4. `A - B`, `A - D -> C -> B`, A and C adjacent, D and B not: `A -> B`.

    They find all such edges: those that stay undirected occur in both directions among the DAGs that the PDAG stands
    for. Rule 4 is only needed if more is directed than immoralities and what follows from them, as with background
    knowledge. Each directed edge is looked at once, with the nodes around it, so sparse graphs cost little.

    Raises
    ------
    InvalidGraph
        If the rules lead to a cycle or to a new immorality: then no DAG fits.

    Meek (1995), Causal inference and causal explanation with background knowledge, UAI.

    >>> apply_meek_rules(PDAG("A -> B - C - D"))
    PDAG('A -> B; B -> C; C -> D')
    """
    pdag = read_pdag(pdag)
    work = Orientation(pdag)
    work.close()
    try:
        closed = work.to_pdag()
    except CyclicGraph as error:
        cycle = " -> ".join(map(quote, (*error.cycle, error.cycle[0])))
        raise InvalidGraph(f"No DAG fits this PDAG: its directions force the cycle {cycle}.") from None
    new = set(immoralities(closed)).difference(immoralities(pdag))
    if new:
        raise InvalidGraph(f"No DAG fits this PDAG: its directions force the new immorality '{min(map(str, new))}'.")
    return closed


class Orientation:
    """The working state of the algorithms on PDAGs: sets of positions that change as edges get directions.

    For every node there are its `parents`, `children`, `neighbors` (undirected), and all `adjacent` ones.
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

    def undirected_edges(self) -> list[tuple[int, int]]:
        """The edges without direction, each once."""
        return [(a, b) for a, row in enumerate(self.neighbors) for b in sorted(row) if a < b]

    def orient(self, source: int, target: int) -> None:
        """Direct the undirected edge `source - target`."""
        self.neighbors[source].remove(target)
        self.neighbors[target].remove(source)
        self.children[source].add(target)
        self.parents[target].add(source)

    def undo(self, source: int, target: int) -> None:
        """Take the direction of `source -> target` back."""
        self.children[source].remove(target)
        self.parents[target].remove(source)
        self.neighbors[source].add(target)
        self.neighbors[target].add(source)

    def close(self, fresh: tuple[int, int] | None = None) -> list[tuple[int, int]]:
        """Apply the rules until they find nothing more; the edges that they directed.

        `fresh` is the only edge directed since the last time; without it all directed edges are looked at.
        """
        waiting = [(a, b) for a, row in enumerate(self.children) for b in sorted(row)] if fresh is None else [fresh]
        found: list[tuple[int, int]] = []
        while waiting:
            for source, target in list(self._consequences(*waiting.pop())):
                if target in self.neighbors[source]:
                    self.orient(source, target)
                    found.append((source, target))
                    waiting.append((source, target))
        return found

    def _consequences(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        """The directions that a rule derives from `a -> b` and other edges."""
        around_a, around_b = self.neighbors[a], self.neighbors[b]
        yield from ((b, x) for x in around_b - self.adjacent[a])  # rule 1
        yield from ((a, x) for x in around_a & self.children[b])  # rule 2, as its first edge
        yield from ((x, b) for x in around_b & self.parents[a])  # rule 2, as its second edge
        for x in around_b & self.adjacent[a]:
            other_sides = (self.neighbors[x] & self.parents[b]) - self.adjacent[a] - {a}
            before = (self.neighbors[x] & self.parents[a]) - self.adjacent[b]
            if (x in around_a and other_sides) or before:
                yield x, b  # rule 3; rule 4, as its second edge
        for y in self.children[b] - self.adjacent[a]:
            yield from ((x, y) for x in around_a & self.neighbors[y] & self.adjacent[b])  # rule 4, as its first edge

    def to_pdag(self) -> PDAG:
        """The state as a graph."""
        nodes = self._nodes
        directed = [Edge.of(nodes[a], "->", nodes[b]) for a, row in enumerate(self.children) for b in sorted(row)]
        undirected = [Edge.of(nodes[a], "-", nodes[b]) for a, b in self.undirected_edges()]
        return PDAG(directed + undirected, nodes=nodes)
