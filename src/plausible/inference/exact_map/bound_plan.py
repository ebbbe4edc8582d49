"""Plans for bounding a marginal MAP: sums early where they are cheap, maxima in between, copies where nothing fits.

An exact marginal MAP sums all hidden variables out before it maximises any other, which may need huge tables. Letting
a maximum come before a sum can only raise the result, max Σ φ <= Σ max φ, and so can giving a maximised variable
several copies that need not agree. A plan uses both, as little as its tables' limit allows, to bound from above:
Park & Darwiche (2003) for the order, mini-buckets (Dechter & Rish 2003) for the copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import TypeAlias

from plausible.graphs.elimination import elimination_order
from plausible.graphs.nodes import Node
from plausible.graphs.undirected import UndirectedGraph
from plausible.search.clock import UNLIMITED, Clock

Axes: TypeAlias = frozenset[int]

#: Where hidden variables alone are hard to sum, copies of maximised ones are kept so small that they add no width.
_SMALL_COPIES = 2**10


class TimeUpError(Exception):
    """The time was up in the middle of the work; whoever set the clock knows what to make of it."""


def check_time(clock: Clock) -> None:
    """Stop once the time is over."""
    if clock.is_over:
        raise TimeUpError


@dataclass(frozen=True, slots=True)
class Bucket:
    """One step of an elimination: multiply the members, eliminate the variable."""

    variable: int  # What goes, or one copy of it
    #: Numbers of factors, and of earlier buckets, counted on after the factors, whose results are multiplied.
    members: tuple[int, ...]
    scope: Axes  # The variables of the product


@dataclass(frozen=True, slots=True)
class BoundPlan:
    """Buckets in the order in which they are emptied."""

    buckets: tuple[Bucket, ...]  # The steps; the product of one is a member of a later one, or a constant
    #: The first so many buckets are sums before any maximum: they lose nothing and need to be done only once.
    num_exact: int
    is_exact: bool  # Whether the whole plan is a sum-first order without copies
    largest: Axes  # The scope of the largest table; empty where there is none
    num_largest: int  # Its entries


def plan_bound(
    scopes: Sequence[Iterable[int]],
    sizes: Sequence[int],
    maximized: Iterable[int],
    limit: int,
    clock: Clock = UNLIMITED,
) -> BoundPlan:
    """Choose, step by step, a sum that fits the limit; else a maximum that fits; else copies of a maximised variable.

    Hidden variables are never copied, so the plan's bound is the true value once all others are given. Where that
    makes a table too large, hidden variables go in an order that is good for them alone instead, and maximised ones
    make way. What exceeds the limit even then is planned all the same: no answer can do without it. `TimeUpError`
    after the clock's time.

    Examples
    --------
    >>> plan = plan_bound([(0, 1), (0, 2), (0, 3)], [2, 2, 2, 2], [1, 2, 3], limit=8)
    >>> [(bucket.variable, sorted(bucket.scope)) for bucket in plan.buckets]
    [(1, [0, 1]), (0, [0, 2, 3]), (2, [2, 3]), (3, [3])]
    """
    state = _Planning(scopes, sizes, maximized)
    state.empty_all(limit, clock)
    plan = state.finished()
    if plan.num_largest <= limit:
        return plan
    state = _Planning(scopes, sizes, maximized)
    parts = [sorted(frozenset(scope) - state.maximized) for scope in scopes]
    counts: dict[Node, int] = {variable: sizes[variable] for part in parts for variable in part}
    graph = UndirectedGraph([pair for part in parts for pair in combinations(part, 2)], nodes=counts)
    for hidden in elimination_order(graph, "weighted-min-fill", cardinalities=counts):
        assert isinstance(hidden, int)
        check_time(clock)
        while state.entries[hidden] > limit:
            around = sorted(state.joint(state.members[hidden]) & state.maximized)
            if not around:
                break
            state.empty(min(around, key=state.entries.__getitem__), _SMALL_COPIES)
        state.empty(hidden, limit)
    state.empty_all(limit, clock)
    return min(plan, state.finished(), key=lambda candidate: candidate.num_largest)


class _Planning:
    """The factors and messages that are left, and the steps so far."""

    def __init__(self, scopes: Sequence[Iterable[int]], sizes: Sequence[int], maximized: Iterable[int]) -> None:
        self.sizes, self.maximized = sizes, frozenset(maximized)
        self.scopes: list[Axes] = [frozenset(scope) for scope in scopes]
        self.members: dict[int, list[int]] = {}
        for number, scope in enumerate(self.scopes):
            for variable in scope:
                self.members.setdefault(variable, []).append(number)
        self.entries = {variable: self.size(self.joint(numbers)) for variable, numbers in sorted(self.members.items())}
        self.buckets: list[Bucket] = []
        self.has_copies = False

    def empty_all(self, limit: int, clock: Clock) -> None:
        """Eliminate all that are left, the cheapest first."""
        queue = [(*self._rank(variable, limit), variable) for variable in self.members]
        heapify(queue)
        while queue:
            check_time(clock)
            *rank, variable = heappop(queue)
            # what went, or was ranked again since, is in the queue once more than it should
            if variable in self.members and tuple(rank) == self._rank(variable, limit):
                for other in self.empty(variable, limit):
                    heappush(queue, (*self._rank(other, limit), other))

    def _rank(self, variable: int, limit: int) -> tuple[int, int]:
        """The least goes next: its table is small, a sum goes before a maximum if it fits, the first wins a tie."""
        entries, is_maximum = self.entries[variable], variable in self.maximized
        return (int(is_maximum) if entries <= limit else 3 - int(is_maximum)), entries

    def empty(self, variable: int, limit: int) -> Axes:
        """Eliminate a variable, by copies if it is maximised and its table does not fit; its neighbours."""
        members = self.members.pop(variable)
        parts = [members]
        if variable in self.maximized and self.entries[variable] > limit:
            parts = self._parts(members, limit)
            self.has_copies |= len(parts) > 1
        for part in parts:
            scope = self.joint(part)
            self.buckets.append(Bucket(variable, tuple(part), scope))
            message = scope - {variable}
            for other in message:
                kept = [member for member in self.members[other] if member not in part]
                self.members[other] = [*kept, len(self.scopes)]
            self.scopes.append(message)
        touched = self.joint(members) - {variable}
        for other in touched:
            self.entries[other] = self.size(self.joint(self.members[other]))
        return touched

    def finished(self) -> BoundPlan:
        """The steps so far as a plan."""
        exact = next((n for n, b in enumerate(self.buckets) if b.variable in self.maximized), len(self.buckets))
        is_exact = all(b.variable in self.maximized for b in self.buckets[exact:]) and not self.has_copies
        largest = max((bucket.scope for bucket in self.buckets), key=self.size, default=frozenset[int]())
        return BoundPlan(tuple(self.buckets), exact, is_exact, largest, self.size(largest))

    def _parts(self, members: Sequence[int], limit: int) -> list[list[int]]:
        """Mini-buckets: each member, the largest first, joins the part that it enlarges least, if it fits there."""
        parts: list[tuple[list[int], Axes]] = []
        for number in sorted(members, key=lambda member: -self.size(self.scopes[member])):
            fitting = [
                (self.size(scope | self.scopes[number]) / self.size(scope), place)
                for place, (_, scope) in enumerate(parts)
                if self.size(scope | self.scopes[number]) <= limit
            ]
            if fitting:
                place = min(fitting)[1]
                parts[place] = ([*parts[place][0], number], parts[place][1] | self.scopes[number])
            else:
                parts.append(([number], self.scopes[number]))
        return [part for part, _ in parts]

    def joint(self, members: Iterable[int]) -> Axes:
        """The variables of a product of factors and messages."""
        return frozenset[int]().union(*(self.scopes[number] for number in members))

    def size(self, scope: Axes) -> int:
        """The entries of a table."""
        return prod(self.sizes[variable] for variable in scope)
