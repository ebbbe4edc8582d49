"""Names for what is added to a model."""

from __future__ import annotations

__all__ = ["fresh_name"]


def fresh_name(name: str, taken: set[str], mark: str = "_") -> str:
    """The name with as many marks behind it as tell it apart from all that are taken; it is taken then, too.

    >>> fresh_name("U", {"U", "U_"})
    'U__'
    """
    while name in taken:
        name += mark
    taken.add(name)
    return name
