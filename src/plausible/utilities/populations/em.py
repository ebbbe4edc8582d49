"""Gaussian populations of utilities by EM: parameters, the step, and the best of several runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Run, Stops, best_run, iterate
from plausible.utilities.attributes.additive_utility import UtilityBasis
from plausible.utilities.populations.answers import Answers, Conditioned, condition, squares_of


@dataclass(frozen=True, slots=True)
class PopulationPrior:
    """What is assumed, before any answer, of the covariance Σ of people's utilities.

    >>> PopulationPrior("parts")
    PopulationPrior(covariance='parts', shrinkage=1.0)
    """

    #: "full"; "parts", parts of the utility that are independent of each other; "diagonal", all coordinates.
    covariance: Literal["full", "parts", "diagonal"] = "full"
    #: How many imagined people, with independent coordinates of the spread of the answers, are added to the covariance;
    #: zero is maximum likelihood.
    shrinkage: float = 1.0

    def __post_init__(self) -> None:
        if self.covariance not in ("full", "parts", "diagonal"):
            raise InvalidArgument(f"covariance={self.covariance!r}: there are 'full', 'parts' and 'diagonal'.")
        if not self.shrinkage >= 0:
            raise InvalidArgument(f"shrinkage={self.shrinkage!r} is a number of people: zero or more.")


class ClassParameters(NamedTuple):
    """θ ~ N(A z, Σ) for a person with background z."""

    mean: Floats  # A, p × q
    covariance: Floats  # Σ, p × p


@dataclass(frozen=True, slots=True, eq=False)
class PopulationProblem:
    """Answers, one basis for each class of people, and what is assumed of covariances."""

    answers: Answers  # Of all people
    bases: tuple[UtilityBasis, ...]  # The decomposition of each class
    designs: tuple[Floats, ...]  # For each class, K × p: the value of outcome k is its row times θ
    prior: PopulationPrior  # What is assumed of the covariance of each class
    scales: tuple[Floats, ...]  # For each class, the variances of the coordinates of the people that the prior imagines

    def allowed(self, number: int) -> Floats:
        """One where the covariance of a class may be other than zero."""
        basis = self.bases[number]
        if self.prior.covariance == "full":
            return np.ones((basis.size, basis.size))
        if self.prior.covariance == "diagonal":
            return np.eye(basis.size)
        mask = np.zeros((basis.size, basis.size))
        for block in basis.blocks:
            mask[block, block] = 1.0
        return mask

    def log_prior(self, parameters: tuple[ClassParameters, ...]) -> float:
        """The logarithm of the prior density of the covariances, up to a constant."""
        if not self.prior.shrinkage:
            return 0.0
        total = 0.0
        for (_, covariance), scale in zip(parameters, self.scales, strict=True):
            total -= float(np.linalg.slogdet(covariance)[1])
            total -= float(np.trace(np.linalg.solve(covariance, np.diag(scale))))
        return 0.5 * self.prior.shrinkage * total


def log_likelihoods(
    problem: PopulationProblem, number: int, parameters: ClassParameters, noise: float
) -> tuple[Floats, list[Conditioned]]:
    """log p(answers) of each person under one class, and what the answers say about them."""
    answers = problem.answers
    means = answers.background @ parameters.mean.T
    blocks = list(condition(answers, problem.designs[number], means, parameters.covariance, noise))
    values = np.zeros(len(answers.values))
    for block in blocks:
        values[block.people] = -0.5 * (block.log_determinants + block.squares / noise)
    return values - 0.5 * answers.num_known * np.log(2 * np.pi * noise), blocks


def maximize(
    problem: PopulationProblem, number: int, before: ClassParameters, blocks: list[Conditioned], weights: Floats
) -> tuple[ClassParameters, float]:
    """The parameters of one class, people counting by their weights, and Σ w E[(y - X θ)²] over known answers.

    The mean is a regression on the background z, the covariance around it has its prior. All sums are over deviations
    δ = θ - A z from the means before.
    """
    answers, design = problem.answers, problem.designs[number]
    size, width = design.shape[1], answers.background.shape[1]
    cross, second = np.zeros((size, width)), np.zeros((size, size))  # Σ w E[δ] zᵀ and Σ w E[δ δᵀ]
    error = 0.0
    for block in blocks:
        background = answers.background[block.people]
        share = weights[block.people]
        shares = np.bincount(block.pattern_of, share, minlength=len(block.patterns))
        cross += (share[:, None] * block.moves).T @ background
        second += (share[:, None] * block.moves).T @ block.moves + np.tensordot(shares, block.covariances, axes=1)
        means = background @ before.mean.T + block.moves
        missed = answers.known[block.people] * (answers.values[block.people] - means @ design.T)
        spread = block.covariances.reshape(len(block.patterns), -1) @ squares_of(design).T
        error += float(share @ (missed**2).sum(axis=1) + shares @ (spread * block.patterns).sum(axis=1))
    squares = (weights[:, None] * answers.background).T @ answers.background
    # Means over people, not sums: of a class that hardly anybody is left in the inverse of a sum would overflow.
    weight = float(weights.sum())
    least = max(weight, np.finfo(float).smallest_subnormal)
    change = (cross / least) @ np.linalg.pinv(squares / least)
    scatter = second - change @ cross.T
    scatter = 0.5 * (scatter + scatter.T) + problem.prior.shrinkage * np.diag(problem.scales[number])
    total = max(weight + problem.prior.shrinkage, np.finfo(float).tiny)
    return ClassParameters(before.mean + change, np.asarray(problem.allowed(number) * scatter / total)), error


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
    updated = [
        maximize(problem, c, one, blocks, posteriors[c])
        for c, (one, (_, blocks)) in enumerate(zip(state.classes, found, strict=True))
    ]
    squares = sum(error for _, error in updated)
    number = sum(float(share @ problem.answers.num_known) for share in posteriors)
    floor = _LEAST_NOISE * (float(np.var(problem.answers.values[problem.answers.known])) or 1.0)
    return replace(
        state,
        classes=tuple(one for one, _ in updated),
        weights=posteriors.mean(axis=1),
        noise=max(squares / max(number, 1.0), floor),
        value=value,
        num_steps=state.num_steps + 1,
    )


def best_population(
    problem: PopulationProblem, restarts: int, seed: Seed, stops: Stops
) -> tuple[Run[PopulationState], ...]:
    """The runs, the best first, each until a step gains no more than the tolerance for each person.

    The first one made starts from least squares unless two classes are alike.
    """
    check_count("restarts", restarts)
    are_alike = len({basis.scopes for basis in problem.bases}) < len(problem.bases)
    starts = (
        replace(start(problem, rng if number or are_alike else None), restart=number)
        for number, rng in enumerate(generator_of(seed).spawn(1 + restarts))
    )
    enough = stops.tolerance * len(problem.answers.values)

    def settled(run: Run[PopulationState]) -> str:
        return CONVERGED if run.trace[-1] - run.trace[-2] <= enough else ""

    def climb(state: PopulationState, clock: Clock) -> Run[PopulationState]:
        return iterate(partial(step, problem), state, stops, [settled], objective=attrgetter("value"), clock=clock)

    return best_run(climb, starts, stops.time_limit)
