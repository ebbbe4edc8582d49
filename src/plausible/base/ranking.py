"""An order by numbers that does not hang on their last digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["ranked"]

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
