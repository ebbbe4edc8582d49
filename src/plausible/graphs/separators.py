"""Minimal separators: sets of nodes that part two others, with no node to spare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from plausible.graphs.separation import Rows

__all__ = ["minimal_cut", "minimal_cuts", "reach_outside"]


def reach_outside(neighbors: Rows, starts: Iterable[int], blocked: AbstractSet[int]) -> set[int]:
    """The positions that paths outside `blocked` lead to, the starts outside it included."""
    found = set(starts) - blocked
    frontier = list(found)
    while frontier:
        fresh = [b for b in neighbors[frontier.pop()] if b not in found and b not in blocked]
        found.update(fresh)
        frontier.extend(fresh)
    return found


def minimal_cut(neighbors: Rows, x: set[int], y: set[int], included: set[int], allowed: set[int]) -> set[int] | None:
    """A minimal set between `x` and `y` that contains `included`, the rest of it from `allowed`; `None` if none does.

    Of the allowed positions keep those seen from x, and of these those seen from y (van der Zander & Liskiewicz 2020):
    each one kept then joins a path from x to a path from y that meet no other.
    """
    candidates = allowed - x - y - included
    around_x = reach_outside(neighbors, x, candidates | included)
    if around_x & y:
        return None
    seen_from_x = candidates & _boundary(neighbors, around_x)
    around_y = reach_outside(neighbors, y, seen_from_x | included)
    return included | (seen_from_x & _boundary(neighbors, around_y))


def minimal_cuts(neighbors: Rows, x: int, y: int) -> Iterator[frozenset[int]]:
    """All minimal sets between two positions that are not adjacent, beginning with the one closest to `x`.

    The closest separator beyond a connected set A is the boundary of y's side of the graph without A and its boundary.
    From each separator on, grow x's side by one node of it (Berry, Bordat & Cogis 2000; Shen & Liang 1997): the sides
    of x nest, so every minimal separator is reached. O(nodes x edges) per separator.
    """
    first = _closest(neighbors, {x}, y)
    found = {first} if first is not None else set()
    waiting = list(found)
    while waiting:
        cut = waiting.pop()
        yield cut
        around_x = reach_outside(neighbors, [x], cut)
        for node in sorted(cut):
            beyond = _closest(neighbors, around_x | {node}, y)
            if beyond is not None and beyond not in found:
                found.add(beyond)
                waiting.append(beyond)


def _closest(neighbors: Rows, side: set[int], y: int) -> frozenset[int] | None:
    """The minimal separator that is closest to a connected `side`; `None` if the side touches `y`."""
    boundary = _boundary(neighbors, side)
    if y in boundary or y in side:
        return None
    return frozenset(_boundary(neighbors, reach_outside(neighbors, [y], boundary)))


def _boundary(neighbors: Rows, inside: set[int]) -> set[int]:
    """The positions outside with a neighbour inside."""
    return {b for a in inside for b in neighbors[a]} - inside
