"""From a graph, or from the scopes of factors, to a clique tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from plausible.graphs.chordal import perfect_elimination_order, triangulate
from plausible.graphs.cliques import absorbing_steps, next_steps
from plausible.graphs.cluster_graph import CliqueTree, read_scope
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import Elimination, as_order, eliminate
from plausible.graphs.graph_input import GraphLike, read_undirected
from plausible.graphs.greedy import Heuristic
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.undirected import UndirectedGraph


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

    Parameters
    ----------
    graph
        A DAG, or an undirected graph, which is not moralised.
    order
        All nodes in the order in which to eliminate them; without it `elimination_order` chooses one.
    heuristic, cardinalities
        How it chooses.

    Examples
    --------
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
    enters. Clusters contained in a neighbour are merged with it, so that maximal cliques are left.

    Parameters
    ----------
    scopes
        The scopes of the factors.
    order
        The nodes in the order in which they are eliminated. The nodes left out are the query: the last product is
        over all of them.

    Examples
    --------
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
    absorbers = absorbing_steps(run)
    rows = {step: sorted(map(index.position, run.cliques[step])) for step in set(absorbers)}
    numbers = {step: number for number, step in enumerate(sorted(rows, key=rows.__getitem__))}
    edges: list[tuple[int, int]] = []
    for step, following in enumerate(next_steps(run)):
        if following is not None and absorbers[step] != absorbers[following]:
            ends = (numbers[absorbers[step]], numbers[absorbers[following]])
            edges.append((min(ends), max(ends)))
    return CliqueTree(cliques=tuple(index.names(rows[step]) for step in numbers), edges=tuple(sorted(edges)))
