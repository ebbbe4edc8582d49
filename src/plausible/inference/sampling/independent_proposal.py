"""Proposals of whole assignments, each variable drawn from an engine's belief about it."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.inference.approximate import ApproximateEngine
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_starts import possible_states
from plausible.kernels.gibbs import accept_in_turn

__all__ = ["accepted_places", "drawn_independently", "independent_guide", "log_density"]


#: This part of each draw is uniform over the states that are possible: a belief of zero may be wrong.
_UNIFORM_SHARE = 0.02


def independent_guide(problem: Problem, engine: ApproximateEngine) -> Floats:
    """The distribution q_v to draw each variable from, one after the other: 0.98 of the belief, the rest uniform."""
    beliefs = engine.beliefs(problem, [(place,) for place in range(len(problem.variables))]).tables
    domains = possible_states(problem)
    rows = [
        (1 - _UNIFORM_SHARE) * belief * domain / max((belief * domain).sum(), 1e-300)
        + _UNIFORM_SHARE * domain / domain.sum()
        for belief, domain in zip(beliefs, domains, strict=True)
    ]
    return np.concatenate([*(row / row.sum() for row in rows), np.zeros(0)])


def drawn_independently(problem: Problem, guide: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
    """(*shape, variables): assignments with every variable drawn from its part of the guide."""
    states = np.empty((*shape, len(problem.sizes)), dtype=np.int64)
    for place, row in enumerate(_rows(problem, guide)):
        levels = np.cumsum(row)
        # Zeros at the end are as high as what is before them, so that no number below one reaches them.
        states[..., place] = np.searchsorted(levels / levels[-1], rng.random(shape), side="right")
    return states


def log_density(problem: Problem, guide: Floats, states: Ints) -> Floats:
    """log Π q_v(x_v) of each row of states; -inf for states that are never drawn."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(guide)[_starts(problem)[:-1] + states].sum(axis=1))


def accepted_places(log_weights: Floats, levels: Floats) -> Ints:
    """Which candidate each chain is at after each proposal, by Metropolis' rule for proposals that are independent.

    Parameters
    ----------
    log_weights
        (chains, proposals + 1): log P(x) / q(x), up to a constant, of the start and of each candidate.
    levels
        (chains, proposals): logarithms of uniform numbers.

    Returns
    -------
    array
        (chains, proposals): columns of `log_weights`.

    Examples
    --------
    >>> accepted_places(np.log([[1.0, 0.1, 2.0, 1.5]]), np.log([[0.5, 0.9, 0.6]]))
    array([[0, 2, 3]])
    """

    places = np.zeros(levels.shape, dtype=np.int64)
    accept_in_turn(log_weights, levels, places)
    return places


def _starts(problem: Problem) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(problem.sizes)])


def _rows(problem: Problem, guide: Floats) -> list[Floats]:
    starts = _starts(problem)
    return np.split(guide, starts[1:-1]) if len(problem.sizes) else []
