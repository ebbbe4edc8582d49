"""Tables of cliques, row by row: the factors' product, the best assignment, draws."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.blocks import Buffers, Layout, make_block, next_block, seek, sort_operands
from plausible.kernels.jit import kernel
from plausible.kernels.upward import SAFE_LOG
from plausible.kernels.vectors import total_of


@kernel(steps=lambda layout, buffers, tables, floors: 100 * buffers.live.size)
def load(layout: Layout, buffers: Buffers, tables: Floats, floors: Floats) -> None:
    """The product of the factors alone in each clique's table, and a lower bound on the logarithms of its numbers.

    The bound is -inf where the numbers may overflow.
    """
    for c in range(layout.cliques.size):
        clique = layout.cliques[c]
        table = tables[clique.table : clique.table + clique.rows * clique.columns]
        last = clique.first
        while last < clique.last and layout.operands[last].child < 0 and layout.operands[last].variable < 0:
            last += 1
        num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, last, False)
        seek(layout, buffers, c, 0)
        for b in range(clique.num_blocks):
            part = table[b * clique.block : (b + 1) * clique.block]
            if make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, False):
                part[:] = buffers.block[: clique.block]
            else:
                part[:] = 0.0
            if b + 1 < clique.num_blocks:
                next_block(layout, buffers.offsets, buffers.counters, c)
        floors[c] = total_of(buffers.floors[clique.first : last])
        if total_of(buffers.ceilings[clique.first : last]) > SAFE_LOG:
            floors[c] = -np.inf


@kernel
def best_states(layout: Layout, buffers: Buffers, states: Ints) -> None:
    """After `collect` with MAX: the states of a best assignment, the first in each row where there are several."""
    for c in range(layout.cliques.size - 1, -1, -1):
        clique = layout.cliques[c]
        row = 0
        axes = layout.axes[clique.holds : clique.holds + clique.num_axes]
        for variable in axes[: clique.num_separator_axes]:
            row = row * layout.sizes[variable] + states[variable]
        num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, True)
        first = row * clique.columns // clique.block
        begin = row * clique.columns - first * clique.block
        seek(layout, buffers, c, first)
        best, best_place = -np.inf, 0
        for b in range(max(1, clique.columns // clique.block)):
            if make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, True):
                part = buffers.block[begin : begin + min(clique.columns, clique.block)]
                place = np.argmax(part)
                if part[place] > best:
                    best, best_place = part[place], b * clique.block + place
            next_block(layout, buffers.offsets, buffers.counters, c)
        for i in range(clique.num_axes - 1, clique.num_separator_axes - 1, -1):
            states[axes[i]] = best_place % layout.sizes[axes[i]]
            best_place //= layout.sizes[axes[i]]


@kernel
def _draw(row: Floats, level: float) -> int:
    """The place at which the running sum of a row passes `level` times its total; never a zero's."""
    left = level * total_of(row)
    chosen = -1
    for i in range(row.size):
        if row[i] > 0.0:
            chosen = i
            left -= row[i]
            if left < 0.0:
                break
    return chosen


@kernel(steps=lambda layout, tables, levels, states: 10 * levels.size)
def draw(layout: Layout, tables: Floats, levels: Floats, states: Ints) -> None:
    """Assignments drawn from the beliefs of all cliques in `tables`, one for each row of `levels` in [0, 1)."""
    for r in range(levels.shape[0]):
        for c in range(layout.cliques.size - 1, -1, -1):
            clique = layout.cliques[c]
            axes = layout.axes[clique.holds : clique.holds + clique.num_axes]
            row = 0
            for variable in axes[: clique.num_separator_axes]:
                row = row * layout.sizes[variable] + states[r, variable]
            start = clique.table + row * clique.columns
            chosen = _draw(tables[start : start + clique.columns], levels[r, c])
            for i in range(clique.num_axes - 1, clique.num_separator_axes - 1, -1):
                states[r, axes[i]] = chosen % layout.sizes[axes[i]]
                chosen //= layout.sizes[axes[i]]
