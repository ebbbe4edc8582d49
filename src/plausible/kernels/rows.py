"""Many rows of evidence, each on the slice of the tables that agrees with it.

The product of the factors in each clique is a plain table, made once. For a group of rows, the axes of observed
variables are fixed, so that a clique costs as many steps as its free variables have assignments. Only those entries of
a message are written and read that agree with the rows. A message whose variables are all observed is cut off: its
number counts for the row, and its parent reads a number one, the last of all messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.row_groups import is_cut
from plausible.kernels.row_plan import RowPlan
from plausible.kernels.vectors import largest_of, total_of

Flags = NDArray[np.uint8]

# Products below this are looked at: they may have lost what is left of them, which is less than this.
_TINY = 1e-290
# So much of a total may be lost.
_SPARE = 1e-20
# Messages whose largest entry is below this, or above one, are scaled: eight of them can be multiplied.
_SMALL = 1e-30


class RowRun(NamedTuple):
    """Some rows, their groups, and what a run writes to."""

    #: The clique tables with the factors multiplied in, then a number one; the largest entry of each node's table, at
    #: least one.
    tables: Floats
    peaks: Floats
    rows: Codes  # For each row and variable the observed state, -1 for none
    #: What `group_rows` found. All that follows is by group.
    groups: Codes
    group_starts: Ints
    firsts: Codes
    #: Where the messages of each clique begin, and all messages, then a number one.
    message_starts: Ints
    messages: Floats
    entries: Ints  # Where the one entry of a message that is cut off lies; -1 for others
    #: What each message was divided by, and the logarithm of that, with those of its children's messages.
    scales: Floats
    log_scales: Floats
    losses: Floats  # How much each entry of a message may lack because products underflowed, at most


class _Odometer(NamedTuple):
    """The free axes of a clique: current states, sizes, strides of the operands; where each operand stands; and the
    products along the last free axis."""

    counters: Ints
    sizes: Ints
    steps: Ints
    offsets: Ints
    line: Floats


@kernel
def _odometer(plan: RowPlan) -> _Odometer:
    """Room for any clique."""
    axes, width, longest = 1, 2, 1
    for p in range(plan.parents.size):
        axes = max(axes, plan.axis_starts[p + 1] - plan.axis_starts[p] + 1)
        width = max(width, plan.operand_starts[p + 1] - plan.operand_starts[p])
    for size in plan.sizes:
        longest = max(longest, size)
    return _Odometer(
        np.zeros(axes, dtype=np.int64),
        np.zeros(axes, dtype=np.int64),
        np.zeros(axes * width, dtype=np.int64),
        np.zeros(width, dtype=np.int64),
        np.zeros(longest),
    )


# --- the entries of a clique that agree with a group ---


@inlined_kernel
def _open(plan: RowPlan, run: RowRun, odometer: _Odometer, p: int, g: int) -> tuple[int, int, int]:
    """Set the odometer to the first entry.

    Returns how many free axes there are outside the last one, where its strides begin, and its size; 1 for none.
    """
    r = run.firsts[g]
    first, width = plan.operand_starts[p], plan.operand_starts[p + 1] - plan.operand_starts[p]
    odometer.offsets[0] = plan.tables[p]
    for k in range(1, width - 1):
        child = plan.children[first + k]
        odometer.offsets[k] = run.message_starts[child] + run.groups[child, r] * plan.message_sizes[child]
    odometer.offsets[width - 1] = run.message_starts[p] + (g - run.group_starts[p]) * plan.message_sizes[p]
    num_free, steps = 0, plan.step_starts[p]
    for i in range(plan.axis_starts[p], plan.axis_starts[p + 1]):
        variable = plan.axes[i]
        code = run.rows[r, variable]
        if code >= 0:
            for k in range(width):
                odometer.offsets[k] += code * plan.steps[steps + k]
        elif plan.sizes[variable] > 1:
            odometer.sizes[num_free], odometer.counters[num_free] = plan.sizes[variable], 0
            for k in range(width):
                odometer.steps[num_free * width + k] = plan.steps[steps + k]
            num_free += 1
        steps += width
    for k in range(1, width - 1):
        child = plan.children[first + k]
        if run.entries[run.group_starts[child] + run.groups[child, r]] >= 0:
            odometer.offsets[k] = run.messages.size - 1  # the strides of free variables are zero there
    if num_free:
        return num_free - 1, (num_free - 1) * width, odometer.sizes[num_free - 1]
    for k in range(width):
        odometer.steps[k] = 0
    return 0, 0, 1


@inlined_kernel
def _step(odometer: _Odometer, width: int, num_outer: int) -> bool:
    """Go to the next entry of the axes outside the last one; False after the last."""
    for axis in range(num_outer - 1, -1, -1):
        odometer.counters[axis] += 1
        if odometer.counters[axis] < odometer.sizes[axis]:
            for k in range(width):
                odometer.offsets[k] += odometer.steps[axis * width + k]
            return True
        for k in range(width):
            odometer.offsets[k] -= (odometer.sizes[axis] - 1) * odometer.steps[axis * width + k]
        odometer.counters[axis] = 0
    return False


@inlined_kernel
def _multiply(run: RowRun, odometer: _Odometer, width: int, last: int, length: int) -> None:
    """The table's entries times the children's messages, along the last free axis."""
    line = odometer.line
    place, step = odometer.offsets[0], odometer.steps[last]
    for i in range(length):
        line[i] = run.tables[place + i * step]
    for k in range(1, width - 1):
        place, step = odometer.offsets[k], odometer.steps[last + k]
        for i in range(length):
            line[i] *= run.messages[place + i * step]


@kernel
def _has_vanished(run: RowRun, odometer: _Odometer, width: int, last: int, i: int) -> bool:
    """Whether a product is tiny though none of its factors is zero."""
    if run.tables[odometer.offsets[0] + i * odometer.steps[last]] == 0.0:
        return False
    for k in range(1, width - 1):  # noqa: SIM110  (compiled)
        if run.messages[odometer.offsets[k] + i * odometer.steps[last + k]] == 0.0:
            return False
    return True


# --- up ---


@inlined_kernel
def _send(plan: RowPlan, run: RowRun, odometer: _Odometer, p: int, g: int) -> None:
    """Add up the entries of a node in its message, which is scaled where it is small; a root's to a distribution."""
    width = plan.operand_starts[p + 1] - plan.operand_starts[p]
    num_outer, last, length = _open(plan, run, odometer, p, g)
    run.entries[g] = odometer.offsets[width - 1] if is_cut(plan, run.rows, p, run.firsts[g]) else -1
    line = odometer.line
    own_step = odometer.steps[last + width - 1]
    total, place, num_lines, has_vanished = 0.0, odometer.offsets[width - 1], 0, False
    goes_on = True
    while goes_on:  # the message's axes come first, so its entries come one after the other
        _multiply(run, odometer, width, last, length)
        num_lines += 1
        for i in range(length):
            if line[i] < _TINY:
                has_vanished = has_vanished or _has_vanished(run, odometer, width, last, i)
            total += line[i]
            if own_step:
                run.messages[place + i * own_step] = total
                total = 0.0
        goes_on = _step(odometer, width, num_outer)
        if not own_step and (not goes_on or odometer.offsets[width - 1] != place):
            run.messages[place] = total
            total = 0.0
        place = odometer.offsets[width - 1]
    loss = _TINY if has_vanished else 0.0
    _scale(plan, run, p, g, loss, num_lines * length)


