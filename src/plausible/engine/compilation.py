"""From the scopes of factors to a `Program`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul
from typing import TypeAlias

import numpy as np

from plausible.engine.program import Ints, Program
from plausible.engine.tree import RootedTree, build_tree

__all__ = ["compile_program"]

Axes: TypeAlias = tuple[int, ...]


@lru_cache(maxsize=64)
def compile_program(scopes: tuple[Axes, ...], sizes: tuple[int, ...], order: Axes | None = None) -> Program:
    """Lay out the exact inference over factors with these scopes; cached by structure.

    Parameters
    ----------
    scopes
        For each factor its variables, as numbers, in axis order.
    sizes
        The number of states of each variable.
    order
        An elimination order; the cheapest of several greedy ones where left out.

    Examples
    --------
    >>> print(compile_program(((0,), (0, 1), (1, 2)), (2, 2, 2)))
    2 cliques, width 1, 8 entries, 0.0 MiB, about 3e-07 s
    """
    tree = build_tree(scopes, sizes, order)
    above = set(tree.parents)
    axes, num_separator_axes = _axis_orders(tree)
    views = _Views()
    cliques, column_starts = _clique_rows(tree, axes, num_separator_axes, sizes, views)
    cliques_of = _cliques_of(tree, len(sizes))
    homes = _homes(scopes, tree, sizes, cliques_of)
    home_views = [views.add(axes[home], scope, sizes) for scope, home in zip(scopes, homes, strict=True)]
    loads, load_starts = _loads(scopes, sizes, homes, home_views, len(axes))
    finding_homes = _homes([(variable,) for variable in range(len(sizes))], tree, sizes, cliques_of)
    findings = [(home, views.add(axes[home], (variable,), sizes)) for variable, home in enumerate(finding_homes)]
    return Program(
        sizes=_array(sizes),
        cliques=cliques,
        axes=_array([variable for row in axes for variable in row]),
        axis_starts=_starts(len(row) for row in axes),
        num_separator_axes=_array(num_separator_axes),
        loads=loads,
        load_starts=load_starts,
        findings=_array(findings, width=2),
        readings=_readings(axes, num_separator_axes, sizes, views),
        holders=_array([position for row in cliques_of for position in row]),
        holder_starts=_starts(len(row) for row in cliques_of),
        has_children=_array([int(position in above) for position in range(len(axes))]),
        column_starts=column_starts,
        state_starts=_starts(sizes),
        views=_array(views.numbers),
        view_starts=_array(views.starts),
    )


class _Views:
    """Collects views; see the kernels for what they are."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.starts: list[int] = [0]

    def add(self, table: Axes, small: Sequence[int], sizes: Sequence[int]) -> int:
        """How an array over the variables `small` lies on one over `table`; returns the number of the view."""
        strides = dict(zip(small, _strides([sizes[variable] for variable in small]), strict=True))
        lengths: list[int] = []
        steps: list[int] = []
        for variable in table:
            size, stride = sizes[variable], strides.get(variable, 0)
            if size == 1:
                continue
            if steps and steps[-1] == stride * size:  # the axis before goes on where this one ends
                lengths[-1] *= size
                steps[-1] = stride
            else:
                lengths.append(size)
                steps.append(stride)
        self.numbers += [*lengths, *steps] if lengths else [1, 0]
        self.starts.append(len(self.numbers))
        return len(self.starts) - 2


def _strides(sizes: Sequence[int]) -> list[int]:
    return list(accumulate(reversed(sizes[1:]), mul, initial=1))[::-1] if sizes else []


def _axis_orders(tree: RootedTree) -> tuple[list[Axes], list[int]]:
    """The separator's variables in the parent's order, then the clique's own, those that most children share first.

    Axes that children don't share come last, so that messages meet long runs of the table.
    """
    children: list[list[int]] = [[] for _ in tree.cliques]
    for position, parent in enumerate(tree.parents):
        if parent >= 0:
            children[parent].append(position)
    axes: list[Axes] = [()] * len(tree.cliques)
    num_separator_axes = [0] * len(tree.cliques)
    for position in reversed(range(len(tree.cliques))):
        clique, parent = tree.cliques[position], tree.parents[position]
        separator = [variable for variable in axes[parent] if variable in clique] if parent >= 0 else []
        shared = {variable: sum(variable in tree.cliques[child] for child in children[position]) for variable in clique}
        own = sorted(clique.difference(separator), key=lambda variable: (-shared[variable], variable))
        axes[position] = (*separator, *own)
        num_separator_axes[position] = len(separator)
    return axes, num_separator_axes


