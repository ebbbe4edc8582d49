"""Answers of which there may be very many: found one by one, and shown as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Generic, TypeVar, overload

from plausible.base import html_of_repr
from plausible.errors import InvalidArgument

ItemT = TypeVar("ItemT", covariant=True)

#: How many items are printed.
_SHOWN = 10


class Listing(Generic[ItemT]):
    """Items that are found as they are asked for, in the same order each time; none is kept.

    Going through a listing, testing it, and taking an item or a slice by position find no more items than needed; use
    `list` to have them all. `next` takes one after the other. `find` starts the search and gives the items one by one;
    there are at most `limit`, or all with `None`.

    >>> squares = Listing(lambda: (n * n for n in range(1, 1000)))
    >>> squares
    [1, 4, 9, 16, 25, 36, 49, 64, 81, 100, ...]
    >>> squares[:3], squares[500], bool(squares)
    ([1, 4, 9], 251001, True)
    """

    __slots__ = ("_find", "_limit", "_rest")

    def __init__(self, find: Callable[[], Iterator[ItemT]], limit: int | None = None) -> None:
        self._find, self._limit = find, checked_limit(limit)
        self._rest: Iterator[ItemT] | None = None

    def __iter__(self) -> Iterator[ItemT]:
        return islice(self._find(), self._limit)

    def __next__(self) -> ItemT:
        if self._rest is None:
            self._rest = iter(self)
        return next(self._rest)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    @overload
    def __getitem__(self, place: int) -> ItemT: ...
    @overload
    def __getitem__(self, place: slice) -> list[ItemT]: ...
    def __getitem__(self, place: int | slice) -> ItemT | list[ItemT]:
        if isinstance(place, slice):
            ends = (place.start, place.stop, place.step)
            plain = all(end is None or end >= 0 for end in ends)
            return list(islice(self, *ends)) if plain else list(self)[place]
        if place < 0:
            return list(self)[place]
        for item in islice(self, place, None):
            return item
        raise IndexError(f"There is no item {place} in this listing.")

    _repr_html_ = html_of_repr

    def __repr__(self) -> str:
        first = [_text(item) for item in islice(self, _SHOWN + 1)]
        return f"[{', '.join((*first[:_SHOWN], '...') if len(first) > _SHOWN else first)}]"


def _text(item: object) -> str:
    """An item in print; a set in the order of its members' texts, which differs in no two runs."""
    if isinstance(item, AbstractSet):
        return f"{{{', '.join(sorted(map(repr, item)))}}}"
    return repr(item)


def checked_limit(limit: int | None) -> int | None:
    """The limit of a listing, unless it is none."""
    if limit is not None and limit < 0:
        raise InvalidArgument(f"limit={limit} is negative; give a number to stop after, or None for no limit.")
    return limit
