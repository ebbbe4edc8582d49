"""Answers from the roots, and what can be read off them: marginals and joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.blocks import SUM, Buffers, Layout, combine, make_block, next_block, seek, sort_operands, view_of
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.upward import collect, log_total, observe
from plausible.kernels.vectors import add_scaled, log_quotients, quotients, total_of
from plausible.kernels.views import accumulate

Flags = NDArray[np.uint8]


@inlined_kernel(steps=lambda layout, buffers, wanted, c, first, last, *_: 200 * (last - first))
def answer_blocks(
    layout: Layout,
    buffers: Buffers,
    wanted: Flags,
    c: int,
    first: int,
    last: int,
    semiring: int,
    table: Floats,
    weight: float,
    aside: Floats,
) -> None:
    """Add up some blocks of a clique's belief in the answers to its children, in its marginal, and in `table`.

    Where `aside` is not empty, sums that other blocks go to as well, which are those without the first axis, are
    added up there, one after the other.
    """
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    own = clique.separator
    own_is_flat = layout.operands[own].is_flat
    seek(layout, buffers, c, first)
    for b in range(first, last):
        is_live = buffers.live[clique.live + b] == 1
        ratio = buffers.offsets[own - clique.first] + clique.rows
        if is_live:
            whole = scale
            if own_is_flat:
                whole = scale + buffers.store[ratio] if logs else scale * buffers.store[ratio]
            is_live = make_block(layout, buffers, c, num_mixed, num_flat, whole, has_base, logs)
        if is_live:
            if not own_is_flat:
                combine(block, buffers.store, ratio, view_of(layout, own), scratch, logs)
            if logs:
                block[:] = np.exp(block)
            _add_up(layout, buffers, wanted, c, block, scratch, aside)
            if table.size:
                add_scaled(table[b * clique.block : (b + 1) * clique.block], block, weight)
        if b + 1 < last:
            next_block(layout, buffers.offsets, buffers.counters, c)


@inlined_kernel
def _add_up(
    layout: Layout, buffers: Buffers, wanted: Flags, c: int, block: Floats, scratch: Ints, aside: Floats
) -> None:
    """Add a block of a belief to the answers to children and to the marginal."""
    clique = layout.cliques[c]
    total = -1.0  # of the block: computed once, if anything needs it
    base = 0
    for k in range(clique.first, clique.last + 2):
        operand = layout.operands[k]
        is_answer = operand.child >= 0 and wanted[operand.child]
        if not (is_answer or k == clique.column_sums):
            continue
        place = buffers.offsets[k - clique.first]
        if operand.is_flat and total < 0.0:
            total = total_of(block)
        if aside.size and layout.strides[operand.first_stride] == 0:
            _add_block(block, total, aside, base + place - operand.start, operand.is_flat, view_of(layout, k), scratch)
            base += operand.length
        else:
            place += operand.length if is_answer else 0
            _add_block(block, total, buffers.store, place, operand.is_flat, view_of(layout, k), scratch)


@inlined_kernel
def _add_block(block: Floats, total: float, sums: Floats, place: int, is_flat: int, view: Ints, scratch: Ints) -> None:
    if is_flat:
        sums[place] += total
    else:
        accumulate(block, sums, place, view, scratch)


@kernel
def close_answers(layout: Layout, buffers: Buffers, wanted: Flags, c: int, aside: Floats) -> None:
    """Add what `answer_blocks` put aside to where it belongs."""
    clique = layout.cliques[c]
    base = 0
    for k in range(clique.first, clique.last + 2):
        operand = layout.operands[k]
        is_answer = operand.child >= 0 and wanted[operand.child]
        if (is_answer or k == clique.column_sums) and layout.strides[operand.first_stride] == 0:
            start = operand.start + operand.length if is_answer else operand.start
            add_scaled(buffers.store[start : start + operand.length], aside[base : base + operand.length], 1.0)
            base += operand.length


@inlined_kernel
def open_answer(layout: Layout, buffers: Buffers, wanted: Flags, c: int, semiring: int) -> None:
    """Turn what the parent said of the separator into the ratio to multiply by; clear what is added up in."""
    clique = layout.cliques[c]
    store = buffers.store
    ratio = store[clique.ratio : clique.ratio + clique.rows]
    totals = store[clique.message : clique.message + clique.rows]
    scale = buffers.log_scales[c]
    if clique.parent < 0:
        ratio[0] = -scale if semiring != SUM else np.exp(-scale)
    elif semiring == SUM:
        quotients(ratio, totals, np.exp(scale))
    else:
        log_quotients(ratio, totals, scale)
    store[clique.marginal : clique.marginal + clique.columns] = 0.0
    for k in range(clique.first, clique.last):
        child = layout.operands[k].child
        if child >= 0 and wanted[child]:
            start = layout.cliques[child].ratio
            store[start : start + layout.cliques[child].rows] = 0.0


@kernel
def flag_above(layout: Layout, wanted: Flags) -> None:
    """Flag all cliques above those that are flagged."""
    for c in range(layout.cliques.size):
        if wanted[c] and layout.cliques[c].parent >= 0:
            wanted[layout.cliques[c].parent] = 1


@kernel(steps=lambda layout, buffers, *_: 200 * buffers.live.size)
def distribute(
    layout: Layout,
    buffers: Buffers,
    wanted: Flags,
    chosen: Ints,
    semiring: int,
    tables: Floats,
    table_starts: Ints,
    weight: float,
) -> None:
    """After `collect`: pass answers to those of some cliques, children before parents, that are flagged in `wanted`.

    Leaves each one's marginal over its columns in the store. Its belief, times `weight`, is added to `tables` from
    `table_starts[c]` on, where that is not negative.
    """
    for i in range(chosen.size - 1, -1, -1):
        c = chosen[i]
        if wanted[c]:
            clique = layout.cliques[c]
            open_answer(layout, buffers, wanted, c, semiring)
            start = table_starts[c]
            table = tables[start : start + clique.rows * clique.columns] if start >= 0 else tables[:0]
            nothing = tables[:0]
            answer_blocks(layout, buffers, wanted, c, 0, clique.num_blocks, semiring, table, weight, nothing)


@kernel
def _sum_around(values: Floats, after: int, sums: Floats) -> None:
    """Sums over all axes of a table but one, `after` being the entries of those behind it."""
    size = sums.size
    for state in range(size):
        total = 0.0
        for begin in range(state * after, values.size, size * after):
            total += total_of(values[begin : begin + after])
        sums[state] = total


@twin_of(_sum_around)
def _sum_around_in_numpy(values: Floats, after: int, sums: Floats) -> None:
    sums[:] = values.reshape(-1, sums.size, after).sum(axis=(0, 2))


@kernel
def read_marginals(layout: Layout, buffers: Buffers, variables: Ints, marginals: Floats) -> None:
    """After `distribute`: the marginals of some variables, one after the other."""
    place = 0
    for v in variables:
        c, before, after = layout.readings[v]
        start = layout.cliques[c].marginal
        size = layout.sizes[v]
        _sum_around(buffers.store[start : start + before * size * after], after, marginals[place : place + size])
        place += size


@kernel(steps=lambda layout, buffers, *_: 200 * buffers.live.size)
def all_marginals(
    layout: Layout,
    buffers: Buffers,
    weight_starts: Ints,
    variables: Ints,
    weights: Floats,
    num_observed: int,
    semiring: int,
    marginals: Floats,
) -> tuple[float, bool]:
    """`observe`, `collect`, `distribute` and `read_marginals` of all variables, in one call.

    Returns the logarithm of the total, and whether a clique is risky. If so, or if the total is zero, there are no
    marginals.
    """
    observe(layout, buffers, weight_starts, variables, weights, num_observed)
    everything = np.arange(layout.cliques.size)
    collect(layout, buffers, everything, semiring)
    total = log_total(buffers)
    is_risky = bool(buffers.risky.any())
    if total > -np.inf and not is_risky:
        wanted = np.ones(layout.cliques.size, dtype=np.uint8)
        no_tables = np.full(layout.cliques.size, -1)
        distribute(layout, buffers, wanted, everything, semiring, np.empty(0), no_tables, 1.0)
        read_marginals(layout, buffers, np.arange(layout.sizes.size), marginals)
    return total, is_risky


@kernel
def read_joint(
    layout: Layout, buffers: Buffers, c: int, semiring: int, strides: Ints, view: Ints, joint: Floats
) -> None:
    """After `distribute`: add up the belief of a clique in an array that lies on it by strides and a view."""
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    own_view = view_of(layout, clique.separator)
    seek(layout, buffers, c, 0)
    for b in range(clique.num_blocks):
        if buffers.live[clique.live + b] and make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, logs):
            offset = buffers.offsets[clique.separator - clique.first] + clique.rows
            combine(block, buffers.store, offset, own_view, scratch, logs)
            if logs:
                block[:] = np.exp(block)
            place = 0
            for axis in range(clique.num_outer):
                place += buffers.counters[axis] * strides[axis]
            accumulate(block, joint, place, view, scratch)
        if b + 1 < clique.num_blocks:
            next_block(layout, buffers.offsets, buffers.counters, c)
