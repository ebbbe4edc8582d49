"""Summing variables out of a chain of conditional distributions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from plausible.causal.expressions.simplification import simplify
from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.tree import Expression, Quotient, product_of, sum_over

__all__ = ["Link", "Marginal", "marginalized"]


class Link(NamedTuple):
    """A variable and its conditional distribution given those before it."""

    symbol: Symbol
    factor: Expression


@dataclass(frozen=True, slots=True)
class Marginal:
    """The marginal distribution: its links, and the whole of it without the quotients that these may need."""

    links: tuple[Link, ...]
    joint: Expression


@dataclass(frozen=True, slots=True)
class _Group:
    """Factors that variables to be summed out tie together.

    Attributes
    ----------
    gone
        These variables.
    factors
        In the chain's order.
    total
        The sum over `gone`, as of the last variable that stays: what came later sums to one. None stands for one.
    """

    gone: tuple[Symbol, ...] = ()
    factors: tuple[Expression, ...] = ()
    total: Expression | None = None


def marginalized(links: Sequence[Link], kept: frozenset[Symbol]) -> Marginal:
    """The chain of the kept variables, with all others summed out.

    A variable whose distribution depends on none that goes keeps it. That of another one becomes the quotient of two
    sums: over all factors that it is tied to by what goes, with its own and without. Each is simplified at once, to
    stay short when it is summed over again. A variable that no later factor depends on goes with its factor.

    Parameters
    ----------
    links
        The chain.
    kept
        The variables that stay.
    """
    needed = _without_barren(links, kept)
    gone = frozenset(link.symbol for link in needed).difference(kept)
    groups: list[_Group] = []
    found: list[Link] = []
    free: list[Expression] = []
    for symbol, factor in needed:
        tied = [group for group in groups if not factor.free.isdisjoint(group.gone)]
        if symbol in gone:
            groups = [*_others(groups, tied), _joined(tied, symbol, factor)]
        elif tied:
            group, conditional = _conditioned(tied, factor)
            groups = [*_others(groups, tied), group]
            found.append(Link(symbol, conditional))
        else:
            free.append(factor)
            found.append(Link(symbol, factor))
    return Marginal(tuple(found), product_of([*free, *_totals(groups)]))


def _without_barren(links: Sequence[Link], kept: frozenset[Symbol]) -> list[Link]:
    needed: set[Symbol] = set(kept)
    found: list[Link] = []
    for link in reversed(links):
        if link.symbol in needed:
            needed |= link.factor.free
            found.append(link)
    return found[::-1]


def _others(groups: Iterable[_Group], tied: Sequence[_Group]) -> list[_Group]:
    return [group for group in groups if all(group is not other for other in tied)]


def _joined(tied: Sequence[_Group], symbol: Symbol, factor: Expression) -> _Group:
    """One group of them all and of a variable that goes: its factor sums to one as long as nothing depends on it."""
    totals = _totals(tied)
    gone = (*(other for group in tied for other in group.gone), symbol)
    factors = (*(other for group in tied for other in group.factors), factor)
    return _Group(gone, factors, product_of(totals) if totals else None)


def _conditioned(tied: Sequence[_Group], factor: Expression) -> tuple[_Group, Expression]:
    """One group of them all with the factor of a variable that stays, and the variable's new distribution."""
    gone = tuple(other for group in tied for other in group.gone)
    factors = (*(other for group in tied for other in group.factors), factor)
    total = simplify(sum_over(gone, product_of(factors)))
    before = _totals(tied)
    return _Group(gone, factors, total), simplify(Quotient(total, product_of(before))) if before else total


def _totals(groups: Iterable[_Group]) -> list[Expression]:
    return [group.total for group in groups if group.total is not None]
