"""The orientation rules of partial ancestral graphs: the marks that follow from other marks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.graphs.marks import Mark


class DiscriminatingPath(NamedTuple):
    """The ends of a path theta, ..., alpha, beta, gamma whose inner nodes before beta point into gamma as colliders.

    Whatever separates theta from gamma has beta in it unless beta is a collider.
    """

    theta: int
    alpha: int
    beta: int
    gamma: int


class MarkRules:
    """Zhang's rules R1 to R10 on a graph whose unshielded colliders (R0) have their arrowheads.

    They are sound, and complete if what they are told is right about some ancestral graph: circles stand for marks
    that differ between members of its equivalence class. R5 to R7 make the tails of undirected edges, which are there
    only with selection. Each pass over a rule costs O(edges × degree) operations on bit sets, R9 and R10 that for each
    node with edges `o->`; each pass but the last makes a mark.

    Parameters
    ----------
    masks
        The marks so far; changed.
    is_collider
        Told a `DiscriminatingPath`, whether beta is a collider on it; `None` if that is not known.
    selection
        Whether R5 to R7 are used.
    ambiguous
        Triples (a, b, c) with a and c not adjacent of which it is not known whether b is a collider: no rule counts on
        them.

    References
    ----------
    Zhang (2008), On the completeness of orientation rules for causal discovery in the presence of latent confounders
    and selection bias, Artificial Intelligence 172.
    """

    __slots__ = ("_ambiguous", "_is_collider", "_masks", "_selection")

    def __init__(
        self,
        masks: MarkMasks,
        is_collider: Callable[[DiscriminatingPath], bool | None],
        *,
        selection: bool = False,
        ambiguous: Collection[tuple[int, int, int]] = (),
    ) -> None:
        self._masks, self._is_collider, self._selection = masks, is_collider, selection
        self._ambiguous: dict[tuple[int, int], int] = {}
        for a, b, c in ambiguous:
            for end, other in ((a, c), (c, a)):
                self._ambiguous[end, b] = self._ambiguous.get((end, b), 0) | 1 << other

    def close(self) -> None:
        """Use the rules until none makes a mark."""
        head = (self._rule_1, self._rule_2, self._rule_3, self._rule_4)
        lines = (self._rule_5, self._rule_6, self._rule_7) if self._selection else ()
        tails = (self._rule_8, self._rule_9_and_10)
        while self._repeat(head) or self._repeat(lines) or self._repeat(tails):
            pass

    def _repeat(self, rules: Collection[Callable[[], None]]) -> bool:
        """Use some rules until none makes a mark; whether any did."""
        has_changed, goes_on = False, True
        while goes_on:
            goes_on = False
            for rule in rules:
                rule()
                goes_on = self._masks.settle() or goes_on
            has_changed = has_changed or goes_on
        return has_changed

    def _beyond(self, a: int, b: int) -> int:
        """The nodes c that are not adjacent to a, where b is known to be a collider between a and c, or none."""
        return ~(self._masks.adjacent[a] | 1 << a | self._ambiguous.get((a, b), 0))

    def _rule_1(self) -> None:
        """a *-> b o-* c, a and c not adjacent: b -> c."""
        masks = self._masks
        for b in range(len(masks)):
            if masks.arrow[b]:
                for c in bits(masks.circle(b)):
                    if masks.arrow[b] & self._beyond(c, b):
                        masks.want_edge(b, c)

    def _rule_2(self) -> None:
        """a -> b *-> c or a *-> b -> c, and a *-o c: a *-> c."""
        masks = self._masks
        for a in range(len(masks)):
            children, pointed = masks.children(a), masks.arrow_from[a]
            for c in bits(masks.circle_from(a)) if pointed else ():
                if children & masks.arrow[c] or pointed & masks.parents(c):
                    masks.want(c, a, Mark.ARROW)

    def _rule_3(self) -> None:
        """a *-> b <-* c, a *-o d o-* c, a and c not adjacent, d *-o b: d *-> b."""
        masks = self._masks
        for b in range(len(masks)):
            for d in bits(masks.circle(b)) if masks.arrow[b] else ():
                around = masks.arrow[b] & masks.circle(d)
                if any(around & self._beyond(a, d) for a in bits(around)):
                    masks.want(b, d, Mark.ARROW)

    def _rule_4(self) -> None:
        """A discriminating path for b o-* c: b -> c, or a <-> b <-> c with the node a before b."""
        masks = self._masks
        for path in self._discriminating_paths():
            _, a, b, c = path
            is_collider = self._is_collider(path)
            if is_collider is False:
                masks.want_edge(b, c)
            elif is_collider:
                masks.want(c, b, Mark.ARROW)
                masks.want(b, a, Mark.ARROW)
                masks.want(b, c, Mark.ARROW)

    def _discriminating_paths(self) -> Iterator[DiscriminatingPath]:
        masks = self._masks
        for c in range(len(masks)):
            parents = masks.parents(c)
            for b in bits(masks.circle_from(c)) if parents else ():
                for a in bits(parents & masks.arrow_from[b]):
                    theta = collider_path_start(masks, a, c)
                    if theta is not None:
                        yield DiscriminatingPath(theta, a, b, c)

    def _rule_5(self) -> None:
        """a o-o b at the ends of an uncovered path of circles that is uncovered round about: all are undirected."""
        masks = self._masks
        for cycle in self.circle_cycles():
            for one, other in pairwise((*cycle, cycle[0])):
                masks.want(one, other, Mark.TAIL)
                masks.want(other, one, Mark.TAIL)

    def circle_cycles(self) -> Iterator[list[int]]:
        """Cycles of edges `o-o` no node of which has its two neighbours joined: one for each edge that is in some.

        Only selection makes these, as every node of one has a tail on it.
        """
        masks = self._masks
        circles = [masks.circle(node) & masks.circle_from(node) for node in range(len(masks))]
        for a in range(len(masks)):
            for b in bits(circles[a] >> a << a):
                path = self._circle_path(circles, a, b)
                if path:
                    yield path

    def _circle_path(self, circles: list[int], a: int, b: int) -> list[int]:
        """A path from a to b by another way than their edge, no node of which has its two neighbours joined."""
        came_from: dict[tuple[int, int], tuple[int, int] | None] = {
            (a, first): None for first in bits(circles[a] & self._beyond(b, a))
        }
        frontier = list(came_from)
        for before, node in frontier:
            if node == b:
                if not self._beyond(a, b) >> before & 1:
                    continue
                path, step = [b], came_from[before, node]
                path.append(before)
                while step is not None:
                    path.append(step[0])
                    step = came_from[step]
                return path[::-1]
            for after in bits(circles[node] & self._beyond(before, node) & ~(1 << a)):
                if (node, after) not in came_from:
                    came_from[node, after] = (before, node)
                    frontier.append((node, after))
        return []

    def _rule_6(self) -> None:
        """a - b o-* c: b -* c."""
        masks = self._masks
        for b in range(len(masks)):
            if masks.tail[b] & masks.tail_from[b]:
                for c in bits(masks.circle(b)):
                    masks.want(b, c, Mark.TAIL)

    def _rule_7(self) -> None:
        """a -o b o-* c, a and c not adjacent: b -* c."""
        masks = self._masks
        for b in range(len(masks)):
            half = masks.circle(b) & masks.tail_from[b]
            for c in bits(masks.circle(b)) if half else ():
                if half & self._beyond(c, b):
                    masks.want(b, c, Mark.TAIL)

    def _rule_8(self) -> None:
        """a -> b -> c or a -o b -> c, and a o-> c: a -> c."""
        masks = self._masks
        for a in range(len(masks)):
            before = masks.tail[a] & ~masks.tail_from[a]
            for c in bits(masks.circle(a) & masks.arrow_from[a]) if before else ():
                if before & masks.parents(c):
                    masks.want(a, c, Mark.TAIL)

    def _rule_9_and_10(self) -> None:
        """a o-> c with uncovered possibly directed paths from a to c that make it an ancestor: a -> c.

        R9: one to c itself, whose second node is not adjacent to c. R10: two to parents of c, whose second nodes are
        neither the same nor adjacent.
        """
        masks = self._masks
        for a in range(len(masks)):
            targets = masks.circle(a) & masks.arrow_from[a]
            onward = bits(masks.onward(a)) if targets else ()
            reach = {b: uncovered_reach(masks, a, b, self._beyond) for b in onward}
            for c in bits(targets):
                goals = masks.parents(c) & ~(1 << a)
                away = ~(masks.adjacent[c] | 1 << c)
                has_detour = any(found >> c & 1 and away >> b & 1 for b, found in reach.items())
                if has_detour or has_two_ways(a, goals, reach, self._beyond):
                    masks.want(a, c, Mark.TAIL)


def uncovered_reach(masks: MarkMasks, a: int, b: int, beyond: Callable[[int, int], int]) -> int:
    """The nodes after b on uncovered possibly directed paths that begin with a, b; a path ends where it can't go on.

    Uncovered means that no node of a path has its two neighbours on it joined. `beyond` is told a node and the next
    one, and says which nodes may come after these as far as adjacency goes.
    """
    seen = {(a, b)}
    frontier, found = [(a, b)], 0
    while frontier:
        before, node = frontier.pop()
        for after in bits(masks.onward(node) & beyond(before, node) & ~(1 << a)):
            found |= 1 << after
            if (node, after) not in seen:
                seen.add((node, after))
                frontier.append((node, after))
    return found


def has_two_ways(a: int, goals: int, reach: Mapping[int, int], beyond: Callable[[int, int], int]) -> bool:
    """Whether paths lead from a to goals by two second nodes that are not adjacent: one of the two is directed, then.

    As a is no collider between them, it has a tail on the way to one of them, and from there an uncovered path is
    directed to its end. `reach` has for each second node the nodes after it, as `uncovered_reach` finds them.
    """
    firsts = [b for b, found in reach.items() if (found | 1 << b) & goals]
    mask = sum(1 << b for b in firsts)
    return any(mask & beyond(b, a) for b in firsts)


def collider_path_start(masks: MarkMasks, a: int, c: int) -> int | None:
    """The first node, not adjacent to c, of a shortest path into a whose inner nodes are colliders and parents of c.

    With a parent a of c it shows a discriminating path theta, ..., a, b, c, or that the edge `a -> c` is visible.
    """
    frontier, seen = 1 << a, 1 << a
    ends, parents = ~(masks.adjacent[c] | 1 << c), masks.parents(c)
    while frontier:
        reached = 0
        for node in bits(frontier):
            if masks.arrow[node] & ends:
                return next(bits(masks.arrow[node] & ends))
            reached |= masks.arrow[node] & masks.arrow_from[node]
        frontier = reached & parents & ~seen
        seen |= frontier
    return None
