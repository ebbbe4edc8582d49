"""Markov equivalence: which DAGs say the same independencies, and the graph that stands for all of them."""

from __future__ import annotations

from plausible.errors import InvalidGraph
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_dag, read_pdag
from plausible.graphs.immoralities import immoralities
from plausible.graphs.marks import Edge
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node


def is_i_equivalent(first: GraphLike[DAG], second: GraphLike[DAG]) -> bool:
    """Whether two DAGs over the same nodes state the same independencies.

    They do exactly if they have the same skeleton and the same immoralities.

    References
    ----------
    Verma & Pearl (1990), Equivalence and synthesis of causal models, UAI.

    Examples
    --------
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

    References
    ----------
    Chickering (1995), A transformational characterization of equivalent Bayesian network structures, UAI.

    Examples
    --------
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
