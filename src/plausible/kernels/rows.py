"""Many rows of evidence, one after the other, each on the slice of the tables that agrees with it.

The product of the factors in each clique is a plain table, made once. For a row, the axes of observed variables are
fixed, so that a clique costs as many steps as its free variables have assignments. Messages keep their places in the
store; only those entries are written and read that agree with the row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.blocks import Layout
from plausible.kernels.jit import inlined_kernel, kernel

__all__ = ["RowBuffers", "RowPlan", "plan_rows", "run_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.uint8]
Records = NDArray[Any]

# Products below this are looked at: they may have lost what is left of them.
_TINY = 1e-290
# Messages whose largest entry is below this, or above one, are scaled.
_SMALL = 1e-60


class RowPlan(NamedTuple):
    """The layout as rows need it.

    The operands of clique c, numbered from `starts[c]` to `starts[c + 1]`, are its table, its children's messages and
    its own message.

    Attributes
    ----------
    cliques, axes, sizes
        Those of the layout.
    starts
        Where the operands of each clique begin.
    bases, children
        Where each operand lies, in the tables or in the store; whose message it is, -1 for the table and the own one.
    step_starts, steps
        From `step_starts[c]` on: for each axis of clique c, the strides of its operands.
    """

    cliques: Records
    axes: Ints
    sizes: Ints
    starts: Ints
    bases: Ints
    children: Ints
    step_starts: Ints
    steps: Ints


class RowBuffers(NamedTuple):
    """What a run writes to.

    Attributes
    ----------
    store
        Messages and answers, at the places that the layout gives them.
    peaks
        What each clique's message was divided by.
    counters, sizes, steps
        The odometer over the free axes of a clique: current states, sizes, and for each the strides of the operands.
    offsets
        Where each operand stands.
    """

    store: Floats
    peaks: Floats
    counters: Ints
    sizes: Ints
    steps: Ints
    offsets: Ints


@kernel
def plan_rows(layout: Layout) -> RowPlan:
    """The layout as rows need it."""
    num = layout.cliques.size
    starts, step_starts = np.zeros(num + 1, dtype=np.int64), np.zeros(num + 1, dtype=np.int64)
    for c in range(num):
        if layout.cliques[c].parent >= 0:
            starts[layout.cliques[c].parent + 1] += 1
    for c in range(num):
        width = starts[c + 1] + 2
        starts[c + 1] = starts[c] + width
        step_starts[c + 1] = step_starts[c] + width * layout.cliques[c].num_axes
    bases = np.zeros(starts[num], dtype=np.int64)
    children = np.full(starts[num], -1, dtype=np.int64)
    steps = np.zeros(step_starts[num], dtype=np.int64)
    filled = starts[:num] + 1
    for c in range(num):
        clique = layout.cliques[c]
        if clique.parent >= 0:
            children[filled[clique.parent]] = c
            bases[filled[clique.parent]] = clique.message
            filled[clique.parent] += 1
        bases[starts[c]] = clique.table
        bases[starts[c + 1] - 1] = clique.message
    step = np.zeros(layout.sizes.size, dtype=np.int64)
    for c in range(num):
        clique = layout.cliques[c]
        axes = layout.axes[clique.holds : clique.holds + clique.num_axes]
        width = starts[c + 1] - starts[c]
        for place in range(width):
            child = children[starts[c] + place]
            own = layout.cliques[child] if child >= 0 else clique
            count = clique.num_axes if place == 0 else own.num_separator_axes
            stride = 1
            for i in range(own.holds + count - 1, own.holds - 1, -1):
                step[layout.axes[i]] = stride
                stride *= layout.sizes[layout.axes[i]]
            for i in range(axes.size):
                steps[step_starts[c] + i * width + place] = step[axes[i]]
            for i in range(own.holds, own.holds + count):
                step[layout.axes[i]] = 0
    return RowPlan(layout.cliques, layout.axes, layout.sizes, starts, bases, children, step_starts, steps)


# --- the entries of a clique that agree with a row ---


@inlined_kernel
def _open(plan: RowPlan, buffers: RowBuffers, row: Codes, c: int, width: int) -> int:
    """Set the odometer to the first entry; returns how many free axes there are."""
    clique = plan.cliques[c]
    for place in range(width):
        buffers.offsets[place] = plan.bases[plan.starts[c] + place]
    num_free = 0
    first = plan.step_starts[c]
    for i in range(clique.num_axes):
        variable = plan.axes[clique.holds + i]
        code = row[variable]
        if code >= 0:
            for place in range(width):
                buffers.offsets[place] += code * plan.steps[first + place]
        elif plan.sizes[variable] > 1:
            buffers.sizes[num_free], buffers.counters[num_free] = plan.sizes[variable], 0
            for place in range(width):
                buffers.steps[num_free * width + place] = plan.steps[first + place]
            num_free += 1
        first += width
    return num_free


@inlined_kernel
def _step(buffers: RowBuffers, width: int, num_free: int) -> bool:
    """Go to the next entry; False after the last, and then to the first again."""
    for axis in range(num_free - 1, -1, -1):
        buffers.counters[axis] += 1
        if buffers.counters[axis] < buffers.sizes[axis]:
            for place in range(width):
                buffers.offsets[place] += buffers.steps[axis * width + place]
            return True
        for place in range(width):
            buffers.offsets[place] -= (buffers.sizes[axis] - 1) * buffers.steps[axis * width + place]
        buffers.counters[axis] = 0
    return False


@inlined_kernel
def _product(buffers: RowBuffers, loaded: Floats, width: int, last: int, i: int) -> float:
    """The table's entry times the children's messages, `i` steps along the last free axis."""
    value = loaded[buffers.offsets[0] + i * buffers.steps[last]]
    for place in range(1, width - 1):
        value *= buffers.store[buffers.offsets[place] + i * buffers.steps[last + place]]
    return float(value)


@kernel
def _has_vanished(buffers: RowBuffers, loaded: Floats, width: int, last: int, i: int) -> bool:
    """Whether a product is tiny though none of its factors is zero."""
    if loaded[buffers.offsets[0] + i * buffers.steps[last]] == 0.0:
        return False
    for place in range(1, width - 1):
        if buffers.store[buffers.offsets[place] + i * buffers.steps[last + place]] == 0.0:
            return False
    return True


# --- up and down ---


@inlined_kernel
def _send(plan: RowPlan, buffers: RowBuffers, loaded: Floats, row: Codes, c: int) -> bool:
    """The message of a clique, scaled if it is small, large or the last; returns whether it is risky."""
    width = plan.starts[c + 1] - plan.starts[c]
    num_free = _open(plan, buffers, row, c, width)
    num_outer, last, length = _inner(buffers, width, num_free)
    own_step = buffers.steps[last + width - 1]
    peak, is_risky = 0.0, False
    total, place = 0.0, buffers.offsets[width - 1]
    goes_on = True
    while goes_on:  # the separator's axes come first, so its entries come one after the other
        for i in range(length):
            value = _product(buffers, loaded, width, last, i)
            if value < _TINY:
                is_risky = is_risky or _has_vanished(buffers, loaded, width, last, i)
            total += value
            if own_step:
                buffers.store[place + i * own_step] = total
                peak = max(peak, total)
                total = 0.0
        goes_on = _step(buffers, width, num_outer)
        if not own_step and (not goes_on or buffers.offsets[width - 1] != place):
            buffers.store[place] = total
            peak = max(peak, total)
            total = 0.0
        place = buffers.offsets[width - 1]
    buffers.peaks[c] = 1.0
    if peak < _SMALL or peak > 1.0 or plan.cliques[c].parent < 0:
        buffers.peaks[c] = peak
        if peak > 0.0:
            _scale(buffers, width, num_free, peak)
    return is_risky


@inlined_kernel
def _inner(buffers: RowBuffers, width: int, num_free: int) -> tuple[int, int, int]:
    """How many free axes there are outside the last one, where its strides begin, and its size; 1 for none."""
    if num_free:
        return num_free - 1, (num_free - 1) * width, buffers.sizes[num_free - 1]
    for place in range(width):
        buffers.steps[place] = 0
    return 0, 0, 1


@kernel
def _scale(buffers: RowBuffers, width: int, num_free: int, peak: float) -> None:
    """Divide the entries of a message by its peak."""
    before = -1
    goes_on = True
    while goes_on:
        place = buffers.offsets[width - 1]
        if place != before:
            buffers.store[place] /= peak
            before = place
        goes_on = _step(buffers, width, num_free)


@kernel
def _clear_answer(plan: RowPlan, buffers: RowBuffers, row: Codes, c: int) -> None:
    """Zeros where the parent's answer to a clique will be added up."""
    clique = plan.cliques[c]
    place, num_free = clique.ratio, 0
    stride = clique.rows
    for i in range(clique.num_separator_axes):
        variable = plan.axes[clique.holds + i]
        size = plan.sizes[variable]
        stride //= size
        if row[variable] >= 0:
            place += row[variable] * stride
        elif size > 1:
            buffers.sizes[num_free], buffers.counters[num_free] = size, 0
            buffers.steps[num_free] = stride
            num_free += 1
    buffers.offsets[0] = place
    buffers.store[place] = 0.0
    while _step(buffers, 1, num_free):
        buffers.store[buffers.offsets[0]] = 0.0


