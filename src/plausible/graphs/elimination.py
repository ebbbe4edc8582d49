"""Eliminating nodes: what an order costs, and greedy orders that cost little.

To eliminate a node is to join its neighbours with each other and to take it away: the picture of summing a variable
out of a product of factors. The clique of a step, the node and the neighbours it still has, is the scope of the
product that the step builds, so an order can be priced before a single table is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import get_args

from plausible.base import Seed, generator_of
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_plain
from plausible.graphs.greedy import Heuristic, greedy_order
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.undirected import UndirectedGraph


@dataclass(frozen=True, slots=True)
class Elimination:
    """The course of an elimination, step by step."""

    order: tuple[Node, ...]  # The nodes in the order in which they went
    #: For each step the node that goes, then the neighbours it still has: the scope of the product of that step.
    cliques: tuple[tuple[Node, ...], ...]
    fill: tuple[tuple[Node, Node], ...]  # The edges that had to be added, in the order in which they appeared

    @property
    def width(self) -> int:
        """The size of the largest clique minus one; 0 if nothing was eliminated."""
        return max(map(len, self.cliques), default=1) - 1

    def cost(self, cardinalities: Mapping[Node, int]) -> int:
        """The table entries of all products together: the sum over cliques of ∏ |Val(X)|."""
        index = NodeIndex(node for clique in self.cliques for node in clique)
        sizes = dict(zip(index, read_cardinalities(index, cardinalities), strict=True))
        return sum(prod(sizes[node] for node in clique) for clique in self.cliques)


def eliminate(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> Elimination:
    """Eliminate the nodes of `order` one after the other and record what happens (Koller & Friedman 2009, 9.4).

    A DAG is moralised first. Nodes that the order leaves out stay to the end, as the variables of a query do. Costs one
    step for every pair of neighbours of every node that goes.

    >>> run = eliminate(UndirectedGraph("A - B - C - D - A"), ["A", "B", "C", "D"])
    >>> run.fill
    (('B', 'D'),)
    >>> run.cliques
    (('A', 'B', 'D'), ('B', 'C', 'D'), ('C', 'D'), ('D',))
    >>> run.width, run.cost({"A": 2, "B": 2, "C": 2, "D": 3})
    (2, 33)
    """
    graph = interaction_graph(graph)
    index, neighbors = graph.index, neighbor_sets(graph)
    positions = [index.position(node) for node in as_order(order)]
    if len(set(positions)) < len(positions):
        twice = next(node for place, node in enumerate(positions) if node in positions[:place])
        raise InvalidArgument(f"The elimination order has {index.nodes[twice]!r} twice; a node goes only once.")
    cliques: list[tuple[int, ...]] = []
    fill: list[tuple[int, int]] = []
    for node in positions:
        around = sorted(neighbors[node])
        cliques.append((node, *around))
        for a, b in combinations(around, 2):
            if b not in neighbors[a]:
                neighbors[a].add(b)
                neighbors[b].add(a)
                fill.append((a, b))
        for other in around:
            neighbors[other].discard(node)
    nodes = index.nodes
    return Elimination(
        order=index.names(positions),
        cliques=tuple(map(index.names, cliques)),
        fill=tuple((nodes[a], nodes[b]) for a, b in fill),
    )


def fill_edges(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> tuple[tuple[Node, Node], ...]:
    """The edges that eliminating in this order adds.

    >>> star = UndirectedGraph("C - L1; C - L2; C - L3; C - L4")
    >>> len(fill_edges(star, ["C", "L1", "L2", "L3", "L4"]))
    6
    >>> fill_edges(star, ["L1", "L2", "L3", "L4", "C"])
    ()
    """
    return eliminate(graph, order).fill


def induced_graph(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> UndirectedGraph:
    """The graph and the fill edges of an order; chordal if the order has all nodes.

    >>> induced_graph(UndirectedGraph("A - B - C - D - A"), ["B", "A", "D", "C"])
    UndirectedGraph('A - B; A - C; A - D; B - C; C - D')
    """
    graph = interaction_graph(graph)
    return UndirectedGraph((*graph.edges, *fill_edges(graph, order)), nodes=graph.nodes)


def induced_width(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> int:
    """The size of the largest clique that eliminating in this order makes, minus one.

    The smallest width over all orders is the treewidth of the graph.

    >>> induced_width(UndirectedGraph("A - B - C - D - A"), ["A", "B", "C", "D"])
    2
    """
    return eliminate(graph, order).width


def elimination_cost(
    graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node], cardinalities: Mapping[Node, int]
) -> int:
    """The table entries that eliminating in this order builds: the sum over steps of ∏ |Val(X)| over the clique.

    >>> elimination_cost(UndirectedGraph("A - B - C"), ["A", "B", "C"], {"A": 2, "B": 3, "C": 5})
    26
    """
    return eliminate(graph, order).cost(cardinalities)


def elimination_order(
    graph: GraphLike[DAG | UndirectedGraph],
    heuristic: Heuristic = "min-fill",
    *,
    cardinalities: Mapping[Node, int] | None = None,
    keep: Nodes = (),
    restarts: int = 0,
    seed: Seed = None,
) -> tuple[Node, ...]:
    """Eliminate, at each step, a node with the lowest score (Koller & Friedman 2009, algorithm 9.4).

    Parameters
    ----------
    graph
        The graph whose cliques hold the factors; a DAG is moralised first.
    heuristic
        `"min-fill"`: the number of edges that the step would add. `"weighted-min-fill"`: the same, an edge counted
        |Val(X)| |Val(Y)| times. `"min-neighbors"`: the number of neighbours. `"min-weight"`: the number of entries
        of a table over the neighbours. The two that count fill are usually best.
    cardinalities
        The number of states of every node; needed by the heuristics with weights.
    keep
        Nodes that are not to be eliminated, such as the variables of a query.
    restarts
        Further runs that break ties at random; the cheapest of all orders by `elimination_cost` wins. Where
        cardinalities are not given every node counts as binary.

    Notes
    -----
    With no restarts ties go to the node that comes first in the graph. Scores are updated, not computed again: a fill
    edge costs the neighbours that its two ends share, an elimination the pairs of neighbours of the node. The best
    order of all is NP-hard to find.

    Examples
    --------
    >>> elimination_order(DAG("D -> G <- I -> S; G -> L"))
    ('D', 'S', 'I', 'G', 'L')
    >>> elimination_order(DAG("D -> G <- I -> S; G -> L"), keep="G")
    ('D', 'S', 'I', 'L')
    """
    if heuristic not in get_args(Heuristic):
        known = ", ".join(map(repr, get_args(Heuristic)))
        raise InvalidArgument(f"{heuristic!r} is not an elimination heuristic. Choose one of {known}.")
    if cardinalities is None and heuristic in ("weighted-min-fill", "min-weight"):
        raise InvalidArgument(f"The heuristic {heuristic!r} needs cardinalities=, the number of states of every node.")
    if restarts < 0:
        raise InvalidArgument(f"restarts={restarts} must not be negative.")
    graph = interaction_graph(graph)
    index = graph.index
    sizes = [2] * len(index) if cardinalities is None else read_cardinalities(index, cardinalities)
    kept = set(index.select(keep))
    candidates = [node for node in range(len(index)) if node not in kept]
    ranks = [list(range(len(index)))]
    if restarts:
        generator = generator_of(seed)
        ranks += [generator.permutation(len(index)).tolist() for _ in range(restarts)]
    orders = [index.names(greedy_order(graph.neighbor_rows, sizes, heuristic, candidates, rank)) for rank in ranks]
    if not restarts:
        return orders[0]
    by_name = dict(zip(index, sizes, strict=True))
    return min(orders, key=lambda order: elimination_cost(graph, order, by_name))


def interaction_graph(graph: GraphLike[DAG | UndirectedGraph]) -> UndirectedGraph:
    """The graph whose cliques hold the factors: the moral graph of a DAG, an undirected graph as it is."""
    graph = read_plain(graph)
    return graph.moralize() if isinstance(graph, DAG) else graph


def neighbor_sets(graph: UndirectedGraph) -> list[set[int]]:
    """For each position in the node order the positions of the neighbours; the caller's to change."""
    return list(map(set, graph.neighbor_rows))


