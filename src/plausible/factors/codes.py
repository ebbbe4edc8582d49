"""Codes for symbols: how many bits are needed, and which words to use."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import count, pairwise

from plausible.errors import InvalidArgument, InvalidFactor
from plausible.factors.factor import Factor

Code = Mapping[Hashable, str]
Distribution = Factor | Mapping[Hashable, float]


def fixed_length_bits(num_symbols: int) -> int:
    """⌈log2 n⌉: the bits of a word where all n symbols have words of one length.

    >>> fixed_length_bits(65_536), fixed_length_bits(65_537)
    (16, 17)
    """
    if num_symbols < 1:
        raise InvalidArgument(f"A code needs at least one symbol, not {num_symbols}.")
    return (num_symbols - 1).bit_length()


def is_prefix_free(code: Code | Iterable[str]) -> bool:
    """Whether no word is the beginning of another (or equal to it), so that words need no separator.

    >>> is_prefix_free(["0", "10", "110", "111"]), is_prefix_free(["0", "01"])
    (True, False)
    """
    words = sorted(_words(code))  # a prefix sorts directly before some word that it begins
    return not any(after.startswith(before) for before, after in pairwise(words))


def kraft_sum(code: Code | Iterable[str], alphabet_size: int = 2) -> float:
    """Σ alphabet_size^-length: at most one for a decodable code (Kraft 1949, McMillan 1956); one for a full one."""
    if alphabet_size < 1:
        raise InvalidArgument(f"An alphabet has at least one digit, not {alphabet_size}.")
    return math.fsum(float(alphabet_size) ** -len(word) for word in _words(code))


def expected_length(code: Code, distribution: Distribution) -> float:
    """Σ P(x) length(x), in digits a symbol; every symbol of positive probability needs a word.

    >>> expected_length({"a": "0", "b": "10", "c": "11"}, {"a": 0.5, "b": 0.25, "c": 0.25})
    1.5
    """
    probabilities = _probabilities(distribution)
    missing = [symbol for symbol, probability in probabilities.items() if probability > 0 and symbol not in code]
    if missing:
        raise InvalidArgument(f"The code has no word for {missing[0]!r}.")
    return math.fsum(probability * len(code[symbol]) for symbol, probability in probabilities.items() if probability)


def huffman_code(distribution: Distribution) -> dict[Hashable, str]:
    """A prefix-free binary code with the least expected length (Huffman 1952).

    Two least probable groups of symbols are merged until one is left; the cost is O(n log n) and the total length of
    the words. The expected length L obeys H ≤ L ≤ H + 1 bits, and L < H + 1 where all probabilities are positive.
    Symbols of probability zero get words too; a single symbol needs no bits and gets the empty word. Ties go to the
    symbol listed first, so that the code is reproducible.

    Parameters
    ----------
    distribution
        A distribution as a factor (symbols are its states, tuples of states for several variables) or as a mapping.

    Examples
    --------
    >>> huffman_code({"a": 0.5, "b": 0.25, "c": 0.125, "d": 0.125})
    {'a': '0', 'b': '10', 'c': '110', 'd': '111'}
    """
    probabilities = _probabilities(distribution)
    ticket = count()
    heap = [(probability, next(ticket), [symbol]) for symbol, probability in probabilities.items()]
    heapq.heapify(heap)
    reversed_words: dict[Hashable, list[str]] = {symbol: [] for symbol in probabilities}
    while len(heap) > 1:
        (low, first, ones), (high, second, zeros) = heapq.heappop(heap), heapq.heappop(heap)
        if second > first:
            ones, zeros = zeros, ones
        for symbols, digit in ((zeros, "0"), (ones, "1")):
            for symbol in symbols:
                reversed_words[symbol].append(digit)
        heapq.heappush(heap, (low + high, next(ticket), [*zeros, *ones]))
    return {symbol: "".join(reversed(digits)) for symbol, digits in reversed_words.items()}


def _words(code: Code | Iterable[str]) -> list[str]:
    return list(code.values() if isinstance(code, Mapping) else code)


def _probabilities(distribution: Distribution) -> dict[Hashable, float]:
    numbers = distribution.to_dict() if isinstance(distribution, Factor) else dict(distribution)
    for symbol, number in numbers.items():
        if not 0 <= number < math.inf:
            raise InvalidFactor(f"The probability of {symbol!r} is {number}: it can't be negative, infinite or nan.")
    total = math.fsum(numbers.values())
    if abs(total - 1) > 1e-9:
        raise InvalidFactor(f"A code needs a distribution: non-negative numbers that sum to one, not to {total:.10g}.")
    return numbers
