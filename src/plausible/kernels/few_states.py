"""Chains of at most four hidden states: messages stay in registers, where rows of an array would go through memory.

Fewer states are filled up to four with states that nothing leads to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.kernels.jit import inlined_kernel, kernel
from plausible.kernels.state_records import UNLIKELY, Messages, Span, StateChains, is_thin

#: So many states are few.
FEW = 4
Four = tuple[float, float, float, float]


class FewStates(NamedTuple):
    """Four states, some of which may be there to fill up."""

    initial: Floats  # (1, 4)
    transitions: Floats  # (matrices, 4, 4): state before, state
    flipped: Floats  # (matrices, 4, 4): state, state before


@kernel
def few_states(initial: Floats, transitions: Floats, nothing: float) -> FewStates:
    """The states of a chain, and `nothing` where they are fewer than four; of more states none."""
    width, shape = len(initial), (len(transitions), FEW, FEW)
    few = FewStates(np.full((1, FEW), nothing), np.full(shape, nothing), np.full(shape, nothing))
    if width <= FEW:
        few.initial[0, :width] = initial
        for number in range(len(transitions)):
            few.transitions[number, :width, :width] = transitions[number]
            few.flipped[number, :width, :width] = transitions[number].T
    return few


@inlined_kernel
def read_four(rows: Floats, t: int, width: int) -> Four:
    second = rows[t, 1] if width > 1 else 0.0
    third = rows[t, 2] if width > 2 else 0.0
    fourth = rows[t, 3] if width > 3 else 0.0
    return rows[t, 0], second, third, fourth


@inlined_kernel
def _write(numbers: Four, rows: Floats, t: int, width: int) -> None:
    rows[t, 0] = numbers[0]
    if width > 1:
        rows[t, 1] = numbers[1]
    if width > 2:
        rows[t, 2] = numbers[2]
    if width > 3:
        rows[t, 3] = numbers[3]


@inlined_kernel
def _times(one: Four, two: Four, factor: float) -> Four:
    return (
        one[0] * (two[0] * factor),
        one[1] * (two[1] * factor),
        one[2] * (two[2] * factor),
        one[3] * (two[3] * factor),
    )


@inlined_kernel
def _through(before: Four, m: Floats, number: int) -> Four:
    """Σ_i before[i] matrix[i, j]."""
    a, b, c, d = before
    return (
        (a * m[number, 0, 0] + b * m[number, 1, 0]) + (c * m[number, 2, 0] + d * m[number, 3, 0]),
        (a * m[number, 0, 1] + b * m[number, 1, 1]) + (c * m[number, 2, 1] + d * m[number, 3, 1]),
        (a * m[number, 0, 2] + b * m[number, 1, 2]) + (c * m[number, 2, 2] + d * m[number, 3, 2]),
        (a * m[number, 0, 3] + b * m[number, 1, 3]) + (c * m[number, 2, 3] + d * m[number, 3, 3]),
    )


@inlined_kernel
def _weigh(
    came: Four, weights: Four, factor: float, sizes: Floats, t: int, rows: Floats, here: int, width: int
) -> tuple[Four, float]:
    """The weighed numbers, which are written divided by their sum, and what divides them: zero if that is unlikely."""
    now = _times(came, weights, factor)
    size = (now[0] + now[1]) + (now[2] + now[3])
    sizes[t] = size
    factor = 1.0 / size if size > UNLIKELY else 0.0
    _write((now[0] * factor, now[1] * factor, now[2] * factor, now[3] * factor), rows, here, width)
    return now, factor


@inlined_kernel
def _meet(message: Four, rows: Floats, here: int, width: int) -> tuple[Four, float]:
    """The product of both messages divided by its sum, and one over that."""
    both = _times(message, read_four(rows, here, width), 1.0)
    factor = 1.0 / ((both[0] + both[1]) + (both[2] + both[3]))
    return (both[0] * factor, both[1] * factor, both[2] * factor, both[3] * factor), factor


@inlined_kernel
def _tell(beliefs: Four, rows: Floats, t: int, is_sum: bool, width: int) -> None:
    """Write beliefs to a row, or add them to it."""
    a, b, c, d = beliefs
    if is_sum:
        before = read_four(rows, t, width)
        a, b, c, d = a + before[0], b + before[1], c + before[2], d + before[3]
    _write((a, b, c, d), rows, t, width)


@inlined_kernel
def _add_pairs(onward: Four, factor: float, rows: Floats, t: int, outer: Floats, number: int) -> None:
    """What the pairs of both steps' states add up to, but for the transitions."""
    for i in range(rows.shape[1]):
        share = rows[t, i] * factor
        for j in range(rows.shape[1]):
            outer[number, j, i] += onward[j] * share


