"""Reachability along marked edges, on integer positions: the one search behind separation and its relatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from plausible.graphs.marks import Mark

__all__ = ["Incidence", "closure", "walk_reach"]

#: For every node its edges `(other node, mark here, mark at the other)`.
Incidence: TypeAlias = Sequence[Sequence[tuple[int, Mark, Mark]]]


def closure(incident: Incidence, starts: Iterable[int], here: Mark, there: Mark) -> set[int]:
    """The nodes that one or more steps along edges with these two marks lead to. Linear in the edges."""
    found: set[int] = set()
    frontier = list(starts)
    while frontier:
        for other, near, far in incident[frontier.pop()]:
            if near is here and far is there and other not in found:
                found.add(other)
                frontier.append(other)
    return found


def walk_reach(
    incident: Incidence, starts: Iterable[int], passes_collider: Sequence[bool], passes_other: Sequence[bool]
) -> set[int]:
    """The nodes at the end of walks whose inner nodes are all open; linear in the edges.

    An inner node that both its edges on the walk point into is a collider.

    Parameters
    ----------
    incident
        The edges of every node.
    starts
        Where walks begin.
    passes_collider
        For every node, whether a walk may pass through it as a collider.
    passes_other
        For every node, whether a walk may pass through it otherwise.
    """
    arrow = Mark.ARROW
    frontier = [(other, far is arrow) for start in starts for other, _, far in incident[start]]
    seen = set(frontier)
    while frontier:
        node, by_arrow = frontier.pop()
        for other, near, far in incident[node]:
            is_open = passes_collider[node] if by_arrow and near is arrow else passes_other[node]
            state = (other, far is arrow)
            if is_open and state not in seen:
                seen.add(state)
                frontier.append(state)
    return {node for node, _ in seen}
