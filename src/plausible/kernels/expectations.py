"""The expectation semiring: probabilities together with expected values, in one pass to the roots.

A pair (p, v) stands for a probability and for that probability times an expected value: pairs are added by parts, and
multiplied to (p p', p v' + v p'). With e = v / p the product adds up values, e + e', so a clique's block is a product
of probabilities and a sum of values, and a message is Σ p and Σ p e / Σ p.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.blocks import Buffers, Layout, make_block, next_block, seek, sort_operands, view_of
from plausible.kernels.jit import kernel
from plausible.kernels.vectors import multiply_by, quotients
from plausible.kernels.views import accumulate, add


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
