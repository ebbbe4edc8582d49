"""Chains of hidden states: beliefs forwards and from both sides, expected transitions, best paths, and draws of paths.

Steps of all sequences lie one after the other. What is observed enters as *rows* of likelihoods, one number a state,
the largest of a row being one; each step has one of the rows, so that equal observations share theirs. Sums are scaled
at each step and free of logarithms. Where numbers could vanish that matter later, a sequence is *risky*, and its sums
are made again in logarithms by the callers of these kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.label_chains import log_sum

#: Logarithms of likelihoods below this one, beside the largest of their row, are raised to it.
LEAST_LOG = -667.0
#: Where every transition is at least so probable nothing that vanishes matters; a step as improbable is risky.
_SURE, _UNLIKELY = 1e-100, 1e-150
#: Beliefs below this one are looked after: what they may grow to is bounded by a message from the right.
_THIN, _LARGEST_GROWTH = 1e-150, 1e100
#: Logarithms of best paths are brought back to zero after so many steps.
_LIFTED = 16


class StateChains(NamedTuple):
    """Sequences of hidden states with what is observed; numbers may be logarithms, where a kernel says so."""

    starts: Ints  # where sequences begin, and where the last one ends
    initial: Floats  # (K,)
    transitions: Floats  # (matrices, K, K): state before, state
    matrix_of: Codes  # which matrix leads to each step; empty where there is one
    weights: Floats  # (rows, K): likelihoods of states
    row_of: Codes  # the row of each step


# --- one step: arrays go with the places in them, as making a view of each row would take longer than the work. Four
# states before are taken at a time, so that a row is read and written a quarter as often. ---


@inlined_kernel
def _come(before: Floats, earlier: int, matrices: Floats, number: int, rows: Floats, t: int) -> None:
    """Σ_i before[i] matrix[i, j]."""
    whole = rows.shape[1] // 4 * 4
    for j in range(rows.shape[1]):
        rows[t, j] = 0.0
    for i in range(0, whole, 4):
        a, b, c, d = before[earlier, i], before[earlier, i + 1], before[earlier, i + 2], before[earlier, i + 3]
        for j in range(rows.shape[1]):
            some = a * matrices[number, i, j] + b * matrices[number, i + 1, j]
            rows[t, j] += some + (c * matrices[number, i + 2, j] + d * matrices[number, i + 3, j])
    for i in range(whole, rows.shape[1]):
        share = before[earlier, i]
        for j in range(rows.shape[1]):
            rows[t, j] += share * matrices[number, i, j]


@twin_of(_come)
def _come_at_once(before: Floats, earlier: int, matrices: Floats, number: int, rows: Floats, t: int) -> None:
    np.dot(before[earlier], matrices[number], out=rows[t])


@inlined_kernel
def _weigh(rows: Floats, t: int, weights: Floats, place: int) -> float:
    """Multiply by the weights and divide by the sum, which is told."""
    size = 0.0
    for j in range(rows.shape[1]):
        rows[t, j] *= weights[place, j]
        size += rows[t, j]
    factor = 1.0 / size if size > 0.0 else 0.0
    for j in range(rows.shape[1]):
        rows[t, j] *= factor
    return size


@twin_of(_weigh)
def _weigh_at_once(rows: Floats, t: int, weights: Floats, place: int) -> float:
    row = rows[t]
    row *= weights[place]
    size = float(row.sum())
    row *= 1.0 / size if size > 0.0 else 0.0
    return size


@inlined_kernel
def _share(forward: Floats, t: int, backward: Floats, beliefs: Floats, sums: Floats, place: int) -> None:
    """Make both messages the beliefs of a step, which are added; the message from the right is scaled with them."""
    size = 0.0
    for j in range(len(beliefs)):
        beliefs[j] = forward[t, j] * backward[j]
        size += beliefs[j]
    factor = 1.0 / size
    for j in range(len(beliefs)):
        beliefs[j] *= factor
        backward[j] *= factor
        sums[place, j] += beliefs[j]


@twin_of(_share)
def _share_at_once(forward: Floats, t: int, backward: Floats, beliefs: Floats, sums: Floats, place: int) -> None:
    np.multiply(forward[t], backward, out=beliefs)
    size = float(beliefs.sum())
    beliefs *= 1.0 / size
    backward *= 1.0 / size
    sums[place] += beliefs


@inlined_kernel
def _onward(weights: Floats, place: int, backward: Floats, size: float, onward: Floats) -> None:
    factor = 1.0 / size
    for j in range(len(onward)):
        onward[j] = weights[place, j] * backward[j] * factor


@twin_of(_onward)
def _onward_at_once(weights: Floats, place: int, backward: Floats, size: float, onward: Floats) -> None:
    np.multiply(weights[place], backward, out=onward)
    onward *= 1.0 / size


@inlined_kernel
def _go_back(
    onward: Floats, flipped: Floats, number: int, forward: Floats, t: int, outer: Floats, backward: Floats
) -> None:
    """The message to the left, and what the pairs of both steps' states add up to, but for the transitions."""
    whole = len(onward) // 4 * 4
    for i in range(len(backward)):
        backward[i] = 0.0
    for j in range(0, whole, 4):
        a, b, c, d = onward[j], onward[j + 1], onward[j + 2], onward[j + 3]
        for i in range(len(backward)):
            some = a * flipped[number, j, i] + b * flipped[number, j + 1, i]
            backward[i] += some + (c * flipped[number, j + 2, i] + d * flipped[number, j + 3, i])
    for j in range(whole, len(onward)):
        share = onward[j]
        for i in range(len(backward)):
            backward[i] += share * flipped[number, j, i]
    for j in range(len(onward)):
        share = onward[j]
        for i in range(len(backward)):
            outer[number, j, i] += share * forward[t, i]


