"""Writing an expression out; one that is too long is written by its shared parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from plausible.causal.expressions.notation import Notation
from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.visiting import distinct_parts
from plausible.graphs.nodes import Node

__all__ = ["LONGEST", "written"]

#: Expressions of more symbols are written by their shared parts, and not simplified.
LONGEST = 1500


class Writable(Protocol):
    """An expression as far as writing goes."""

    @property
    def parts(self) -> Sequence[Writable]:
        """What it is made of."""

    free: frozenset[Symbol]
    variables: frozenset[Node]
    size: int

    def write(self, notation: Notation, text_of: Callable[[Writable], str]) -> str:
        """This in a notation, given its parts in it."""


def written(expression: Writable, kind: type[Notation]) -> str:
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


def _shared(parts: Iterable[Writable]) -> set[int]:
    """The composed parts that stand in more than one place."""
    places: dict[int, int] = {}
    for part in parts:
        for inner in part.parts:
            places[id(inner)] = places.get(id(inner), 0) + (1 if inner.parts else 0)
    return {key for key, count in places.items() if count > 1}
