"""Writing expressions down, as plain text or LaTeX; one that is too long is written by its shared parts."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

from plausible.causal.expressions.symbols import Part, Symbol, distinct_parts
from plausible.graphs.nodes import Node

#: What LaTeX reads as commands in mathematics -> how it is written.
_LATEX = {**{letter: rf"\{letter}" for letter in "#$%&_{}"}, "\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}"}


def value_names(variables: Collection[Node]) -> dict[Node, str]:
    """How values are called: as their variables in small letters, unless two would then be called the same.

    >>> value_names(["S", "Tar"]), value_names(["S", "s"])
    ({'S': 's', 'Tar': 'tar'}, {'S': 'S', 's': 's'})
    """
    small = {variable: str(variable).lower() for variable in variables}
    return small if len(set(small.values())) == len(small) else {variable: str(variable) for variable in variables}


@dataclass(frozen=True, slots=True)
class Notation(ABC):
    """How each kind of expression is written, given how its parts are."""

    names: Mapping[Node, str]  # of values
    bar: ClassVar[str]  # before what is given
    times: ClassVar[str]  # between factors
    brackets_quotients: ClassVar[bool]  # whether a quotient among other factors needs brackets

    @classmethod
    @abstractmethod
    def of(cls, variables: Collection[Node]) -> Self:
        """The notation for expressions over these variables."""

    def symbol(self, symbol: Symbol) -> str:
        """A value: its name and its primes."""
        return self.names[symbol.variable] + "'" * symbol.primes

    def probability(self, outcome: Sequence[str], given: Sequence[str]) -> str:
        """A conditional probability."""
        return "P(" + ", ".join(outcome) + (self.bar if given else "") + ", ".join(given) + ")"

    def product(self, factors: Sequence[str]) -> str:
        """A product; one, where there are no factors."""
        return self.times.join(factors) or "1"

    @abstractmethod
    def total(self, over: Sequence[str], body: str) -> str:
        """A sum over values."""

    @abstractmethod
    def quotient(self, above: str, below: str) -> str:
        """A quotient, its parts bracketed already where they need it."""

    @abstractmethod
    def brackets(self, text: str) -> str:
        """The same in brackets."""


@final
class TextNotation(Notation):
    """Plain text: `Σ_t P(t | s) Σ_s' P(c | t, s') P(s')`."""

    __slots__ = ()
    bar, times, brackets_quotients = " | ", " ", True

    @classmethod
    def of(cls, variables: Collection[Node]) -> TextNotation:
        """With small letters for values where these are distinct."""
        return cls(value_names(variables))

    def total(self, over: Sequence[str], body: str) -> str:
        """Σ_a; in braces where that would be unclear: Σ_{a,b} for several, Σ_{my z} for a name with a space."""
        is_plain = len(over) == 1 and re.fullmatch(r"\w+'*", over[0])
        symbols = over[0] if is_plain else "{" + ",".join(over) + "}"
        return f"Σ_{symbols} {body}"

    def quotient(self, above: str, below: str) -> str:
        """a / b."""
        return f"{above} / {below}"

    def brackets(self, text: str) -> str:
        """[a]."""
        return f"[{text}]"


@final
class LatexNotation(Notation):
    r"""LaTeX: `\sum_{t} P(t \mid s) \sum_{s'} P(c \mid t, s')\, P(s')`."""

    __slots__ = ()
    bar, times, brackets_quotients = r" \mid ", r" \, ", False

    @classmethod
    def of(cls, variables: Collection[Node]) -> LatexNotation:
        """With small letters for values where these are distinct."""
        return cls({variable: _latex_name(name) for variable, name in value_names(variables).items()})

    def total(self, over: Sequence[str], body: str) -> str:
        r"""\sum with its symbols below."""
        return rf"\sum_{{{', '.join(over)}}} {body}"

    def quotient(self, above: str, below: str) -> str:
        r"""\frac."""
        return rf"\frac{{{above}}}{{{below}}}"

    def brackets(self, text: str) -> str:
        r"""\left[ a \right]."""
        return rf"\left[ {text} \right]"


def _latex_name(name: str) -> str:
    r"""`z1` as `z_{1}`, `tar_level` as `\mathit{tar\_level}`, `my treat` as `\mathit{my\ treat}`."""
    if found := re.fullmatch(r"([^\W\d_])(\d*)", name):
        letter, digits = found.groups()
        return f"{letter}_{{{digits}}}" if digits else letter
    escaped = "".join(r"\ " if letter.isspace() else _LATEX.get(letter, letter) for letter in name)
    return rf"\mathit{{{escaped}}}"


#: Expressions of more symbols are written by their shared parts, and not simplified.
LONGEST = 1500


def written(expression: Part, kind: type[Notation]) -> str:
    """The expression in a notation: on one line, or with a line for each shared part of a very long one."""
    notation = kind.of(sorted(expression.variables, key=str))
    parts = list(distinct_parts(expression, lambda part: part.parts))
    named = set() if expression.size <= LONGEST else _shared(parts)
    texts: dict[int, str] = {}
    lines: list[str] = []
    for part in parts:
        text = part.write(notation, lambda inner: texts[id(inner)])
        if id(part) in named:
            name = f"Q{len(lines) + 1}({', '.join(sorted(map(notation.symbol, part.free)))})"
            lines.append(f"{name} = {text}")
            text = name
        texts[id(part)] = text
    return "\nwhere ".join([texts[id(expression)], "\n      ".join(lines)]) if lines else texts[id(expression)]


def _shared(parts: Iterable[Part]) -> set[int]:
    """The composed parts that stand in more than one place."""
    places: dict[int, int] = {}
    for part in parts:
        for inner in part.parts:
            places[id(inner)] = places.get(id(inner), 0) + (1 if inner.parts else 0)
    return {key for key, count in places.items() if count > 1}
