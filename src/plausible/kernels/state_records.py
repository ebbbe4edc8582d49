"""What kernels of hidden states work on, and when numbers are too small to go on without logarithms."""

from __future__ import annotations

from typing import NamedTuple

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import kernel

#: Where every transition is at least so probable nothing that vanishes matters; a step as improbable is risky.
SURE, UNLIKELY = 1e-100, 1e-150
#: Beliefs below this one are looked after: what they may grow to is bounded by a message from the right.
THIN, LARGEST_GROWTH = 1e-150, 1e100


#: The first of some steps, the one after the last of them, and the step whose row is the first of an array.
Span = tuple[int, int, int]


class StateChains(NamedTuple):
    """Sequences of hidden states with what is observed; numbers may be logarithms, where a kernel says so."""

    starts: Ints  # where sequences begin, and where the last one ends
    initial: Floats  # (K,)
    transitions: Floats  # (matrices, K, K): state before, state
    matrix_of: Codes  # which matrix leads to each step; empty where there is one
    weights: Floats  # (rows, K): likelihoods of states
    row_of: Codes  # the row of each step


class Messages(NamedTuple):
    """What the way back goes on with, and what it adds to."""

    sizes: Floats  # p(o_t | o_1 ... o_{t-1}) of each step, but for the scale of its row
    backward: Floats  # (1, K)
    onward: Floats  # (K,)
    beliefs: Floats  # (1, K)
    sums: Floats  # (places, K)
    places: Codes  # of each step; empty where the forward messages lie in the sums, which take their place
    outer: Floats  # (matrices, K, K): of pairs of states, empty where nobody asks for these


@kernel
def is_thin(chains: StateChains, t: int, forward: Floats, span: Span, marks: Floats, mark: int) -> bool:
    """Whether a belief of a step is so small that it, or what comes of it, may vanish.

    Beliefs are in `forward`, but for those of the step before the first, which are `marks[mark]`.
    """
    first, _, base = span
    row, before = forward[t - base], forward[t - base - 1] if t > first else marks[max(mark, 0)]
    weights, is_first = chains.weights[chains.row_of[t]], t == first and mark < 0
    matrix = chains.transitions[chains.matrix_of[t] if len(chains.matrix_of) else 0]
    for j in range(len(row)):
        if 0.0 < row[j] < THIN:
            return True
        if row[j] == 0.0 and weights[j] > 0.0 and not is_first:
            for i in range(len(before)):
                if before[i] > 0.0 and matrix[i, j] > 0.0:
                    return True
    return False
