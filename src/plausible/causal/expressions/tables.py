"""The numbers of expressions, as tables whose axes are symbols.

Numbers that no probability determines, such as P(y | x) where P(x) = 0, are NaN. What multiplies them by zero does not
depend on them, so 0 · NaN = 0; every other sum, product or quotient with them is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.causal.expressions.notation import Computation, Part, Symbol
from plausible.errors import NotSupported, PositivityViolation, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at, check_size
from plausible.variables import Variable


class CanBeAsked(Protocol):
    """A model that gives exact joint tables of some of its variables."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    def query(self, targets: Any, /) -> Factor:
        """The joint distribution of some variables."""


#: A network, an engine, or the joint distribution as a factor.
Source: TypeAlias = "CanBeAsked | Factor"


class Distribution:
    """The observed distribution, of which any joint table can be had; each is asked for once."""

    __slots__ = ("_answers", "_source", "variables")

    def __init__(self, source: Source) -> None:
        self._answers: dict[frozenset[str], Factor] = {}
        if isinstance(source, Factor):
            self._source: Source = source.normalize()
            self.variables: Mapping[str, Variable] = {variable.name: variable for variable in source.scope}
        elif hasattr(source, "query") and hasattr(source, "variables"):
            self._source, self.variables = source, source.variables
        else:
            raise NotSupported(
                f"An estimand is evaluated on a network, a compiled engine or a joint Factor, not on a "
                f"{type(source).__name__}. From data, learn a network first, as with learn.parameters(graph, data)."
            )

    def variable(self, name: object) -> Variable:
        """The variable of that name."""
        if not isinstance(name, str) or name not in self.variables:
            raise UnknownVariable.named(name, self.variables, "the distribution that the estimand is evaluated on")
        return self.variables[name]

    def joint(self, names: Sequence[str]) -> Factor:
        """P(names), with the axes in this order."""
        key = frozenset(names)
        if key not in self._answers:
            source = self._source
            self._answers[key] = source.marginal(names) if isinstance(source, Factor) else source.query(list(names))
        return self._answers[key].reorder(list(names))


#: At most so many places are named in a message.
_SHOWN = 4


class SymbolTable(NamedTuple):
    """Numbers for all values of some symbols: axis i runs over the states of `symbols[i]`."""

    symbols: tuple[Symbol, ...]
    values: Floats

    def aligned(self, symbols: Sequence[Symbol]) -> Floats:
        """The values with an axis for each of these symbols, of length one where the table does not depend on it."""
        own = [symbol for symbol in symbols if symbol in self.symbols]
        ordered = self.values.transpose([self.symbols.index(symbol) for symbol in own])
        lengths = iter(ordered.shape)
        return ordered.reshape([next(lengths) if symbol in self.symbols else 1 for symbol in symbols])


