"""Shorter expressions of the same value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from plausible.causal.expressions.notation import LONGEST, Symbol
from plausible.causal.expressions.tree import Expression, Probability, Product, Quotient, Sum, product_of, sum_over

#: Expressions that are nested deeper are not simplified.
_DEEPEST = 80


def simplify(expression: Expression) -> Expression:
    """A shorter expression that has the same value wherever this one has one.

    P(a | b, c) P(b | c) becomes P(a, b | c); equal factors of a quotient cancel, P(a, b | c) / P(b | c) becomes
    P(a | b, c); what a sum does not run over leaves it, sums over parts that share no symbol part, and Σ_a P(a, b | c)
    becomes P(b | c). Bound symbols get as few primes as tell them from those around them. Expressions that would take
    more than 1,500 symbols to write, or are nested more than 80 deep, are left as they are.

    >>> from plausible.causal.expressions.tree import probability, sum_over
    >>> print(simplify(sum_over("Z", probability("Y", ["X", "Z"]) * probability("Z", "X"))))
    P(y | x)
    >>> print(simplify(probability(["X", "Y"]) / sum_over("Y", probability(["X", "Y"]))))
    P(y | x)
    """
    if expression.size > LONGEST or expression.depth > _DEEPEST:
        return expression
    return with_canonical_symbols(_reduced(with_canonical_symbols(expression)).expression)


class _Term(NamedTuple):
    """A product of expressions divided by another; neither holds products or quotients itself."""

    above: list[Expression]
    below: list[Expression]

    @property
    def expression(self) -> Expression:
        above = product_of(self.above)
        return Quotient(above, product_of(self.below)) if self.below else above


def _reduced(expression: Expression) -> _Term:
    if isinstance(expression, Product):
        terms = [_reduced(factor) for factor in expression.factors]
        return _settled([f for term in terms for f in term.above], [f for term in terms for f in term.below])
    if isinstance(expression, Quotient):
        above, below = _reduced(expression.above), _reduced(expression.below)
        return _settled(above.above + below.below, above.below + below.above)
    if isinstance(expression, Sum):
        return _summed(list(expression.over), _reduced(expression.body))
    return _Term([expression], [])


def _settled(above: list[Expression], below: list[Expression]) -> _Term:
    """The quotient after cancelling, merging and turning joint probabilities into conditional ones."""
    above, below = _cancelled(above, below)
    above, below = _cancelled(_merged(above), _merged(below))
    for place, divisor in enumerate(below):
        for other, factor in enumerate(above):
            # P(a, b | c) / P(b | c) = P(a | b, c).
            if (
                isinstance(factor, Probability)
                and isinstance(divisor, Probability)
                and set(factor.given) == set(divisor.given)
                and set(divisor.outcome) < set(factor.outcome)
            ):
                outcome = tuple(symbol for symbol in factor.outcome if symbol not in divisor.outcome)
                above = [*above[:other], Probability(outcome, (*divisor.outcome, *factor.given)), *above[other + 1 :]]
                return _settled(above, below[:place] + below[place + 1 :])
    return _Term(above, below)


def _cancelled(above: list[Expression], below: list[Expression]) -> tuple[list[Expression], list[Expression]]:
    def is_equal(a: Expression, b: Expression) -> bool:
        """Whether both say the same, whatever their bound symbols are called."""
        if a.size != b.size or a.free != b.free or a.variables != b.variables:
            return False
        return a == b or with_canonical_symbols(a) == with_canonical_symbols(b)

    kept: list[Expression] = []
    for factor in above:
        position = next((i for i, divisor in enumerate(below) if is_equal(factor, divisor)), None)
        if position is None:
            kept.append(factor)
        else:
            below = below[:position] + below[position + 1 :]
    return kept, below


def _merged(factors: list[Expression]) -> list[Expression]:
    """P(a | b, c) P(b | c) = P(a, b | c), as often as it goes."""
    by_condition = {frozenset(f.given): place for place, f in enumerate(factors) if isinstance(f, Probability)}
    for place, inner in enumerate(factors):
        if not isinstance(inner, Probability):
            continue
        other = by_condition.get(frozenset((*inner.outcome, *inner.given)))
        outer = None if other is None else factors[other]
        if isinstance(outer, Probability):
            merged = Probability((*inner.outcome, *outer.outcome), inner.given)
            rest = [f for position, f in enumerate(factors) if position not in (place, other)]
            return _merged([merged, *rest])
    return factors


def _summed(over: list[Symbol], term: _Term) -> _Term:
    """Σ of a reduced term: sums that come to one go, the rest of it stands behind as few sums as need be."""
    above, below = term
    place = 0
    while place < len(over):
        # Where one factor alone has the symbol, and not below, the sum over it can go into that factor.
        symbol = over[place]
        touched = [factor for factor in (*above, *below) if symbol in factor.free]
        factor = touched[0] if len(touched) == 1 and not any(symbol in each.free for each in below) else None
        if isinstance(factor, Sum):
            inner = _summed([symbol, *factor.over], _reduced(factor.body))
        elif isinstance(factor, Probability) and symbol in factor.outcome:
            outcome = tuple(other for other in factor.outcome if other != symbol)
            inner = _Term([Probability(outcome, factor.given)] if outcome else [], [])
        else:
            place += 1
            continue
        over.remove(symbol)
        rest = [f for f in above if f is not factor]
        (above, below), place = _settled([*inner.above, *rest], [*inner.below, *below]), 0
    if not over:
        return _settled(above, below)
    unbound = [[f for f in factors if f.free.isdisjoint(over)] for factors in (above, below)]
    sums: list[Expression] = []
    for symbols in _groups(over, [f for f in (*above, *below) if not f.free.isdisjoint(over)]):
        body = _Term(*([f for f in factors if not f.free.isdisjoint(symbols)] for factors in (above, below))).expression
        sums.append(Sum((*symbols, *body.over), body.body) if isinstance(body, Sum) else sum_over(symbols, body))
    return _settled([*unbound[0], *sums], unbound[1])


def _groups(over: Iterable[Symbol], factors: Iterable[Expression]) -> list[list[Symbol]]:
    """The bound symbols, parted where no chain of factors joins them."""
    groups = [{symbol} for symbol in over]
    for factor in factors:
        met = [group for group in groups if not group.isdisjoint(factor.free)]
        if len(met) > 1:
            groups = [group for group in groups if group not in met] + [set().union(*met)]
    order = list(over)
    return sorted((sorted(group, key=order.index) for group in groups), key=lambda group: order.index(group[0]))


def with_canonical_symbols(expression: Expression) -> Expression:
    """The same expression, each bound symbol with as few primes as tell it from free ones and from those around it."""
    return _renamed(expression, {}, expression.free)


def _renamed(expression: Expression, names: Mapping[Symbol, Symbol], taken: frozenset[Symbol]) -> Expression:
    if isinstance(expression, Probability):
        return Probability(_symbols(expression.outcome, names), _symbols(expression.given, names))
    if isinstance(expression, Sum):
        fresh: dict[Symbol, Symbol] = {}
        for symbol in expression.over:
            primes = 0
            while (candidate := Symbol(symbol.variable, primes)) in taken:
                primes += 1
            fresh[symbol] = candidate
            taken |= {fresh[symbol]}
        return Sum(tuple(fresh.values()), _renamed(expression.body, {**names, **fresh}, taken))
    if isinstance(expression, Quotient):
        return Quotient(_renamed(expression.above, names, taken), _renamed(expression.below, names, taken))

    # Probabilities by the number of their conditions, then quotients, then sums.
    def rank(factor: Expression) -> tuple[int, int]:
        if isinstance(factor, Probability):
            return 0, -len(factor.given)
        return (2, 0) if isinstance(factor, Sum) else (1, 0)

    return Product(tuple(sorted((_renamed(part, names, taken) for part in expression.parts), key=rank)))


def _symbols(symbols: Iterable[Symbol], names: Mapping[Symbol, Symbol]) -> tuple[Symbol, ...]:
    return tuple(sorted((names.get(symbol, symbol) for symbol in symbols), key=lambda symbol: symbol.primes))
