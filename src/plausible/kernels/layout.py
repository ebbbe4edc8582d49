"""Clique trees laid out on flat arrays: from an elimination run to what `plausible.kernels.blocks` streams through.

No clique has a stored table. Its table is thought of as a product of *operands*: factors, messages of its children,
weights of observed states. All their numbers lie in one array, the *store*. The table's axes begin with those of the
separator from the parent, so that it is `rows x columns`; its trailing axes, up to `BLOCK` entries, form a block, and
the other ones, the outer axes, count the blocks. How an operand lies on the table is said by its strides along the
outer axes and by a *view* of a block: the sizes of the inner axes, adjacent ones merged, then the operand's strides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["BLOCK", "CLIQUE", "OPERAND", "join_cliques", "lay_out"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

BLOCK = 1024

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
_OPERAND_FIELDS = [
    "start",  # where it lies in the store
    "size",
    "look",  # where its view of a block begins
    "num_inner",  # how many axes that has
    "strides",  # where its strides along the outer axes begin
    "variable",  # whose observed states these are the weights of; -1 for none
    "child",  # whose message this is; -1 for none
    "is_fixed",  # the same in all blocks
    "is_flat",  # constant in a block
]
CLIQUE = np.dtype([(name, np.int64) for name in _CLIQUE_FIELDS])
OPERAND = np.dtype([(name, np.int64) for name in _OPERAND_FIELDS])


class Shelf(NamedTuple):
    """Where operands are put.

    Attributes
    ----------
    sizes, axes, cliques
        The variables' sizes, the variables of the cliques in axis order, and the cliques.
    operands, places
        The operands, and where the next one of each clique goes.
    strides, views, used
        How operands lie on their cliques, and how many items of the two arrays are used.
    steps
        Scratch: the stride of each variable in the operand at hand, otherwise zero.
    """

    sizes: Ints
    axes: Ints
    cliques: Records
    operands: Records
    places: Ints
    strides: Ints
    views: Ints
    used: Ints
    steps: Ints


@kernel
def _grouped(keys: Ints, num: int) -> tuple[Ints, Ints]:
    """The places at which key k stands are `places[starts[k]:starts[k + 1]]`; negative keys are left out."""
    starts = np.zeros(num + 1, dtype=np.int64)
    for key in keys:
        if key >= 0:
            starts[key + 1] += 1
    starts = np.cumsum(starts)
    places, free = np.empty(starts[-1], dtype=np.int64), starts.copy()
    for place in range(keys.size):
        if keys[place] >= 0:
            places[free[keys[place]]] = place
            free[keys[place]] += 1
    return starts, places


@kernel
def _products(variables: Ints, starts: Ints, sizes: Ints) -> Floats:
    """The entries of tables over `variables[starts[i]:starts[i + 1]]`; floats, for they may be beyond all bounds."""
    entries = np.ones(starts.size - 1)
    for i in range(entries.size):
        for k in range(starts[i], starts[i + 1]):
            entries[i] *= sizes[variables[k]]
    return entries


# --- from an elimination run to a forest ---


@kernel
def join_cliques(order: Ints, cliques: Ints, clique_starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The maximal cliques of an elimination run as a forest, children before parents: (members, starts, parents).

    The clique of a step hangs under that of the next variable in it. One that a child contains (it then has one
    variable less) is taken over by that child. Each tree is rooted at its smallest clique.
    """
    above = _steps_above(order, cliques, clique_starts)
    keepers = _keepers(above, clique_starts)
    walk, uppers = _rooted(above, keepers, _products(cliques, clique_starts, sizes))
    count = walk.size
    positions = np.empty(order.size, dtype=np.int64)
    for k in range(count):
        positions[walk[k]] = count - 1 - k
    starts, parents = np.zeros(count + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
    for position in range(count):
        step, upper = walk[count - 1 - position], uppers[count - 1 - position]
        starts[position + 1] = starts[position] + clique_starts[step + 1] - clique_starts[step]
        parents[position] = positions[upper] if upper >= 0 else -1
    members = np.empty(starts[-1], dtype=np.int64)
    for position in range(count):
        step = walk[count - 1 - position]
        members[starts[position] : starts[position + 1]] = cliques[clique_starts[step] : clique_starts[step + 1]]
    return members, starts, parents


@kernel
def _steps_above(order: Ints, cliques: Ints, clique_starts: Ints) -> Ints:
    """For each step the next one that eliminates a variable of its clique; -1 for none."""
    ranks = np.empty(order.size, dtype=np.int64)
    for step in range(order.size):
        ranks[order[step]] = step
    above = np.full(order.size, -1, dtype=np.int64)
    for step in range(order.size):
        for k in range(clique_starts[step] + 1, clique_starts[step + 1]):
            if above[step] < 0 or ranks[cliques[k]] < above[step]:
                above[step] = ranks[cliques[k]]
    return above


@kernel
def _keepers(above: Ints, clique_starts: Ints) -> Ints:
    """For each step the one whose clique contains that of this step, itself where it is maximal."""
    keepers = np.arange(above.size)
    for step in range(above.size):
        parent = above[step]
        if parent >= 0 and keepers[parent] == parent:
            size = clique_starts[parent + 1] - clique_starts[parent]
            if clique_starts[step + 1] - clique_starts[step] == size + 1:
                keepers[parent] = keepers[step]
    return keepers


@kernel
def _rooted(above: Ints, keepers: Ints, entries: Floats) -> tuple[Ints, Ints]:
    """The kept cliques from the roots down, and the one above each, -1 above a root."""
    num = keepers.size
    ends = np.full(2 * num, -1, dtype=np.int64)  # of the edge of step s: at 2s and 2s + 1
    for step in range(num):
        if above[step] >= 0 and keepers[step] != keepers[above[step]]:
            ends[2 * step], ends[2 * step + 1] = keepers[step], keepers[above[step]]
    starts, places = _grouped(ends, num)
    walk, uppers = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    seen = np.zeros(num, dtype=np.int64)
    count = 0
    for start in range(num):
        if keepers[start] == start and not seen[start]:
            size = _walk(start, 1, ends, starts, places, seen, walk[count:], uppers[count:])
            root = start
            for clique in walk[count : count + size]:
                if entries[clique] < entries[root]:
                    root = clique
            _walk(root, 2, ends, starts, places, seen, walk[count:], uppers[count:])
            count += size
    return walk[:count], uppers[:count]


@kernel
def _walk(root: int, mark: int, ends: Ints, starts: Ints, places: Ints, seen: Ints, walk: Ints, uppers: Ints) -> int:
    """Walk through a tree, nearest first, and mark it; how many cliques it has."""
    walk[0], uppers[0], seen[root] = root, -1, mark
    begin, end = 0, 1
    while begin < end:
        clique = walk[begin]
        for k in range(starts[clique], starts[clique + 1]):
            other = ends[places[k] ^ 1]
            if seen[other] != mark:
                walk[end], uppers[end], seen[other] = other, clique, mark
                end += 1
        begin += 1
    return end


# --- axes, and the homes of factors ---


@kernel
def _axis_orders(members: Ints, starts: Ints, parents: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The variables of each clique in axis order, and how many are its separator's.

    The separator's come first, in the parent's order, then the others, those that most children share first: axes that
    children don't share come last, so that messages meet long runs of the table.
    """
    axes = np.empty(members.size, dtype=np.int64)
    num_separator_axes = np.empty(parents.size, dtype=np.int64)
    shares = np.full(num_variables, -1, dtype=np.int64)  # how many children have it; -1 outside of the clique at hand
    child_starts, children = _grouped(parents, parents.size)
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
def _smallest_holders(entries: Ints, holder_starts: Ints, holders: Ints) -> Ints:
    """The smallest clique that has each variable."""
    smallest = holders[holder_starts[:-1]]
    for v in range(smallest.size):
        for h in range(holder_starts[v], holder_starts[v + 1]):
            if entries[holders[h]] < entries[smallest[v]]:
                smallest[v] = holders[h]
    return smallest


@kernel
def _holders(members: Ints, starts: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The cliques that have v are `holders[holder_starts[v]:holder_starts[v + 1]]`."""
    holder_starts, holders = _grouped(members, num_variables)
    owners = np.empty(members.size, dtype=np.int64)
    for c in range(starts.size - 1):
        owners[starts[c] : starts[c + 1]] = c
    for h in range(holders.size):
        holders[h] = owners[holders[h]]
    return holder_starts, holders


@kernel
def _homes(
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


# --- the layout ---


@kernel
def _weight_starts(sizes: Ints, store: int) -> Ints:
    """Where each variable's weights lie, one after the other from `store` on; then where they end."""
    starts = np.empty(sizes.size + 1, dtype=np.int64)
    starts[0] = store
    for v in range(sizes.size):
        starts[v + 1] = starts[v] + sizes[v]
    return starts


@kernel
def _shape(clique: Any, axes: Ints, sizes: Ints) -> None:
    """The rows, columns and blocks of a clique."""
    clique.rows, clique.columns, clique.block, clique.num_blocks = 1, 1, 1, 1
    inner = axes.size
    while inner > 0 and (clique.block * sizes[axes[inner - 1]] <= BLOCK or clique.block == 1):
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
def _shape_all(
    axes: Ints, starts: Ints, parents: Ints, num_separator_axes: Ints, sizes: Ints, store: int
) -> tuple[Records, Ints, int]:
    """The cliques, but for their operands, the sizes of their outer axes, and where in the store their messages end."""
    cliques = np.zeros(parents.size, dtype=CLIQUE)
    outer_sizes = np.empty(axes.size, dtype=np.int64)
    num_outer_sizes, table, live = 0, 0, 0
    for c in range(parents.size):
        clique = cliques[c]
        clique.parent, clique.holds, clique.num_separator_axes = parents[c], starts[c], num_separator_axes[c]
        _shape(clique, axes[starts[c] : starts[c + 1]], sizes)
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
def _shelf(sizes: Ints, axes: Ints, cliques: Records, homes: Ints, finding_homes: Ints) -> Shelf:
    """A shelf with room for the operands of each clique: those that are at home there, messages, its own two."""
    counts = np.full(cliques.size, 2, dtype=np.int64)
    for home in homes:
        counts[home] += 1
    for home in finding_homes:
        counts[home] += 1
    for c in range(cliques.size):
        if cliques[c].parent >= 0:
            counts[cliques[c].parent] += 1
    num_operands, num_strides, num_views = 0, 0, 0
    for c in range(cliques.size):
        cliques[c].first = num_operands
        num_operands += counts[c]
        num_strides += counts[c] * cliques[c].num_outer
        num_views += counts[c] * 2 * max(1, cliques[c].num_axes - cliques[c].num_outer)
    operands = np.zeros(num_operands, dtype=OPERAND)
    strides, views = np.empty(num_strides, dtype=np.int64), np.empty(num_views, dtype=np.int64)
    used, steps = np.zeros(2, dtype=np.int64), np.zeros(sizes.size, dtype=np.int64)
    return Shelf(sizes, axes, cliques, operands, cliques["first"].copy(), strides, views, used, steps)


@kernel
def _put(shelf: Shelf, home: int, start: int, size: int, variables: Ints) -> int:
    """Put an operand over some variables, in axis order, on a clique; its position."""
    sizes, steps, used = shelf.sizes, shelf.steps, shelf.used
    position = shelf.places[home]
    shelf.places[home] += 1
    clique, operand = shelf.cliques[home], shelf.operands[position]
    operand.start, operand.size, operand.variable, operand.child = start, size, -1, -1
    operand.strides, operand.look = used[0], used[1]
    stride = 1
    for k in range(variables.size - 1, -1, -1):
        steps[variables[k]] = stride
        stride *= sizes[variables[k]]
    axes = shelf.axes[clique.holds : clique.holds + clique.num_axes]
    strides, view = shelf.strides[used[0] :], shelf.views[used[1] :]
    operand.is_fixed = 1
    for k in range(clique.num_outer):
        strides[k] = steps[axes[k]]
        if strides[k]:
            operand.is_fixed = 0
    operand.num_inner = _merge(axes[clique.num_outer :], sizes, steps, view)
    operand.is_flat = 1 if operand.num_inner == 1 and view[1] == 0 else 0
    used[0] += clique.num_outer
    used[1] += 2 * operand.num_inner
    for v in variables:
        steps[v] = 0
    return int(position)


@kernel
def _merge(axes: Ints, sizes: Ints, steps: Ints, view: Ints) -> int:
    """Write the view that has these axes, one where an axis goes on where the one before ends; how many are left."""
    count = 0
    for v in axes:
        if sizes[v] == 1:
            continue
        if count and view[2 * count - 1] == steps[v] * sizes[v]:
            view[2 * count - 2] *= sizes[v]
            view[2 * count - 1] = steps[v]
        else:
            view[2 * count], view[2 * count + 1] = sizes[v], steps[v]
            count += 1
    if count == 0:
        view[0], view[1] = 1, 0
        count = 1
    return count


@kernel
def _put_factors(shelf: Shelf, homes: Ints, scopes: Ints, scope_starts: Ints, lengths: Ints) -> None:
    """The factors, which lie in the store one after the other; the largest first on each clique."""
    starts = np.cumsum(lengths) - lengths
    for scope in np.argsort(-lengths):
        variables = scopes[scope_starts[scope] : scope_starts[scope + 1]]
        _put(shelf, homes[scope], starts[scope], lengths[scope], variables)


@kernel
def _put_messages(shelf: Shelf) -> None:
    """The message of each clique on its parent."""
    for child in range(shelf.cliques.size):
        clique = shelf.cliques[child]
        if clique.parent >= 0:
            separator = shelf.axes[clique.holds : clique.holds + clique.num_separator_axes]
            clique.delivery = _put(shelf, clique.parent, clique.message, clique.rows, separator)
            shelf.operands[clique.delivery].child = child


@kernel
def _put_findings(shelf: Shelf, homes: Ints, weight_starts: Ints) -> Ints:
    """The weights of observed states; for each variable the clique and the operand there."""
    finding_operands = np.empty((homes.size, 2), dtype=np.int64)
    variables = np.arange(homes.size)
    for v in range(homes.size):
        position = _put(shelf, homes[v], weight_starts[v], shelf.sizes[v], variables[v : v + 1])
        shelf.operands[position].variable = v
        finding_operands[v, 0], finding_operands[v, 1] = homes[v], position
    return finding_operands


@kernel
def _put_results(shelf: Shelf) -> None:
    """What a clique adds up in, and so never multiplies by: its own message, and the sums over its rows."""
    for c in range(shelf.cliques.size):
        clique = shelf.cliques[c]
        clique.last = shelf.places[c]
        axes = shelf.axes[clique.holds : clique.holds + clique.num_axes]
        separator, columns = axes[: clique.num_separator_axes], axes[clique.num_separator_axes :]
        clique.separator = _put(shelf, c, clique.message, clique.rows, separator)
        clique.column_sums = _put(shelf, c, clique.marginal, clique.columns, columns)


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


@kernel
def lay_out(
    members: Ints, starts: Ints, parents: Ints, sizes: Ints, scopes: Ints, scope_starts: Ints
) -> tuple[Records, Records, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int]:
    """The layout of a forest of cliques, with the factors' numbers at the beginning of the store.

    Returns
    -------
    cliques, operands, axes, outer_sizes, strides, views, readings, finding_operands, weight_starts, store_size
        `readings` has for each variable the clique that has it among its columns, and the numbers of columns' entries
        before and after its axis; `finding_operands` the clique that its observed states' weights are multiplied
        into, and the operand there; `weight_starts` where in the store these weights lie, after the factors.
    """
    lengths = _products(scopes, scope_starts, sizes).astype(np.int64)
    weight_starts = _weight_starts(sizes, lengths.sum())
    axes, num_separator_axes = _axis_orders(members, starts, parents, sizes.size)
    cliques, outer_sizes, store = _shape_all(axes, starts, parents, num_separator_axes, sizes, weight_starts[-1])
    entries = cliques["rows"] * cliques["columns"]
    holder_starts, holders = _holders(members, starts, sizes.size)
    homes = _homes(scopes, scope_starts, members, starts, entries, holder_starts, holders)
    finding_homes = _smallest_holders(entries, holder_starts, holders)
    shelf = _shelf(sizes, axes, cliques, homes, finding_homes)
    _put_factors(shelf, homes, scopes, scope_starts, lengths)
    _put_messages(shelf)
    finding_operands = _put_findings(shelf, finding_homes, weight_starts)
    _put_results(shelf)
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
        store,
    )