@inlined_kernel
def few_forward(
    chains: StateChains,
    few: FewStates,
    span: Span,
    is_sure: bool,
    marks: Floats,
    mark: int,
    sizes: Floats,
    forward: Floats,
) -> int:
    """What `state_chains` passes forward; the numbers of a step are divided by their sum on the way to the next."""
    width, factor, state, has_one = len(chains.initial), 1.0, 0, len(chains.matrix_of) == 0
    now, came = read_four(marks, max(mark, 0), width), read_four(few.initial, 0, FEW)
    first, last, base = span
    for t in range(first, last):
        row, number = chains.row_of[t], 0 if has_one else chains.matrix_of[t]
        if t > first or mark >= 0:
            came = _through(now, few.transitions, number)
        now, factor = _weigh(came, read_four(chains.weights, row, width), factor, sizes, t, forward, t - base, width)
        if factor == 0.0:
            state = 2  # which all steps to come are, too: a way out of the loop would make each sequence slower
        if not is_sure and state == 0 and is_thin(chains, t, forward, span, marks, mark):
            state = 1
    return state


@inlined_kernel
def few_backward(
    chains: StateChains, few: FewStates, span: Span, is_end: bool, forward: Floats, messages: Messages
) -> None:
    """What `state_chains` passes backward."""
    width, number = len(chains.initial), 0
    has_one, has_pairs, is_apart = len(chains.matrix_of) == 0, len(messages.outer) > 0, len(messages.places) > 0
    told = messages.sums if is_apart else forward
    onward = beliefs = message = read_four(messages.backward, 0, width)
    first, last, base = span
    for t in range(last - 1, first - 1, -1):
        here, is_last = t - base, is_end and t == last - 1
        if not is_last:
            number = 0 if has_one else chains.matrix_of[t + 1]
            weights = read_four(chains.weights, chains.row_of[t + 1], width)
            onward = _times(message, weights, 1.0 / messages.sizes[t + 1])
            message = _through(onward, few.flipped, number)
        beliefs, factor = _meet(message, forward, here, width)
        if has_pairs and not is_last:
            _add_pairs(onward, factor, forward, here, messages.outer, number)
        _tell(beliefs, told, messages.places[t] if is_apart else here, is_apart, width)
    _write(message, messages.backward, 0, width)
    _write(beliefs, messages.beliefs, 0, width)


@kernel
def sum_few_states(
    chains: StateChains, few: FewStates, first: int, last: int, rows: Floats, messages: Messages, is_risky: Flags
) -> None:
    """What `state_chains` adds up of sequences that `rows` has room for, where no transition is thin.

    Arrays are taken out of their records before the loop: within, machine code counts who holds them, which takes
    longer than the steps of a short sequence. Beliefs of first steps are added to `messages.beliefs`.
    """
    starts, _, _, matrix_of, weights, row_of = chains
    sizes, _, _, firsts, sums, places, outer = messages
    initial, transitions, flipped = few
    width, number = len(chains.initial), 0
    has_one, has_pairs, is_apart = len(matrix_of) == 0, len(outer) > 0, len(places) > 0
    for sequence in range(first, last):
        begin, end = starts[sequence], starts[sequence + 1]
        base, factor, is_likely = begin if is_apart else 0, 1.0, True
        now = came = read_four(initial, 0, FEW)
        for t in range(begin, end):
            if t > begin:
                came = _through(now, transitions, 0 if has_one else matrix_of[t])
            now, factor = _weigh(came, read_four(weights, row_of[t], width), factor, sizes, t, rows, t - base, width)
            is_likely = is_likely and factor > 0.0
        is_risky[sequence] = not is_likely
        beliefs, onward, message = (0.0, 0.0, 0.0, 0.0), came, (1.0, 1.0, 1.0, 1.0)
        for t in range(end - 1 if is_likely else begin - 1, begin - 1, -1):
            if t < end - 1:
                number = 0 if has_one else matrix_of[t + 1]
                onward = _times(message, read_four(weights, row_of[t + 1], width), 1.0 / sizes[t + 1])
                message = _through(onward, flipped, number)
            beliefs, factor = _meet(message, rows, t - base, width)
            if has_pairs and t < end - 1:
                _add_pairs(onward, factor, rows, t - base, outer, number)
            _tell(beliefs, sums, places[t] if is_apart else t, is_apart, width)
        _tell(beliefs, firsts, 0, True, width)
