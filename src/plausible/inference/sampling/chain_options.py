"""Reading the options of samplers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from plausible.errors import InvalidArgument

__all__ = ["read_blocks", "read_count", "read_names"]


def read_count(name: str, value: object, least: int) -> int:
    """A whole number that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidArgument(f"{name}= takes a whole number, {least} or more; not {value!r}.")
    return int(value)


def read_names(option: str, names: object) -> tuple[str, ...]:
    """The names of variables."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidArgument(f"{option}= takes a sequence of names of variables, not {names!r}.")
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            raise InvalidArgument(f"{option}= takes names of variables, not {name!r}.")
    return listed


def read_blocks(blocks: object) -> tuple[tuple[str, ...], ...] | None:
    """Groups of names, none of them in two."""
    if blocks is None:
        return None
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InvalidArgument(f"blocks= takes groups of names, such as [['A', 'B']], not {blocks!r}.")
    read = tuple(read_names("blocks", block) for block in blocks)
    names = [name for block in read for name in block]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InvalidArgument(f"{repeated[0]!r} is in two blocks, or twice in one: a variable moves with one block.")
    return read
