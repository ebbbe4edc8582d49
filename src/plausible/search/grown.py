"""A sequence that grows at its end in constant time and is a value all the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

__all__ = ["Grown"]

ItemT = TypeVar("ItemT", bound=Hashable)


class Grown(Generic[ItemT]):
    """Different items in the order in which they came; `with_items` gives a longer one and leaves this one as it is.

    A sequence and those grown out of it share one table of items, each knowing how many of them are its own. Only
    what grows out of a sequence that has been grown already is copied, so that n items cost O(n), not O(n²).

    Examples
    --------
    >>> few = Grown(["a", "b"])
    >>> more = few.with_items("c")
    >>> list(few), list(more), "c" in few, "c" in more
    (['a', 'b'], ['a', 'b', 'c'], False, True)
    """

    __slots__ = ("_num", "_places")

    def __init__(self, items: Iterable[ItemT] = ()) -> None:
        self._places: dict[ItemT, int] = {}
        for item in items:
            self._places.setdefault(item, len(self._places))
        self._num = len(self._places)

    def with_items(self, *items: ItemT) -> Grown[ItemT]:
        """These items and more of them, none of which is there yet."""
        longer = Grown[ItemT]()
        longer._places = self._places if len(self._places) == self._num else {item: n for n, item in enumerate(self)}
        for place, item in enumerate(items, start=self._num):
            longer._places[item] = place
        longer._num = self._num + len(items)
        return longer

    def __contains__(self, item: object) -> bool:
        return self._places.get(item, self._num) < self._num  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[ItemT]:
        return islice(self._places, self._num)

    def __len__(self) -> int:
        return self._num

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Grown)
            and self._num == other._num
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Grown[ItemT]], tuple[list[ItemT]]]:
        return type(self), (list(self),)

    def __repr__(self) -> str:
        return f"Grown({list(self)!r})"
