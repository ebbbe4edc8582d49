"""m-separation: d-separation for graphs that may also have bidirected and undirected edges."""

from __future__ import annotations

from plausible.graphs.marked import MarkedGraph
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.walks import walk_reach

__all__ = ["SeparationGraph"]


class SeparationGraph(MarkedGraph):
    """A marked graph whose paths say what is independent of what."""

    __slots__ = ()

    def m_separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether no path between `x` and `y` is active given `given`.

        A path is active if each inner node with two arrowheads of the path (a collider) is in `given` or has a
        descendant there, and no other inner node is in `given`. Nodes of `x` and `y` that are also in `given` are
        ignored. In a graph with edges `->` only this is d-separation. Linear in the edges.

        References
        ----------
        Richardson (2003), Markov properties for acyclic directed mixed graphs, Scandinavian Journal of Statistics 30.
        """
        observed = set(self._index.select(given))
        starts = set(self._index.select(x)) - observed
        targets = set(self._index.select(y)) - observed
        is_observed = [node in observed for node in range(len(self._index))]
        # A walk passes a collider with an observed descendant by going down to that one and back.
        reached = walk_reach(self._incident, starts, is_observed, [not seen for seen in is_observed])
        return not targets & (starts | reached)

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The nodes that paths with colliders only join to `node`: given these, it is independent of the rest.

        With edges `->` and `<->` this is the district of the node and of its children, and the parents of all these.
        For a node without children it is its district and the district's parents. In a DAG it is the usual blanket.
        """
        center = self._index.position(node)
        size = len(self._index)
        reached = walk_reach(self._incident, [center], [True] * size, [False] * size)
        return self._index.names(sorted(reached - {center}))
