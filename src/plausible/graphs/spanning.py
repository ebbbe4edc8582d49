"""Spanning trees and forests of least or greatest weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import fsum, isnan
from typing import TypeAlias

from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.graph_input import GraphLike, read_undirected
from plausible.graphs.nodes import Node
from plausible.graphs.undirected import UndirectedGraph

#: The weight of each edge: `{(a, b): weight}`, either way round, or a function of its two ends.
Weights: TypeAlias = Mapping[tuple[Node, Node], float] | Callable[[Node, Node], float]


@dataclass(frozen=True, slots=True)
class SpanningForest:
    """A forest over all nodes of a graph, and the sum of its edges' weights."""

    graph: UndirectedGraph
    weight: float


def maximum_spanning_tree(graph: GraphLike[UndirectedGraph], weights: Weights) -> SpanningForest:
    """The spanning tree of greatest total weight.

    Kruskal's (1956) algorithm, O(edges log edges). Weights may be negative; among equal ones the edge that comes first
    in `graph.edges` wins. The graph must be connected; for others see `maximum_spanning_forest`. Weights are
    `{(a, b): weight}`, either way round, or a function of the two ends of an edge.

    >>> weights = {("A", "B"): 4, ("A", "C"): 8, ("B", "C"): 11, ("B", "D"): 8, ("C", "D"): 7, ("C", "E"): 1,
    ...            ("D", "E"): 2}
    >>> tree = maximum_spanning_tree(UndirectedGraph(weights), weights)
    >>> tree.graph.edges, tree.weight
    ((('A', 'C'), ('B', 'C'), ('B', 'D'), ('D', 'E')), 29.0)
    """
    return _require_tree(maximum_spanning_forest(graph, weights))


def minimum_spanning_tree(graph: GraphLike[UndirectedGraph], weights: Weights) -> SpanningForest:
    """The spanning tree of least total weight; see `maximum_spanning_tree`."""
    return _require_tree(minimum_spanning_forest(graph, weights))


def maximum_spanning_forest(graph: GraphLike[UndirectedGraph], weights: Weights) -> SpanningForest:
    """A spanning tree of greatest weight for each component; see `maximum_spanning_tree`.

    It joins all that the graph joins, so it takes edges of negative weight too.
    """
    graph = read_undirected(graph)
    return _kruskal(graph, _weight_table(graph, weights), sign=-1)


def minimum_spanning_forest(graph: GraphLike[UndirectedGraph], weights: Weights) -> SpanningForest:
    """A spanning tree of least weight for each component; see `maximum_spanning_tree`."""
    graph = read_undirected(graph)
    return _kruskal(graph, _weight_table(graph, weights), sign=1)


def _kruskal(graph: UndirectedGraph, table: dict[tuple[Node, Node], float], sign: int) -> SpanningForest:
    import networkx as nx

    weighted = graph.to_networkx()
    nx.set_edge_attributes(weighted, {edge: sign * weight for edge, weight in table.items()}, "weight")
    # networkx sorts stably, and lists the edges in our order: so ties fall to the first edge.
    edges = [(a, b) for a, b in nx.minimum_spanning_edges(weighted, algorithm="kruskal", data=False)]
    return SpanningForest(type(graph)(edges, nodes=graph.nodes), fsum(table[edge] for edge in edges))


def _weight_table(graph: UndirectedGraph, weights: Weights) -> dict[tuple[Node, Node], float]:
    table = {(a, b): _weight(weights, a, b) for a, b in graph.edges}
    for (a, b), weight in table.items():
        if isnan(weight):
            raise InvalidArgument(f"The weight of the edge {a!r} - {b!r} is NaN, which has no place in an order.")
    return table


def _weight(weights: Weights, a: Node, b: Node) -> float:
    if not isinstance(weights, Mapping):
        return float(weights(a, b))
    given = {float(weights[pair]) for pair in ((a, b), (b, a)) if pair in weights}
    if len(given) != 1:
        problem = "no weight" if not given else "different weights for its two directions"
        raise InvalidArgument(f"The edge {a!r} - {b!r} has {problem}; give weights[{a!r}, {b!r}] once.")
    return given.pop()


def _require_tree(forest: SpanningForest) -> SpanningForest:
    parts = forest.graph.components
    if len(parts) > 1:
        raise InvalidGraph(
            f"A disconnected graph has no spanning tree: nothing joins {parts[0][0]!r} and {parts[1][0]!r}. "
            "Ask for a spanning forest."
        )
    return forest
