"""Graphs as maps of the independencies of a distribution (Koller & Friedman 2009, 3.3 and 4.3).

A graph is an I-map of a distribution P if all independencies that it states hold in P, I(G) ⊆ I(P); a minimal one if no
edge can go without losing this; a perfect map if the two sets are the same.

Here a distribution is anything that answers whether X ⟂ Y | Z: a function of three tuples of nodes, or an object with
a method `is_independent(x, y, given)`. The answer must be about sets jointly. If Y is the exclusive or of two fair
coins, it is independent of each coin and still a function of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from plausible.errors import NotSupported
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import as_order
from plausible.graphs.graph_input import GraphLike, read_plain
from plausible.graphs.independencies import (
    Independence,
    IndependenceOracle,
    global_independencies,
    local_independencies,
    pairwise_independencies,
    refuse_many_nodes,
    separation_oracle,
    single_pairs,
)
from plausible.graphs.nodes import Node, NodeIndex
from plausible.graphs.undirected import UndirectedGraph


class TellsIndependence(Protocol):
    """An object that answers independence queries, such as a table of probabilities."""

    def is_independent(self, x: tuple[Node, ...], y: tuple[Node, ...], given: tuple[Node, ...], /) -> bool:
        """Whether X ⟂ Y | Z."""


Distribution: TypeAlias = IndependenceOracle | TellsIndependence


def find_violation(
    graph: GraphLike[DAG | UndirectedGraph], distribution: Distribution, *, is_positive: bool = False
) -> Independence | None:
    """The first independence that the graph states and the distribution lacks; None if the graph is an I-map.

    Parameters
    ----------
    graph
        A DAG, whose local Markov statements are enough to ask about; or an undirected graph, of which all separations
        are asked about.
    distribution
        Answers whether X ⟂ Y | Z.
    is_positive
        Whether the distribution is known to have no zeros. Then the pairwise statements of an undirected graph are
        enough, and it may have more than 12 nodes.

    Examples
    --------
    >>> chain = separation_oracle(DAG("A -> B -> C"))
    >>> print(find_violation(DAG("A -> B <- C"), chain))
    A ⟂ C
    >>> find_violation(DAG("A <- B -> C"), chain)
    """
    graph, oracle = read_plain(graph), _oracle(distribution)
    if isinstance(graph, DAG):
        statements = local_independencies(graph)
    elif is_positive:
        statements = pairwise_independencies(graph)
    else:
        statements = global_independencies(graph)
    return next((statement for statement in statements if not statement.holds_in(oracle)), None)


def find_unentailed(graph: GraphLike[DAG | UndirectedGraph], distribution: Distribution) -> Independence | None:
    """The first independence of the distribution, between single nodes, that the graph does not state; None if none.

    Sets need not be looked at: if X ⟂ Y | Z holds in the distribution, so does x ⟂ y | Z for their members, and a graph
    that states all of these states X ⟂ Y | Z. Refuses more than 12 nodes.

    >>> print(find_unentailed(DAG("A -> B -> C; A -> C"), separation_oracle(DAG("A -> B -> C"))))
    A ⟂ C | B
    """
    graph = read_plain(graph)
    refuse_many_nodes(graph.nodes)
    oracle, is_separated = _oracle(distribution), separation_oracle(graph)
    for a, b, given in single_pairs(graph.nodes):
        if not is_separated((a,), (b,), given) and oracle((a,), (b,), given):
            return Independence((a,), (b,), given)
    return None


def is_i_map(graph: GraphLike[DAG | UndirectedGraph], distribution: Distribution, *, is_positive: bool = False) -> bool:
    """Whether every independence that the graph states holds in the distribution: I(G) ⊆ I(P).

    Parameters are those of `find_violation`, which tells what fails.

    >>> is_i_map(DAG("A -> B -> C; A -> C"), separation_oracle(DAG("A -> B -> C")))
    True
    """
    return find_violation(graph, distribution, is_positive=is_positive) is None


def is_minimal_i_map(
    graph: GraphLike[DAG | UndirectedGraph], distribution: Distribution, *, is_positive: bool = False
) -> bool:
    """Whether the graph is an I-map, and none once any single edge is removed.

    One edge at a time is enough: more edges make an I-map of an I-map, so if some could go together, each could go.
    Parameters are those of `find_violation`.

    >>> is_minimal_i_map(DAG("A -> B -> C; A -> C"), separation_oracle(DAG("A -> B -> C")))
    False
    """
    graph = read_plain(graph)
    if not is_i_map(graph, distribution, is_positive=is_positive):
        return False
    return not any(is_i_map(graph.without_edge(a, b), distribution, is_positive=is_positive) for a, b in graph.edges)


def is_perfect_map(graph: GraphLike[DAG | UndirectedGraph], distribution: Distribution) -> bool:
    """Whether graph and distribution have the same independencies: I(G) = I(P). Refuses more than 12 nodes.

    >>> is_perfect_map(UndirectedGraph("A - B - C"), separation_oracle(DAG("A -> B -> C")))
    True
    >>> is_perfect_map(UndirectedGraph("A - B - C - A"), separation_oracle(DAG("A -> B <- C")))
    False
    """
    graph = read_plain(graph)
    refuse_many_nodes(graph.nodes)
    return is_i_map(graph, distribution) and find_unentailed(graph, distribution) is None


def minimal_i_map(distribution: Distribution, order: Iterable[Node]) -> DAG:
    """A minimal I-map whose edges follow the order (Koller & Friedman 2009, algorithm 3.2).

    Each node X gets a set U of predecessors with X ⟂ the other predecessors | U, none of whose nodes can be spared.
    Supersets of such a U serve as well (weak union), so predecessors are dropped one at a time. A positive distribution
    has only one minimal I-map for each order; if there are zeros, the earliest predecessors are dropped first.

    The order has all variables; one against the causes costs edges. Asks n(n-1)/2 queries.

    >>> collider = separation_oracle(DAG("A -> B <- C"))
    >>> minimal_i_map(collider, ["A", "C", "B"])
    DAG('A -> B; C -> B')
    >>> minimal_i_map(collider, ["B", "A", "C"])
    DAG('B -> A; B -> C; A -> C')
    """
    oracle = _oracle(distribution)
    nodes = NodeIndex(as_order(order)).nodes
    edges: list[tuple[Node, Node]] = []
    for position, node in enumerate(nodes):
        parents = list(nodes[:position])
        for candidate in nodes[:position]:
            kept = tuple(parent for parent in parents if parent != candidate)
            others = tuple(other for other in nodes[:position] if other not in kept)
            if oracle((node,), others, kept):
                parents.remove(candidate)
        edges.extend((parent, node) for parent in parents)
    return DAG(edges, nodes=nodes)


def minimal_undirected_i_map(nodes: Iterable[Node], distribution: Distribution) -> UndirectedGraph:
    """The minimal undirected I-map of a positive distribution: an edge unless X ⟂ Y | all the rest.

    It is the only one (Koller & Friedman 2009, theorem 4.5). If the distribution has zeros, the graph may miss edges:
    of three copies of one coin every two are independent given the third. Check it with `is_i_map`.

    >>> minimal_undirected_i_map(["A", "B", "C"], separation_oracle(DAG("A -> B <- C")))
    UndirectedGraph('A - B; A - C; B - C')
    """
    oracle = _oracle(distribution)
    complete = NodeIndex(as_order(nodes)).nodes
    edges = [
        (*statement.x, *statement.y)
        for statement in pairwise_independencies(UndirectedGraph(nodes=complete))
        if not statement.holds_in(oracle)
    ]
    return UndirectedGraph(edges, nodes=complete)


def _oracle(distribution: Distribution) -> IndependenceOracle:
    """The function that answers, for an object with a method `is_independent` or for a function itself."""
    method = getattr(distribution, "is_independent", None)
    if method is not None:
        oracle: IndependenceOracle = method
        return oracle
    if callable(distribution):
        return distribution
    raise NotSupported(
        f"A {type(distribution).__name__} does not tell independencies. Give a function of (x, y, given) that returns "
        "True or False, or an object with such a method is_independent."
    )
