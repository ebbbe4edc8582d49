"""Causal graphs as bit sets: a set of nodes is one integer, so that set algebra costs a few machine words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.mark_masks import bits
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node


@dataclass(frozen=True, slots=True)
class MaskGraph:
    """A causal graph whose nodes are numbered along a topological order."""

    nodes: tuple[Node, ...]  # The node at each position; parents come before their children.
    parents: tuple[int, ...]  # For each position the bit set of those that an edge `->` or `<->` joins to it.
    children: tuple[int, ...]
    siblings: tuple[int, ...]
    members: int  # The nodes that are there; the others were projected out.

    @classmethod
    def of(cls, graph: DAG | CausalGraph) -> MaskGraph:
        """The graph as bit sets."""
        nodes = graph.topological_order
        position = {node: place for place, node in enumerate(nodes)}
        parents, children, siblings = ([0] * len(nodes) for _ in range(3))
        edges = [Edge.of(a, "->", b) for a, b in graph.edges] if isinstance(graph, DAG) else graph.edges
        for edge in edges:
            a, b = position[edge.left], position[edge.right]
            forward, backward = (children, parents) if edge.is_directed else (siblings, siblings)
            forward[a] |= 1 << b
            backward[b] |= 1 << a
        return cls(nodes, tuple(parents), tuple(children), tuple(siblings), (1 << len(nodes)) - 1)

    def mask(self, nodes: Iterable[Node]) -> int:
        """The bit set of some nodes."""
        chosen = set(nodes)
        return sum(1 << place for place, node in enumerate(self.nodes) if node in chosen)

    def names(self, mask: int) -> tuple[Node, ...]:
        """The nodes of a bit set, in topological order."""
        return tuple(self.nodes[place] for place in bits(mask))

    def ancestors(self, mask: int, within: int) -> int:
        """The nodes themselves and all with a directed path to one of them inside of `within`."""
        return _closure(self.parents, mask & within, within)

    def above(self, mask: int, cut_into: int) -> int:
        """The nodes themselves and all their ancestors in the graph without the edges into `cut_into`."""
        below = self.ancestors(mask, self.members & ~cut_into)
        return mask | self._with_parents(below, self.members)

    def descendants(self, mask: int, within: int) -> int:
        """The nodes themselves and all that a directed path inside of `within` leads to from them."""
        return _closure(self.children, mask & within, within)

    def district(self, mask: int, within: int) -> int:
        """The nodes themselves and all that paths of edges `<->` inside of `within` join to them."""
        return _closure(self.siblings, mask & within, within)

    def districts(self, within: int) -> list[int]:
        """The partition of `within` into districts, ordered by their first nodes."""
        found: list[int] = []
        while within:
            found.append(self.district(within & -within, within))
            within &= ~found[-1]
        return found

    def pillow(self, place: int, within: int) -> int:
        """All that a node without children in `within` depends on there: its district and that one's parents."""
        return self._with_parents(self.district(1 << place, within), within) & ~(1 << place)

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
        for place in bits(mask):
            if up and not cut_into >> place & 1:
                by_tail |= self.parents[place] & ~cut_out_of
                by_arrow |= self.siblings[place] & ~cut_into
            if down and not cut_out_of >> place & 1:
                by_arrow |= self.children[place] & ~cut_into
        return by_tail, by_arrow

    def _with_parents(self, nodes: int, within: int) -> int:
        around = nodes
        for place in bits(nodes):
            around |= self.parents[place]
        return around & within

    def projected(self, place: int) -> MaskGraph:
        """The latent projection that takes one node away."""
        one = 1 << place
        parents, children, siblings = list(self.parents), list(self.children), list(self.siblings)
        above, below, beside = parents[place], children[place], siblings[place]
        for child in bits(below):
            parents[child] = (parents[child] | above) & ~one
            siblings[child] = (siblings[child] | below | beside) & ~(1 << child)
        for parent in bits(above):
            children[parent] = (children[parent] | below) & ~one
        for sibling in bits(beside):
            siblings[sibling] = (siblings[sibling] | (below & ~(1 << sibling))) & ~one
        parents[place] = children[place] = siblings[place] = 0
        rows = tuple(parents), tuple(children), tuple(siblings)
        return replace(self, parents=rows[0], children=rows[1], siblings=rows[2], members=self.members & ~one)


def _closure(rows: Sequence[int], start: int, within: int) -> int:
    found = frontier = start
    while frontier:
        reached = 0
        for place in bits(frontier):
            reached |= rows[place]
        frontier = reached & within & ~found
        found |= frontier
    return found