@inlined_kernel
def _answer(
    plan: RowPlan,
    buffers: RowBuffers,
    loaded: Floats,
    row: Codes,
    wanted: Flags,
    c: int,
    weight: float,
    totals: Floats,
    target_stride: int,
    answer: Floats,
) -> None:
    """Add up a clique's beliefs in the answers to its children, in `totals`, and in `answer` by the target's state."""
    clique = plan.cliques[c]
    first, width = plan.starts[c], plan.starts[c + 1] - plan.starts[c]
    for place in range(1, width - 1):
        if wanted[plan.children[first + place]]:
            _clear_answer(plan, buffers, row, plan.children[first + place])
    num_outer, last, length = _inner(buffers, width, _open(plan, buffers, row, c, width))
    goes_on = True
    while goes_on:
        for i in range(length):
            value = _product(buffers, loaded, width, last, i)
            if value == 0.0:
                continue
            value /= buffers.peaks[c]
            if clique.parent >= 0:
                own = buffers.offsets[width - 1] + i * buffers.steps[last + width - 1]
                message = buffers.store[own]
                value *= buffers.store[own + clique.rows] / message if message != 0.0 else 0.0
            for place in range(1, width - 1):
                child = plan.children[first + place]
                if wanted[child]:
                    at = buffers.offsets[place] + i * buffers.steps[last + place]
                    buffers.store[at + plan.cliques[child].rows] += value
            entry = buffers.offsets[0] + i * buffers.steps[last]
            if totals.size:
                totals[entry] += weight * value
            if answer.size:
                answer[(entry - clique.table) // target_stride % answer.size] += value
        goes_on = _step(buffers, width, num_outer)


@kernel
def run_rows(
    plan: RowPlan,
    buffers: RowBuffers,
    loaded: Floats,
    rows: Codes,
    home: int,
    target_stride: int,
    wanted: Flags,
    row_weights: Floats,
    log_totals: Floats,
    risky: Flags,
    answers: Floats,
    totals: Floats,
) -> None:
    """One inference for each row of observed states, -1 for none.

    `loaded` are the clique tables with the factors multiplied in. The marginals of a target, which has `target_stride`
    in the clique `home`, go to the rows of `answers`, if `home` is not negative; `wanted` flags the cliques from the
    root to that one, or all. Where `totals` is not empty, the beliefs of all cliques, times the row's weight, are added
    to it. A row of probability zero, or a risky one, leaves zeros.
    """
    nothing = np.empty(0)
    for r in range(rows.shape[0]):
        log_total = 0.0
        for c in range(plan.cliques.size):
            if _send(plan, buffers, loaded, rows[r], c):
                risky[r] = 1
            if buffers.peaks[c] != 1.0:
                log_total += np.log(buffers.peaks[c])
        log_totals[r] = log_total
        if risky[r] or log_total == -np.inf or (home < 0 and totals.size == 0):
            continue
        for c in range(plan.cliques.size - 1, -1, -1):
            if wanted[c]:
                weight = row_weights[r] if totals.size else 0.0
                answer = answers[r] if c == home else nothing
                _answer(plan, buffers, loaded, rows[r], wanted, c, weight, totals, target_stride, answer)