class Evaluation(Computation[SymbolTable]):
    """The tables of expressions under one distribution."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._distribution = Distribution(source)
        #: Conditions of probability zero, in words.
        self.impossible: list[str] = []

    def variable(self, symbol: Symbol) -> Variable:
        """The variable that a symbol's axis belongs to, called as the symbol."""
        return self._distribution.variable(symbol.variable).renamed(str(symbol))

    def conditional(self, outcome: Sequence[Symbol], given: Sequence[Symbol]) -> SymbolTable:
        """P(outcome | given); NaN where P(given) = 0."""
        symbols = (*given, *outcome)
        names = [self._distribution.variable(symbol.variable).name for symbol in symbols]
        joint = self._distribution.joint(names).values
        if not given:
            return SymbolTable(symbols, joint)
        below = joint.sum(axis=tuple(range(len(given), len(symbols))), keepdims=True)
        scope = tuple(self._distribution.variables[name] for name in names[: len(given)])
        for position in np.flatnonzero(below == 0)[:_SHOWN]:
            text = ", ".join(f"{name}={state!r}" for name, state in assignment_at(scope, int(position)).items())
            if text not in self.impossible:
                self.impossible.append(text)
        return SymbolTable(symbols, _quotient(joint, below))

    def contract(self, factors: Sequence[Part], over: Sequence[Symbol]) -> SymbolTable:
        """Σ over some symbols of a product, by eliminating one after the other, the cheapest first."""
        tables, waiting = [self.value(factor) for factor in factors], dict.fromkeys(over)
        while waiting:
            symbol = min(waiting, key=lambda each: self._cost(tables, each))
            del waiting[symbol]
            touching = [table for table in tables if symbol in table.symbols]
            tables = [table for table in tables if symbol not in table.symbols]
            if touching:
                symbols, values = self._product(touching)
                axis = symbols.index(symbol)
                tables.append(SymbolTable(symbols[:axis] + symbols[axis + 1 :], values.sum(axis=axis)))
            else:
                tables.append(SymbolTable((), np.array(float(self.variable(symbol).num_states))))
        return self._product(tables)

    def ratio(self, above: Part, below: Part) -> SymbolTable:
        """The quotient; NaN where the divisor is zero."""
        first, second = self.value(above), self.value(below)
        symbols = self._union([first, second])
        return SymbolTable(symbols, _quotient(first.aligned(symbols), second.aligned(symbols)))

    def _union(self, tables: Iterable[SymbolTable]) -> tuple[Symbol, ...]:
        symbols = tuple(dict.fromkeys(symbol for table in tables for symbol in table.symbols))
        check_size([self.variable(symbol) for symbol in symbols], "A table of the estimand")
        return symbols

    def _product(self, tables: Sequence[SymbolTable]) -> SymbolTable:
        symbols = self._union(tables)
        arrays = [table.aligned(symbols) for table in tables]
        return SymbolTable(symbols, reduce(_times, arrays) if arrays else np.ones(()))

    def _cost(self, tables: Sequence[SymbolTable], symbol: Symbol) -> float:
        touched = {
            other: size
            for table in tables
            if symbol in table.symbols
            for other, size in zip(table.symbols, table.values.shape, strict=True)
        }
        return math.prod(map(float, touched.values()))

    def factor(
        self,
        table: SymbolTable,
        order: Sequence[Symbol],
        *,
        arbitrary: Sequence[Symbol] = (),
        fixed: Mapping[str, Any] | None = None,
    ) -> Factor:
        """The table as a factor, refused with the reasons where numbers in it are undefined."""
        # Along the axes of arbitrary values, the mean of what is defined.
        values = table.aligned([*order, *arbitrary])
        axes, defined = tuple(range(len(order), values.ndim)), ~np.isnan(values)
        sums = np.where(defined, values, 0.0).sum(axis=axes)
        values = _quotient(sums, defined.sum(axis=axes).astype(np.float64))
        scope = tuple(self.variable(symbol) for symbol in order)
        check_size(scope, "The estimand")
        settings = fixed or {}
        place = tuple(v.index(settings[v.name]) if v.name in settings else slice(None) for v in scope)
        values = np.broadcast_to(values, [v.num_states for v in scope])[place]
        kept = tuple(v for v in scope if v.name not in settings)
        if not np.isnan(values).any():
            return Factor(kept, values)
        places = [{**settings, **assignment_at(kept, int(position))} for position in np.flatnonzero(np.isnan(values))]
        shown = "; ".join(str(place) for place in places[:_SHOWN]) + ("; ..." if len(places) > _SHOWN else "")
        reasons = "; ".join(self.impossible[:_SHOWN]) + ("; ..." if len(self.impossible) > _SHOWN else "")
        why = f"Probability zero have: {reasons}." if reasons else "A divisor is zero there."
        raise PositivityViolation(
            f"Positivity is violated: the estimand conditions on what never happens, so it has no value at {shown}. "
            f"{why} Ask only for states that are possible with do= and evidence=, or smooth the distribution.",
            places,
        )


def _times(a: Floats, b: Floats) -> Floats:
    values = a * b
    if np.isnan(values).any():
        values[np.broadcast_to((a == 0) | (b == 0), values.shape)] = 0.0
    return values


def _quotient(above: Floats, below: Floats) -> Floats:
    values = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=values, where=np.broadcast_to(below != 0, values.shape))
    return values
