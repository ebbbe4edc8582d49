"""Paths of hidden states: the best ones among many states, and draws of paths from what is known and from the start."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.state_records import StateChains

#: Logarithms of best paths are brought back to zero after so many steps.
_LIFTED = 16

# --- best paths; vectors, arrays, places and widths as in sums over paths ---


@inlined_kernel
def _come_best(before: Floats, matrices: Floats, number: int, came: Floats, width: int) -> None:
    """max_i before[i] + matrix[i, j]."""
    whole = width // 4 * 4
    for j in range(width):
        came[j] = -math.inf
    for i in range(0, whole, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        for j in range(width):
            first, second = a + matrices[number, i, j], b + matrices[number, i + 1, j]
            third, fourth = c + matrices[number, i + 2, j], d + matrices[number, i + 3, j]
            first = first if first > second else second
            third = third if third > fourth else fourth
            first = first if first > third else third
            came[j] = first if first > came[j] else came[j]
    for i in range(whole, width):
        share = before[i]
        for j in range(width):
            value = share + matrices[number, i, j]
            came[j] = value if value > came[j] else came[j]


@twin_of(_come_best)
def _come_best_at_once(before: Floats, matrices: Floats, number: int, came: Floats, _width: int) -> None:
    np.max(before[:, None] + matrices[number], axis=0, out=came)


@inlined_kernel
def _add_logs(came: Floats, logs: Floats, place: int, now: Floats, rows: Floats, t: int, width: int) -> None:
    """The sum of both, which goes to a row, too."""
    for j in range(width):
        now[j] = came[j] + logs[place, j]
        rows[t, j] = now[j]


@twin_of(_add_logs)
def _add_logs_at_once(came: Floats, logs: Floats, place: int, now: Floats, rows: Floats, t: int, _width: int) -> None:
    np.add(came, logs[place], out=now)
    rows[t] = now


@inlined_kernel
def _lift(now: Floats, rows: Floats, t: int, width: int) -> float:
    """Take the greatest number, which is told, off all of them, in a row, too."""
    top: float = now[0]
    for j in range(1, width):
        top = now[j] if now[j] > top else top
    for j in range(width):
        now[j] -= top
        rows[t, j] = now[j]
    return top


@twin_of(_lift)
def _lift_at_once(now: Floats, rows: Floats, t: int, _width: int) -> float:
    top = float(now.max())
    now -= top
    rows[t] = now
    return top


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
    width = len(chains.initial)
    offset, has_one = 0.0, len(chains.matrix_of) == 0
    now, came = np.empty(width), chains.initial.copy()
    if mark >= 0:
        now[:] = marks[mark]
    for t in range(first, last):
        number, here = 0 if has_one else chains.matrix_of[t], t - first
        if here or mark >= 0:
            _come_best(now, chains.transitions, number, came, width)
        _add_logs(came, chains.weights, chains.row_of[t], now, reached, here, width)
        if _is_lifted(here, last - first):
            top = _lift(now, reached, here, width)
            offset += top
            if top == -math.inf:
                break
    return offset


@kernel
def _go_back_best(
    chains: StateChains, first: int, last: int, flipped: Floats, reached: Floats, noise: float, path: Codes
) -> None:
    """The best states of steps before the last one of a block, whose state is known.

    The greatest sum that leads to a state is what was reached there, less what it weighs, unless the row was lifted.
    """
    width = reached.shape[1]
    for t in range(last - 2, first - 1, -1):
        here, after = t - first, path[t + 1]
        number, place = chains.matrix_of[t + 1] if len(chains.matrix_of) else 0, width
        if not _is_lifted(here + 1, last - first):
            bound = reached[here + 1, after] - chains.weights[chains.row_of[t + 1], after] - noise
            place = _first_above(reached, here, flipped, number, after, bound)
        if place == width:
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
            last_row = stop - 1 - start
            if stop == end:
                path[end - 1] = _first_best(reached, last_row, nothing, 0, 0, noise)
            else:
                matrix = chains.matrix_of[stop] if len(chains.matrix_of) else 0
                path[stop - 1] = _first_best(reached, last_row, flipped, matrix, path[stop], noise)
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
