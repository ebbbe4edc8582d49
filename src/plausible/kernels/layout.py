"""Clique trees laid out on flat arrays: from an elimination run to what `plausible.kernels.blocks` streams through.

No clique has a stored table. Its table is thought of as a product of *operands*: factors, messages of its children,
weights of observed states. All their numbers lie in one array, the *store*. The table's axes begin with those of the
separator from the parent, so that it is `rows x columns`; its trailing axes, up to some number of entries, form a
block, and the other ones, the outer axes, count the blocks. How an operand lies on the table is said by its strides
along the outer axes and by a *view* of a block: the sizes of the inner axes, adjacent ones merged, then the operand's
strides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.kernels.groups import grouped, holders_of, products
from plausible.kernels.jit import kernel
from plausible.kernels.operands import make_shelf, put_factors, put_findings, put_messages, put_results
from plausible.kernels.records import record_dtype


@kernel
def axis_orders(members: Ints, starts: Ints, parents: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The variables of each clique in axis order, and how many are its separator's.

    The separator's come first, in the parent's order, then the others, those that most children share first: axes that
    children don't share come last, so that messages meet long runs of the table.
    """
    axes = np.empty(members.size, dtype=np.int64)
    num_separator_axes = np.empty(parents.size, dtype=np.int64)
    shares = np.full(num_variables, -1, dtype=np.int64)  # how many children have it; -1 outside of the clique at hand
    child_starts, children = grouped(parents, parents.size)
    for c in range(parents.size - 1, -1, -1):
        clique = members[starts[c] : starts[c + 1]]
        for v in clique:
            shares[v] = 0
        for i in range(child_starts[c], child_starts[c + 1]):
            for k in range(starts[children[i]], starts[children[i] + 1]):
                if shares[members[k]] >= 0:
                    shares[members[k]] += 1
        above = axes[starts[parents[c]] : starts[parents[c] + 1]] if parents[c] >= 0 else axes[:0]
        num_separator_axes[c] = _sort_axes(clique, above, shares, axes[starts[c] : starts[c + 1]])
        for v in clique:
            shares[v] = -1
    return axes, num_separator_axes


@kernel
def _sort_axes(clique: Ints, above: Ints, shares: Ints, axes: Ints) -> int:
    """Write the axes of a clique under one with the axes `above`; how many they share, for which `shares` is lost."""
    num_shared = 0
    for v in above:
        if shares[v] >= 0:
            axes[num_shared] = v
            shares[v] = -1
            num_shared += 1
    place = num_shared
    for v in clique:
        if shares[v] >= 0:
            k = place
            while k > num_shared and (
                shares[v] > shares[axes[k - 1]] or (shares[v] == shares[axes[k - 1]] and v < axes[k - 1])
            ):
                axes[k] = axes[k - 1]
                k -= 1
            axes[k] = v
            place += 1
    return num_shared


@kernel
def smallest_holders(entries: Ints, holder_starts: Ints, holders: Ints) -> Ints:
    """The smallest clique that has each variable."""
    smallest = holders[holder_starts[:-1]]
    for v in range(smallest.size):
        for h in range(holder_starts[v], holder_starts[v + 1]):
            if entries[holders[h]] < entries[smallest[v]]:
                smallest[v] = holders[h]
    return smallest


