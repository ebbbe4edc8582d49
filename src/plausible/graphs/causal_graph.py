"""Causal graphs: directed edges for causes, bidirected edges for latent common causes."""

from __future__ import annotations

from itertools import chain, combinations
from typing import final

from plausible.base import own_methods
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.marks import Edge
from plausible.graphs.mixed import SeparationGraph
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.trails import SeparationExplanation, without_latent


@final
@own_methods
class CausalGraph(SeparationGraph):
    """A causal graph with latent variables: `->` is a cause, `<->` a latent common cause of exactly two nodes.

    Two nodes may be joined by both (a bow). The directed edges must form no cycle. It is made from edges, and nodes, as
    a `MixedGraph` is; also from a model with a graph.

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

    def explain_separation(self, x: Nodes, y: Nodes, given: Nodes = (), limit: int = 10) -> SeparationExplanation:
        """An active trail between `x` and `y`, or what blocks each one.

        The trails are those of the canonical DAG, in which `A <-> B` is `A <- U -> B` and so counts as two steps where
        trails are listed shortest first.

        >>> print(CausalGraph("S -> T -> C; S <-> C").explain_separation("S", "C", given="T"))
        S and C are m-connected given T:
          S <-> C is active
        """
        for group in (x, y, given):
            self._index.select(group)
        return without_latent(self.to_dag().explain_separation(x, y, given, limit), self)

    def minimal_separator(
        self, x: Nodes, y: Nodes, included: Nodes = (), restricted: Nodes | None = None
    ) -> frozenset[Node] | None:
        """A set of nodes that m-separates `x` and `y`, none of which can be spared; `None` if there is none.

        It is a minimal separator of the canonical DAG without latent nodes; see `DAG.minimal_separator`.

        >>> graph = CausalGraph("A -> B -> D; B <-> C; C -> D")
        >>> sorted(graph.minimal_separator("A", "D"))
        ['B', 'C']
        """
        for group in (x, y, included):
            self._index.select(group)
        allowed = self._index.names(self._index.select(self.nodes if restricted is None else restricted))
        return self.to_dag().minimal_separator(x, y, included, allowed)

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
                latent = f"U_{edge.left}_{edge.right}"
                while latent in taken:
                    latent += "_"
                taken.add(latent)
                pairs += [(latent, edge.left), (latent, edge.right)]
        return DAG(pairs, nodes=self.nodes)


def read_causes(source: object) -> DAG | CausalGraph:
    """The DAG or causal graph that this is, has or writes."""
    graph: DAG | CausalGraph = read_as(source, DAG, CausalGraph)
    return graph


def latent_projection(graph: GraphLike[DAG | CausalGraph], *, observed: Nodes) -> CausalGraph:
    """The causal graph over the observed nodes that a graph with latent nodes leaves behind.

    `A -> B` if a directed path leads from A to B through latent nodes only; `A <-> B` if such paths lead to both from
    one latent node. Separations among observed nodes and identifiability are kept. The cost is linear in the edges
    for every node, plus one step for every pair of observed nodes with a common latent cause.

    Verma (1993), Graphical aspects of causal models, UCLA technical report R-191.

    >>> latent_projection(DAG("S -> T -> C; S <- G -> C"), observed=["S", "T", "C"])
    CausalGraph('S -> T; T -> C; S <-> C')
    """
    graph = read_causes(graph)
    dag = graph if isinstance(graph, DAG) else graph.to_dag()
    kept = set(graph.subgraph(observed).nodes)
    order = [node for node in dag.nodes if node in kept]
    effects: dict[Node, tuple[Node, ...]] = {}  # of every node, the observed ones by way of latent nodes only
    for node in reversed(dag.topological_order):
        reached = ([child] if child in kept else effects[child] for child in dag.children(node))
        effects[node] = tuple(dict.fromkeys(chain.from_iterable(reached)))
    edges = [Edge.of(cause, "->", effect) for cause in order for effect in effects[cause]]
    # A latent node with a latent parent adds nothing: its effects are effects of the parent too.
    sources = [node for node in dag.nodes if node not in kept and kept.issuperset(dag.parents(node))]
    confounded = (pair for source in sources for pair in combinations(effects[source], 2))
    edges += [Edge.of(a, "<->", b) for a, b in confounded]
    return CausalGraph(edges, nodes=order)
