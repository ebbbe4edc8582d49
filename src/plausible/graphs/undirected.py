"""Undirected graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from plausible.errors import InvalidGraph
from plausible.graphs.nodes import Node, NodeIndex, Nodes, edge_pairs, is_networkx
from plausible.graphs.text import format_statements, parse_statements

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["UndirectedGraph"]


class UndirectedGraph:
    """An undirected graph: an immutable value; edits return new graphs.

    Parameters
    ----------
    edges
        Arrow text with `-` edges, pairs of nodes, an undirected networkx graph or another `UndirectedGraph`.
    nodes
        Nodes that come first in the node order; the way to add nodes without edges.

    Examples
    --------
    >>> graph = UndirectedGraph("A - B - C - D - A")
    >>> graph.neighbors("A")
    ('B', 'D')
    >>> graph.separated("A", "C", given=["B", "D"])
    True
    """

    __slots__ = ("_index", "_neighbors")

    def __init__(
        self, edges: str | Iterable[Any] | nx.Graph[Any] | UndirectedGraph = (), nodes: Iterable[Node] = ()
    ) -> None:
        found, pairs = _read(edges)
        self._index = NodeIndex((*nodes, *found))
        neighbors: list[dict[int, None]] = [{} for _ in self._index]
        positions = self._index.positions
        for left, right in pairs:
            a, b = positions[left], positions[right]
            neighbors[a][b] = None
            neighbors[b][a] = None
        self._neighbors = tuple(tuple(row) for row in neighbors)

    # --- what is there ---

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in the order given."""
        return self._index.nodes

    @property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """Each edge once, its end that comes first in the node order first."""
        nodes = self.nodes
        return tuple((nodes[a], nodes[b]) for a, row in enumerate(self._neighbors) for b in sorted(row) if a < b)

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return sum(map(len, self._neighbors)) // 2

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, node: object) -> bool:
        return node in self._index

    def has_edge(self, a: Node, b: Node) -> bool:
        """Whether an edge joins the two nodes."""
        return self._index.position(b) in self._neighbors[self._index.position(a)]

    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """The nodes joined to `node`."""
        return self._index.names(self._neighbors[self._index.position(node)])

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The neighbours: given these, the node is independent of the rest."""
        return self.neighbors(node)

    def degree(self, node: Node) -> int:
        """The number of neighbours."""
        return len(self._neighbors[self._index.position(node)])

    # --- separation ---

    def separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether every path from `x` to `y` meets `given`: sep(X; Y | Z). Linear in the edges."""
        observed = set(self._index.select(given))
        targets = set(self._index.select(y)) - observed
        return not targets & self._reach(self._index.select(x), observed)

    def _reach(self, starts: Iterable[int], blocked: set[int]) -> set[int]:
        """The positions that paths outside `blocked` lead to, the starts included."""
        found = set(starts) - blocked
        frontier = list(found)
        while frontier:
            fresh = [b for b in self._neighbors[frontier.pop()] if b not in found and b not in blocked]
            found.update(fresh)
            frontier.extend(fresh)
        return found

    # --- related graphs and edits ---

    def subgraph(self, nodes: Nodes) -> UndirectedGraph:
        """The induced subgraph, in this graph's node order."""
        kept = set(self._index.names(self._index.select(nodes)))
        edges = [(a, b) for a, b in self.edges if a in kept and b in kept]
        return UndirectedGraph(edges, nodes=[node for node in self.nodes if node in kept])

    def with_node(self, node: Node) -> UndirectedGraph:
        """This graph and one more node."""
        return UndirectedGraph(self.edges, nodes=(*self.nodes, node))

    def without_node(self, node: Node) -> UndirectedGraph:
        """This graph without a node and its edges."""
        self._index.position(node)
        return self.subgraph([other for other in self.nodes if other != node])

    def with_edge(self, a: Node, b: Node) -> UndirectedGraph:
        """This graph and one more edge."""
        return UndirectedGraph((*self.edges, (a, b)), nodes=self.nodes)

    def without_edge(self, a: Node, b: Node) -> UndirectedGraph:
        """This graph without an edge that it has."""
        if not self.has_edge(a, b):
            raise InvalidGraph(f"There is no edge {a!r} - {b!r} to remove.")
        return UndirectedGraph([edge for edge in self.edges if set(edge) != {a, b}], nodes=self.nodes)

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UndirectedGraph):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and set(map(frozenset, self.edges)) == set(
            map(frozenset, other.edges)
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(map(frozenset, self.edges))))

    def __str__(self) -> str:
        return format_statements(self.nodes, ((a, "-", b) for a, b in self.edges))

    def __repr__(self) -> str:
        if self.num_edges <= 12:
            return f"UndirectedGraph({str(self)!r})"
        return f"<UndirectedGraph: {len(self)} nodes, {self.num_edges} edges>"

    def to_networkx(self) -> nx.Graph[Any]:
        """A networkx graph with the same nodes and edges."""
        import networkx as nx

        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph


def _read(edges: Any) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """Nodes in order of appearance, and pairs."""
    if isinstance(edges, UndirectedGraph):
        return list(edges.nodes), list(edges.edges)
    if isinstance(edges, str):
        return _read_text(edges)
    if is_networkx(edges):
        if edges.is_directed():
            raise InvalidGraph("An UndirectedGraph needs an undirected networkx graph; this one is directed.")
        return list(edges.nodes), edge_pairs((edge[0], edge[1]) for edge in edges.edges)
    pairs = edge_pairs(edges)
    return [node for pair in pairs for node in pair], pairs


def _read_text(text: str) -> tuple[list[Node], list[tuple[Node, Node]]]:
    nodes, connections = parse_statements(text)
    for connection in connections:
        if connection.edge != "-":
            written = f"{connection.left} {connection.edge} {connection.right}"
            raise InvalidGraph(
                f"An UndirectedGraph has only edges '-', not {written!r}. See MixedGraph for other marks."
            )
    return list(nodes), edge_pairs((connection.left, connection.right) for connection in connections)