def read_cardinalities(index: NodeIndex, cardinalities: Mapping[Node, int]) -> list[int]:
    """The number of states of every node, by position."""
    sizes: list[int] = []
    for node in index:
        if node not in cardinalities:
            raise UnknownVariable(f"The cardinalities lack {node!r}. Give the number of states of every node.")
        size = cardinalities[node]
        if size < 1 or size != int(size):
            raise InvalidArgument(f"The cardinality of {node!r} is {size!r}; expected a whole number, 1 or more.")
        sizes.append(int(size))
    return sizes


def complete_order(graph: DAG | UndirectedGraph, order: Iterable[Node]) -> tuple[Node, ...]:
    """The order as a tuple, once it is known to have every node of the graph."""
    order = as_order(order)
    given = set(order)
    missing = [node for node in graph.nodes if node not in given]
    if missing:
        raise InvalidArgument(f"The elimination order lacks {missing[0]!r}; here it needs all {len(graph)} nodes.")
    return order


def as_order(order: Iterable[Node]) -> tuple[Node, ...]:
    """The order as a tuple; text is refused, since its letters are seldom meant."""
    if isinstance(order, str):
        raise InvalidArgument(f"The order {order!r} is text, not a sequence of nodes. Write [{order!r}].")
    return tuple(order)
