"""Linear programs solved in whole numbers, for questions that hang on a difference floats can't hold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.utilities.lotteries.lottery import Lottery

#: After so many pivots without progress, for each column, the rule that can't cycle takes over until there is some.
_PATIENCE = 5
#: Python's integers, of any length.
Integers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ExactSolution:
    """The optimum of a linear program."""

    point: tuple[Fraction, ...]  # The variables; the last is what was maximised
    weights: tuple[Fraction, ...]  # The dual solution: how much the optimum would rise per unit of each limit


@dataclass(slots=True)
class _Dictionary:
    """Basic variables in terms of the others, all entries times `unit`, the determinant of the basis.

    The last row is the objective, the last column the values. Variables are the columns' own, 0 to n - 1, then the
    slacks of the rows.
    """

    table: Integers
    outside: list[int]
    inside: list[int]
    unit: int = 1

    def entering(self, is_patient: bool) -> int | None:
        """The column that raises the objective fastest, or of the lowest variable, which can't cycle (Bland 1977)."""
        rising = [place for place, value in enumerate(self.table[-1, :-1]) if value < 0]
        key = self.table[-1].__getitem__ if is_patient else self.outside.__getitem__
        return min(rising, key=key) if rising else None

    def leaving(self, column: int) -> int:
        """The row that first stops the column's variable from growing."""
        falling = [row for row, value in enumerate(self.table[:-1, column]) if value > 0]
        return min(falling, key=lambda row: (Fraction(self.table[row, -1], self.table[row, column]), self.inside[row]))

    def pivot(self, row: int, column: int) -> None:
        """Exchange two variables; every division has no rest (Edmonds 1967)."""
        old, new = self.table, self.table[row, column]
        changed = (old * new - np.multiply.outer(old[:, column], old[row])) // self.unit
        changed[row], changed[:, column] = old[row], -old[:, column]
        changed[row, column] = self.unit
        self.table, self.unit = changed, new
        self.inside[row], self.outside[column] = self.outside[column], self.inside[row]


def maximize_last(rows: Sequence[Sequence[Fraction]], limits: Sequence[Fraction]) -> ExactSolution:
    """The greatest last variable x[-1] subject to rows @ x ≤ limits and x ≥ 0, by the simplex method on integers.

    Parameters
    ----------
    rows, limits
        The limits are not negative, so that x = 0 is allowed, and bound x[-1]. Each pivot costs rows × columns products
        of integers as long as the pivots before have made them.

    Examples
    --------
    >>> found = maximize_last([[Fraction(3), Fraction(1)], [Fraction(-1), Fraction(1)]], [Fraction(2), Fraction(0)])
    >>> [str(value) for value in found.point], [str(weight) for weight in found.weights]
    (['1/2', '1/2'], ['1/4', '3/4'])
    """
    size, count = len(rows[0]), len(rows)
    full = [[*row, limit] for row, limit in zip(rows, limits, strict=True)]
    factors = [math.lcm(*(entry.denominator for entry in row)) for row in full]
    whole = [[int(entry * factor) for entry in row] for row, factor in zip(full, factors, strict=True)]
    table = np.array([*whole, [0] * (size - 1) + [-1, 0]], dtype=object)
    state = _Dictionary(table, list(range(size)), list(range(size, size + count)))
    num_stalled = 0
    while (column := state.entering(num_stalled < _PATIENCE * size)) is not None:
        row = state.leaving(column)
        num_stalled = num_stalled + 1 if state.table[row, -1] == 0 else 0
        state.pivot(row, column)
    values = dict(zip(state.inside, state.table[:-1, -1], strict=True))
    prices = dict(zip(state.outside, state.table[-1, :-1], strict=True))
    return ExactSolution(
        tuple(Fraction(values.get(place, 0), state.unit) for place in range(size)),
        tuple(Fraction(prices.get(size + row, 0) * factors[row], state.unit) for row in range(count)),
    )


#: What floats can't tell from one.
_UNIT_ROUNDING = Fraction(1, 2**52)
#: Denominators that people use: a third, and not 0.3333333333333333.
_GREATEST_DENOMINATOR = 10_000
#: Decimals with more digits are results of a calculation.
_MOST_DIGITS = 14


@dataclass(frozen=True, slots=True)
class ExactChances:
    """Probabilities that sum to one exactly."""

    chances: Mapping[Hashable, Fraction]  # Of each final outcome
    rounding: Fraction  # How much probability the last digits may have moved; 0 where all are short numbers


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
