"""Many rows of evidence at once: message passing as in `plausible.kernels.upward`, with a lane for each row.

Every number of a message or a block becomes `LANES` numbers, side by side, one for each row of evidence: what an
odometer costs is paid once for all of them, and the arithmetic uses wide instructions. The factors are the same in all
lanes, so their product in each clique is a plain table, made once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.blocks import Layout, next_block, view_of
from plausible.kernels.jit import kernel
from plausible.kernels.upward import SAFE_LOG
from plausible.kernels.views import advance, inner_axes, unsigned

__all__ = ["LANES", "LaneBuffers", "run_lanes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.uint8]

LANES = 16


class LaneBuffers(NamedTuple):
    """What a run writes to.

    Attributes
    ----------
    store
        As in the stream's, but with a row of lanes for each number, and without the factors.
    peaks, floors
        The largest entry that was taken out of each clique's message, and the logarithm of the smallest positive
        number left in it, by lane.
    observed
        Whether a variable is observed in some lane.
    block
        The entries of a block, a row of lanes each.
    offsets, counters
        As in the stream's.
    log_totals, risky
        By lane: the logarithm of the probability; whether products may have underflowed.
    """

    store: Floats
    peaks: Floats
    floors: Floats
    observed: Flags
    block: Floats
    offsets: Ints
    counters: Ints
    log_totals: Floats
    risky: Flags


@kernel
def _multiply(block: Floats, size: int, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block *= operand."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    lanes = unsigned(LANES)
    place, start, end = unsigned(0), unsigned(offset), unsigned(size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                to, of = (place + i) * lanes, (base + i * step) * lanes
                for lane in range(lanes):
                    block[to + lane] *= store[of + lane]
            place += inner
        start = advance(counters, view, start)


@kernel
def _accumulate(block: Floats, size: int, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """target += the sum of the block over the axes that the target does not have."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    lanes = unsigned(LANES)
    place, start, end = unsigned(0), unsigned(offset), unsigned(size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                of, to = (place + i) * lanes, (base + i * step) * lanes
                for lane in range(lanes):
                    store[to + lane] += block[of + lane]
            place += inner
        start = advance(counters, view, start)


# --- the blocks of a clique ---


@kernel
def _seek(layout: Layout, buffers: LaneBuffers, c: int, num_sources: int) -> None:
    """Set the odometer and the operands' offsets to the first block."""
    clique = layout.cliques[c]
    buffers.counters[: clique.num_outer] = 0
    for k in range(clique.first, clique.last + 2):
        buffers.offsets[k - clique.first] = layout.operands[k].start - num_sources


@kernel
def _make_block(layout: Layout, buffers: LaneBuffers, loaded: Floats, c: int, b: int) -> None:
    """The product of the factors, the children's messages and the findings for the current block."""
    clique = layout.cliques[c]
    lanes = unsigned(LANES)
    table = loaded[clique.table + b * clique.block : clique.table + (b + 1) * clique.block]
    for i in range(table.size):
        value = table[i]
        to = unsigned(i) * lanes
        for lane in range(lanes):
            buffers.block[to + lane] = value
    scratch = buffers.counters[clique.num_outer :]
    for k in range(clique.first, clique.last):
        operand = layout.operands[k]
        if operand.child >= 0 or (operand.variable >= 0 and buffers.observed[operand.variable]):
            offset = buffers.offsets[k - clique.first]
            _multiply(buffers.block, clique.block, buffers.store, offset, view_of(layout, k), scratch)


# --- up ---


@kernel
def _scale(layout: Layout, buffers: LaneBuffers, c: int, start: int, loaded_floors: Floats) -> None:
    """Divide each lane of the message by its largest entry; the logarithm of that joins the lane's total."""
    clique = layout.cliques[c]
    peaks = buffers.peaks[c * LANES : (c + 1) * LANES]
    floors = buffers.floors[c * LANES : (c + 1) * LANES]
    floors[:] = loaded_floors[c]
    for k in range(clique.first, clique.last):
        child = layout.operands[k].child
        if child >= 0:
            for lane in range(LANES):
                floors[lane] += buffers.floors[child * LANES + lane]
    peaks[:] = 0.0
    message = buffers.store[start * LANES : (start + clique.rows) * LANES]
    for row in range(clique.rows):
        for lane in range(LANES):
            peaks[lane] = max(peaks[lane], message[row * LANES + lane])
    for lane in range(LANES):
        buffers.log_totals[lane] += np.log(peaks[lane])
        if floors[lane] < -SAFE_LOG:
            buffers.risky[lane] = 1
        floors[lane] = 1.0
    for row in range(clique.rows):
        for lane in range(LANES):
            value = message[row * LANES + lane] / peaks[lane] if peaks[lane] > 0.0 else 0.0
            message[row * LANES + lane] = value
            if value > 0.0:
                floors[lane] = min(floors[lane], value)
    for lane in range(LANES):
        floors[lane] = np.log(floors[lane])


@kernel
def _collect(layout: Layout, buffers: LaneBuffers, loaded: Floats, loaded_floors: Floats, num_sources: int) -> None:
    buffers.log_totals[:] = 0.0
    buffers.risky[:] = 0
    for c in range(layout.cliques.size):
        clique = layout.cliques[c]
        start = clique.message - num_sources
        buffers.store[start * LANES : (start + clique.rows) * LANES] = 0.0
        _seek(layout, buffers, c, num_sources)
        scratch = buffers.counters[clique.num_outer :]
        view = view_of(layout, clique.separator)
        for b in range(clique.num_blocks):
            _make_block(layout, buffers, loaded, c, b)
            offset = buffers.offsets[clique.separator - clique.first]
            _accumulate(buffers.block, clique.block, buffers.store, offset, view, scratch)
            if b + 1 < clique.num_blocks:
                next_block(layout, buffers.offsets, buffers.counters, c)
        _scale(layout, buffers, c, start, loaded_floors)


# --- down ---


@kernel
def _open_answer(layout: Layout, buffers: LaneBuffers, wanted: Flags, c: int, num_sources: int) -> None:
    """Turn what the parent said of the separator into the ratio to multiply by; clear what is added up in."""
    clique = layout.cliques[c]
    store = buffers.store
    start = (clique.message - num_sources) * LANES
    size = clique.rows * LANES
    for i in range(size):
        total = store[start + i] * buffers.peaks[c * LANES + i % LANES]
        above = store[start + size + i] if clique.parent >= 0 else 1.0
        store[start + size + i] = above / total if total > 0.0 else 0.0
    start += 2 * size
    store[start : start + clique.columns * LANES] = 0.0
    for k in range(clique.first, clique.last):
        child = layout.operands[k].child
        if child >= 0 and wanted[child]:
            start = (layout.cliques[child].ratio - num_sources) * LANES
            store[start : start + layout.cliques[child].rows * LANES] = 0.0


@kernel
def _distribute(
    layout: Layout,
    buffers: LaneBuffers,
    loaded: Floats,
    wanted: Flags,
    num_sources: int,
    row_weights: Floats,
    totals: Floats,
) -> None:
    """As in the stream; where `totals` is not empty, beliefs times the rows' weights are added to it."""
    for c in range(layout.cliques.size - 1, -1, -1):
        if not wanted[c]:
            continue
        clique = layout.cliques[c]
        scratch = buffers.counters[clique.num_outer :]
        _open_answer(layout, buffers, wanted, c, num_sources)
        _seek(layout, buffers, c, num_sources)
        for b in range(clique.num_blocks):
            _make_block(layout, buffers, loaded, c, b)
            offset = buffers.offsets[clique.separator - clique.first] + clique.rows
            _multiply(buffers.block, clique.block, buffers.store, offset, view_of(layout, clique.separator), scratch)
            for k in range(clique.first, clique.last):
                operand = layout.operands[k]
                if operand.child >= 0 and wanted[operand.child]:
                    offset = buffers.offsets[k - clique.first] + operand.size
                    _accumulate(buffers.block, clique.block, buffers.store, offset, view_of(layout, k), scratch)
            if totals.size:
                _add_weighted(buffers.block, row_weights, totals, clique.table + b * clique.block, clique.block)
            else:
                offset = buffers.offsets[clique.column_sums - clique.first]
                view = view_of(layout, clique.column_sums)
                _accumulate(buffers.block, clique.block, buffers.store, offset, view, scratch)
            if b + 1 < clique.num_blocks:
                next_block(layout, buffers.offsets, buffers.counters, c)


@kernel
def _add_weighted(block: Floats, row_weights: Floats, totals: Floats, start: int, size: int) -> None:
    for i in range(size):
        total = 0.0
        for lane in range(LANES):
            total += block[i * LANES + lane] * row_weights[lane]
        totals[start + i] += total


# --- rows ---


@kernel
def _observe(layout: Layout, buffers: LaneBuffers, rows: Codes, first: int, last: int) -> None:
    """Weights of one for the observed states of each row, or for all states where none is; zero for the others."""
    start = 0
    for v in range(layout.sizes.size):
        size = layout.sizes[v]
        buffers.observed[v] = 0
        for row in range(first, last):
            if rows[row, v] >= 0:
                buffers.observed[v] = 1
        if buffers.observed[v]:
            for lane in range(LANES):
                code = rows[first + lane, v] if first + lane < last else -1
                for state in range(size):
                    buffers.store[(start + state) * LANES + lane] = 1.0 if code < 0 or code == state else 0.0
        start += size


@kernel
def run_lanes(
    layout: Layout,
    buffers: LaneBuffers,
    loaded: Floats,
    loaded_floors: Floats,
    num_sources: int,
    rows: Codes,
    target: int,
    wanted: Flags,
    row_weights: Floats,
    log_totals: Floats,
    risky: Flags,
    answers: Floats,
    totals: Floats,
) -> None:
    """One inference for each row of observed states, -1 for none.

    `loaded` are the clique tables with the factors multiplied in, `loaded_floors` lower bounds on the logarithms of
    their positive numbers. The marginals of `target`, if not negative, go to the rows of `answers`; `wanted` flags the
    cliques from the root to its own. Where `totals` is not empty, the beliefs of all cliques, times the row's weight,
    are added to it. A row of probability zero, or a risky one, leaves zeros.
    """
    weights = np.zeros(LANES)
    for first in range(0, rows.shape[0], LANES):
        last = min(first + LANES, rows.shape[0])
        _observe(layout, buffers, rows, first, last)
        _collect(layout, buffers, loaded, loaded_floors, num_sources)
        log_totals[first:last] = buffers.log_totals[: last - first]
        risky[first:last] = buffers.risky[: last - first]
        if target < 0 and totals.size == 0:
            continue
        for lane in range(LANES):
            counts = first + lane < last and not buffers.risky[lane] and buffers.log_totals[lane] > -np.inf
            weights[lane] = 0.0
            if counts:
                weights[lane] = row_weights[first + lane] if totals.size else 1.0
        _distribute(layout, buffers, loaded, wanted, num_sources, weights, totals)
        if target >= 0:
            c, before, after = layout.readings[target]
            start = layout.cliques[c].marginal - num_sources
            size = layout.sizes[target]
            for i in range(before):
                for state in range(size):
                    for j in range(after):
                        place = (start + (i * size + state) * after + j) * LANES
                        for lane in range(last - first):
                            if weights[lane] > 0.0:
                                answers[first + lane, state] += buffers.store[place + lane]
