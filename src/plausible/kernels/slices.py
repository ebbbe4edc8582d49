"""Networks over time: one clique tree for all steps, run once a step, with messages from slice to slice.

The tree of a step has a clique for each cluster of variables that hand something over from the slice before, and one
for each that hands over to the slice after: these cliques hold the cluster alone, so that what passes is their own
message. Where the outgoing cluster is all that is handed over, its clique is the root, and a message forward takes one
way up. The answer to the incoming clique is the message backward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.blocks import LOG_SUM, MAX, SUM, Buffers, Layout, make_block, next_block, seek, sort_operands
from plausible.kernels.downward import distribute, read_joint, read_marginals
from plausible.kernels.jit import inlined_kernel, kernel
from plausible.kernels.tables import best_states, draw_states
from plausible.kernels.upward import collect, log_total
from plausible.kernels.vectors import largest_log, largest_of, smallest_log, total_of


class Slice(NamedTuple):
    """What the steps of one tree need besides its layout."""

    weight_starts: Ints
    observed: Ints  # the variables that are observed somewhere, in the order of the columns of codes
    #: The operands of the factors that differ from step to step, in the order of the numbers of a step; their cliques.
    varying: Ints
    varying_cliques: Ints
    #: For each cluster the operand that its message is, and the clique of that.
    incoming: Ints
    outgoing: Ints
    #: Cluster after cluster the place in a message of each number, in the order in which its clique has them.
    incoming_places: Ints
    outgoing_places: Ints
    #: What is told of each step, and where in the store the weights of a variable's states are: see `read_marginals`.
    told: Ints


class Observations(NamedTuple):
    """What is known of each step, those of all sequences one after the other."""

    codes: Codes  # (steps, columns): positions of states, -1 where nothing is known, -2 - r for row r of `weights`
    weights: Floats  # the likelihoods of states of cells that are known in part; logarithms where the run is on these
    numbers: Floats  # (steps, numbers): those of the factors that differ from step to step


class Joint(NamedTuple):
    """A joint that is read off at each step: its clique, -1 for none, and how it lies on it."""

    clique: int
    strides: Ints
    lie: Ints


@inlined_kernel
def _put(layout: Layout, buffers: Buffers, k: int, c: int, values: Floats, semiring: int) -> None:
    """Numbers of an operand."""
    operand = layout.operands[k]
    buffers.store[operand.start : operand.start + operand.length] = values
    if semiring == SUM:
        buffers.floors[k], buffers.ceilings[k] = smallest_log(values), largest_log(values)
    buffers.stale[c] = 1


@inlined_kernel
def _observe(
    layout: Layout, buffers: Buffers, piece: Slice, seen: Observations, step: int, before: int, semiring: int
) -> None:
    """What is known of a step; `before` is the step whose observations are in the store, -1 for none."""
    one, zero = (1.0, 0.0) if semiring == SUM else (0.0, -np.inf)
    for i in range(piece.observed.size):
        code = seen.codes[step, i]
        if before >= 0 and seen.codes[before, i] == code:
            continue
        v = piece.observed[i]
        start, size = piece.weight_starts[v], layout.sizes[v]
        c, k = layout.finding_operands[v]
        weights = buffers.store[start : start + size]
        if code < -1:
            weights[:] = seen.weights[-2 - code, :size]
        else:
            weights[:] = one if code < 0 else zero
            if code >= 0:
                weights[code] = one
        if semiring == SUM:
            buffers.floors[k], buffers.ceilings[k] = smallest_log(weights), largest_log(weights)
        buffers.stale[c] = 1
    begin = 0
    for i in range(piece.varying.size):
        k = piece.varying[i]
        length = layout.operands[k].length
        _put(layout, buffers, k, piece.varying_cliques[i], seen.numbers[step, begin : begin + length], semiring)
        begin += length


@inlined_kernel
def _pass_in(layout: Layout, buffers: Buffers, ends: Ints, message: Floats, semiring: int) -> None:
    """The message of each cluster at one side of the slice."""
    begin = 0
    for i in range(ends.shape[0]):
        length = layout.operands[ends[i, 0]].length
        _put(layout, buffers, ends[i, 0], ends[i, 1], message[begin : begin + length], semiring)
        begin += length


@kernel
def _normalize(message: Floats, semiring: int) -> None:
    """Divide by the sum; of logarithms, take off that of the sum, or the largest."""
    if semiring == SUM:
        message /= total_of(message)
    else:
        peak = largest_of(message)
        message -= peak + np.log(np.exp(message - peak).sum()) if semiring == LOG_SUM else peak


@inlined_kernel
def _pass_on(layout: Layout, buffers: Buffers, piece: Slice, message: Floats, semiring: int) -> None:
    """Write the message of each outgoing cluster: its belief but for what comes from behind, normalised."""
    begin = 0
    for i in range(piece.outgoing.shape[0]):
        c = piece.outgoing[i, 1]
        clique = layout.cliques[c]
        length = layout.operands[piece.outgoing[i, 0]].length
        places = piece.outgoing_places[begin : begin + length]
        part = message[begin : begin + length]
        if clique.parent >= 0:
            for row in range(length):
                below, above = buffers.store[clique.message + row], buffers.store[clique.ratio + row]
                part[places[row]] = below * above if semiring == SUM else below + above
        else:
            num_mixed, num_flat, scale, has_base = sort_operands(layout, buffers, c, clique.last, semiring != SUM)
            seek(layout, buffers, c, 0)
            for b in range(clique.num_blocks):
                is_live = make_block(layout, buffers, c, num_mixed, num_flat, scale, has_base, semiring != SUM)
                for j in range(clique.block):
                    nothing = 0.0 if semiring == SUM else -np.inf
                    part[places[b * clique.block + j]] = buffers.block[j] if is_live else nothing
                if b + 1 < clique.num_blocks:
                    next_block(layout, buffers.offsets, buffers.counters, c)
        _normalize(part, semiring)
        begin += length


@inlined_kernel
def _pass_back(layout: Layout, buffers: Buffers, piece: Slice, message: Floats, semiring: int) -> None:
    """Write what each incoming clique makes of its message, but for the message itself, the largest number being one.

    What the message rules out does not matter.
    """
    begin = 0
    for i in range(piece.incoming.shape[0]):
        clique = layout.cliques[piece.incoming[i, 1]]
        operand = layout.operands[piece.incoming[i, 0]]
        length = operand.length
        part = message[begin : begin + length]
        for row in range(length):
            place = piece.incoming_places[begin + row]
            given = buffers.store[operand.start + place]
            below, above = buffers.store[clique.message + row], buffers.store[clique.ratio + row]
            if semiring == SUM:
                part[place] = below * above / given if given > 0.0 else 0.0
            else:
                part[place] = below + above - given if given > -np.inf else -np.inf
        peak = largest_of(part)
        if semiring == SUM:
            part /= peak
        else:
            part -= peak
        begin += length


@inlined_kernel
def _tell(
    layout: Layout,
    buffers: Buffers,
    told: Ints,
    joint: Joint,
    semiring: int,
    tables: Floats,
    table_starts: Ints,
    beliefs: Floats,
    joints: Floats,
) -> None:
    """After `collect`: pass answers to all cliques, and read off marginals, and a joint where one is asked for."""
    count = layout.cliques.size
    wanted = np.ones(count, dtype=np.uint8)
    distribute(layout, buffers, wanted, np.arange(count), semiring, tables, table_starts, 1.0)
    read_marginals(layout, buffers, told, beliefs)
    if joint.clique >= 0:
        read_joint(layout, buffers, joint.clique, semiring, joint.strides, joint.lie, joints)


@kernel(steps=lambda layout, buffers, piece, seen, runs, *_: 200 * buffers.live.size * len(seen.codes))
def pass_forward(
    layout: Layout,
    buffers: Buffers,
    piece: Slice,
    seen: Observations,
    runs: Ints,
    semiring: int,
    follows: bool,
    tells: bool,
    joint: Joint,
    messages: Floats,
    logs: Floats,
    beliefs: Floats,
    joints: Floats,
) -> bool:
    """Messages forward over runs of steps; whether a step is risky, which ends the kernel.

    Row i of `messages` and of `logs` is that of step i - 1: `logs` has log p(o_t | o_1 ... o_t-1), -inf where a step
    is impossible and NaN after that. The first steps of sequences do not follow others.
    """
    everything = np.arange(layout.cliques.size)
    before = -1
    starts = np.full(layout.cliques.size, -1)
    nothing = np.empty(0)
    for run in range(runs.shape[0]):
        for step in range(runs[run, 0], runs[run, 1]):
            if follows and not np.isfinite(logs[step]):
                logs[step + 1] = np.nan
                continue
            _observe(layout, buffers, piece, seen, step, before, semiring)
            before = step
            _pass_in(layout, buffers, piece.incoming, messages[step], semiring)
            collect(layout, buffers, everything, semiring)
            if semiring == SUM and buffers.risky.any():
                return True
            logs[step + 1] = log_total(buffers)
            if logs[step + 1] == -np.inf:
                continue
            if tells:
                row = joints[step] if joint.clique >= 0 else nothing
                _tell(layout, buffers, piece.told, joint, semiring, nothing, starts, beliefs[step], row)
            _pass_on(layout, buffers, piece, messages[step + 1], semiring)
    return False


@kernel(steps=lambda layout, buffers, piece, seen, runs, *_: 400 * buffers.live.size * len(seen.codes))
def pass_backward(
    layout: Layout,
    buffers: Buffers,
    piece: Slice,
    seen: Observations,
    runs: Ints,
    semiring: int,
    joint: Joint,
    messages: Floats,
    answers: Floats,
    tables: Floats,
    table_starts: Ints,
    beliefs: Floats,
    joints: Floats,
) -> bool:
    """Messages backward over runs of steps, after those forward; whether a step is risky, which ends the kernel.

    Row i of `answers` is what comes back to step i - 1. Beliefs of cliques are added up, over all steps, in `tables`.
    """
    everything = np.arange(layout.cliques.size)
    before = -1
    nothing = np.empty(0)
    for run in range(runs.shape[0]):
        for step in range(runs[run, 1] - 1, runs[run, 0] - 1, -1):
            _observe(layout, buffers, piece, seen, step, before, semiring)
            before = step
            _pass_in(layout, buffers, piece.incoming, messages[step], semiring)
            _pass_in(layout, buffers, piece.outgoing, answers[step + 1], semiring)
            collect(layout, buffers, everything, semiring)
            if semiring == SUM and buffers.risky.any():
                return True
            row = joints[step] if joint.clique >= 0 else nothing
            _tell(layout, buffers, piece.told, joint, semiring, tables, table_starts, beliefs[step], row)
            _pass_back(layout, buffers, piece, answers[step], semiring)
    return False


@kernel(steps=lambda layout, buffers, piece, seen, runs, *_: 300 * buffers.live.size * len(seen.codes))
def trace_back(
    layout: Layout,
    buffers: Buffers,
    piece: Slice,
    seen: Observations,
    runs: Ints,
    semiring: int,
    sides: Ints,
    levels: Floats,
    messages: Floats,
    chosen: Ints,
    states: Codes,
) -> bool:
    """After messages forward: the best states of each step with MAX, else states drawn; whether a step is risky.

    `chosen[i]` is the place of the outgoing message of step i - 1 that the step after it goes on from, -1 where there
    is none. `sides` has for each of the two messages the variables and their strides; `levels` a column for each
    clique.
    """
    everything = np.arange(layout.cliques.size)
    before, size = -1, 0
    for i in range(piece.outgoing.shape[0]):
        size += layout.operands[piece.outgoing[i, 0]].length
    ends = np.empty(size)
    one, zero = (1.0, 0.0) if semiring == SUM else (0.0, -np.inf)
    row = np.empty(layout.sizes.size, dtype=np.int64)
    for run in range(runs.shape[0]):
        for step in range(runs[run, 1] - 1, runs[run, 0] - 1, -1):
            _observe(layout, buffers, piece, seen, step, before, semiring)
            before = step
            _pass_in(layout, buffers, piece.incoming, messages[step], semiring)
            ends[:] = one if chosen[step + 1] < 0 else zero
            if chosen[step + 1] >= 0:
                ends[chosen[step + 1]] = one
            _pass_in(layout, buffers, piece.outgoing, ends, semiring)
            collect(layout, buffers, everything, semiring)
            if semiring == SUM and buffers.risky.any():
                return True
            if semiring == MAX:
                best_states(layout, buffers, row)
            else:
                draw_states(layout, buffers, levels[step], semiring, row)
            states[step] = row[: states.shape[1]]
            if sides.shape[0]:
                place = 0
                for i in range(sides.shape[0]):
                    place += row[sides[i, 0]] * sides[i, 1]
                chosen[step] = place
    return False


class Draws(NamedTuple):
    """The tables of one slice's variables, for drawing: those of variable i are at `starts[i]`."""

    variables: Ints  # the variables, parents within a slice before their children
    sizes: Ints  # of each variable its number of states
    starts: Ints
    sums: Floats  # each row added up, without its last number
    #: The parents of variable i are those from `parent_starts[i]` on: variable, lag, stride of its states in rows.
    parent_starts: Ints
    parents: Ints


@kernel(steps=lambda draws, runs, levels, states: 20 * levels.size)
def draw_slices(draws: Draws, runs: Ints, levels: Floats, states: Codes) -> None:
    """Draw the states of runs of steps, one after the other, from uniform levels."""
    for run in range(runs.shape[0]):
        for step in range(runs[run, 0], runs[run, 1]):
            for i in range(draws.variables.size):
                v = draws.variables[i]
                row = 0
                for j in range(draws.parent_starts[i], draws.parent_starts[i + 1]):
                    row += states[step - draws.parents[j, 1], draws.parents[j, 0]] * draws.parents[j, 2]
                size = draws.sizes[v]
                begin = draws.starts[i] + row * (size - 1)
                state = 0
                while state < size - 1 and levels[step, v] >= draws.sums[begin + state]:
                    state += 1
                states[step, v] = state
