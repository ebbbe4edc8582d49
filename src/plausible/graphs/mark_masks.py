"""Endpoint marks as bit sets, and how marks that are asked for come to stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from plausible.graphs.marked import MarkedGraph
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.nodes import Node


def bits(mask: int) -> Iterator[int]:
    """The positions of the ones, from the lowest."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def reach(found: int, step: Callable[[int], int], within: int = -1) -> int:
    """Some nodes, and those that steps lead to from them within a set, as bit sets."""
    frontier = found
    while frontier:
        reached = 0
        for node in bits(frontier):
            reached |= step(node)
        frontier = reached & within & ~found
        found |= frontier
    return found


class MarkMasks:
    """Nodes by position, with at most one edge between two; a mark that is neither arrowhead nor tail is a circle.

    Bit b of `arrow[a]` says that the edge a, b has an arrowhead at a; of `arrow_from[a]`, that it has one at b. So do
    `tail` and `tail_from` for tails. Marks are asked for with `want` and stand after `settle`: those asked for at the
    same time do not depend on any order, and a circle of which both an arrowhead and a tail are asked stays one for
    good. A mark once made stays. `adjacent` has for each node the bit set of its neighbours.
    """

    __slots__ = ("_blocked", "_wanted", "adjacent", "arrow", "arrow_from", "conflicts", "tail", "tail_from")

    def __init__(self, adjacent: Sequence[int]) -> None:
        size = len(adjacent)
        self.adjacent = list(adjacent)
        self.arrow, self.arrow_from = [0] * size, [0] * size
        self.tail, self.tail_from = [0] * size, [0] * size
        self._wanted: dict[tuple[int, int], Mark] = {}
        self._blocked: set[tuple[int, int]] = set()
        #: Ends (node, other end of its edge) of which two marks were asked -> the first mark asked against.
        self.conflicts: dict[tuple[int, int], Mark] = {}

    @classmethod
    def of(cls, graph: MarkedGraph) -> MarkMasks:
        """The marks of a graph with at most one edge between two nodes; positions are those of its nodes."""
        places = {node: place for place, node in enumerate(graph.nodes)}
        ends = [(places[edge.left], places[edge.right], edge) for edge in graph.edges]
        masks = cls(adjacency_masks(len(graph), ((a, b) for a, b, _ in ends)))
        for a, b, edge in ends:
            masks.put(a, b, edge.left_mark)
            masks.put(b, a, edge.right_mark)
        return masks

    def __len__(self) -> int:
        return len(self.adjacent)

    def circle(self, node: int) -> int:
        """The neighbours whose edge has a circle at a node."""
        return self.adjacent[node] & ~self.arrow[node] & ~self.tail[node]

    def circle_from(self, node: int) -> int:
        """The neighbours whose edge has a circle at their end."""
        return self.adjacent[node] & ~self.arrow_from[node] & ~self.tail_from[node]

    def children(self, node: int) -> int:
        """The nodes that a node has an edge `->` into."""
        return self.tail[node] & self.arrow_from[node]

    def parents(self, node: int) -> int:
        """The nodes with an edge `->` into a node."""
        return self.arrow[node] & self.tail_from[node]

    def onward(self, node: int) -> int:
        """The nodes that a possibly directed path may go to next: no arrowhead here, no tail there."""
        return self.adjacent[node] & ~self.arrow[node] & ~self.tail_from[node]

    def mark(self, node: int, other: int) -> Mark:
        """The mark at a node on its edge to another."""
        bit = 1 << other
        return Mark.ARROW if self.arrow[node] & bit else Mark.TAIL if self.tail[node] & bit else Mark.CIRCLE

    def edges(self, nodes: Sequence[Node]) -> list[Edge]:
        """The edges between named nodes, by position."""
        return [
            Edge(nodes[a], nodes[b], self.mark(a, b), self.mark(b, a))
            for a in range(len(self))
            for b in bits(self.adjacent[a] >> a << a)
        ]

    def key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The same for the same marks."""
        return tuple(self.arrow), tuple(self.tail)

    def copy(self) -> MarkMasks:
        """The same marks, to be changed by themselves."""
        other = MarkMasks(self.adjacent)
        other.arrow, other.arrow_from = self.arrow[:], self.arrow_from[:]
        other.tail, other.tail_from = self.tail[:], self.tail_from[:]
        return other

    def put(self, node: int, other: int, mark: Mark) -> None:
        """Set the mark at a node on its edge to another, whatever it was."""
        here, there = 1 << other, 1 << node
        self.arrow[node] &= ~here
        self.tail[node] &= ~here
        self.arrow_from[other] &= ~there
        self.tail_from[other] &= ~there
        if mark is Mark.ARROW:
            self.arrow[node] |= here
            self.arrow_from[other] |= there
        elif mark is Mark.TAIL:
            self.tail[node] |= here
            self.tail_from[other] |= there

    def want(self, node: int, other: int, mark: Mark) -> None:
        """Ask for a mark at a node on its edge to another."""
        end, there = (node, other), self.mark(node, other)
        if there is mark or end in self._blocked:
            return
        if there is not Mark.CIRCLE or self._wanted.get(end, mark) is not mark:
            self.conflicts.setdefault(end, mark)
            if there is Mark.CIRCLE:
                self._blocked.add(end)
            return
        self._wanted[end] = mark

    def want_edge(self, tail: int, head: int) -> None:
        """Ask for `tail -> head`."""
        self.want(tail, head, Mark.TAIL)
        self.want(head, tail, Mark.ARROW)

    def settle(self) -> bool:
        """Let the marks stand that were asked for without contradiction; whether there are any."""
        made = {end: mark for end, mark in self._wanted.items() if end not in self._blocked}
        for (node, other), mark in made.items():
            self.put(node, other, mark)
        self._wanted = {}
        return bool(made)


def adjacency_masks(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each node the bit set of its neighbours."""
    rows = [0] * size
    for a, b in pairs:
        rows[a] |= 1 << b
        rows[b] |= 1 << a
    return rows
