"""Cliques: sets of nodes that are all joined with each other; and the trees that those of a chordal graph form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from plausible.graphs.chordal import is_chordal, perfect_elimination_order, triangulate
from plausible.graphs.cluster_graph import CliqueTree
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import Elimination, as_order, complete_order, eliminate, neighbor_sets
from plausible.graphs.graph_input import GraphLike, read_plain, read_undirected
from plausible.graphs.greedy import Heuristic
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, NodeIndex, Nodes, read_scope
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

    A chordal graph has no more of them than nodes, and a perfect elimination order shows them. In general there may
    be 3^(n/3); they are found by the algorithm of Bron and Kerbosch (1973), as networkx has it.

    >>> maximal_cliques(UndirectedGraph("A - B - C - A; C - D"))
    (('A', 'B', 'C'), ('C', 'D'))
    """
    graph = read_undirected(graph)
    if is_chordal(graph):
        return elimination_cliques(graph, perfect_elimination_order(graph))
    import networkx as nx

    return _in_node_order(graph.index, nx.find_cliques(graph.to_networkx()))


def elimination_cliques(graph: GraphLike[DAG | UndirectedGraph], order: Iterable[Node]) -> tuple[tuple[Node, ...], ...]:
    """The maximal cliques of the graph that an elimination order induces, each in node order, sorted likewise.

    A DAG is moralised first; the order has all nodes.

    >>> elimination_cliques(UndirectedGraph("A - B - C - D - A"), ["A", "B", "C", "D"])
    (('A', 'B', 'D'), ('B', 'C', 'D'))
    """
    graph = read_plain(graph)
    run = eliminate(graph, complete_order(graph, order))
    cliques = (run.cliques[step] for step, absorber in enumerate(_absorbing_steps(run)) if step == absorber)
    return _in_node_order(NodeIndex(graph.nodes), cliques)


def _in_node_order(index: NodeIndex, cliques: Iterable[Iterable[Node]]) -> tuple[tuple[Node, ...], ...]:
    """The cliques with their nodes in node order, sorted by the positions of these."""
    return tuple(map(index.names, sorted(sorted(map(index.position, clique)) for clique in cliques)))


def _next_steps(run: Elimination) -> tuple[int | None, ...]:
    """For each step of a complete elimination the step that its result enters: the next one that takes a neighbour."""
    steps = {node: step for step, node in enumerate(run.order)}
    return tuple(min((steps[node] for node in clique[1:]), default=None) for clique in run.cliques)


def _absorbing_steps(run: Elimination) -> tuple[int, ...]:
    """For each step of a complete elimination a step with a maximal clique that holds its clique; itself if maximal.

    The clique of a step, without the node that goes, lies in the clique of the step that it enters. So that one is
    not maximal if the two sets have the same size; and if it is not maximal, some step that enters it shows this.
    """
    absorbers = list(range(len(run.order)))
    for step, following in enumerate(_next_steps(run)):
        if following is not None and len(run.cliques[step]) == len(run.cliques[following]) + 1:
            absorbers[following] = absorbers[step]
    return tuple(absorbers)


def clique_tree(graph: GraphLike[UndirectedGraph]) -> CliqueTree:
    """The maximal cliques of a chordal graph, joined to a tree with the running intersection property.

    Among all trees over the cliques these have the largest total size of sepsets: a clique tree is a maximum spanning
    tree of the clique graph, and the reverse (Jensen & Jensen 1994). It is read off a perfect elimination order in
    time linear in the sizes of the cliques of its steps. A graph in several pieces gives a forest.

    >>> tree = clique_tree(UndirectedGraph("A - B - C - A; C - D; E"))
    >>> tree.cliques
    (('A', 'B', 'C'), ('C', 'D'), ('E',))
    >>> tree.edges, tree.sepsets
    (((0, 1),), (('C',),))
    """
    graph = read_undirected(graph)
    return _tree_of(eliminate(graph, perfect_elimination_order(graph)), graph.index)


def junction_tree(
    graph: GraphLike[DAG | UndirectedGraph],
    order: Iterable[Node] | None = None,
    *,
    heuristic: Heuristic = "min-fill",
    cardinalities: Mapping[Node, int] | None = None,
) -> CliqueTree:
    """Moralise, triangulate, find the cliques, join them to a tree (Lauritzen & Spiegelhalter 1988).

    Each stage stands on its own too: `DAG.moralize`, `triangulate`, `maximal_cliques`, `clique_tree`. Each family of
    a DAG lies in some clique, and so does each edge of an undirected graph.

    The order, `heuristic` and `cardinalities` are those of `triangulate`.

    >>> tree = junction_tree(DAG("a -> b; a -> c; b -> d; c -> d; b -> e; d -> e; d -> f"))
    >>> ["".join(clique) for clique in tree.cliques]
    ['abc', 'bcd', 'bde', 'df']
    >>> sorted("".join(sepset) for sepset in tree.sepsets)
    ['bc', 'bd', 'd']
    """
    return clique_tree(triangulate(graph, order, heuristic=heuristic, cardinalities=cardinalities))


def tree_from_elimination(scopes: Iterable[Nodes], order: Iterable[Node]) -> CliqueTree:
    """The tree that variable elimination leaves behind (Koller & Friedman 2009, 10.1).

    The cluster of a step is the scope of its product, C_i = Scope[ψ_i]; an edge goes to the step that its result τ_i
    enters. Clusters contained in a neighbour are merged with it, so that maximal cliques are left. Nodes that the order
    leaves out are the query: the last product is over all of them.

    >>> tree = tree_from_elimination([["A"], ["A", "B"], ["B", "C"]], order=["A"])
    >>> tree.cliques
    (('A', 'B'), ('B', 'C'))
    """
    families = list(map(read_scope, scopes))
    index = NodeIndex(node for family in families for node in family)
    order = as_order(order)
    eliminated = set(order)
    query = tuple(node for node in index if node not in eliminated)
    pairs = (pair for family in (*families, query) for pair in combinations(family, 2))
    return _tree_of(eliminate(UndirectedGraph(pairs, nodes=index.nodes), (*order, *query)), index)


def _tree_of(run: Elimination, index: NodeIndex) -> CliqueTree:
    """The maximal cliques of a complete elimination, joined where a result enters a step."""
    absorbers = _absorbing_steps(run)
    rows = {step: sorted(map(index.position, run.cliques[step])) for step in set(absorbers)}
    numbers = {step: number for number, step in enumerate(sorted(rows, key=rows.__getitem__))}
    edges: list[tuple[int, int]] = []
    for step, following in enumerate(_next_steps(run)):
        if following is not None and absorbers[step] != absorbers[following]:
            ends = (numbers[absorbers[step]], numbers[absorbers[following]])
            edges.append((min(ends), max(ends)))
    return CliqueTree(cliques=tuple(index.names(rows[step]) for step in numbers), edges=tuple(sorted(edges)))
