"""Symbols: the values over which expressions are functions; and the walk through expressions whose parts are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from plausible.base.display import html_of_print
from plausible.graphs.nodes import Node


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value of a variable; primes tell apart several values of one variable in an expression.

    >>> print(Symbol("S", primes=1))
    S'
    """

    variable: Node
    primes: int = 0

    def __str__(self) -> str:
        return str(self.variable) + "'" * self.primes

    _repr_html_ = html_of_print


#: A symbol, or the variable whose unprimed symbol is meant.
SymbolLike: TypeAlias = "Symbol | Node"
#: One, or several.
Symbols: TypeAlias = "SymbolLike | Iterable[SymbolLike]"


def read_symbols(symbols: Symbols) -> tuple[Symbol, ...]:
    """One symbol or several, each once; what is no symbol is a variable and stands for its unprimed symbol.

    >>> read_symbols("S") == read_symbols(["S", Symbol("S")]) == (Symbol("S"),)
    True
    """
    listed = list(symbols) if isinstance(symbols, Iterable) and not isinstance(symbols, str) else [symbols]
    return tuple(dict.fromkeys(each if isinstance(each, Symbol) else Symbol(each) for each in listed))


class Part(Protocol):
    """An expression as far as walks through it go; that of `tree`, which stands above what writes and computes it."""

    free: frozenset[Symbol]
    variables: frozenset[Node]
    size: int

    @property
    def parts(self) -> Sequence[Any]: ...  # what it is made of
    @property
    def operands(self) -> Sequence[Any]: ...  # the expressions whose numbers it needs

    def write(self, notation: Any, text_of: Callable[[Any], str], /) -> str: ...
    def tabulate(self, evaluation: Any, /) -> Any: ...
    def encode(self, writer: Any, /) -> tuple[str, tuple[Symbol, ...]]: ...


PartT = TypeVar("PartT", bound=Part)


def distinct_parts(whole: PartT, parts_of: Callable[[PartT], Sequence[PartT]]) -> Iterator[PartT]:
    """Every different part once, parts before what they are part of, the whole last; by loops, not by recursion."""
    seen: set[int] = set()
    waiting: list[tuple[PartT, bool]] = [(whole, False)]
    while waiting:
        part, is_ready = waiting.pop()
        if is_ready:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting.append((part, True))
            waiting += [(inner, False) for inner in reversed(parts_of(part))]
