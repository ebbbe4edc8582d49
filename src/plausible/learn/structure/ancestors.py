"""Who is an ancestor of whom, kept up to date while edges come and go."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ancestors"]

Mask = NDArray[np.bool_]
Families = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ancestors:
    """`of[v, u]`: whether there is a directed path from u to v, in a graph given by the parents of each node.

    >>> Ancestors.in_graph(((), (0,), (1,))).of.astype(int)
    array([[0, 0, 0],
           [1, 0, 0],
           [1, 1, 0]])
    """

    families: Families
    of: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))

    @classmethod
    def in_graph(cls, families: Families) -> Ancestors:
        """From the parents of each node of an acyclic graph."""
        num = len(families)
        of = np.zeros((num, num), dtype=np.bool_)
        children: list[list[int]] = [[] for _ in families]
        for child, parents in enumerate(families):
            for parent in parents:
                children[parent].append(child)
        waiting = [len(parents) for parents in families]
        ready = [node for node, count in enumerate(waiting) if not count]
        while ready:
            node = ready.pop()
            for parent in families[node]:
                of[node] |= of[parent]
                of[node, parent] = True
            for child in children[node]:
                waiting[child] -= 1
                if not waiting[child]:
                    ready.append(child)
        return cls(families, of)

    def moved(self, families: Families) -> Ancestors:
        """Those in another graph: cheap where it has one edge more, which is what searches do most."""
        changed = [node for node, (old, new) in enumerate(zip(self.families, families, strict=False)) if old != new]
        if len(self.families) != len(families) or len(changed) != 1:
            return Ancestors.in_graph(families)
        child = changed[0]
        added = set(families[child]) - set(self.families[child])
        if len(added) != 1 or len(families[child]) != len(self.families[child]) + 1:
            return Ancestors.in_graph(families)
        of, parent = self.of.copy(), added.pop()
        below = of[:, child].copy()
        below[child] = True
        above = of[parent].copy()
        above[parent] = True
        of[below] |= above
        return Ancestors(families, of)

    def detours(self) -> Mask:
        """By parent and child of each edge, whether another directed path leads from the one to the other."""
        found = np.zeros(self.of.shape, dtype=np.bool_)
        for child, parents in enumerate(self.families):
            if len(parents) > 1:
                places = list(parents)
                found[places, child] = self.of[np.ix_(places, places)].any(axis=0)
        return found
