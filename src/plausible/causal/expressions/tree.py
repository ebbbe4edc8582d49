"""The expression tree: probabilities of the observed distribution, their products, sums and quotients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any, final

from plausible.base import html_of_print
from plausible.causal.expressions.notation import (
    Computation,
    Notation,
    Symbol,
    Symbols,
    ValueT,
    function_text,
    read_symbols,
    written,
)
from plausible.causal.expressions.tables import Evaluation, Source
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.nodes import Node


class Expression(ABC):
    """A function of symbols, built from probabilities of the observed distribution: an immutable value.

    Subtrees may be shared, and every algorithm here visits a shared one once: a tree that would be exponentially large
    when written out costs no more than its different parts.
    """

    __slots__ = ("_hash", "depth", "free", "size", "variables")

    free: frozenset[Symbol]  # The symbols that it is a function of
    variables: frozenset[Node]  # All variables in it, also those that sums run over
    size: int  # How many symbols it takes to write it out
    depth: int  # How deep its parts are nested
    _hash: int

    def _settle(self, own: Iterable[Symbol], bound: Iterable[Symbol] = ()) -> None:
        """Compute once what the parts tell; `own` are the symbols written here, `bound` those that end here."""
        own, bound = tuple(own), tuple(bound)
        free = frozenset(own).union(*(part.free for part in self.parts)).difference(bound)
        variables = frozenset(symbol.variable for symbol in own).union(*(part.variables for part in self.parts))
        object.__setattr__(self, "free", free)
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "size", len(own) + sum(part.size for part in self.parts))
        object.__setattr__(self, "depth", 1 + max((part.depth for part in self.parts), default=0))
        object.__setattr__(self, "_hash", hash((type(self), self._label, *(part._hash for part in self.parts))))

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions whose numbers it needs: its parts, unless it can do without the numbers of one of them."""
        return self.parts

    @property
    def _label(self) -> Hashable:
        """What tells it from others of its kind with the same parts."""
        return None

    @abstractmethod
    def write(self, notation: Notation, text_of: Callable[[Expression], str]) -> str:
        """This in a notation, given its parts in it."""

    @abstractmethod
    def compute(self, computation: Computation[ValueT]) -> ValueT:
        """Its value, by way of those of its operands."""

    def __mul__(self, other: Expression) -> Expression:
        """The product."""
        return product_of([self, other]) if isinstance(other, Expression) else NotImplemented

    def __truediv__(self, other: Expression) -> Expression:
        """The quotient."""
        return Quotient(self, other) if isinstance(other, Expression) else NotImplemented

    def __str__(self) -> str:
        return written(self)

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    @property
    def latex(self) -> str:
        """LaTeX for it, without dollar signs."""
        return written(self, is_latex=True)

    @property
    def python(self) -> str:
        """A Python function that computes it with NumPy from an array of the joint distribution.

        Conditions of probability zero make numbers `nan` there; `evaluate` says where they are.
        """
        return function_text(self, sorted(self.free, key=str))

    def evaluate(self, source: Source) -> Factor:
        """Its exact values under a distribution, as a factor over its free symbols in alphabetic order.

        Raises `PositivityViolation` where the value depends on a probability given what never happens.

        Parameters
        ----------
        source
            A network or a compiled engine, which is asked for one table for each probability in the expression; or the
            joint distribution as a factor.

        Examples
        --------
        >>> from plausible.factors import Factor
        >>> joint = Factor({"X": 2, "Y": 2}, [[0.1, 0.3], [0.2, 0.4]])
        >>> probability("Y", given="X").evaluate(joint).values.round(3)
        array([[0.25 , 0.75 ],
               [0.333, 0.667]])
        """
        evaluation = Evaluation(source)
        return evaluation.factor(evaluation.value(self), sorted(self.free, key=str))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and _same(self, other, set())

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: frozen slots can't be set from outside."""
        own: Any = self
        return type(self), tuple(getattr(self, field.name) for field in fields(own))


