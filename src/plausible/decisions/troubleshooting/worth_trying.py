"""The cheapest order in which to try parts, and which of them to try before calling for service: on plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Flags, Floats
from plausible.inference.optimization.minimum_cut import minimum_cut

__all__ = ["Trials", "TryOrder", "best_order", "costs_without_each", "order_cost"]

Ints = npt.NDArray[np.intp]

_ROUNDING = 1e-10


class Trials(NamedTuple):
    """What it is like to try each of some parts, as arrays.

    Attributes
    ----------
    chances
        p_i, the probability that part i is the fault.
    looks, repairs
        What part i costs to try, and what more where it is the fault.
    blind
        What it costs to replace part i without a look; infinite where that is no choice.
    """

    chances: Floats
    looks: Floats
    repairs: Floats
    blind: Floats

    def ordered(self, order: Ints) -> Trials:
        """Some of the parts, in an order."""
        return Trials(*(part[order] for part in self))


class TryOrder(NamedTuple):
    """Positions of the parts to try, in order, and the expected cost of it all."""

    order: Ints
    cost: float


def order_cost(trials: Trials, order: Ints, call: float, mass: float = 1.0) -> float:
    """Σ_i m_i look_i + p_i repair_i along an order, m_i = mass - Σ_{j<i} p_j, and the call for what is left after it.

    Where it is cheaper, m_i blind_i takes the place of a term.

    Parameters
    ----------
    trials
        The parts.
    order
        Positions of those that are tried.
    call
        What is paid where none of them is the fault.
    mass
        The probability that the order is begun at all.
    """
    is_tried = np.ones((1, len(order)), dtype=bool)
    return float(_costs(trials.ordered(order), is_tried, call, np.array([mass]))[0])


def best_order(trials: Trials, call: float | None) -> TryOrder:
    """The order of least `order_cost`: by falling p / look, and without the parts that a call is better than.

    Exchanging neighbours i, j changes the cost by p_i look_j - p_j look_i, whatever else is tried: hence the order. In
    that order the cost of trying a set of parts is Σ a_i - Σ_{j before i} look_i p_j, where
    a_i = mass look_i + p_i (repair_i - call); every pair makes each other cheaper, so a minimum cut finds the best set.
    O(n log n) without a call, and nearly always with one. Blind replacements are taken where they are cheaper in this
    order, which they don't change.
    """
    order = _by_ratio(trials)
    ordered, masses = trials.ordered(order), np.ones(1)
    is_tried = _worth_trying(ordered, np.ones((1, len(order)), dtype=bool), call, masses)
    return TryOrder(order[is_tried[0]], float(_costs(ordered, is_tried, call or 0.0, masses)[0]))


def costs_without_each(trials: Trials, call: float | None) -> Floats:
    """For each part i, the least `order_cost` of all others, begun with the probability 1 - p_i that i is no fault."""
    order = _by_ratio(trials)
    ordered = trials.ordered(order)
    masses, is_other = 1.0 - ordered.chances, ~np.eye(len(order), dtype=bool)
    is_tried = _worth_trying(ordered, is_other, call, masses)
    costs = np.empty(len(order))
    costs[order] = _costs(ordered, is_tried, call or 0.0, masses)
    return costs


def _by_ratio(trials: Trials) -> Ints:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(trials.looks > 0, trials.chances / trials.looks, np.inf)
    return np.argsort(-ratios, kind="stable")


def _costs(trials: Trials, is_tried: Flags, call: float, masses: Floats) -> Floats:
    """`order_cost` for each row of flags, which says what is tried of the parts in their order."""
    chances, looks, repairs, blind = trials
    found = np.cumsum(is_tried * chances, axis=1)
    left = masses[:, None] - np.concatenate([np.zeros((len(is_tried), 1)), found], axis=1)
    reached = np.maximum(left[:, :-1], 0.0)
    replaced = np.where(np.isfinite(blind), reached, 1.0) * blind  # 0 * inf is no number
    paid = np.minimum(reached * looks + chances * repairs, replaced)
    total: Floats = np.where(is_tried, paid, 0.0).sum(axis=1) + left[:, -1] * call
    return total


def _worth_trying(trials: Trials, is_allowed: Flags, call: float | None, masses: Floats) -> Flags:
    """For each row, which of the allowed parts are better tried than left to a call: all where there is none."""
    if call is None:
        return is_allowed
    chances, looks, repairs, _ = trials
    alone = masses[:, None] * looks + chances * (repairs - call)
    helped = np.tril(np.outer(looks, chances), -1)
    return _cheapest_sets(np.where(is_allowed, alone, np.inf), helped + helped.T)


def _cheapest_sets(alone: Floats, helped: Floats) -> Flags:
    """Which x minimises Σ alone_i x_i - Σ_{i<j} helped_ij x_i x_j in each row; `helped` is symmetric, not negative."""
    taken, left_out = np.zeros(alone.shape, dtype=bool), np.isinf(alone)
    while True:
        # What pays with those that surely pay does so in any best set; what does not with all the others, in none.
        now_taken = alone - taken @ helped <= 0
        now_out = alone - ~left_out @ helped > 0
        if np.array_equal(now_taken, taken) and np.array_equal(now_out, left_out):
            break
        taken, left_out = now_taken, now_out
    for row in np.flatnonzero((~taken & ~left_out).any(axis=1)):
        open_ones = np.flatnonzero(~taken[row] & ~left_out[row])
        price = (alone[row] - helped @ taken[row])[open_ones]
        taken[row, open_ones] = _cut(price, helped[np.ix_(open_ones, open_ones)])
    return taken


def _cut(alone: Floats, helped: Floats) -> Flags:
    """The same by a minimum cut: -h x y = -h x + h x (1 - y), the second an arc that a cut between them pays."""
    first, second = np.triu_indices(len(alone), 1)
    weights = helped[first, second]
    price = alone - np.bincount(first, weights, len(alone))
    # The proof of a cut is absolute, so costs come in units of the largest, and rounding errors are no prices.
    unit = max(float(np.abs(price).max()), float(weights.max(initial=0.0)))
    price, weights = np.where(np.abs(price) < _ROUNDING * unit, 0.0, price / unit), weights / unit
    arcs = np.stack([first, second], axis=1).astype(np.int64)
    cut = minimum_cut(np.maximum(-price, 0.0), np.maximum(price, 0.0), arcs, weights, np.zeros(len(weights)))
    return ~cut.is_sink_side
