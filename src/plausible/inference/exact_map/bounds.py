"""Upper bounds on a marginal MAP, for every state of every variable at once, from two passes over a tree of tables.

An exact marginal MAP sums all hidden variables out before it maximises any other, which may need huge tables. Letting
a maximum come before a sum can only raise the result, max Σ φ <= Σ max φ, and so can giving a maximised variable
several copies that need not agree. A plan uses both, as little as its tables' limit allows, to bound from above:
Park & Darwiche (2003) for the order, mini-buckets (Dechter & Rish 2003) for the copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np

from plausible.base import Floats, logarithms
from plausible.factors.alignment import reduce_axes
from plausible.graphs import UndirectedGraph, elimination_order
from plausible.graphs.nodes import Node
from plausible.search.run import UNLIMITED, Clock

Axes: TypeAlias = frozenset[int]

#: Where hidden variables alone are hard to sum, copies of maximised ones are kept so small that they add no width.
_SMALL_COPIES = 2**10


class TimeUpError(Exception):
    """The time was up in the middle of the work; whoever set the clock knows what to make of it."""


def check_time(clock: Clock) -> None:
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

    def num_entries(self, sizes: Sequence[int]) -> int:
        """The entries of what all buckets send."""
        return sum(prod(sizes[v] for v in bucket.scope) // sizes[bucket.variable] for bucket in self.buckets)


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
        return prod(self.sizes[variable] for variable in scope)


@dataclass(frozen=True, slots=True, eq=False)
class LogTable:
    """Logarithms over some variables, given by number: one axis each, in the order of `axes`."""

    axes: tuple[int, ...]
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """How a table becomes a message: the axes to sum out, those to maximise then, and the layout of the message."""

    sums: tuple[int, ...]
    maxima: tuple[int, ...]
    layout: tuple[int, ...]  # for each axis of the receiver the axis of the sender, -1 where it has none

    @classmethod
    def between(cls, sender: Sequence[int], receiver: Sequence[int], maximized: Axes) -> _Way:
        gone = [(axis, variable) for axis, variable in enumerate(sender) if variable not in receiver]
        own = {variable: axis for axis, variable in enumerate(sender)}
        return cls(
            sums=tuple(axis for axis, variable in gone if variable not in maximized),
            maxima=tuple(axis for axis, variable in gone if variable in maximized),
            layout=tuple(own.get(variable, -1) for variable in receiver),
        )

    def message(self, table: Floats) -> Floats:
        shape = [table.shape[axis] if axis >= 0 else 1 for axis in self.layout]
        if self.sums:
            kept = [1 if axis in self.sums else length for axis, length in enumerate(table.shape)]
            peaks = reduce_axes(np.maximum, table, self.sums).reshape(kept)
            peaks[np.isneginf(peaks)] = 0.0
            sums = reduce_axes(np.add, np.exp(table - peaks), self.sums).reshape(kept)
            table = logarithms(sums) + peaks
        if self.maxima:
            table = reduce_axes(np.maximum, table, self.maxima)
        return table.reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class BoundTree:
    """A tree of clusters with tables, children before parents; made by `bound_tree`."""

    potentials: tuple[Floats, ...]  # The table of each cluster: logarithms, an axis for each of its variables
    axes: tuple[tuple[int, ...], ...]  # The variables of each cluster
    parents: tuple[int, ...]  # For each cluster the one that it sends to; -1 for the last, the root
    children: tuple[tuple[int, ...], ...]  # For each cluster those that send to it
    #: For each cluster how its parent is told, and how the parent tells it.
    up: tuple[_Way, ...]
    down: tuple[_Way, ...]
    #: Maximised variable -> the cluster next to the root that has it, and how it is read off there.
    homes: Mapping[int, tuple[int, _Way]]
    log_scale: float  # What is added to every value
    sizes: tuple[int, ...]  # The number of states of each variable

    def bound(self, states: Sequence[int], clock: Clock = UNLIMITED) -> float:
        """An upper bound on log max Σ Π φ given the states, -1 for those that are free; the value if none is free."""
        return float(self._collect(states, clock)[1][-1]) + self.log_scale

    def bounds(self, states: Sequence[int], clock: Clock = UNLIMITED) -> tuple[float, dict[int, Floats]]:
        """The bound, and for each free maximised variable an upper bound for each of its states."""
        tables, messages = self._collect(states, clock)
        total = float(messages[-1]) + self.log_scale
        if total == -np.inf:
            return total, {}
        for c in range(len(tables) - 2, -1, -1):
            check_time(clock)
            tables[c] = tables[c] + self._told(c, tables[self.parents[c]], messages[c])
        free = {variable: home for variable, home in self.homes.items() if states[variable] < 0}
        return total, {variable: way.message(tables[c]) + self.log_scale for variable, (c, way) in free.items()}

    def guess(self, states: Sequence[int], clock: Clock = UNLIMITED) -> tuple[float, list[int]]:
        """The bound, and a full assignment that agrees with the states given.

        Each cluster, from the root on, takes its best states; these are told to the clusters below, so that zeros are
        seen. Where the bound is -inf the assignment is as good as any.
        """
        tables, messages = self._collect(states, clock)
        chosen = list(states)
        for c in range(len(tables) - 1, -1, -1):
            check_time(clock)
            above = self.parents[c]
            table = _restricted(tables[c], self.axes[c], chosen)
            if above >= 0:
                sent = _restricted(messages[c], self.axes[above], chosen)
                table = table + self._told(c, tables[above], sent)
            free = [variable for variable in self.axes[c] if variable in self.homes and chosen[variable] < 0]
            scores = _Way.between(self.axes[c], free, frozenset(self.homes)).message(table)
            for variable, state in zip(free, np.unravel_index(int(scores.argmax()), scores.shape), strict=True):
                chosen[variable] = int(state)
            tables[c] = _restricted(table, self.axes[c], chosen)
        return float(messages[-1]) + self.log_scale, chosen

    def _told(self, c: int, above: Floats, sent: Floats) -> Floats:
        """What the cluster above knows without what cluster c sent; where c knows of nothing possible, it stays so."""
        return self.down[c].message(above - np.where(np.isneginf(sent), 0.0, sent))

    def _collect(self, states: Sequence[int], clock: Clock = UNLIMITED) -> tuple[list[Floats], list[Floats]]:
        """Pass messages to the root: each cluster's table with what it received, and its message."""
        tables: list[Floats] = []
        messages: list[Floats] = []
        cuts = [slice(None) if state < 0 else slice(state, state + 1) for state in states]
        for c, potential in enumerate(self.potentials):
            check_time(clock)
            table = potential[tuple([cuts[variable] for variable in self.axes[c]])]
            for child in self.children[c]:
                table = table + messages[child]
            tables.append(table)
            messages.append(self.up[c].message(table))
        return tables, messages


