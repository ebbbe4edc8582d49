"""Clique trees laid out on flat arrays: from an elimination run to what `plausible.kernels.blocks` streams through.

No clique has a stored table. Its table is thought of as a product of *operands*: factors, messages of its children,
weights of observed states. All their numbers lie in one array, the *store*. The table's axes begin with those of the
separator from the parent, so that it is `rows x columns`; its trailing axes, up to `BLOCK` entries, form a block, and
the other ones, the outer axes, count the blocks. How an operand lies on the table is said by its strides along the
outer axes and by a *view* of a block: the sizes of the inner axes, adjacent ones merged, then the operand's strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["BLOCK", "CLIQUE", "OPERAND", "join_cliques", "lay_out"]

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


@kernel
def join_cliques(order: Ints, cliques: Ints, clique_starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The maximal cliques of an elimination run as a forest, children before parents: (members, starts, parents).

    The clique of a step hangs under that of the next variable in it. One that a child contains (it then has one
    variable less) is taken over by that child. Each tree is rooted at its smallest clique.
    """
    num = order.size
    rank = np.empty(num, dtype=np.int64)
    for step in range(num):
        rank[order[step]] = step
    lengths = np.diff(clique_starts)
    above = np.full(num, -1, dtype=np.int64)
    keeper = np.arange(num)
    for step in range(num):
        for k in range(clique_starts[step] + 1, clique_starts[step + 1]):
            if above[step] < 0 or rank[cliques[k]] < above[step]:
                above[step] = rank[cliques[k]]
        parent = above[step]
        if parent >= 0 and keeper[parent] == parent and lengths[step] - 1 == lengths[parent]:
            keeper[parent] = keeper[step]
    firsts, seconds = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    num_edges = 0
    for step in range(num):
        if above[step] >= 0 and keeper[step] != keeper[above[step]]:
            firsts[num_edges], seconds[num_edges] = keeper[step], keeper[above[step]]
            num_edges += 1
    walk, uppers = _rooted(keeper, firsts[:num_edges], seconds[:num_edges], cliques, clique_starts, sizes)
    position = np.full(num, -1, dtype=np.int64)
    count = walk.size
    for k in range(count):
        position[walk[k]] = count - 1 - k
    starts = np.zeros(count + 1, dtype=np.int64)
    parents = np.empty(count, dtype=np.int64)
    for k in range(count):
        starts[position[walk[k]] + 1] = lengths[walk[k]]
        parents[position[walk[k]]] = position[uppers[k]] if uppers[k] >= 0 else -1
    starts = np.cumsum(starts)
    members = np.empty(starts[-1], dtype=np.int64)
    for k in range(count):
        place = position[walk[k]]
        members[starts[place] : starts[place + 1]] = cliques[clique_starts[walk[k]] : clique_starts[walk[k] + 1]]
    return members, starts, parents


@kernel
def _rooted(
    keeper: Ints, firsts: Ints, seconds: Ints, cliques: Ints, clique_starts: Ints, sizes: Ints
) -> tuple[Ints, Ints]:
    """The kept cliques from the roots down, and the one above each, -1 above a root."""
    num = keeper.size
    counts = np.zeros(num + 1, dtype=np.int64)
    for k in range(firsts.size):
        counts[firsts[k] + 1] += 1
        counts[seconds[k] + 1] += 1
    starts = np.cumsum(counts)
    places = starts.copy()
    around = np.empty(2 * firsts.size, dtype=np.int64)
    for k in range(firsts.size):
        around[places[firsts[k]]] = seconds[k]
        places[firsts[k]] += 1
        around[places[seconds[k]]] = firsts[k]
        places[seconds[k]] += 1
    entries = np.ones(num)
    for step in range(num):
        for k in range(clique_starts[step], clique_starts[step + 1]):
            entries[step] *= sizes[cliques[k]]
    walk, uppers = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    seen = np.zeros(num, dtype=np.int64)
    count = 0
    for start in range(num):
        if keeper[start] != start or seen[start] == 2:
            continue
        root = start
        for passing in range(1, 3):  # first to find the smallest clique of the component, then to walk from it
            begin, end = count, count + 1
            walk[begin], uppers[begin] = (start, -1) if passing == 1 else (root, -1)
            seen[walk[begin]] = passing
            while begin < end:
                clique = walk[begin]
                if passing == 1 and entries[clique] < entries[root]:
                    root = clique
                for k in range(starts[clique], starts[clique + 1]):
                    if seen[around[k]] != passing:
                        seen[around[k]] = passing
                        walk[end], uppers[end] = around[k], clique
                        end += 1
                begin += 1
        count = end
    return walk[:count], uppers[:count]


