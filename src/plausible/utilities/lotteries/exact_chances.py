"""The probabilities of a lottery as the fractions that somebody meant."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from plausible.utilities.lotteries.lottery import Lottery

__all__ = ["ExactChances", "exact_chances"]

#: What floats can't tell from one.
_UNIT_ROUNDING = Fraction(1, 2**52)
#: Denominators that people use: a third, and not 0.3333333333333333.
_GREATEST_DENOMINATOR = 10_000
#: Decimals with more digits are results of a calculation.
_MOST_DIGITS = 14


@dataclass(frozen=True, slots=True)
class ExactChances:
    """Probabilities that sum to one exactly.

    Attributes
    ----------
    chances
        Of each final outcome.
    rounding
        How much probability the last digits may have moved; 0 where all are short numbers.
    """

    chances: Mapping[Hashable, Fraction]
    rounding: Fraction


def exact_chances(lottery: Lottery) -> ExactChances:
    """The final probabilities as the short fractions or decimals they came from, else as the floats they are.

    The greatest probability is what the others leave. Where the given ones miss one by more than floats do, all are
    divided by their sum.

    >>> read = exact_chances(Lottery({"a": 1 - 0.9, "b": 1e-12, "c": 0.9 - 1e-12}))
    >>> [str(chance) for chance in read.chances.values()], read.rounding == 0
    (['1/10', '1/1000000000000', '899999999999/1000000000000'], True)
    """
    given = lottery.final_probabilities()
    read = {outcome: _fraction(probability) for outcome, probability in given.items()}
    chances = {outcome: chance for outcome, (chance, _) in read.items()}
    greatest = max(given, key=given.__getitem__)
    # Four roundings each: for the number itself, and for a sum, a difference or a quotient that made it.
    unsure = [chance for outcome, (chance, is_short) in read.items() if not is_short and outcome != greatest]
    total = sum(chances.values(), Fraction(0))
    if abs(total - 1) <= len(given) * _UNIT_ROUNDING:
        chances[greatest] += 1 - total
    else:
        chances = {outcome: chance / total for outcome, chance in chances.items()}
    return ExactChances(chances, 4 * _UNIT_ROUNDING * sum(unsure, Fraction(0)))


def _fraction(probability: float) -> tuple[Fraction, bool]:
    """A fraction that is the same float, or nearly, and whether it is a short one."""
    exact = Fraction(probability)
    short = exact.limit_denominator(_GREATEST_DENOMINATOR)
    if abs(short - exact) <= min(_UNIT_ROUNDING, exact / 10**9):
        return short, True
    decimal = f"{probability:.{_MOST_DIGITS}g}"
    return (Fraction(decimal), True) if float(decimal) == probability else (exact, False)
