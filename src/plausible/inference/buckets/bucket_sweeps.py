"""Sweeps over mini-buckets: powered sums, shifts that make copies agree, and assignments read off them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plausible.base import Checked, Floats, Ints, QueryInfo, real, whole
from plausible.factors.alignment import reduce_axes
from plausible.inference.buckets.bucket_tree import BucketTree
from plausible.inference.problem import Problem

#: Probabilities below this count as this where logarithms of them are compared; any number would do.
TINY = 1e-290


def powered_sum(product: Floats, weight: float) -> Floats:
    """w log Σ exp(ψ / w) over the first axis; the maximum for w = 0; -inf where a negative power meets a zero."""
    if weight == 0 or len(product) == 1:
        return np.asarray(product.max(axis=0))
    ends = np.maximum.reduce(product, axis=0) if weight > 0 else np.minimum.reduce(product, axis=0)
    safe = np.where(np.isneginf(ends), 0.0, ends)
    if weight > 0:
        return np.asarray(weight * np.log(np.exp((product - safe) / weight).sum(axis=0)) + safe)
    powers = np.exp(np.minimum((product - safe) / weight, 0.0))
    return np.where(np.isneginf(ends), -np.inf, weight * np.log(powers.sum(axis=0)) + safe)


def powers(product: Floats, weight: float, axis: int | None) -> Floats:
    """exp(ψ / w), the largest along an axis, or of all, being one; zeros get nothing."""
    scaled = product / weight
    if weight < 0:
        scaled = np.where(np.isinf(scaled), -np.inf, scaled)
    peaks = scaled.max(axis=axis)
    return np.asarray(np.exp(scaled - np.where(np.isneginf(peaks), 0.0, peaks)))


def conditional(product: Floats, weight: float) -> Floats:
    """exp(ψ / w) over its sum along the first axis; zeros, and what has zeros only, get nothing."""
    unscaled = powers(product, weight, axis=0)
    return np.asarray(unscaled / np.maximum(unscaled.sum(axis=0), TINY))


def magnitude(table: Floats) -> float:
    """The largest finite size of a number."""
    low, high = float(table.min()), float(table.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        return float(np.abs(table[np.isfinite(table)]).max(initial=0.0))
    return max(-low, high)


_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class BucketOptions(Checked, bound=whole(1), max_entries=whole(1), max_steps=whole(), tolerance=real(least=0)):
    """What engines on mini-buckets have in common."""

    bound: int = 10
    max_entries: int = 2**20
    max_steps: int = 20
    tolerance: float = 1e-4

    def _begun(
        self,
        problem: Problem,
        tree: BucketTree,
        weights: Sequence[float],
        softness: float,
        anchor: tuple[int, ...] | None = None,
    ) -> Side:
        """A side after its first sweep; where others follow, the better of one with shifts and of one without."""
        side = replace(untouched(problem, tree, weights, softness), anchor=anchor)
        plain = swept(tree, side)
        if not self.max_steps or tree.is_exact:
            return plain
        matched = swept(tree, side, side.pace)
        return matched if matched.is_better_than(plain) else plain

    def _worth(self, trees: Sequence[BucketTree], *, is_exact: bool, residual: float, **facts: Any) -> QueryInfo:
        """What answers from some trees are worth."""
        entries = [number for tree in trees for number in tree.entries]
        return QueryInfo(
            "mini-buckets",
            exact=is_exact,
            cost=sum(entries),
            largest_table=max(entries, default=0),
            residual=residual if math.isfinite(residual) else None,
            **facts,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """What is needed to bound from one side, and the bound; it can be pickled."""

    #: For each cluster the w of its powered sum w log Σ exp(ψ / w); zero for a maximum. Those of a bucket add up to one
    #: where the variable is summed out.
    weights: tuple[float, ...]
    softness: float  # the weight that a maximum is given where copies are compared
    #: The logarithms that each cluster starts from, which the shifts change; axes that they do not need have length
    #: one. Their sum over all clusters is the logarithm of the product.
    tables: tuple[Floats, ...]
    messages: tuple[Floats, ...]  # the logarithms that each cluster sent, the largest being zero (or all -inf)
    scales: tuple[float, ...]  # what was taken out of each message
    rest: Floats  # the logarithms of factors that have kept variables only, an axis for each kept variable
    bound: Floats  # the bound for each state of the kept variables, rounding not counted
    slack: float = 0.0  # by how much rounding may have moved it
    drift: float = 0.0  # how much of that came from shifts, which stay
    #: States of all variables that a bound from below must not lose; `None` for a bound from above.
    anchor: tuple[int, ...] | None = None
    pace: float = 1.0  # the share of each shift that is made
    change: float = math.inf  # by how much the last sweep with shifts moved the bound, for better or worse

    @property
    def total(self) -> float:
        """The bound on the sum over the kept variables, if they were summed out, too."""
        peak = float(self.bound.max(initial=-math.inf))
        return peak if math.isinf(peak) else peak + math.log(float(np.exp(self.bound - peak).sum()))

    def is_better_than(self, other: Side) -> bool:
        """Whether this bound is the tighter one."""
        return self.total < other.total if self.anchor is None else self.total > other.total


def untouched(problem: Problem, tree: BucketTree, weights: Sequence[float], softness: float) -> Side:
    """A side before any sweep: each cluster starts from its factors."""

    def total(factors: Sequence[int], axes: Sequence[int]) -> Floats:
        places = {variable: place for place, variable in enumerate(axes)}
        result = np.zeros([1] * len(axes))
        for factor in factors:
            own = [variable for variable in problem.scope(factor) if tree.sizes[variable] > 1]
            logs = problem.logs[problem.table_starts[factor] : problem.table_starts[factor + 1]]
            table = logs.reshape([tree.sizes[variable] for variable in own])
            order = sorted(range(len(own)), key=lambda axis: places[own[axis]])
            result = result + table.transpose(order).reshape(tree.shape(own, axes))
        return result

    tables = tuple(total(cluster.factors, cluster.axes) for cluster in tree.clusters)
    rest = total(tree.rest, tree.kept)
    return Side(tuple(weights), softness, tables, (), (), rest, rest)


def swept(tree: BucketTree, side: Side, pace: float = 0.0) -> Side:
    """Eliminate all clusters in turn; where there is a pace, shift between the copies of each variable first.

    With ψ the product that a cluster holds and w its weight, its message is λ = w log Σ exp(ψ / w) over the states of
    the variable that goes. Hölder's inequality makes the sum of the messages of a bucket an upper bound for positive
    weights that add up to one, and a lower bound where one only is positive (Liu & Ihler 2011). The bound's gradient
    by a cluster's table is b(x) = q(x_v | rest) b_receiver(rest), q = exp((ψ - λ) / w); where the b of all copies
    agree on what they share, no shift between them helps. Each shift is the one that makes them agree if all else
    stays: w (Σ w log b - log b). A sweep costs a few operations on each table.
    """
    with np.errstate(divide="ignore", under="ignore"):
        above = _marginals(tree, side) if pace and side.messages else ()
        return _Sweep(tree, side, above, pace).run()


def improved(tree: BucketTree, side: Side) -> Side:
    """A sweep with shifts; where that is no better, the old one, to go on at half the pace.

    Bounds from above are convex in the shifts, and those from below concave: small enough shifts do not overshoot.
    """
    tried = swept(tree, side, side.pace)
    change = 0.0 if tried.total == side.total else abs(tried.total - side.total)
    if tried.is_better_than(side):
        return replace(tried, change=change)
    return replace(side, pace=side.pace / 2, change=change)


class _Sweep:
    """A sweep as far as it has come."""

    def __init__(self, tree: BucketTree, side: Side, above: Sequence[Floats], pace: float) -> None:
        self.tree, self.side, self.above, self.pace = tree, side, above, pace
        self.tables, self.messages, self.scales = list(side.tables), list[Floats](), list[float]()
        self.magnitudes: list[float] = []
        self.slack, self.drift = 0.0, side.drift

    def run(self) -> Side:
        for bucket in self.tree.buckets():
            products = [_product(self.tree, self.tables, self.messages, c) for c in bucket]
            if len(bucket) > 1:
                if self.pace:
                    products = self._matched(bucket, products)
                if self.side.anchor is not None:
                    products = self._restricted(bucket, products)
            for c, product in zip(bucket, products, strict=True):
                self._send(c, product)
        bound = _rest(self.tree, self.side, self.messages) + math.fsum(self.scales)
        bound = np.broadcast_to(bound, [self.tree.sizes[variable] for variable in self.tree.kept])
        slack = self.slack + self.drift + _EPSILON * (len(self.scales) + 4) * magnitude(bound)
        return replace(
            self.side,
            tables=tuple(self.tables),
            messages=tuple(self.messages),
            scales=tuple(self.scales),
            bound=bound,
            slack=slack,
            drift=self.drift,
        )

    def _send(self, c: int, product: Floats) -> None:
        cluster, weight = self.tree.clusters[c], self.side.weights[c]
        message = powered_sum(product, weight)
        peak = float(message.max())
        scale = peak if math.isfinite(peak) else 0.0
        if scale:
            message = message - scale
        self.messages.append(message)
        self.scales.append(peak)
        size = magnitude(self.tables[c]) + sum(self.magnitudes[sender] for sender in cluster.senders)
        self.magnitudes.append(magnitude(message))
        members = len(cluster.factors) + len(cluster.senders)
        # Sums of logarithms, then exp and log, whose errors count as often as they are added, times the weight.
        self.slack += _EPSILON * ((members + 8) * (size + abs(scale)) + abs(weight) * (len(product) + 8))

    def _matched(self, bucket: range, products: list[Floats]) -> list[Floats]:
        axes = [self.tree.clusters[c].axes for c in bucket]
        shared = [v for v in axes[0] if all(v in own for own in axes[1:])]
        gone = [tuple(place for place, v in enumerate(own) if v not in shared) for own in axes]
        weights = [self.side.weights[c] or self.side.softness for c in bucket]
        logs, alive = [], np.ones([self.tree.sizes[v] for v in shared], dtype=np.bool_)
        for c, product, lacks, weight in zip(bucket, products, gone, weights, strict=True):
            belief = conditional(product, weight) * self.above[c][None] if self.above else powers(product, weight, None)
            logs.append(np.log(np.maximum(reduce_axes(np.add, belief, lacks), TINY)))
            if product.min() == -np.inf:
                alive &= reduce_axes(np.maximum, product, lacks) > -np.inf
        mean = sum(weight * log for weight, log in zip(weights, logs, strict=True)) / math.fsum(weights)
        shifts = [
            np.where(alive, self.pace * w * (mean - log), 0.0) for w, log in zip(weights[1:], logs[1:], strict=True)
        ]
        shifts.insert(0, -sum(shifts, start=np.zeros(alive.shape)))
        # Where one copy is zero the product is, and all may be.
        dead = 0.0 if self.side.anchor is not None or alive.all() else np.where(alive, 0.0, -np.inf)
        result = []
        for c, own, product, shift in zip(bucket, axes, products, shifts, strict=True):
            lifted = (shift + dead).reshape(self.tree.shape(shared, own))
            self.tables[c] = self.tables[c] + lifted
            self.drift += _EPSILON * (magnitude(self.tables[c]) + (len(bucket) + 1) * magnitude(shift))
            result.append(product + lifted)
        return result

    def _restricted(self, bucket: range, products: list[Floats]) -> list[Floats]:
        """The products at states where no negative power meets a zero, or at the anchor's alone.

        Dropping states lowers the sum; with a zero in them the bound would be zero for whatever the anchor holds.
        """
        assert self.side.anchor is not None
        state = self.side.anchor[self.tree.clusters[bucket[0]].axes[0]]
        zeros = [np.isneginf(product).reshape(len(product), -1).any(axis=1) for product in products[1:]]
        clean = ~np.logical_or.reduce(zeros)
        if clean.all():
            return products
        chosen = np.flatnonzero(clean) if clean[state] else np.array([state])
        return [product[chosen] for product in products]


def _marginals(tree: BucketTree, side: Side) -> list[Floats]:
    """For each cluster what its receiver believes of the variables of its message."""
    rest = _rest(tree, side, side.messages)
    top = np.exp(rest - rest.max()) if rest.size and rest.max() > -np.inf else np.zeros(rest.shape)
    top = np.broadcast_to(top / max(float(top.sum()), TINY), [tree.sizes[v] for v in tree.kept])
    above: list[Floats] = [np.empty(0)] * len(tree.clusters)
    beliefs: list[Floats | None] = [None] * len(tree.clusters)
    left = [len(cluster.senders) for cluster in tree.clusters]
    for c in range(len(tree.clusters) - 1, -1, -1):
        cluster = tree.clusters[c]
        belief = beliefs[cluster.receiver] if cluster.receiver >= 0 else top
        assert belief is not None
        above[c] = reduce_axes(np.add, np.asarray(belief, order="C"), cluster.lacks)
        if cluster.receiver >= 0:
            left[cluster.receiver] -= 1
            if not left[cluster.receiver]:
                beliefs[cluster.receiver] = None  # no longer needed: tables are large
        if cluster.senders:
            product = _product(tree, side.tables, side.messages, c)
            beliefs[c] = conditional(product, side.weights[c] or side.softness) * above[c][None]
    return above


def _product(tree: BucketTree, tables: Sequence[Floats], messages: Sequence[Floats], c: int) -> Floats:
    product = tables[c]
    for sender in tree.clusters[c].senders:
        product = product + messages[sender].reshape(tree.clusters[sender].lift)
    return product


def _rest(tree: BucketTree, side: Side, messages: Sequence[Floats]) -> Floats:
    """What is left over the kept variables, scales not counted."""
    total = side.rest
    for cluster, message in zip(tree.clusters, messages, strict=True):
        if cluster.receiver < 0 and message.size > 1:
            total = total + message.reshape(cluster.lift)
    return total


def decoded(tree: BucketTree, side: Side, states: Ints) -> Ints:
    """Set the eliminated variables, those that went last first, each to its best state by its mini-buckets."""
    result = states.copy()
    for bucket in reversed(list(tree.buckets())):
        variable = tree.clusters[bucket[0]].axes[0]
        scores = np.zeros(tree.sizes[variable])
        for c in bucket:
            cluster = tree.clusters[c]
            others = result[list(cluster.axes[1:])]
            scores = scores + _row(side.tables[c], others)
            for sender in cluster.senders:
                scores = scores + _row(side.messages[sender].reshape(tree.clusters[sender].lift), others)
        result[variable] = int(scores.argmax())
    return result


def _row(table: Floats, others: Ints) -> Floats:
    """The numbers along the first axis at the states of the others; axes of length one have one number for all."""
    places = [state if length > 1 else 0 for state, length in zip(others.tolist(), table.shape[1:], strict=True)]
    return np.asarray(table[(slice(None), *places)])
