"""Message passing on clique trees that are laid out as `plausible.kernels.layout` says, block by block.

A block of a clique's table is made in a buffer that stays in the processor's cache, used, and forgotten: messages are
all that goes through memory. Numbers are probabilities (SUM) or their logarithms (LOG_SUM, and MAX for the best
assignment), where products are sums and zero is -inf. Messages are scaled so that their largest entry is one; the
logarithm of what was taken out of a clique's message is in `log_scales`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel, reordering_kernel

__all__ = [
    "LOG_SUM",
    "MAX",
    "SUM",
    "Buffers",
    "Layout",
    "all_marginals",
    "best_states",
    "bound_sources",
    "collect",
    "distribute",
    "draw",
    "load",
    "observe",
    "read_joint",
    "read_marginals",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]
Records = NDArray[Any]

SUM, LOG_SUM, MAX = range(3)

# Products of numbers whose logarithms add up to no more than this, up or down, neither overflow nor vanish.
_SAFE_LOG = 690.0


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
    """What a run writes to.

    Attributes
    ----------
    store
        The numbers of all operands.
    floors, ceilings
        The logarithms of the smallest positive and of the largest number of each operand, at most and at
        least zero; where numbers are not logarithms themselves.
    log_scales
        The logarithm of what was taken out of each clique's message.
    stale
        Whether a clique's message has to be computed anew.
    risky
        Whether products in a clique may be too small or too large for a float.
    observed
        Whether a variable's states have weights.
    live
        Whether a block may have entries that are not zero.
    block, base
        The entries of a block; the product of the operands that are the same in all blocks.
    offsets
        Where in the store each operand of the clique stands for the current block.
    counters
        The current block, by outer axis; then scratch for the inner axes.
    mixed, flat
        The operands of the clique that vary from block to block: inside blocks too, or not.
    """

    store: Floats
    floors: Floats
    ceilings: Floats
    log_scales: Floats
    stale: Flags
    risky: Flags
    observed: Flags
    live: Flags
    block: Floats
    base: Floats
    offsets: Ints
    counters: Ints
    mixed: Ints
    flat: Ints


# --- a block and an operand ---

# Places are unsigned: signed ones may count from the end, and testing for that keeps the compiler from using wide
# instructions.


@kernel
def _unsigned(number: int) -> np.uint64:
    return np.uint64(number)


@kernel
def _inner_axes(view: Ints) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Sizes and strides of the last axis and of the one before it."""
    axes = view.size // 2
    inner, step = _unsigned(view[2 * axes - 2]), _unsigned(view[2 * axes - 1])
    if axes == 1:
        return inner, step, _unsigned(1), _unsigned(0)
    return inner, step, _unsigned(view[2 * axes - 4]), _unsigned(view[2 * axes - 3])