def _restricted(table: Floats, axes: Sequence[int], states: Sequence[int]) -> Floats:
    """The slice of a table at the states that are chosen; axes stay, and those of length one are let alone."""
    cuts = [
        slice(state, state + 1) if (state := states[variable]) >= 0 and length > 1 else slice(None)
        for variable, length in zip(axes, table.shape, strict=True)
    ]
    return table[tuple(cuts)]


def bound_tree(
    tables: Sequence[LogTable],
    plan: BoundPlan,
    sizes: Sequence[int],
    maximized: Iterable[int],
    clock: Clock = UNLIMITED,
) -> BoundTree:
    """Do the exact sums of a plan, and lay out a tree for the rest of it."""
    rank = {bucket.variable: -place for place, bucket in enumerate(plan.buckets)}  # those that go last come first
    maxima = frozenset(maximized)
    items: dict[int, LogTable] = {}
    for number, table in enumerate(tables):
        order = np.argsort([rank[axis] for axis in table.axes])
        items[number] = LogTable(tuple(table.axes[axis] for axis in order), table.values.transpose(order))
    for place, bucket in enumerate(plan.buckets[: plan.num_exact]):
        check_time(clock)
        row = tuple(sorted(bucket.scope, key=rank.__getitem__))
        lifted = (_lifted(items.pop(member), row) for member in bucket.members)
        total = np.ascontiguousarray(sum(lifted, start=np.zeros([1] * len(row))))
        rest = tuple(variable for variable in row if variable != bucket.variable)
        items[len(tables) + place] = LogTable(rest, _Way.between(row, rest, frozenset()).message(total))
    clusters = _merged(plan.buckets[plan.num_exact :], len(tables) + plan.num_exact)
    axes = [tuple(sorted(cluster.scope, key=rank.__getitem__)) for cluster in clusters]
    potentials = []
    for cluster, row in zip(clusters, axes, strict=True):
        check_time(clock)
        total = np.zeros([sizes[variable] for variable in row])
        for member in cluster.members:
            total += _lifted(items.pop(member), row)
        potentials.append(total)
    parents = [cluster.parent for cluster in clusters]
    above = [axes[parent] if parent >= 0 else () for parent in parents]
    homes = {variable: c for c, cluster in enumerate(clusters) for variable in cluster.scope & maxima}
    return BoundTree(
        potentials=tuple(potentials),
        axes=tuple(axes),
        parents=tuple(parents),
        children=tuple(tuple(c for c, parent in enumerate(parents) if parent == p) for p in range(len(parents))),
        up=tuple(_Way.between(own, other, maxima) for own, other in zip(axes, above, strict=True)),
        down=tuple(_Way.between(other, own, maxima) for own, other in zip(axes, above, strict=True)),
        homes={variable: (c, _Way.between(axes[c], (variable,), maxima)) for variable, c in homes.items()},
        log_scale=float(sum(table.values.sum() for table in items.values())),
        sizes=tuple(sizes),
    )


