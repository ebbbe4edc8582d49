"""Undirected graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, final

from plausible.base.method_names import own_methods
from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, NodeIndex, Nodes, read_adjacency
from plausible.graphs.paths import PathRules
from plausible.graphs.plain import PlainGraph, read_pairs
from plausible.graphs.separation import Rows, minimal_cut, minimal_cuts, reach_outside

if TYPE_CHECKING:
    import networkx as nx
    import numpy.typing as npt


@final
@own_methods
class UndirectedGraph(PlainGraph):
    """An undirected graph. It is immutable; edits return new graphs.

    Parameters
    ----------
    edges
        A string of edges such as "A - B - C", pairs of nodes, an undirected networkx graph, another `UndirectedGraph`,
        or a model with one.
    nodes
        Nodes that come first in the node order. Use this to add nodes without edges.

    Examples
    --------
    >>> graph = UndirectedGraph("A - B - C - D - A")
    >>> graph.neighbors("A")
    ('B', 'D')
    >>> graph.separated("A", "C", given=["B", "D"])
    True
    """

    __slots__ = ("_neighbors",)

    _symbol = "-"

    def __init__(
        self, edges: str | Iterable[Any] | nx.Graph[Any] | UndirectedGraph = (), nodes: Iterable[Node] = ()
    ) -> None:
        found, pairs = read_pairs(edges, UndirectedGraph)
        self._index = NodeIndex(nodes, found)
        neighbors: list[dict[int, None]] = [{} for _ in self._index]
        positions = self._index.positions
        for left, right in pairs:
            a, b = positions[left], positions[right]
            neighbors[a][b] = None
            neighbors[b][a] = None
        self._neighbors = tuple(tuple(row) for row in neighbors)

    @classmethod
    def from_adjacency(cls, matrix: npt.ArrayLike, nodes: Iterable[Node] | None = None) -> UndirectedGraph:
        """The graph with an edge between nodes i and j where the symmetric matrix has a one; see `DAG.from_adjacency`.

        >>> UndirectedGraph.from_adjacency([[0, 1], [1, 0]], nodes=["A", "B"])
        UndirectedGraph('A - B')
        """
        names, pairs = read_adjacency(matrix, nodes)
        given = set(pairs)
        for a, b in pairs:
            if (b, a) not in given:
                raise InvalidGraph(f"The matrix has an edge from {a!r} to {b!r} but none back; for arrows use a DAG.")
        return cls(pairs, nodes=names)

    # --- what is there ---

    @property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """Each edge once, its end that comes first in the node order first."""
        nodes = self.nodes
        return tuple((nodes[a], nodes[b]) for a, row in enumerate(self._neighbors) for b in sorted(row) if a < b)

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return sum(map(len, self._neighbors)) // 2

    @property
    def neighbor_rows(self) -> Rows:
        """For each position the positions of its neighbours."""
        return self._neighbors

    def has_edge(self, a: Node, b: Node) -> bool:
        """Whether an edge joins the two nodes."""
        return self._index.position(b) in self._neighbors[self._index.position(a)]

    def is_adjacent(self, a: Node, b: Node) -> bool:
        """Whether an edge joins the two nodes: `has_edge` under the name that all kinds of graphs share."""
        return self.has_edge(a, b)

    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """The nodes joined to `node`."""
        return self._index.names(self._neighbors[self._index.position(node)])

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The neighbours: given these, the node is independent of the rest."""
        return self.neighbors(node)

    def degree(self, node: Node) -> int:
        """The number of neighbours."""
        return len(self._neighbors[self._index.position(node)])

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes with exactly one neighbour."""
        return self._index.names(i for i, row in enumerate(self._neighbors) if len(row) == 1)

    # --- separation ---

    def separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether every path from `x` to `y` meets `given`: sep(X; Y | Z). Linear in the edges.

        Observed members of `x` and `y` are left out; an unobserved node is not separated from itself.
        """
        observed = set(self._index.select(given))
        targets = set(self._index.select(y)) - observed
        return not targets & reach_outside(self._neighbors, self._index.select(x), observed)

    def minimal_separator(
        self, x: Nodes, y: Nodes, included: Nodes = (), restricted: Nodes | None = None
    ) -> frozenset[Node] | None:
        """A set of nodes that separates `x` and `y`, none of which can be spared; `None` if there is none.

        Of several it is the one closest to `x`. Linear in the edges (van der Zander & Liskiewicz 2020). For `included`
        and `restricted` see `DAG.minimal_separator`.

        >>> graph = UndirectedGraph("A - B - D; A - C - D; D - E")
        >>> sorted(graph.minimal_separator("A", "E"))
        ['B', 'C']
        >>> sorted(graph.minimal_separator("A", "E", restricted=["B", "D"]))
        ['D']
        """
        ends = set(self._index.select(x)), set(self._index.select(y))
        fixed = set(self._index.select(included))
        allowed = set(range(len(self)) if restricted is None else self._index.select(restricted))
        if misplaced := self._index.names(sorted(fixed & (ends[0] | ends[1]) | fixed - allowed)):
            raise InvalidArgument(f"included={misplaced!r} can't be in a separator: not restricted, or in x or y.")
        cut = minimal_cut(self._neighbors, *ends, fixed, allowed)
        return None if cut is None else frozenset(self._index.names(cut))

    def minimal_separators(self, x: Node, y: Node, limit: int | None = 100) -> Listing[frozenset[Node]]:
        """The minimal separators of two nodes, the one closest to `x` first; none if they are adjacent.

        Berry, Bordat & Cogis (2000). O(nodes x edges) for each, of which there can be many: `limit=None` gives all.

        >>> UndirectedGraph("A - B - C - D - A").minimal_separators("A", "C")
        [{'B', 'D'}]
        """
        a, b = self._index.position(x), self._index.position(y)
        if a == b:
            raise InvalidArgument(f"Nothing separates {x!r} from itself: give two different nodes.")
        return Listing(
            lambda: (frozenset(self._index.names(cut)) for cut in minimal_cuts(self._neighbors, a, b)), limit
        )

    # --- connectivity ---

    @property
    def is_forest(self) -> bool:
        """Whether there is no cycle: at most one path joins every two nodes."""
        return self._is_forest()

    @property
    def is_tree(self) -> bool:
        """Whether exactly one path joins every two nodes; a graph without nodes is no tree."""
        return len(self.components) == 1 and self._is_forest()

    def _path_rules(self) -> PathRules:
        return PathRules(up=self._neighbors, down=((),) * len(self))

    # --- edits ---

    def with_edge(self, a: Node, b: Node) -> UndirectedGraph:
        """This graph and one more edge."""
        return UndirectedGraph((*self.edges, (a, b)), nodes=self.nodes)

    def without_edge(self, a: Node, b: Node) -> UndirectedGraph:
        """This graph without an edge that it has."""
        if not self.has_edge(a, b):
            raise InvalidGraph(f"There is no edge {a!r} - {b!r} to remove.")
        return UndirectedGraph([edge for edge in self.edges if set(edge) != {a, b}], nodes=self.nodes)

    # --- as a value ---

    def _edge_set(self) -> frozenset[Any]:
        return frozenset(map(frozenset, self.edges))

    def to_networkx(self) -> nx.Graph[Any]:
        """A networkx graph with the same nodes and edges."""
        import networkx as nx

        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph
