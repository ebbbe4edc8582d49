"""EM for mixtures: the step, and the best of several runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.seeds import generator_of
from plausible.learn.mixtures.expectation import Expectation, expect, log_joint, log_prior
from plausible.learn.mixtures.maximization import maximize
from plausible.learn.mixtures.options import MixtureKind, MixtureParameters
from plausible.learn.mixtures.rows import MixtureRows, MixtureSpace
from plausible.learn.mixtures.starts import start
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Run, Stops, best_run, iterate

__all__ = ["MixtureProblem", "MixtureState", "best_mixture", "mixture_run", "step"]


class MixtureProblem(NamedTuple):
    """Rows, their features, and the kind of mixture."""

    rows: MixtureRows
    space: MixtureSpace
    kind: MixtureKind


@dataclass(frozen=True, slots=True, eq=False)
class MixtureState:
    """The parameters after an M-step, and the objective of those before it.

    Attributes
    ----------
    parameters
        The present ones.
    value
        The objective of the parameters before: log-likelihood and logarithm of the prior's density, in the units of
        the space; for hard assignments, that of rows and clusters together. -inf at a start.
    moved
        Clusters that had become empty and were moved to the row farthest from its own mean, up to now.
    num_steps
        The steps made.
    restart
        Which of several runs this is.
    """

    parameters: MixtureParameters
    value: float = -math.inf
    moved: int = 0
    num_steps: int = 0
    restart: int = 0


def step(problem: MixtureProblem, state: MixtureState) -> MixtureState:
    """One E-step and one M-step; the objective never falls (Dempster, Laird & Rubin 1977)."""
    rows, space, kind = problem
    expected = expect(rows, state.parameters, kind)
    value = expected.log_likelihood + log_prior(state.parameters, kind)
    parameters = maximize(expected, state.parameters, kind, space)
    moved = 0
    if kind.is_k_means:
        parameters, moved = _with_empty_moved(problem, expected, parameters)
    return MixtureState(parameters, value, state.moved + moved, state.num_steps + 1, state.restart)


def mixture_run(
    problem: MixtureProblem, start: MixtureState | Run[MixtureState], stops: Stops, clock: Clock | None = None
) -> Run[MixtureState]:
    """Steps until one gains no more than the tolerance for each case, and moves no cluster."""
    enough = stops.tolerance * float(problem.rows.weights.sum())

    def settled(run: Run[MixtureState]) -> str:
        before, now = run.previous, run.state
        assert before is not None
        return CONVERGED if now.moved == before.moved and abs(now.value - before.value) <= enough else ""

    return iterate(partial(step, problem), start, stops, [settled], objective=attrgetter("value"), clock=clock)


def best_mixture(
    problem: MixtureProblem, num_clusters: int, shares: str | Floats, restarts: int, seed: int, stops: Stops
) -> tuple[Run[MixtureState], ...]:
    """The runs, that with the greatest objective first; one run where shares are given."""
    check_count("restarts", restarts)
    generators = generator_of(seed).spawn(1 + restarts if isinstance(shares, str) else 1)
    starts = (
        MixtureState(start(problem.rows, problem.space, problem.kind, num_clusters, shares, rng), restart=number)
        for number, rng in enumerate(generators)
    )
    return best_run(lambda state, clock: mixture_run(problem, state, stops, clock), starts, stops.time_limit)


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
