"""Values that can't be changed: classes, and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MemberDescriptorType
from typing import TypeVar

from plausible.errors import ImmutableValue


class Frozen:
    """A base for classes with slots whose public attributes are written once, by whatever makes the value.

    A second assignment, or one to a property, a method or a new name, raises `ImmutableValue`; so does deleting.
    Private attributes stay open to the class itself. Copying and pickling write into an empty value, so they need
    nothing more.

    >>> class Point(Frozen):
    ...     __slots__ = ("x",)
    ...     def __init__(self, x: float) -> None:
    ...         self.x = x
    >>> Point(2.0).x = 3.0
    Traceback (most recent call last):
        ...
    plausible.errors.ImmutableValue: A Point can't be changed, so 'x' can't be set: make a new one with its constructor.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and not self._is_empty(name):
            raise self._refusal(name, "set")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise self._refusal(name, "deleted")

    def _is_empty(self, name: str) -> bool:
        """Whether the name is a slot that nothing has been written to."""
        slot = getattr(type(self), name, None)
        if not isinstance(slot, MemberDescriptorType):
            return False
        try:
            slot.__get__(self)
        except AttributeError:
            return True
        return False

    def _refusal(self, name: str, verb: str) -> ImmutableValue:
        edits = [edit for edit in dir(type(self)) if edit.startswith("with_")]
        how = f" with {', '.join(edits[:4])} or the constructor" if edits else " with its constructor"
        kind = type(self).__name__
        article = "An" if kind[0] in "AEIOU" else "A"
        return ImmutableValue(f"{article} {kind} can't be changed, so {name!r} can't be {verb}: make a new one{how}.")


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
