"""Cliques with many neighbours, spread over copies of themselves: then every message is made from few others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from plausible.decisions.solving.layout import TreeLayout

__all__ = ["spread"]

#: A clique has no more neighbours than this, and one more where it is a copy.
_MAX_NEIGHBORS = 8
#: Copies of one clique have no more entries together.
_MAX_COPIED = 2**22


def spread(layout: TreeLayout, sizes: Sequence[int]) -> TreeLayout:
    """A tree in which a clique with many neighbours has copies of itself between it and them.

    Messages to k neighbours of one clique are products of k - 1 others each: k² steps. By a tree of copies these are
    O(k), since a message from a copy to another is a product that many of them share.

    Parameters
    ----------
    layout
        The tree; it is returned where no clique has many neighbours. Cliques keep their numbers, copies come after
        them, and are no home to anything.
    sizes
        The number of states of each variable.

    Examples
    --------
    >>> cliques, leaves = ((0,), *((0, leaf) for leaf in range(1, 21))), tuple(range(1, 21))
    >>> star = TreeLayout(cliques, (leaves, *((0,) for _ in leaves)), (), (), 82, (0, 1))
    >>> around = spread(star, [2] * 21).neighbors
    >>> len(around), max(map(len, around)), around[0]
    (24, 9, (21, 22, 23))
    """
    if max(map(len, layout.neighbors)) <= _MAX_NEIGHBORS:
        return layout
    cliques, around = list(layout.cliques), list(map(list, layout.neighbors))
    for clique in range(len(layout.cliques)):
        outer = around[clique]
        entries = math.prod(sizes[v] for v in cliques[clique])
        if len(outer) <= _MAX_NEIGHBORS or entries * len(outer) > _MAX_COPIED:
            continue
        while len(outer) > _MAX_NEIGHBORS:
            outer = [
                _copied(cliques, around, clique, outer[start : start + _MAX_NEIGHBORS])
                for start in range(0, len(outer), _MAX_NEIGHBORS)
            ]
        for copy in outer:
            around[copy].append(clique)
        around[clique] = outer
    return replace(layout, cliques=tuple(cliques), neighbors=tuple(map(tuple, around)))


def _copied(cliques: list[tuple[int, ...]], around: list[list[int]], clique: int, outer: list[int]) -> int:
    """Put a copy of a clique between it and some neighbours, of which copies do not know it yet."""
    copy = len(cliques)
    cliques.append(cliques[clique])
    around.append(list(outer))
    for other in outer:
        if clique in around[other]:
            around[other][around[other].index(clique)] = copy
        else:
            around[other].append(copy)
    return copy
