"""How far an objective may be from its best: what other distributions prove of a point on the way."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.learn.undirected.objectives import Objective
from plausible.learn.undirected.other_steps import information_matrix, quotient_inverse
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.penalized import Climb

#: What is left of a gradient is rounding where it is so small a part of it, or no more than noise in the means of rows.
_ROUNDING = 1e-7


def duality_gap(climbed: Climb[Objective], point: Floats) -> float:
    """An upper bound on what a concave objective with its prior may still gain; nan where it may have several maxima.

    The least of three bounds. No sum of log-probabilities is above 0. With Gaussian priors of precisions p nothing is
    gained beyond Σ g²/(2p), g the gradient. And the likelihood is at most what any distribution Q proves by its
    entropy, -M H(Q), plus what the prior makes of the moments that Q misses: Q is the model, tilted to the moments that
    are missing, P(x) (1 + λ·(f(x) - E f)), which near the top misses none and is as near as the model is to the best.
    """
    objective, penalty = climbed.objective, climbed.penalty
    if not objective.is_concave:
        return math.nan
    value, smooth = climbed.smooth(point)
    certain = -(value + penalty.sharp(point))
    bounds = [certain]
    gradient = penalty.steepest(point, smooth)
    if (penalty.precisions > 0).all():
        bounds.append(0.5 * float(gradient**2 @ (1 / penalty.precisions)))
    if len(objective.parts) == 1 and isinstance(objective.parts[0][1], TreePartition):
        bounds.append(_tilted_gap(climbed, objective.parts[0][1], point, smooth, certain))
    return max(0.0, min(bounds))


def _tilted_gap(climbed: Climb[Objective], tree: TreePartition, point: Floats, smooth: Floats, certain: float) -> float:
    """M D(Q; P) by the χ² divergence, and what the prior makes of the moments that Q misses; inf if Q is none."""
    objective, penalty = climbed.objective, climbed.penalty
    design, units = objective.design, climbed.units
    gradient = penalty.steepest(point, smooth)
    information = information_matrix(objective, point)
    tilt = quotient_inverse(information + np.diag(penalty.precisions), units) @ gradient
    added, (_, beliefs) = design.matrix @ tilt, tree.at(design.logs(point))
    lowest = np.zeros(design.num_entries)
    lowest[design.positions(tree.best(design.base - added)[1][None, :])[0]] = 1.0
    if (1 + design.components @ (added * (lowest - beliefs)) < 0).any():
        return math.inf
    left = gradient - information @ tilt
    return _with_what_is_left(climbed, point, smooth, left, float(tilt @ information @ tilt), certain)


def _with_what_is_left(
    climbed: Climb[Objective], point: Floats, smooth: Floats, left: Floats, gap: float, certain: float
) -> float:
    """The gap with what the prior makes of a part of the gradient that no distribution has: conjugates of its parts.

    Gaussian priors make r²/(2p) of it; those with kinks nothing but -θr, as long as the whole pull is within their
    rates: where it exceeds them a little, the distribution is mixed with that of the rows, which misses no moment.
    """
    penalty, units = climbed.penalty, climbed.units
    gradient = penalty.steepest(point, smooth)
    groups = penalty.group_rates[penalty.groups]
    is_held = penalty.precisions > 0
    is_kinked = ~is_held & (penalty.tails == 0) & ((penalty.rates > 0) != (groups > 0))
    rounding = max(_ROUNDING * np.abs(gradient / units).max(initial=0.0), PROBABILITY_NOISE * climbed.objective.total)
    if (np.abs(left / units)[~is_held & ~is_kinked] > rounding).any():
        return math.inf
    pull = np.where(is_kinked, smooth - gradient + left, 0.0)
    norms = np.sqrt(np.bincount(penalty.groups, pull**2, minlength=penalty.group_rates.size))[penalty.groups]
    sizes, rates = np.where(groups > 0, norms, np.abs(pull)), np.where(groups > 0, groups, penalty.rates)
    kept = float((rates[is_kinked] / np.maximum(sizes[is_kinked], rates[is_kinked])).min(initial=1.0))
    gap += 0.5 * float(left[is_held] ** 2 @ (1 / penalty.precisions[is_held])) - float(
        point[is_kinked] @ left[is_kinked]
    )
    return kept * gap + (1 - kept) * certain