@twin_of(_go_back)
def _go_back_at_once(
    onward: Floats, flipped: Floats, number: int, forward: Floats, t: int, outer: Floats, backward: Floats
) -> None:
    np.dot(onward, flipped[number], out=backward)
    outer[number] += onward[:, None] * forward[t]


@kernel
def _is_thin(row: Floats, weights: Floats, before: Floats, matrix: Floats) -> bool:
    """Whether a number of a normalised row is so small that it, or what comes of it, may vanish."""
    for j in range(len(row)):
        if 0.0 < row[j] < _THIN:
            return True
        if row[j] == 0.0 and weights[j] > 0.0:
            for i in range(len(before)):
                if before[i] > 0.0 and matrix[i, j] > 0.0:
                    return True
    return False


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
def _pass_forward(
    chains: StateChains, first: int, last: int, is_sure: bool, marks: Floats, mark: int, sizes: Floats, forward: Floats
) -> int:
    """Beliefs of steps from the first up to the last given what is observed up to each.

    `marks[mark]` are those of the step before, which a first step of a sequence has not: -1. `sizes` gets the
    probability of each step given those before, but for the scale of its row. Tells 0 where all is well, 1 where a
    number has become thin, 2 where a step is too unlikely.
    """
    state, has_one = 0, len(chains.matrix_of) == 0
    for t in range(first, last):
        number, row, here = 0 if has_one else chains.matrix_of[t], chains.row_of[t], t - first
        if here:
            _come(forward, here - 1, chains.transitions, number, forward, here)
        elif mark >= 0:
            _come(marks, mark, chains.transitions, number, forward, 0)
        else:
            forward[0] = chains.initial
        sizes[t] = _weigh(forward, here, chains.weights, row)
        if not sizes[t] > _UNLIKELY:
            return 2
        if not is_sure and state == 0:
            before = forward[here - 1] if here else marks[mark] if mark >= 0 else chains.initial[:0]
            if _is_thin(forward[here], chains.weights[row], before, chains.transitions[number]):
                state = 1
    return state