@kernel
def homes_of(
    scopes: Ints, scope_starts: Ints, members: Ints, starts: Ints, entries: Ints, holder_starts: Ints, holders: Ints
) -> Ints:
    """The smallest clique that holds each scope: looked for among those with the variable that fewest have."""
    homes = np.zeros(scope_starts.size - 1, dtype=np.int64)
    marks = np.full(holder_starts.size - 1, -1, dtype=np.int64)
    for scope in range(homes.size):
        variables = scopes[scope_starts[scope] : scope_starts[scope + 1]]
        rarest, fewest = -1, holders.size + 1
        for v in variables:
            marks[v] = scope
            if holder_starts[v + 1] - holder_starts[v] < fewest:
                rarest, fewest = v, holder_starts[v + 1] - holder_starts[v]
        best = -1
        for h in range(holder_starts[rarest], holder_starts[rarest] + fewest if rarest >= 0 else 0):
            clique = holders[h]
            if best < 0 or entries[clique] < entries[best]:
                found = 0
                for k in range(starts[clique], starts[clique + 1]):
                    found += marks[members[k]] == scope
                if found == variables.size:
                    best = clique
        homes[scope] = max(best, 0)  # a number on its own, without variables, goes anywhere
    return homes


Records = NDArray[Any]

#: The most entries of a block: such that it stays in the cache nearest to the processor, and for the interpreter, which
#: takes as long for a call as for many entries.
BLOCK, WIDE_BLOCK = 2**10, 2**14

_CLIQUE_FIELDS = [
    "parent",  # its position; -1 for a root
    "rows",  # the entries of the separator
    "columns",  # the entries of the other variables
    "block",  # the entries of a block
    "num_blocks",
    "num_outer",  # how many outer axes there are
    "outer_start",  # where their sizes begin
    "message",  # where its message to the parent lies in the store
    "ratio",  # where the answer of the parent lies: what beliefs are multiplied by on the way down
    "marginal",  # where the sums over the rows lie
    "table",  # where its table would begin, were all tables in a row
    "first",  # its operands are `operands[first:last]`
    "last",
    "separator",  # the operand of its own message
    "column_sums",  # the operand of the sums over rows
    "live",  # where the flags of its blocks begin
    "delivery",  # the operand of its parent that its message is
    "holds",  # where its variables begin, in axis order
    "num_axes",
    "num_separator_axes",
]


class Clique(np.void):  # type: ignore[misc]  # final in the stubs only
    """The record of a clique."""


CLIQUE = record_dtype(Clique, _CLIQUE_FIELDS)


class Extent(NamedTuple):
    """How much room a layout takes."""

    store: int  # The numbers of all operands
    #: Those of all tables together.
    entries: int
    blocks: int
    #: The most entries of a table and of a block, and the most operands and axes of a clique.
    table: int
    block: int
    operands: int
    axes: int


@kernel(steps=lambda members, starts, parents, sizes, scopes, *_: 40 * (members.size + scopes.size))
def lay_out(
    members: Ints, starts: Ints, parents: Ints, sizes: Ints, scopes: Ints, scope_starts: Ints, most: int
) -> tuple[Records, Records, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Extent]:
    """The layout of a forest of cliques, with the factors' numbers at the beginning of the store.

    Blocks have at most so many entries.

    Returns
    -------
    cliques, operands, axes, outer_sizes, strides, views, readings, finding_operands, weight_starts, extent
        `readings` has for each variable the clique that has it among its columns, and the numbers of columns' entries
        before and after its axis; `finding_operands` the clique that its observed states' weights are multiplied
        into, and the operand there; `weight_starts` where in the store these weights lie, after the factors.
    """
    lengths = products(scopes, scope_starts, sizes).astype(np.int64)
    weight_starts = _weight_starts(sizes, lengths.sum())
    axes, num_separator_axes = axis_orders(members, starts, parents, sizes.size)
    cliques, outer_sizes, store = _shape_all(axes, starts, parents, num_separator_axes, sizes, weight_starts[-1], most)
    entries = cliques["rows"] * cliques["columns"]
    holder_starts, holders = holders_of(members, starts, sizes.size)
    homes = homes_of(scopes, scope_starts, members, starts, entries, holder_starts, holders)
    finding_homes = smallest_holders(entries, holder_starts, holders)
    shelf = make_shelf(sizes, axes, cliques, homes, finding_homes)
    put_factors(shelf, homes, scopes, scope_starts, lengths)
    put_messages(shelf)
    finding_operands = put_findings(shelf, finding_homes, weight_starts)
    put_results(shelf)
    return (
        cliques,
        shelf.operands,
        axes,
        outer_sizes,
        shelf.strides[: shelf.used[0]],
        shelf.views[: shelf.used[1]],
        _readings(axes, cliques, sizes),
        finding_operands,
        weight_starts,
        _extent(cliques, store),
    )


