"""What the terms of a series that were seen tell of those that were not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Tail", "judged_tail"]

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


@dataclass(frozen=True, slots=True)
class Tail:
    """The sum of the terms that follow.

    Attributes
    ----------
    value
        The estimate; `inf` or `-inf`, or NaN where terms change sign or nothing can be told.
    error
        By how much it may be wrong; infinite where nothing can be told.
    diverges
        Whether the sum does.
    """

    value: float
    error: float
    diverges: bool = False


_UNKNOWN = Tail(math.nan, math.inf)


def judged_tail(terms: Sequence[float]) -> Tail:
    """What follows these terms, if they go on as the last ones did.

    Terms that do not shrink diverge, and so do those that shrink like 1/n (Raabe's test); terms that shrink by one
    factor have the tail of a geometric series, and others that of a geometric series of blocks.

    >>> judged_tail([2.0**-n for n in range(20)]).value == 2.0**-19
    True
    >>> judged_tail([1 / n for n in range(1, 100)]).diverges
    True
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