@kernel
def _axis_orders(members: Ints, starts: Ints, parents: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The variables of each clique in axis order, and how many are its separator's.

    The separator's come first, in the parent's order, then the others, those that most children share first: axes that
    children don't share come last, so that messages meet long runs of the table.
    """
    axes = np.empty(members.size, dtype=np.int64)
    num_separator_axes = np.zeros(parents.size, dtype=np.int64)
    shared = np.zeros(members.size, dtype=np.int64)  # for each member how many children have it
    where = np.full(num_variables, -1, dtype=np.int64)
    child_starts = np.zeros(parents.size + 1, dtype=np.int64)
    for parent in parents:
        if parent >= 0:
            child_starts[parent + 1] += 1
    child_starts = np.cumsum(child_starts)
    places = child_starts.copy()
    children = np.empty(child_starts[-1], dtype=np.int64)
    for c in range(parents.size):
        if parents[c] >= 0:
            children[places[parents[c]]] = c
            places[parents[c]] += 1
    for c in range(parents.size - 1, -1, -1):
        for k in range(starts[c], starts[c + 1]):
            where[members[k]] = k
        for i in range(child_starts[c], child_starts[c + 1]):
            for k in range(starts[children[i]], starts[children[i] + 1]):
                if where[members[k]] >= 0:
                    shared[where[members[k]]] += 1
        place = starts[c]
        parent = parents[c]
        if parent >= 0:
            for k in range(starts[parent], starts[parent + 1]):
                if where[axes[k]] >= 0:
                    axes[place] = axes[k]
                    where[axes[k]] = -1
                    place += 1
        num_separator_axes[c] = place - starts[c]
        first = place
        for k in range(starts[c], starts[c + 1]):  # insertion sort by (fewer shared, number)
            if where[members[k]] >= 0:
                variable = members[k]
                j = place
                while j > first and (
                    shared[k] > shared[where[axes[j - 1]]]
                    or (shared[k] == shared[where[axes[j - 1]]] and variable < axes[j - 1])
                ):
                    axes[j] = axes[j - 1]
                    j -= 1
                axes[j] = variable
                place += 1
        for k in range(starts[c], starts[c + 1]):
            where[members[k]] = -1
    return axes, num_separator_axes


@kernel
def _homes(
    scopes: Ints, scope_starts: Ints, members: Ints, starts: Ints, entries: Ints, num_variables: int
) -> tuple[Ints, Ints]:
    """The smallest clique that holds each scope, and the smallest that has each variable."""
    counts = np.zeros(num_variables + 1, dtype=np.int64)
    for variable in members:
        counts[variable + 1] += 1
    holder_starts = np.cumsum(counts)
    places = holder_starts.copy()
    holders = np.empty(members.size, dtype=np.int64)
    for c in range(starts.size - 1):
        for k in range(starts[c], starts[c + 1]):
            holders[places[members[k]]] = c
            places[members[k]] += 1
    finding_homes = np.empty(num_variables, dtype=np.int64)
    for v in range(num_variables):
        best = holders[holder_starts[v]]
        for h in range(holder_starts[v] + 1, holder_starts[v + 1]):
            if entries[holders[h]] < entries[best]:
                best = holders[h]
        finding_homes[v] = best
    homes = np.zeros(scope_starts.size - 1, dtype=np.int64)
    marks = np.full(num_variables, -1, dtype=np.int64)
    for scope in range(homes.size):
        first, last = scope_starts[scope], scope_starts[scope + 1]
        if first == last:
            continue
        rarest = scopes[first]
        for k in range(first, last):
            marks[scopes[k]] = scope
            if holder_starts[scopes[k] + 1] - holder_starts[scopes[k]] < (
                holder_starts[rarest + 1] - holder_starts[rarest]
            ):
                rarest = scopes[k]
        best = -1
        for h in range(holder_starts[rarest], holder_starts[rarest + 1]):
            clique = holders[h]
            if best < 0 or entries[clique] < entries[best]:
                found = 0
                for k in range(starts[clique], starts[clique + 1]):
                    if marks[members[k]] == scope:
                        found += 1
                if found == last - first:
                    best = clique
        homes[scope] = best
    return homes, finding_homes


@kernel
def _grown(array: Ints, needed: int) -> Ints:
    if needed <= array.size:
        return array
    larger = np.empty(2 * needed + 64, dtype=np.int64)
    larger[: array.size] = array
    return larger


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
    num_cliques, num_variables = parents.size, sizes.size
    axes, num_separator_axes = _axis_orders(members, starts, parents, num_variables)
    cliques = np.zeros(num_cliques, dtype=CLIQUE)
    entries = np.ones(num_cliques, dtype=np.int64)
    lengths = np.ones(scope_starts.size - 1, dtype=np.int64)
    store = 0
    for scope in range(lengths.size):
        for k in range(scope_starts[scope], scope_starts[scope + 1]):
            lengths[scope] *= sizes[scopes[k]]
        store += lengths[scope]
    weight_starts = np.empty(num_variables + 1, dtype=np.int64)
    weight_starts[0] = store
    for v in range(num_variables):
        weight_starts[v + 1] = weight_starts[v] + sizes[v]
    store = weight_starts[num_variables]
    outer_sizes = np.empty(axes.size, dtype=np.int64)
    num_outer_sizes, tables, live = 0, 0, 0
    for c in range(num_cliques):
        clique = cliques[c]
        clique.parent = parents[c]
        clique.holds, clique.num_axes = starts[c], starts[c + 1] - starts[c]
        clique.num_separator_axes = num_separator_axes[c]
        clique.rows, clique.columns, clique.block, clique.num_blocks = 1, 1, 1, 1
        clique.outer_start = num_outer_sizes
        inner = starts[c + 1]
        while inner > starts[c] and (clique.block * sizes[axes[inner - 1]] <= BLOCK or clique.block == 1):
            inner -= 1
            clique.block *= sizes[axes[inner]]
        for k in range(starts[c], starts[c + 1]):
            if k < starts[c] + num_separator_axes[c]:
                clique.rows *= sizes[axes[k]]
            else:
                clique.columns *= sizes[axes[k]]
            if k < inner:
                clique.num_blocks *= sizes[axes[k]]
                outer_sizes[num_outer_sizes] = sizes[axes[k]]
                num_outer_sizes += 1
        clique.num_outer = inner - starts[c]
        clique.message = store
        clique.ratio = store + clique.rows
        clique.marginal = store + 2 * clique.rows
        store += 2 * clique.rows + clique.columns
        entries[c] = clique.rows * clique.columns
        clique.table = tables
        tables += entries[c]
        clique.live = live
        live += clique.num_blocks
    homes, finding_homes = _homes(scopes, scope_starts, members, starts, entries, num_variables)

    # --- the operands of each clique: factors, the largest first; messages of children; weights; its own two ---
    counts = np.full(num_cliques + 1, 2, dtype=np.int64)
    counts[0] = 0
    for home in homes:
        counts[home + 1] += 1
    for home in finding_homes:
        counts[home + 1] += 1
    for parent in parents:
        if parent >= 0:
            counts[parent + 1] += 1
    operand_starts = np.cumsum(counts)
    places = operand_starts.copy()
    operands = np.zeros(operand_starts[-1], dtype=OPERAND)
    strides = np.zeros(64, dtype=np.int64)
    views = np.zeros(256, dtype=np.int64)
    num_strides, num_views = 0, 0
    step = np.zeros(num_variables, dtype=np.int64)
    factor_starts = np.zeros(lengths.size, dtype=np.int64)
    if lengths.size:
        factor_starts[1:] = np.cumsum(lengths)[:-1]
    finding_operands = np.empty((num_variables, 2), dtype=np.int64)
    # kinds: factors, then children, then findings, then the clique's own message and column sums
    largest_first = np.argsort(-lengths)
    num_jobs = lengths.size + num_cliques + num_variables + 2 * num_cliques
    for job in range(num_jobs):
        k = job
        variable, child = -1, -1
        begin, end = 0, 0
        over = axes
        if k < lengths.size:
            scope = largest_first[k]
            home, start, size = homes[scope], factor_starts[scope], lengths[scope]
            over, begin, end = scopes, scope_starts[scope], scope_starts[scope + 1]
        elif k < lengths.size + num_cliques:
            child = k - lengths.size
            home, start, size = parents[child], cliques[child].message, cliques[child].rows
            begin, end = starts[child], starts[child] + num_separator_axes[child]
            if home < 0:
                continue
        elif k < lengths.size + num_cliques + num_variables:
            variable = k - lengths.size - num_cliques
            home, start, size = finding_homes[variable], weight_starts[variable], sizes[variable]
        else:
            home = (k - lengths.size - num_cliques - num_variables) // 2
            if (k - lengths.size - num_cliques - num_variables) % 2 == 0:
                start, size = cliques[home].message, cliques[home].rows
                begin, end = starts[home], starts[home] + num_separator_axes[home]
                cliques[home].first, cliques[home].last = operand_starts[home], places[home]
                cliques[home].separator = places[home]
            else:
                start, size = cliques[home].marginal, cliques[home].columns
                begin, end = starts[home] + num_separator_axes[home], starts[home + 1]
                cliques[home].column_sums = places[home]
        operand = operands[places[home]]
        if child >= 0:
            cliques[child].delivery = places[home]
        if variable >= 0:
            finding_operands[variable, 0], finding_operands[variable, 1] = home, places[home]
        places[home] += 1
        operand.start, operand.size, operand.variable, operand.child = start, size, variable, child
        if variable >= 0:
            step[variable] = 1
        stride = 1
        for i in range(end - 1, begin - 1, -1):
            step[over[i]] = stride
            stride *= sizes[over[i]]
        # --- how it lies on the table ---
        clique = cliques[home]
        num_axes = clique.num_axes
        strides = _grown(strides, num_strides + num_axes)
        views = _grown(views, num_views + 2 * num_axes + 2)
        operand.strides, operand.look, operand.is_fixed = num_strides, num_views, 1
        for i in range(clique.num_outer):
            jump = step[axes[starts[home] + i]]
            strides[num_strides + i] = jump
            if jump:
                operand.is_fixed = 0
        num_strides += clique.num_outer
        merged = 0
        for i in range(clique.num_outer, num_axes):
            length, jump = sizes[axes[starts[home] + i]], step[axes[starts[home] + i]]
            if length == 1:
                continue
            if merged and views[num_views + 2 * merged - 1] == jump * length:
                views[num_views + 2 * merged - 2] *= length
                views[num_views + 2 * merged - 1] = jump
            else:
                views[num_views + 2 * merged], views[num_views + 2 * merged + 1] = length, jump
                merged += 1
        if merged == 0:
            views[num_views], views[num_views + 1] = 1, 0
            merged = 1
        operand.num_inner = merged
        operand.is_flat = 1 if merged == 1 and views[num_views + 1] == 0 else 0
        num_views += 2 * merged
        if variable >= 0:
            step[variable] = 0
        for i in range(begin, end):
            step[over[i]] = 0
    readings = np.zeros((num_variables, 3), dtype=np.int64)
    for c in range(num_cliques):
        before, after = 1, cliques[c].columns
        for k in range(starts[c] + num_separator_axes[c], starts[c + 1]):
            after //= sizes[axes[k]]
            readings[axes[k], 0], readings[axes[k], 1], readings[axes[k], 2] = c, before, after
            before *= sizes[axes[k]]
    return (
        cliques,
        operands,
        axes,
        outer_sizes[:num_outer_sizes],
        strides[:num_strides],
        views[:num_views],
        readings,
        finding_operands,
        weight_starts,
        store,
    )
