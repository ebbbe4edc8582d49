"""The DAGs of an equivalence class, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from plausible.errors import InvalidGraph
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.graph_input import GraphLike, read_class
from plausible.graphs.listing import Listing
from plausible.graphs.meek import Orientation
from plausible.graphs.pdag import PDAG

__all__ = ["class_members"]


def class_members(graph: GraphLike[DAG | PDAG]) -> Listing[DAG]:
    """All DAGs that are equivalent to a DAG, or that a PDAG stands for, each once.

    A PDAG stands for the DAGs with its skeleton, its directions and exactly its immoralities; there may be none. An
    undirected edge is tried in both directions, each followed by Meek's rules. As these are complete, every try leads
    to a member, so the time between two members is at most one closure for every edge. There can be exponentially
    many: `class_size` counts them first.

    Parameters
    ----------
    graph
        A member of the class, or a PDAG for it.

    Examples
    --------
    >>> for member in class_members(DAG("A -> B -> C")):
    ...     print(member)
    A -> B; B -> C
    B -> A; B -> C
    B -> A; C -> B
    """
    graph = read_class(graph)
    pdag = essential_graph(graph) if isinstance(graph, DAG) else graph
    return Listing(lambda: _members(pdag))


def _members(pdag: PDAG) -> Iterator[DAG]:
    try:
        consistent_extension(pdag)
    except InvalidGraph:
        return
    state = Orientation(pdag)
    state.close()
    nodes = pdag.nodes
    for children in _completions(state):
        pairs = [(nodes[a], nodes[b]) for a, row in enumerate(children) for b in sorted(row)]
        yield DAG(pairs, nodes=nodes)


def _completions(state: Orientation) -> Iterator[Sequence[Set[int]]]:
    """The children of every node in each completion of a closed state, which is changed on the way."""
    directed: list[tuple[int, int]] = []
    # For each edge that was tried one way only: how much was directed before it, and the way that is still to try.
    open_choices: list[tuple[int, tuple[int, int]]] = []
    while True:
        while edge := next(((a, min(row)) for a, row in enumerate(state.neighbors) if row), None):
            open_choices.append((len(directed), edge[::-1]))
            directed += _direct(state, edge)
        yield state.children
        if not open_choices:
            return
        num_before, other_way = open_choices.pop()
        while len(directed) > num_before:
            state.undo(*directed.pop())
        directed += _direct(state, other_way)


def _direct(state: Orientation, edge: tuple[int, int]) -> list[tuple[int, int]]:
    """Direct an edge and what follows from it; all edges directed."""
    state.orient(*edge)
    return [edge, *state.close(fresh=edge)]
