"""Chains of hidden states: beliefs forwards and from both sides, and expected transitions.

Steps of all sequences lie one after the other. What is observed enters as *rows* of likelihoods, one number a state,
the largest of a row being one; each step has one of the rows, so that equal observations share theirs. Sums are scaled
at each step and free of logarithms. Where numbers could vanish that matter later, a sequence is *risky*, and its sums
are made again in logarithms by the callers of these kernels.
"""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats
from plausible.kernels.few_states import FEW, FewStates, few_backward, few_forward, few_states, sum_few_states
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.state_records import (
    LARGEST_GROWTH,
    SURE,
    THIN,
    UNLIKELY,
    Messages,
    Span,
    StateChains,
    is_thin,
)
from plausible.kernels.vectors import log_sum

#: Logarithms of likelihoods below this one, beside the largest of their row, are raised to it.
LEAST_LOG = -667.0


# --- one step: vectors, and arrays with the places in them, as making a view of each row would take longer than the
# work. Whole arrays are handed to inlined steps outside of branches only: within, machine code counts who holds them,
# which takes longer, too. Four states before are taken at a time, so that a vector is read and written a quarter as
# often. `width` is the number of states. Chains of few states have steps of their own. ---


@inlined_kernel
def _come(before: Floats, matrices: Floats, number: int, came: Floats, width: int) -> None:
    """Σ_i before[i] matrix[i, j]."""
    whole = width // 4 * 4
    for j in range(width):
        came[j] = 0.0
    for i in range(0, whole, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        for j in range(width):
            some = a * matrices[number, i, j] + b * matrices[number, i + 1, j]
            came[j] += some + (c * matrices[number, i + 2, j] + d * matrices[number, i + 3, j])
    for i in range(whole, width):
        share = before[i]
        for j in range(width):
            came[j] += share * matrices[number, i, j]


@twin_of(_come)
def _come_at_once(before: Floats, matrices: Floats, number: int, came: Floats, _width: int) -> None:
    np.dot(before, matrices[number], out=came)


@inlined_kernel
def _total(vector: Floats, width: int) -> float:
    """Added in fours: one after the other, each sum would wait for the one before."""
    total, whole = 0.0, width // 4 * 4
    for j in range(0, whole, 4):
        total += (vector[j] + vector[j + 1]) + (vector[j + 2] + vector[j + 3])
    for j in range(whole, width):
        total += vector[j]
    return total


@twin_of(_total)
def _total_at_once(vector: Floats, _width: int) -> float:
    return float(vector.sum())


@inlined_kernel
def _weigh(came: Floats, weights: Floats, place: int, now: Floats, rows: Floats, t: int, width: int) -> float:
    """Multiply by the weights and divide by the sum, which is told; the answer goes to a row, too."""
    for j in range(width):
        now[j] = came[j] * weights[place, j]
    size = _total(now, width)
    factor = 1.0 / size if size > 0.0 else 0.0
    for j in range(width):
        now[j] *= factor
        rows[t, j] = now[j]
    return size


@twin_of(_weigh)
def _weigh_at_once(came: Floats, weights: Floats, place: int, now: Floats, rows: Floats, t: int, _width: int) -> float:
    np.multiply(came, weights[place], out=now)
    size = float(now.sum())
    now *= 1.0 / size if size > 0.0 else 0.0
    rows[t] = now
    return size


@inlined_kernel
def _meet(forward: Floats, t: int, backward: Floats, beliefs: Floats, width: int) -> float:
    """The product of both messages, divided by its sum; one over that, which is nearly one, is told."""
    for j in range(width):
        beliefs[j] = forward[t, j] * backward[j]
    factor = 1.0 / _total(beliefs, width)
    for j in range(width):
        beliefs[j] *= factor
    return factor


@twin_of(_meet)
def _meet_at_once(forward: Floats, t: int, backward: Floats, beliefs: Floats, _width: int) -> float:
    np.multiply(forward[t], backward, out=beliefs)
    factor = 1.0 / float(beliefs.sum())
    beliefs *= factor
    return factor


@inlined_kernel
def _tell(rows: Floats, t: int, beliefs: Floats, is_sum: bool, width: int) -> None:
    """Write beliefs to a row, or add them to it."""
    if is_sum:
        for j in range(width):
            rows[t, j] += beliefs[j]
    else:
        for j in range(width):
            rows[t, j] = beliefs[j]


@twin_of(_tell)
def _tell_at_once(rows: Floats, t: int, beliefs: Floats, is_sum: bool, _width: int) -> None:
    rows[t] = rows[t] + beliefs if is_sum else beliefs


@inlined_kernel
def _onward(weights: Floats, place: int, backward: Floats, size: float, onward: Floats, width: int) -> None:
    factor = 1.0 / size
    for j in range(width):
        onward[j] = weights[place, j] * factor * backward[j]


@twin_of(_onward)
def _onward_at_once(weights: Floats, place: int, backward: Floats, size: float, onward: Floats, _width: int) -> None:
    np.multiply(weights[place] * (1.0 / size), backward, out=onward)


@inlined_kernel
def _add_pairs(onward: Floats, factor: float, forward: Floats, t: int, outer: Floats, number: int, width: int) -> None:
    """What the pairs of both steps' states add up to, but for the transitions."""
    for j in range(width):
        share = onward[j] * factor
        for i in range(width):
            outer[number, j, i] += share * forward[t, i]


@twin_of(_add_pairs)
def _add_pairs_at_once(
    onward: Floats, factor: float, forward: Floats, t: int, outer: Floats, number: int, _width: int
) -> None:
    outer[number] += (onward * factor)[:, None] * forward[t]


@kernel
def lift(logs: Floats, tops: Floats) -> None:
    """Subtract from each row its greatest number, which is told, and raise what is far below it; -inf stays."""
    for row in range(len(logs)):
        top = -math.inf
        for j in range(logs.shape[1]):
            top = logs[row, j] if logs[row, j] > top else top
        top = 0.0 if top == -math.inf else top
        tops[row] = top
        for j in range(logs.shape[1]):
            value = logs[row, j] - top
            logs[row, j] = LEAST_LOG if -math.inf < value < LEAST_LOG else value


@twin_of(lift)
def _lift_at_once(logs: Floats, tops: Floats) -> None:
    np.max(logs, axis=1, out=tops)
    tops[np.isneginf(tops)] = 0.0
    logs -= tops[:, None]
    logs[(logs < LEAST_LOG) & (logs > -np.inf)] = LEAST_LOG


# --- sums over all paths ---


@kernel
def _least_transition(transitions: Floats) -> float:
    """The smallest, zero or not."""
    least: float = transitions.min()
    return least


@kernel
def _least_positive(numbers: Floats) -> float:
    least = math.inf
    for number in numbers.flat:
        if 0.0 < number < least:
            least = number
    return least


@kernel
def _forward(
    chains: StateChains, span: Span, is_sure: bool, marks: Floats, mark: int, sizes: Floats, forward: Floats
) -> int:
    first, last, base = span
    state, has_one, width = 0, len(chains.matrix_of) == 0, len(chains.initial)
    now, came = np.empty(width), chains.initial.copy()
    if mark >= 0:
        now[:] = marks[mark]
    for t in range(first, last):
        number, row = 0 if has_one else chains.matrix_of[t], chains.row_of[t]
        if t > first or mark >= 0:
            _come(now, chains.transitions, number, came, width)
        sizes[t] = _weigh(came, chains.weights, row, now, forward, t - base, width)
        if not sizes[t] > UNLIKELY:
            state = 2
            break
        if not is_sure and state == 0 and is_thin(chains, t, forward, span, marks, mark):
            state = 1
    return state


@inlined_kernel
def _pass_forward(
    chains: StateChains,
    few: FewStates,
    span: Span,
    is_sure: bool,
    marks: Floats,
    mark: int,
    sizes: Floats,
    forward: Floats,
) -> int:
    """Beliefs of steps from the first up to the last given what is observed up to each.

    `marks[mark]` are those of the step before, which a first step of a sequence has not: -1. `sizes` gets the
    probability of each step given those before, but for the scale of its row. Tells 0 where all is well, 1 where a
    number has become thin, 2 where a step is too unlikely.
    """
    if len(chains.initial) <= FEW:
        state = few_forward(chains, few, span, is_sure, marks, mark, sizes, forward)
    else:
        state = _forward(chains, span, is_sure, marks, mark, sizes, forward)
    return state


@kernel(steps=lambda chains, first, last, *_: (chains.starts[last] - chains.starts[first]) * chains.initial.size)
def filter_states(chains: StateChains, first: int, last: int, beliefs: Floats, sizes: Floats, is_risky: Flags) -> None:
    """Beliefs of the states of each step given what is observed up to it, for sequences from the first up to the last.

    `sizes` gets p(o_t | o_1 ... o_{t-1}) of each step, but for the scale of its row.
    """
    is_sure = _least_transition(chains.transitions) >= SURE
    is_rough = _least_positive(chains.transitions) < THIN
    few, nothing = few_states(chains.initial, chains.transitions, 0.0), np.empty((1, len(chains.initial)))
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        if len(chains.initial) <= FEW:  # not by _pass_forward: inlined twice, arrays are counted at each sequence
            state = few_forward(chains, few, (begin, end, 0), is_sure, nothing, -1, sizes, beliefs)
        else:
            state = _forward(chains, (begin, end, 0), is_sure, nothing, -1, sizes, beliefs)
        is_risky[sequence] = state > 0 or is_rough


@kernel
def _may_grow(chains: StateChains, begin: int, end: int, flipped: Floats, sizes: Floats) -> bool:
    """Whether what is observed later could make a belief matter that was thin."""
    num_states = len(chains.initial)
    backward, onward = np.ones(num_states), np.empty(num_states)
    for t in range(end - 1, begin, -1):
        _onward(chains.weights, chains.row_of[t], backward, sizes[t], onward, num_states)
        number = chains.matrix_of[t] if len(chains.matrix_of) else 0
        _come(onward, flipped, number, backward, num_states)
        if not backward.max() < LARGEST_GROWTH:
            return True
    return False


@kernel
def _backward(
    chains: StateChains, span: Span, is_end: bool, flipped: Floats, forward: Floats, messages: Messages
) -> None:
    first, last, base = span
    width = len(chains.initial)
    backward, onward, beliefs = messages.backward[0], messages.onward, messages.beliefs[0]
    has_pairs, is_apart = len(messages.outer) > 0, len(messages.places) > 0
    told = messages.sums if is_apart else forward
    for t in range(last - 1, first - 1, -1):
        is_last, number = is_end and t == last - 1, 0
        if not is_last:
            number = chains.matrix_of[t + 1] if len(chains.matrix_of) else 0
            _onward(chains.weights, chains.row_of[t + 1], backward, messages.sizes[t + 1], onward, width)
            _come(onward, flipped, number, backward, width)
        factor = _meet(forward, t - base, backward, beliefs, width)
        if has_pairs and not is_last:
            _add_pairs(onward, factor, forward, t - base, messages.outer, number, width)
        _tell(told, messages.places[t] if is_apart else t - base, beliefs, is_apart, width)


@inlined_kernel
def _pass_backward(
    chains: StateChains,
    few: FewStates,
    span: Span,
    is_end: bool,
    flipped: Floats,
    forward: Floats,
    messages: Messages,
) -> None:
    """Beliefs of steps from the last down to the first given all observations; `is_end`: nothing comes after these."""
    if len(chains.initial) <= FEW:
        few_backward(chains, few, span, is_end, forward, messages)
    else:
        _backward(chains, span, is_end, flipped, forward, messages)


@kernel(steps=lambda chains, first, last, *_: 4 * (chains.starts[last] - chains.starts[first]) * chains.initial.size)
def sum_states(
    chains: StateChains,
    first: int,
    last: int,
    block: int,
    places: Codes,
    sizes: Floats,
    sums: Floats,
    firsts: Floats,
    pairs: Floats,
    is_risky: Flags,
) -> None:
    """Beliefs given all that is observed, of sequences from the first up to the last, added up.

    `sums[places[t]]` is added P(state at t | o), `firsts` that of first steps, `pairs[m]` the expected number of each
    transition by matrix m, if it has room for any; sequences that are risky add nothing. Messages are kept for `block`
    steps: of longer sequences they are made twice, from what is kept of each block. Without `places` each step has its
    own row of sums, which keeps its message until then and need not begin with zeros; blocks are whole sequences.
    """
    num_states, longest = len(chains.initial), 0
    for sequence in range(first, last):
        longest = max(longest, chains.starts[sequence + 1] - chains.starts[sequence])
    is_sure = _least_transition(chains.transitions) >= SURE
    is_rough = _least_positive(chains.transitions) < THIN
    flipped, outer = np.empty_like(chains.transitions), np.zeros(pairs.shape)
    for number in range(len(flipped)):
        flipped[number] = chains.transitions[number].T
    is_apart = len(places) > 0
    rows = np.empty((min(block, longest), num_states)) if is_apart else sums
    marks, few = np.empty((longest // block + 1, num_states)), few_states(chains.initial, chains.transitions, 0.0)
    backward, onward, beliefs = np.empty((1, num_states)), np.empty(num_states), np.empty((1, num_states))
    messages = Messages(sizes, backward, onward, beliefs, sums, places, outer)
    if num_states <= FEW and is_sure and longest <= block:
        to_firsts = Messages(sizes, backward, onward, firsts.reshape((1, num_states)), sums, places, outer)
        sum_few_states(chains, few, first, last, rows, to_firsts, is_risky)
        first = last  # there is none left to do
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        state, mark = int(is_rough), -1
        for start in range(begin, end, block):
            stop = min(start + block, end)
            span = (start, stop, start if is_apart else 0)
            state = max(state, _pass_forward(chains, few, span, is_sure, marks, mark, sizes, rows))
            mark += 1
            if stop < end:
                marks[mark] = rows[stop - 1 - span[2]]
        is_risky[sequence] = state == 2 or (state == 1 and _may_grow(chains, begin, end, flipped, sizes))
        for place in range(num_states):
            backward[0, place] = 1.0
        num_blocks = 0 if is_risky[sequence] else (end - begin + block - 1) // block
        for number in range(num_blocks - 1, -1, -1):
            start = begin + number * block
            stop = min(start + block, end)
            span = (start, stop, start if is_apart else 0)
            if number < num_blocks - 1:
                _pass_forward(chains, few, span, True, marks, number - 1, sizes, rows)
            _pass_backward(chains, few, span, stop == end, flipped, rows, messages)
        for place in range(num_states if num_blocks else 0):
            firsts[place] += beliefs[0, place]
    for number in range(len(outer)):
        pairs[number] += outer[number].T * chains.transitions[number]


@kernel(steps=lambda chains, first, last, *_: 40 * (chains.starts[last] - chains.starts[first]) * chains.initial.size)
def sum_log_states(
    chains: StateChains,
    first: int,
    last: int,
    filtered: Floats,
    log_sizes: Floats,
    beliefs: Floats,
    firsts: Floats,
    pairs: Floats,
) -> None:
    """The same of chains whose numbers are logarithms: `filtered` gets logarithms, `beliefs` probabilities.

    `log_sizes` gets log p(o_t | o_1 ... o_{t-1}), -inf where that is impossible, and from there on; such a sequence has
    no beliefs and adds nothing.
    """
    num_states = len(chains.initial)
    backward, around = np.empty(num_states), np.empty(num_states)
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        for t in range(begin, end):
            matrix = chains.transitions[chains.matrix_of[t] if len(chains.matrix_of) else 0]
            for j in range(num_states):
                came = log_sum(filtered[t - 1] + matrix[:, j]) if t > begin else chains.initial[j]
                filtered[t, j] = came + chains.weights[chains.row_of[t], j]
            log_sizes[t] = log_sum(filtered[t])
            if log_sizes[t] > -math.inf:
                filtered[t] -= log_sizes[t]
        if begin == end or log_sizes[end - 1] == -math.inf:
            continue
        backward[:] = 0.0
        for t in range(end - 1, begin - 1, -1):
            if t < end - 1:
                number = chains.matrix_of[t + 1] if len(chains.matrix_of) else 0
                matrix = chains.transitions[number]
                around[:] = chains.weights[chains.row_of[t + 1]] + backward - log_sizes[t + 1]
                for i in range(num_states):
                    ahead = matrix[i] + around
                    if filtered[t, i] > -math.inf:
                        pairs[number, i] += np.exp(filtered[t, i] + ahead)
                    backward[i] = log_sum(ahead)
            beliefs[t] = np.exp(filtered[t] + backward)
            beliefs[t] /= beliefs[t].sum()
        firsts += beliefs[begin]
