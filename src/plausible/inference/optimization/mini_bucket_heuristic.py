"""A static heuristic for depth-first search: what mini-buckets send bounds all that is not set yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.factors.alignment import reduce_axes
from plausible.inference.exact_map.bound_plan import BoundPlan, plan_bound


@dataclass(frozen=True, slots=True, eq=False)
class Heuristic:
    """Tables in the order in which variables are set: position d is the d-th variable to be set."""

    order: Ints  # the variable of each position
    sizes: Ints  # the number of states at each position
    scope_starts: Ints  # the positions of each table, and how far apart the entries of their states are
    scopes: Ints
    strides: Ints
    table_starts: Ints  # the entries of each table: logarithms
    logs: Floats
    added_starts: Ints  # the tables that are known once position d is set, and not before
    added: Ints
    taken_starts: Ints  # the messages that stood for them until then
    taken: Ints
    upper: float  # the bound when nothing is set
    largest: int  # the entries of the largest table

    def entries(self, table: int) -> Floats:
        """The entries of one table."""
        return self.logs[self.table_starts[table] : self.table_starts[table + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    axes: tuple[int, ...]
    values: Floats


def mini_bucket_heuristic(
    scopes: Sequence[tuple[int, ...]], tables: Sequence[Floats], sizes: Sequence[int], max_entries: int
) -> Heuristic:
    """Eliminate all variables by maximising, in mini-buckets that fit, and keep what they send (Kask & Dechter 2001).

    A variable whose table does not fit is given copies that need not agree, which can only raise the maximum. Set in
    the opposite order, f(x₁..x_d) = Σ log φ known so far + Σ messages from variables that are not set to those that are
    bounds every completion, and changes by a few table entries from one variable to the next.

    Examples
    --------
    >>> ring = [(0, 1), (1, 2), (0, 2)]
    >>> tables = [np.array([[0.0, -1.0], [-2.0, 0.0]])] * 2 + [np.array([[-3.0, 0.0], [0.0, -3.0]])]
    >>> exact, loose = (mini_bucket_heuristic(ring, tables, [2, 2, 2], limit).upper for limit in (8, 4))
    >>> float(exact), float(loose)
    (-1.0, 0.0)
    """
    plan = plan_bound(scopes, sizes, range(len(sizes)), max_entries)
    everything = [_Table(scope, table) for scope, table in zip(scopes, tables, strict=True)]
    for bucket in plan.buckets:
        axes = (*sorted(bucket.scope - {bucket.variable}), bucket.variable)
        total = np.zeros([sizes[variable] for variable in axes])
        for member in bucket.members:
            total += _lifted(everything[member], axes)
        everything.append(_Table(axes[:-1], reduce_axes(np.maximum, total, (len(axes) - 1,)).reshape(total.shape[:-1])))
    return _arranged(plan, everything, len(scopes), sizes)


def _lifted(table: _Table, axes: Sequence[int]) -> Floats:
    """The values with their axes in another order, and one of length one for each variable that they lack."""
    own = sorted(range(len(table.axes)), key=lambda axis: axes.index(table.axes[axis]))
    lengths = dict(zip(table.axes, table.values.shape, strict=True))
    return table.values.transpose(own).reshape([lengths.get(variable, 1) for variable in axes])


def _arranged(plan: BoundPlan, tables: Sequence[_Table], num_factors: int, sizes: Sequence[int]) -> Heuristic:
    order = list(dict.fromkeys(bucket.variable for bucket in reversed(plan.buckets)))
    position = {variable: place for place, variable in enumerate(order)}
    added: list[list[int]] = [[] for _ in order]
    taken: list[list[int]] = [[] for _ in order]
    for place, bucket in enumerate(plan.buckets):
        added[position[bucket.variable]] += bucket.members
        taken[position[bucket.variable]].append(num_factors + place)
    scopes = [[position[variable] for variable in table.axes] for table in tables]
    strides = [[step // table.values.itemsize for step in _steps(table.values)] for table in tables]
    sent = [table for table in tables[num_factors:] if not table.axes]
    return Heuristic(
        order=np.array(order, dtype=np.int64),
        sizes=np.array([sizes[variable] for variable in order], dtype=np.int64),
        scope_starts=starts_of(map(len, scopes)),
        scopes=_joined(scopes),
        strides=_joined(strides),
        table_starts=starts_of(table.values.size for table in tables),
        logs=np.concatenate([table.values.ravel() for table in tables]) if tables else np.zeros(0),
        added_starts=starts_of(map(len, added)),
        added=_joined(added),
        taken_starts=starts_of(map(len, taken)),
        taken=_joined(taken),
        upper=float(sum(float(table.values) for table in sent)),
        largest=plan.num_largest,
    )


def _steps(values: Floats) -> tuple[int, ...]:
    return np.ascontiguousarray(values).strides if values.ndim else ()


def _joined(lists: Sequence[Sequence[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)
