"""Kinds of arrays, stretches of them, products and logarithms, and orders by numbers in which ties keep their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

#: Probabilities, scores, numbers of any kind.
Floats: TypeAlias = NDArray[np.float64]
#: Whole numbers: counts, sizes, offsets.
Ints: TypeAlias = NDArray[np.int64]
#: Yes or no.
Flags: TypeAlias = NDArray[np.bool_]
#: States by their positions, in rows of data; -1 where a cell is missing.
Codes: TypeAlias = NDArray[np.int32]
#: Places in another array.
Positions: TypeAlias = NDArray[np.intp]


def logarithms(numbers: npt.ArrayLike) -> Floats:
    """Natural logarithms, -inf of zeros.

    >>> logarithms([1.0, 0.0]).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(numbers), dtype=np.float64)


def starts_of(lengths: Iterable[int]) -> Ints:
    """Where stretches of these lengths begin when they lie one after the other, and where the last one ends.

    >>> starts_of([2, 3]).tolist()
    [0, 2, 5]
    """
    listed = lengths if isinstance(lengths, np.ndarray) else list(lengths)
    starts = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum(listed, out=starts[1:])
    return starts


def inner(left: Floats, right: Floats) -> float:
    """Σ left_i right_i of two vectors, on one core: libraries wake all of them for long ones, which is slower where
    these are busy.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", left, right))


Item = TypeVar("Item")


def ranked(items: Iterable[Item], value: Callable[[Item], float], room: float) -> list[Item]:
    """The items by value, the greatest first; those whose values differ by no more than rounding keep their order.

    A tie is all that lies within `room` below the greatest that is left. So the order is the same on every machine,
    whatever the last digits are, unless two values differ by just about the room.

    >>> ranked(["a", "b", "c"], {"a": 0.3, "b": 0.1 + 0.2, "c": 0.9}.__getitem__, 1e-12)
    ['c', 'a', 'b']
    """
    listed = list(items)
    values = [value(item) for item in listed]
    order: list[int] = []
    tied: list[int] = []
    for place in sorted(range(len(listed)), key=lambda place: -values[place]):
        if tied and values[place] < values[tied[0]] - room:
            order += sorted(tied)
            tied = []
        tied.append(place)
    return [listed[place] for place in order + sorted(tied)]
