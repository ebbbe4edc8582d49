"""Mappings that can't be changed, for the fields of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from plausible.base.frozen import Frozen

__all__ = ["FrozenMapping"]

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT", covariant=True)


class FrozenMapping(Frozen, Mapping[KeyT, ValueT]):
    """A mapping that is a value: read only, hashed by content, copied and pickled with the record that has it.

    >>> rates = FrozenMapping({"tea": 2.0, "milk": 1.0})
    >>> rates["tea"], rates == {"milk": 1.0, "tea": 2.0}
    (2.0, True)
    >>> rates
    FrozenMapping({'tea': 2.0, 'milk': 1.0})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[KeyT, ValueT] | Iterable[tuple[KeyT, ValueT]] = ()) -> None:
        self._items: dict[KeyT, ValueT] = dict(items)

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMapping({self._items!r})"
