"""The DAGs of an equivalence class, one by one."""

from __future__ import annotations

from collections.abc import Iterator

from plausible.errors import CyclicGraph, InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph, immoralities
from plausible.graphs.meek import Orientation
from plausible.graphs.pdag import PDAG

__all__ = ["class_members"]


def class_members(graph: DAG | PDAG) -> Iterator[DAG]:
    """All DAGs that are equivalent to a DAG, or that a PDAG stands for, each once.

    A PDAG stands for the DAGs with its skeleton, its directions and exactly its immoralities; there may be none. An
    undirected edge is tried in both directions, each followed by Meek's rules. For an essential graph, with or
    without further directions, every try leads to a member, so each costs at most edges times one closure. The number
    of members can be exponential: `class_size` counts them first.

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
    pdag = essential_graph(graph) if isinstance(graph, DAG) else graph
    wanted = set(immoralities(pdag))
    for state in _completions(Orientation(pdag)):
        member = _as_dag(pdag, state)
        if member is not None and set(immoralities(member)) == wanted:
            yield member


def _completions(start: Orientation) -> Iterator[Orientation]:
    """The states without undirected edges that Meek's rules do not refuse."""
    stack = [start] if _closes(start, None) else []
    while stack:
        state = stack.pop()
        edge = next(((a, min(row)) for a, row in enumerate(state.neighbors) if row), None)
        if edge is None:
            yield state
            continue
        a, b = edge
        for source, target in ((b, a), (a, b)):
            branch = state.copy()
            branch.orient(source, target)
            if _closes(branch, (source, target)):
                stack.append(branch)


def _closes(state: Orientation, fresh: tuple[int, int] | None) -> bool:
    try:
        state.close(fresh)
    except InvalidGraph:
        return False
    return True


def _as_dag(pdag: PDAG, state: Orientation) -> DAG | None:
    """The completed state as a DAG; a PDAG that is no class may lead to a cycle that the rules did not see."""
    nodes = pdag.nodes
    try:
        return DAG([(nodes[a], nodes[b]) for a, row in enumerate(state.children) for b in sorted(row)], nodes=nodes)
    except CyclicGraph:
        return None
