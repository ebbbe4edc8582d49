"""Causal graphs: directed edges for causes, bidirected edges for latent common causes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import final

from plausible.graphs.dag import DAG
from plausible.graphs.m_separation import SeparationGraph
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node, Nodes

__all__ = ["CausalGraph", "latent_projection"]


@final
class CausalGraph(SeparationGraph):
    """An acyclic directed mixed graph: `->` is a cause, `<->` a latent common cause of exactly two nodes.

    Two nodes may be joined by both (a bow). The directed part has no cycle.

    Parameters
    ----------
    edges
        Arrow text, `Edge` records or triples `(a, "<->", b)`, a networkx graph or any other graph of this package.
    nodes
        Nodes that come first in the node order; the way to add nodes without edges.

    Examples
    --------
    >>> graph = CausalGraph("S -> T -> C; S <-> C")
    >>> graph.m_separated("S", "C", given="T")
    False
    >>> [sorted(district) for district in graph.districts]
    [['C', 'S'], ['T']]
    >>> graph.without_incoming("S")
    CausalGraph('S -> T; T -> C')
    """

    __slots__ = ()

    def _check(self) -> None:
        self._allow_only("->", "<->")
        self.directed_part()

    def to_dag(self) -> DAG:
        """The canonical DAG: every `A <-> B` becomes `A <- U_A_B -> B` with a new latent node.

        The latent nodes come last in the node order, so they are `dag.nodes[len(graph):]`. Its d-separations among
        this graph's nodes are the m-separations of this graph.

        >>> CausalGraph("S -> C; S <-> C").to_dag()
        DAG('S -> C; U_S_C -> S; U_S_C -> C')
        """
        pairs = [edge.ends for edge in self.edges if edge.is_directed]
        taken = set(self.nodes)
        for edge in self.edges:
            if edge.is_bidirected:
                latent = _fresh_name(f"U_{edge.left}_{edge.right}", taken)
                pairs += [(latent, edge.left), (latent, edge.right)]
        return DAG(pairs, nodes=self.nodes)


def _fresh_name(name: str, taken: set[Node]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def latent_projection(graph: DAG | CausalGraph, observed: Nodes) -> CausalGraph:
    """The causal graph over the observed nodes that a graph with latent nodes leaves behind.

    `A -> B` if a directed path leads from A to B through latent nodes only; `A <-> B` if such paths lead to both from
    one latent node. Separations among observed nodes and identifiability are kept. The cost is linear in the edges
    for every node, plus one step for every pair of observed nodes with a common latent cause.

    Parameters
    ----------
    graph
        The graph with the latent nodes in it.
    observed
        The nodes to keep; all others count as latent.

    References
    ----------
    Verma (1993), Graphical aspects of causal models, UCLA technical report R-191.

    Examples
    --------
    >>> latent_projection(DAG("S -> T -> C; S <- G -> C"), observed=["S", "T", "C"])
    CausalGraph('S -> T; T -> C; S <-> C')
    """
    dag = graph if isinstance(graph, DAG) else graph.to_dag()
    kept = set(graph.subgraph(observed).nodes)
    order = [node for node in dag.nodes if node in kept]
    effects = _observed_effects(dag, kept)
    edges = [Edge.of(cause, "->", effect) for cause in order for effect in effects[cause]]
    # A latent node with a latent parent adds nothing: its effects are effects of the parent too.
    sources = [node for node in dag.nodes if node not in kept and kept.issuperset(dag.parents(node))]
    confounded = (pair for source in sources for pair in combinations(effects[source], 2))
    edges += [Edge.of(a, "<->", b) for a, b in confounded]
    return CausalGraph(edges, nodes=order)


def _observed_effects(dag: DAG, observed: Iterable[Node]) -> dict[Node, tuple[Node, ...]]:
    """For every node the observed ones that directed paths through latent nodes lead to."""
    kept = set(observed)
    effects: dict[Node, tuple[Node, ...]] = {}
    for node in reversed(dag.topological_order):
        found: dict[Node, None] = {}
        for child in dag.children(node):
            found |= dict.fromkeys([child] if child in kept else effects[child])
        effects[node] = tuple(found)
    return effects
