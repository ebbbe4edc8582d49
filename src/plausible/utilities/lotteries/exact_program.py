"""Linear programs solved in whole numbers, for questions that hang on a difference floats can't hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ExactSolution", "maximize_last"]

#: After so many pivots without progress, for each column, the rule that can't cycle takes over until there is some.
_PATIENCE = 5
#: Python's integers, of any length.
Integers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ExactSolution:
    """The optimum of a linear program.

    Attributes
    ----------
    point
        The variables; the last is what was maximised.
    weights
        The dual solution: how much the optimum would rise per unit of each limit.
    """

    point: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]


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
