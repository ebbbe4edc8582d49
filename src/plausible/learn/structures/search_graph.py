"""The graph that a search looks at, as arrays that follow it from one state to the next."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Ints
from plausible.kernels.graph_moves import find_descendants

__all__ = ["Families", "SearchGraph"]

#: The parents of each variable, by their places, sorted.
Families: TypeAlias = tuple[tuple[int, ...], ...]


class SearchGraph:
    """Parents, edges and paths of the state that was looked at last.

    Attributes
    ----------
    parents
        A line for each child; only the first `num_parents` of it mean anything.
    adjacency
        By child and parent, whether there is that edge.
    reaches
        `reaches[u, v]`: whether a directed path leads from u to v.

    Examples
    --------
    >>> graph = SearchGraph(3)
    >>> graph.look_at(((), (0,), (1,)))
    {1, 2}
    >>> graph.reaches.astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """

    __slots__ = ("_families", "adjacency", "num_parents", "parents", "reaches")

    def __init__(self, num: int) -> None:
        self._families: Families = ((),) * num
        self.parents: Ints = np.zeros((num, 1), dtype=np.int64)
        self.num_parents: Ints = np.zeros(num, dtype=np.int64)
        self.adjacency: Flags = np.zeros((num, num), dtype=np.bool_)
        self.reaches: Flags = np.zeros((num, num), dtype=np.bool_)

    def look_at(self, state: Families) -> set[int]:
        """Follow the search to a state; the children whose parents differ from before."""
        if state is self._families:
            return set()

        changed = {child for child, (old, new) in enumerate(zip(self._families, state, strict=True)) if old != new}
        width = max((len(state[child]) for child in changed), default=0)
        if width > self.parents.shape[1]:
            self.parents = np.pad(self.parents, ((0, 0), (0, width - self.parents.shape[1])))
        for child in changed:
            places = list(state[child])
            self.parents[child, : len(places)] = places
            self.num_parents[child] = len(places)
            self.adjacency[child] = False
            self.adjacency[child, places] = True
        if changed:
            find_descendants(self.parents, self.num_parents, self.reaches)
        self._families = state
        return changed
