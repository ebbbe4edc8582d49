"""Expressions as Python functions over NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from plausible.causal.expressions.symbols import Part, Symbol, distinct_parts
from plausible.errors import NotSupported
from plausible.graphs.nodes import Node


class CodeWriter:
    """Lines of NumPy that compute expressions from `joint`, each shared part once."""

    def __init__(self, variables: Sequence[Node]) -> None:
        self.lines: list[str] = []
        self._count = 0
        self._variables = list(variables)
        self._letters: dict[Symbol, str] = {}
        self._names: dict[int, tuple[str, tuple[Symbol, ...]]] = {}
        for variable in variables:
            self._letter(Symbol(variable))

    def name(self, expression: Part) -> tuple[str, tuple[Symbol, ...]]:
        """The name of the array that holds an expression, and its axes."""
        if id(expression) not in self._names:
            for part in distinct_parts(expression, lambda each: each.operands):
                if id(part) not in self._names:
                    self._names[id(part)] = part.encode(self)
        return self._names[id(expression)]

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
        operands = [self.name(factor) for factor in factors]
        present = {symbol for _, axes in operands for symbol in axes}
        operands += [(self._ones(symbol), (symbol,)) for symbol in over if symbol not in present]
        kept = tuple(dict.fromkeys(symbol for _, axes in operands for symbol in axes if symbol not in over))
        if not operands:
            return self._assign("np.ones(())"), ()
        inputs = ",".join(map(self.word, (axes for _, axes in operands)))
        arrays = ", ".join(name for name, _ in operands)
        return self._assign(f'np.einsum("{inputs}->{self.word(kept)}", {arrays}, optimize=True)'), kept

    def ratio(self, above: Part, below: Part) -> tuple[str, tuple[Symbol, ...]]:
        """One array divided by another, with aligned axes."""
        (first, axes), (second, others) = self.name(above), self.name(below)
        union = tuple(dict.fromkeys((*axes, *others)))
        return self._assign(f"{self._aligned(first, axes, union)} / {self._aligned(second, others, union)}"), union

    def _ones(self, symbol: Symbol) -> str:
        return f"np.ones(joint.shape[{self._variables.index(symbol.variable)}])"

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
    expression: Part,
    axes: Sequence[Symbol],
    *,
    arbitrary: Sequence[Symbol] = (),
    title: str | None = None,
) -> str:
    """A function `effect(joint)` that computes an expression."""
    variables = sorted(expression.variables, key=str)
    writer = CodeWriter(variables)
    name, order = writer.name(expression)
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
    """Text that ends neither a docstring nor a comment, whatever names are in it.

    >>> print(_escaped('a"b'), _escaped("a\\nb"))
    a\\"b a\\nb
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in plain)
