"""Markov equivalence: which DAGs say the same independencies, the graph for all of them, and back to one DAG."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_dag, read_pdag
from plausible.graphs.marks import Edge
from plausible.graphs.meek import Immorality, Orientation, immoralities
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node


def is_i_equivalent(first: GraphLike[DAG], second: GraphLike[DAG]) -> bool:
    """Whether two DAGs over the same nodes state the same independencies.

    They do exactly if they have the same skeleton and the same immoralities.

    Verma & Pearl (1990), Equivalence and synthesis of causal models, UAI.

    >>> is_i_equivalent(DAG("A -> B -> C"), DAG("A <- B -> C"))
    True
    >>> is_i_equivalent(DAG("A -> B -> C"), DAG("A -> B <- C"))
    False
    """
    first, second = read_dag(first), read_dag(second)
    return (
        first.num_edges == second.num_edges
        and first.skeleton() == second.skeleton()
        and set(immoralities(first)) == set(immoralities(second))
    )


def essential_graph(dag: GraphLike[DAG]) -> PDAG:
    """The PDAG of the equivalence class (its CPDAG): an edge is directed if all members agree on its direction.

    Nodes are taken in topological order; the edges into one are judged by those into its parents. Linear in the edges,
    up to set operations on the parents of each node.

    Chickering (1995), A transformational characterization of equivalent Bayesian network structures, UAI.

    >>> essential_graph(DAG("D -> G <- I -> S; G -> L"))
    PDAG('D -> G; G -> L; I -> G; I - S')
    """
    dag = read_dag(dag)
    compelled = set(compelled_edges(dag))
    return PDAG([Edge.of(a, "->" if (a, b) in compelled else "-", b) for a, b in dag.edges], nodes=dag.nodes)


def compelled_edges(dag: GraphLike[DAG]) -> tuple[tuple[Node, Node], ...]:
    """The edges that have this direction in every DAG of the equivalence class.

    >>> compelled_edges(DAG("D -> G <- I -> S; G -> L"))
    (('D', 'G'), ('G', 'L'), ('I', 'G'))
    """
    dag = read_dag(dag)
    rank = {node: time for time, node in enumerate(dag.topological_order)}
    parents = {node: frozenset(dag.parents(node)) for node in dag.nodes}
    compelled: dict[Node, frozenset[Node]] = {}
    # Chickering's Label-Edges: the edge from the last parent decides about all edges into a child.
    for child in dag.topological_order:
        compelled[child] = parents[child]
        if parents[child]:
            last = max(parents[child], key=rank.__getitem__)
            if compelled[last] <= parents[child] <= parents[last] | {last}:
                compelled[child] = compelled[last]
    return tuple((a, b) for a, b in dag.edges if a in compelled[b])


def reversible_edges(dag: GraphLike[DAG]) -> tuple[tuple[Node, Node], ...]:
    """The edges that have the other direction in some DAG of the equivalence class.

    >>> reversible_edges(DAG("D -> G <- I -> S; G -> L"))
    (('I', 'S'),)
    """
    dag = read_dag(dag)
    compelled = set(compelled_edges(dag))
    return tuple(edge for edge in dag.edges if edge not in compelled)


def is_essential_graph(pdag: GraphLike[PDAG]) -> bool:
    """Whether this is the essential graph of some DAG.

    >>> is_essential_graph(PDAG("A - B - C")), is_essential_graph(PDAG("A -> B - C"))
    (True, False)
    """
    pdag = read_pdag(pdag)
    try:
        return essential_graph(consistent_extension(pdag)) == pdag
    except InvalidGraph:
        return False


def covered_edges(dag: GraphLike[DAG]) -> tuple[tuple[Node, Node], ...]:
    """The edges whose two ends have the same other parents: those that can be turned round within the class.

    Any two equivalent DAGs are joined by a chain of such reversals (Chickering 1995).

    >>> covered_edges(DAG("D -> G <- I -> S; G -> L"))
    (('I', 'S'),)
    """
    dag = read_dag(dag)
    return tuple((a, b) for a, b in dag.edges if {a, *dag.parents(a)} == set(dag.parents(b)))


def consistent_extension(pdag: GraphLike[PDAG]) -> DAG:
    """A DAG with the skeleton, the directions and exactly the immoralities of the PDAG.

    Again and again, a node is found that can be a sink: no edge leaves it, and each undirected neighbour of it is
    joined with all the others around it. Its undirected edges are directed into it, and it is taken out. If some
    extension exists, this finds one. A node is looked at again only when one around it has gone.

    Raises
    ------
    InvalidGraph
        If no DAG fits; the message names the nodes where every choice fails.

    Dor & Tarsi (1992), A simple algorithm to construct a consistent extension of a partially oriented graph, UCLA
    technical report R-185.

    >>> consistent_extension(PDAG("A -> B - C"))
    DAG('A -> B; B -> C')
    >>> consistent_extension(PDAG("A - B - C - D - A"))
    Traceback (most recent call last):
    ...
    plausible.errors.InvalidGraph: No DAG fits this PDAG: among 'A', 'B', 'C', 'D' none can come last. For example
    'D' - 'A' can't point into 'A', since 'A' is joined with 'B' and 'D' is not.
    """
    work = _Sinks(read_pdag(pdag))
    work.take_all()
    if work.present:
        raise work.no_extension()
    return work.dag()


@dataclass(frozen=True, slots=True)
class NearExtension:
    """A DAG with the skeleton and all directions of a PDAG; made by `near_extension`."""

    graph: DAG  # The DAG
    #: Those that the PDAG does not have: none if it has a consistent extension, which `graph` is then.
    new_immoralities: tuple[Immorality, ...]


def near_extension(pdag: GraphLike[PDAG], cost: Callable[[Immorality], float] | None = None) -> NearExtension:
    """A DAG with the skeleton and the directions of the PDAG, and with few immoralities that the PDAG does not have.

    As `consistent_extension`, whose answer it is where there is one. Where no node can be a sink, that one without an
    edge from it is taken whose new immoralities cost least; of equals the last. So it is a greedy choice, which need
    not have the fewest of all. O(n d²) steps for each such choice, d being the largest number of neighbours. A new
    immorality costs 1 by default, or what `cost` says: at least 0.
    """
    work = _Sinks(read_pdag(pdag))
    work.take_all()
    new: list[Immorality] = []
    while work.present:
        made = {node: work.made_by(node) for node in sorted(work.present, reverse=True) if work.has_no_child(node)}
        costs = {node: sum(1.0 if cost is None else cost(one) for one in ones) for node, ones in made.items()}
        cheapest = min(costs, key=lambda node: costs[node])
        new += made[cheapest]
        work.take(cheapest)
        work.take_all()
    return NearExtension(work.dag(), tuple(new))


class _Sinks:
    """Nodes of a PDAG, taken out from the last one on; each has its undirected edges directed into it."""

    __slots__ = ("_edges", "_nodes", "_remaining", "_waiting", "_work", "present")

    def __init__(self, pdag: PDAG) -> None:
        self._nodes: tuple[Node, ...] = pdag.nodes
        self._work = Orientation(pdag)
        self._remaining = [set(row) for row in self._work.adjacent]
        self._edges = [(a, b) for b, row in enumerate(self._work.parents) for a in row]
        self._waiting = deque(reversed(range(len(pdag))))
        self.present = set(range(len(pdag)))

    def take_all(self) -> None:
        """Take out nodes that make no new immorality as long as there are any."""
        while self._waiting:
            node = self._waiting.popleft()
            if node in self.present and self._can_be_sink(node):
                self.take(node)

    def take(self, node: int) -> None:
        """Direct the undirected edges of a node into it, and take it out."""
        self._edges += [(other, node) for other in self._work.neighbors[node] & self._remaining[node]]
        self.present.discard(node)
        for other in sorted(self._remaining[node], reverse=True):
            self._remaining[other].discard(node)
            self._waiting.append(other)

    def _can_be_sink(self, node: int) -> bool:
        around = self._remaining[node]
        undirected = self._work.neighbors[node] & around
        return self.has_no_child(node) and all(around - {other} <= self._remaining[other] for other in undirected)

    def has_no_child(self, node: int) -> bool:
        """Whether no edge leads to a node that is still there; so it is with one at least, as there is no cycle."""
        return self._work.children[node].isdisjoint(self._remaining[node])

    def made_by(self, node: int) -> list[Immorality]:
        """The new immoralities if the undirected edges of a node point into it."""
        undirected, name = self._work.neighbors[node], self._nodes
        return [
            Immorality(name[a], name[node], name[b])
            for a, b in combinations(sorted(self._remaining[node]), 2)
            if b not in self._work.adjacent[a] and (a in undirected or b in undirected)
        ]

    def dag(self) -> DAG:
        """The graph, when all nodes were taken out."""
        return DAG([(self._nodes[a], self._nodes[b]) for a, b in sorted(self._edges)], nodes=self._nodes)

    def no_extension(self) -> InvalidGraph:
        """Say where the search got stuck, with a node that fails by an undirected edge, as one always does."""
        name, stuck, remaining = self._nodes, sorted(self.present), self._remaining
        shown = ", ".join(repr(name[node]) for node in stuck[:8]) + (", ..." if len(stuck) > 8 else "")
        sink = next(node for node in stuck if self.has_no_child(node))
        other, third = next(
            (other, min(missing))
            for other in sorted(self._work.neighbors[sink] & self.present, reverse=True)
            if (missing := remaining[sink] - {other} - remaining[other])
        )
        return InvalidGraph(
            f"No DAG fits this PDAG: among {shown} none can come last. For example {name[other]!r} - {name[sink]!r} "
            f"can't point into {name[sink]!r}, since {name[sink]!r} is joined with {name[third]!r} and "
            f"{name[other]!r} is not."
        )
