"""How often rows count in samples of them: numbers that hang on a seed, the sample and the row, and on nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats
from plausible.data import Piece, TableStatistics
from plausible.data.repeated_rows import Times, repeated

Words: TypeAlias = NDArray[np.uint64]

#: Those of SplitMix64 (Steele, Lea & Flood 2014): what is added for each number, and the multipliers of its mixing.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = 2**64 - 1
#: Rows are mixed so many at a time, which stay in the cache.
_BLOCK = 2**15
#: The first bits of a word say how often a row counts, but where a limit lies among the words that begin with them.
_LOOKED_UP, _UNDECIDED = 16, 127
#: Weights are multiples of this share of a row, so that sums of them are the same in any order.
_SHARE = 2.0**-16


@dataclass(frozen=True, slots=True)
class ResampledRows:
    """The view of a sample on a piece: its rows as often as they are drawn, or by other weights."""

    seed: int
    kind: Literal["ordinary", "bayesian"]

    def __call__(self, piece: Piece, sample: int) -> Piece:
        def made() -> Iterator[Piece]:
            yield Piece(self._counted(piece, sample), piece.first_row)

        num_bytes = piece.table.num_rows * (3 if self.kind == "ordinary" else 9)
        (seen,) = piece.made(f"sample {sample}", self, made, num_bytes)
        return seen

    def _counted(self, piece: Piece, sample: int) -> TableStatistics:
        words = random_words(self.seed, sample, piece.first_row, piece.table.num_rows)
        if self.kind == "ordinary":
            return repeated(piece.statistics, poisson_times(words))
        return piece.statistics.beside(piece.table.weighted(exponential_weights(words) * piece.table.row_weights))


def random_words(seed: int, sample: int, first_row: int, num_rows: int) -> Words:
    """A number of 64 random bits for each of some rows: that of row i is SplitMix64's number i from a start.

    >>> rows = random_words(0, 1, 0, 5)
    >>> bool((random_words(0, 1, 3, 2) == rows[3:]).all()), bool((random_words(0, 2, 0, 5) != rows).all())
    (True, True)
    """
    start = _mixed(_mixed(seed & _MASK) ^ (sample + 1) * _STEP & _MASK)
    words = np.empty(num_rows, dtype=np.uint64)
    for begin in range(0, num_rows, _BLOCK):
        end = min(begin + _BLOCK, num_rows)
        block = np.arange(first_row + begin, first_row + end, dtype=np.uint64)
        block *= np.uint64(_STEP)
        block += np.uint64(start)
        block ^= block >> np.uint64(30)
        block *= np.uint64(_FIRST)
        block ^= block >> np.uint64(27)
        block *= np.uint64(_SECOND)
        block ^= block >> np.uint64(31)
        words[begin:end] = block
    return words


def poisson_times(words: Words) -> Times:
    """How often rows count: a Poisson distribution with mean one, by its inverse."""
    limits, table = _poisson()
    times = table[(words >> np.uint64(64 - _LOOKED_UP)).astype(np.intp)]
    undecided = np.flatnonzero(times == _UNDECIDED)
    times[undecided] = np.searchsorted(limits, words[undecided], side="right")
    return times


def exponential_weights(words: Words) -> Floats:
    """How much rows weigh: an exponential distribution with mean one, in shares of a row."""
    with np.errstate(divide="ignore"):
        weights = -np.log(((words >> np.uint64(11)) + 0.5) * 2.0**-53)
    return np.asarray(np.rint(weights / _SHARE) * _SHARE)


def _mixed(word: int) -> int:
    """One number of SplitMix64."""
    word = ((word ^ word >> 30) * _FIRST) & _MASK
    word = ((word ^ word >> 27) * _SECOND) & _MASK
    return word ^ word >> 31


@cache
def _poisson() -> tuple[Words, Times]:
    """Where the words begin that stand for 1, 2, ...; and what words with the same first bits stand for."""
    with localcontext(prec=40):
        share, total, limits = Decimal(-1).exp(), Decimal(0), list[int]()
        while (limit := int((total := total + share) * 2**64)) < _MASK and share * 2**64 >= 1:
            limits.append(limit)
            share /= len(limits)
    ends = np.array(limits, dtype=np.uint64)
    heads = np.arange(2**_LOOKED_UP, dtype=np.uint64) << np.uint64(64 - _LOOKED_UP)
    least = np.searchsorted(ends, heads, side="right")
    most = np.searchsorted(ends, heads | np.uint64(_MASK >> _LOOKED_UP), side="right")
    return ends, np.where(least == most, least, _UNDECIDED).astype(np.int8)
