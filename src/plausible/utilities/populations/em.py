"""EM for populations of utilities: the start, the step, and the best of several runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.seeds import Seed, generator_of
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Run, Stops, best_run, iterate
from plausible.utilities.populations.parameters import (
    ClassParameters,
    PopulationProblem,
    expect,
    log_likelihoods,
    maximize,
)

#: The least variance of the noise, as a share of the variance of the answers.
_LEAST_NOISE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class PopulationState:
    """The parameters after an M-step, and the objective of those before it."""

    classes: tuple[ClassParameters, ...]  # The Gaussian of each class
    weights: Floats  # The share of each class
    noise: float  # The variance of the noise, the same in all classes
    #: The objective of the parameters before: log-likelihood and the logarithm of the prior density of the covariances;
    #: -inf at a start.
    value: float = -np.inf
    num_steps: int = 0  # The steps made
    restart: int = 0  # Which of several runs this is


def start(problem: PopulationProblem, rng: np.random.Generator | None = None) -> PopulationState:
    """Means by least squares on all answers, wide covariances; moved at random where a generator is given."""
    answers = problem.answers
    people, outcomes = np.nonzero(answers.known)
    variance = float(np.var(answers.values[answers.known])) or 1.0
    occurring = np.linalg.pinv(answers.background) @ answers.background
    classes = []
    for design, scale in zip(problem.designs, problem.scales, strict=True):
        rows = np.einsum("np,nq->npq", design[outcomes], answers.background[people]).reshape(len(people), -1)
        fitted = np.linalg.lstsq(rows, answers.values[people, outcomes], rcond=1e-10)[0]
        mean = fitted.reshape(design.shape[1], -1)
        if rng is not None:
            # Along backgrounds that occur only: steps of EM never change the others.
            mean = mean + np.sqrt(scale)[:, None] * rng.normal(size=mean.shape) @ occurring
        classes.append(ClassParameters(mean, np.diag(scale)))
    weights = np.full(len(classes), 1.0 / len(classes))
    return PopulationState(tuple(classes), weights, 0.1 * variance)


def class_posteriors(log_joint: Floats) -> tuple[Floats, Floats]:
    """P(class | answers) and log p(answers) of each person, from log P(class) p(answers | class), class × person."""
    top = log_joint.max(axis=0)
    shares = np.exp(log_joint - top)
    totals = shares.sum(axis=0)
    return shares / totals, top + np.log(totals)


def step(problem: PopulationProblem, state: PopulationState) -> PopulationState:
    """One E-step and one M-step; the objective never falls (Dempster, Laird & Rubin 1977)."""
    found = [log_likelihoods(problem, c, one, state.noise) for c, one in enumerate(state.classes)]
    with np.errstate(divide="ignore"):  # a class that nobody is in has the weight zero
        log_weights = np.log(state.weights)
    posteriors, log_totals = class_posteriors(np.array([values for values, _ in found]) + log_weights[:, None])
    value = float(log_totals.sum()) + problem.log_prior(state.classes)
    moments = [
        expect(problem, c, one, blocks, posteriors[c])
        for c, (one, (_, blocks)) in enumerate(zip(state.classes, found, strict=True))
    ]
    classes = tuple(
        maximize(problem, c, one, moment) for c, (one, moment) in enumerate(zip(state.classes, moments, strict=True))
    )
    squares, number = (sum(one.noise[place] for one in moments) for place in (0, 1))
    floor = _LEAST_NOISE * (float(np.var(problem.answers.values[problem.answers.known])) or 1.0)
    return replace(
        state,
        classes=classes,
        weights=posteriors.mean(axis=1),
        noise=max(squares / max(number, 1.0), floor),
        value=value,
        num_steps=state.num_steps + 1,
    )


def population_run(
    problem: PopulationProblem,
    start: PopulationState | Run[PopulationState],
    stops: Stops,
    clock: Clock | None = None,
) -> Run[PopulationState]:
    """Steps until one gains no more than the tolerance for each person."""
    enough = stops.tolerance * len(problem.answers.values)

    def settled(run: Run[PopulationState]) -> str:
        return CONVERGED if run.trace[-1] - run.trace[-2] <= enough else ""

    return iterate(partial(step, problem), start, stops, [settled], objective=attrgetter("value"), clock=clock)


def best_population(
    problem: PopulationProblem, restarts: int, seed: Seed, stops: Stops
) -> tuple[Run[PopulationState], ...]:
    """The runs, the best first; the first one made starts from least squares unless two classes are alike."""
    check_count("restarts", restarts)
    are_alike = len({basis.scopes for basis in problem.bases}) < len(problem.bases)
    starts = (
        replace(start(problem, rng if number or are_alike else None), restart=number)
        for number, rng in enumerate(generator_of(seed).spawn(1 + restarts))
    )
    return best_run(lambda state, clock: population_run(problem, state, stops, clock), starts, stops.time_limit)
