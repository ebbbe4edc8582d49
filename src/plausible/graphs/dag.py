"""Directed acyclic graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from plausible.errors import CyclicGraph, InvalidGraph
from plausible.graphs.nodes import Node, NodeIndex, Nodes, edge_pairs, is_networkx
from plausible.graphs.text import format_statements, parse_statements
from plausible.graphs.undirected import UndirectedGraph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["DAG"]


class DAG:
    """A directed acyclic graph: an immutable value; edits return new graphs.

    Parameters
    ----------
    edges
        Arrow text, pairs `(parent, child)`, a networkx digraph or another `DAG`.
    nodes
        Nodes that come first in the node order; the way to add nodes without edges.

    Examples
    --------
    >>> graph = DAG("D -> G <- I -> S; G -> L")
    >>> graph.parents("G")
    ('D', 'I')
    >>> graph.markov_blanket("D")
    ('G', 'I')
    """

    __slots__ = ("_children", "_index", "_order", "_parents")

    def __init__(self, edges: str | Iterable[Any] | nx.DiGraph[Any] | DAG = (), nodes: Iterable[Node] = ()) -> None:
        found, pairs = _read(edges)
        self._index = NodeIndex((*nodes, *found))
        parents: list[dict[int, None]] = [{} for _ in self._index]
        children: list[dict[int, None]] = [{} for _ in self._index]
        positions = self._index.positions
        for source, target in pairs:
            a, b = positions[source], positions[target]
            parents[b][a] = None
            children[a][b] = None
        self._parents = tuple(tuple(row) for row in parents)
        self._children = tuple(tuple(row) for row in children)
        self._order = _topological_order(self._index, self._parents, self._children)

    # --- what is there ---

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in the order given."""
        return self._index.nodes

    @property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges `(parent, child)`, ordered by parent, then as given."""
        nodes = self.nodes
        return tuple((nodes[a], nodes[b]) for a, row in enumerate(self._children) for b in row)

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return sum(map(len, self._children))

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, node: object) -> bool:
        return node in self._index

    def has_edge(self, source: Node, target: Node) -> bool:
        """Whether `source -> target` is an edge."""
        return self._index.position(target) in self._children[self._index.position(source)]

    def is_adjacent(self, a: Node, b: Node) -> bool:
        """Whether an edge joins the two nodes, in either direction."""
        return self.has_edge(a, b) or self.has_edge(b, a)

    # --- relations ---

    def parents(self, node: Node) -> tuple[Node, ...]:
        """The nodes with an edge into `node`."""
        return self._index.names(self._parents[self._index.position(node)])

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes that `node` has an edge into."""
        return self._index.names(self._children[self._index.position(node)])

    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """Parents, then children."""
        return self.parents(node) + self.children(node)

    def ancestors(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes with a directed path of one or more edges into one of `nodes`.

        >>> sorted(DAG("A -> B -> C").ancestors("C"))
        ['A', 'B']
        """
        return frozenset(self._index.names(_reach(self._index.select(nodes), self._parents)))

    def descendants(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes that a directed path of one or more edges leads to from one of `nodes`."""
        return frozenset(self._index.names(_reach(self._index.select(nodes), self._children)))

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """Parents, children and the children's other parents: given these, the node is independent of the rest."""
        center = self._index.position(node)
        blanket = dict.fromkeys(self._parents[center])
        for child in self._children[center]:
            blanket |= dict.fromkeys((child, *self._parents[child]))
        blanket.pop(center, None)
        return self._index.names(sorted(blanket))

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes without parents."""
        return self._index.names(i for i, row in enumerate(self._parents) if not row)

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes without children."""
        return self._index.names(i for i, row in enumerate(self._children) if not row)

    @property
    def topological_order(self) -> tuple[Node, ...]:
        """The nodes, parents before children; among free choices the node order decides (Kahn's algorithm)."""
        return self._index.names(self._order)

    # --- related graphs ---

    def skeleton(self) -> UndirectedGraph:
        """The same adjacencies without directions."""
        return UndirectedGraph(self.edges, nodes=self.nodes)

    def moralize(self) -> UndirectedGraph:
        """The moral graph: parents of a common child are joined, then directions dropped."""
        marriages = ((row[i], row[j]) for row in self._parents for i in range(len(row)) for j in range(i + 1, len(row)))
        nodes = self.nodes
        return UndirectedGraph((*self.edges, *((nodes[a], nodes[b]) for a, b in marriages)), nodes=nodes)

    def subgraph(self, nodes: Nodes) -> DAG:
        """The induced subgraph, in this graph's node order."""
        kept = set(self._index.names(self._index.select(nodes)))
        edges = [(a, b) for a, b in self.edges if a in kept and b in kept]
        return DAG(edges, nodes=[node for node in self.nodes if node in kept])

    def without_incoming(self, nodes: Nodes) -> DAG:
        """The mutilated graph of an intervention: all edges into `nodes` removed."""
        cut = set(self._index.names(self._index.select(nodes)))
        return DAG([(a, b) for a, b in self.edges if b not in cut], nodes=self.nodes)

    def without_outgoing(self, nodes: Nodes) -> DAG:
        """All edges out of `nodes` removed."""
        cut = set(self._index.names(self._index.select(nodes)))
        return DAG([(a, b) for a, b in self.edges if a not in cut], nodes=self.nodes)

    # --- edits ---

    def with_node(self, node: Node) -> DAG:
        """This graph and one more node."""
        return DAG(self.edges, nodes=(*self.nodes, node))

    def without_node(self, node: Node) -> DAG:
        """This graph without a node and its edges."""
        self._index.position(node)
        return self.subgraph([other for other in self.nodes if other != node])

    def with_edge(self, source: Node, target: Node) -> DAG:
        """This graph and one more edge; a cycle is refused."""
        return DAG((*self.edges, (source, target)), nodes=self.nodes)

    def without_edge(self, source: Node, target: Node) -> DAG:
        """This graph without an edge that it has."""
        if not self.has_edge(source, target):
            raise InvalidGraph(f"There is no edge {source!r} -> {target!r} to remove.")
        return DAG([edge for edge in self.edges if edge != (source, target)], nodes=self.nodes)

    def with_reversed_edge(self, source: Node, target: Node) -> DAG:
        """This graph with `source -> target` turned round."""
        return self.without_edge(source, target).with_edge(target, source)

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DAG):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and set(self.edges) == set(other.edges)

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self.edges)))

    def __str__(self) -> str:
        return format_statements(self.nodes, ((a, "->", b) for a, b in self.edges))

    def __repr__(self) -> str:
        return f"DAG({str(self)!r})" if self.num_edges <= 12 else f"<DAG: {len(self)} nodes, {self.num_edges} edges>"

    def to_networkx(self) -> nx.DiGraph[Any]:
        """A networkx digraph with the same nodes and edges."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph


def _read(edges: Any) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """Nodes in order of appearance, and pairs (parent, child)."""
    if isinstance(edges, DAG):
        return list(edges.nodes), list(edges.edges)
    if isinstance(edges, str):
        return _read_text(edges)
    if is_networkx(edges):
        if not edges.is_directed():
            raise InvalidGraph("A DAG needs a directed networkx graph; this one is undirected.")
        return list(edges.nodes), edge_pairs((edge[0], edge[1]) for edge in edges.edges)
    pairs = edge_pairs(edges)
    return [node for pair in pairs for node in pair], pairs


def _read_text(text: str) -> tuple[list[Node], list[tuple[Node, Node]]]:
    nodes, connections = parse_statements(text)
    pairs: list[tuple[Node, Node]] = []
    for connection in connections:
        if connection.edge not in ("->", "<-"):
            written = f"{connection.left} {connection.edge} {connection.right}"
            raise InvalidGraph(f"A DAG has only edges '->' and '<-', not {written!r}. See MixedGraph for other marks.")
        pair = (connection.left, connection.right)
        pairs.append(pair if connection.edge == "->" else pair[::-1])
    return list(nodes), edge_pairs(pairs)


def _reach(starts: Iterable[int], steps: Sequence[tuple[int, ...]]) -> list[int]:
    """The positions that one or more steps lead to, in increasing order."""
    found: set[int] = set()
    frontier = list(starts)
    while frontier:
        fresh = [b for b in steps[frontier.pop()] if b not in found]
        found.update(fresh)
        frontier.extend(fresh)
    return sorted(found)


def _topological_order(
    index: NodeIndex, parents: Sequence[tuple[int, ...]], children: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """Kahn's algorithm (Koller & Friedman 2009, algorithm A.1); a cycle is reported by its nodes."""
    waiting = [len(row) for row in parents]
    ready = deque(node for node, count in enumerate(waiting) if not count)
    order: list[int] = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(order) < len(index):
        raise CyclicGraph(index.names(_find_cycle(waiting, parents)))
    return tuple(order)


def _find_cycle(waiting: list[int], parents: Sequence[tuple[int, ...]]) -> list[int]:
    """Walk backwards among the nodes that never became ready until one comes round again."""
    node = next(node for node, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in parents[node] if waiting[parent])
    return path[seen[node] :][::-1]
