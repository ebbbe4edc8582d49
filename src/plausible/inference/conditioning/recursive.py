"""Recursive conditioning: exact sums in as little memory as one likes, at the price of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from itertools import combinations
from itertools import product as cartesian
from typing import TypeAlias

import numpy as np

from plausible.base import QueryInfo
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.graphs import UndirectedGraph, elimination_order
from plausible.graphs.nodes import Node
from plausible.inference.conditioning.conditioning_plan import (
    STEP,
    ConditioningPlan,
    decomposition_tree,
    plan_conditioning,
)
from plausible.inference.elimination import SumProduct, log_marginalize
from plausible.variables import State

MAX_TABLE_ENTRIES = 2**20  # 8 MiB fit into the caches of a processor, or nearly so
MAX_CACHE_ENTRIES = 2**24  # 128 MiB of remembered values
MAX_COST = 10**12  # About an hour

#: A factor (or its logarithm) and the power of two taken out of it.
_Value: TypeAlias = tuple[Factor, int]

#: Yields nodes, is sent their values, and returns a value.
_Evaluation: TypeAlias = Generator[int, _Value | None, _Value]


def condition_plan(
    factors: Iterable[Factor],
    targets: Sequence[str],
    order: Sequence[str] | None = None,
    max_table_entries: int = MAX_TABLE_ENTRIES,
    max_cache_entries: int = MAX_CACHE_ENTRIES,
) -> ConditioningPlan:
    """What `conditioned_sum` would do with the same arguments, and its price; no table is touched."""
    if max_table_entries < 1 or max_cache_entries < 0:
        raise InvalidArgument(
            f"max_table_entries={max_table_entries} must be positive, and max_cache_entries={max_cache_entries} not "
            "negative."
        )
    listed = list(factors)
    scopes = [factor.names for factor in listed]
    sizes = {variable.name: variable.num_states for variable in union_scope(factor.scope for factor in listed)}
    if order is None:
        graph = UndirectedGraph((pair for scope in scopes for pair in combinations(scope, 2)), nodes=sizes)
        cardinalities: dict[Node, int] = dict(sizes.items())
        chosen = elimination_order(graph, "weighted-min-fill", cardinalities=cardinalities, keep=targets)
        order = [str(name) for name in chosen]
    tree = decomposition_tree(scopes or [()], order, targets)
    return plan_conditioning(tree, sizes, max_table_entries, max_cache_entries)


def conditioned_sum(
    factors: Iterable[Factor],
    targets: Sequence[str],
    order: Sequence[str] | None = None,
    max_table_entries: int = MAX_TABLE_ENTRIES,
    max_cache_entries: int = MAX_CACHE_ENTRIES,
    max_cost: float = MAX_COST,
    progress: Callable[[float], None] | None = None,
) -> SumProduct:
    """Σ over all variables but `targets` of the product of the factors, within bounds on memory (Darwiche 2001).

    The factors are the leaves of a binary tree. At a node the sums over its two sides are independent once the
    variables that both have (the cutset) are known: Σ_cutset left × right. As long as a table over these variables and
    the context fits, all of it is built at once, and the whole is variable elimination. Where it does not, variables
    of the cutset are set to their states one after the other, and the two sides are summed for each. What a side
    gives for the same context again is remembered as far as the memory goes, the most valuable first. `progress` is
    told the part of the work that is done.

    Notes
    -----
    Memory: the remembered entries, and a few tables for each level of the tree at which variables are set. Time:
    `condition_plan(...).cost`. With room for everything it is that of variable elimination; with none it is
    exponential in the width times the depth of the tree.
    """
    listed = list(factors)
    plan = condition_plan(listed, targets, order, max_table_entries, max_cache_entries)
    if (cost := plan.cost + STEP * plan.num_steps) > max_cost:
        raise TooLarge(
            f"This would take too long: {plan}; that counts as {cost:.3g}, and max_cost is {max_cost:.3g}. Allow "
            "larger tables (max_table_entries) or more memory (max_cache_entries), or give more evidence."
        )
    listed = listed or [Factor.scalar(1.0)]
    info = QueryInfo(engine="recursive conditioning", cost=plan.cost, largest_table=plan.largest_table)
    try:
        with np.errstate(under="raise"):
            answer, exponent = _Run(plan, listed, _Linear, progress).value()
        return SumProduct(answer.reorder(targets), exponent * math.log(2), info)
    except FloatingPointError:  # numbers got too small for a float
        answer, _ = _Run(plan, listed, _Logarithms, progress).value()
    peak = answer.max() if answer.max() > -math.inf else 0.0
    return SumProduct((answer - peak).exp().reorder(targets), peak, info)


class _Run:
    """One evaluation of a plan: the states that are set, and the values that are remembered."""

    def __init__(
        self,
        plan: ConditioningPlan,
        factors: Sequence[Factor],
        arithmetic: type[_Linear | _Logarithms],
        progress: Callable[[float], None] | None,
    ) -> None:
        self.plan, self.tree, self.arithmetic = plan, plan.tree, arithmetic
        self.factors = [arithmetic.read(factor) for factor in factors]
        self.variables = {v.name: v for v in union_scope(factor.scope for factor in factors)}
        self.caches = {node: _Cache(*plan.key_names(node)) for node in plan.cached}
        self.fixed: dict[str, State] = {}
        self.progress, self.num_done = progress, 0

    def value(self) -> _Value:
        """The value of the root.

        A node whose variables are set runs in a generator that yields nodes of the same kind below it and is sent
        their values, so that the depth of the tree does not matter.
        """
        running = [self._conditioned(self.tree.root)]
        value: _Value | None = None
        while running:
            try:
                below = running[-1].send(value)
            except StopIteration as finished:
                running.pop()
                value = finished.value
            else:
                running.append(self._conditioned(below))
                value = None
        assert value is not None
        return value

    def _conditioned(self, node: int) -> _Evaluation:
        """Σ over the states of the variables that are set at a node."""
        names = self.plan.conditioned[node]
        total: _Value | None = None
        for chosen in cartesian(*(self.variables[name].states for name in names)):
            self.fixed.update(zip(names, chosen, strict=True))
            part = yield from self._joined(node)
            total = part if total is None else self.arithmetic.add(total, part)
        for name in names:
            del self.fixed[name]
        assert total is not None
        return total

    def _joined(self, top: int) -> _Evaluation:
        """The value of a node whose own variables are set: its subtree in post-order."""
        values: list[_Value] = []
        tasks = [(top, False)]
        while tasks:
            node, has_values = tasks.pop()
            if has_values:
                right, left = values.pop(), values.pop()
                hidden = self.tree.closed[node].difference(self.plan.conditioned[node])
                values.append(self.arithmetic.join(left, right, hidden))
                self._finish(node, node == top, values[-1])
            elif node != top and node in self.caches and (known := self.caches[node].get(self.fixed)) is not None:
                values.append(known)
            elif not self.tree.children[node]:
                factor, exponent = self.factors[node]
                hidden = self.tree.closed[node]
                values.append((self.arithmetic.sum_out(factor.reduce(self.fixed), hidden), exponent))
                self._finish(node, node == top, values[-1])
            elif node != top and self.plan.conditioned[node]:
                received = yield node
                assert received is not None
                values.append(received)
                self._remember(node, received)
            else:
                tasks.append((node, True))
                tasks.extend((child, False) for child in reversed(self.tree.children[node]))
        return values.pop()

    def _finish(self, node: int, is_top: bool, value: _Value) -> None:
        self.num_done += 1
        if self.progress is not None and self.num_done % 256 == 0:
            self.progress(min(self.num_done / self.plan.num_steps, 1.0))
        if not is_top:
            self._remember(node, value)

    def _remember(self, node: int, value: _Value) -> None:
        if node in self.caches:
            self.caches[node].put(self.fixed, value)


class _Cache:
    """The values of one node by the states of the set variables that it depends on.

    Values for old states of the outer ones are dropped: those states will not come back.
    """

    def __init__(self, outer: Sequence[str], inner: Sequence[str]) -> None:
        self.outer, self.inner = outer, inner
        self.now: tuple[State, ...] = ()
        self.values: dict[tuple[State, ...], _Value] = {}

    def get(self, fixed: Mapping[str, State]) -> _Value | None:
        """The value, if it is there."""
        if self.now != (now := tuple(fixed[name] for name in self.outer)):
            self.now = now
            self.values.clear()
        return self.values.get(tuple(fixed[name] for name in self.inner))

    def put(self, fixed: Mapping[str, State], value: _Value) -> None:
        """Remember a value that `get` did not find."""
        self.values[tuple(fixed[name] for name in self.inner)] = value


class _Linear:
    """Numbers as they are, with powers of two taken out; `FloatingPointError` where they get too small."""

    @staticmethod
    def read(factor: Factor, exponent: int = 0) -> _Value:
        """A factor with its largest entry brought near one, where it is far from it."""
        shift = max(math.frexp(factor.max())[1], -1000)
        return (factor, exponent) if abs(shift) <= 32 else (factor * 2.0**-shift, exponent + shift)

    @staticmethod
    def sum_out(factor: Factor, hidden: Collection[str]) -> Factor:
        return factor.marginalize(hidden) if hidden else factor

    @classmethod
    def join(cls, left: _Value, right: _Value, hidden: Collection[str]) -> _Value:
        """Multiply, then sum variables out."""
        return cls.read((left[0] * right[0]).marginalize(hidden), left[1] + right[1])

    @staticmethod
    def add(one: _Value, other: _Value) -> _Value:
        low, high = sorted((one, other), key=lambda value: (value[0].max() > 0, value[1]))
        if low[0].max() == 0:
            return high
        gap = low[1] - high[1]
        if gap < -900:
            raise FloatingPointError
        return high[0] + (low[0] * 2.0**gap if gap else low[0]), high[1]


class _Logarithms:
    """The same on logarithms throughout: slower, and nothing can underflow."""

    @staticmethod
    def read(factor: Factor) -> _Value:
        return factor.log(), 0

    @staticmethod
    def sum_out(factor: Factor, hidden: Collection[str]) -> Factor:
        return log_marginalize(factor, list(hidden)) if hidden else factor

    @staticmethod
    def join(left: _Value, right: _Value, hidden: Collection[str]) -> _Value:
        return log_marginalize(left[0] + right[0], list(hidden)), 0

    @staticmethod
    def add(one: _Value, other: _Value) -> _Value:
        logs = np.logaddexp(one[0].flat, other[0].reorder(one[0].names).flat)
        return Factor.from_flat(one[0].scope, logs), 0
