"""What errors say of arguments, calls and remedies, as data: Python, the command line and a studio each have words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from plausible.base.records import Result, record, shortened

#: The value of an argument that is named without one.
_NO_VALUE = object()


@record
class Argument(Result):
    """An argument of the call at hand, with the value meant, if one is; as text it is Python's.

    >>> print(Argument("budget"), Argument("engine", "auto"), Argument("engine", Call("LoopyBP")))
    budget= engine='auto' engine=LoopyBP()
    """

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether a value is meant."""
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        if not self.has_value:
            return f"{self.name}="
        if self.value is Ellipsis:
            return f"{self.name}=..."
        return f"{self.name}={self.value if isinstance(self.value, Call) else shortened(self.value)}"


@record
class Call(Result):
    """A function to call or a thing to make, with the arguments that matter.

    >>> print(Call("LoopyBP"), Call("mpe", Argument("engine", "auto")))
    LoopyBP() mpe(engine='auto')
    """

    name: str
    arguments: tuple[Argument, ...]

    def __init__(self, name: str, *arguments: Argument) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "arguments", arguments)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


#: A part of a message: text as it is, or a mention that each shell spells in its own way.
Piece: TypeAlias = str | Argument | Call
#: How a shell spells a part of a message; `None` where it has nothing of the kind. Python's words are `str`.
Words: TypeAlias = Callable[[Piece], str | None]


@record
class Remedy(Result):
    """Something to do about an error: a phrase in the imperative, whose mentions are what to change, and to what.

    >>> remedy = Remedy("approximate with ", Argument("engine", "auto"))
    >>> print(remedy), remedy.changes[0].value
    approximate with engine='auto'
    (None, 'auto')
    """

    pieces: tuple[Piece, ...]
    #: Whether it saves memory and costs time, so that it is none where time is short, too.
    costs_time: bool

    def __init__(self, *pieces: Piece, costs_time: bool = False) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "costs_time", costs_time)

    @property
    def changes(self) -> tuple[Argument | Call, ...]:
        """What to change or to call."""
        return tuple(piece for piece in self.pieces if not isinstance(piece, str))

    def __str__(self) -> str:
        return in_words(self.pieces)


def in_words(pieces: Iterable[Piece], words: Words = str) -> str:
    """The pieces as one text; what a shell has no words for is told in Python's."""
    return "".join(str(piece) if (said := words(piece)) is None else said for piece in pieces)


def told_remedies(remedies: Iterable[Remedy], words: Words = str) -> str:
    """The remedies that a shell has words for, in one sentence with a leading space; "" where there are none.

    >>> told_remedies([Remedy("add evidence"), Remedy("raise ", Argument("budget"))])
    ' Add evidence, or raise budget=.'
    """
    sayable = [remedy for remedy in remedies if all(words(piece) is not None for piece in remedy.pieces)]
    if not sayable:
        return ""
    *firsts, last = [in_words(remedy.pieces, words) for remedy in sayable]
    text = f"{', '.join(firsts)}, or {last}" if firsts else last
    return f" {text[0].upper()}{text[1:]}."
