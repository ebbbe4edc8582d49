"""What graphs with one kind of edge share: directed acyclic and undirected ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar

from plausible.errors import InvalidGraph, NotSupported, counted
from plausible.graphs.connectivity import components, is_connected
from plausible.graphs.drawing import graph_dot, graph_html
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node, NodeIndex, Nodes, NodeSet, edge_pairs, is_networkx, networkx_pairs
from plausible.graphs.text import constructor_arguments, format_statements, parse_statements

#: Graphs with more edges are shown by their size.
_MAX_SHOWN = 12


class PlainGraph(NodeSet, ABC):
    """Nodes, and pairs of nodes that are edges: an immutable value; edits return new graphs of the same kind."""

    __slots__ = ()

    #: How edges are written in text: "->" or "-".
    _symbol: ClassVar[str]

    @abstractmethod
    def __init__(self, edges: str | Iterable[Any] = (), nodes: Iterable[Node] = ()) -> None:
        """From edges, and nodes that come first in the node order."""

    @property
    @abstractmethod
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges as pairs of nodes."""

    @property
    @abstractmethod
    def num_edges(self) -> int:
        """The number of edges."""

    @abstractmethod
    def has_edge(self, a: Node, b: Node, /) -> bool:
        """Whether the pair is an edge."""

    @abstractmethod
    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """The nodes that an edge joins to this one."""

    @property
    def index(self) -> NodeIndex:
        """The positions of the nodes, for algorithms that work on integers."""
        return self._index

    # --- connectivity ---

    @property
    def components(self) -> tuple[tuple[Node, ...], ...]:
        """The connected components, ignoring directions, in the node order."""
        return components(self)

    @property
    def is_connected(self) -> bool:
        """Whether every two nodes are joined by a path, ignoring directions."""
        return is_connected(self)

    # --- related graphs and edits ---

    def subgraph(self, nodes: Nodes) -> Self:
        """Return the induced subgraph, in this graph's node order."""
        kept = set(self._index.names(self._index.select(nodes)))
        edges = [(a, b) for a, b in self.edges if a in kept and b in kept]
        return type(self)(edges, nodes=[node for node in self.nodes if node in kept])

    def union(self, other: Self) -> Self:
        """The nodes and edges of either graph; a directed cycle is an error."""
        return union(self, other)

    def intersection(self, other: Self) -> Self:
        """The nodes and edges of both graphs."""
        return intersection(self, other)

    def is_subgraph(self, other: Self) -> bool:
        """Whether `other` has all nodes and edges of this graph."""
        return is_subgraph(self, other)

    def with_node(self, node: Node) -> Self:
        """Return the graph with one more node."""
        return type(self)(self.edges, nodes=(*self.nodes, node))

    def without_node(self, node: Node) -> Self:
        """Return the graph without a node and its edges."""
        self._index.position(node)
        return self.subgraph([other for other in self.nodes if other != node])

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlainGraph) or type(self) is not type(other):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and self._edge_set() == other._edge_set()

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), self._edge_set()))

    @abstractmethod
    def _edge_set(self) -> frozenset[Any]:
        """The edges, equal where the graphs are."""

    def __str__(self) -> str:
        return format_statements(self.nodes, ((a, self._symbol, b) for a, b in self.edges))

    def _repr_html_(self) -> str:
        return graph_html(self)

    def to_dot(self) -> str:
        """This graph as Graphviz text: see `plausible.graphs.drawing`."""
        return graph_dot(self.nodes, (Edge.of(a, self._symbol, b) for a, b in self.edges))

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self.num_edges <= _MAX_SHOWN:
            return f"{kind}({constructor_arguments(str(self), self.nodes, self.edges)})"
        return f"<{kind}: {counted(len(self), 'node')}, {counted(self.num_edges, 'edge')}>"


def read_pairs(edges: Any, kind: type[PlainGraph]) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """The nodes in order of appearance and the pairs of whatever a graph of that kind can be made from."""
    carried = getattr(edges, "graph", None)
    source: Any = carried if isinstance(carried, kind) else edges
    if isinstance(source, kind):
        return list(source.nodes), list(source.edges)
    if isinstance(source, str):
        return _read_text(source, kind)
    is_directed = kind._symbol == "->"
    if is_networkx(source):
        if source.is_directed() != is_directed:
            words = ("a directed", "undirected") if is_directed else ("an undirected", "directed")
            raise InvalidGraph(f"{_named(kind)} needs {words[0]} networkx graph; this one is {words[1]}.")
        return list(source.nodes), networkx_pairs(source, kind._symbol)
    pairs = edge_pairs(source, directed=is_directed)
    return [node for pair in pairs for node in pair], pairs


def _read_text(text: str, kind: type[PlainGraph]) -> tuple[list[Node], list[tuple[Node, Node]]]:
    nodes, connections = parse_statements(text, kind.__name__)
    symbols = ("->", "<-") if kind._symbol == "->" else ("-",)
    pairs: list[tuple[Node, Node]] = []
    for connection in connections:
        if connection.edge not in symbols:
            written = f"{connection.left} {connection.edge} {connection.right}"
            known = " and ".join(map(repr, symbols))
            raise InvalidGraph(
                f"{_named(kind)} has only edges {known}, not {written!r}. See MixedGraph for other marks."
            )
        pair = (connection.left, connection.right)
        pairs.append(pair[::-1] if connection.edge == "<-" else pair)
    return list(nodes), edge_pairs(pairs)


def _named(kind: type[PlainGraph]) -> str:
    return f"{'An' if kind.__name__[0] in 'AEIOU' else 'A'} {kind.__name__}"


Graph = TypeVar("Graph", bound="PlainGraph")


def union(first: Graph, second: Graph) -> Graph:
    """The nodes and edges of either graph; a directed cycle is refused.

    >>> from plausible.graphs.dag import DAG
    >>> union(DAG("A -> B"), DAG("B -> C; D"))
    DAG('A -> B; B -> C; D')
    """
    _refuse_mixture(first, second)
    return type(first)((*first.edges, *second.edges), nodes=(*first.nodes, *second.nodes))


def intersection(first: Graph, second: Graph) -> Graph:
    """The nodes and edges that both graphs have.

    >>> from plausible.graphs.undirected import UndirectedGraph
    >>> intersection(UndirectedGraph("A - B - C"), UndirectedGraph("C - B; A - D"))
    UndirectedGraph('B - C; A')
    """
    _refuse_mixture(first, second)
    common = [node for node in first.nodes if node in second]
    edges = [(a, b) for a, b in first.edges if a in second and b in second and second.has_edge(a, b)]
    return type(first)(edges, nodes=common)


def is_subgraph(part: Graph, whole: Graph) -> bool:
    """Whether the second graph has all nodes and all edges of the first."""
    _refuse_mixture(part, whole)
    return all(node in whole for node in part.nodes) and all(whole.has_edge(a, b) for a, b in part.edges)


def _refuse_mixture(first: object, second: object) -> None:
    if type(first) is not type(second):
        raise NotSupported(
            f"A {type(first).__name__} and a {type(second).__name__} have different kinds of edges. "
            "Bring them to one kind first, such as with .skeleton()."
        )
