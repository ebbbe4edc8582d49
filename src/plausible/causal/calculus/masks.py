"""Separation in causal graphs on bit sets: node i is bit i of a whole number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node

__all__ = ["MaskGraph", "bits", "mask_graph"]


def bits(mask: int) -> Iterator[int]:
    """The members of a set one by one, each as a set of its own.

    >>> list(bits(0b1101))
    [1, 4, 8]
    """
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


@dataclass(frozen=True, slots=True)
class MaskGraph:
    """A causal graph whose sets of nodes are whole numbers.

    Attributes
    ----------
    nodes
        The node of each bit.
    parents, children, siblings
        For each node the sets of nodes with an edge `->` into it, `->` out of it, and `<->`.
    """

    nodes: tuple[Node, ...]
    parents: tuple[int, ...]
    children: tuple[int, ...]
    siblings: tuple[int, ...]

    @property
    def all(self) -> int:
        """The set of all nodes."""
        return (1 << len(self.nodes)) - 1

    def names(self, mask: int) -> tuple[Node, ...]:
        """The nodes of a set."""
        return tuple(self.nodes[bit.bit_length() - 1] for bit in bits(mask))

    def above(self, mask: int, cut_into: int) -> int:
        """The set and its ancestors in the graph without the edges into `cut_into`."""
        found = frontier = mask
        while frontier:
            fresh = 0
            for bit in bits(frontier & ~cut_into):
                fresh |= self.parents[bit.bit_length() - 1]
            frontier = fresh & ~found
            found |= fresh
        return found

    def separated(self, x: int, y: int, given: int, cut_into: int = 0, cut_out_of: int = 0) -> bool:
        """Whether X ⟂ Y | Z in the graph without arrowheads at `cut_into` and without edges `->` out of `cut_out_of`.

        Walks are followed by what they come to: nodes by an arrowhead, and nodes by a tail. A collider with an observed
        descendant is passed by going down to that one and back. Linear in the edges.
        """
        if x & y:
            return False
        by_tail, by_arrow = self._steps(x, cut_into, cut_out_of, up=True, down=True)
        seen_tail = seen_arrow = 0
        while by_tail | by_arrow:
            if (by_tail | by_arrow) & y:
                return False
            seen_tail |= by_tail
            seen_arrow |= by_arrow
            everywhere = self._steps(by_tail & ~given, cut_into, cut_out_of, up=True, down=True)
            onwards = self._steps(by_arrow & ~given, cut_into, cut_out_of, up=False, down=True)
            back = self._steps(by_arrow & given, cut_into, cut_out_of, up=True, down=False)
            by_tail = (everywhere[0] | onwards[0] | back[0]) & ~seen_tail
            by_arrow = (everywhere[1] | onwards[1] | back[1]) & ~seen_arrow
        return True

    def _steps(self, mask: int, cut_into: int, cut_out_of: int, *, up: bool, down: bool) -> tuple[int, int]:
        """The nodes that one step leads to by their tail, and by their arrowhead."""
        by_tail = by_arrow = 0
        for bit in bits(mask):
            node = bit.bit_length() - 1
            if up and not bit & cut_into:
                by_tail |= self.parents[node] & ~cut_out_of
                by_arrow |= self.siblings[node] & ~cut_into
            if down and not bit & cut_out_of:
                by_arrow |= self.children[node] & ~cut_into
        return by_tail, by_arrow


def mask_graph(graph: CausalGraph) -> MaskGraph:
    """The graph on bit sets, node i of its order as bit i."""
    bit = {node: 1 << place for place, node in enumerate(graph.nodes)}
    relations = (graph.parents, graph.children, graph.siblings)
    rows = [tuple(sum(bit[other] for other in relation(node)) for node in graph.nodes) for relation in relations]
    return MaskGraph(graph.nodes, *rows)