@kernel
def _extent(cliques: Records, store: int) -> Extent:
    entries, blocks, table, block, operands, axes = 0, 0, 0, 1, 0, 0
    for c in range(cliques.size):
        clique = cliques[c]
        entries += clique.rows * clique.columns
        blocks += clique.num_blocks
        table = max(table, clique.rows * clique.columns)
        block = max(block, clique.block)
        operands = max(operands, clique.last - clique.first + 2)
        axes = max(axes, clique.num_axes)
    return Extent(store, entries, blocks, table, block, operands, axes)


@kernel
def _weight_starts(sizes: Ints, store: int) -> Ints:
    """Where each variable's weights lie, one after the other from `store` on; then where they end."""
    starts = np.empty(sizes.size + 1, dtype=np.int64)
    starts[0] = store
    for v in range(sizes.size):
        starts[v + 1] = starts[v] + sizes[v]
    return starts


@kernel
def _shape_all(
    axes: Ints, starts: Ints, parents: Ints, num_separator_axes: Ints, sizes: Ints, store: int, most: int
) -> tuple[Records, Ints, int]:
    """The cliques, but for their operands, the sizes of their outer axes, and where in the store their messages end."""
    cliques = np.zeros(parents.size, dtype=CLIQUE)
    outer_sizes = np.empty(axes.size, dtype=np.int64)
    num_outer_sizes, table, live = 0, 0, 0
    for c in range(parents.size):
        clique = cliques[c]
        clique.parent, clique.holds, clique.num_separator_axes = parents[c], starts[c], num_separator_axes[c]
        _shape(clique, axes[starts[c] : starts[c + 1]], sizes, most)
        clique.outer_start, clique.table, clique.live = num_outer_sizes, table, live
        clique.message, clique.ratio, clique.marginal = store, store + clique.rows, store + 2 * clique.rows
        for k in range(starts[c], starts[c] + clique.num_outer):
            outer_sizes[num_outer_sizes] = sizes[axes[k]]
            num_outer_sizes += 1
        store += 2 * clique.rows + clique.columns
        table += clique.rows * clique.columns
        live += clique.num_blocks
    return cliques, outer_sizes[:num_outer_sizes], store


@kernel
def _shape(clique: Any, axes: Ints, sizes: Ints, most: int) -> None:
    """The rows, columns and blocks of a clique."""
    clique.rows, clique.columns, clique.block, clique.num_blocks = 1, 1, 1, 1
    inner = axes.size
    while inner > 0 and (clique.block * sizes[axes[inner - 1]] <= most or clique.block == 1):
        inner -= 1
        clique.block *= sizes[axes[inner]]
    clique.num_axes, clique.num_outer = axes.size, inner
    for k in range(axes.size):
        if k < clique.num_separator_axes:
            clique.rows *= sizes[axes[k]]
        else:
            clique.columns *= sizes[axes[k]]
        if k < inner:
            clique.num_blocks *= sizes[axes[k]]


@kernel
def _readings(axes: Ints, cliques: Records, sizes: Ints) -> Ints:
    readings = np.zeros((sizes.size, 3), dtype=np.int64)
    for c in range(cliques.size):
        clique = cliques[c]
        before, after = 1, clique.columns
        for k in range(clique.holds + clique.num_separator_axes, clique.holds + clique.num_axes):
            v = axes[k]
            after //= sizes[v]
            readings[v, 0], readings[v, 1], readings[v, 2] = c, before, after
            before *= sizes[v]
    return readings
