"""Topological order, or the cycle that forbids one."""

from __future__ import annotations

from heapq import heappop, heappush

from plausible.errors import CyclicGraph
from plausible.graphs.nodes import NodeIndex
from plausible.graphs.separation import Rows

__all__ = ["topological_order"]


def topological_order(index: NodeIndex, parents: Rows, children: Rows) -> tuple[int, ...]:
    """Kahn's algorithm (Koller & Friedman 2009, algorithm A.1); a cycle is reported by its nodes."""
    waiting = [len(row) for row in parents]
    ready = [node for node, count in enumerate(waiting) if not count]  # increasing, hence a heap
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    if len(order) < len(index):
        raise CyclicGraph(index.names(_find_cycle(waiting, parents)))
    return tuple(order)


def _find_cycle(waiting: list[int], parents: Rows) -> list[int]:
    """Walk backwards among the nodes that never became ready until one comes round again."""
    node = next(node for node, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in parents[node] if waiting[parent])
    return path[seen[node] :][::-1]
