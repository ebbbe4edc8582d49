"""Lotteries without end: countably many outcomes, evaluated term by term."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from plausible.decisions.lotteries.lottery import ROUNDING, Lottery
from plausible.decisions.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of
from plausible.errors import InvalidArgument
from plausible.variables.frozen import Frozen

__all__ = ["CountableLottery", "SeriesValue", "saint_petersburg"]

#: If so many terms at the end do not shrink, or shrink too slowly to sum, the sum is told to diverge.
_PATIENCE, _LONG_PATIENCE = 64, 1000
#: So many tails in a row must be small, as a term may be so by itself where the utility crosses zero.
_STEADY = 3
#: How many outcomes are printed.
_NUM_SHOWN = 4


@dataclass(frozen=True, slots=True)
class SeriesValue:
    """An expected utility summed term by term.

    Attributes
    ----------
    value
        The sum; `inf`, `-inf` or NaN (where terms change sign) if it diverges.
    partial_sum
        Of the terms that were taken.
    num_terms
        How many.
    converged
        Whether what is left is below the tolerance.
    diverges
        Whether the terms did not shrink to the end of those seen. It is a finding on these terms, not a proof.
    left_over
        The probability of the outcomes that were not reached.

    Examples
    --------
    >>> game = saint_petersburg()
    >>> print(game.expected_utility(lambda amount: min(amount, 2.0**30)))  # what the bank can pay
    31 (converged after 67 terms)
    """

    value: float
    partial_sum: float
    num_terms: int
    converged: bool
    diverges: bool
    left_over: float

    def __str__(self) -> str:
        if self.diverges:
            return f"diverges: {self.partial_sum:.6g} after {self.num_terms} terms, which do not shrink"
        end = "converged" if self.converged else "not converged"
        return f"{self.value:.9g} ({end} after {self.num_terms} terms)"


class CountableLottery(Frozen):
    """Outcomes without end, as a function that starts a fresh iterator of (outcome, probability) pairs.

    Examples
    --------
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
        """Σ π(o_n) U(o_n), until the terms vanish or run out.

        The tail is judged by the ratio r of successive terms, as |term| r / (1 - r). If at the end 64 terms in a row do
        not shrink, or 1000 shrink no faster than 1/n, the sum is told to diverge: a utility that is bounded, if only
        far out, converges where its bound is reached before.

        Parameters
        ----------
        utility
            A mapping from outcomes, or a function of them.
        tolerance
            The tail that may be left, relative to the sum.
        max_terms
            Where to give up.
        """
        value, taken, left = read_utility(utility), _Sum(), 1.0
        for outcome, probability in islice(self.terms(), max_terms):
            if not 0 <= probability <= left + ROUNDING:
                raise InvalidArgument(f"The outcome {outcome!r} has probability {probability}; {left:.6g} is left.")
            left = max(0.0, left - probability)
            # An outcome of probability zero (2**-n below the smallest float) adds nothing, whatever its utility.
            taken.add(probability * utility_of(value, outcome) if probability else 0.0, tolerance)
            if taken.num_small >= _STEADY:
                return taken.outcome(left, converged=True)
            if not math.isfinite(taken.total):
                break
        return taken.outcome(left, converged=left <= ROUNDING)

    def __str__(self) -> str:
        shown = list(islice(self.terms(), _NUM_SHOWN + 1))
        told = [f"{outcome}: {probability:.6g}" for outcome, probability in shown[:_NUM_SHOWN]]
        return f"[{'; '.join(told)}{'; ...' if len(shown) > _NUM_SHOWN else ''}]"

    def __repr__(self) -> str:
        return f"CountableLottery({self})"


class _Sum:
    """A running sum that watches how its terms shrink."""

    def __init__(self) -> None:
        self.total, self.num, self.num_small = 0.0, 0, 0
        self._last, self._before, self._growing, self._slow = math.nan, math.nan, 0, 0

    def add(self, term: float, tolerance: float) -> None:
        """Take one more term."""
        self.total, self.num = self.total + term, self.num + 1
        ratio = abs(term / self._last) if self._last else math.inf
        # Terms of 1/n have the ratio 1 - 1/n: the sum of anything that shrinks as slowly diverges.
        is_slow = term != 0 and ratio >= 1.0 - (1.0 + 1e-9) / self.num
        self._growing = self._growing + 1 if is_slow and ratio >= 1.0 - 1e-12 else 0
        self._slow = self._slow + 1 if is_slow else 0
        tail = abs(term) * ratio / (1.0 - ratio) if 0 < ratio < 1 else math.inf
        self.num_small = self.num_small + 1 if tail <= tolerance * abs(self.total) else 0
        self._before, self._last = self._last, term

    @property
    def diverges(self) -> bool:
        """Whether the terms have not shrunk fast enough for long."""
        return self._growing >= _PATIENCE or self._slow >= _LONG_PATIENCE or not math.isfinite(self.total)

    def outcome(self, left: float, *, converged: bool) -> SeriesValue:
        """The record of what was found."""
        if self.diverges:
            has_limit = self._last * self._before > 0
            limit = math.copysign(math.inf, self._last) if has_limit else math.nan
            return SeriesValue(limit, self.total, self.num, False, True, left)
        return SeriesValue(self.total, self.total, self.num, converged, False, left)


def saint_petersburg(first_payoff: float = 2.0, factor: float = 2.0) -> CountableLottery:
    """A fair coin is tossed until heads; heads at toss n pays first_payoff · factorⁿ⁻¹ (example 22.6).

    With payoffs of 2ⁿ the mean is infinite, though nobody pays much to play; log₂ gives the game the utility
    Σ n / 2ⁿ = 2, which is that of 4 for sure.

    Examples
    --------
    >>> import math
    >>> print(saint_petersburg().expected_utility(lambda amount: amount))
    diverges: 1023 after 1023 terms, which do not shrink
    >>> round(saint_petersburg().expected_utility(math.log2).value, 9)
    2.0

    Nobody can pay without end; what a bank of a million million pays is worth about 40:

    >>> round(saint_petersburg().expected_utility(lambda amount: min(amount, 1e12)).value, 2)
    40.82
    """
    return CountableLottery(partial(_tosses, first_payoff, factor))


def _tosses(payoff: float, factor: float) -> Iterator[tuple[Hashable, float]]:
    probability = 0.5
    while probability > 0 and math.isfinite(payoff):
        yield payoff, probability
        payoff, probability = payoff * factor, probability / 2.0
