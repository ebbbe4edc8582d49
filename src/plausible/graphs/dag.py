"""Directed acyclic graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, final

from plausible.base import DAG_HINTS, own_methods
from plausible.errors import CyclicGraph, InvalidGraph
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, NodeIndex, Nodes, read_adjacency
from plausible.graphs.paths import PathRules
from plausible.graphs.plain import PlainGraph, read_pairs
from plausible.graphs.separation import BayesBall, Rows
from plausible.graphs.trails import SeparationExplanation, Trail, active_trails, explain_separation
from plausible.graphs.undirected import UndirectedGraph

if TYPE_CHECKING:
    import networkx as nx
    import numpy.typing as npt


@final
@own_methods
class DAG(PlainGraph):
    """A directed acyclic graph. It is immutable; edits return new graphs.

    Parameters
    ----------
    edges
        A string of arrows such as "A -> B <- C", pairs `(parent, child)`, a networkx digraph, another `DAG`, or a model
        with a DAG.
    nodes
        Nodes that come first in the node order. Use this to add nodes without edges.

    Examples
    --------
    >>> graph = DAG("D -> G <- I -> S; G -> L")
    >>> graph.parents("G")
    ('D', 'I')
    >>> graph.markov_blanket("D")
    ('G', 'I')
    """

    __slots__ = ("_ball", "_children", "_order", "_parents")

    _symbol = "->"
    _hints = DAG_HINTS

    def __init__(self, edges: str | Iterable[Any] | nx.DiGraph[Any] | DAG = (), nodes: Iterable[Node] = ()) -> None:
        found, pairs = read_pairs(edges, DAG)
        self._index = NodeIndex(nodes, found)
        positions = self._index.positions
        parents: list[list[int]] = [[] for _ in self._index]
        children: list[list[int]] = [[] for _ in self._index]
        for a, b in dict.fromkeys((positions[source], positions[target]) for source, target in pairs):
            parents[b].append(a)
            children[a].append(b)
        self._parents = tuple(map(tuple, parents))
        self._children = tuple(map(tuple, children))
        self._order = _topological_order(self._index, self._parents, self._children)
        self._ball = BayesBall(self._parents, self._children)

    @classmethod
    def from_adjacency(cls, matrix: npt.ArrayLike, nodes: Iterable[Node] | None = None) -> DAG:
        """Make a DAG from a 0/1 matrix: matrix[i, j] is one if i -> j is an edge. The inverse is `adjacency_matrix`.

        The matrix is a square array of zeros and ones, or a data frame with the names of the nodes as index and
        columns; the nodes are in the order of the rows, by default those names, or 0, 1, ...

        >>> DAG.from_adjacency([[0, 1, 1], [0, 0, 1], [0, 0, 0]], nodes="ABC")
        DAG('A -> B; A -> C; B -> C')
        """
        names, pairs = read_adjacency(matrix, nodes)
        return cls(pairs, nodes=names)

    @property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """The edges `(parent, child)`, ordered by parent, then as given."""
        nodes = self.nodes
        return tuple((nodes[a], nodes[b]) for a, row in enumerate(self._children) for b in row)

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return sum(map(len, self._children))

    @property
    def parent_rows(self) -> Rows:
        """For each position the positions of its parents."""
        return self._parents

    @property
    def child_rows(self) -> Rows:
        """For each position the positions of its children."""
        return self._children

    def has_edge(self, source: Node, target: Node) -> bool:
        """Whether `source -> target` is an edge."""
        return self._index.position(target) in self._children[self._index.position(source)]

    def is_adjacent(self, a: Node, b: Node) -> bool:
        """Whether an edge joins the two nodes, in either direction."""
        return self.has_edge(a, b) or self.has_edge(b, a)

    def parents(self, node: Node) -> tuple[Node, ...]:
        """The nodes with an edge into `node`."""
        return self._index.names(self._parents[self._index.position(node)])

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes that `node` has an edge to."""
        return self._index.names(self._children[self._index.position(node)])

    def neighbors(self, node: Node) -> tuple[Node, ...]:
        """The parents, then the children."""
        return self.parents(node) + self.children(node)

    def degree(self, node: Node) -> int:
        """The number of edges at `node`."""
        position = self._index.position(node)
        return len(self._parents[position]) + len(self._children[position])

    def ancestors(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes with a directed path of one or more edges to one of `nodes`.

        >>> sorted(DAG("A -> B -> C").ancestors("C"))
        ['A', 'B']
        """
        return frozenset(self._index.names(_reach(self._index.select(nodes), self._parents)))

    def descendants(self, nodes: Nodes) -> frozenset[Node]:
        """All nodes with a directed path of one or more edges from one of `nodes`."""
        return frozenset(self._index.names(_reach(self._index.select(nodes), self._children)))

    def non_descendants(self, node: Node) -> frozenset[Node]:
        """All other nodes without a directed path from `node`: given its parents, it is independent of them."""
        return frozenset(self.nodes) - self.descendants(node) - {node}

    def markov_blanket(self, node: Node) -> tuple[Node, ...]:
        """The parents, children and the children's other parents: given these, the node is independent of the rest."""
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
        """The nodes, parents before children; ties follow the node order (Kahn's algorithm)."""
        return self._index.names(self._order)

    def d_separated(self, x: Nodes, y: Nodes, given: Nodes = ()) -> bool:
        """Whether `given` d-separates `x` and `y`: no trail between them is active, hence X ⊥ Y | Z.

        Observed members of `x` and `y` are ignored; an unobserved node is not separated from itself. The time is linear
        in the number of edges (Shachter 1998; Koller & Friedman 2009, algorithm 3.1).

        >>> alarm = DAG("E -> R; E -> A <- B; A -> C")
        >>> alarm.d_separated("B", "E"), alarm.d_separated("B", "E", given="C")
        (True, False)
        """
        select = self._index.select
        return not self._ball.meets(select(x), select(y), select(given))

    def d_connected(self, x: Nodes, *, given: Nodes = ()) -> frozenset[Node]:
        """All unobserved nodes that have an active trail from `x`, including unobserved members of `x`.

        >>> sorted(DAG("E -> R; E -> A <- B; A -> C").d_connected("R", given="A"))
        ['B', 'E', 'R']
        """
        return frozenset(self._index.names(self._ball.reached(self._index.select(x), self._index.select(given))))

    def requisite(self, targets: Nodes, given: Nodes = (), weighed: Nodes = ()) -> frozenset[Node]:
        """The nodes whose distributions P(targets | given) can depend on, whatever the numbers are (Shachter 1998).

        Others are barren, or cut off from the targets by what is given. Of `weighed` nodes something is known, by soft
        evidence; targets that are given ask for nothing. The time is linear in the number of edges.

        >>> sorted(DAG("D -> G <- I -> S; G -> L").requisite("I", given="G"))
        ['D', 'G', 'I']
        """
        select = self._index.select
        return frozenset(self._index.names(self._ball.asked(select(targets), select(given), select(weighed))))

    def active_trails(self, x: Nodes, y: Nodes, given: Nodes = (), limit: int | None = 100) -> Listing[Trail]:
        """List the active trails between `x` and `y`, shortest first; see `plausible.graphs.trails.active_trails`."""
        return active_trails(self, x, y, given, limit)

    def explain_separation(self, x: Nodes, y: Nodes, given: Nodes = (), limit: int = 10) -> SeparationExplanation:
        """Show an active trail, or what blocks each trail; see
        `plausible.graphs.trails.explain_separation`."""
        return explain_separation(self, x, y, given, limit)

    def minimal_separator(
        self, x: Nodes, y: Nodes, included: Nodes = (), restricted: Nodes | None = None
    ) -> frozenset[Node] | None:
        """Find a minimal set of nodes that d-separates `x` and `y`; `None` if there is none.

        Minimal separators lie among the ancestors of x, y and the included nodes, and there d-separation is separation
        in the moral graph (van der Zander, Liskiewicz & Textor 2014).

        Both are one or several nodes. The separator contains what is `included`, so that minimal means that none of the
        others can be removed, and nothing but what is in `restricted`; by default all except `x` and `y`.

        >>> sorted(DAG("A -> B -> D; A -> C -> D; B -> E").minimal_separator("A", "D"))
        ['B', 'C']
        """
        x, y, included = (self._index.names(self._index.select(group)) for group in (x, y, included))
        relevant = self.ancestors(x + y + included).union(x, y, included)
        allowed = (
            relevant if restricted is None else relevant.intersection(self._index.names(self._index.select(restricted)))
        )
        return self.subgraph(relevant).moralize().minimal_separator(x, y, included, allowed)

    @property
    def is_polytree(self) -> bool:
        """Whether the graph is singly connected: no two nodes are joined by more than one trail."""
        return self._is_forest()

    @property
    def is_rooted_tree(self) -> bool:
        """Whether one root has exactly one directed path to every other node."""
        return len(self.roots) == 1 and all(len(row) <= 1 for row in self._parents)

    def _path_rules(self) -> PathRules:
        return PathRules(up=((),) * len(self), down=self._children)

    def skeleton(self) -> UndirectedGraph:
        """Return the undirected graph with the same adjacencies."""
        return UndirectedGraph(self.edges, nodes=self.nodes)

    def moralize(self) -> UndirectedGraph:
        """Return the moral graph: join the parents of each child, then drop the directions."""
        marriages = ((row[i], row[j]) for row in self._parents for i in range(len(row)) for j in range(i + 1, len(row)))
        nodes = self.nodes
        return UndirectedGraph((*self.edges, *((nodes[a], nodes[b]) for a, b in marriages)), nodes=nodes)

    def without_incoming(self, nodes: Nodes) -> DAG:
        """Return the graph of an intervention: without the edges into `nodes`."""
        cut = set(self._index.names(self._index.select(nodes)))
        return DAG([(a, b) for a, b in self.edges if b not in cut], nodes=self.nodes)

    def without_outgoing(self, nodes: Nodes) -> DAG:
        """Return the graph without the edges out of `nodes`."""
        cut = set(self._index.names(self._index.select(nodes)))
        return DAG([(a, b) for a, b in self.edges if a not in cut], nodes=self.nodes)

    def with_edge(self, source: Node, target: Node) -> DAG:
        """Return the graph with one more edge; a cycle is an error."""
        return DAG((*self.edges, (source, target)), nodes=self.nodes)

    def without_edge(self, source: Node, target: Node) -> DAG:
        """Return the graph without this edge."""
        if not self.has_edge(source, target):
            raise InvalidGraph(f"There is no edge {source!r} -> {target!r} to remove.")
        return DAG([edge for edge in self.edges if edge != (source, target)], nodes=self.nodes)

    def with_reversed_edge(self, source: Node, target: Node) -> DAG:
        """Return the graph with `source -> target` reversed."""
        return self.without_edge(source, target).with_edge(target, source)

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Convert to a networkx digraph with the same nodes and edges."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph


def _reach(starts: Iterable[int], steps: Sequence[tuple[int, ...]]) -> list[int]:
    """The positions that one or more steps lead to, in increasing order."""
    found: set[int] = set()
    frontier = list(starts)
    while frontier:
        fresh = [b for b in steps[frontier.pop()] if b not in found]
        found.update(fresh)
        frontier.extend(fresh)
    return sorted(found)


def _topological_order(index: NodeIndex, parents: Rows, children: Rows) -> tuple[int, ...]:
    """Kahn's algorithm (Koller & Friedman 2009, algorithm A.1); a cycle is reported by its nodes."""
    waiting = [len(row) for row in parents]
    ready = [node for node, count in enumerate(waiting) if not count]  # increasing, hence a heap
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    if len(order) < len(index):
        raise CyclicGraph(index.names(_find_cycle(waiting, parents)))
    return tuple(order)


def _find_cycle(waiting: list[int], parents: Rows) -> list[int]:
    """Walk backwards among the nodes that never became ready until one comes round again."""
    node = next(node for node, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in parents[node] if waiting[parent])
    return path[seen[node] :][::-1]
