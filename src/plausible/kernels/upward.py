"""Messages to the roots, and the evidence that they start from.

Messages are scaled so that their largest entry is one; the logarithm of what was taken out is kept. Where products
might be too small or too large for a float, a clique is flagged as risky, and the run is to be made again on
logarithms.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.blocks import (
    LOG_SUM,
    SUM,
    Buffers,
    Layout,
    combine,
    make_block,
    next_block,
    seek,
    sort_operands,
    view_of,
)
from plausible.kernels.jit import inlined_kernel, kernel
from plausible.kernels.vectors import (
    divide,
    largest_log,
    largest_of,
    logs_less,
    negate,
    smallest_log,
    subtract,
    total_of,
)
from plausible.kernels.views import accumulate, accumulate_max

# Products of numbers whose logarithms add up to no more than this, up or down, neither overflow nor vanish.
SAFE_LOG = 690.0


@inlined_kernel
def _add_blocks(
    layout: Layout, buffers: Buffers, c: int, first: int, last: int, semiring: int, exponents: bool
) -> None:
    """Add up some blocks of a clique in its message.

    With `exponents`, which are logarithms of the largest entries, their exponentials relative to these are added up.
    """
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    own = clique.separator
    view = view_of(layout, own)
    is_flat = layout.operands[own].is_flat
    scratch = buffers.counters[clique.num_outer :]
    seek(layout, buffers, c, first)
    for b in range(first, last):
        is_live = make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, logs)
        if is_live:
            offset = buffers.offsets[own - clique.first]
            if exponents:
                combine(block, buffers.store, offset + clique.rows, view, scratch, True)
                block[:] = np.exp(block)
            if logs and not exponents:
                if is_flat:
                    buffers.store[offset] = max(buffers.store[offset], largest_of(block))
                else:
                    accumulate_max(block, buffers.store, offset, view, scratch)
            elif is_flat:
                total = total_of(block)
                is_live = total != 0.0
                buffers.store[offset] += total
            else:
                accumulate(block, buffers.store, offset, view, scratch)
        buffers.live[clique.live + b] = is_live
        if b + 1 < last:
            next_block(layout, buffers.offsets, buffers.counters, c)


@kernel
def bound_sources(layout: Layout, buffers: Buffers, num_sources: int) -> None:
    """The floors and ceilings of the operands that are factors."""
    for k in range(layout.operands.size):
        operand = layout.operands[k]
        if operand.start < num_sources:
            values = buffers.store[operand.start : operand.start + operand.length]
            buffers.floors[k], buffers.ceilings[k] = smallest_log(values), largest_log(values)


@kernel
def observe(
    layout: Layout, buffers: Buffers, weight_starts: Ints, variables: Ints, weights: Floats, num_observed: int
) -> None:
    """Put the weights of variables' states into the store; those after the first `num_observed` are all ones."""
    place = 0
    for i in range(variables.size):
        v = variables[i]
        size = layout.sizes[v]
        start = weight_starts[v]
        buffers.store[start : start + size] = weights[place : place + size]
        place += size
        buffers.observed[v] = i < num_observed
        clique, k = layout.finding_operands[v]
        buffers.stale[clique] = 1
        buffers.floors[k] = smallest_log(buffers.store[start : start + size])
        buffers.ceilings[k] = largest_log(buffers.store[start : start + size])


@inlined_kernel
def _scale(layout: Layout, buffers: Buffers, c: int, semiring: int) -> None:
    """Divide the message by its largest entry, and keep the logarithm of that."""
    clique = layout.cliques[c]
    message = buffers.store[clique.message : clique.message + clique.rows]
    peak = largest_of(message)
    if semiring == SUM:
        buffers.log_scales[c] = np.log(peak)
        if peak > 0.0:
            divide(message, peak)
        floor = total_of(buffers.floors[clique.first : clique.last])
        ceiling = total_of(buffers.ceilings[clique.first : clique.last])
        buffers.risky[c] = floor - max(0.0, buffers.log_scales[c]) < -SAFE_LOG or ceiling > SAFE_LOG
        if clique.parent >= 0:
            buffers.floors[clique.delivery] = smallest_log(message)
    else:
        buffers.log_scales[c] = peak
        if peak > -np.inf:
            subtract(message, peak)


@inlined_kernel
def open_message(layout: Layout, buffers: Buffers, c: int, semiring: int) -> None:
    """Clear a clique's message, which is then to be added up; its parent's will have to follow."""
    clique = layout.cliques[c]
    if clique.parent >= 0:
        buffers.stale[clique.parent] = 1
    buffers.stale[c] = 0
    buffers.store[clique.message : clique.message + clique.rows] = 0.0 if semiring == SUM else -np.inf


@kernel(steps=lambda layout, buffers, c, first, last, semiring: 100 * (last - first))
def send_blocks(layout: Layout, buffers: Buffers, c: int, first: int, last: int, semiring: int) -> None:
    """Add up some blocks of a clique in its message: sums or maxima, not sums of logarithms."""
    _add_blocks(layout, buffers, c, first, last, semiring, False)


@kernel
def close_message(layout: Layout, buffers: Buffers, c: int, semiring: int) -> None:
    """Scale a message that has been added up."""
    _scale(layout, buffers, c, semiring)


@kernel(steps=lambda layout, buffers, *_: 100 * buffers.live.size)
def collect(layout: Layout, buffers: Buffers, chosen: Ints, semiring: int) -> None:
    """Bring the stale messages of some cliques up to date, children before parents."""
    for c in chosen:
        if not buffers.stale[c]:
            continue
        clique = layout.cliques[c]
        open_message(layout, buffers, c, semiring)
        message = buffers.store[clique.message : clique.message + clique.rows]
        ratio = buffers.store[clique.ratio : clique.ratio + clique.rows]
        passes = 2 if semiring == LOG_SUM else 1
        for number in range(passes):
            _add_blocks(layout, buffers, c, 0, clique.num_blocks, semiring, number == 1)
            if number + 1 < passes:  # the maxima are there; sums relative to them follow
                negate(ratio, message)
                message[:] = 0.0
        if semiring == LOG_SUM:
            logs_less(message, ratio)
        _scale(layout, buffers, c, semiring)


@inlined_kernel
def log_total(buffers: Buffers) -> float:
    """After `collect` of all cliques: the logarithm of the sum (or the maximum) of the product; -inf for zero."""
    return total_of(buffers.log_scales)
