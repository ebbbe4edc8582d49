"""The blocks of a clique's table, one after the other, as products of its operands; see `plausible.kernels.layout`.

A block is made in a buffer that stays in the processor's cache, used, and forgotten: messages are all that goes through
memory. Numbers are probabilities (SUM) or their logarithms (LOG_SUM, and MAX for the best assignment), where products
are sums and zero is -inf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import inlined_kernel
from plausible.kernels.vectors import scaled, shifted
from plausible.kernels.views import add, fill, multiply

Flags = NDArray[np.uint8]
Records = NDArray[Any]

SUM, LOG_SUM, MAX = range(3)


class Layout(NamedTuple):
    """The arrays of `lay_out`, and the sizes of the variables."""

    sizes: Ints
    cliques: Records
    operands: Records
    axes: Ints
    outer_sizes: Ints
    strides: Ints
    views: Ints
    readings: Ints
    finding_operands: Ints


class Buffers(NamedTuple):
    """What a run writes to."""

    store: Floats  # The numbers of all operands
    #: The logarithms of the smallest positive and of the largest number of each operand, at most and at least zero;
    #: where numbers are not logarithms themselves.
    floors: Floats
    ceilings: Floats
    log_scales: Floats  # The logarithm of what was taken out of each clique's message
    stale: Flags  # Whether a clique's message has to be computed anew
    risky: Flags  # Whether products in a clique may be too small or too large for a float
    observed: Flags  # Whether a variable's states have weights
    live: Flags  # Whether a block may have entries that are not zero
    #: The entries of a block; the product of the operands that are the same in all blocks.
    block: Floats
    base: Floats
    offsets: Ints  # Where in the store each operand of the clique stands for the current block
    counters: Ints  # The current block, by outer axis; then scratch for the inner axes
    #: The operands of the clique that vary from block to block: inside blocks too, or not.
    mixed: Ints
    flat: Ints


@inlined_kernel
def combine(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints, logs: bool) -> None:
    if logs:
        add(block, store, offset, view, counters)
    else:
        multiply(block, store, offset, view, counters)


@inlined_kernel
def view_of(layout: Layout, k: int) -> Ints:
    start = layout.operands[k].look
    return layout.views[start : start + 2 * layout.operands[k].num_inner]


@inlined_kernel
def sort_operands(layout: Layout, buffers: Buffers, c: int, last: int, logs: bool) -> tuple[int, int, float, bool]:
    """Multiply the operands that are the same in all blocks into `base`; list the others in `mixed` and `flat`.

    Those up to `last` are meant.

    Returns how many are mixed and flat, the product of the constants, and whether `base` has anything in it.
    """
    clique = layout.cliques[c]
    base = buffers.base[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    num_mixed, num_flat = 0, 0
    scale, has_base = (0.0, False) if logs else (1.0, False)
    for k in range(clique.first, last):
        operand = layout.operands[k]
        if operand.variable >= 0 and not buffers.observed[operand.variable]:
            continue
        if not operand.is_fixed:
            if operand.is_flat:
                buffers.flat[num_flat] = k
                num_flat += 1
            else:
                buffers.mixed[num_mixed] = k
                num_mixed += 1
        elif operand.is_flat:
            value = buffers.store[operand.start]
            scale = scale + value if logs else scale * value
        elif has_base:
            combine(base, buffers.store, operand.start, view_of(layout, k), scratch, logs)
        else:
            fill(base, buffers.store, operand.start, view_of(layout, k), scratch)
            has_base = True
    return num_mixed, num_flat, scale, has_base


@inlined_kernel
def seek(layout: Layout, buffers: Buffers, c: int, block: int) -> None:
    """Set the odometer and the operands' offsets to a block."""
    clique = layout.cliques[c]
    left = block
    for axis in range(clique.num_outer - 1, -1, -1):
        size = layout.outer_sizes[clique.outer_start + axis]
        buffers.counters[axis] = left % size
        left //= size
    for k in range(clique.first, clique.last + 2):
        operand = layout.operands[k]
        offset = operand.start
        for axis in range(clique.num_outer):
            offset += buffers.counters[axis] * layout.strides[operand.first_stride + axis]
        buffers.offsets[k - clique.first] = offset


@inlined_kernel
def next_block(layout: Layout, offsets: Ints, counters: Ints, c: int) -> None:
    """Step to the next block."""
    clique = layout.cliques[c]
    for axis in range(clique.num_outer - 1, -1, -1):
        counters[axis] += 1
        size = layout.outer_sizes[clique.outer_start + axis]
        wraps = counters[axis] == size
        for k in range(clique.first, clique.last + 2):
            stride = layout.strides[layout.operands[k].first_stride + axis]
            offsets[k - clique.first] += stride - size * stride if wraps else stride
        if not wraps:
            return
        counters[axis] = 0


@inlined_kernel
def make_block(
    layout: Layout, buffers: Buffers, c: int, num_mixed: int, num_flat: int, scale: float, has_base: bool, logs: bool
) -> bool:
    """The product of the operands for the current block; False, and nothing made, where it is surely zero."""
    clique = layout.cliques[c]
    for i in range(num_flat):
        value = buffers.store[buffers.offsets[buffers.flat[i] - clique.first]]
        scale = scale + value if logs else scale * value
    if (logs and scale == -np.inf) or (not logs and scale == 0.0):
        return False
    block = buffers.block[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    first = 0
    if has_base:
        if logs:
            shifted(block, buffers.base, scale)
        else:
            scaled(block, buffers.base, scale)
    elif num_mixed and scale == (0.0 if logs else 1.0):
        k = buffers.mixed[0]
        fill(block, buffers.store, buffers.offsets[k - clique.first], view_of(layout, k), scratch)
        first = 1
    else:
        block[:] = scale
    for i in range(first, num_mixed):
        k = buffers.mixed[i]
        combine(block, buffers.store, buffers.offsets[k - clique.first], view_of(layout, k), scratch, logs)
    return True
