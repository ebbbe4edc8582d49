"""What all graphs with endpoint marks share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Self

from plausible.base import DIRECTED_HINTS
from plausible.errors import InvalidGraph
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.dag import DAG
from plausible.graphs.marks import Edge, Incidence, Mark, closure
from plausible.graphs.nodes import MARKS_ATTRIBUTE, Node, NodeIndex, Nodes, is_networkx, refuse_no_edges
from plausible.graphs.text import parse_statements
from plausible.graphs.undirected import UndirectedGraph

if TYPE_CHECKING:
    import networkx as nx


_MARK_ORDER = {Mark.TAIL: 0, Mark.CIRCLE: 1, Mark.ARROW: 2}


class MarkedGraph(BaseGraph):
    """A graph whose edges have a mark at each end; what it can be made from tells `MixedGraph`."""

    __slots__ = ("_edges", "_incident")

    _hints = DIRECTED_HINTS

    _edges: tuple[Edge, ...]
    _incident: Incidence

    def __init__(
        self,
        edges: str | Iterable[Any] | nx.Graph[Any] | DAG | UndirectedGraph | MarkedGraph = (),
        nodes: Iterable[Node] = (),
    ) -> None:
        carried = getattr(edges, "graph", None)
        edges = carried if isinstance(carried, MarkedGraph) else edges
        asked = type(self).__name__
        found, given = (edges.nodes, edges.edges) if isinstance(edges, MarkedGraph) else _read_edges(edges, asked)
        self._index = NodeIndex(nodes, found)
        self._edges = tuple(dict.fromkeys(self._arranged(edge) for edge in given))
        self._incident = self._incidence()
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Refuse what this kind of graph forbids."""

    def _arranged(self, edge: Edge) -> Edge:
        """The edge with its tail, then its circle first; equal marks stand in node order."""
        position = self._index.position
        left = (_MARK_ORDER[edge.left_mark], position(edge.left))
        right = (_MARK_ORDER[edge.right_mark], position(edge.right))
        return edge if left < right else edge.flipped()

    def _incidence(self) -> Incidence:
        rows: list[list[tuple[int, Mark, Mark]]] = [[] for _ in self._index]
        positions = self._index.positions
        for edge in self._edges:
            a, b = positions[edge.left], positions[edge.right]
            rows[a].append((b, edge.left_mark, edge.right_mark))
            rows[b].append((a, edge.right_mark, edge.left_mark))
        return tuple(map(tuple, rows))

    def _related(self, node: Node, here: Mark, there: Mark) -> tuple[Node, ...]:
        row = self._incident[self._index.position(node)]
        return self._index.names(other for other, near, far in row if near is here and far is there)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in the order given, each with its tail, or else its circle, or else its earlier node first."""
        return self._edges

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return len(self._edges)

    def edges_between(self, a: Node, b: Node) -> tuple[Edge, ...]:
        """The edges that join the two nodes, written from `a` to `b`."""
        target = self._index.position(b)
        row = self._incident[self._index.position(a)]
        return tuple(Edge(a, b, near, far) for other, near, far in row if other == target)

    def has_edge(self, left: Node, right: Node, symbol: str = "->") -> bool:
        """Whether the edge written as `left symbol right` is there, with exactly these marks."""
        return Edge.of(left, symbol, right) in self.edges_between(left, right)

    def is_adjacent(self, a: Node, b: Node) -> bool:
        """Whether any edge joins the two nodes."""
        return bool(self.edges_between(a, b))

    def parents(self, node: Node) -> tuple[Node, ...]:
        """The nodes with an edge `->` into `node`."""
        return self._related(node, Mark.ARROW, Mark.TAIL)

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes that `node` has an edge `->` into."""
        return self._related(node, Mark.TAIL, Mark.ARROW)

    def siblings(self, node: Node) -> tuple[Node, ...]:
        """The nodes joined to `node` by `<->`; also called its spouses."""
        return self._related(node, Mark.ARROW, Mark.ARROW)

    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """The nodes joined to `node` by `-`."""
        return self._related(node, Mark.TAIL, Mark.TAIL)

    def adjacent(self, node: Node) -> tuple[Node, ...]:
        """The nodes joined to `node` by any edge, each once."""
        row = self._incident[self._index.position(node)]
        return self._index.names(dict.fromkeys(other for other, _, _ in row))

    def ancestors(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes with a path of one or more edges `->` into one of `nodes`."""
        return self._names(closure(self._incident, self._index.select(nodes), Mark.ARROW, Mark.TAIL))

    def descendants(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes that a path of one or more edges `->` leads to from one of `nodes`."""
        return self._names(closure(self._incident, self._index.select(nodes), Mark.TAIL, Mark.ARROW))

    def district(self, node: Node) -> frozenset[Node]:
        """The node and all that paths of edges `<->` join to it; also called its c-component."""
        start = self._index.position(node)
        return self._names({start} | closure(self._incident, [start], Mark.ARROW, Mark.ARROW))

    @property
    def districts(self) -> tuple[frozenset[Node], ...]:
        """The partition of the nodes into districts, ordered by each one's first node."""
        found: dict[Node, frozenset[Node]] = {}
        for node in self.nodes:
            if node not in found:
                found |= dict.fromkeys(district := self.district(node), district)
        return tuple(dict.fromkeys(found[node] for node in self.nodes))

    @property
    def topological_order(self) -> tuple[Node, ...]:
        """The nodes, parents before children; raises `CyclicGraph` if the edges `->` form a cycle."""
        return self.directed_part().topological_order

    def _names(self, positions: Iterable[int]) -> frozenset[Node]:
        return frozenset(self._index.names(positions))

    def skeleton(self) -> UndirectedGraph:
        """The same adjacencies without marks."""
        return UndirectedGraph((edge.ends for edge in self._edges), nodes=self.nodes)

    def directed_part(self) -> DAG:
        """All nodes with the edges `->` only; raises `CyclicGraph` if these form a cycle."""
        return DAG((edge.ends for edge in self._edges if edge.is_directed), nodes=self.nodes)

    def bidirected_part(self) -> UndirectedGraph:
        """All nodes with the edges `<->` only, as an undirected graph."""
        return UndirectedGraph((edge.ends for edge in self._edges if edge.is_bidirected), nodes=self.nodes)

    def undirected_part(self) -> UndirectedGraph:
        """All nodes with the edges `-` only."""
        return UndirectedGraph((edge.ends for edge in self._edges if edge.is_undirected), nodes=self.nodes)

    def subgraph(self, nodes: Nodes) -> Self:
        """The induced subgraph, in this graph's node order."""
        kept = set(self._index.names(self._index.select(nodes)))
        edges = [edge for edge in self._edges if edge.left in kept and edge.right in kept]
        return type(self)(edges, nodes=[node for node in self.nodes if node in kept])

    def without_incoming(self, nodes: Nodes) -> Self:
        """All edges with an arrowhead at one of `nodes` removed: the graph of an intervention on them.

        This cuts `<->` too: an intervention overrides the latent causes of what it sets.
        """
        cut = set(self._index.names(self._index.select(nodes)))
        return self._keep(
            edge
            for edge in self._edges
            if all(edge.mark_at(end) is not Mark.ARROW for end in cut.intersection(edge.ends))
        )

    def without_outgoing(self, nodes: Nodes) -> Self:
        """All edges `->` out of `nodes` removed; `<->` points into its ends and stays."""
        cut = set(self._index.names(self._index.select(nodes)))
        return self._keep(edge for edge in self._edges if not (edge.is_directed and edge.left in cut))

    def _keep(self, edges: Iterable[Edge]) -> Self:
        return type(self)(edges, nodes=self.nodes)

    def with_edge(self, left: Node, right: Node, symbol: str = "->") -> Self:
        """This graph and one more edge, written as `left symbol right`."""
        return self._keep((*self._edges, Edge.of(left, symbol, right)))

    def without_edge(self, left: Node, right: Node, symbol: str = "->") -> Self:
        """This graph without an edge that it has, written as `left symbol right`."""
        gone = Edge.of(left, symbol, right)
        if gone not in (between := self.edges_between(left, right)):
            there = " and ".join(f"'{edge}'" for edge in between) or "nothing"
            raise InvalidGraph(f"There is no edge '{gone}' to remove; between these nodes there is {there}.")
        return self._keep(edge for edge in self._edges if edge != gone)

    def _triples(self) -> list[tuple[Node, str, Node]]:
        return [(edge.left, edge.symbol, edge.right) for edge in self._edges]

    def to_networkx(self) -> nx.MultiDiGraph[Any]:
        """A networkx multidigraph whose edges carry the attribute `marks`, such as `"<->"`; it reads back."""
        import networkx as nx

        graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
        graph.add_nodes_from(self.nodes)
        for edge in self._edges:
            graph.add_edge(edge.left, edge.right, key=edge.symbol, **{MARKS_ATTRIBUTE: edge.symbol})
        return graph

    def _allow_only(self, *symbols: str) -> None:
        for edge in self._edges:
            if edge.symbol not in symbols:
                allowed = " and ".join(f"'{symbol}'" for symbol in symbols)
                raise InvalidGraph(
                    f"A {type(self).__name__} has only edges {allowed}, not '{edge}'. See MixedGraph for all marks."
                )

    def _allow_one_edge_per_pair(self) -> None:
        seen: dict[frozenset[Node], Edge] = {}
        for edge in self._edges:
            first = seen.setdefault(frozenset(edge.ends), edge)
            if first is not edge:
                raise InvalidGraph(
                    f"A {type(self).__name__} has at most one edge between two nodes, not both '{first}' and '{edge}'."
                )


def _read_edges(source: Any, asked: str) -> tuple[list[Node], list[Edge]]:
    """Nodes in order of appearance, and the edges as given, of whatever a graph can be made from."""
    if isinstance(source, str):
        nodes, connections = parse_statements(source, asked)
        return list(nodes), [Edge.of(item.left, item.edge, item.right) for item in connections]
    carried = getattr(source, "graph", None)
    if isinstance(carried, DAG | UndirectedGraph):
        source = carried
    if isinstance(source, DAG):
        return list(source.nodes), [Edge.of(a, "->", b) for a, b in source.edges]
    if isinstance(source, UndirectedGraph):
        return list(source.nodes), [Edge.of(a, "-", b) for a, b in source.edges]
    if is_networkx(source):
        return list(source.nodes), _read_networkx(source)
    refuse_no_edges(source)
    edges = [_read_item(item) for item in source]
    return [node for edge in edges for node in edge.ends], edges


def _read_item(item: Any) -> Edge:
    if isinstance(item, Edge):
        return item
    parts = () if isinstance(item, str) or not isinstance(item, Iterable) else tuple(item)
    if len(parts) == 2 and isinstance(item, AbstractSet):
        raise InvalidGraph(
            f"The set {item!r} has no direction. Write the edge as a pair (parent, child) or a triple (a, '<->', b)."
        )
    if len(parts) not in (2, 3):
        raise InvalidGraph(
            f"{item!r} is not a marked edge: expected an Edge, a triple such as ('A', '<->', 'B'), or a pair "
            "(parent, child)."
        )
    return Edge.of(*parts) if len(parts) == 3 else Edge.of(parts[0], "->", parts[1])


def _read_networkx(graph: Any) -> list[Edge]:
    """The edges with their `marks` attribute; without one they are `->` in a digraph and `-` in a graph."""
    plain = "->" if graph.is_directed() else "-"
    edges = [Edge.of(a, marks, b) for a, b, marks in graph.edges(data=MARKS_ATTRIBUTE, default=plain)]
    for edge in edges:
        if not graph.is_directed() and edge.left_mark is not edge.right_mark:
            raise InvalidGraph(
                f"'{edge}' has different marks at its ends, but an undirected networkx graph does not know which end "
                "comes first. Use a networkx.DiGraph or MultiDiGraph."
            )
    return edges
