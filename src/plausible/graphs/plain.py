"""What graphs with one kind of edge share: directed acyclic and undirected ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

from plausible.errors import InvalidGraph, NotSupported
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import MARKS_ATTRIBUTE, Node, NodeIndex, Nodes, edge_pairs, is_networkx
from plausible.graphs.paths import PathRules, simple_paths
from plausible.graphs.text import parse_statements


class PlainGraph(BaseGraph):
    """A graph whose edges are pairs of nodes, all of one kind."""

    __slots__ = ()

    _symbol: ClassVar[str]

    @property
    @abstractmethod
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges as pairs of nodes."""

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

    @property
    def components(self) -> tuple[tuple[Node, ...], ...]:
        """The connected components, ignoring directions; ordered, and each inside, by the node order. Linear.

        >>> from plausible.graphs.dag import DAG
        >>> DAG("A -> C; B -> D <- E").components
        (('A', 'C'), ('B', 'D', 'E'))
        """
        number: dict[Node, int] = {}
        members: list[list[Node]] = []
        for root in self.nodes:
            if root not in number:
                number[root] = len(members)
                members.append([])
                frontier = [root]
                while frontier:
                    fresh = [node for node in self.neighbors(frontier.pop()) if node not in number]
                    number.update(dict.fromkeys(fresh, number[root]))
                    frontier.extend(fresh)
            members[number[root]].append(root)
        return tuple(map(tuple, members))

    @property
    def is_connected(self) -> bool:
        """Whether a path, directions ignored, joins every two nodes; so it is in a graph without nodes."""
        return len(self.components) <= 1

    def _is_forest(self) -> bool:
        """Whether at most one path, directions ignored, joins every two nodes: there is no cycle."""
        return self.num_edges == len(self) - len(self.components)

    @abstractmethod
    def _path_rules(self) -> PathRules:
        """The steps that a path may take."""

    def paths(self, source: Node, target: Node, limit: int | None = 100) -> Listing[tuple[Node, ...]]:
        """The paths from one node to another that visit no node twice, in a DAG along its arrows; shortest first.

        O(length x edges) for each; there can be exponentially many, and `limit=None` gives all.

        >>> from plausible.graphs.dag import DAG
        >>> DAG("A -> B -> D; A -> C -> D; A -> D").paths("A", "D")
        [('A', 'D'), ('A', 'B', 'D'), ('A', 'C', 'D')]
        """
        ends = frozenset([self._index.position(source)]), frozenset([self._index.position(target)])
        return Listing(lambda: map(self._index.names, simple_paths(self._path_rules(), *ends)), limit)

    def subgraph(self, nodes: Nodes) -> Self:
        """Return the induced subgraph, in this graph's node order."""
        kept = set(self._index.names(self._index.select(nodes)))
        edges = [(a, b) for a, b in self.edges if a in kept and b in kept]
        return type(self)(edges, nodes=[node for node in self.nodes if node in kept])

    def union(self, other: Self) -> Self:
        """The nodes and edges of either graph; a directed cycle is an error.

        >>> from plausible.graphs.dag import DAG
        >>> DAG("A -> B").union(DAG("B -> C; D"))
        DAG('A -> B; B -> C; D')
        """
        self._refuse_mixture(other)
        return type(self)((*self.edges, *other.edges), nodes=(*self.nodes, *other.nodes))

    def intersection(self, other: Self) -> Self:
        """The nodes and edges of both graphs."""
        self._refuse_mixture(other)
        common = [node for node in self.nodes if node in other]
        edges = [(a, b) for a, b in self.edges if a in other and b in other and other.has_edge(a, b)]
        return type(self)(edges, nodes=common)

    def is_subgraph(self, other: Self) -> bool:
        """Whether `other` has all nodes and edges of this graph."""
        self._refuse_mixture(other)
        return all(node in other for node in self.nodes) and all(other.has_edge(a, b) for a, b in self.edges)

    def _refuse_mixture(self, other: object) -> None:
        if type(self) is not type(other):
            raise NotSupported(
                f"A {type(self).__name__} and a {type(other).__name__} have different kinds of edges. "
                "Bring them to one kind first, such as with .skeleton()."
            )

    def _triples(self) -> list[tuple[Node, str, Node]]:
        return [(a, self._symbol, b) for a, b in self.edges]


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
        for a, b, marks in source.edges(data=MARKS_ATTRIBUTE, default=kind._symbol):
            if marks != kind._symbol:
                raise InvalidGraph(
                    f"The networkx edge {a!r} {marks} {b!r} is not '{kind._symbol}'. See MixedGraph for other marks."
                )
        return list(source.nodes), edge_pairs((edge[0], edge[1]) for edge in source.edges)
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
            advice = "See MixedGraph for other marks."
            if kind._symbol == "-" and connection.edge in ("->", "<-"):
                advice = f"Undirected edges are written '{connection.left} - {connection.right}'."
            raise InvalidGraph(f"{_named(kind)} has only edges {known}, not {written!r}. {advice}")
        pair = (connection.left, connection.right)
        pairs.append(pair[::-1] if connection.edge == "<-" else pair)
    return list(nodes), edge_pairs(pairs)


def _named(kind: type[PlainGraph]) -> str:
    return f"{'An' if kind.__name__[0] in 'AEIOU' else 'A'} {kind.__name__}"
