"""Weights of the greatest margin: the truth wins over each labelling by as many labels as that has wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import NotSupported
from plausible.learn.labelling.chains import Chains
from plausible.learn.labelling.likelihood import LabelledTokens
from plausible.learn.labelling.training import Trained, begun, refuse_untold
from plausible.learn.undirected.mixtures_of_planes import best_mixture
from plausible.learn.undirected.priors import Penalty
from plausible.search.run import CONVERGED, Run, Stops, iterate


class MarginState(NamedTuple):
    """The planes found so far: the loss is at least `losses[k] - planes[k] @ θ`, for each of them."""

    num_steps: int
    point: Floats  # the weights
    planes: Floats  # rows are sums of the features of the truth less those of labellings, a number for each weight
    products: Floats  # of each two planes, each number over the precision of its weight
    losses: Floats  # how many labels these have wrong
    shares: Floats  # of the planes: the weights are the precisions' inverse times the planes, in these shares
    best_weights: Floats  # those of the least objective
    upper: float  # that objective
    lower: float  # no weights have a lesser one


def widen_margin(data: LabelledTokens, penalty: Penalty, stops: Stops, resume: Any = None) -> Trained:
    """Minimise Σ p θ²/2 + Σ_s w_s max_y (Hamming(y, y_s) + θ·(f(y) - f(y_s))) by cutting planes.

    A step finds the worst labelling of each sequence, a best one with the loss added to the scores, and adds one plane
    for all of them; then weights are the best for all planes, a small quadratic program. It has converged where the
    gap between the least objective so far and the bound by planes is at most the tolerance, relative to it.

    References
    ----------
    Joachims, Finley & Yu (2009), Cutting-plane training of structural SVMs.
    """
    refuse_untold(data, "margin")
    if not penalty.is_smooth or penalty.tails.any() or not (penalty.precisions > 0).all():
        raise NotSupported("method='margin' needs a GaussianPrior of all weights: its inverse variance is that of C.")
    observed, nothing = data.observed(), np.zeros(data.layout.num_weights)

    def objective(state: MarginState) -> float:
        return -state.upper

    def step(state: MarginState) -> MarginState:
        plane, loss = _worst(data, observed, state.point)
        value = max(loss - float(plane @ state.point), 0.0) - penalty.smooth(state.point)[0]
        is_better = value < state.upper
        upper, best = (value, state.point) if is_better else (state.upper, state.best_weights)
        planes, losses = np.vstack([state.planes, plane]), np.append(state.losses, loss)
        products = np.pad(state.products, (0, 1))
        products[-1] = products[:, -1] = planes @ (plane / penalty.precisions)
        shares = best_mixture(products, losses, np.append(state.shares, 0.0))
        lower = max(state.lower, float(shares @ losses - 0.5 * shares @ products @ shares))
        kept = np.union1d([0], np.flatnonzero(shares))  # the truth's own plane, all zeros, is always one of them
        if kept.size < len(shares):
            planes, products, losses, shares = planes[kept], products[np.ix_(kept, kept)], losses[kept], shares[kept]
        weights = shares @ planes / penalty.precisions
        return MarginState(state.num_steps + 1, weights, planes, products, losses, shares, best, upper, lower)

    def ends(state: MarginState) -> str:
        return CONVERGED if state.upper - state.lower <= stops.tolerance * max(1.0, abs(state.upper)) else ""

    worst = _worst(data, observed, nothing)[1]
    start = MarginState(0, nothing, nothing[None, :], np.zeros((1, 1)), np.zeros(1), np.ones(1), nothing, worst, 0.0)
    run: Run[MarginState] = iterate(step, begun(start, resume), stops, ends=ends, objective=objective)
    return Trained(run.state.best_weights, run, max(0.0, run.state.upper - run.state.lower))


def _worst(data: LabelledTokens, observed: Floats, weights: Floats) -> tuple[Floats, float]:
    """Sums of features of the truth less those of the worst labellings, and how many labels these have wrong."""
    chains, truth = data.chains(weights), data.allowed
    augmented = Chains(chains.starts, chains.scores + ~truth, chains.transitions, chains.threads)
    states = augmented.best()[0][0]
    loss = data.token_shares @ (states != data.labels.codes)
    return observed - data.observed_of(states), float(loss)
