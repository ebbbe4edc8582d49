r"""Names and states within one argument, and how to write those that hold its separators: `a, "b, c", d\,e`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from plausible.errors import InvalidArgument


class Sign(NamedTuple):
    """One character, and whether it stands for itself even if it is a separator."""

    character: str
    is_literal: bool


def read_signs(text: str) -> list[Sign]:
    r"""The characters of a text: those in double quotes, and the one after a backslash, stand for themselves.

    >>> plain(read_signs(r'"a, b" or \"c\"'))
    'a, b or "c"'
    """
    found: list[Sign] = []
    is_quoted = is_escaped = False
    for character in text:
        if is_escaped:
            found.append(Sign(character, True))
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        else:
            found.append(Sign(character, is_quoted))
    if is_quoted:
        raise InvalidArgument(f'A double quote is not closed in {text!r}; write \\" for the sign itself.')
    if is_escaped:
        raise InvalidArgument(f"The backslash at the end of {text!r} has nothing after it; write two for the sign.")
    return found


def parts(signs: Sequence[Sign], separator: str) -> list[list[Sign]]:
    """The pieces between the separators that do not stand for themselves."""
    pieces: list[list[Sign]] = [[]]
    for sign in signs:
        if sign == (separator, False):
            pieces.append([])
        else:
            pieces[-1].append(sign)
    return pieces


def plain(signs: Iterable[Sign]) -> str:
    """The text that is meant, without the blanks around it unless they are quoted."""
    kept = list(signs)
    while kept and kept[-1].character.isspace() and not kept[-1].is_literal:
        kept.pop()
    start = next((place for place, sign in enumerate(kept) if sign.is_literal or not sign.character.isspace()), 0)
    return "".join(sign.character for sign in kept[start:])


def names_in(texts: str | Iterable[str] | None) -> list[str]:
    """The names in one argument or several, separated by commas.

    >>> names_in(['a, "b,c"', 'd'])
    ['a', 'b,c', 'd']
    """
    given = [texts] if isinstance(texts, str) else (texts or [])
    names = [plain(piece) for text in given for piece in parts(read_signs(text), ",")]
    return [name for name in names if name]
