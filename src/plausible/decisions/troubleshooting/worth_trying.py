"""The cheapest order in which to try parts, and which of them to try before calling for service: on plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.inference.optimization.minimum_cut import minimum_cut

__all__ = ["Trials", "TryOrder", "best_order", "order_cost"]

Floats = npt.NDArray[np.float64]
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

    def without(self, place: int) -> Trials:
        """All parts but one."""
        return Trials(*(np.delete(part, place) for part in self))


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
    chances, looks, repairs, blind = (part[order] for part in trials)
    left = mass - np.concatenate([[0.0], np.cumsum(chances)])
    reached = np.maximum(left[:-1], 0.0)
    replaced = np.where(np.isfinite(blind), reached, 1.0) * blind  # 0 * inf is no number
    paid = np.minimum(reached * looks + chances * repairs, replaced)
    return float(paid.sum() + left[-1] * call)


def best_order(trials: Trials, call: float | None, mass: float = 1.0) -> TryOrder:
    """The order of least `order_cost`: by falling p / look, and without the parts that a call is better than.

    Exchanging neighbours i, j changes the cost by p_i look_j - p_j look_i, whatever else is tried: hence the order. In
    that order the cost of trying a set of parts is Σ a_i - Σ_{j before i} look_i p_j, where
    a_i = mass look_i + p_i (repair_i - call); every pair makes each other cheaper, so a minimum cut finds the best set.
    O(n log n) without a call, and nearly always with one. Blind replacements are taken where they are cheaper in this
    order, which they don't change.
    """
    chances, looks, repairs, _ = trials
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(looks > 0, chances / looks, np.inf)
    order = np.argsort(-ratios, kind="stable")
    if call is None:
        return TryOrder(order, order_cost(trials, order, 0.0, mass))
    alone = mass * looks[order] + chances[order] * (repairs[order] - call)
    helped = np.tril(np.outer(looks[order], chances[order]), -1)
    order = order[_cheapest_set(alone, helped + helped.T)]
    return TryOrder(order, order_cost(trials, order, call, mass))


def _cheapest_set(alone: Floats, helped: Floats) -> npt.NDArray[np.bool_]:
    """Which x minimises Σ alone_i x_i - Σ_{i<j} helped_ij x_i x_j, `helped` being symmetric and not negative."""
    taken, left_out = np.zeros(len(alone), dtype=bool), np.zeros(len(alone), dtype=bool)
    while True:
        # What pays with those that surely pay does so in any best set; what does not with all the others, in none.
        now_taken = alone - helped @ taken <= 0
        now_out = alone - helped @ ~left_out > 0
        if np.array_equal(now_taken, taken) and np.array_equal(now_out, left_out):
            break
        taken, left_out = now_taken, now_out
    open_ones = np.flatnonzero(~taken & ~left_out)
    if open_ones.size:
        taken[open_ones] = _cut((alone - helped @ taken)[open_ones], helped[np.ix_(open_ones, open_ones)])
    return taken


def _cut(alone: Floats, helped: Floats) -> npt.NDArray[np.bool_]:
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
