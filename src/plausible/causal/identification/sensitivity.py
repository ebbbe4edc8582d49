"""How identifiability hangs on single edges of a causal graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from plausible.base.records import record
from plausible.causal.identification.algorithm import is_identifiable
from plausible.causal.identification.question import Effect, read_question
from plausible.causal.queries.arguments import CausalLike
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import Node, Nodes


def blocking_bows(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, *, observed: Nodes | None = None
) -> tuple[tuple[Node, Node], ...]:
    """The bows that by themselves make P(outcome | do(treatment)) not identifiable.

    A bow is a treatment X with `X -> C` and `X <-> C`, where C is the outcome or one of its ancestors, along paths that
    meet no treatment. One is enough; that there is none does not mean that the effect is identifiable.

    Parameters
    ----------
    graph
        A causal graph, a DAG, a model with one of these, or arrow text.
    outcome, treatment
        A node or several each.
    observed
        The nodes that can be measured; all others are projected out.

    Returns
    -------
    tuple
        Pairs (treatment, child).

    Examples
    --------
    >>> blocking_bows("X -> Z -> Y; X <-> Z", "Y", "X")
    (('X', 'Z'),)
    >>> other = "X -> Z -> Y; X <-> Y; Z <-> Y"
    >>> blocking_bows(other, "Y", "X"), is_identifiable(other, "Y", "X")
    ((), False)
    """
    causes, effect = read_question(graph, outcome, treatment, (), observed)
    actors = causes.without_incoming(effect.treatment).ancestors(effect.outcome).union(effect.outcome)
    return tuple(
        (node, child)
        for node in effect.treatment
        for child in causes.children(node)
        if child in actors and child not in effect.treatment and causes.has_edge(node, child, "<->")
    )


@record
class EdgeSensitivity:
    """What one more or one less edge does to an effect that is, or is not, identifiable.

    Adding an edge never makes an effect identifiable, and removing one never makes it not so.
    """

    effect: Effect  # The effect
    identifiable: bool  # Whether it is so in the graph itself
    breaking: tuple[Edge, ...] = ()  # Edges that are not there and would make it not identifiable
    harmless: tuple[Edge, ...] = ()  # Edges that are not there and would leave it identifiable
    repairing: tuple[Edge, ...] = ()  # Edges that are there and whose removal would make it identifiable
    stubborn: tuple[Edge, ...] = ()  # Edges that are there and whose removal would not

    @property
    def is_maximal_identifiable(self) -> bool:
        """Whether it is identifiable, and would not be with any one edge more."""
        return self.identifiable and not self.harmless

    @property
    def is_minimal_non_identifiable(self) -> bool:
        """Whether it is not identifiable, and would be with any one edge less."""
        return not self.identifiable and not self.stubborn

    def __str__(self) -> str:
        if self.identifiable:
            told = {"one more edge that makes it not so": self.breaking, "one more that does not": self.harmless}
        else:
            told = {"one less edge that makes it so": self.repairing, "one less that does not": self.stubborn}
        lines = [f"  {what}: {', '.join(map(str, edges)) or 'none'}" for what, edges in told.items()]
        return "\n".join([f"{self.effect} is {'' if self.identifiable else 'not '}identifiable", *lines])


def edge_sensitivity(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, given: Nodes = (), *, observed: Nodes | None = None
) -> EdgeSensitivity:
    """The edges on which the identifiability of an effect hangs.

    Where the effect is identifiable, each edge that could be added without a cycle is tried; where it is not, each edge
    is removed in turn: one run of the algorithm for each pair of nodes.

    Parameters
    ----------
    graph, outcome, treatment, given, observed
        As for `identify`.

    Examples
    --------
    >>> edge_sensitivity("X -> Z -> Y; X <-> Y", "Y", "X").is_maximal_identifiable
    True
    >>> edge_sensitivity("Z -> X -> Y; X <-> Y", "Y", "X").repairing
    (Edge.of('X', '->', 'Y'), Edge.of('X', '<->', 'Y'))
    >>> print(edge_sensitivity("Z -> X -> Y; X <-> Y", "Y", "X"))
    P(Y | do(X)) is not identifiable
      one less edge that makes it so: X -> Y, X <-> Y
      one less that does not: Z -> X
    """
    causes, effect = read_question(graph, outcome, treatment, given, observed)
    roles = effect.outcome, effect.treatment, effect.given
    if is_identifiable(causes, *roles):
        tried = {
            edge: is_identifiable(causes.with_edge(edge.left, edge.right, edge.symbol), *roles)
            for edge in _missing(causes)
        }
        breaking, harmless = _parted(tried)
        return EdgeSensitivity(effect, True, breaking=breaking, harmless=harmless)
    tried = {
        edge: is_identifiable(causes.without_edge(edge.left, edge.right, edge.symbol), *roles) for edge in causes.edges
    }
    stubborn, repairing = _parted(tried)
    return EdgeSensitivity(effect, False, repairing=repairing, stubborn=stubborn)


def _missing(graph: CausalGraph) -> Iterator[Edge]:
    """The edges that could be added: latent common causes, and causes that close no cycle."""
    below = {node: graph.descendants(node) for node in graph.nodes}
    for a, b in combinations(graph.nodes, 2):
        for cause, effect in ((a, b), (b, a)):
            if cause not in below[effect] and not graph.has_edge(cause, effect):
                yield Edge.of(cause, "->", effect)
        if not graph.has_edge(a, b, "<->"):
            yield Edge.of(a, "<->", b)


def _parted(tried: dict[Edge, bool]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """The edges whose answer is no, and those whose answer is yes."""
    return tuple(edge for edge, answer in tried.items() if not answer), tuple(e for e, yes in tried.items() if yes)
