"""Cycles of preferences."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

__all__ = ["preference_cycles"]


def preference_cycles(signs: Mapping[tuple[int, int], int], size: int) -> list[tuple[int, ...]]:
    """Shortest cycles a > b ≥ ... ≥ a, no two with the same members.

    Parameters
    ----------
    signs
        1, 0 or -1 for ordered pairs of places: the first is better, as good, or worse. Pairs may lack.
    size
        How many places there are. The cost is that of a breadth-first search for each strict preference.

    Examples
    --------
    >>> preference_cycles({(0, 1): 1, (1, 2): 0, (2, 0): 0, (1, 0): -1}, 3)
    [(0, 1, 2)]
    """
    onward: list[list[int]] = [[] for _ in range(size)]
    for (first, second), sign in signs.items():
        if sign >= 0:
            onward[first].append(second)
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for (best, second), sign in signs.items():
        if sign == 1 and (path := _path(onward, second, best)):
            found.setdefault(frozenset(path), (best, *path[:-1]))
    return sorted(found.values(), key=lambda cycle: (len(cycle), cycle))


def _path(onward: list[list[int]], start: int, end: int) -> tuple[int, ...]:
    """The shortest way from one place to another, both included; empty if there is none."""
    came_from, waiting = {start: start}, deque([start])
    while waiting and end not in came_from:
        place = waiting.popleft()
        for following in onward[place]:
            if following not in came_from:
                came_from[following] = place
                waiting.append(following)
    if end not in came_from:
        return ()
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
