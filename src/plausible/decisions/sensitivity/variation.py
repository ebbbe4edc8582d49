"""Numbers varied one by one, with word of how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["VariationState", "one_by_one"]

NumberT = TypeVar("NumberT")
FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class VariationState:
    """How far an analysis is: numbers that were varied, and how many there are."""

    num_done: int
    num_numbers: int


def one_by_one(
    vary: Callable[[NumberT], FoundT],
    numbers: Sequence[NumberT],
    progress: Callable[[VariationState], object] | None = None,
) -> list[FoundT]:
    """What comes of each number, up to where `progress` answers with something true.

    Examples
    --------
    >>> one_by_one(abs, [-1, -2, -3], lambda state: state.num_done == 2)
    [1, 2]
    """
    found = []
    for place, number in enumerate(numbers, start=1):
        found.append(vary(number))
        if progress is not None and progress(VariationState(place, len(numbers))):
            break
    return found
