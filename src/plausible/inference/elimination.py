"""Sum-product variable elimination over factors: small, plain, and the yardstick for faster engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor, product
from plausible.variables import Evidence

__all__ = ["absorb", "eliminate", "greedy_order", "sum_product"]


def eliminate(factors: Sequence[Factor], variable: str) -> list[Factor]:
    """Sum-product elimination of one variable (Koller & Friedman 2009, algorithm 9.1)."""
    touching = [factor for factor in factors if variable in factor.names]
    untouched = [factor for factor in factors if variable not in factor.names]
    return [*untouched, product(touching).marginalize(variable)] if touching else untouched


def greedy_order(scopes: Iterable[Iterable[str]], variables: Iterable[str], sizes: Mapping[str, int]) -> list[str]:
    """An order in which each step builds the smallest table (min-weight), ties by the order of `variables`.

    >>> greedy_order([["A", "B"], ["B", "C"], ["B", "D"]], ["A", "B", "C", "D"], dict(A=2, B=2, C=2, D=2))
    ['A', 'C', 'B', 'D']
    """
    neighbors: dict[str, set[str]] = {}
    for scope in map(set, scopes):
        for name in scope:
            neighbors.setdefault(name, set()).update(scope - {name})
    waiting = dict.fromkeys(variables)
    weights = {name: prod(sizes[other] for other in neighbors.get(name, ())) * sizes[name] for name in waiting}
    order: list[str] = []
    while waiting:
        best = min(waiting, key=weights.__getitem__)
        del waiting[best]
        order.append(best)
        around = neighbors.pop(best, set())
        for name in around:
            neighbors[name] |= around - {name}
            neighbors[name].discard(best)
        for name in around & waiting.keys():
            weights[name] = prod(sizes[other] for other in neighbors[name]) * sizes[name]
    return order


def absorb(factors: Iterable[Factor], evidence: Evidence) -> list[Factor]:
    """Reduce the factors to what is observed, and add a factor for each soft finding."""
    if evidence.jeffrey or evidence.values:
        raise NotSupported("Variable elimination takes states, collections of states and likelihoods as evidence.")
    listed = list(factors)
    variables = {variable.name: variable for factor in listed for variable in factor.scope}
    hard = {name: (variables[name].states or ())[i] for name, i in evidence.hard.items() if name in variables}
    soft = [Factor((variables[name],), weights) for name, weights in evidence.soft.items()]
    return [factor.reduce(hard) for factor in (*listed, *soft)]


def sum_product(
    factors: Iterable[Factor], targets: Sequence[str], order: Sequence[str] | None = None
) -> tuple[Factor, float]:
    """Σ over all variables but `targets` of the product of the factors.

    Returns the factor over `targets`, scaled to a largest entry of one, and the natural logarithm of the scale, so that
    products far below the smallest float come out right.
    """
    remaining = list(factors)
    sizes = {variable.name: variable.num_states for factor in remaining for variable in factor.scope}
    if order is None:
        hidden = [name for name in sizes if name not in set(targets)]
        order = greedy_order((factor.names for factor in remaining), hidden, sizes)
    log_scale = 0.0
    for name in order:
        remaining = eliminate(remaining, name)
        remaining[-1], shift = _rescaled(remaining[-1])
        log_scale += shift
    answer, shift = _rescaled(product(remaining).reorder(targets))
    return answer, log_scale + shift


def _rescaled(factor: Factor) -> tuple[Factor, float]:
    peak = max(factor.max(), -factor.min())
    if peak == 0:
        raise ImpossibleEvidence("The evidence has probability zero: no assignment to the other variables allows it.")
    return factor / peak, float(np.log(peak))
