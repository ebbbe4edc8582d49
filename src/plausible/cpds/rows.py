"""Rows of probabilities: what is one up to rounding, and what is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidCPD

__all__ = ["MAX_ROUNDING", "Rounding", "checked_rows"]

#: Rows that miss one by more than this are an error.
MAX_ROUNDING = 1e-3
#: What the summation of binary fractions may miss; such rows are left as they are.
_EXACT = 1e-12


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rows that missed one by rounding and were divided by their sums."""

    num_rows: int
    worst: float
    row: tuple[int, ...]


def checked_rows(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], Rounding | None]:
    """Probabilities whose last axis sums to one, renormalised where rounding made it miss.

    Raises `BadRow` for a negative or non-finite number, or a sum that misses one by more than `MAX_ROUNDING`.
    """
    if not values.size:
        return values, None
    if not (values.min() >= 0 and values.max() < np.inf):
        wrong = ~((values >= 0) & (values < np.inf))
        place = np.unravel_index(int(np.argmax(wrong)), values.shape)
        raise BadRow(
            tuple(int(i) for i in place[:-1]), f"has the entry {float(values[place]):g}, which is no probability"
        )
    sums = values.sum(axis=-1)
    misses = np.abs(sums - 1.0)
    worst = float(misses.max())
    if worst <= _EXACT:
        return values, None
    row = tuple(int(i) for i in np.unravel_index(int(np.argmax(misses)), misses.shape))
    if worst > MAX_ROUNDING:
        raise BadRow(row, f"sums to {float(sums[row]):.10g}, not to one")
    rounded = misses > _EXACT
    values = values / np.where(rounded, sums, 1.0)[..., None]
    return values, Rounding(int(rounded.sum()), worst, row)


class BadRow(InvalidCPD):
    """A row that is no distribution; `row` has the positions of the parents' states."""

    def __init__(self, row: tuple[int, ...], problem: str) -> None:
        self.row, self.problem = row, problem
        super().__init__(f"Row {row} {problem}.")
