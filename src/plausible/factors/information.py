"""Information theory on distributions in factors: entropy, mutual information, divergence, distances, codes.

Everything is in nats unless `base` says otherwise (2 for bits), and 0 log 0 = 0. Distributions are compared by the
names of their variables, whatever the order of the axes. Gaussians have the like as methods of `MomentGaussian`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TypeVar

import numpy as np

from plausible.base import WRITTEN_ROUNDING
from plausible.errors import InvalidArgument, InvalidFactor
from plausible.factors.alignment import Table, scope_text
from plausible.factors.factor import Factor

Point = TypeVar("Point")
Names = str | Iterable[str]
Code = Mapping[Hashable, str]
Distribution = Factor | Mapping[Hashable, float]


def entropy(distribution: Factor, names: Names | None = None, base: float = math.e) -> float:
    """H(X) = Σ P(x) log 1/P(x), of all variables jointly, or of `names`; 0 ≤ H ≤ log of the number of assignments.

    No decodable code has a shorter expected word, in digits of base `base` (Shannon 1948).

    >>> round(entropy(Factor({"X": 4}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]), base=2), 9)
    1.75
    """
    unit = log_unit(base)
    return _entropy(_distribution(distribution), distribution.names if names is None else names) / unit


def conditional_entropy(distribution: Factor, x: Names, given: Names, base: float = math.e) -> float:
    """H(X | Y) = H(X, Y) - H(Y) = E[log 1/P(X | Y)]; at most H(X).

    >>> joint = Factor({"X": 2, "Y": 2}, [[0.25, 0.25], [0.0, 0.5]])
    >>> round(conditional_entropy(joint, "X", given="Y", base=2), 6)
    0.688722
    """
    unit = log_unit(base)
    _distribution(distribution)
    left, rest = _listed(x), _listed(given)
    return max(0.0, _entropy(distribution, left + rest) - _entropy(distribution, rest)) / unit


def mutual_information(distribution: Factor, x: Names, y: Names, given: Names = (), base: float = math.e) -> float:
    """I(X; Y | Z) = H(X | Z) - H(X | Y, Z): what Y tells about X once Z is known; zero iff X ⟂ Y | Z.

    >>> joint = Factor({"X": 2, "Y": 2}, [[0.25, 0.25], [0.0, 0.5]])
    >>> round(mutual_information(joint, "X", "Y", base=2), 6)
    0.311278
    """
    unit = log_unit(base)
    _distribution(distribution)
    left, right, rest = _listed(x), _listed(y), _listed(given)
    both = _entropy(distribution, left + rest) + _entropy(distribution, right + rest)
    nats = both - _entropy(distribution, rest) - _entropy(distribution, left + right + rest)
    return max(0.0, nats) / unit


def _entropy(distribution: Factor, names: Names) -> float:
    values = distribution.marginal(names).flat
    positive = values[values > 0]
    return max(0.0, -float(positive @ np.log(positive)))  # in this order, minus zero comes out as zero


def _listed(names: Names) -> list[str]:
    """One name or several, which may come from an iterator that can be read once."""
    return [names] if isinstance(names, str) else list(names)


def cross_entropy(p: Factor, q: Factor, base: float = math.e) -> float:
    """E_P[log 1/Q(x)]: the expected word length when data from P is coded as if it came from Q; may be infinite."""
    unit = log_unit(base)
    left, right = _pair(p, q)
    return _expected_log(left, 1.0, right) / unit


def kl_divergence(p: Factor, q: Factor, base: float = math.e) -> float:
    """The relative entropy D(P ‖ Q) = E_P[log P(x)/Q(x)]: what coding P as Q costs beyond the entropy of P.

    Not negative; zero iff P = Q; infinite iff some x has P(x) > 0 = Q(x); neither symmetric nor a metric.

    >>> fair, loaded = Factor({"X": 2}, [0.5, 0.5]), Factor({"X": 2}, [0.75, 0.25])
    >>> round(kl_divergence(fair, loaded, base=2), 6), round(kl_divergence(loaded, fair, base=2), 6)
    (0.207519, 0.188722)
    """
    unit = log_unit(base)
    left, right = _pair(p, q)
    return max(0.0, _expected_log(left, left, right)) / unit


def conditional_kl(p: Factor, q: Factor, x: Names, given: Names = (), base: float = math.e) -> float:
    """D(P(X | Y) ‖ Q(X | Y)) = Σ_y P(y) D(P(X | y) ‖ Q(X | y)).

    Infinite also where P(y) > 0 = Q(y): Q says nothing about X there.
    """
    unit = log_unit(base)
    _pair(p, q)
    rest = _listed(given)
    child = [name for name in _listed(x) if name not in set(rest)]
    joint = p.marginal(child + rest)
    other = q.marginal(joint.names)
    above, below = joint.normalize(over=child).flat, other.normalize(over=child).flat
    return max(0.0, _expected_log(joint.flat, above, below)) / unit


def kl_chain(p: Factor, q: Factor, order: Sequence[str] | None = None, base: float = math.e) -> dict[str, float]:
    """The chain rule D(P ‖ Q) = Σ_i D(P(X_i | X_1..i-1) ‖ Q(X_i | X_1..i-1)): the term of each variable.

    The first k terms sum to the divergence of the marginals over the first k variables, which therefore grows with k.
    """
    names = list(p.names if order is None else order)
    if len(set(names)) < len(names) or set(names) != set(p.names):
        raise InvalidArgument(f"{names} is not an order of the variables {list(p.names)}.")
    return {name: conditional_kl(p, q, name, names[:place], base) for place, name in enumerate(names)}


def jensen_shannon_divergence(p: Factor, q: Factor, base: float = math.e) -> float:
    """½ D(P ‖ M) + ½ D(Q ‖ M) with M = ½ (P + Q): symmetric and at most log 2; its square root is a metric."""
    middle = (p + q) * 0.5
    return 0.5 * (kl_divergence(p, middle, base) + kl_divergence(q, middle, base))


def pinsker_bound(divergence: float, base: float = math.e) -> float:
    """The largest L1 distance that D(P ‖ Q), measured in `base`, allows: sqrt(2 ln(base) D); half of it bounds the
    variational distance (Pinsker's inequality).

    >>> round(pinsker_bound(0.207519, base=2), 5)
    0.53636
    """
    if not divergence >= 0:
        raise InvalidArgument(f"A divergence can't be {divergence}: it is zero or more.")
    return math.sqrt(2 * log_unit(base) * divergence)


def _expected_log(weights: Table, above: Table | float, below: Table) -> float:
    """Σ w log(a / b), where terms with w = 0 count zero; infinite where b = 0 < w."""
    live = weights > 0
    if np.any(below[live] == 0):
        return math.inf
    numerator = np.log(above[live]) if isinstance(above, np.ndarray) else math.log(above)
    return float(weights[live] @ (numerator - np.log(below[live])))


def l1_distance(p: Factor, q: Factor) -> float:
    """Σ |P(x) - Q(x)|."""
    return float(np.abs(_difference(p, q)).sum())


def l2_distance(p: Factor, q: Factor) -> float:
    """The Euclidean distance sqrt Σ (P(x) - Q(x))²."""
    return float(np.linalg.norm(_difference(p, q)))


def linf_distance(p: Factor, q: Factor) -> float:
    """max_x |P(x) - Q(x)|."""
    return float(np.abs(_difference(p, q)).max())


def total_variation(p: Factor, q: Factor) -> float:
    """The variational distance: max over events α of |P(α) - Q(α)|, which is half the L1 distance."""
    return l1_distance(p, q) / 2


def distinguishing_event(p: Factor, q: Factor) -> Factor:
    """The event {x: P(x) > Q(x)}, which attains the variational distance, as an indicator factor.

    >>> fair, loaded = Factor({"X": 2}, [0.5, 0.5]), Factor({"X": 2}, [0.75, 0.25])
    >>> distinguishing_event(fair, loaded).values
    array([0., 1.])
    """
    return Factor.from_flat(p.scope, _difference(p, q) > 0)


def hellinger_distance(p: Factor, q: Factor) -> float:
    """sqrt(½ Σ (√P(x) - √Q(x))²): a metric between 0 and 1."""
    left, right = _pair(p, q)
    return float(np.linalg.norm(np.sqrt(left) - np.sqrt(right))) / math.sqrt(2)


def _difference(p: Factor, q: Factor) -> Table:
    left, right = _pair(p, q)
    return left - right


@dataclass(frozen=True, slots=True)
class DistanceAxioms:
    """Which axioms of a distance hold on some points; each field is None or the positions of points that break it."""

    #: (i, j) with d(i, j) < 0, or zero although the points differ, or not zero although they are the same.
    positivity: tuple[int, int] | None
    symmetry: tuple[int, int] | None  # (i, j) with d(i, j) ≠ d(j, i)
    triangle: tuple[int, int, int] | None  # (i, j, k) with d(i, k) > d(i, j) + d(j, k)

    @property
    def is_metric(self) -> bool:
        """Whether no axiom is broken on these points."""
        return self.positivity is None and self.symmetry is None and self.triangle is None


def check_distance_axioms(
    distance: Callable[[Point, Point], float], points: Iterable[Point], tolerance: float = 1e-9
) -> DistanceAxioms:
    """Test positivity, symmetry and the triangle inequality on all pairs and triples of points.

    >>> coins = [Factor({"X": 2}, [1 - p, p]) for p in (0.5, 0.25, 0.05)]
    >>> check_distance_axioms(kl_divergence, coins)
    DistanceAxioms(positivity=None, symmetry=(0, 1), triangle=(0, 1, 2))
    >>> check_distance_axioms(total_variation, coins).is_metric
    True
    """
    listed = list(points)
    table = np.array([[distance(a, b) for b in listed] for a in listed]).reshape(len(listed), len(listed))
    same = np.array([[a == b for b in listed] for a in listed], dtype=bool).reshape(table.shape)
    through = table[:, :, None] + table[None, :, :]  # d(i, j) + d(j, k)
    slack = tolerance * (1 + np.abs(np.where(np.isfinite(table), table, 0.0)))
    with np.errstate(invalid="ignore"):
        skewed = ~((table == table.T) | (np.abs(table - table.T) <= slack))
    i, j, k = _first(table[:, None, :] > through + slack[:, None, :], 3)
    return DistanceAxioms(
        positivity=_witness(np.where(same, np.abs(table) > tolerance, table <= tolerance)),
        symmetry=_witness(skewed),
        triangle=None if i < 0 else (i, j, k),
    )


def _witness(broken: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[int, int] | None:
    i, j = _first(broken, 2)
    return None if i < 0 else (i, j)


def _first(broken: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], axes: int) -> tuple[int, ...]:
    found = np.argwhere(broken)
    return tuple(int(place) for place in found[0]) if len(found) else (-1,) * axes


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
    symbol listed first, so that the code is reproducible. The symbols of a factor are its states, tuples of states for
    several variables.

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
    if abs(total - 1) > WRITTEN_ROUNDING:
        raise InvalidFactor(f"A code needs a distribution: non-negative numbers that sum to one, not to {total:.10g}.")
    return numbers


def _distribution(factor: Factor) -> Factor:
    if not factor.is_distribution():
        least = f" and has the entry {factor.min():g}" if factor.min() < 0 else ""
        raise InvalidFactor(
            f"This needs a distribution; the factor over {scope_text(factor.scope)} sums to {factor.sum():.10g}"
            f"{least}. See normalize()."
        )
    return factor


def _pair(p: Factor, q: Factor) -> tuple[Table, Table]:
    """The numbers of two distributions over the same variables, in the same order."""
    if set(p.scope) != set(q.scope):
        raise InvalidFactor(
            f"The distributions are over different variables or states: {scope_text(p.scope)} and "
            f"{scope_text(q.scope)}. Take marginals over the same ones."
        )
    return _distribution(p).flat, _distribution(q).reorder(p.names).flat


def log_unit(base: float) -> float:
    """ln(base): the nats in one unit of information; a base below one would turn the sign of every answer."""
    if not 1 < base < math.inf:
        raise InvalidArgument(f"The base of a logarithm of probabilities is above one and finite, not {base}.")
    return math.log(base)
