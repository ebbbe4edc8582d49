"""SplitMix64 (Steele, Lea & Flood 2014): random numbers whose whole state is one word, or a counter's place."""

from __future__ import annotations

import numpy as np

from plausible.kernels.jit import kernel

#: By so much the word goes on from one number to the next.
STEP = np.uint64(0x9E3779B97F4A7C15)

_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


@kernel
def hashed_uniform(word: np.uint64) -> float:
    """The number in [0, 1) that belongs to a word."""
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST_FACTOR
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND_FACTOR
    word ^= word >> _SHIFTS[2]
    return np.float64(word >> _SHIFTS[3]) * 2.0**-53
