"""Rows that send the same message: it is computed once for all of them.

What a clique says to its parent depends on the observed states of its own variables and on what its children say. Rows
that agree in these form a group. Where a row has all variables of a message observed, the message is one number, which
goes to the row's total and not to the parent: the tree of that row is cut there, so that rows with few missing cells
form few groups, however many rows there are.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Codes, Ints
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.row_plan import RowPlan

_PRIME = np.uint64(0x9E3779B97F4A7C15)


@inlined_kernel
def _mixed(hashed: np.uint64, number: int) -> np.uint64:
    return ((hashed ^ np.uint64(number + 1)) * _PRIME) ^ (hashed >> np.uint64(29))


@kernel
def is_cut(plan: RowPlan, rows: Codes, p: int, r: int) -> bool:
    """Whether a node's message is one number for a row: all of its variables are observed. A root's is, too."""
    if plan.parents[p] < 0:
        return True
    for i in range(plan.axis_starts[p], plan.axis_starts[p] + plan.num_kept[p]):
        if rows[r, plan.axes[i]] < 0 and plan.sizes[plan.axes[i]] > 1:
            return False
    return True


@kernel(steps=lambda plan, rows: 8 * rows.shape[0] * plan.parents.size)
def group_rows(plan: RowPlan, rows: Codes) -> tuple[Codes, Ints, Codes]:
    """The group of each row at each clique; where each clique's groups begin among all; the first row of each group."""
    num_rows, num = rows.shape[0], plan.parents.size
    is_ever_observed = np.zeros(rows.shape[1], dtype=np.bool_)
    for r in range(num_rows):
        for v in range(rows.shape[1]):
            if rows[r, v] >= 0:
                is_ever_observed[v] = True
    groups = np.zeros((num, num_rows), dtype=np.int32)
    said = np.zeros((num, num_rows), dtype=np.int32)  # the group, as far as the parent can tell
    firsts = np.zeros(num * num_rows, dtype=np.int32)
    starts = np.zeros(num + 1, dtype=np.int64)
    capacity = 16
    while capacity < 2 * num_rows:
        capacity *= 2
    slots, mask = np.empty(capacity, dtype=np.int32), np.uint64(capacity - 1)
    columns, children = np.empty(rows.shape[1], dtype=np.int64), np.empty(num, dtype=np.int64)
    for p in range(num):
        num_columns = 0
        for i in range(plan.axis_starts[p], plan.axis_starts[p + 1]):
            if is_ever_observed[plan.axes[i]]:
                columns[num_columns] = plan.axes[i]
                num_columns += 1
        num_children = 0
        for k in range(plan.operand_starts[p] + 1, plan.operand_starts[p + 1] - 1):
            child = plan.children[k]
            if starts[child + 1] - starts[child] > 1:
                children[num_children] = child
                num_children += 1
        count = _group(
            rows, groups, said, p, columns[:num_columns], children[:num_children], slots, mask, firsts[starts[p] :]
        )
        starts[p + 1] = starts[p] + count
        for r in range(num_rows):
            said[p, r] = -1 if is_cut(plan, rows, p, r) else groups[p, r]
    return groups, starts, firsts[: starts[num]]


@twin_of(group_rows)
def _group_rows_in_numpy(plan: RowPlan, rows: Codes) -> tuple[Codes, Ints, Codes]:
    num_rows, num = rows.shape[0], plan.parents.size
    is_ever_observed = np.asarray((rows >= 0).any(axis=0))
    groups, said = np.zeros((num, num_rows), dtype=np.int32), np.zeros((num, num_rows), dtype=np.int32)
    firsts, starts = np.zeros(num * num_rows, dtype=np.int32), np.zeros(num + 1, dtype=np.int64)
    for p in range(num):
        axes = plan.axes[plan.axis_starts[p] : plan.axis_starts[p + 1]]
        below = plan.children[plan.operand_starts[p] + 1 : plan.operand_starts[p + 1] - 1]
        parts = [rows[:, v] for v in axes[is_ever_observed[axes]]]
        parts += [said[child] for child in below if starts[child + 1] - starts[child] > 1]
        count = 1
        if parts:
            groups[p], found = _numbered(parts)
            count = found.size
            firsts[starts[p] : starts[p] + count] = found
        starts[p + 1] = starts[p] + count
        kept = axes[: plan.num_kept[p]]
        is_whole = ((rows[:, kept] >= 0) | (plan.sizes[kept] <= 1)).all(axis=1)
        said[p] = np.where((plan.parents[p] < 0) | is_whole, -1, groups[p])
    return groups, starts, firsts[: starts[num]]


def _numbered(parts: list[Codes]) -> tuple[Ints, Ints]:
    """Number the rows that agree in all parts, whose codes begin at -1, in the order of their first rows."""
    keys, size = np.zeros(parts[0].size, dtype=np.int64), 1
    for part in parts:
        width = int(part.max(initial=-1)) + 2
        if size * width > 2**62:
            keys = np.unique(keys, return_inverse=True)[1]
            size = int(keys.max(initial=0)) + 1
        keys, size = keys * width + (part + 1), size * width
    _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return np.argsort(order)[numbers], firsts[order]


@kernel
def _group(
    rows: Codes,
    groups: Codes,
    said: Codes,
    p: int,
    columns: Ints,
    children: Ints,
    slots: Codes,
    mask: np.uint64,
    firsts: Codes,
) -> int:
    """Number the groups of one clique in the order of their first rows, by a hash table; returns how many there are."""
    if columns.size == 0 and children.size == 0:
        return 1
    slots[:] = -1
    count = 0
    for r in range(rows.shape[0]):
        hashed = np.uint64(0)
        for v in columns:
            hashed = _mixed(hashed, rows[r, v])
        for child in children:
            hashed = _mixed(hashed, said[child, r])
        slot = (hashed ^ (hashed >> np.uint64(32))) & mask
        while slots[slot] >= 0 and not _agree(rows, said, columns, children, r, firsts[slots[slot]]):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = count
            firsts[count] = r
            count += 1
        groups[p, r] = slots[slot]
    return count


@inlined_kernel
def _agree(rows: Codes, said: Codes, columns: Ints, children: Ints, r: int, other: int) -> bool:
    """Whether two rows are in one group."""
    for child in children:
        if said[child, r] != said[child, other]:
            return False
    for v in columns:  # noqa: SIM110  (a kernel)
        if rows[r, v] != rows[other, v]:
            return False
    return True
