"""Weights of the greatest margin: the truth wins over each labelling by as many labels as that has wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import NotSupported
from plausible.learn.labelling.chains import Chains
from plausible.learn.labelling.likelihood import LabelledTokens
from plausible.learn.labelling.training import Trained, refuse_untold
from plausible.learn.undirected.priors import Penalty
from plausible.search.run import CONVERGED, Run, Stops, iterate


class MarginState(NamedTuple):
    """The planes found so far: the loss is at least `losses[k] - planes[k] @ θ`, for each of them."""

    planes: tuple[Floats, ...]  # sums of the features of the truth less those of labellings, a number for each weight
    products: Floats  # of each two planes, each number over the precision of its weight
    losses: Floats  # how many labels these have wrong
    shares: Floats  # of the planes: the weights are the precisions' inverse times the planes, in these shares
    weights: Floats
    best_weights: Floats  # those of the least objective
    upper: float  # that objective
    lower: float  # no weights have a lesser one


def widen_margin(data: LabelledTokens, penalty: Penalty, stops: Stops) -> Trained:
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
        plane, loss = _worst(data, observed, state.weights)
        value = max(loss - float(plane @ state.weights), 0.0) - penalty.smooth(state.weights)[0]
        is_better = value < state.upper
        upper, best = (value, state.weights) if is_better else (state.upper, state.best_weights)
        planes, losses = (*state.planes, plane), np.append(state.losses, loss)
        last = np.array([plane / penalty.precisions @ other for other in planes])
        products = np.pad(state.products, (0, 1))
        products[-1], products[:, -1] = last, last
        enough = 0.01 * stops.tolerance * max(1.0, upper)
        shares = best_shares(products, losses, np.append(state.shares, 0.0), enough)
        lower = max(state.lower, float(shares @ losses - 0.5 * shares @ products @ shares))
        kept = np.flatnonzero(shares)
        weights = sum((shares[place] * planes[place] for place in kept), nothing) / penalty.precisions
        left = tuple(planes[place] for place in kept), products[np.ix_(kept, kept)], losses[kept], shares[kept]
        return MarginState(*left, weights, best, upper, lower)

    def ends(state: MarginState) -> str:
        return CONVERGED if state.upper - state.lower <= stops.tolerance * max(1.0, abs(state.upper)) else ""

    worst = _worst(data, observed, nothing)[1]
    start = MarginState((), np.zeros((0, 0)), np.zeros(0), np.zeros(0), nothing, nothing, worst, 0.0)
    run: Run[MarginState] = iterate(step, start, stops, ends=ends, objective=objective)
    return Trained(run.state.best_weights, run, max(0.0, run.state.upper - run.state.lower))


def _worst(data: LabelledTokens, observed: Floats, weights: Floats) -> tuple[Floats, float]:
    """Sums of features of the truth less those of the worst labellings, and how many labels these have wrong."""
    chains, truth = data.chains(weights), data.allowed
    augmented = Chains(chains.starts, chains.scores + ~truth, chains.transitions, chains.threads)
    states = augmented.best()[0][0]
    loss = data.token_shares @ (states != data.labels.codes)
    return observed - data.observed_of(states), float(loss)


def best_shares(products: Floats, losses: Floats, start: Floats, enough: float) -> Floats:
    """Shares of planes, with a sum of at most one, that maximise losses·s - s·products·s/2, but for at most `enough`.

    The plane that is above all (no features, no loss) has what is left. A step moves share from the worst plane that
    has some to the best one, as far as that helps.

    >>> best_shares(np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([2.0, 0.5]), np.zeros(2), 1e-9).round(6).tolist()
    [0.5, 0.5]
    """
    shares = np.append(start, 1.0 - start.sum())
    padded, gains = np.pad(products, (0, 1)), np.append(losses, 0.0)
    slopes = gains - padded @ shares
    for _ in range(1000 * len(shares)):  # numbers that are exhausted end it, too
        has_some = np.flatnonzero(shares > 0)
        best, worst = int(np.argmax(slopes)), int(has_some[np.argmin(slopes[has_some])])
        gap = slopes[best] - slopes[worst]
        if gap <= max(enough, 1e-13 * float(np.abs(gains).max())):
            break
        curvature = padded[best, best] + padded[worst, worst] - 2 * padded[best, worst]
        moved = min(shares[worst], gap / curvature if curvature > 0 else np.inf)
        shares[best] += moved
        shares[worst] = 0.0 if moved == shares[worst] else shares[worst] - moved
        slopes -= moved * (padded[:, best] - padded[:, worst])
    return np.asarray(shares[:-1])