def _same(a: Expression, b: Expression, known: set[tuple[int, int]]) -> bool:
    """Whether both are written alike; pairs that are `known` to be are not compared again."""
    if a is b or (id(a), id(b)) in known:
        return True
    if type(a) is not type(b) or a._hash != b._hash or a._label != b._label or len(a.parts) != len(b.parts):
        return False
    alike = all(_same(x, y, known) for x, y in zip(a.parts, b.parts, strict=True))
    if alike:
        known.add((id(a), id(b)))
    return alike


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Probability(Expression):
    """P(outcome | given) of the observed distribution."""

    outcome: tuple[Symbol, ...]
    given: tuple[Symbol, ...] = ()

    def __post_init__(self) -> None:
        variables = [symbol.variable for symbol in (*self.outcome, *self.given)]
        if not self.outcome or len(set(variables)) < len(variables):
            raise InvalidArgument(
                f"P({', '.join(map(str, self.outcome))} | {', '.join(map(str, self.given))}) is no probability: it "
                "needs an outcome, and each variable once."
            )
        self._settle((*self.outcome, *self.given))

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    @property
    def _label(self) -> Hashable:
        return frozenset(self.outcome), frozenset(self.given)

    def write(self, notation: Notation, text_of: Callable[[Expression], str]) -> str:
        return notation.probability([*map(notation.symbol, self.outcome)], [*map(notation.symbol, self.given)])

    def compute(self, computation: Computation[ValueT]) -> ValueT:
        return computation.conditional(self.outcome, self.given)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Product(Expression):
    """The product of any number of expressions; one, where there are none."""

    factors: tuple[Expression, ...]

    def __post_init__(self) -> None:
        self._settle(())

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.factors

    def write(self, notation: Notation, text_of: Callable[[Expression], str]) -> str:
        """Factors side by side; a sum that is not the last one would swallow what follows, so it gets brackets."""
        texts = []
        for place, factor in enumerate(self.factors):
            is_open = isinstance(factor, Sum) and place < len(self.factors) - 1
            is_quotient = isinstance(factor, Quotient) and not notation.is_latex
            text = text_of(factor)
            texts.append(notation.brackets(text) if is_open or is_quotient else text)
        return notation.product(texts)

    def compute(self, computation: Computation[ValueT]) -> ValueT:
        return computation.contract(self.factors, ())


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sum(Expression):
    """The sum of an expression over all values of some symbols, which are bound by it."""

    over: tuple[Symbol, ...]
    body: Expression

    def __post_init__(self) -> None:
        self._settle(self.over, self.over)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.body,)

    @property
    def _label(self) -> Hashable:
        return frozenset(self.over)

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The factors of the body: a sum of a product never needs the product's whole table."""
        return self.body.factors if isinstance(self.body, Product) else (self.body,)

    def write(self, notation: Notation, text_of: Callable[[Expression], str]) -> str:
        body = text_of(self.body)
        if isinstance(self.body, Quotient) and not notation.is_latex:
            body = notation.brackets(body)
        return notation.total([*map(notation.symbol, self.over)], body)

    def compute(self, computation: Computation[ValueT]) -> ValueT:
        return computation.contract(self.operands, self.over)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quotient(Expression):
    """One expression divided by another; undefined where that is zero."""

    above: Expression
    below: Expression

    def __post_init__(self) -> None:
        self._settle(())

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.above, self.below

    def write(self, notation: Notation, text_of: Callable[[Expression], str]) -> str:
        texts = []
        for part in self.parts:
            needs = not notation.is_latex and not isinstance(part, Probability)
            texts.append(notation.brackets(text_of(part)) if needs else text_of(part))
        return notation.quotient(*texts)

    def compute(self, computation: Computation[ValueT]) -> ValueT:
        return computation.ratio(self.above, self.below)


#: The empty product.
ONE = Product(())


def probability(outcome: Symbols, given: Symbols = ()) -> Probability:
    """P(outcome | given) from names or symbols, one or several each.

    >>> print(probability("Y", given=["X", "Z"]))
    P(y | x, z)
    """
    return Probability(read_symbols(outcome), read_symbols(given))


def product_of(factors: Iterable[Expression]) -> Expression:
    """The product, without products inside of it; a single factor is its own product.

    >>> print(product_of([probability("Y", "X"), probability("X")]))
    P(y | x) P(x)
    """
    listed: list[Expression] = []
    for factor in factors:
        listed += factor.factors if isinstance(factor, Product) else (factor,)
    return listed[0] if len(listed) == 1 else Product(tuple(listed))


def sum_over(symbols: Symbols, body: Expression) -> Expression:
    """Σ over the symbols; the body itself, where there are none.

    >>> print(sum_over("Z", probability("Y", ["X", "Z"]) * probability("Z")))
    Σ_z P(y | x, z) P(z)
    """
    over = read_symbols(symbols)
    return Sum(over, body) if over else body
