"""EM for mixtures: the step, and the best of several runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.em_runs import EMStops, best_run, sources_of_chance
from plausible.learn.mixtures.expectation import Expectation, expect, log_joint, log_prior
from plausible.learn.mixtures.maximization import maximize
from plausible.learn.mixtures.options import MixtureKind, MixtureParameters
from plausible.learn.mixtures.rows import MixtureRows, MixtureSpace
from plausible.learn.mixtures.starts import start

__all__ = ["MixtureProblem", "MixtureState", "best_mixture", "step"]


class MixtureProblem(NamedTuple):
    """Rows, their features, and the kind of mixture."""

    rows: MixtureRows
    space: MixtureSpace
    kind: MixtureKind


@dataclass(frozen=True, slots=True, eq=False)
class MixtureState:
    """What the next step needs, and the way so far; a run can be resumed from it.

    Attributes
    ----------
    parameters
        The present ones.
    trace
        The objective of the parameters before each step: log-likelihood and logarithm of the prior's density, in the
        units of the space; for hard assignments, that of rows and clusters together.
    converged
        Whether the last step gained less than the tolerance.
    moved
        Clusters that had become empty and were moved to the row farthest from its own mean.
    restart
        Which of several runs this is.
    """

    parameters: MixtureParameters
    trace: tuple[float, ...] = ()
    converged: bool = False
    moved: int = 0
    restart: int = 0


def step(problem: MixtureProblem, state: MixtureState, tolerance: float = 0.0) -> MixtureState:
    """One E-step and one M-step; the objective never falls (Dempster, Laird & Rubin 1977)."""
    rows, space, kind = problem
    expected = expect(rows, state.parameters, kind)
    value = expected.log_likelihood + log_prior(state.parameters, kind)
    parameters = maximize(expected, state.parameters, kind, space)
    moved = 0
    if kind.is_k_means:
        parameters, moved = _with_empty_moved(problem, expected, parameters)
    gain = value - state.trace[-1] if state.trace else np.inf
    converged = not moved and abs(gain) <= tolerance * float(rows.weights.sum())
    return replace(
        state, parameters=parameters, trace=(*state.trace, value), converged=converged, moved=state.moved + moved
    )


def best_mixture(
    problem: MixtureProblem,
    num_clusters: int,
    shares: str | Floats,
    restarts: int,
    seed: int,
    stops: EMStops[MixtureState],
) -> tuple[MixtureState, tuple[float, ...]]:
    """The run with the greatest objective, and the last objectives of all runs; one run where shares are given."""
    generators = sources_of_chance(seed, restarts)
    starts = (
        MixtureState(start(problem.rows, problem.space, problem.kind, num_clusters, shares, rng), restart=number)
        for number, rng in enumerate(generators if isinstance(shares, str) else generators[:1])
    )
    return best_run(partial(step, problem), starts, stops)


def _with_empty_moved(
    problem: MixtureProblem, expected: Expectation, parameters: MixtureParameters
) -> tuple[MixtureParameters, int]:
    """Empty clusters of k-means take the rows farthest from their own means, unless that lowers the objective."""
    empty = np.flatnonzero(expected.sizes == 0)
    if not len(empty) or not len(parameters.means.T):
        return parameters, 0
    rows = problem.rows
    joint = log_joint(rows, parameters, problem.kind)
    # The density that a row would have at its own mean, less that which it has.
    fall = -0.5 * np.log(2 * np.pi) * rows.known.sum(axis=1) - joint.max(axis=0) - np.log(len(parameters.weights))
    far = np.argsort(-fall, kind="stable")[: len(empty)]
    far = far[fall[far] > 1e-9 * (1 + (rows.numbers**2).sum(axis=1).max())]  # what is more than rounding
    means = parameters.means.copy()
    means[empty[: len(far)]] = np.where(rows.known[far], rows.numbers[far], means[empty[: len(far)]])
    tried = parameters._replace(means=means)
    gain = float((log_joint(rows, tried, problem.kind).max(axis=0) - joint.max(axis=0)) @ rows.weights)
    gain += log_prior(tried, problem.kind) - log_prior(parameters, problem.kind)
    return (tried, len(far)) if len(far) and gain > 0 else (parameters, 0)