@kernel(steps=lambda chains, first, last, *_: (chains.starts[last] - chains.starts[first]) * chains.initial.size)
def filter_states(chains: StateChains, first: int, last: int, beliefs: Floats, sizes: Floats, is_risky: Flags) -> None:
    """Beliefs of the states of each step given what is observed up to it, for sequences from the first up to the last.

    `sizes` gets p(o_t | o_1 ... o_{t-1}) of each step, but for the scale of its row.
    """
    is_sure = _least_transition(chains.transitions) >= _SURE
    is_rough = _least_positive(chains.transitions) < _THIN
    nothing = np.empty((0, len(chains.initial)))
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        state = _pass_forward(chains, begin, end, is_sure, nothing, -1, sizes, beliefs[begin:end])
        is_risky[sequence] = state > 0 or is_rough


@kernel
def _may_grow(chains: StateChains, begin: int, end: int, flipped: Floats, sizes: Floats) -> bool:
    """Whether what is observed later could make a belief matter that was thin."""
    num_states = len(chains.initial)
    backward, onward, nothing = np.ones(num_states), np.empty(num_states), np.zeros((1, num_states))
    outer = np.empty_like(flipped)
    for t in range(end - 1, begin, -1):
        _onward(chains.weights, chains.row_of[t], backward, sizes[t], onward)
        number = chains.matrix_of[t] if len(chains.matrix_of) else 0
        _go_back(onward, flipped, number, nothing, 0, outer, backward)
        if not backward.max() < _LARGEST_GROWTH:
            return True
    return False


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
    transition by matrix m; sequences that are risky add nothing. Messages are kept for `block` steps: of longer
    sequences they are made twice, from what is kept of each block.
    """
    num_states, longest = len(chains.initial), 0
    for sequence in range(first, last):
        longest = max(longest, chains.starts[sequence + 1] - chains.starts[sequence])
    is_sure = _least_transition(chains.transitions) >= _SURE
    is_rough = _least_positive(chains.transitions) < _THIN
    flipped, outer = np.empty_like(chains.transitions), np.zeros_like(chains.transitions)
    for number in range(len(flipped)):
        flipped[number] = chains.transitions[number].T
    forward = np.empty((min(block, longest), num_states))
    marks = np.empty((longest // block + 1, num_states))
    backward, onward, beliefs = np.empty(num_states), np.empty(num_states), np.empty(num_states)
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        state, mark = int(is_rough), -1
        for start in range(begin, end, block):
            stop = min(start + block, end)
            state = max(state, _pass_forward(chains, start, stop, is_sure, marks, mark, sizes, forward))
            if state == 2:
                break
            mark += 1
            marks[mark] = forward[stop - start - 1]
        is_risky[sequence] = state == 2 or (state == 1 and _may_grow(chains, begin, end, flipped, sizes))
        if is_risky[sequence]:
            continue
        backward[:] = 1.0
        num_blocks = (end - begin + block - 1) // block
        for number in range(num_blocks - 1, -1, -1):
            start = begin + number * block
            stop = min(start + block, end)
            if number < num_blocks - 1:
                _pass_forward(chains, start, stop, True, marks, number - 1, sizes, forward)
            for t in range(stop - 1, start - 1, -1):
                if t < end - 1:
                    matrix = chains.matrix_of[t + 1] if len(chains.matrix_of) else 0
                    _onward(chains.weights, chains.row_of[t + 1], backward, sizes[t + 1], onward)
                    _go_back(onward, flipped, matrix, forward, t - start, outer, backward)
                _share(forward, t - start, backward, beliefs, sums, places[t])
        if begin < end:
            firsts += beliefs
    for number in range(len(flipped)):
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


# --- best paths ---


@inlined_kernel
def _come_best(before: Floats, earlier: int, matrices: Floats, number: int, rows: Floats, t: int) -> None:
    """max_i before[i] + matrix[i, j]."""
    whole = rows.shape[1] // 4 * 4
    for j in range(rows.shape[1]):
        rows[t, j] = -math.inf
    for i in range(0, whole, 4):
        a, b, c, d = before[earlier, i], before[earlier, i + 1], before[earlier, i + 2], before[earlier, i + 3]
        for j in range(rows.shape[1]):
            first, second = a + matrices[number, i, j], b + matrices[number, i + 1, j]
            third, fourth = c + matrices[number, i + 2, j], d + matrices[number, i + 3, j]
            first = first if first > second else second
            third = third if third > fourth else fourth
            first = first if first > third else third
            rows[t, j] = first if first > rows[t, j] else rows[t, j]
    for i in range(whole, rows.shape[1]):
        share = before[earlier, i]
        for j in range(rows.shape[1]):
            value = share + matrices[number, i, j]
            rows[t, j] = value if value > rows[t, j] else rows[t, j]


@twin_of(_come_best)
def _come_best_at_once(before: Floats, earlier: int, matrices: Floats, number: int, rows: Floats, t: int) -> None:
    np.max(before[earlier][:, None] + matrices[number], axis=0, out=rows[t])


@inlined_kernel
def _add_logs(rows: Floats, t: int, logs: Floats, place: int) -> None:
    for j in range(rows.shape[1]):
        rows[t, j] += logs[place, j]


@twin_of(_add_logs)
def _add_logs_at_once(rows: Floats, t: int, logs: Floats, place: int) -> None:
    rows[t] += logs[place]


@inlined_kernel
def _is_lifted(here: int, length: int) -> bool:
    return here % _LIFTED == _LIFTED - 1 or here == length - 1


@kernel
def _first_best(reached: Floats, t: int, flipped: Floats, number: int, after: int, noise: float) -> int:
    """The first state whose sum of both is the greatest, but for noise."""
    top = -math.inf
    for place in range(reached.shape[1]):
        value = reached[t, place] + flipped[number, after, place]
        top = value if value > top else top
    for place in range(reached.shape[1]):
        if reached[t, place] + flipped[number, after, place] >= top - noise:
            return place
    return 0


@twin_of(_first_best)
def _first_best_at_once(reached: Floats, t: int, flipped: Floats, number: int, after: int, noise: float) -> int:
    sums = reached[t] + flipped[number, after]
    return int(np.argmax(sums >= sums.max() - noise))


@kernel
def _first_above(reached: Floats, t: int, flipped: Floats, number: int, after: int, bound: float) -> int:
    """The first state whose sum of both is so great; how many states there are, if none is."""
    num_states: int = reached.shape[1]
    for place in range(num_states):
        if reached[t, place] + flipped[number, after, place] >= bound:
            return place
    return num_states


@twin_of(_first_above)
def _first_above_at_once(reached: Floats, t: int, flipped: Floats, number: int, after: int, bound: float) -> int:
    is_above = reached[t] + flipped[number, after] >= bound
    return int(np.argmax(is_above)) if is_above.any() else len(is_above)


@kernel
def _pass_best(chains: StateChains, first: int, last: int, marks: Floats, mark: int, reached: Floats) -> float:
    """The greatest weight of a path to each state of each step, less what lifts took off, which is told."""
    offset, has_one = 0.0, len(chains.matrix_of) == 0
    for t in range(first, last):
        number, here = 0 if has_one else chains.matrix_of[t], t - first
        if here:
            _come_best(reached, here - 1, chains.transitions, number, reached, here)
        elif mark >= 0:
            _come_best(marks, mark, chains.transitions, number, reached, 0)
        else:
            reached[0] = chains.initial
        _add_logs(reached, here, chains.weights, chains.row_of[t])
        if _is_lifted(here, last - first):
            top: float = reached[here].max()
            if top == -math.inf:
                return top
            reached[here] -= top
            offset += top
    return offset


@kernel
def _go_back_best(
    chains: StateChains, first: int, last: int, flipped: Floats, reached: Floats, noise: float, path: Codes
) -> None:
    """The best states of steps before the last one of a block, whose state is known.

    The greatest sum that leads to a state is what was reached there, less what it weighs, unless the row was lifted.
    """
    for t in range(last - 2, first - 1, -1):
        here, after = t - first, path[t + 1]
        number, place = chains.matrix_of[t + 1] if len(chains.matrix_of) else 0, reached.shape[1]
        if not _is_lifted(here + 1, last - first):
            bound = reached[here + 1, after] - chains.weights[chains.row_of[t + 1], after] - noise
            place = _first_above(reached, here, flipped, number, after, bound)
        if place == reached.shape[1]:
            place = _first_best(reached, here, flipped, number, after, noise)
        path[t] = place


@kernel(steps=lambda chains, first, last, *_: (chains.starts[last] - chains.starts[first]) * chains.initial.size)
def best_states(
    chains: StateChains, first: int, last: int, block: int, noise: float, path: Codes, values: Floats
) -> None:
    """The best path of each sequence from the first up to the last, and its logarithm; numbers are logarithms.

    Of paths that noise alone tells apart, that with the earlier state where they differ last. An impossible sequence
    has the value -inf. Messages are kept as in `sum_states`.
    """
    num_states, longest = len(chains.initial), 0
    for sequence in range(first, last):
        longest = max(longest, chains.starts[sequence + 1] - chains.starts[sequence])
    flipped = np.empty_like(chains.transitions)
    for number in range(len(flipped)):
        flipped[number] = chains.transitions[number].T
    reached, nothing = np.empty((min(block, longest), num_states)), np.zeros((1, 1, num_states))
    marks = np.empty((longest // block + 1, num_states))
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        values[sequence], mark = 0.0, -1
        for start in range(begin, end, block):
            stop = min(start + block, end)
            values[sequence] += _pass_best(chains, start, stop, marks, mark, reached)
            if values[sequence] == -math.inf:
                break
            mark += 1
            marks[mark] = reached[stop - start - 1]
        if values[sequence] == -math.inf or begin == end:
            continue
        num_blocks = (end - begin + block - 1) // block
        for number in range(num_blocks - 1, -1, -1):
            start = begin + number * block
            stop = min(start + block, end)
            if number < num_blocks - 1:
                _pass_best(chains, start, stop, marks, number - 1, reached)
            if stop == end:
                path[end - 1] = _first_best(reached, stop - 1 - start, nothing, 0, 0, noise)
            else:
                matrix = chains.matrix_of[stop] if len(chains.matrix_of) else 0
                path[stop - 1] = _first_best(reached, stop - 1 - start, flipped, matrix, path[stop], noise)
            _go_back_best(chains, start, stop, flipped, reached, noise, path)


# --- draws ---


@kernel
def _pick(weights: Floats, level: float) -> int:
    """The state at a level of the distribution function; of states of weight zero none."""
    total = level * weights.sum()
    chosen = -1
    for state in range(len(weights)):
        if weights[state] > 0.0:
            chosen = state
            total -= weights[state]
            if total < 0.0:
                break
    return chosen


@kernel(steps=lambda chains, _filtered, levels, _paths: 4 * levels.size * chains.initial.size)
def draw_states(chains: StateChains, filtered: Floats, levels: Floats, paths: Codes) -> None:
    """Paths from the posterior, one for each row of uniform numbers, backwards along the filtered beliefs.

    Where these leave no state, as in risky sequences, the rest of the path is -1.
    """
    for number in range(len(paths)):
        for sequence in range(len(chains.starts) - 1):
            begin, end = chains.starts[sequence], chains.starts[sequence + 1]
            for t in range(end - 1, begin - 1, -1):
                if t == end - 1:
                    paths[number, t] = _pick(filtered[t], levels[number, t])
                    continue
                after = paths[number, t + 1]
                if after < 0:
                    paths[number, t] = -1
                    continue
                matrix = chains.transitions[chains.matrix_of[t + 1] if len(chains.matrix_of) else 0]
                paths[number, t] = _pick(filtered[t] * matrix[:, after], levels[number, t])


@kernel(steps=lambda chains, levels, _path: 4 * levels.size * chains.initial.size)
def walk_states(chains: StateChains, levels: Floats, path: Codes) -> None:
    """Paths from the start, one uniform number a step, of chains without observations."""
    for sequence in range(len(chains.starts) - 1):
        for t in range(chains.starts[sequence], chains.starts[sequence + 1]):
            if t == chains.starts[sequence]:
                path[t] = _pick(chains.initial, levels[t])
            else:
                matrix = chains.transitions[chains.matrix_of[t] if len(chains.matrix_of) else 0]
                path[t] = _pick(matrix[path[t - 1]], levels[t])