@kernel
def _advance(counters: Ints, view: Ints, offset: np.uint64) -> np.uint64:
    """Step the odometer over all but the last two axes of a view; returns the offset in the operand."""
    for axis in range(view.size // 2 - 3, -1, -1):
        counters[axis] += 1
        stride = _unsigned(view[2 * axis + 1])
        if counters[axis] < view[2 * axis]:
            return offset + stride
        offset -= _unsigned(counters[axis] - 1) * stride
        counters[axis] = 0
    return offset


@kernel
def _multiply(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block *= operand."""
    inner, step, middle, jump = _inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = _unsigned(0), _unsigned(offset), _unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            if step == 0:
                value = store[base]
                for i in range(inner):
                    block[place + i] *= value
            elif step == 1:
                for i in range(inner):
                    block[place + i] *= store[base + i]
            else:
                for i in range(inner):
                    block[place + i] *= store[base + i * step]
            place += inner
        start = _advance(counters, view, start)


@kernel
def _add(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block += operand."""
    inner, step, middle, jump = _inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = _unsigned(0), _unsigned(offset), _unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                block[place + i] += store[base + i * step]
            place += inner
        start = _advance(counters, view, start)


@kernel
def _fill(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block = operand."""
    inner, step, middle, jump = _inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = _unsigned(0), _unsigned(offset), _unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            if step == 0:
                value = store[base]
                for i in range(inner):
                    block[place + i] = value
            elif step == 1:
                for i in range(inner):
                    block[place + i] = store[base + i]
            else:
                for i in range(inner):
                    block[place + i] = store[base + i * step]
            place += inner
        start = _advance(counters, view, start)


@reordering_kernel
def _accumulate(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """target += the sum of the block over the axes that the target does not have."""
    inner, step, middle, jump = _inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = _unsigned(0), _unsigned(offset), _unsigned(block.size)
    while place < end:
        if jump == 0 and step == 1 and inner < 8:  # few sums: each is kept in a register
            for i in range(inner):
                total = 0.0
                for j in range(middle):
                    total += block[place + j * inner + i]
                store[start + i] += total
            place += inner * middle
        else:
            for j in range(middle):
                base = start + j * jump
                if step == 0:
                    total = 0.0
                    for i in range(inner):
                        total += block[place + i]
                    store[base] += total
                elif step == 1:
                    for i in range(inner):
                        store[base + i] += block[place + i]
                else:
                    for i in range(inner):
                        store[base + i * step] += block[place + i]
                place += inner
        start = _advance(counters, view, start)


@kernel
def _accumulate_max(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """target = the larger of itself and the maximum of the block over the axes that the target does not have."""
    inner, step, middle, jump = _inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = _unsigned(0), _unsigned(offset), _unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                store[base + i * step] = max(store[base + i * step], block[place + i])
            place += inner
        start = _advance(counters, view, start)


@reordering_kernel
def _sum(values: Floats) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def _max(values: Floats) -> float:
    best = -np.inf
    for i in range(values.size):
        best = max(best, values[i])
    return best


# --- the blocks of a clique ---


@kernel
def _combine(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints, logs: bool) -> None:
    if logs:
        _add(block, store, offset, view, counters)
    else:
        _multiply(block, store, offset, view, counters)


@kernel
def _view(layout: Layout, k: int) -> Ints:
    start = layout.operands[k].look
    return layout.views[start : start + 2 * layout.operands[k].num_inner]


@kernel
def _sort_operands(layout: Layout, buffers: Buffers, c: int, last: int, logs: bool) -> tuple[int, int, float, bool]:
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
            _combine(base, buffers.store, operand.start, _view(layout, k), scratch, logs)
        else:
            _fill(base, buffers.store, operand.start, _view(layout, k), scratch)
            has_base = True
    return num_mixed, num_flat, scale, has_base


@kernel
def _seek(layout: Layout, buffers: Buffers, c: int, block: int) -> None:
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
            offset += buffers.counters[axis] * layout.strides[operand.strides + axis]
        buffers.offsets[k - clique.first] = offset


@kernel
def _next(layout: Layout, buffers: Buffers, c: int) -> None:
    """Step to the next block."""
    clique = layout.cliques[c]
    for axis in range(clique.num_outer - 1, -1, -1):
        buffers.counters[axis] += 1
        size = layout.outer_sizes[clique.outer_start + axis]
        wraps = buffers.counters[axis] == size
        for k in range(clique.first, clique.last + 2):
            stride = layout.strides[layout.operands[k].strides + axis]
            buffers.offsets[k - clique.first] += stride - size * stride if wraps else stride
        if not wraps:
            return
        buffers.counters[axis] = 0


@kernel
def _make_block(
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
            for i in range(block.size):
                block[i] = buffers.base[i] + scale
        else:
            for i in range(block.size):
                block[i] = buffers.base[i] * scale
    elif num_mixed and scale == (0.0 if logs else 1.0):
        k = buffers.mixed[0]
        _fill(block, buffers.store, buffers.offsets[k - clique.first], _view(layout, k), scratch)
        first = 1
    else:
        block[:] = scale
    for i in range(first, num_mixed):
        k = buffers.mixed[i]
        _combine(block, buffers.store, buffers.offsets[k - clique.first], _view(layout, k), scratch, logs)
    return True


# --- up ---


@kernel
def _send_blocks(
    layout: Layout, buffers: Buffers, c: int, first: int, last: int, semiring: int, exponents: bool
) -> None:
    """Add up some blocks of a clique in its message.

    With `exponents`, which are logarithms of the largest entries, their exponentials relative to these are added up.
    """
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = _sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    own = clique.separator
    view = _view(layout, own)
    is_flat = layout.operands[own].is_flat
    scratch = buffers.counters[clique.num_outer :]
    _seek(layout, buffers, c, first)
    for b in range(first, last):
        is_live = _make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, logs)
        if is_live:
            offset = buffers.offsets[own - clique.first]
            if exponents:
                _combine(block, buffers.store, offset + clique.rows, view, scratch, True)
                block[:] = np.exp(block)
            if logs and not exponents:
                if is_flat:
                    buffers.store[offset] = max(buffers.store[offset], _max(block))
                else:
                    _accumulate_max(block, buffers.store, offset, view, scratch)
            elif is_flat:
                total = _sum(block)
                is_live = total != 0.0
                buffers.store[offset] += total
            else:
                _accumulate(block, buffers.store, offset, view, scratch)
        buffers.live[clique.live + b] = is_live
        if b + 1 < last:
            _next(layout, buffers, c)


@kernel
def _smallest_log(values: Floats) -> float:
    """The logarithm of the smallest positive number, at most zero."""
    smallest = 1.0
    for i in range(values.size):
        if 0.0 < values[i] < smallest:
            smallest = values[i]
    return float(np.log(smallest))


@kernel
def _largest_log(values: Floats) -> float:
    """The logarithm of the largest number, at least zero."""
    return float(np.log(max(1.0, _max(values))))


@kernel
def bound_sources(layout: Layout, buffers: Buffers, num_sources: int) -> None:
    """The floors and ceilings of the operands that are factors."""
    for k in range(layout.operands.size):
        operand = layout.operands[k]
        if operand.start < num_sources:
            values = buffers.store[operand.start : operand.start + operand.size]
            buffers.floors[k], buffers.ceilings[k] = _smallest_log(values), _largest_log(values)


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
        buffers.floors[k] = _smallest_log(buffers.store[start : start + size])
        buffers.ceilings[k] = _largest_log(buffers.store[start : start + size])


@kernel
def _scale(layout: Layout, buffers: Buffers, c: int, semiring: int) -> None:
    """Divide the message by its largest entry, and keep the logarithm of that."""
    clique = layout.cliques[c]
    message = buffers.store[clique.message : clique.message + clique.rows]
    peak = _max(message)
    if semiring == SUM:
        buffers.log_scales[c] = np.log(peak)
        if peak > 0.0:
            for i in range(message.size):
                message[i] /= peak
        floor = _sum(buffers.floors[clique.first : clique.last])
        ceiling = _sum(buffers.ceilings[clique.first : clique.last])
        buffers.risky[c] = floor < -_SAFE_LOG or ceiling > _SAFE_LOG
        if clique.parent >= 0:
            buffers.floors[clique.delivery] = _smallest_log(message)
    else:
        buffers.log_scales[c] = peak
        if peak > -np.inf:
            for i in range(message.size):
                message[i] -= peak


@kernel
def collect(layout: Layout, buffers: Buffers, semiring: int) -> float:
    """Bring the stale messages up to date, and those that depend on them.

    Returns the logarithm of the sum (or the maximum) of the product of everything; -inf for zero.
    """
    for c in range(layout.cliques.size):
        if not buffers.stale[c]:
            continue
        clique = layout.cliques[c]
        if clique.parent >= 0:
            buffers.stale[clique.parent] = 1
        buffers.stale[c] = 0
        message = buffers.store[clique.message : clique.message + clique.rows]
        message[:] = 0.0 if semiring == SUM else -np.inf
        _send_blocks(layout, buffers, c, 0, clique.num_blocks, semiring, False)
        if semiring == LOG_SUM:
            ratio = buffers.store[clique.ratio : clique.ratio + clique.rows]
            for i in range(message.size):
                ratio[i] = -message[i] if message[i] > -np.inf else 0.0
                message[i] = 0.0
            _send_blocks(layout, buffers, c, 0, clique.num_blocks, semiring, True)
            for i in range(message.size):
                message[i] = np.log(message[i]) - ratio[i]
        _scale(layout, buffers, c, semiring)
    return _sum(buffers.log_scales)


# --- down ---


@kernel
def _answer_blocks(
    layout: Layout,
    buffers: Buffers,
    wanted: Flags,
    c: int,
    first: int,
    last: int,
    semiring: int,
    table: Floats,
    weight: float,
) -> None:
    """Add up some blocks of a clique's belief in the answers to its children, in its marginal, and in `table`."""
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = _sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    own_view = _view(layout, clique.separator)
    columns = layout.operands[clique.column_sums]
    _seek(layout, buffers, c, first)
    for b in range(first, last):
        if buffers.live[clique.live + b] and _make_block(
            layout, buffers, c, num_mixed, num_flat, scale, has_base, logs
        ):
            offset = buffers.offsets[clique.separator - clique.first] + clique.rows
            _combine(block, buffers.store, offset, own_view, scratch, logs)
            if logs:
                block[:] = np.exp(block)
            total = _sum(block)
            if total != 0.0:
                for k in range(clique.first, clique.last):
                    operand = layout.operands[k]
                    if operand.child >= 0 and wanted[operand.child]:
                        offset = buffers.offsets[k - clique.first] + operand.size
                        if operand.is_flat:
                            buffers.store[offset] += total
                        else:
                            _accumulate(block, buffers.store, offset, _view(layout, k), scratch)
                offset = buffers.offsets[clique.column_sums - clique.first]
                if columns.is_flat:
                    buffers.store[offset] += total
                else:
                    _accumulate(block, buffers.store, offset, _view(layout, clique.column_sums), scratch)
                if table.size:
                    part = table[b * clique.block : (b + 1) * clique.block]
                    for i in range(part.size):
                        part[i] += weight * block[i]
        if b + 1 < last:
            _next(layout, buffers, c)


@kernel
def _open_answer(layout: Layout, buffers: Buffers, wanted: Flags, c: int, semiring: int) -> None:
    """Turn what the parent said of the separator into the ratio to multiply by; clear what is added up in."""
    clique = layout.cliques[c]
    store = buffers.store
    ratio = store[clique.ratio : clique.ratio + clique.rows]
    scale = buffers.log_scales[c]
    if clique.parent < 0:
        ratio[0] = -scale if semiring != SUM else np.exp(-scale)
    elif semiring == SUM:
        peak = np.exp(scale)
        for i in range(clique.rows):
            total = store[clique.message + i]
            ratio[i] = ratio[i] / (total * peak) if total != 0.0 else 0.0
    else:
        for i in range(clique.rows):
            total = store[clique.message + i]
            ratio[i] = np.log(ratio[i]) - total - scale if total > -np.inf else -np.inf
    store[clique.marginal : clique.marginal + clique.columns] = 0.0
    for k in range(clique.first, clique.last):
        child = layout.operands[k].child
        if child >= 0 and wanted[child]:
            start = layout.cliques[child].ratio
            store[start : start + layout.cliques[child].rows] = 0.0


@kernel
def distribute(
    layout: Layout,
    buffers: Buffers,
    wanted: Flags,
    semiring: int,
    tables: Floats,
    table_starts: Ints,
    weight: float,
) -> None:
    """After `collect`: pass answers from the roots to the cliques flagged in `wanted`.

    Leaves each one's marginal over its columns in the store. Its belief, times `weight`, is added to `tables` from
    `table_starts[c]` on, where that is not negative.
    """
    for c in range(layout.cliques.size):
        if wanted[c] and layout.cliques[c].parent >= 0:
            wanted[layout.cliques[c].parent] = 1
    for c in range(layout.cliques.size - 1, -1, -1):
        if wanted[c]:
            clique = layout.cliques[c]
            _open_answer(layout, buffers, wanted, c, semiring)
            start = table_starts[c]
            table = tables[start : start + clique.rows * clique.columns] if start >= 0 else tables[:0]
            _answer_blocks(layout, buffers, wanted, c, 0, clique.num_blocks, semiring, table, weight)


@kernel
def read_marginals(layout: Layout, buffers: Buffers, variables: Ints, marginals: Floats) -> None:
    """After `distribute`: the marginals of some variables, one after the other."""
    place = 0
    for v in variables:
        c, before, after = layout.readings[v]
        start = layout.cliques[c].marginal
        size = layout.sizes[v]
        for state in range(size):
            total = 0.0
            for i in range(before):
                begin = start + (i * size + state) * after
                total += _sum(buffers.store[begin : begin + after])
            marginals[place] = total
            place += 1


@kernel
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
    log_total = collect(layout, buffers, semiring)
    is_risky = bool(buffers.risky.any())
    if log_total > -np.inf and not is_risky:
        wanted = np.ones(layout.cliques.size, dtype=np.uint8)
        no_tables = np.full(layout.cliques.size, -1)
        distribute(layout, buffers, wanted, semiring, np.empty(0), no_tables, 1.0)
        read_marginals(layout, buffers, np.arange(layout.sizes.size), marginals)
    return log_total, is_risky


@kernel
def read_joint(
    layout: Layout, buffers: Buffers, c: int, semiring: int, strides: Ints, view: Ints, joint: Floats
) -> None:
    """After `distribute`: add up the belief of a clique in an array that lies on it by strides and a view."""
    clique = layout.cliques[c]
    logs = semiring != SUM
    num_mixed, num_flat, scale, has_base = _sort_operands(layout, buffers, c, clique.last, logs)
    block = buffers.block[: clique.block]
    scratch = buffers.counters[clique.num_outer :]
    own_view = _view(layout, clique.separator)
    _seek(layout, buffers, c, 0)
    for b in range(clique.num_blocks):
        if buffers.live[clique.live + b] and _make_block(
            layout, buffers, c, num_mixed, num_flat, scale, has_base, logs
        ):
            offset = buffers.offsets[clique.separator - clique.first] + clique.rows
            _combine(block, buffers.store, offset, own_view, scratch, logs)
            if logs:
                block[:] = np.exp(block)
            place = 0
            for axis in range(clique.num_outer):
                place += buffers.counters[axis] * strides[axis]
            _accumulate(block, joint, place, view, scratch)
        if b + 1 < clique.num_blocks:
            _next(layout, buffers, c)


@kernel
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
        num_mixed, num_flat, scale, has_base = _sort_operands(layout, buffers, c, last, False)
        _seek(layout, buffers, c, 0)
        for b in range(clique.num_blocks):
            part = table[b * clique.block : (b + 1) * clique.block]
            if _make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, False):
                part[:] = buffers.block[: clique.block]
            else:
                part[:] = 0.0
            if b + 1 < clique.num_blocks:
                _next(layout, buffers, c)
        floors[c] = _sum(buffers.floors[clique.first : last])
        if _sum(buffers.ceilings[clique.first : last]) > _SAFE_LOG:
            floors[c] = -np.inf


# --- best ---


@kernel
def best_states(layout: Layout, buffers: Buffers, states: Ints) -> None:
    """After `collect` with MAX: the states of a best assignment, the first in each row where there are several."""
    for c in range(layout.cliques.size - 1, -1, -1):
        clique = layout.cliques[c]
        row = 0
        axes = layout.axes[clique.holds : clique.holds + clique.num_axes]
        for variable in axes[: clique.num_separator_axes]:
            row = row * layout.sizes[variable] + states[variable]
        num_mixed, num_flat, scale, has_base = _sort_operands(layout, buffers, c, clique.last, True)
        first = row * clique.columns // clique.block
        begin = row * clique.columns - first * clique.block
        _seek(layout, buffers, c, first)
        best, best_place = -np.inf, 0
        for b in range(max(1, clique.columns // clique.block)):
            if _make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, True):
                part = buffers.block[begin : begin + min(clique.columns, clique.block)]
                place = np.argmax(part)
                if part[place] > best:
                    best, best_place = part[place], b * clique.block + place
            _next(layout, buffers, c)
        for i in range(clique.num_axes - 1, clique.num_separator_axes - 1, -1):
            states[axes[i]] = best_place % layout.sizes[axes[i]]
            best_place //= layout.sizes[axes[i]]


# --- draws ---


@kernel
def _draw(row: Floats, level: float) -> int:
    """The place at which the running sum of a row passes `level` times its total; never a zero's."""
    left = level * _sum(row)
    chosen = -1
    for i in range(row.size):
        if row[i] > 0.0:
            chosen = i
            left -= row[i]
            if left < 0.0:
                break
    return chosen


@kernel
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
