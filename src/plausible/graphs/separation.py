"""d-separation as reachability: the Bayes ball (Shachter 1998) over the positions of a DAG."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Codes
from plausible.kernels.reachability import bayes_ball

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
    """Active trails of a DAG from one set of positions to another, linear in the edges."""

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

    def asked(self, starts: Sequence[int], observed: Sequence[int], weighed: Sequence[int]) -> list[int]:
        """The positions that the ball leaves for their parents: a parent of their own would be connected to a start.

        Weighed positions let it through, and send one from a parent back as well, as one with an observed child would.
        """
        seen, soft = frozenset(observed), frozenset(weighed)
        _, visits = roll(self._parents, self._children, starts, frozenset(), seen, soft)
        sent = {node: FROM_PARENT if node in seen else FROM_CHILD for node in visits}
        return [node for node, sides in visits.items() if sides & sent[node] or node in soft]

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
    parents: Rows,
    children: Rows,
    starts: Iterable[int],
    targets: Collection[int],
    observed: Collection[int],
    weighed: Collection[int] = (),
) -> tuple[bool, dict[int, int]]:
    """The Bayes ball in plain Python: whether it met a target, and for each node the sides from which it came.

    The same rules as `plausible.kernels.reachability.bayes_ball`, for graphs too small to load a compiler for; weighed
    nodes send it to their parents wherever it comes from.
    """
    visits = dict.fromkeys(starts, FROM_CHILD)
    stack = [(start, FROM_CHILD) for start in visits]
    while stack:
        node, side = stack.pop()
        if node in targets:
            return True, visits
        is_observed = node in observed
        if (side == FROM_PARENT) == is_observed or node in weighed:
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


def reach_outside(neighbors: Sequence[Collection[int]], starts: Iterable[int], blocked: AbstractSet[int]) -> set[int]:
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
