"""From a PDAG to one DAG of the class that it stands for."""

from __future__ import annotations

from collections import deque

from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_pdag
from plausible.graphs.meek import Orientation
from plausible.graphs.pdag import PDAG

__all__ = ["consistent_extension"]


def consistent_extension(pdag: GraphLike[PDAG]) -> DAG:
    """A DAG with the skeleton, the directions and exactly the immoralities of the PDAG.

    Again and again, a node is found that can be a sink: no edge leaves it, and each undirected neighbour of it is
    joined with all the others around it. Its undirected edges are directed into it, and it is taken out. If some
    extension exists, this finds one. A node is looked at again only when one around it has gone.

    Raises
    ------
    InvalidGraph
        If no DAG fits; the message names the nodes where every choice fails.

    References
    ----------
    Dor & Tarsi (1992), A simple algorithm to construct a consistent extension of a partially oriented graph, UCLA
    technical report R-185.

    Examples
    --------
    >>> consistent_extension(PDAG("A -> B - C"))
    DAG('A -> B; B -> C')
    >>> consistent_extension(PDAG("A - B - C - D - A"))
    Traceback (most recent call last):
    ...
    plausible.errors.InvalidGraph: No DAG fits this PDAG: among 'A', 'B', 'C', 'D' none can come last. For example
    'D' - 'A' can't point into 'A', since 'A' is joined with 'B' and 'D' is not.
    """
    pdag = read_pdag(pdag)
    work = Orientation(pdag)
    remaining = [set(row) for row in work.adjacent]
    edges = [(a, b) for b, row in enumerate(work.parents) for a in row]
    present = set(range(len(pdag)))
    waiting = deque(reversed(range(len(pdag))))
    while waiting:
        node = waiting.popleft()
        if node not in present or not _can_be_sink(node, work, remaining):
            continue
        edges += [(other, node) for other in work.neighbors[node] & remaining[node]]
        present.discard(node)
        for other in sorted(remaining[node], reverse=True):
            remaining[other].discard(node)
            waiting.append(other)
    if present:
        raise _no_extension(pdag, present, work, remaining)
    nodes = pdag.nodes
    return DAG([(nodes[a], nodes[b]) for a, b in sorted(edges)], nodes=nodes)


def _can_be_sink(node: int, work: Orientation, remaining: list[set[int]]) -> bool:
    around = remaining[node]
    if not work.children[node].isdisjoint(around):
        return False
    return all(around - {other} <= remaining[other] for other in work.neighbors[node] & around)


def _no_extension(pdag: PDAG, present: set[int], work: Orientation, remaining: list[set[int]]) -> InvalidGraph:
    """Say where the search got stuck, with a node that fails by an undirected edge, as one always does."""
    name = pdag.nodes
    stuck = sorted(present)
    shown = ", ".join(repr(name[node]) for node in stuck[:8]) + (", ..." if len(stuck) > 8 else "")
    # The directed part has no cycle, so some remaining node has no child left and fails by an undirected edge.
    sink = next(node for node in stuck if work.children[node].isdisjoint(present))
    other, third = next(
        (other, min(missing))
        for other in sorted(work.neighbors[sink] & present, reverse=True)
        if (missing := remaining[sink] - {other} - remaining[other])
    )
    return InvalidGraph(
        f"No DAG fits this PDAG: among {shown} none can come last. For example {name[other]!r} - {name[sink]!r} can't "
        f"point into {name[sink]!r}, since {name[sink]!r} is joined with {name[third]!r} and {name[other]!r} is not."
    )