def _lifted(table: LogTable, axes: Sequence[int]) -> Floats:
    """The values with an axis of length one for each variable that they lack."""
    lengths = dict(zip(table.axes, table.values.shape, strict=True))
    return table.values.reshape([lengths.get(variable, 1) for variable in axes])


@dataclass(slots=True)
class _Cluster:
    """One or more buckets in one: its scope, the numbers of the tables multiplied into it, where it sends."""

    scope: Axes
    members: list[int]
    parent: int


def _merged(buckets: Sequence[Bucket], first: int) -> list[_Cluster]:
    """A tree of the buckets, those whose scope lies in that of a sender merged with it; the last one is the root.

    A bucket's result has the number `first` plus its place. Summing all that a merged cluster sums before it maximises
    makes the bound tighter, too.
    """
    clusters: list[_Cluster | None] = [_Cluster(b.scope, [m for m in b.members if m < first], -1) for b in buckets]
    receiver = {m - first: place for place, bucket in enumerate(buckets) for m in bucket.members if m >= first}
    senders: list[list[int]] = [[] for _ in buckets]
    for place, above in receiver.items():
        senders[above].append(place)
    for place, above in sorted(receiver.items()):
        below, upper = clusters[place], clusters[above]
        assert below is not None
        assert upper is not None
        if upper.scope <= below.scope:
            clusters[above] = _Cluster(below.scope, upper.members + below.members, -1)
            clusters[place] = None
            senders[above] += senders[place]
            senders[above].remove(place)
    kept = [place for place, cluster in enumerate(clusters) if cluster is not None]
    number = {place: position for position, place in enumerate(kept)}
    result = [cluster for cluster in clusters if cluster is not None]
    for cluster in result[:-1]:
        cluster.parent = len(result) - 1  # separate trees meet at the root, sharing no variable
    for above in kept:
        for place in senders[above]:
            if place in number:
                result[number[place]].parent = number[above]
    return result
