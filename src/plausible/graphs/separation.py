"""d-separation as reachability: the Bayes ball (Shachter 1998) over the positions of a DAG."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes
from plausible.kernels.reachability import bayes_ball

__all__ = ["KERNEL_SIZE", "BayesBall", "Rows"]

#: Row i holds the positions that position i has edges to (or from).
Rows: TypeAlias = Sequence[tuple[int, ...]]

#: From this many nodes and edges on the compiled kernel takes over. Below it a query in plain Python costs less than
#: a millisecond, and loading the compiler (half a second) for it would be the whole cost of a short session.
KERNEL_SIZE = 2000

FROM_CHILD, FROM_PARENT = 1, 2


class CompressedRows(NamedTuple):
    """Rows end to end in `items`; row i is `items[offsets[i]:offsets[i + 1]]`."""

    offsets: Codes
    items: Codes


class BayesBall:
    """Active trails from one set of positions to another, linear in the edges.

    Parameters
    ----------
    parents, children
        The rows of a DAG.
    """

    __slots__ = ("_children", "_compressed", "_is_large", "_parents")

    def __init__(self, parents: Rows, children: Rows) -> None:
        self._parents, self._children = parents, children
        self._is_large = len(parents) + sum(map(len, parents)) >= KERNEL_SIZE
        self._compressed: tuple[CompressedRows, CompressedRows] | None = None

    def reached(self, starts: Sequence[int], observed: Sequence[int]) -> list[int]:
        """The unobserved positions that an active trail leads to, the unobserved starts included; in order."""
        if self._is_large:
            _, visited = self._roll_in_kernel(starts, (), observed)
            visited[list(observed)] = 0
            positions: list[int] = np.flatnonzero(visited).tolist()
            return positions
        seen = frozenset(observed)
        _, visits = roll(self._parents, self._children, starts, frozenset(), seen)
        return sorted(visits.keys() - seen)

    def meets(self, starts: Sequence[int], targets: Sequence[int], observed: Sequence[int]) -> bool:
        """Whether an active trail leads from a start to a target; observed starts and targets do not count."""
        if self._is_large:
            return self._roll_in_kernel(starts, targets, observed)[0]
        seen = frozenset(observed)
        return roll(self._parents, self._children, starts, set(targets) - seen, seen)[0]

    def _roll_in_kernel(
        self, starts: Sequence[int], targets: Sequence[int], observed: Sequence[int]
    ) -> tuple[bool, NDArray[np.uint8]]:
        """Whether the ball met a target, and where it came."""

        if self._compressed is None:
            self._compressed = compress(self._parents), compress(self._children)
        parents, children = self._compressed
        size = len(self._parents)
        seen, visited = _flags(observed, size), np.zeros(size, dtype=np.uint8)
        met = bayes_ball(
            parents.offsets,
            parents.items,
            children.offsets,
            children.items,
            np.array(starts, dtype=np.int32),
            seen,
            _flags(targets, size) & (1 - seen),
            visited,
            np.empty(2 * size, dtype=np.int32),
        )
        return bool(met), visited


def roll(
    parents: Rows, children: Rows, starts: Iterable[int], targets: Collection[int], observed: Collection[int]
) -> tuple[bool, dict[int, int]]:
    """The Bayes ball in plain Python: whether it met a target, and for each node the sides from which it came.

    The same rules as `plausible.kernels.reachability.bayes_ball`, for graphs too small to load a compiler for.
    """
    visits = dict.fromkeys(starts, FROM_CHILD)
    stack = [(start, FROM_CHILD) for start in visits]
    while stack:
        node, side = stack.pop()
        if node in targets:
            return True, visits
        is_observed = node in observed
        if (side == FROM_PARENT) == is_observed:
            for parent in parents[node]:
                if not visits.get(parent, 0) & FROM_CHILD:
                    visits[parent] = visits.get(parent, 0) | FROM_CHILD
                    stack.append((parent, FROM_CHILD))
        if not is_observed:
            for child in children[node]:
                if not visits.get(child, 0) & FROM_PARENT:
                    visits[child] = visits.get(child, 0) | FROM_PARENT
                    stack.append((child, FROM_PARENT))
    return False, visits


def compress(rows: Rows) -> CompressedRows:
    """The rows on two flat arrays, for kernels."""
    offsets = np.fromiter(accumulate(map(len, rows), initial=0), dtype=np.int32, count=len(rows) + 1)
    return CompressedRows(offsets, np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1])))


def _flags(positions: Collection[int], size: int) -> NDArray[np.uint8]:
    flags = np.zeros(size, dtype=np.uint8)
    flags[list(positions)] = 1
    return flags
