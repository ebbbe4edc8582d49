"""Cliques: sets of nodes that are all joined with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from plausible.graphs.chordal import is_chordal, perfect_elimination_order
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import Elimination, complete_order, eliminate, neighbor_sets
from plausible.graphs.graph_input import GraphLike, read_plain, read_undirected
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.undirected import UndirectedGraph


def is_clique(graph: GraphLike[UndirectedGraph], nodes: Nodes) -> bool:
    """Whether the nodes are all joined with each other; true for one node and for none.

    >>> graph = UndirectedGraph("A - B - C - A; C - D")
    >>> is_clique(graph, ["A", "B", "C"]), is_clique(graph, ["B", "C", "D"])
    (True, False)
    """
    graph = read_undirected(graph)
    names = graph.index.names(graph.index.select(nodes))
    return all(graph.has_edge(a, b) for a, b in combinations(names, 2))


def is_maximal_clique(graph: GraphLike[UndirectedGraph], nodes: Nodes) -> bool:
    """Whether the nodes are a clique that no further node could join.

    >>> graph = UndirectedGraph("A - B - C - A; C - D")
    >>> is_maximal_clique(graph, ["A", "B"]), is_maximal_clique(graph, ["C", "D"])
    (False, True)
    """
    graph = read_undirected(graph)
    names = graph.index.names(graph.index.select(nodes))
    common = set(graph.nodes).difference(names).intersection(*(graph.neighbors(node) for node in names))
    return is_clique(graph, names) and not common


def all_cliques(graph: GraphLike[UndirectedGraph], max_size: int | None = None) -> Listing[tuple[Node, ...]]:
    """Every clique of one or more nodes, each in node order, small ones first.

    Their number grows exponentially with the largest clique; `max_size` ends the list early.

    >>> all_cliques(UndirectedGraph("A - B - C"))
    [('A',), ('B',), ('C',), ('A', 'B'), ('B', 'C')]
    """
    undirected = read_undirected(graph)
    return Listing(lambda: _grown_cliques(undirected, max_size))


def _grown_cliques(graph: UndirectedGraph, max_size: int | None) -> Iterator[tuple[Node, ...]]:
    index, neighbors = graph.index, neighbor_sets(graph)
    # Each clique comes with the nodes after its last that could still join it, so every clique is grown only once.
    layer: list[tuple[tuple[int, ...], set[int]]]
    layer = [((node,), {other for other in row if other > node}) for node, row in enumerate(neighbors)]
    size = 1
    while layer and (max_size is None or size <= max_size):
        yield from (index.names(clique) for clique, _ in layer)
        layer = [
            ((*clique, node), {other for other in joining & neighbors[node] if other > node})
            for clique, joining in layer
            for node in sorted(joining)
        ]
        size += 1


def maximal_cliques(graph: GraphLike[UndirectedGraph]) -> tuple[tuple[Node, ...], ...]:
    """The cliques that lie in no other, each in node order, sorted by the node order.

    Notes
    -----
    A chordal graph has no more of them than nodes, and a perfect elimination order shows them. In general there may
    be 3^(n/3); they are found by the algorithm of Bron and Kerbosch (1973), as networkx has it.

    Examples
    --------
    >>> maximal_cliques(UndirectedGraph("A - B - C - A; C - D"))
    (('A', 'B', 'C'), ('C', 'D'))
    """
    graph = read_undirected(graph)
    if is_chordal(graph):
        return elimination_cliques(graph, perfect_elimination_order(graph))
    import networkx as nx

    return in_node_order(graph.index, nx.find_cliques(graph.to_networkx()))


def elimination_cliques(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> tuple[tuple[Node, ...], ...]:
    """The maximal cliques of the graph that an elimination order induces, each in node order, sorted likewise.

    Parameters
    ----------
    graph
        An undirected graph; a DAG is moralised first.
    order
        All nodes, in the order in which to eliminate them.

    Examples
    --------
    >>> elimination_cliques(UndirectedGraph("A - B - C - D - A"), ["A", "B", "C", "D"])
    (('A', 'B', 'D'), ('B', 'C', 'D'))
    """
    graph = read_plain(graph)
    run = eliminate(graph, complete_order(graph, order))
    cliques = (run.cliques[step] for step, absorber in enumerate(absorbing_steps(run)) if step == absorber)
    return in_node_order(NodeIndex(graph.nodes), cliques)


def in_node_order(index: NodeIndex, cliques: Iterable[Iterable[Node]]) -> tuple[tuple[Node, ...], ...]:
    """The cliques with their nodes in node order, sorted by the positions of these."""
    return tuple(map(index.names, sorted(sorted(map(index.position, clique)) for clique in cliques)))


def next_steps(run: Elimination) -> tuple[int | None, ...]:
    """For each step of a complete elimination the step that its result enters: the next one that takes a neighbour."""
    steps = {node: step for step, node in enumerate(run.order)}
    return tuple(min((steps[node] for node in clique[1:]), default=None) for clique in run.cliques)


def absorbing_steps(run: Elimination) -> tuple[int, ...]:
    """For each step of a complete elimination a step with a maximal clique that holds its clique; itself if maximal.

    The clique of a step, without the node that goes, lies in the clique of the step that it enters. So that one is
    not maximal if the two sets have the same size; and if it is not maximal, some step that enters it shows this.
    """
    absorbers = list(range(len(run.order)))
    for step, following in enumerate(next_steps(run)):
        if following is not None and len(run.cliques[step]) == len(run.cliques[following]) + 1:
            absorbers[following] = absorbers[step]
    return tuple(absorbers)
