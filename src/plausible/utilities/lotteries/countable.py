"""Lotteries without end: countably many outcomes, evaluated term by term."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple

from plausible.base import WRITTEN_ROUNDING, Frozen, Result, html_of_print, record
from plausible.errors import InvalidArgument, counted
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

#: So many tails in a row must be small, as a term may be so by itself where the utility crosses zero.
_STEADY = 3
#: How many outcomes are printed.
_NUM_SHOWN = 4


@record
class SeriesValue(Result):
    """An expected utility summed term by term."""

    #: The sum; if it diverges `inf`, `-inf` or, where terms change sign, NaN; NaN also if that is not settled.
    value: float
    partial_sum: float  # Of the terms that were taken
    num_terms: int  # How many
    converged: bool  # Whether the value is right to the tolerance, provided that the terms go on as those seen do
    #: Whether the terms did not shrink, or no faster than 1/n, to the end of those seen: a finding on these terms, not
    #: a proof.
    diverges: bool
    left_over: float  # The probability of the outcomes that were not reached

    @property
    def is_settled(self) -> bool:
        """Whether the terms that were seen tell that the sum converges, or that it diverges."""
        return self.converged or self.diverges

    def __str__(self) -> str:
        if self.converged:
            return f"{self.value:.9g} (converged after {counted(self.num_terms, 'term')})"
        seen = f"{self.partial_sum:.6g} after {counted(self.num_terms, 'term')}"
        if self.diverges:
            return f"diverges: {seen}, which do not shrink fast enough for a sum"
        return f"not settled: {seen}, which tell neither a sum nor that there is none"


class CountableLottery(Frozen):
    """Outcomes without end, as a function that starts a fresh iterator of (outcome, probability) pairs.

    >>> def tosses():
    ...     return ((n, 2.0 ** -n) for n in range(1, 10_000))
    >>> print(CountableLottery(tosses))
    [1: 0.5; 2: 0.25; 3: 0.125; 4: 0.0625; ...]
    >>> print(CountableLottery(tosses).expected_utility(lambda n: n))
    2 (converged after 47 terms)
    """

    __slots__ = ("terms",)

    terms: Callable[[], Iterator[tuple[Hashable, float]]]

    def __init__(self, terms: Callable[[], Iterator[tuple[Hashable, float]]]) -> None:
        self.terms = terms

    def truncated(self, num_terms: int, rest: Hashable) -> Lottery:
        """The first outcomes, and `rest` with all the probability that is left."""
        listed = dict(islice(self.terms(), num_terms))
        left = max(0.0, 1.0 - math.fsum(listed.values()))
        return Lottery({**listed, rest: listed.get(rest, 0.0) + left})

    def expected_utility(self, utility: UtilityLike, tolerance: float = 1e-12, max_terms: int = 10_000) -> SeriesValue:
        """Σ π(o_n) U(o_n), until what is left does not matter or the terms run out.

        With the ratio r of successive terms the tail is about |term| g / (1 - g'), where g = r / (1 - r) and g' is its
        change from term to term: 0 for geometric series, 1/k for n⁻ᵏ. Where terms end before it is small, as at what is
        beyond floats, it is estimated from the last ones, and the sum diverges if these do not shrink or no faster than
        1/n. Where neither can be told, that is what is told. The tolerance is relative to the sum.

        >>> def squares():
        ...     return ((n, 6 / (math.pi * n) ** 2) for n in range(1, 10_000))
        >>> print(CountableLottery(squares).expected_utility(lambda n: n))
        diverges: 5.95009 after 9999 terms, which do not shrink fast enough for a sum
        >>> print(CountableLottery(squares).expected_utility(lambda n: n**0.5))
        not settled: 1.57597 after 9999 terms, which tell neither a sum nor that there is none
        """
        value, taken = read_utility(utility), _Sum(tolerance)
        for outcome, probability in islice(self.terms(), max_terms):
            if not 0 <= probability <= taken.left + WRITTEN_ROUNDING:
                raise InvalidArgument(
                    f"The outcome {outcome!r} has probability {probability}; {taken.left:.6g} is left."
                )
            # Below the smallest normal float a probability has lost its digits.
            if probability < sys.float_info.min:
                continue
            try:
                taken.add(probability, utility_of(value, outcome))
            except OverflowError:
                return taken.judged()
            if taken.num_small >= _STEADY:
                return taken.converged_to(math.fsum(taken.terms))
        return taken.converged_to(math.fsum(taken.terms)) if taken.is_complete else taken.judged()

    def __str__(self) -> str:
        shown = list(islice(self.terms(), _NUM_SHOWN + 1))
        told = [f"{outcome}: {probability:.6g}" for outcome, probability in shown[:_NUM_SHOWN]]
        return f"[{'; '.join(told)}{'; ...' if len(shown) > _NUM_SHOWN else ''}]"

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"CountableLottery({self})"


class _Sum:
    """Terms so far, and how they shrink."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.terms, self.left, self.num_small = tolerance, list[float](), 1.0, 0
        self._total, self._last_probability, self._last_multiple = 0.0, 0.0, math.inf

    def add(self, probability: float, utility: float) -> None:
        """Take one more term."""
        self.left, self._last_probability = max(0.0, self.left - probability), probability
        term, before = probability * utility, self.terms[-1] if self.terms else 0.0
        self.terms.append(term)
        self._total += term
        shrunk = abs(before) - abs(term)
        multiple = abs(term) / shrunk if term and shrunk > 0 else math.inf
        growth = max(0.0, multiple - self._last_multiple) if math.isfinite(multiple) else 1.0
        tail = abs(term) * multiple / (1.0 - growth) if growth < 1 else math.inf
        self.num_small = self.num_small + 1 if tail <= self.tolerance * abs(self._total) else 0
        self._last_multiple = multiple

    @property
    def is_complete(self) -> bool:
        """Whether the outcomes are all there are: next to nothing is left beside the last of them."""
        last = self._last_probability
        return last > sys.float_info.epsilon and self.left <= min(WRITTEN_ROUNDING, 1e-6 * last)

    def converged_to(self, value: float) -> SeriesValue:
        """The record of a sum that is known."""
        return SeriesValue(value, math.fsum(self.terms), len(self.terms), True, False, self.left)

    def judged(self) -> SeriesValue:
        """The record of what the terms tell that were seen."""
        tail, seen = judged_tail(self.terms), math.fsum(self.terms)
        if not tail.diverges and tail.error <= self.tolerance * abs(seen + tail.value):
            return self.converged_to(seen + tail.value)
        value = tail.value if tail.diverges else math.nan
        return SeriesValue(value, seen, len(self.terms), False, tail.diverges, self.left)


def saint_petersburg(first_payoff: float = 2.0, factor: float = 2.0) -> CountableLottery:
    """A fair coin is tossed until heads; heads at toss n pays first_payoff · factorⁿ⁻¹ (example 22.6).

    With payoffs of 2ⁿ the mean is infinite, though nobody pays much to play; log₂ gives the game the utility
    Σ n / 2ⁿ = 2, which is that of 4 for sure.

    >>> import math
    >>> print(saint_petersburg().expected_utility(lambda amount: amount))
    diverges: 1022 after 1022 terms, which do not shrink fast enough for a sum
    >>> round(saint_petersburg().expected_utility(math.log2).value, 9)
    2.0

    Nobody can pay without end; what a bank of a million million pays is worth about 40:

    >>> round(saint_petersburg().expected_utility(lambda amount: min(amount, 1e12)).value, 2)
    40.82
    """
    return CountableLottery(partial(_tosses, first_payoff, factor))


def _tosses(payoff: float, factor: float) -> Iterator[tuple[Hashable, float]]:
    probability = 0.5
    while probability > 0 and abs(payoff) <= sys.float_info.max:
        yield payoff, probability
        payoff, probability = payoff * factor, probability / 2.0


#: So many terms at the end are looked at, half of all at most, and these at least.
_WINDOW, _LEAST_WINDOW = 64, 4
#: Steps of logarithms that floats can't tell from none.
_LEVEL = 1e-12
#: A series diverges like 1/n, or faster, from this slope of t / (t - t') on.
_HARMONIC = 1.0 - 1e-6
#: Terms that grow ever slower are told to grow for ever if they should not turn before so many times those seen: as
#: powers of n, and as what grows by a factor whose logarithm falls on a line.
_FAR_POWER, _FAR_LINE = 100, 10
_EPS = 2.0**-52
#: What rounding of the terms makes of the mean step in half a window.
_STEP_ROUNDING = _EPS / 4


class Tail(NamedTuple):
    """The sum of the terms that follow."""

    value: float  # The estimate; `inf` or `-inf`, or NaN where terms change sign or nothing can be told
    error: float  # By how much it may be wrong; infinite where nothing can be told
    diverges: bool = False  # Whether the sum does


_UNKNOWN = Tail(math.nan, math.inf)


def judged_tail(terms: Sequence[float]) -> Tail:
    """What follows these terms, if they go on as the last ones did.

    Terms that do not shrink diverge, and so do those that shrink like 1/n (Raabe's test); terms that shrink by one
    factor have the tail of a geometric series, and others that of a geometric series of blocks.
    """
    width = min(_WINDOW, len(terms) // 2)
    if width < _LEAST_WINDOW:
        return _UNKNOWN
    window = terms[-width - 1 :]
    if not all(window):
        return _blocks(window)
    steps = [math.log(abs(after / before)) for before, after in pairwise(window)]
    is_signed = all(term * window[-1] > 0 for term in window)
    if _grows(steps, len(terms)) or (is_signed and _is_harmonic(steps)):
        return Tail(math.copysign(math.inf, window[-1]) if is_signed else math.nan, math.inf, diverges=True)
    return min(_geometric(window, steps), _blocks(window), key=lambda tail: tail.error)


def _halves(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean of the first half and of the second."""
    half = len(numbers) // 2
    return math.fsum(numbers[:half]) / half, math.fsum(numbers[half:]) / (len(numbers) - half)


def _grows(steps: Sequence[float], num_terms: int) -> bool:
    """Whether no term shrinks, nor would one soon."""
    if min(steps) < -_LEVEL or math.fsum(steps) < -_LEVEL:
        return False
    early, late = _halves(steps)
    drift = (early - late) / (len(steps) / 2)
    if drift <= _LEVEL:
        return True
    # As nᵏ rⁿ, which for r = 1 grows though ever slower.
    first, second = _halves([math.log1p(1 / n) for n in range(num_terms - len(steps), num_terms)])
    power = (early - late) / (first - second)
    log_ratio = late - power * second
    return abs(log_ratio) * _FAR_POWER * num_terms <= power or (log_ratio > 0 and late / drift > _FAR_LINE * num_terms)


def _is_harmonic(steps: Sequence[float]) -> bool:
    """Whether t / (t - t') rises by one a term, as for 1 / (n + c): it is n / k for n⁻ᵏ."""
    if max(steps) >= 0:
        return False
    early, late = _halves([1 / math.expm1(-step) for step in steps])
    apart = len(steps) / 2
    lost = 8 * _EPS * late**2
    return (late - early - lost) / apart >= _HARMONIC


def _geometric(window: Sequence[float], steps: Sequence[float]) -> Tail:
    """The tail of a geometric series; the error is what a drift of the ratio, if it goes on, makes of it."""
    changes = {after * before > 0 for before, after in pairwise(window)}
    early, late = _halves(steps)
    if len(changes) > 1 or late >= 0:
        return _UNKNOWN
    ratio = math.copysign(math.exp(late), window[-1] * window[-2])
    tail = window[-1] * ratio / (1 - ratio)
    gap = -math.expm1(late)
    drift = max(0.0, abs(late - early) - _STEP_ROUNDING)
    return Tail(tail, abs(tail) * ((drift + _STEP_ROUNDING) / gap + 2 * drift / (len(steps) * gap**2)))


def _blocks(window: Sequence[float]) -> Tail:
    """Nothing, if blocks of terms shrink so fast that what follows is below the error."""
    half = len(window) // 2
    early, late = max(map(abs, window[:half])), max(map(abs, window[half:]))
    if late == 0:
        return Tail(0.0, 0.0)
    return Tail(0.0, (half + 1) * late * late / (early - late)) if late < early else _UNKNOWN
