"""Symbols: the values over which expressions are functions and sums run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from plausible.base.display import html_of_print
from plausible.graphs.nodes import Node

__all__ = ["Symbol", "SymbolLike", "Symbols", "read_symbols"]


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
