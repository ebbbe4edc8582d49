"""Max-product variable elimination with traceback: small, plain, and the yardstick for faster engines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plausible.base.remedies import Remedy
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.inference.elimination import log_marginalize
from plausible.inference.info import QueryInfo
from plausible.inference.map_orders import MaxOrder, constrained_order
from plausible.variables import Assignment


@dataclass(frozen=True, slots=True)
class MaxTables:
    """What a max-sum elimination leaves behind: enough to read off best assignments."""

    #: For each maximised variable, in the order in which they went, ψ: the logarithm of the best product over all that
    #: went before, as a function of the variable, which is the last axis, and of variables that went later.
    tables: tuple[Factor, ...]
    log_value: float  # The logarithm of the largest product; -inf where all are zero
    info: QueryInfo  # The cost

    def best(self) -> dict[str, int]:
        """Name -> position of the state, in a best assignment: variables are set in reverse, each to its first best."""
        states: dict[str, int] = {}
        for table in reversed(self.tables):
            *others, variable = table.scope
            row = 0
            for other in others:
                row = row * other.num_states + states[other.name]
            start = row * variable.num_states
            states[variable.name] = int(table.flat[start : start + variable.num_states].argmax())
        return states


def max_product(
    factors: Iterable[Factor], order: Sequence[str] | None = None, max_entries: int = MAX_ENTRIES
) -> Assignment:
    """argmax Π φ by eliminating one variable after the other with max, then decoding in reverse.

    The products are sums of logarithms, so that nothing underflows. Koller & Friedman 2009, algorithms 13.1 and 13.2.

    Parameters
    ----------
    factors
        Factors without negative entries.
    order
        All their variables in the order in which to eliminate them; greedy where left out.
    max_entries
        An order whose tables together have more entries is refused, before any work is done.

    Returns
    -------
    Assignment
        Its `log_probability` is log max Π φ. Where several assignments are best, variables are decoded in reverse of
        the order, and each takes the first of its best states: the same factors and order give the same answer.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment has a positive product.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.4, 0.6])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.5, 0.5]])
    >>> best = max_product([coin, call])
    >>> best, round(math.exp(best.log_probability), 6)
    (Assignment(coin='heads', call='right'), 0.36)
    """
    logs = read_log_factors(factors)
    variables = {variable.name: variable for factor in logs for variable in factor.scope}
    plan = constrained_order(logs, variables, order)
    plan.check(max_entries, [Remedy("give another order"), Remedy("give more evidence")])
    run = max_tables(logs, plan)
    if run.log_value == -math.inf:
        raise ImpossibleEvidence("No assignment has a positive product: there is no best one.")
    states = run.best()
    named = {name: variable.states[states[name]] for name, variable in variables.items()}
    return Assignment(named, log_probability=run.log_value)


def read_log_factors(factors: Iterable[Factor]) -> list[Factor]:
    """The factors as logarithms."""
    return [factor.log() for factor in factors]


def max_tables(log_factors: Sequence[Factor], order: MaxOrder) -> MaxTables:
    """max over some variables of Σ over the others of Π φ, on logarithms, keeping the tables of the maxima.

    Parameters
    ----------
    log_factors
        Logarithms of factors.
    order
        For all their variables, as `constrained_order` makes it.
    """
    rank = {name: place for place, name in enumerate((*order.sums, *order.maxima))}
    buckets: list[list[Factor]] = [[] for _ in range(len(rank) + 1)]
    tables: list[Factor] = []
    for factor in log_factors:
        buckets[_first(factor, rank)].append(factor)
    for place, name in enumerate(rank):
        total = sum(buckets[place], start=Factor.scalar(0.0))
        buckets[place] = []
        if place < len(order.sums):
            message = log_marginalize(total, name)
        else:
            tables.append(total.reorder([*(other for other in total.names if other != name), name]))
            message = tables[-1].maximize(name)
        buckets[_first(message, rank)].append(message)
    value = math.fsum(factor.sum() for factor in buckets[-1])
    info = QueryInfo(engine="max-product elimination", cost=order.cost, largest_table=order.largest_table)
    return MaxTables(tuple(tables), value, info)


def _first(factor: Factor, rank: Mapping[str, int]) -> int:
    """The place of the variable of the factor that goes first."""
    return min((rank[name] for name in factor.names), default=len(rank))
