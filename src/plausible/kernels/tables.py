"""Tables of cliques: the factors' product, the best assignment, draws; and expected values in one pass to the roots.

In the expectation semiring a pair (p, v) stands for a probability and for that probability times an expected value:
pairs are added by parts, and multiplied to (p p', p v' + v p'). With e = v / p the product adds up values, e + e', so a
clique's block is a product of probabilities and a sum of values, and a message is Σ p and Σ p e / Σ p.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.blocks import SUM, Buffers, Layout, make_block, next_block, seek, sort_operands, view_of
from plausible.kernels.jit import kernel
from plausible.kernels.upward import SAFE_LOG
from plausible.kernels.vectors import largest_of, multiply_by, quotients, total_of
from plausible.kernels.views import accumulate, add


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


@kernel
def draw_states(layout: Layout, buffers: Buffers, levels: Floats, semiring: int, states: Ints) -> None:
    """After `collect` of sums: one assignment drawn from the normalised product, by a level in [0, 1) for each clique.

    Nothing is passed down: each clique's row, given the states above it, is made anew.
    """
    logs = semiring != SUM
    for c in range(layout.cliques.size - 1, -1, -1):
        clique = layout.cliques[c]
        axes = layout.axes[clique.holds : clique.holds + clique.num_axes]
        row = 0
        for variable in axes[: clique.num_separator_axes]:
            row = row * layout.sizes[variable] + states[variable]
        num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, logs)
        first = row * clique.columns // clique.block
        begin = row * clique.columns - first * clique.block
        values = np.zeros(clique.columns)
        seek(layout, buffers, c, first)
        for b in range(max(1, clique.columns // clique.block)):
            size = min(clique.columns, clique.block)
            part = values[b * size : (b + 1) * size]
            if make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, logs):
                part[:] = buffers.block[begin : begin + size]
            elif logs:
                part[:] = -np.inf
            next_block(layout, buffers.offsets, buffers.counters, c)
        if logs:
            values = np.exp(values - largest_of(values))
        chosen = _draw(values, levels[c])
        for i in range(clique.num_axes - 1, clique.num_separator_axes - 1, -1):
            states[axes[i]] = chosen % layout.sizes[axes[i]]
            chosen //= layout.sizes[axes[i]]


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


@kernel(steps=lambda layout, buffers, *_: 150 * buffers.live.size)
def expect(
    layout: Layout,
    buffers: Buffers,
    numbers: Floats,
    terms: Ints,
    term_starts: Ints,
    strides: Ints,
    views: Ints,
    expected: Floats,
    values: Floats,
) -> float:
    """After `collect` of sums: the expected value of a sum of terms, each a table over variables of a clique.

    The terms of clique c are the rows `terms[term_starts[c]:term_starts[c + 1]]`: where in `numbers` one lies, where
    its strides and its view begin, and where the view ends. `expected` is scratch like the store, `values` a block.
    """
    total = 0.0
    for c in range(layout.cliques.size):
        clique = layout.cliques[c]
        num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, False)
        message = expected[clique.message : clique.message + clique.rows]
        message[:] = 0.0
        block, worth = buffers.block[: clique.block], values[: clique.block]
        scratch = buffers.counters[clique.num_outer :]
        seek(layout, buffers, c, 0)
        for b in range(clique.num_blocks):
            if buffers.live[clique.live + b] and make_block(
                layout, buffers, c, num_mixed, num_flat, scale, has_base, False
            ):
                worth[:] = 0.0
                for k in range(clique.first, clique.last):
                    if layout.operands[k].child >= 0:
                        add(worth, expected, buffers.offsets[k - clique.first], view_of(layout, k), scratch)
                for t in range(term_starts[c], term_starts[c + 1]):
                    place, first, look, end = terms[t]
                    for axis in range(clique.num_outer):
                        place += buffers.counters[axis] * strides[first + axis]
                    add(worth, numbers, place, views[look:end], scratch)
                multiply_by(block, worth)
                offset = buffers.offsets[clique.separator - clique.first]
                accumulate(block, expected, offset, view_of(layout, clique.separator), scratch)
            if b + 1 < clique.num_blocks:
                next_block(layout, buffers.offsets, buffers.counters, c)
        weights = buffers.store[clique.message : clique.message + clique.rows]
        quotients(message, weights, np.exp(buffers.log_scales[c]))
        if clique.parent < 0:
            total += message[0]
    return total
