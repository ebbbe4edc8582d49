"""Going through an expression whose parts may be shared, however deep they are nested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

__all__ = ["distinct_parts"]

Part = TypeVar("Part")


def distinct_parts(whole: Part, parts_of: Callable[[Part], Sequence[Part]]) -> Iterator[Part]:
    """Every different part once, parts before what they are part of, the whole last; by loops, not by recursion.

    Parameters
    ----------
    whole
        Where to begin.
    parts_of
        The parts of a part.
    """
    seen: set[int] = set()
    waiting: list[tuple[Part, bool]] = [(whole, False)]
    while waiting:
        part, is_ready = waiting.pop()
        if is_ready:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting.append((part, True))
            waiting += [(inner, False) for inner in reversed(parts_of(part))]