@inlined_kernel
def _scale(plan: RowPlan, run: RowRun, p: int, g: int, loss: float, num_entries: int) -> None:
    """Scale a message, and add up what its children's were scaled by and may lack; messages are at most one."""
    start = run.message_starts[p] + (g - run.group_starts[p]) * plan.message_sizes[p]
    message = run.messages[start : start + plan.message_sizes[p]]  # entries that agree with no row are zeros
    scale, log_scale, loss_by_scaling = 1.0, 0.0, 0.0
    if run.entries[g] >= 0:
        scale = total_of(message)
    else:
        peak = largest_of(message)
        if peak < _SMALL or peak > 1.0:
            scale = peak
    if scale != 1.0:
        log_scale = np.log(scale)
        if scale > 0.0:
            for i in range(message.size):
                if 0.0 < message[i] < _TINY * scale:
                    loss_by_scaling = _TINY
                message[i] /= scale
    for k in range(plan.operand_starts[p] + 1, plan.operand_starts[p + 1] - 1):
        child = plan.children[k]
        below = run.group_starts[child] + run.groups[child, run.firsts[g]]
        if run.entries[below] < 0:
            log_scale += run.log_scales[below]
            loss += run.losses[below]
    if loss > 0.0:
        loss *= num_entries * run.peaks[p] / scale
    run.scales[g], run.log_scales[g], run.losses[g] = scale, log_scale, loss + loss_by_scaling


@kernel(steps=lambda plan, run: 40 * run.firsts.size + 5 * run.messages.size)
def collect_rows(plan: RowPlan, run: RowRun) -> None:
    """The messages of all groups, children before parents."""
    odometer = _odometer(plan)
    for p in range(plan.parents.size):
        for g in range(run.group_starts[p], run.group_starts[p + 1]):
            _send(plan, run, odometer, p, g)