def _clique_rows(
    tree: RootedTree, axes: Sequence[Axes], num_separator_axes: Sequence[int], sizes: Sequence[int], views: _Views
) -> tuple[Ints, Ints]:
    rows = [prod(sizes[v] for v in row[:count]) for row, count in zip(axes, num_separator_axes, strict=True)]
    columns = [prod(sizes[v] for v in row[count:]) for row, count in zip(axes, num_separator_axes, strict=True)]
    separator_views = [
        views.add(axes[parent], axes[position][: num_separator_axes[position]], sizes) if parent >= 0 else -1
        for position, parent in enumerate(tree.parents)
    ]
    table_starts = _starts(row * column for row, column in zip(rows, columns, strict=True))
    message_starts = _starts(2 * row for row in rows)
    fields = (table_starts[:-1], rows, columns, tree.parents, message_starts[:-1], separator_views)
    return _array(np.array(fields, dtype=np.int64).T.tolist(), width=6), _starts(columns)[:-1]


def _cliques_of(tree: RootedTree, num_variables: int) -> list[list[int]]:
    """For each variable the cliques that have it."""
    cliques_of: list[list[int]] = [[] for _ in range(num_variables)]
    for position, clique in enumerate(tree.cliques):
        for variable in clique:
            cliques_of[variable].append(position)
    return cliques_of


def _homes(
    scopes: Sequence[Sequence[int]], tree: RootedTree, sizes: Sequence[int], cliques_of: Sequence[Sequence[int]]
) -> list[int]:
    """For each scope the smallest clique that holds it."""
    entries = [prod(sizes[variable] for variable in clique) for clique in tree.cliques]
    homes: list[int] = []
    for scope in scopes:
        candidates = min((cliques_of[variable] for variable in scope), key=len, default=range(len(tree.cliques)))
        holding = (position for position in candidates if tree.cliques[position].issuperset(scope))
        homes.append(min(holding, key=entries.__getitem__))
    return homes


def _loads(
    scopes: Sequence[Axes], sizes: Sequence[int], homes: Sequence[int], home_views: Sequence[int], num_cliques: int
) -> tuple[Ints, Ints]:
    """The factors of each clique, the largest first: it fills the table, the others are multiplied in."""
    lengths = [prod(sizes[variable] for variable in scope) for scope in scopes]
    starts = _starts(lengths)
    members: list[list[tuple[int, int, int]]] = [[] for _ in range(num_cliques)]
    for factor, home in enumerate(homes):
        members[home].append((int(starts[factor]), lengths[factor], home_views[factor]))
    ordered = [sorted(rows, key=lambda row: -row[1]) for rows in members]
    return _array([row for rows in ordered for row in rows], width=3), _starts(len(rows) for rows in ordered)


def _readings(axes: Sequence[Axes], num_separator_axes: Sequence[int], sizes: Sequence[int], views: _Views) -> Ints:
    """Every variable is among the columns of exactly one clique: the one nearest to the root."""
    readings = [(0, 0)] * len(sizes)
    for position, (row, count) in enumerate(zip(axes, num_separator_axes, strict=True)):
        for variable in row[count:]:
            readings[variable] = (position, views.add(row[count:], (variable,), sizes))
    return _array(readings, width=2)


def _starts(lengths: Iterable[int]) -> Ints:
    return _array([0, *accumulate(lengths)])


def _array(numbers: Sequence[object], width: int | None = None) -> Ints:
    array = np.array(numbers, dtype=np.int64)
    array = array if width is None else array.reshape(-1, width)
    array.setflags(write=False)
    return array
