"""Symbols, and expressions written down: as plain text, in LaTeX, and as Python functions over NumPy arrays."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from plausible.base import html_of_print
from plausible.errors import NotSupported
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
    """One symbol or several, each once; what is no symbol is a variable and stands for its unprimed symbol."""
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
    def operands(self) -> Sequence[Any]: ...  # the expressions whose values it needs

    def write(self, notation: Any, text_of: Callable[[Any], str], /) -> str: ...
    def compute(self, computation: Any, /) -> Any: ...


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


ValueT = TypeVar("ValueT")


class Computation(ABC, Generic[ValueT]):
    """Values of expressions, by one operation for each kind of expression; those of shared parts are computed once."""

    def __init__(self) -> None:
        self._values: dict[int, ValueT] = {}

    def value(self, expression: Part) -> ValueT:
        """The value of an expression."""
        if id(expression) not in self._values:
            for part in distinct_parts(expression, lambda each: each.operands):
                if id(part) not in self._values:
                    self._values[id(part)] = part.compute(self)
        return self._values[id(expression)]

    @abstractmethod
    def conditional(self, outcome: Sequence[Symbol], given: Sequence[Symbol]) -> ValueT:
        """P(outcome | given)."""

    @abstractmethod
    def contract(self, factors: Sequence[Part], over: Sequence[Symbol]) -> ValueT:
        """A product summed over some symbols."""

    @abstractmethod
    def ratio(self, above: Part, below: Part) -> ValueT:
        """A quotient."""


#: What LaTeX reads as commands in mathematics -> how it is written.
_LATEX = {**{letter: rf"\{letter}" for letter in "#$%&_{}"}, "\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}"}


def value_names(variables: Collection[Node]) -> dict[Node, str]:
    """How values are called: as their variables in small letters, unless two would then be called the same."""
    small = {variable: str(variable).lower() for variable in variables}
    return small if len(set(small.values())) == len(small) else {variable: str(variable) for variable in variables}


@dataclass(frozen=True, slots=True)
class Notation:
    """How each kind of expression is written, given how its parts are."""

    names: Mapping[Node, str]  # of values
    is_latex: bool = False

    @classmethod
    def of(cls, variables: Collection[Node], *, is_latex: bool = False) -> Notation:
        """The notation for expressions over these variables."""
        names = value_names(variables)
        return cls({node: _latex_name(name) for node, name in names.items()} if is_latex else names, is_latex)

    def symbol(self, symbol: Symbol) -> str:
        """A value: its name and its primes."""
        return self.names[symbol.variable] + "'" * symbol.primes

    def probability(self, outcome: Sequence[str], given: Sequence[str]) -> str:
        """A conditional probability."""
        bar = r" \mid " if self.is_latex else " | "
        return "P(" + ", ".join(outcome) + (bar if given else "") + ", ".join(given) + ")"

    def product(self, factors: Sequence[str]) -> str:
        """A product; one, where there are no factors."""
        return (r" \, " if self.is_latex else " ").join(factors) or "1"

    def total(self, over: Sequence[str], body: str) -> str:
        """Σ_a; in braces where that would be unclear: Σ_{a,b} for several, Σ_{my z} for a name with a space."""
        if self.is_latex:
            return rf"\sum_{{{', '.join(over)}}} {body}"
        is_plain = len(over) == 1 and re.fullmatch(r"\w+'*", over[0])
        return f"Σ_{over[0] if is_plain else '{' + ','.join(over) + '}'} {body}"

    def quotient(self, above: str, below: str) -> str:
        """A quotient, its parts bracketed already where they need it."""
        return rf"\frac{{{above}}}{{{below}}}" if self.is_latex else f"{above} / {below}"

    def brackets(self, text: str) -> str:
        """The same in brackets."""
        return rf"\left[ {text} \right]" if self.is_latex else f"[{text}]"


def _latex_name(name: str) -> str:
    r"""`z1` as `z_{1}`, `tar_level` as `\mathit{tar\_level}`, `my treat` as `\mathit{my\ treat}`."""
    if found := re.fullmatch(r"([^\W\d_])(\d*)", name):
        letter, digits = found.groups()
        return f"{letter}_{{{digits}}}" if digits else letter
    escaped = "".join(r"\ " if letter.isspace() else _LATEX.get(letter, letter) for letter in name)
    return rf"\mathit{{{escaped}}}"


#: Expressions of more symbols are written by their shared parts, and not simplified.
LONGEST = 1500


def written(expression: Part, *, is_latex: bool = False) -> str:
    """The expression in a notation: on one line, or with a line for each shared part of a very long one."""
    notation = Notation.of(sorted(expression.variables, key=str), is_latex=is_latex)
    parts = list(distinct_parts(expression, lambda part: part.parts))
    places = Counter(id(inner) for part in parts for inner in part.parts if inner.parts)
    texts: dict[int, str] = {}
    lines: list[str] = []
    for part in parts:
        text = part.write(notation, lambda inner: texts[id(inner)])
        if expression.size > LONGEST and places[id(part)] > 1:
            name = f"Q{len(lines) + 1}({', '.join(sorted(map(notation.symbol, part.free)))})"
            lines.append(f"{name} = {text}")
            text = name
        texts[id(part)] = text
    return "\nwhere ".join([texts[id(expression)], "\n      ".join(lines)]) if lines else texts[id(expression)]


class CodeWriter(Computation[tuple[str, tuple[Symbol, ...]]]):
    """Lines of NumPy that compute expressions from `joint`: of each the name of its array and the axes."""

    def __init__(self, variables: Sequence[Node]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._count = 0
        self._variables = list(variables)
        self._letters: dict[Symbol, str] = {}
        for variable in variables:
            self._letter(Symbol(variable))

    def conditional(self, outcome: Sequence[Symbol], given: Sequence[Symbol]) -> tuple[str, tuple[Symbol, ...]]:
        """P(outcome | given), its axes in the order (given, outcome)."""
        axes = (*given, *outcome)
        whole = "".join(self._letter(Symbol(variable)) for variable in self._variables)
        wanted = "".join(self._letter(Symbol(symbol.variable)) for symbol in axes)
        comment = _escaped(f"P({', '.join(map(str, outcome))}{' | ' if given else ''}{', '.join(map(str, given))})")
        name = self._assign(f'np.einsum("{whole}->{wanted}", joint)  # {comment}')
        if given:
            summed = tuple(range(len(given), len(axes)))
            self.lines.append(f"{name} = {name} / {name}.sum(axis={summed}, keepdims=True)")
        return name, axes

    def contract(self, factors: Sequence[Part], over: Sequence[Symbol]) -> tuple[str, tuple[Symbol, ...]]:
        """A product summed over some symbols."""
        operands = [self.value(factor) for factor in factors]
        missing = [symbol for symbol in over if not any(symbol in axes for _, axes in operands)]
        places = [self._variables.index(symbol.variable) for symbol in missing]
        operands += [(f"np.ones(joint.shape[{k}])", (symbol,)) for symbol, k in zip(missing, places, strict=True)]
        kept = tuple(dict.fromkeys(symbol for _, axes in operands for symbol in axes if symbol not in over))
        if not operands:
            return self._assign("np.ones(())"), ()
        inputs = ",".join(map(self.word, (axes for _, axes in operands)))
        arrays = ", ".join(name for name, _ in operands)
        return self._assign(f'np.einsum("{inputs}->{self.word(kept)}", {arrays}, optimize=True)'), kept

    def ratio(self, above: Part, below: Part) -> tuple[str, tuple[Symbol, ...]]:
        """One array divided by another, with aligned axes."""
        (first, axes), (second, others) = self.value(above), self.value(below)
        union = tuple(dict.fromkeys((*axes, *others)))
        return self._assign(f"{self._aligned(first, axes, union)} / {self._aligned(second, others, union)}"), union

    def _aligned(self, name: str, axes: Sequence[Symbol], union: Sequence[Symbol]) -> str:
        own = tuple(symbol for symbol in union if symbol in axes)
        places = ", ".join(":" if symbol in axes else "None" for symbol in union)
        return f'np.einsum("{self.word(axes)}->{self.word(own)}", {name})' + (f"[{places}]" if places else "")

    def _assign(self, value: str) -> str:
        self._count += 1
        name = f"t{self._count}"
        self.lines.append(f"{name} = {value}")
        return name

    def word(self, symbols: Sequence[Symbol]) -> str:
        """A letter for each symbol, as `einsum` wants its axes."""
        return "".join(map(self._letter, symbols))

    def _letter(self, symbol: Symbol) -> str:
        if symbol not in self._letters and len(self._letters) == len(ascii_letters):
            raise NotSupported(
                f"NumPy's einsum has letters for {len(ascii_letters)} symbols; this expression has more. Use evaluate."
            )
        return self._letters.setdefault(symbol, ascii_letters[len(self._letters) % len(ascii_letters)])


def function_text(
    expression: Part, axes: Sequence[Symbol], *, arbitrary: Sequence[Symbol] = (), title: str | None = None
) -> str:
    """A function `effect(joint)` that computes an expression."""
    variables = sorted(expression.variables, key=str)
    writer = CodeWriter(variables)
    name, order = writer.value(expression)
    kept = [symbol for symbol in axes if symbol in order]
    listed = ", ".join(str(symbol) for symbol in kept)
    out = writer.word([*kept, *arbitrary])
    mean = f".mean(axis={tuple(range(len(kept), len(kept) + len(arbitrary)))})" if arbitrary else ""
    lines = [
        "import numpy as np",
        "",
        "",
        "def effect(joint):",
        f'    """{_escaped(str(title or expression))} with the axes ({_escaped(listed)}).',
        "",
        f"    joint: an array of probabilities with the axes ({_escaped(', '.join(map(str, variables)))}). Conditions "
        "of probability zero give nan.",
        '    """',
        *(f"    {line}" for line in writer.lines),
        f'    return np.einsum("{writer.word(order)}->{out}", {name}){mean}',
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Text that ends neither a docstring nor a comment, whatever names are in it."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in plain)
