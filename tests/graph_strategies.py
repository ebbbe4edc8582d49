"""Random graphs for property tests."""

from __future__ import annotations

from functools import cache
from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st

from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph

NAMES = "ABCDEFGHIJ"


def few(examples: int) -> settings:
    """So many examples, without a deadline."""
    return settings(max_examples=examples, deadline=None)


@cache
def small_graphs() -> list[UndirectedGraph]:
    """All labelled graphs with up to four nodes, and those with five whose degrees never fall, as after renaming."""
    graphs = []
    for size in range(6):
        pairs = list(combinations(range(size), 2))
        for chosen in range(2 ** len(pairs)):
            edges = [pair for bit, pair in enumerate(pairs) if chosen >> bit & 1]
            degrees = [sum(node in edge for edge in edges) for node in range(size)]
            if size < 5 or degrees == sorted(degrees):
                graphs.append(UndirectedGraph(edges, nodes=range(size)))
    return graphs


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 6, min_nodes: int = 0) -> DAG:
    """Any DAG of few nodes: every subset of the edges along every order."""
    order = draw(st.permutations(NAMES[: draw(st.integers(min_nodes, max_nodes))]))
    pairs = list(combinations(order, 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return DAG([pair for pair, take in zip(pairs, chosen, strict=True) if take], nodes=sorted(order))


@st.composite
def undirected_graphs(draw: st.DrawFn, max_nodes: int = 6, min_nodes: int = 0) -> UndirectedGraph:
    """Any undirected graph of few nodes."""
    nodes = NAMES[: draw(st.integers(min_nodes, max_nodes))]
    pairs = list(combinations(nodes, 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return UndirectedGraph([pair for pair, take in zip(pairs, chosen, strict=True) if take], nodes=list(nodes))


def node_sets(graph: DAG | UndirectedGraph, min_size: int = 0) -> st.SearchStrategy[frozenset[str]]:
    """Subsets of the nodes."""
    return st.frozensets(st.sampled_from(graph.nodes), min_size=min_size) if len(graph) else st.just(frozenset())