@kernel(steps=lambda plan, run, *_: 5 * run.groups.size)
def read_rows(plan: RowPlan, run: RowRun, log_totals: Floats, risky: Flags, marginals: Floats) -> None:
    """After `collect_rows`, for each row: the logarithm of its total, whether that is risky, the target's marginal.

    There are no marginals for a row that is risky or has the total zero.
    """
    log_totals[:] = 0.0
    risky[:] = 0
    for p in range(plan.parents.size):
        for r in range(run.rows.shape[0]):
            g = run.group_starts[p] + run.groups[p, r]
            if run.entries[g] >= 0:
                log_totals[r] += run.log_scales[g]
                risky[r] |= run.losses[g] > _SPARE
    if plan.home >= 0:
        size = plan.message_sizes[plan.home]
        for r in range(run.rows.shape[0]):
            if not risky[r] and log_totals[r] > -np.inf:
                start = run.message_starts[plan.home] + run.groups[plan.home, r] * size
                for i in range(size):
                    marginals[r, i] = run.messages[start + i]


@twin_of(read_rows)
def _read_rows_in_numpy(plan: RowPlan, run: RowRun, log_totals: Floats, risky: Flags, marginals: Floats) -> None:
    log_totals[:] = 0.0
    risky[:] = 0
    for p in range(plan.parents.size):
        places = run.group_starts[p] + run.groups[p]
        is_last = run.entries[places] >= 0
        log_totals[is_last] += run.log_scales[places[is_last]]
        risky |= is_last & (run.losses[places] > _SPARE)
    if plan.home >= 0:
        size = plan.message_sizes[plan.home]
        is_told = (risky == 0) & (log_totals > -np.inf)
        starts = run.message_starts[plan.home] + run.groups[plan.home, is_told] * size
        marginals[is_told] = run.messages[starts[:, np.newaxis] + np.arange(size)]


# --- down ---


@inlined_kernel
def _answer(plan: RowPlan, run: RowRun, odometer: _Odometer, answers: Floats, p: int, g: int, totals: Floats) -> None:
    """Add up a clique's beliefs in the answers to its children and in `totals`."""
    width = plan.operand_starts[p + 1] - plan.operand_starts[p]
    start = run.message_starts[p] + (g - run.group_starts[p]) * plan.message_sizes[p]
    is_needed = False
    for i in range(start, start + plan.message_sizes[p]):
        message = run.messages[i] * run.scales[g]
        answers[i] = answers[i] / message if message != 0.0 else 0.0
        is_needed = is_needed or answers[i] != 0.0
    if not is_needed:
        return
    num_outer, last, length = _open(plan, run, odometer, p, g)
    line = odometer.line
    goes_on = True
    while goes_on:
        _multiply(run, odometer, width, last, length)
        place, step = odometer.offsets[width - 1], odometer.steps[last + width - 1]
        for i in range(length):
            line[i] *= answers[place + i * step]
        for k in range(1, width - 1):
            place, step = odometer.offsets[k], odometer.steps[last + k]
            for i in range(length):
                answers[place + i * step] += line[i]
        place, step = odometer.offsets[0], odometer.steps[last]
        for i in range(length):
            totals[place + i * step] += line[i]
        goes_on = _step(odometer, width, num_outer)


@kernel
def _add_weights(entries: Ints, groups: Codes, weights: Floats, answers: Floats) -> None:
    """Add the rows' weights to the answers of those of a node's groups whose messages are cut off."""
    for r in range(groups.size):
        if entries[groups[r]] >= 0:
            answers[entries[groups[r]]] += weights[r]


@twin_of(_add_weights)
def _add_weights_in_numpy(entries: Ints, groups: Codes, weights: Floats, answers: Floats) -> None:
    is_last = entries[groups] >= 0
    np.add.at(answers, entries[groups[is_last]], weights[is_last])


@kernel(steps=lambda plan, run, *_: 80 * run.firsts.size + 10 * run.messages.size)
def distribute_rows(plan: RowPlan, run: RowRun, weights: Floats, totals: Floats) -> None:
    """After `collect_rows`: add the beliefs of all cliques, summed over rows by their weights, to `totals`.

    Beliefs are linear in what the parent says: the answers to the rows of a group are added up before they go down.
    """
    odometer = _odometer(plan)
    answers = np.zeros(run.messages.size)
    for p in range(plan.parents.size):
        _add_weights(run.entries[run.group_starts[p] : run.group_starts[p + 1]], run.groups[p], weights, answers)
    for p in range(plan.parents.size - 1, -1, -1):
        for g in range(run.group_starts[p], run.group_starts[p + 1]):
            _answer(plan, run, odometer, answers, p, g, totals)
