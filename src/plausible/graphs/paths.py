"""Simple paths one at a time, the shortest first, without looking at all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from plausible.graphs.separation import Rows

NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PathRules:
    """Which steps a path may take; positions stand for nodes.

    All simple paths of an undirected graph: its rows as `up`, empty rows as `down`. Directed paths: the other way
    round, with the children as `down`.
    """

    up: Rows  # The steps against the arrows
    down: Rows  # The steps along the arrows
    closed: frozenset[int] = NOTHING  # Positions that only a collider may stand on
    colliders: frozenset[int] = NOTHING  # Positions that a path may enter by a step down and leave by a step up

    def steps(self, node: int, came_down: bool) -> Iterator[tuple[int, bool]]:
        """The positions that may follow, and whether the step to them is one down."""
        is_open = node not in self.closed
        if node in self.colliders if came_down else is_open:
            yield from ((other, False) for other in self.up[node])
        if is_open:
            yield from ((other, True) for other in self.down[node])


def simple_paths(rules: PathRules, starts: frozenset[int], targets: frozenset[int]) -> Iterator[tuple[int, ...]]:
    """Every path from a start to a target that meets starts only at its beginning and targets only at its end.

    Lawler's (1972) form of Yen's algorithm: when a path comes out, all others that agree with it on a first part and
    then leave it are one class each, and a class waits in the queue by its shortest member. A shortest continuation
    visits no position twice: cutting the loop out of an active walk leaves an active walk, because a collider made by
    the cut has an open collider among its descendants. The cost per path is O(length x edges).
    """
    tick = count()
    queue: list[tuple[int, int, tuple[int, ...], int, frozenset[int]]] = []

    def offer(prefix: tuple[int, ...], refused: frozenset[int]) -> None:
        path = _continue(rules, prefix, refused, starts, targets)
        if path:
            heappush(queue, (len(path), next(tick), path, len(prefix), refused))

    offer((), NOTHING)
    while queue:
        _, _, path, kept, refused = heappop(queue)
        yield path
        for cut in range(kept, len(path)):
            offer(path[:cut], refused.union(path[cut : cut + 1]) if cut == kept else frozenset(path[cut : cut + 1]))


def _continue(
    rules: PathRules,
    prefix: tuple[int, ...],
    refused: frozenset[int],
    starts: frozenset[int],
    targets: frozenset[int],
) -> tuple[int, ...]:
    """A shortest path that begins with `prefix` and does not go on to `refused`; empty if there is none."""
    taken = starts.union(prefix)
    if prefix:
        came_down = len(prefix) > 1 and prefix[-1] in rules.down[prefix[-2]]
        first = [step for step in rules.steps(prefix[-1], came_down) if step[0] not in taken | refused]
    else:
        first = [(start, False) for start in sorted(starts - refused)]
    origin: dict[tuple[int, bool], tuple[int, bool] | None] = dict.fromkeys(first)
    queue = deque(origin)
    while queue:
        state = queue.popleft()
        if state[0] in targets:
            return prefix + _trace(origin, state)
        for following in rules.steps(*state):
            if following[0] not in taken and following not in origin:
                origin[following] = state
                queue.append(following)
    return ()


def _trace(origin: dict[tuple[int, bool], tuple[int, bool] | None], state: tuple[int, bool]) -> tuple[int, ...]:
    """The positions on the way to `state`."""
    backwards = [state[0]]
    while (before := origin[state]) is not None:
        backwards.append(before[0])
        state = before
    return tuple(reversed(backwards))
