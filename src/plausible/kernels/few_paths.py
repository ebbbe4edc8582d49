"""Best paths of chains of at most four hidden states, with what is reached in registers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats
from plausible.kernels.few_states import FEW, FewStates, Four, few_states, read_four
from plausible.kernels.jit import inlined_kernel, kernel
from plausible.kernels.state_records import StateChains

#: Logarithms of best paths are brought back to zero after so many steps.
_LIFTED = 16


@inlined_kernel
def _best_of(before: Four, m: Floats, number: int, j: int, noise: float) -> tuple[float, int]:
    """max_i before[i] + matrix[i, j], and the first i that has it, but for noise."""
    first, second = before[0] + m[number, 0, j], before[1] + m[number, 1, j]
    third, fourth = before[2] + m[number, 2, j], before[3] + m[number, 3, j]
    top, other = first if first > second else second, third if third > fourth else fourth
    top = top if top > other else other
    bound = top - noise
    place = 2 if third >= bound else 3
    place = 1 if second >= bound else place
    return top, 0 if first >= bound else place


@inlined_kernel
def _top(numbers: Four) -> float:
    return max(max(numbers[0], numbers[1]), max(numbers[2], numbers[3]))


@inlined_kernel
def _few_best(
    chains: StateChains, few: FewStates, first: int, last: int, noise: float, pointers: NDArray[np.uint8]
) -> tuple[float, int]:
    """The value of the best path, and its last state; pointers get the states before those of each step."""
    offset, width, has_one = 0.0, len(chains.initial), len(chains.matrix_of) == 0
    now = read_four(few.initial, 0, FEW)
    for t in range(first, last):
        if t > first:
            number = 0 if has_one else chains.matrix_of[t]
            a, i = _best_of(now, few.transitions, number, 0, noise)
            b, j = _best_of(now, few.transitions, number, 1, noise)
            c, k = _best_of(now, few.transitions, number, 2, noise)
            d, m = _best_of(now, few.transitions, number, 3, noise)
            now, pointers[t - first] = (a, b, c, d), i + 4 * j + 16 * k + 64 * m
        logs = read_four(chains.weights, chains.row_of[t], width)
        now = now[0] + logs[0], now[1] + logs[1], now[2] + logs[2], now[3] + logs[3]
        if (t - first) % _LIFTED == _LIFTED - 1 or t == last - 1:
            top = _top(now)
            offset += top
            if top == -math.inf:
                return offset, 0
            now = now[0] - top, now[1] - top, now[2] - top, now[3] - top
    state = 0 if now[0] >= -noise else 1 if now[1] >= -noise else 2 if now[2] >= -noise else 3
    return offset, state


@kernel(steps=lambda chains, first, last, *_: 8 * (chains.starts[last] - chains.starts[first]))
def best_few_states(chains: StateChains, first: int, last: int, noise: float, path: Codes, values: Floats) -> None:
    """The best path of each sequence from the first up to the last, and its logarithm; numbers are logarithms.

    Ties and impossible sequences are as in `best_states`. The four states before those of a step are the digits of one
    number to the base four.
    """
    longest = 0
    for sequence in range(first, last):
        longest = max(longest, chains.starts[sequence + 1] - chains.starts[sequence])
    few, pointers = few_states(chains.initial, chains.transitions, -math.inf), np.empty(longest, dtype=np.uint8)
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        values[sequence] = 0.0
        if begin == end:
            continue
        values[sequence], state = _few_best(chains, few, begin, end, noise, pointers)
        if values[sequence] == -math.inf:
            continue
        path[end - 1] = state
        for t in range(end - 1, begin, -1):
            state = (pointers[t - begin] >> (2 * state)) & 3
            path[t - 1] = state
