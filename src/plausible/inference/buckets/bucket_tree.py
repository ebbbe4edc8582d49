"""Mini-buckets of a problem: an order, a tree of clusters of limited size, and logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from plausible.engine.compilation import best_elimination
from plausible.inference.problem import Problem


class Limits(NamedTuple):
    """What a mini-bucket's table should not exceed; a factor that does is not split."""

    variables: int  # The variables that are eliminated, itself or later
    entries: int  # The entries


class Cluster(NamedTuple):
    """A mini-bucket: the product of some factors and messages, from which one variable, or a copy of it, goes."""

    axes: tuple[int, ...]  # the variables of the product in the order in which they go
    factors: tuple[int, ...]  # the numbers of the factors multiplied
    senders: tuple[int, ...]  # the clusters whose messages are multiplied
    #: The cluster that the message, over all axes but the first, goes to; -1 where only kept variables are left.
    receiver: int
    lift: tuple[int, ...]  # the shape that makes the message broadcast over the receiver's product
    lacks: tuple[int, ...]  # the axes of the receiver that the message lacks


@dataclass(frozen=True, slots=True)
class BucketTree:
    """Clusters in the order in which they are eliminated; made by `bucket_tree`."""

    sizes: tuple[int, ...]  # the number of states of each variable
    kept: tuple[int, ...]  # the variables that are not eliminated; the last axes of every table that has them
    clusters: tuple[Cluster, ...]  # senders before receivers
    #: The clusters of one bucket, which eliminate copies of one variable, are `starts[b]` to `starts[b + 1] - 1`.
    starts: tuple[int, ...]
    rest: tuple[int, ...]  # the factors that have kept variables only

    @property
    def is_exact(self) -> bool:
        """Whether no variable has copies."""
        return len(self.clusters) == len(self.starts) - 1

    @property
    def entries(self) -> list[int]:
        """The entries of each cluster's table."""
        return [prod(self.sizes[variable] for variable in cluster.axes) for cluster in self.clusters]

    def buckets(self) -> Iterator[range]:
        """The clusters of each bucket."""
        return (range(*ends) for ends in zip(self.starts, self.starts[1:], strict=False))

    def shape(self, axes: Iterable[int], within: Sequence[int]) -> tuple[int, ...]:
        """The shape of a table over some of the axes of another that makes it broadcast over that one."""
        own = set(axes)
        return tuple(self.sizes[variable] if variable in own else 1 for variable in within)


def bucket_tree(
    scopes: Sequence[Sequence[int]], sizes: Sequence[int], order: Sequence[int], kept: Sequence[int], limits: Limits
) -> BucketTree:
    """Split each bucket into mini-buckets that fit the limits (Dechter & Rish 2003, figure 9).

    A bucket holds the factors and messages that have the variable to go next. Its members, those with the most
    variables first, each join the mini-bucket that they enlarge least among those that have room. Where all fit into
    one everywhere, this is bucket elimination.
    """
    rank = {variable: place for place, variable in enumerate([*order, *kept])}
    last = len(order)
    items = [_Item(frozenset(v for v in scope if sizes[v] > 1), number, -1) for number, scope in enumerate(scopes)]
    waiting: list[list[_Item]] = [[] for _ in range(last + 1)]
    parts: list[list[_Item]] = []
    starts = [0]
    for item in items:
        waiting[min([last, *(rank[v] for v in item.scope)])].append(item)
    for place, variable in enumerate(order):
        for part in _parts(waiting[place], sizes, limits, frozenset(kept)):
            scope = frozenset[int]().union(*(item.scope for item in part)) - {variable}
            waiting[min([last, *(rank[v] for v in scope)])].append(_Item(scope, -1, len(parts)))
            parts.append(part)
        if len(parts) > starts[-1]:
            starts.append(len(parts))
    return _laid_out(parts, starts, waiting[last], rank, sizes, kept)


class _Item(NamedTuple):
    """A factor or the message of a cluster, the other number being -1."""

    scope: frozenset[int]
    factor: int
    sender: int


def _parts(items: Sequence[_Item], sizes: Sequence[int], limits: Limits, kept: frozenset[int]) -> list[list[_Item]]:
    """The mini-buckets of a bucket, the first of which holds the largest member."""
    parts: list[tuple[list[_Item], frozenset[int]]] = []
    for item in sorted(items, key=lambda item: -len(item.scope)):
        fitting = [
            (len(union) - len(scope), place)
            for place, (_, scope) in enumerate(parts)
            if (
                len((union := scope | item.scope) - kept) <= limits.variables
                and prod(sizes[v] for v in union - kept) <= limits.entries
            )
            or item.scope <= scope
        ]
        if fitting:
            members, scope = parts[min(fitting)[1]]
            parts[min(fitting)[1]] = ([*members, item], scope | item.scope)
        else:
            parts.append(([item], item.scope))
    return [members for members, _ in parts]


def _laid_out(
    parts: Sequence[Sequence[_Item]],
    starts: Sequence[int],
    rest: Sequence[_Item],
    rank: dict[int, int],
    sizes: Sequence[int],
    kept: Sequence[int],
) -> BucketTree:
    axes = [tuple(sorted({v for item in part for v in item.scope}, key=rank.__getitem__)) for part in parts]
    receivers = {item.sender: number for number, part in enumerate(parts) for item in part if item.sender >= 0}
    clusters = []
    for number, part in enumerate(parts):
        receiver = receivers.get(number, -1)
        above = axes[receiver] if receiver >= 0 else tuple(kept)
        own = set(axes[number][1:])
        factors = tuple(item.factor for item in part if item.factor >= 0)
        senders = tuple(item.sender for item in part if item.sender >= 0)
        lift = tuple(sizes[v] if v in own else 1 for v in above)
        lacks = tuple(axis for axis, v in enumerate(above) if v not in own)
        clusters.append(Cluster(axes[number], factors, senders, receiver, lift, lacks))
    left = tuple(item.factor for item in rest if item.factor >= 0)
    return BucketTree(tuple(sizes), tuple(kept), tuple(clusters), tuple(starts), left)


def free_order(problem: Problem) -> list[int]:
    """All variables in a greedy order that keeps exact tables small: copies are then few, too."""
    if not problem.variables:
        return []
    return [int(v) for v in best_elimination(problem.scopes, problem.scope_starts, problem.sizes).order]


def tree_of(problem: Problem, order: Sequence[int], kept: Sequence[int], limits: Limits) -> BucketTree:
    """The mini-buckets of a problem whose other variables are eliminated in the order given."""
    scopes = [problem.scope(factor) for factor in range(len(problem.factors))]
    left = [v for v in order if v not in set(kept)]
    return bucket_tree(scopes, problem.sizes.tolist(), left, kept, limits)


def scale_slack(problem: Problem) -> float:
    """By how much rounding may have moved `problem.log_scale`, a pairwise sum of logarithms of floats."""
    num_factors = len(problem.factors) + 1
    largest = 2 * math.log(np.finfo(np.float64).max)
    return float(np.finfo(np.float64).eps) * (math.log2(num_factors) + 4) * num_factors * largest
