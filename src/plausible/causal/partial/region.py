"""Sampling noise: the response types that show something within a confidence region of what is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.partial.constraints import Polytope, assembled, scope_of
from plausible.causal.partial.district import District
from plausible.causal.partial.source import Observed
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph

__all__ = ["binomial_interval", "confidence_polytope", "joint_intervals"]


def binomial_interval(successes: Floats, trials: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Clopper & Pearson's interval for a probability, which covers it with probability 1 - alpha or more.

    Parameters
    ----------
    successes, trials
        Counts; without trials the interval is [0, 1].
    alpha
        How often it may miss.

    Examples
    --------
    >>> low, high = binomial_interval(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.1871]), array([0.3085, 0.8129]))
    """
    from scipy.special import betaincinv

    failures = trials - successes
    low, high = np.zeros_like(successes), np.ones_like(successes)
    some, not_all = successes > 0, failures > 0
    low[some] = betaincinv(successes[some], failures[some] + 1.0, alpha / 2.0)
    high[not_all] = betaincinv(successes[not_all] + 1.0, failures[not_all], 1.0 - alpha / 2.0)
    return low, high


def confidence_polytope(graph: CausalGraph, district: District, observed: Observed, level: float) -> Polytope:
    """The types that show, in each cell, a probability within its interval.

    The intervals hold all at once with probability `level` or more (Clopper & Pearson, with Bonferroni's correction).
    Where the outside parents are no effects of members, the cells are those of P(members | outside), else the products
    of the intervals of each member's conditional.
    """
    if not observed.is_sample:
        raise InvalidArgument("confidence= allows for sampling noise, which a distribution has not; give data.")
    if not 0.0 < level < 1.0:
        raise InvalidArgument(f"confidence= is a probability such as 0.95, not {level!r}.")
    whole: tuple[int, Any, Floats, Floats] = (0, None, np.ones((1, 1)), np.ones((1, 1)))
    outside = {variable.name for variable in district.outside}
    if outside.isdisjoint(graph.descendants(district.names)):
        names = [*(variable.name for variable in district.outside), *district.names]
        counts = observed.tables(names).reshape(math.prod(v.num_states for v in district.outside), -1)
        low, high = joint_intervals(counts, level)
        return assembled(district, [whole, (len(district.names), None, low, high)])
    return assembled(district, [whole, *_products(graph, district, observed, 1.0 - level)])


def joint_intervals(counts: Floats, level: float) -> tuple[Floats, Floats]:
    """Intervals of P(cell | row) that hold all at once with probability `level` or more.

    Parameters
    ----------
    counts
        Rows × cells.
    level
        How often none of them may miss.
    """
    return _cells(counts, (1.0 - level) / _num_intervals(counts))


def _cells(counts: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Intervals of P(last | others) for each cell."""
    return binomial_interval(counts, np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape), alpha)


def _num_intervals(counts: Floats) -> int:
    """How many different intervals rows of counts have: of two cells, one interval is the other's mirror image."""
    num_rows, num_cells = int(np.count_nonzero(counts.sum(axis=-1))), int(counts.shape[-1])
    return max(1, num_rows * (num_cells if num_cells > 2 else num_cells - 1))


def _products(
    graph: CausalGraph, district: District, observed: Observed, alpha: float
) -> Sequence[tuple[int, Any, Floats, Floats]]:
    scopes = [scope_of(graph, district, place) for place in range(len(district.names))]
    tables = [observed.tables(names) for names in scopes]
    share = alpha / sum(_num_intervals(table) for table in tables)
    rows: list[tuple[int, Any, Floats, Floats]] = []
    low: Floats = np.ones([variable.num_states for variable in district.outside])
    high = low
    for place, (names, table) in enumerate(zip(scopes, tables, strict=True)):
        layout = [*district.outside, *(response.variable for response in district.responses[: place + 1])]
        shape = [variable.num_states if variable.name in names else 1 for variable in layout]
        below, above = (side.reshape(shape) for side in _cells(table, share))
        low, high = low[..., None] * below, high[..., None] * above
        rows.append((place + 1, None, low, high))
    return rows
